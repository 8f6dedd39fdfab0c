"""Assembles one message's module: a class for each struct, with its fields."""

from __future__ import annotations

from typing import Final

from oncelog.protocol.struct_fields import ENDLESS
from tools.codec.names import annotation, default, may_be_null
from tools.codec.schema import Field, MessageDef, StructDef, Versions

HEADER: Final = "# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.\n"


_PACKAGE: Final = '''
"""One generated module for each message: import the one you need. Here, the versions of each API's messages."""

from typing import Final, NamedTuple


class ApiVersionRange(NamedTuple):
    """The versions that the codec has, those that Kafka calls unstable included; ``flexible_from`` 32767: never."""

    lowest: int
    highest: int
    flexible_from: int
    highest_stable: int


API_VERSIONS: Final[dict[int, ApiVersionRange]] = {
%s
}
'''


def emit_package(messages: list[MessageDef]) -> str:
    """``generated/__init__.py``."""
    requests = sorted((message for message in messages if message.kind == "request"), key=lambda message: message.key)
    rows = []
    for message in requests:
        stable = message.versions.high - message.latest_unstable
        numbers = f"{message.versions.low}, {message.versions.high}, {_flexible_from(message)}, {stable}"
        rows.append(f"    {message.key}: ApiVersionRange({numbers}),  # {message.name.removesuffix('Request')}")
    return HEADER + _PACKAGE % "\n".join(rows)


def emit_module(message: MessageDef) -> str:
    helpers: set[str] = set()
    classes: list[str] = []
    for struct in _children_first(message.root, {}):
        classes += ["", "", *_class(struct, message, helpers)]
    if any("Field(" in line for line in classes):
        helpers.add("Field")
    names = ", ".join(sorted(helpers, key=lambda name: (not name.isupper(), name)))
    imports = [f"from oncelog.protocol.struct_fields import {names}"] if helpers else []
    imports.append("from oncelog.protocol.wire import Message")
    return "\n".join([HEADER, "from __future__ import annotations", "", *imports, *classes]) + "\n"


def _children_first(struct: StructDef, seen: dict[str, StructDef]) -> list[StructDef]:
    """The structs of a message, each once, behind those of its fields."""
    for item in struct.fields:
        if item.struct is not None and item.struct.name not in seen:
            _children_first(item.struct, seen)
    seen[struct.name] = struct
    return list(seen.values())


def _flexible_from(message: MessageDef) -> int:
    return message.flexible.low if message.flexible.low <= message.flexible.high else ENDLESS


def _class(struct: StructDef, message: MessageDef, helpers: set[str]) -> list[str]:
    is_root = struct is message.root
    base = "Message" if is_root else "Struct"
    if not is_root:
        helpers.add(base)
    lines = [f"class {struct.name}({base}):"]
    if is_root:
        lines += _constants(message)
    slots = "".join(f'"{item.attribute}", ' for item in struct.fields).rstrip()
    slots = slots if len(struct.fields) == 1 else slots.rstrip(",")
    lines += [f"    __slots__ = ({slots})"]
    if not struct.fields:
        return lines
    lines += ["    FIELDS = (", *(f"        {_row(item)}" for item in struct.fields), "    )"]
    lines += ["", "    def __init__(", "        self,"]
    lines += [f"        {_parameter(item, helpers)}" for item in struct.fields]
    lines += ["    ) -> None:"]
    lines += [f"        {_store(item)}" for item in struct.fields]
    return lines


def _constants(message: MessageDef) -> list[str]:
    lines = [
        f"    API_KEY = {message.key}",
        f"    MIN_VERSION = {message.versions.low}",
        f"    MAX_VERSION = {message.versions.high}",
        f"    FLEXIBLE_FROM = {_flexible_from(message)}",
    ]
    if message.latest_unstable:
        lines.append("    LATEST_VERSION_UNSTABLE = True")
    return lines


def _parameter(item: Field, helpers: set[str]) -> str:
    text = default(item)
    type_ = annotation(item)
    if "Uuid" in type_:
        helpers.add("Uuid")
    if text == "[]":
        helpers.add("EMPTY")
        text = "EMPTY"
    elif text == "ZERO_UUID":
        helpers.add("ZERO_UUID")
    elif item.struct and text != "None":
        if may_be_null(item):
            helpers.add("UNSET")
            text = "UNSET"
        else:
            type_, text = f"{type_} | None", "None"
    return f"{item.attribute}: {type_} = {text},"


def _store(item: Field) -> str:
    name = item.attribute
    text = default(item)
    if text == "[]":
        return f"self.{name} = [] if {name} is EMPTY else {name}"
    if item.struct and text != "None":
        unset = "UNSET" if may_be_null(item) else "None"
        return f"self.{name} = {item.type}() if {name} is {unset} else {name}"
    return f"self.{name} = {name}"


def _row(item: Field) -> str:
    """The entry of ``FIELDS``."""
    type_ = item.type if item.struct else f'"{item.type}"'
    words = [f'"{item.attribute}"', type_, _versions(item.versions)]
    if item.nullable.low <= item.nullable.high:
        words.append(f"nullable={_versions(item.nullable)}")
    if item.tag is not None:
        words.append(f"tag={item.tag}, tagged={_versions(item.tagged)}")
    if item.default is not None and item.type != "records":
        words.append(f"default={default(item)}")
    flags = (("is_array", item.is_array), ("is_ignorable", item.ignorable))
    words += [f"{name}=True" for name, is_set in flags if is_set]
    if item.never_flexible:
        words.append("is_flexible=False")
    return f"Field({', '.join(words)}),"


def _versions(versions: Versions) -> str:
    low, high = versions.low, versions.high
    return f'"{low}+"' if high == ENDLESS else f'"{low}"' if low == high else f'"{low}-{high}"'
