"""The message tables under ``tools/codec/schemas`` and their parser. Called by the generator and by tests only.

A table is indented text, one field a line::

    message FetchRequest request key=1 versions=4-18 flexible=12+
      ClusterId string 12+ nullable=12+ tag=0:12+ default=null ignorable
      Topics []FetchTopic 0+
        Topic string 0-12 ignorable
      struct Shared
        ...

- ``message NAME KIND [key=N] versions=RANGE flexible=RANGE|none [latest-unstable]``
- ``FIELD TYPE RANGE [nullable=RANGE] [tag=N:RANGE] [default=VALUE] [ignorable] [flexible=none]``; deeper lines
  define the struct that is the field's type. ``struct NAME`` defines one that several fields share.
- RANGE is ``N``, ``N-M`` or ``N+``. A range that exceeds the message's versions applies only within them.
- ``default`` is given where it is not zero, false, empty or, for ``records``, null.

The facts are Apache Kafka's 4.4 message definitions.
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from oncelog.protocol.struct_fields import ENDLESS

SCHEMAS: Final = Path(__file__).parent / "schemas"
PRIMITIVES: Final = frozenset(
    ("int8", "int16", "int32", "int64", "uint16", "uint32", "float64", "bool", "uuid", "string", "bytes", "records")
)
SPECIAL_NAMES: Final = {"Enable2Pc": "enable_2pc"}


class SchemaError(Exception):
    """A table cannot be read; the text names file and line."""


@dataclass(frozen=True)
class Versions:
    low: int
    high: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.low <= version <= self.high


NO_VERSIONS: Final = Versions(1, 0)


@dataclass
class Field:
    name: str
    type: str
    """The element's type for an array."""
    is_array: bool
    versions: Versions
    nullable: Versions = NO_VERSIONS
    tag: int | None = None
    tagged: Versions = NO_VERSIONS
    default: str | None = None
    ignorable: bool = False
    never_flexible: bool = False
    struct: StructDef | None = None

    @property
    def attribute(self) -> str:
        return attribute_name(self.name)

    @property
    def default_is_null(self) -> bool:
        return self.default == "null" or (self.type == "records" and self.default is None)


@dataclass
class StructDef:
    name: str
    fields: list[Field] = field(default_factory=list)


@dataclass
class MessageDef:
    root: StructDef
    kind: str
    key: int
    versions: Versions
    flexible: Versions
    latest_unstable: bool
    shared: dict[str, StructDef] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.root.name

    @property
    def module(self) -> str:
        return snake_case(self.name)


def snake_case(name: str) -> str:
    name = name.replace("KRaft", "Kraft")
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


def attribute_name(name: str) -> str:
    attribute = SPECIAL_NAMES.get(name) or snake_case(name)
    return attribute + "_" if keyword.iskeyword(attribute) else attribute


def parse_versions(text: str) -> Versions:
    if text == "none":
        return NO_VERSIONS
    if text.endswith("+"):
        return Versions(int(text[:-1]), ENDLESS)
    low, _, high = text.partition("-")
    return Versions(int(low), int(high or low))


def load_messages(folder: Path = SCHEMAS) -> list[MessageDef]:
    """All messages of all tables, sorted by name."""
    messages = [message for path in sorted(folder.rglob("*.txt")) for message in parse_table(path)]
    return sorted(messages, key=lambda message: message.name)


def parse_table(path: Path) -> list[MessageDef]:
    messages: list[MessageDef] = []
    open_structs: list[StructDef] = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split()
        if not words:
            continue
        depth = (len(line) - len(line.lstrip())) // 2
        try:
            if words[0] == "message":
                messages.append(_parse_message(words))
                open_structs = [messages[-1].root]
                continue
            if depth > len(open_structs):
                raise ValueError("deeper than the struct it belongs to")
            del open_structs[depth:]
            if words[0] == "struct":
                struct = StructDef(words[1])
                messages[-1].shared[struct.name] = struct
            else:
                parsed = _parse_field(words)
                open_structs[-1].fields.append(parsed)
                if not parsed.type[0].isupper():
                    continue
                struct = parsed.struct = StructDef(parsed.type)
            open_structs.append(struct)
        except (IndexError, ValueError, KeyError) as error:
            raise SchemaError(f"{path}:{number}: {error!r} in {line.strip()!r}") from error
    for message in messages:
        for struct in (message.root, *message.shared.values()):
            _link_shared(message, struct, path)
    return messages


def _parse_message(words: list[str]) -> MessageDef:
    options = dict(word.partition("=")[::2] for word in words[3:])
    return MessageDef(
        root=StructDef(words[1]),
        kind=words[2],
        key=int(options.get("key", "-1")),
        versions=parse_versions(options["versions"]),
        flexible=parse_versions(options["flexible"]),
        latest_unstable="latest-unstable" in options,
    )


def _parse_field(words: list[str]) -> Field:
    name, type_, versions = words[:3]
    parsed = Field(name, type_.removeprefix("[]"), type_.startswith("[]"), parse_versions(versions))
    if not parsed.type[0].isupper() and parsed.type not in PRIMITIVES:
        raise ValueError(f"unknown type {parsed.type}")
    for word in words[3:]:
        key, _, value = word.partition("=")
        match key:
            case "nullable":
                parsed.nullable = parse_versions(value)
            case "tag":
                tag, _, tagged = value.partition(":")
                parsed.tag, parsed.tagged = int(tag), parse_versions(tagged)
            case "default":
                parsed.default = value
            case "ignorable":
                parsed.ignorable = True
            case "flexible":
                parsed.never_flexible = value == "none"
            case _:
                raise ValueError(f"unknown word {word!r}")
    return parsed


def _link_shared(message: MessageDef, struct: StructDef, path: Path) -> None:
    """Give each field whose struct is defined elsewhere in the message that definition."""
    for parsed in struct.fields:
        if parsed.struct is None:
            continue
        if parsed.struct.fields:
            _link_shared(message, parsed.struct, path)
        elif parsed.type in message.shared:
            parsed.struct = message.shared[parsed.type]
        else:
            raise SchemaError(f"{path}: {message.name} has no struct {parsed.type}")
