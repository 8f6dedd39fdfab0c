"""Assembles one message's module: classes, readers and writers by layout, the tables by version."""

from __future__ import annotations

from typing import Final

from tools.codec.layout import Layout, Layouts
from tools.codec.names import annotation, default, function_format, may_be_null
from tools.codec.read_emitter import ReadEmitter, needs_view
from tools.codec.schema import ENDLESS, Field, MessageDef, StructDef
from tools.codec.write_emitter import WriteEmitter

HEADER: Final = "# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.\n"
_FROM_STRUCT: Final = ("pack", "unpack_from")


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
    layouts = Layouts(message)
    has_records = any(needs_view(layout) for layout in layouts)
    functions: set[str] = set()
    helpers: set[str] = {"Append", "Message"}
    code: list[str] = []
    ordered = sorted(layouts, key=_depth)
    for layout in ordered:
        counts = message.kind == "request" and (layout.has_arrays or layout.struct is message.root)
        emitters: list[ReadEmitter | WriteEmitter] = [
            ReadEmitter(message.name, layout, has_records, counts=counts),
            WriteEmitter(message.name, layout),
        ]
        for emitter in emitters:
            code += ["", "", *emitter.emit()]
            functions |= emitter.functions
            helpers |= emitter.helpers
    classes: list[str] = []
    for struct in _structs(ordered):
        classes += ["", "", *_class(struct, message, helpers)]
    imports = _imports(functions, helpers)
    bindings = [_binding(name) for name in sorted(functions)]
    tables = [*_table("_READERS", "_read", message, layouts), *_table("_WRITERS", "_write", message, layouts)]
    extra = [f"{message.name}._HAS_RECORDS = True"] if has_records else []
    lines = [
        HEADER,
        "from __future__ import annotations",
        "",
        *imports,
        "",
        *bindings,
        *classes,
        *code,
        *tables,
        *extra,
    ]
    return "\n".join(lines) + "\n"


def _flexible_from(message: MessageDef) -> int:
    return message.flexible.low if message.flexible.low <= message.flexible.high else ENDLESS


def _depth(layout: Layout) -> int:
    """The depth of a layout: 0 without structs in it. Sorted by depth, children come before their parents."""
    return max((1 + _depth(slot.child) for slot in layout.slots if slot.child), default=0)


def _structs(ordered: list[Layout]) -> list[StructDef]:
    structs: dict[str, StructDef] = {}
    for layout in ordered:
        structs.setdefault(layout.struct.name, layout.struct)
    return list(structs.values())


def _imports(functions: set[str], helpers: set[str]) -> list[str]:
    from_struct = sorted(helpers.intersection(_FROM_STRUCT))
    if functions:
        from_struct.insert(0, "Struct as _Struct")
    lines = [f"from struct import {', '.join(from_struct)}"] if from_struct else []
    names = sorted(helpers.difference(_FROM_STRUCT), key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    return [*lines, "", f"from oncelog.protocol.wire import {', '.join(names)}"]


def _binding(name: str) -> str:
    method = "unpack_from" if name.startswith("_unpack") else "pack"
    return f'{name} = _Struct("{function_format(name)}").{method}'


def _class(struct: StructDef, message: MessageDef, helpers: set[str]) -> list[str]:
    is_root = struct is message.root
    base = "Message" if is_root else "Struct"
    helpers.add(base)
    lines = [f"class {struct.name}({base}):"]
    if is_root:
        lines += _constants(message)
    slots = "".join(f'"{item.attribute}", ' for item in struct.fields).rstrip()
    slots = slots if len(struct.fields) == 1 else slots.rstrip(",")
    lines += [f"    __slots__ = ({slots})"]
    if not struct.fields:
        return lines
    lines += ["", "    def __init__(", "        self,"]
    lines += [f"        {_parameter(item, helpers)}  # {_note(item)}" for item in struct.fields]
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


def _note(item: Field) -> str:
    high = item.versions.high
    low = item.versions.low
    text = f"{low}+" if high == ENDLESS else str(low) if low == high else f"{low}-{high}"
    if item.tag is not None:
        text += f", tag {item.tag}"
    return text + (", ignorable" if item.ignorable else "")


def _table(name: str, prefix: str, message: MessageDef, layouts: Layouts) -> list[str]:
    """The lines of a table from each version to its reader or writer."""
    rows = [f"    {version}: {prefix}_{layout.suffix}," for version, layout in layouts.by_version.items()]
    return [f"{message.name}.{name} = {{", *rows, "}"]
