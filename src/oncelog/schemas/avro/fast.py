"""Prepares schemas for fastavro, and leaves to it the types that it handles correctly. Pure.

fastavro rounds decimal numbers that are longer than their type, does not know a ``uuid`` of 16 bytes, and writes a
default as the JSON value in the schema. Here such types get private names with our own conversions, and defaults become
values of their types.
"""

from __future__ import annotations

import copy
import uuid
from collections.abc import Iterator
from typing import Any

from oncelog.schemas.avro.defaults import default_bytes
from oncelog.schemas.avro.resolution import resolve
from oncelog.schemas.avro.types import NamedTypes, logical_type, named_types
from oncelog.schemas.avro.unions import UnionNaming
from oncelog.schemas.avro.values import NAMED, ValueReader, decimal_of, uuid_of
from oncelog.schemas.schema_errors import SchemaError

_OURS = {("bytes", "decimal"), ("fixed", "decimal"), ("fixed", "uuid")}
WHOLE = "value"
"""The only field of a record that wraps a value of another type: the record's bytes are those of the value."""


def for_reading(types: NamedTypes) -> Any:
    """The schema for reading; a root that is not a record becomes the field :data:`WHOLE` of a record."""
    made = copy.deepcopy(types.root)
    _convert(made, _OURS)
    return _prepared(made)


def for_writing(types: NamedTypes) -> Any:
    """Like :func:`for_reading`, but for writing: defaults become values that fastavro can write."""
    made = copy.deepcopy(types.root)
    _convert(made, {("fixed", "uuid")})
    for record in _dicts(made):
        for field in record.get("fields", ()):
            if "default" in field:
                _set_default(types, field)
    return _prepared(made)


def _prepared(made: Any) -> Any:
    """The schema marked as parsed: fastavro would otherwise parse it for every value, and refuse its defaults."""
    is_record = isinstance(made, dict) and made.get("type") in ("record", "error")
    root = made if is_record else {"type": "record", "name": "oncelog", "fields": [{"name": WHOLE, "type": made}]}
    return {**root, "__fastavro_parsed": True, "__named_schemas": named_types(root)}


def _set_default(types: NamedTypes, field: Any) -> None:
    """Convert a field's default to a value of its type. A default that does not fit is removed, so that writing a
    record without the field fails with an error that names the field."""
    of_field = types.of(field["type"])
    plan = resolve(of_field, of_field, is_payload=False)
    try:
        value = ValueReader(plan, types, NAMED).read(default_bytes(types, field, field["name"]))
        field["default"] = UnionNaming(of_field).named(value)
    except SchemaError:
        del field["default"]


def _convert(made: Any, wanted: set[tuple[str, str]]) -> None:
    _register()
    for one in _dicts(made):
        if isinstance(one["type"], str) and (one["type"], logical_type(one)) in wanted:
            one["logicalType"] = f"oncelog-{one['logicalType']}"


def _dicts(schema: Any) -> Iterator[dict[str, Any]]:
    """All types in a parsed schema that are JSON objects."""
    left = [schema]
    while left:
        one = left.pop()
        if isinstance(one, list):
            left.extend(one)
        elif isinstance(one, dict):
            yield one
            left.extend(one.get(name) for name in ("items", "values", "type"))
            left.extend(field["type"] for field in one.get("fields", ()))


def _register() -> None:
    """Register our conversions under private names: those of other programs in this process stay unchanged."""
    from fastavro import read, write

    read.LOGICAL_READERS.setdefault("bytes-oncelog-decimal", _read_decimal)
    read.LOGICAL_READERS.setdefault("fixed-oncelog-decimal", _read_decimal)
    read.LOGICAL_READERS.setdefault("fixed-oncelog-uuid", _read_uuid)
    write.LOGICAL_WRITERS.setdefault("fixed-oncelog-uuid", _uuid_bytes)


def _read_decimal(data: bytes, writer_schema: Any = None, reader_schema: Any = None) -> Any:
    return decimal_of(writer_schema.get("scale", 0))(data)


def _read_uuid(data: bytes, writer_schema: Any = None, reader_schema: Any = None) -> Any:
    return uuid_of(data)


def _uuid_bytes(value: Any, schema: Any = None) -> Any:
    return value.bytes if isinstance(value, uuid.UUID) else value
