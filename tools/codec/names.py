"""The text of types and defaults in generated code."""

from __future__ import annotations

from typing import Final

from tools.codec.schema import Field

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
