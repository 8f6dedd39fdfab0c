"""The text of types, defaults and local variables in generated code. Called by the emitters."""

from __future__ import annotations

from typing import Final

from tools.codec.schema import Field

FORMATS: Final = {
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint16": "H",
    "uint32": "I",
    "float64": "d",
    "bool": "?",
    "uuid": "16s",
}
SIZES: Final = {"b": 1, "B": 1, "?": 1, "x": 1, "h": 2, "H": 2, "i": 4, "I": 4, "q": 8, "d": 8, "16s": 16}
_PYTHON_TYPES: Final = {
    "bool": "bool",
    "float64": "float",
    "string": "str",
    "bytes": "bytes",
    "records": "bytes | memoryview",
    "uuid": "Uuid",
}
_ZEROS: Final = {
    "bool": "False",
    "float64": "0.0",
    "string": '""',
    "bytes": 'b""',
    "records": "None",
    "uuid": "ZERO_UUID",
}
_TAKEN: Final = frozenset(
    {"append", "at", "bytes", "count", "data", "end", "item", "len", "length", "list", "part", "pos", "present"}
    | {"range", "size", "str", "tag", "tag_end", "tagged", "tags", "value", "w", "x"}
)


def element_type(item: Field) -> str:
    if item.struct:
        return item.type
    return _PYTHON_TYPES.get(item.type, "int")


def annotation(item: Field) -> str:
    text = f"list[{element_type(item)}]" if item.is_array else element_type(item)
    return f"{text} | None" if may_be_null(item) else text


def may_be_null(item: Field) -> bool:
    """Whether the field may be null in any version."""
    return item.nullable.low <= item.nullable.high or item.type == "records"


def default(item: Field) -> str:
    """The default as an expression; for an array or struct, an expression that creates a new one."""
    if item.default_is_null:
        return "None"
    if item.is_array:
        return "[]"
    if item.struct:
        return f"{item.type}()"
    if item.default is not None:
        return repr(item.default) if item.type == "string" else item.default.capitalize()
    return _ZEROS.get(item.type, "0")


def local(item: Field) -> str:
    """The local variable that holds the field in a reader or writer."""
    return item.attribute + "_" if item.attribute in _TAKEN else item.attribute


def struct_function(prefix: str, formats: list[str]) -> str:
    """The name of the bound ``Struct`` method for a run of formats, such as ``_unpack_iiq``."""
    return f"_{prefix}_" + "".join("U" if fmt == "16s" else "T" if fmt == "?" else fmt for fmt in formats)


def function_format(name: str) -> str:
    """The ``struct`` format for which ``struct_function`` made this name."""
    codes = name.rsplit("_", 1)[1]
    return ">" + codes.replace("U", "16s").replace("T", "?")


def differs_from_default(item: Field, value: str) -> str:
    """An expression that is true if ``value`` is not the field's default."""
    if item.is_array or item.type in ("bytes", "records"):
        if item.default_is_null:
            return f"{value} is not None"
        return f"{value} is None or {value}" if may_be_null(item) else value
    if item.struct and not item.default_is_null:
        parts = [f"{value} is None"] if may_be_null(item) else []
        parts += [differs_from_default(child, f"{value}.{child.attribute}") for child in item.struct.fields]
        return " or ".join(parts)
    if item.default_is_null:
        return f"{value} is not None"
    if item.type == "bool":
        return f"not {value}" if default(item) == "True" else value
    return f"{value} != {default(item)}"
