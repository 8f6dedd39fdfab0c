"""Writes a Protobuf descriptor as the text of a ``.proto`` file. Called by ``protobuf``.

It omits what a text cannot express, such as declarations of extension ranges; the caller compares the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from typing import Any

from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    Edition,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    OneofDescriptorProto,
    ServiceDescriptorProto,
)
from google.protobuf.message import Message

from oncelog.runtime import real_json as json

_TYPES: Mapping[int, str] = {
    number: name.removeprefix("TYPE_").lower() for name, number in FieldDescriptorProto.Type.items()
}
_NAMED = (FieldDescriptorProto.TYPE_MESSAGE, FieldDescriptorProto.TYPE_ENUM)
_LABELS = {FieldDescriptorProto.LABEL_REQUIRED: "required ", FieldDescriptorProto.LABEL_REPEATED: "repeated "}
_MAX_NUMBER = 2**29
_EDITIONS = "editions"


def printed(descriptor: FileDescriptorProto) -> str:
    """The text of a ``.proto`` file; its elements are in the descriptor's order."""
    return "\n".join(_file(descriptor)) + "\n"


def in_order(descriptor: FileDescriptorProto) -> FileDescriptorProto:
    """The descriptor with imports sorted by name, and with fields, enum values and reserved ranges sorted by number, as
    Confluent's registry normalizes a schema. Messages and enums keep their positions, which records refer to, and so
    does the first value of an enum, which is its default.
    """
    found = descriptor.__class__()
    found.CopyFrom(descriptor)
    names = sorted(found.dependency)
    for places in (found.public_dependency, found.weak_dependency):
        moved = sorted(names.index(descriptor.dependency[at]) for at in places)
        places[:] = moved
    found.dependency[:] = names
    enums = list(found.enum_type)
    waiting = list(found.message_type)
    while waiting:
        message = waiting.pop()
        message.field.sort(key=lambda field: field.number)
        _reserved_in_order(message)
        message.extension_range.sort(key=lambda one: one.start)
        waiting += message.nested_type
        enums += message.enum_type
    for enum in enums:
        first = enum.value[0].name
        enum.value.sort(key=lambda value: (value.name != first, value.number, value.name))
        _reserved_in_order(enum)
    return found


def _reserved_in_order(kind: DescriptorProto | EnumDescriptorProto) -> None:
    kind.reserved_range.sort(key=lambda one: one.start)
    kind.reserved_name.sort()


def _file(descriptor: FileDescriptorProto) -> Iterator[str]:
    syntax = descriptor.syntax or "proto2"
    if syntax == _EDITIONS:
        yield f'edition = "{Edition.Name(descriptor.edition).removeprefix("EDITION_")}";'
    else:
        yield f'syntax = "{syntax}";'
    if descriptor.package:
        yield f"package {descriptor.package};"
    public, weak = set(descriptor.public_dependency), set(descriptor.weak_dependency)
    for at, name in enumerate(descriptor.dependency):
        kind = "public " if at in public else "weak " if at in weak else ""
        yield f"import {kind}{_quoted(name)};"
    yield from (f"option {option};" for option in _options(descriptor.options))
    groups = _groups(descriptor.extension, descriptor.message_type)
    for message in descriptor.message_type:
        if message.name not in groups:
            yield ""
            yield from _message(message, syntax)
    for enum in descriptor.enum_type:
        yield ""
        yield from _enum(enum)
    yield from _extensions(descriptor.extension, groups, syntax)
    for service in descriptor.service:
        yield ""
        yield from _service(service)


