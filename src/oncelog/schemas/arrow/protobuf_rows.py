"""Fills Protobuf messages from rows, the inverse of :class:`~oncelog.schemas.arrow.protobuf_columns.ProtobufColumns`.

A null column leaves its field unset.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from oncelog.schemas.arrow.protobuf_columns import ANY_SHAPE, TIMES, TIMESTAMP, WRAPPERS
from oncelog.schemas.schema_errors import SchemaError, inside

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor


def fill(message: Any, descriptor: Descriptor, row: Any, where: str = "") -> None:
    """Set the fields of a message.

    :param row: a dictionary of values by the names of the fields; maps are dictionaries, too.
    :param where: the place of the message in its row, for errors.
    :raises SchemaError: a value does not fit its field, or two fields of a oneof have values.
    """
    if not isinstance(row, dict):
        raise SchemaError(f"{where or 'the row'} is {repr(row)[:80]}, not a struct of the fields of {descriptor.name}")
    chosen: dict[str, str] = {}
    for name, value in row.items():
        here = inside(where, name)
        field = descriptor.fields_by_name.get(name)
        if field is None:
            raise SchemaError(f"the message {descriptor.full_name} has no field for the column {here}")
        if value is None:
            continue
        if field.containing_oneof is not None:
            other = chosen.setdefault(field.containing_oneof.name, here)
            if other != here:
                raise SchemaError(f"{other} and {here} have values, but only one field of a oneof may have one")
        try:
            _set(message, field, value, here)
        except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
            raise SchemaError(f"{here} is {repr(value)[:80]}, which does not fit: {error}") from error


def _set(message: Any, field: FieldDescriptor, value: Any, where: str) -> None:
    inner, name = field.message_type, field.name
    if inner is not None and inner.GetOptions().map_entry:
        _set_map(getattr(message, name), inner, value, where)
    elif field.is_repeated:
        _set_list(getattr(message, name), field, value, where)
    elif inner is not None:
        found = getattr(message, name)
        found.SetInParent()
        _put(found, inner, value, where)
    else:
        setattr(message, name, _plain(field, value))


def _set_list(target: Any, field: FieldDescriptor, values: list[Any], where: str) -> None:
    for number, value in enumerate(values):
        here = f"{where}[{number}]"
        _check_given(value, here)
        if field.message_type is None:
            target.append(_plain(field, value))
        else:
            _put(target.add(), field.message_type, value, here)


def _set_map(target: Any, entry: Descriptor, values: Mapping[Any, Any], where: str) -> None:
    key_field, value_field = entry.fields_by_name["key"], entry.fields_by_name["value"]
    for key, value in values.items():
        here = f"{where}[{key!r}]"
        _check_given(value, here)
        if value_field.message_type is None:
            target[_plain(key_field, key)] = _plain(value_field, value)
        else:
            _put(target[_plain(key_field, key)], value_field.message_type, value, here)


def _check_given(value: Any, where: str) -> None:
    if value is None:
        raise SchemaError(
            f"{where} is null, and the lists and maps of Protobuf hold no null: leave it out in the query"
        )


def _put(message: Any, descriptor: Descriptor, value: Any, where: str) -> None:
    """Set a message to the value of its column."""
    from google.protobuf import json_format

    name = descriptor.full_name
    if name in TIMES:
        if name == TIMESTAMP:
            message.FromDatetime(value)
        else:
            message.FromTimedelta(value)
        message.ToJsonString()  # raises ValueError for a time that other readers refuse
    elif name in WRAPPERS:
        message.value = _plain(descriptor.fields_by_name["value"], value)
    elif name in ANY_SHAPE:
        try:
            json_format.Parse(value, message)
        except (json_format.Error, RecursionError) as error:
            raise SchemaError(
                f"{where} is not the JSON of a {name} ({error}): write to_json(...) in the query"
            ) from error
    else:
        fill(message, descriptor, value, where)


def _plain(field: FieldDescriptor, value: Any) -> Any:
    """The value of a field that is no message; an enum's is its name, or the number of an unknown one."""
    if field.enum_type is not None:
        known = field.enum_type.values_by_name.get(value)
        if known is None and not str(value).removeprefix("-").isdecimal():
            names = ", ".join(field.enum_type.values_by_name)[:300]
            raise ValueError(f"the enum {field.enum_type.full_name} has no {value!r}, but {names}")
        return int(value) if known is None else known.number
    return int(value) if field.cpp_type == field.CPPTYPE_UINT64 else value
