"""Writes Arrow columns as values in Confluent's wire format, and derives an Avro schema from columns.

Called in Spark's workers for one batch at a time, and on the driver, which refuses columns that do not fit before
anything is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.types as kinds

from oncelog.runtime import real_json as json
from oncelog.schemas.arrow.avro_types import AvroTypes
from oncelog.schemas.arrow.json_columns import JsonColumns
from oncelog.schemas.arrow.protobuf_columns import ProtobufColumns
from oncelog.schemas.arrow.protobuf_rows import fill
from oncelog.schemas.arrow.value_reading import ReaderSchema
from oncelog.schemas.avro.types import NamedTypes, branch_name, logical_type
from oncelog.schemas.avro_codec import AvroCodec
from oncelog.schemas.avro_tree import is_name
from oncelog.schemas.framing import framed
from oncelog.schemas.json_codec import JsonCodec
from oncelog.schemas.protobuf_codec import ProtobufCodec
from oncelog.schemas.schema_errors import SchemaError, inside
from oncelog.schemas.structs import JSON, PROTOBUF, Schema

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NO_NAME = re.compile(r"[^A-Za-z0-9_]")


def avro_name(text: str) -> str:
    """A text as the name of an Avro type: invalid characters become underscores."""
    name = _NO_NAME.sub("_", text)
    return name if _NAME.fullmatch(name) else f"_{name}"


def avro_schema(columns: pa.StructType, name: str) -> Schema:
    """The schema of a record with these columns; each column may be null, which is its default.

    :param name: the record's full name.
    :raises SchemaError: Avro has no such type or name.
    """
    return Schema(json.dumps(_record(columns, name, "")))


def _record(columns: pa.StructType, name: str, where: str) -> dict[str, Any]:
    fields = []
    for column in columns:
        here = inside(where, column.name)
        if not is_name(column.name):
            raise SchemaError(f"the column {here!r} cannot be a field of Avro: give it a name of letters, digits and _")
        kind = _avro_type(column.type, f"{name}_{column.name}", here)
        fields.append({"name": column.name, "type": ["null", kind], "default": None})
    return {"type": "record", "name": name, "fields": fields}


_AVRO: tuple[tuple[Callable[[pa.DataType], bool], Any], ...] = (
    (kinds.is_boolean, "boolean"),
    (kinds.is_int64, "long"),
    (kinds.is_signed_integer, "int"),
    (kinds.is_float64, "double"),
    (kinds.is_float32, "float"),
    (kinds.is_string, "string"),
    (kinds.is_large_string, "string"),
    (kinds.is_binary, "bytes"),
    (kinds.is_large_binary, "bytes"),
    (kinds.is_date32, {"type": "int", "logicalType": "date"}),
)


def _avro_type(kind: pa.DataType, name: str, where: str) -> Any:
    for fits, avro in _AVRO:
        if fits(kind):
            return avro
    if kinds.is_timestamp(kind):
        return {"type": "long", "logicalType": "timestamp-micros" if kind.tz else "local-timestamp-micros"}
    if kinds.is_decimal(kind):
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    if kinds.is_list(kind):
        return {"type": "array", "items": ["null", _avro_type(kind.value_type, f"{name}_item", f"{where}[]")]}
    if kinds.is_map(kind) and kinds.is_string(kind.key_type):
        return {"type": "map", "values": ["null", _avro_type(kind.item_type, f"{name}_value", f"{where}{{}}")]}
    if kinds.is_struct(kind):
        return _record(kind, name, where)
    raise SchemaError(f"the column {where} is of type {kind}, which Avro does not have: cast it")


class ColumnWriter:
    """Encodes rows of columns with one registered schema."""

    def __init__(self, target: ReaderSchema) -> None:
        self._id = target.schema_id
        self._shown = target.shown
        needs = dict(target.needs)
        self._codec: Any
        if target.schema.schema_type == PROTOBUF:
            self._codec = ProtobufCodec(target.schema, needs)
            if target.message:
                self._codec.choose(target.message)
        elif target.schema.schema_type == JSON:
            self._json = JsonColumns(target.schema, needs)
            self._codec = self._json.codec
        else:
            self._codec = AvroCodec(target.schema, needs)
        self._target = target

    def check(self, columns: pa.StructType) -> None:
        """Check whether columns can be written with the schema.

        :raises SchemaError: the schema lacks a column, or the columns lack a required field.
        """
        wanted: pa.DataType
        if isinstance(self._codec, AvroCodec):
            types = AvroTypes(self._codec.parsed)
            wanted = types.column().arrow_type
            root = types.known(types.root)
            optional = [one["name"] for one in root.get("fields", ()) if "default" in one or _takes_null(types, one)]
        elif isinstance(self._codec, JsonCodec):
            wanted = self._json.arrow_type
            root = self._codec.tree
            required = root.get("required", ()) if isinstance(root, dict) else ()
            optional = [one.name for one in wanted if one.name not in required] if kinds.is_struct(wanted) else []
        else:
            wanted = ProtobufColumns(self._codec.message_class(self._codec.path).DESCRIPTOR).arrow_type
            optional = [one.name for one in wanted]
        if not kinds.is_struct(wanted):
            raise SchemaError(f"{self._shown} is not a record: columns cannot be written with it")
        missing = sorted({one.name for one in wanted} - {one.name for one in columns} - set(optional))
        if missing:
            raise SchemaError(f"{self._shown} requires {', '.join(missing)}, which is none of the columns")
        _check(columns, wanted, self._shown, "")

    def write(self, values: pa.Array) -> pa.Array:
        """Encode each struct of ``values``.

        :raises SchemaError: a value does not fit the schema.
        """
        try:
            rows, is_far = _plain(values), False
        except (OverflowError, ValueError) as error:
            rows, is_far = self._far(values, error), True
        return pa.array([None if one is None else self._written(one, is_far) for one in rows], pa.binary())

    def _far(self, values: pa.Array, error: Exception) -> list[Any]:
        """The rows as Python objects, with numbers in place of dates and times that Python cannot represent.

        :raises SchemaError: the schema has unions, or is not an Avro schema.
        """
        if not isinstance(self._codec, AvroCodec) or self._codec.types.has_unions():
            raise SchemaError(
                f"a row cannot be written with {self._shown}: a date or time in it is not in the years 1 to 9999 "
                f"({error}); give such rows another value, or write the column as a number with a schema of its own"
            ) from error
        return _plain(values.cast(_with_numbers(values.type)))

    def _written(self, value: Any, is_far: bool) -> bytes:
        try:
            if isinstance(self._codec, AvroCodec):
                named = _Members(self._codec.types, is_far).named(self._codec.parsed, value)
                payload = self._codec.encode(named, strict=True)
            elif isinstance(self._codec, JsonCodec):
                payload = self._codec.encode(self._json.json_of(value))
            else:
                message_class = self._codec.message_class(self._codec.path)
                message = message_class()
                fill(message, message_class.DESCRIPTOR, value)
                payload = self._codec.encode(message)
        except SchemaError as error:
            raise SchemaError(f"a row cannot be written with {self._shown}: {error}") from error
        return framed(self._id, payload)


class _Members:
    """Converts structs that represent unions of several types (``member0`` and so on) to pairs of a type's name and a
    value.

    :param is_far: whether dates and times are given as numbers.
    """

    def __init__(self, types: NamedTypes, is_far: bool) -> None:
        self._types = types
        self._is_far = is_far

    def named(self, schema: Any, value: Any) -> Any:
        """Convert a value of a schema.

        :raises SchemaError: two members of a union have values.
        """
        known = self._types.known(schema)
        if value is None:
            return None
        if isinstance(known, list):
            return self._union(known, value)
        match known["type"]:
            case "record" | "error" if isinstance(value, dict):
                kinds = {one["name"]: one["type"] for one in known["fields"]}
                return {name: self.named(kinds[name], one) if name in kinds else one for name, one in value.items()}
            case "array" if isinstance(value, list):
                return [self.named(known["items"], one) for one in value]
            case "map" if isinstance(value, dict):
                return {name: self.named(known["values"], one) for name, one in value.items()}
            case "long" if self._is_far and str(logical_type(known)).endswith("timestamp-millis"):
                return value // 1000
        return value

    def _union(self, union: list[Any], value: Any) -> Any:
        kinds = self._types.kinds(union)
        if len(kinds) == 1:
            return self.named(kinds[0], value)
        members = [f"member{i}" for i in range(len(kinds))]
        if not isinstance(value, dict) or list(value) != members:
            return value
        given = [(kind, value[name]) for kind, name in zip(kinds, members, strict=True) if value[name] is not None]
        if len(given) > 1:
            raise SchemaError(f"of {', '.join(members)} only one may have a value: they are types of a union")
        return (branch_name(given[0][0]), self.named(*given[0])) if given else None


def _takes_null(types: AvroTypes, field: Mapping[str, Any]) -> bool:
    known = types.known(field["type"])
    return isinstance(known, list) and any(types.known(branch) == {"type": "null"} for branch in known)


_WIDTHS: dict[pa.DataType, int] = {
    pa.int8(): 1, pa.int16(): 2, pa.int32(): 3, pa.int64(): 4, pa.float32(): 5, pa.float64(): 6,
}  # fmt: skip


def _check(given: pa.DataType, wanted: pa.DataType, shown: str, where: str) -> None:
    if kinds.is_struct(given) and kinds.is_struct(wanted):
        known = {one.name: one.type for one in wanted}
        for column in given:
            here = inside(where, column.name)
            if column.name not in known:
                raise SchemaError(f"{shown} has no field for the column {here}: leave it out, or register a version")
            _check(column.type, known[column.name], shown, here)
    elif kinds.is_list(given) and kinds.is_list(wanted):
        _check(given.value_type, wanted.value_type, shown, f"{where}[]")
    elif kinds.is_map(given) and kinds.is_map(wanted):
        _check(given.key_type, wanted.key_type, shown, f"{where}{{}}")
        _check(given.item_type, wanted.item_type, shown, f"{where}{{}}")
    elif not _fits(given, wanted):
        raise SchemaError(f"the column {where} is of type {given}, which {shown} cannot take: there it is {wanted}")


def _fits(given: pa.DataType, wanted: pa.DataType) -> bool:
    if given in _WIDTHS and wanted in _WIDTHS:
        return _WIDTHS[given] <= _WIDTHS[wanted]
    if kinds.is_decimal(given) and kinds.is_decimal(wanted):
        return bool(given.scale == wanted.scale and given.precision <= wanted.precision)
    if kinds.is_timestamp(given) and kinds.is_timestamp(wanted):
        return bool((given.tz is None) == (wanted.tz is None))
    if kinds.is_struct(wanted) and not kinds.is_struct(given):  # this struct stands for an Avro union of several types
        return any(_fits(given, one.type) for one in wanted if one.name.startswith("member"))
    return bool(given == wanted)


def _plain(values: pa.Array) -> list[Any]:
    """The rows as Python objects, with maps as dictionaries."""
    rows = values.to_pylist()
    change = _maps(values.type)
    return rows if change is None else [None if row is None else change(row) for row in rows]


def _with_numbers(kind: pa.DataType) -> pa.DataType:
    """A type in which dates and times are replaced by numbers of days and microseconds."""
    if kinds.is_struct(kind):
        return pa.struct([pa.field(one.name, _with_numbers(one.type)) for one in kind])
    if kinds.is_list(kind):
        return pa.list_(_with_numbers(kind.value_type))
    if kinds.is_map(kind):
        return pa.map_(kind.key_type, _with_numbers(kind.item_type))
    return pa.int32() if kinds.is_date32(kind) else pa.int64() if kinds.is_timestamp(kind) else kind


def _maps(kind: pa.DataType) -> Callable[[Any], Any] | None:
    """A function that converts the maps in a value to dictionaries; None if the value has no map."""
    if kinds.is_map(kind):
        inner = _maps(kind.item_type)
        if inner is None:
            return dict
        return lambda pairs: {key: None if value is None else inner(value) for key, value in pairs}
    if kinds.is_list(kind):
        item = _maps(kind.value_type)
        return None if item is None else lambda items: [None if one is None else item(one) for one in items]
    if kinds.is_struct(kind):
        found = {one.name: change for one in kind if (change := _maps(one.type)) is not None}
        if not found:
            return None
        return lambda row: {
            name: found[name](value) if name in found and value is not None else value for name, value in row.items()
        }
    return None
