"""Finds the changes between two Protobuf schemas that break readers. Called by ``protobuf``.

The rules are Confluent's: numbers and kinds of fields matter on the wire, names do not. Enums may change, a field may
come or go unless it is required, a removed message is refused. Fields that enter a ``oneof`` together, or an existing
``oneof``, are refused: they would lose each other's values. A field may leave a ``oneof``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

_F = FieldDescriptorProto
_KINDS = {
    **dict.fromkeys(
        (_F.TYPE_INT32, _F.TYPE_INT64, _F.TYPE_UINT32, _F.TYPE_UINT64, _F.TYPE_BOOL, _F.TYPE_ENUM), "number"
    ),
    **dict.fromkeys((_F.TYPE_SINT32, _F.TYPE_SINT64), "signed number"),
    **dict.fromkeys((_F.TYPE_STRING, _F.TYPE_BYTES), "text"),
    **dict.fromkeys((_F.TYPE_FIXED32, _F.TYPE_SFIXED32), "fixed32"),
    **dict.fromkeys((_F.TYPE_FIXED64, _F.TYPE_SFIXED64), "fixed64"),
    _F.TYPE_FLOAT: "float",
    _F.TYPE_DOUBLE: "double",
}


class Change(NamedTuple):
    """A change of a Protobuf schema that breaks readers."""

    kind: str
    path: str
    text: str

    def shown(self) -> str:
        return f"{{errorType:'{self.kind}', description:'at {self.path}: {self.text}'}}"


class MessageType(NamedTuple):
    """A message, its name within its package, and whether the schema's own file defines it."""

    descriptor: DescriptorProto
    local_name: str
    is_own: bool


class Files:
    """A schema's file and those that it imports, with their messages by name."""

    def __init__(self, own: FileDescriptorProto, imported: Sequence[FileDescriptorProto]) -> None:
        self.own = own
        self.types: dict[str, MessageType] = {}
        for file in (*imported, own):
            prefix = f".{file.package}" if file.package else ""
            for message in file.message_type:
                self._add(message, prefix, message.name, is_own=file is own)

    def _add(self, message: DescriptorProto, prefix: str, name: str, *, is_own: bool) -> None:
        self.types[f"{prefix}.{name}"] = MessageType(message, name, is_own)
        for nested in message.nested_type:
            self._add(nested, prefix, f"{name}.{nested.name}", is_own=is_own)


def problems(writer: Files, reader: Files) -> list[str]:
    """Why data of ``writer`` cannot always be read with ``reader``."""
    return [one.shown() for one in _Comparison(writer, reader).changes()]