def _inside(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _message(message: DescriptorProto, syntax: str) -> Iterator[str]:
    yield f"message {message.name} {{"
    yield from _inside(_message_lines(message, syntax))
    yield "}"


def _message_lines(message: DescriptorProto, syntax: str) -> Iterator[str]:
    yield from (f"option {option};" for option in _options(message.options, leave_out=("map_entry",)))
    inner = {entry.name: entry for entry in message.nested_type if entry.options.map_entry}
    inner |= _groups([*message.field, *message.extension], message.nested_type)
    nested = iter(message.nested_type)
    for oneof, fields in _together(message):
        # A map or a group is a nested message too, and records name a message by its position
        for _ in (one for one in fields if _defines_message(one, inner)):
            yield from _messages(takewhile(lambda one: one.name not in inner, nested), syntax)
        lines = (line for one in fields for line in _field(one, inner, syntax))
        if oneof is None:
            yield from lines
        else:
            yield f"oneof {oneof.name} {{"
            yield from _inside(f"option {option};" for option in _options(oneof.options))
            yield from _inside(lines)
            yield "}"
    yield from _messages((one for one in nested if one.name not in inner), syntax)
    for enum in message.enum_type:
        yield from _enum(enum)
    for extended in message.extension_range:
        yield f"extensions {_range(extended.start, extended.end - 1)};"
    yield from _extensions(message.extension, inner, syntax)
    yield from _reserved(((one.start, one.end - 1) for one in message.reserved_range), message.reserved_name)


def _messages(messages: Iterable[DescriptorProto], syntax: str) -> Iterator[str]:
    return (line for message in messages for line in _message(message, syntax))


def _together(message: DescriptorProto) -> Iterator[tuple[OneofDescriptorProto | None, list[FieldDescriptorProto]]]:
    """The fields of a message, in order: each by itself, but those of a oneof at the place of the first."""
    synthetic = {field.oneof_index for field in message.field if field.proto3_optional}
    oneofs: dict[int, list[FieldDescriptorProto]] = {}
    for field in message.field:
        if field.HasField("oneof_index") and field.oneof_index not in synthetic:
            oneofs.setdefault(field.oneof_index, []).append(field)
    for field in message.field:
        if not field.HasField("oneof_index") or field.oneof_index in synthetic:
            yield None, [field]
        elif (fields := oneofs.pop(field.oneof_index, None)) is not None:
            yield message.oneof_decl[field.oneof_index], fields


def _groups(fields: Iterable[FieldDescriptorProto], around: Iterable[DescriptorProto]) -> dict[str, DescriptorProto]:
    """The messages that proto2 groups define, by name."""
    names = {_last_name(one) for one in fields if one.type == FieldDescriptorProto.TYPE_GROUP}
    return {message.name: message for message in around if message.name in names}


def _defines_message(field: FieldDescriptorProto, inner: Mapping[str, DescriptorProto]) -> bool:
    """Whether the text of a field also defines one of the messages ``inner``."""
    message = inner.get(_last_name(field))
    if message is None:
        return False
    is_map = message.options.map_entry and field.label == FieldDescriptorProto.LABEL_REPEATED
    return bool(is_map or field.type == FieldDescriptorProto.TYPE_GROUP)


def _last_name(field: FieldDescriptorProto) -> str:
    return str(field.type_name).rpartition(".")[2]


def _field(field: FieldDescriptorProto, inner: Mapping[str, DescriptorProto], syntax: str) -> Iterator[str]:
    """The lines that declare a field.

    :param inner: the messages of maps and groups, which are written as part of their fields.
    """
    rest = f"= {field.number}{_field_options(field)}"
    message = inner[_last_name(field)] if _defines_message(field, inner) else None
    if message is not None and message.options.map_entry:
        key, value = message.field
        yield f"map<{_type(key)}, {_type(value)}> {field.name} {rest};"
        return
    label = _LABELS.get(field.label, "")
    if not label and (field.proto3_optional or (syntax == "proto2" and not field.HasField("oneof_index"))):
        label = "optional "
    if message is not None:
        yield f"{label}group {message.name} {rest} {{"
        yield from _inside(_message_lines(message, syntax))
        yield "}"
    else:
        yield f"{label}{_type(field)} {field.name} {rest};"


def _type(field: FieldDescriptorProto) -> str:
    return field.type_name if field.type in _NAMED else _TYPES[field.type]


def _field_options(field: FieldDescriptorProto) -> str:
    options = []
    if field.HasField("default_value"):
        text = field.default_value
        if field.type == FieldDescriptorProto.TYPE_STRING:
            text = _quoted(text)
        elif field.type == FieldDescriptorProto.TYPE_BYTES:
            text = f'"{text}"'
        options.append(f"default = {text}")
    if field.json_name:
        options.append(f"json_name = {_quoted(field.json_name)}")
    options += _options(field.options)
    return f" [{', '.join(options)}]" if options else ""


def _enum(enum: EnumDescriptorProto) -> Iterator[str]:
    yield f"enum {enum.name} {{"
    yield from _inside(f"option {option};" for option in _options(enum.options))
    for value in enum.value:
        options = ", ".join(_options(value.options))
        yield f"  {value.name} = {value.number}{f' [{options}]' if options else ''};"
    yield from _inside(_reserved(((one.start, one.end) for one in enum.reserved_range), enum.reserved_name))
    yield "}"


def _extensions(
    fields: Iterable[FieldDescriptorProto], groups: Mapping[str, DescriptorProto], syntax: str
) -> Iterator[str]:
    for field in fields:
        yield f"extend {field.extendee} {{"
        yield from _inside(_field(field, groups, syntax))
        yield "}"


def _service(service: ServiceDescriptorProto) -> Iterator[str]:
    yield f"service {service.name} {{"
    yield from _inside(f"option {option};" for option in _options(service.options))
    for method in service.method:
        asked = f"{'stream ' * method.client_streaming}{method.input_type}"
        answered = f"{'stream ' * method.server_streaming}{method.output_type}"
        options = " ".join(f"option {option};" for option in _options(method.options))
        yield f"  rpc {method.name} ({asked}) returns ({answered}){f' {{ {options} }}' if options else ';'}"
    yield "}"


def _reserved(ranges: Iterable[tuple[int, int]], names: Iterable[str]) -> Iterator[str]:
    for first, last in ranges:
        yield f"reserved {_range(first, last)};"
    for name in names:
        yield f"reserved {_quoted(name)};"


def _range(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first} to {'max' if last >= _MAX_NUMBER - 1 else last}"


def _options(options: Any, *, leave_out: tuple[str, ...] = ()) -> list[str]:
    """The options of an element as ``name = value``: those that Protobuf itself defines, and extensions that the
    message's class knows."""
    found = []
    for field, value in options.ListFields():
        if field.name == "features":
            found += [f"features.{option}" for option in _options(value)]
            continue
        if field.name in leave_out or (field.message_type and not field.is_extension):
            continue
        name = f"({field.full_name})" if field.is_extension else field.name
        many = not isinstance(value, str | bytes | int | float | bool | Message)
        found += [f"{name} = {_value(field, one)}" for one in (value if many else [value])]
    return found


def _value(field: FieldDescriptor, value: Any) -> str:
    if isinstance(value, Message):
        return f"{{ {text_format.MessageToString(value, as_one_line=True)} }}"
    if field.enum_type is not None:
        return str(field.enum_type.values_by_number[value].name)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return '"' + "".join(f"\\x{byte:02x}" for byte in value) + '"'
    return _quoted(value) if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
