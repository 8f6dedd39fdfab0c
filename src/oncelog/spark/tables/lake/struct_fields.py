"""Builds the expression to write in a query for a struct whose fields are in another order in the table. Pure.

A cast matches the fields of structs by position, so it would put values into other fields; ``named_struct`` alone would
turn NULL into a struct. Called by :mod:`oncelog.spark.tables.lake.delta` for its error messages.
"""

from __future__ import annotations

import re

from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from oncelog.spark.tables.columns import escaped
from oncelog.spark.tables.lake.row_conditions import widens


def rearranged(name: str, given: DataType, found: DataType) -> str:
    """The Spark SQL that converts the rows' column to the table's type, with each value in its own field.

    Empty if the column contains no struct, or if the types differ in more than order and width.
    """
    if "struct<" not in given.simpleString():
        return ""
    return _made(_place(name), given, found, 0) or ""


def _made(value: str, given: DataType, found: DataType, depth: int) -> str | None:
    if given.simpleString() == found.simpleString():
        return value
    if widens(given, found):
        return f"cast({value} as {found.simpleString()})"
    if isinstance(given, ArrayType) and isinstance(found, ArrayType):
        made = _made(f"x{depth}", given.elementType, found.elementType, depth + 1)
        return made and f"transform({value}, x{depth} -> {made})"
    if isinstance(given, MapType) and isinstance(found, MapType):
        if given.keyType.simpleString() != found.keyType.simpleString():
            return None
        made = _made(f"x{depth}", given.valueType, found.valueType, depth + 1)
        return made and f"transform_values({value}, (k{depth}, x{depth}) -> {made})"
    if isinstance(given, StructType) and isinstance(found, StructType):
        return _struct(value, given, found, depth)
    return None


def _struct(value: str, given: StructType, found: StructType, depth: int) -> str | None:
    if sorted(given.names) != sorted(found.names):
        return None
    made = []
    for field in found.fields:
        inner = _made(f"{value}.{_place(field.name)}", given[field.name].dataType, field.dataType, depth)
        if inner is None:
            return None
        made.append(f"{_literal(field.name)}, {inner}")
    return f"if({value} is null, null, named_struct({', '.join(made)}))"


def _place(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else escaped(name)


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