class _Comparison:
    def __init__(self, before: Files, after: Files) -> None:
        self._before = before
        self._after = after
        self._met: set[tuple[int, int]] = set()

    def changes(self) -> Iterator[Change]:
        before, after = self._before.own, self._after.own
        if before.package != after.package:
            yield Change("PACKAGE_CHANGED", "/", f"the package is {after.package!r} after {before.package!r}")
        yield from self._messages(before.message_type, after.message_type, "")

    def _messages(
        self, before: Sequence[DescriptorProto], after: Sequence[DescriptorProto], path: str
    ) -> Iterator[Change]:
        there = {message.name: message for message in after}
        for message in before:
            where = f"{path}/{message.name}"
            if message.options.map_entry:
                continue
            if message.name not in there:
                yield Change("MESSAGE_REMOVED", where, "the message was removed")
            else:
                yield from self._message(message, there[message.name], where)

    def _message(self, before: DescriptorProto, after: DescriptorProto, path: str) -> Iterator[Change]:
        if (id(before), id(after)) in self._met:
            return
        self._met.add((id(before), id(after)))
        yield from _moves(before, after, path)
        new = {field.number: field for field in after.field}
        for field in before.field:
            found = new.pop(field.number, None)
            where = f"{path}/{field.number}"
            if found is not None:
                yield from self._field(field, found, where, before, after)
            elif field.label == _F.LABEL_REQUIRED:
                yield Change("REQUIRED_FIELD_REMOVED", where, f"{field.name} was required")
        for field in new.values():
            if field.label == _F.LABEL_REQUIRED:
                yield Change("REQUIRED_FIELD_ADDED", f"{path}/{field.number}", f"{field.name} is required")
        yield from self._messages(before.nested_type, after.nested_type, path)

    def _field(
        self,
        before: FieldDescriptorProto,
        after: FieldDescriptorProto,
        path: str,
        outer_before: DescriptorProto,
        outer_after: DescriptorProto,
    ) -> Iterator[Change]:
        kinds = _KINDS.get(before.type), _KINDS.get(after.type)
        maps = _map_entry(before, outer_before), _map_entry(after, outer_after)
        if maps[0] is not None and maps[1] is not None:
            for inner, outer in zip(maps[0].field, maps[1].field, strict=True):
                yield from self._field(inner, outer, path, maps[0], maps[1])
        elif (maps[0] is None) != (maps[1] is None) or (kinds[0] is None) != (kinds[1] is None):
            yield Change("FIELD_KIND_CHANGED", path, f"{after.name} has another kind than {before.name} had")
        elif kinds[0] != kinds[1]:
            yield Change("FIELD_SCALAR_KIND_CHANGED", path, f"{after.name} is {kinds[1]} after {kinds[0]}")
        elif kinds[0] is None:
            yield from self._named(before, after, path)
        elif kinds[0] != "text" and _is_repeated(before) != _is_repeated(after):
            yield Change("FIELD_NUMERIC_LABEL_CHANGED", path, f"{after.name} became repeated, or ceased to be")

    def _named(self, before: FieldDescriptorProto, after: FieldDescriptorProto, path: str) -> Iterator[Change]:
        """Compare a field whose type is a message: the message's name, and its content, too, if an imported file
        defines it."""
        old, new = self._before.types.get(before.type_name), self._after.types.get(after.type_name)
        names = (old.local_name if old else before.type_name, new.local_name if new else after.type_name)
        if names[0] != names[1]:
            yield Change("FIELD_NAMED_TYPE_CHANGED", path, f"the type is {names[1]} after {names[0]}")
        elif old is not None and new is not None and not (old.is_own and new.is_own):
            yield from self._message(old.descriptor, new.descriptor, f"{path}/{names[0]}")


def _is_repeated(field: FieldDescriptorProto) -> bool:
    return bool(field.label == _F.LABEL_REPEATED)


def _map_entry(field: FieldDescriptorProto, outer: DescriptorProto) -> DescriptorProto | None:
    if field.type != _F.TYPE_MESSAGE or not _is_repeated(field):
        return None
    name = field.type_name.rpartition(".")[2]
    return next((one for one in outer.nested_type if one.name == name and one.options.map_entry), None)


def _oneofs(message: DescriptorProto) -> dict[str, set[int]]:
    """The numbers of the fields of each ``oneof``; the synthetic ``oneof`` of an ``optional`` field does not count."""
    found: dict[str, set[int]] = {}
    for field in message.field:
        if field.HasField("oneof_index") and not field.proto3_optional:
            found.setdefault(message.oneof_decl[field.oneof_index].name, set()).add(field.number)
    return found


def _moves(before: DescriptorProto, after: DescriptorProto, path: str) -> Iterator[Change]:
    """Incompatible moves of fields into a ``oneof``, and removals of fields from one."""
    old, new = _oneofs(before), _oneofs(after)
    numbers = {field.number for field in before.field}
    origins = {number: name for name, members in old.items() for number in members}
    for name, members in new.items():
        alone = [number for number in members if number in numbers and number not in origins]
        groups = {origins[number] for number in members if number in origins}
        if len(alone) + len(groups) > 1:
            kind = "MULTIPLE_FIELDS_MOVED_TO_ONEOF" if len(alone) > 1 else "FIELD_MOVED_TO_EXISTING_ONEOF"
            yield Change(kind, f"{path}/{name}", "fields that could be set together exclude each other")
    left = {field.number for field in after.field}
    for name, members in old.items():
        gone = sorted(members - left)
        if gone and (name in new or members & left):
            text = f"fields {', '.join(map(str, gone))} of the oneof were removed"
            yield Change("ONEOF_FIELD_REMOVED", f"{path}/{name}", text)
