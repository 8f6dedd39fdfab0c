"""Reads Kafka's own message definitions into the objects of ``tools.codec.schema``, and writes them as lines of
oncelog's tables.

A release's jars hold each definition as JSON with comments (``common/message/NAME.json``,
``common/metadata/NAME.json``). Called by the comparison, and by hand when a message is added to the tables.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from oncelog.protocol.struct_fields import ENDLESS
from tools.codec.schema import NO_VERSIONS, Field, MessageDef, StructDef, Versions, parse_versions

PARTS: Final = ("clients", "group-coordinator", "share-coordinator", "transaction-coordinator", "metadata", "raft")
"""The jars that define what brokers send and write."""


def released_messages(libs: Path) -> dict[str, MessageDef]:
    """Every message that the release's jars in the folder define, by name."""
    found: dict[str, MessageDef] = {}
    for jar in (path for part in PARTS for path in libs.glob(f"kafka-{part}-[0-9]*.jar")):
        with zipfile.ZipFile(jar) as files:
            for name in files.namelist():
                if name.startswith(("common/message/", "common/metadata/")) and name.endswith(".json"):
                    message = read_definition(files.read(name).decode())
                    if message is not None:
                        found[message.name] = message
    return found


def read_definition(text: str) -> MessageDef | None:
    """Parse one definition in Kafka's form: JSON with comments on separate lines or behind values, and with commas
    after the last elements.

    Returns ``None`` if the API was removed, because then its definition still has a name but no versions.
    """
    text = "\n".join(_without_comment(line) for line in text.splitlines())
    source = json.loads(re.sub(r",(\s*[\]}])", r"\1", text))
    if source["validVersions"] == "none":
        return None
    shared = {entry["name"]: StructDef(entry["name"]) for entry in source.get("commonStructs", ())}
    for entry in source.get("commonStructs", ()):
        shared[entry["name"]].fields = [_field(member, shared) for member in entry["fields"]]
    root = StructDef(source["name"], [_field(member, shared) for member in source["fields"]])
    return MessageDef(
        root=root,
        kind=source["type"],
        key=source.get("apiKey", -1),
        versions=parse_versions(source["validVersions"]),
        flexible=parse_versions(source["flexibleVersions"]),
        latest_unstable=source.get("latestVersionUnstable", False),
        shared=shared,
    )


def _without_comment(line: str) -> str:
    quoted = False
    for position, character in enumerate(line):
        if character == '"':
            quoted = not quoted
        elif not quoted and line.startswith("//", position):
            return line[:position]
    return line


def _field(source: dict[str, Any], shared: dict[str, StructDef]) -> Field:
    kind = source["type"]
    field = Field(
        name=source["name"],
        type=kind.removeprefix("[]"),
        is_array=kind.startswith("[]"),
        versions=parse_versions(source.get("versions") or source["taggedVersions"]),
        nullable=parse_versions(source.get("nullableVersions", "none")),
        tag=source.get("tag"),
        tagged=parse_versions(source.get("taggedVersions", "none")),
        default=_default(source),
        ignorable=source.get("ignorable", False),
        never_flexible=source.get("flexibleVersions") == "none",
    )
    if "fields" in source:
        field.struct = StructDef(field.type, [_field(member, shared) for member in source["fields"]])
        # A later field of the message may refer to this struct by name.
        shared.setdefault(field.type, field.struct)
    elif field.type[0].isupper():
        field.struct = shared[field.type]
    return field


def _default(source: dict[str, Any]) -> str | None:
    value = source.get("default")
    if value is None:
        return None
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if source["type"].startswith(("int", "uint")):
        text = str(int(text, 0))
    nothing = "null" if source["type"] == "records" else None
    return None if text in ("", "0", "false", "0.0", nothing) else text


def table(message: MessageDef) -> str:
    """The lines of a message in the format of ``tools/codec/schemas``."""
    words = ["message", message.name, message.kind]
    words += [f"key={message.key}"] if message.key >= 0 else []
    words += [f"versions={version_text(message.versions)}", f"flexible={version_text(message.flexible)}"]
    words += ["latest-unstable"] if message.latest_unstable else []
    lines = [" ".join(words)]
    inline: set[int] = set()
    lines += _fields(message.root, 1, message, inline)
    for name, struct in message.shared.items():
        if id(struct) not in inline:
            lines += [f"  struct {name}", *_fields(struct, 2, message, inline)]
    return "\n".join(lines) + "\n"


def _fields(struct: StructDef, depth: int, message: MessageDef, inline: set[int]) -> Iterator[str]:
    for field in struct.fields:
        yield "  " * depth + " ".join(field_words(field))
        common = field.struct is not None and _uses(message, field.struct) > 1
        if field.struct is not None and not common:
            inline.add(id(field.struct))
            yield from _fields(field.struct, depth + 1, message, inline)


def _uses(message: MessageDef, struct: StructDef) -> int:
    def count(of: StructDef) -> int:
        return sum((member.struct is struct) + (count(member.struct) if member.struct else 0) for member in of.fields)

    return count(message.root)


def field_words(field: Field) -> list[str]:
    """The words of a field's line in a table. Two fields are equal if their words are equal."""
    words = [field.name, "[]" * field.is_array + field.type, version_text(field.versions)]
    words += [f"nullable={version_text(field.nullable)}"] if field.nullable != NO_VERSIONS else []
    words += [f"tag={field.tag}:{version_text(field.tagged)}"] if field.tag is not None else []
    words += [f"default={field.default}"] if field.default is not None else []
    words += ["ignorable"] if field.ignorable else []
    words += ["flexible=none"] if field.never_flexible else []
    return words


def version_text(versions: Versions) -> str:
    """Versions as tables write them: ``0-5``, ``3+``, ``none``."""
    if versions == NO_VERSIONS:
        return "none"
    if versions.high == ENDLESS:
        return f"{versions.low}+"
    return str(versions.low) if versions.low == versions.high else f"{versions.low}-{versions.high}"
