"""Converts Protobuf messages to an Arrow array, field by field: a column takes its values from all messages at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from oncelog.schemas.arrow.fitting import Problems, fitting
from oncelog.schemas.schema_errors import SchemaError

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

Values = list[Any]
MAX_COLUMNS = 10_000
_MICROSECONDS = 1_000_000
_STANDARD = "google.protobuf."
TIMESTAMP, _ANY = "google.protobuf.Timestamp", "google.protobuf.Any"
TIMES = {TIMESTAMP: pa.timestamp("us", "UTC"), "google.protobuf.Duration": pa.duration("us")}
WRAPPERS = {f"google.protobuf.{kind}Value" for kind in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32",
             "Bool", "String", "Bytes")}  # fmt: skip
ANY_SHAPE = {"google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue"}


@dataclass(slots=True)
class _Building:
    """What all parts of a message's columns share while they are built.

    :param texts: as in :class:`ProtobufColumns`.
    :param count: the number of columns so far.
    """

    texts: bool
    count: int = 0


class ProtobufColumns:
    """The columns of a message type, under the names of the ``.proto`` file.

    :param texts: a type that a file cannot express, such as a recursive message, becomes JSON text.
    :raises SchemaError: a message contains itself, which no column can, and ``texts`` is not set.
    """

    def __init__(self, descriptor: Descriptor, *, texts: bool = False) -> None:
        self.name = str(descriptor.full_name)
        if texts:
            self.arrow_type, self._make = _message(descriptor, (), _Building(texts))
        else:
            made = _Message(descriptor, (), _Building(texts))
            self.arrow_type, self._make = made.arrow_type, made.array

    def array(self, messages: Values) -> tuple[pa.Array, Problems]:
        """The column of the messages, and the errors of those that do not fit and are therefore null. A message may be
        None."""
        return fitting(messages, self._make)


class _Message:
    """The struct column of a message type, built field by field from all messages."""

    def __init__(self, descriptor: Descriptor, around: tuple[str, ...], building: _Building) -> None:
        if descriptor.full_name in around:
            raise SchemaError(f"the message {descriptor.full_name} contains itself: Spark has no type for it")
        self._fields = []
        for field in descriptor.fields:
            building.count += 1
            if building.count > MAX_COLUMNS:
                raise SchemaError(f"the messages have more than {MAX_COLUMNS} columns, nested ones among them")
            self._fields.append((field, _Field(field, (*around, descriptor.full_name), building)))
        self.arrow_type = pa.struct([pa.field(field.name, made.arrow_type) for field, made in self._fields])

    def array(self, messages: Values) -> pa.Array:
        absent = pa.array([message is None for message in messages], pa.bool_())
        if not self._fields:
            return pa.array([None if message is None else {} for message in messages], self.arrow_type)
        arrays = [made.of_messages(messages) for _, made in self._fields]
        return pa.StructArray.from_arrays(arrays, fields=list(self.arrow_type), mask=absent)


class _Field:
    def __init__(self, field: FieldDescriptor, around: tuple[str, ...], building: _Building) -> None:
        self._name, self._has_presence = field.name, field.has_presence
        # proto2: an unset field has its default, as in Java and from_protobuf
        self._has_default = field.has_default_value
        entry = field.message_type
        self._is_map = entry is not None and bool(entry.GetOptions().map_entry)
        self._is_list = field.is_repeated and not self._is_map
        if self._is_map and entry is not None:
            key = _value(entry.fields_by_name["key"], around, building)
            value = _value(entry.fields_by_name["value"], around, building)
            self._inner = [key, value]
            self.arrow_type = pa.map_(key[0], value[0])
        else:
            self._inner = [_value(field, around, building)]
            self.arrow_type = pa.list_(self._inner[0][0]) if self._is_list else self._inner[0][0]

    def of_messages(self, messages: Values) -> pa.Array:
        name = self._name
        if not (self._is_list or self._is_map):
            if self._has_presence and not self._has_default:
                found = [getattr(one, name) if one is not None and one.HasField(name) else None for one in messages]
            else:
                found = [None if one is None else getattr(one, name) for one in messages]
            return self._inner[0][1](found)
        held = [() if one is None else getattr(one, name) for one in messages]
        offsets = [0]
        for items in held:
            offsets.append(offsets[-1] + len(items))
        places = pa.array(offsets, pa.int32())
        if self._is_list:
            return pa.ListArray.from_arrays(places, self._inner[0][1]([item for items in held for item in items]))
        pairs = [pair for items in held if items for pair in items.items()]
        keys, values = ([pair[0] for pair in pairs], [pair[1] for pair in pairs])
        return pa.MapArray.from_arrays(places, self._inner[0][1](keys), self._inner[1][1](values))


def _value(
    field: FieldDescriptor, around: tuple[str, ...], building: _Building
) -> tuple[pa.DataType, Callable[[Values], pa.Array]]:
    """The Arrow type of single values, and the function that builds an array of them."""
    if field.message_type is not None:
        return _message(field.message_type, around, building)
    if field.enum_type is not None:
        names = {one.number: one.name for one in reversed(field.enum_type.values)}  # of aliases the first, as in Java
        return pa.string(), lambda values: pa.array(
            [None if one is None else names.get(one, str(one)) for one in values], pa.string()
        )
    kind = _SCALARS[field.cpp_type] if field.type != field.TYPE_BYTES else pa.binary()
    return kind, lambda values: pa.array(values, kind)


def _message(
    descriptor: Descriptor, around: tuple[str, ...], building: _Building
) -> tuple[pa.DataType, Callable[[Values], pa.Array]]:
    name = descriptor.full_name
    if name in TIMES and (name == TIMESTAMP or not building.texts):
        kind = TIMES[name]
        return kind, lambda values: pa.array([None if one is None else _microseconds(one) for one in values], kind)
    if name in WRAPPERS:
        kind, inner = _value(descriptor.fields_by_name["value"], around, building)
        return kind, lambda values: inner([None if one is None else one.value for one in values])
    is_standard = name.startswith(_STANDARD) and name != _ANY
    if name in ANY_SHAPE or (building.texts and (is_standard or name in around or not descriptor.fields)):
        return pa.string(), lambda values: pa.array(
            [None if one is None else _json(one) for one in values], pa.string()
        )
    made = _Message(descriptor, around, building)
    return made.arrow_type, made.array


def _microseconds(time: Any) -> int:
    return int(time.seconds * _MICROSECONDS + int(time.nanos / 1000))  # towards 0, as from_protobuf does


def _json(message: Any) -> str:
    from google.protobuf import json_format

    try:
        return str(json_format.MessageToJson(message, preserving_proto_field_name=True, indent=None))
    except (json_format.Error, RecursionError) as error:
        raise ValueError(str(error)) from error


_SCALARS: Sequence[pa.DataType] = [
    pa.null(), pa.int32(), pa.int64(), pa.int64(), pa.decimal128(20, 0), pa.float64(), pa.float32(), pa.bool_(),
    pa.string(), pa.string(),
]  # fmt: skip
"""Arrow types by the runtime's type number (CPPTYPE); an unsigned type becomes the next larger signed type."""
