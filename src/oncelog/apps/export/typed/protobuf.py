"""The shape of a Protobuf message, for messages of the class that the columns are made of. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from oncelog.apps.export.typed.shape import Shape, listed, mapped, plain

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor
    from google.protobuf.message import Message

_WRAPPERS = "google.protobuf."
_TIMESTAMP = "google.protobuf.Timestamp"
_ANY = "google.protobuf.Any"


def protobuf_shape(message: Descriptor) -> Shape:
    return _message(message, ())


def _message(message: Descriptor, around: tuple[str, ...]) -> Shape:
    name = message.full_name
    if name == _TIMESTAMP:
        return Shape(pa.timestamp("us", "UTC"), lambda one: one.seconds * 1_000_000 + one.nanos // 1_000)
    if name.startswith(_WRAPPERS) and name.endswith("Value") and list(message.fields_by_name) == ["value"]:
        inner = _single(message.fields_by_name["value"], around)
        return Shape(inner.type, lambda one: inner.convert(one.value))
    if (name.startswith(_WRAPPERS) and name != _ANY) or name in around or not message.fields:
        return Shape(pa.string(), _as_json)
    fields = {one.name: _field(one, (*around, name)) for one in message.fields}
    kind = pa.struct([pa.field(name, shape.type) for name, shape in fields.items()])
    return Shape(kind, lambda one: {name: _value(one, name, shape) for name, shape in fields.items()})


def _value(message: Message, name: str, shape: Shape) -> Any:
    """A field that is not set is null, unless it has a default (proto2) or no presence (proto3)."""
    field = message.DESCRIPTOR.fields_by_name[name]
    if field.has_presence and not field.has_default_value and not message.HasField(name):
        return None
    return shape.convert(getattr(message, name))


def _field(field: FieldDescriptor, around: tuple[str, ...]) -> Shape:
    kind = field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        return mapped(_single(kind.fields_by_name["value"], around), _single(kind.fields_by_name["key"], around))
    return listed(_single(field, around)) if field.is_repeated else _single(field, around)


def _single(field: FieldDescriptor, around: tuple[str, ...]) -> Shape:
    if field.message_type is not None:
        return _message(field.message_type, around)
    if field.enum_type is not None:
        names = {one.number: one.name for one in field.enum_type.values}
        return Shape(pa.string(), lambda number: names.get(number, str(number)))
    return _SCALARS[field.type]


def _scalars() -> dict[int, Shape]:
    from google.protobuf.descriptor import FieldDescriptor as F

    return {
        **dict.fromkeys((F.TYPE_INT32, F.TYPE_SINT32, F.TYPE_SFIXED32), plain(pa.int32())),
        **dict.fromkeys((F.TYPE_INT64, F.TYPE_SINT64, F.TYPE_SFIXED64), plain(pa.int64())),
        **dict.fromkeys((F.TYPE_UINT32, F.TYPE_FIXED32), plain(pa.int64())),
        **dict.fromkeys((F.TYPE_UINT64, F.TYPE_FIXED64), plain(pa.decimal128(20, 0))),
        F.TYPE_FLOAT: plain(pa.float32()),
        F.TYPE_DOUBLE: plain(pa.float64()),
        F.TYPE_BOOL: plain(pa.bool_()),
        F.TYPE_STRING: plain(pa.string()),
        F.TYPE_BYTES: plain(pa.binary()),
    }


_SCALARS = _scalars()


def _as_json(message: Message) -> str:
    from google.protobuf import json_format

    return str(json_format.MessageToJson(message, preserving_proto_field_name=True, indent=None))


__all__ = ["protobuf_shape"]
