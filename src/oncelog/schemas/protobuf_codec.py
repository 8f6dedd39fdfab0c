"""Encodes and decodes Protobuf payloads with Google's runtime. Called by serializers and decoders.

No ``.proto`` text is parsed here: the registry gives a file's descriptor in its form ``serialized``.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oncelog.schemas.framing import HEADER_BYTES, indexes_of, with_indexes
from oncelog.schemas.known_protos import is_known, known_file
from oncelog.schemas.schema_errors import SchemaError
from oncelog.schemas.structs import PROTOBUF, Schema

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FileDescriptor
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import Message

_ROOT = "oncelog-schema.proto"


class ProtobufCodec:
    """Reads and writes messages of one ``.proto`` file.

    :param schema: its text is the file's descriptor, as the registry returns it with ``format=serialized``.
    :param dependencies: the files that this file imports, by name, in the same form.
    :raises SchemaError: the text is no file descriptor, or an imported file is missing.
    """

    schema_type = PROTOBUF

    def __init__(self, schema: Schema, dependencies: Mapping[str, Schema]) -> None:
        from google.protobuf.descriptor_pool import DescriptorPool

        pool = DescriptorPool()
        try:
            for name, dependency in dependencies.items():
                if not is_known(name):
                    _add(pool, name, dependency.text, dependencies)
            _add(pool, _ROOT, schema.text, dependencies)
            self._file: FileDescriptor = pool.FindFileByName(_ROOT)
        except (TypeError, KeyError, ValueError) as error:
            raise SchemaError(f"this Protobuf file cannot be used: {error}") from error
        self._classes: dict[tuple[int, ...], type[Message]] = {}
        self.path: Sequence[int] = [0]
        """The path of the message that :meth:`from_json` and :meth:`encode` write; the file's first message by
        default."""
        messages = list(self._file.message_types_by_name.values())
        self.name: str | None = messages[0].full_name if messages else None

    def choose(self, name: str) -> None:
        """Choose the message to write by its name, with or without its package, such as ``shop.Order.Item``.

        :raises SchemaError: the file has no such message.
        """
        messages = self._messages()
        for descriptor in messages:
            if name in (descriptor.full_name, self._short(descriptor)):
                self.path, self.name = path_of(descriptor), descriptor.full_name
                return
        known = ", ".join(map(self._short, messages))[:500] or "none"
        raise SchemaError(f"the Protobuf file has no message {name!r}; its messages: {known}")

    def _messages(self) -> list[Descriptor]:
        """The file's messages and their nested messages, without those generated for maps."""
        found = list(self._file.message_types_by_name.values())
        for descriptor in found:
            found += [one for one in descriptor.nested_types if not one.GetOptions().map_entry]
        return found

    def _short(self, descriptor: Descriptor) -> str:
        return str(descriptor.full_name).removeprefix(f"{self._file.package}.")

    def encode(self, value: Any, *, strict: bool = False) -> bytes:
        """Encode a message, or a dictionary in Protobuf's JSON form.

        :raises SchemaError: the value does not fit the message.
        """
        from google.protobuf.message import EncodeError, Message

        message = value if isinstance(value, Message) else self.from_json(value)
        try:
            return with_indexes(self.path, message.SerializeToString())
        except (EncodeError, ValueError) as error:
            raise SchemaError(f"the message cannot be written: {error}") from error

    def decode(self, data: bytes, message_class: type[Message] | None = None) -> Message:
        """Decode the message after the schema id and the path to its type.

        :raises SchemaError: the path leads to no message, or the bytes do not fit.
        """
        path, position = indexes_of(data, HEADER_BYTES)
        return read_message(message_class or self.message_class(path), data[position:])

    def decode_json(self, data: bytes) -> tuple[Any, str | None]:
        """Decode a message to Protobuf's JSON form, with the field names of the ``.proto`` file; returns it and the
        message's name."""
        from google.protobuf import json_format

        value = self.decode(data)
        try:
            shown = json_format.MessageToDict(
                value,
                preserving_proto_field_name=True,
                always_print_fields_with_no_presence=True,
                descriptor_pool=self._file.pool,
            )
        except (json_format.Error, ValueError, TypeError, KeyError, RecursionError) as error:
            raise SchemaError(f"the message cannot be shown as JSON: {error}") from error
        return shown, value.DESCRIPTOR.full_name

    def from_json(self, value: Any) -> Any:
        """A message from its form in Protobuf's JSON.

        :raises SchemaError: the value does not fit the message.
        """
        from google.protobuf import json_format

        if not isinstance(value, dict):
            raise SchemaError(f"a Protobuf message is a JSON object, not {repr(value)[:80]}")
        try:
            return json_format.ParseDict(value, self.message_class(self.path)(), descriptor_pool=self._file.pool)
        except (json_format.Error, ValueError, TypeError, RecursionError) as error:
            raise SchemaError(f"the value does not fit the Protobuf message {self.name}: {error}") from error

    def message_class(self, path: Sequence[int]) -> type[Message]:
        from google.protobuf.message_factory import GetMessageClass

        found = self._classes.get(tuple(path))
        if found is None:
            level: Sequence[Descriptor] = list(self._file.message_types_by_name.values())
            for index in path:
                if index >= len(level):
                    raise SchemaError(f"the schema's Protobuf file has no message at {list(path)}")
                descriptor = level[index]
                level = list(descriptor.nested_types)
            found = self._classes[tuple(path)] = GetMessageClass(descriptor)
        return found


def read_message(message_class: type[Message], payload: bytes) -> Message:
    """Decode a payload to a message of this class.

    :raises SchemaError: the bytes do not fit.
    """
    from google.protobuf.message import DecodeError

    message = message_class()
    try:
        message.ParseFromString(payload)
    except (DecodeError, ValueError) as error:
        raise SchemaError(f"the bytes do not fit the message {message_class.DESCRIPTOR.full_name}: {error}") from error
    return message


def file_text(file: FileDescriptor) -> str:
    """A ``.proto`` file as its descriptor in base64, which registries accept in place of the text."""
    return base64.b64encode(file.serialized_pb).decode()


def path_of(descriptor: Descriptor) -> list[int]:
    """The path of a message in its file: the number of the outermost message, then those of the nested messages."""
    path: list[int] = []
    while descriptor.containing_type is not None:
        outer = descriptor.containing_type
        path.insert(0, [one.name for one in outer.nested_types].index(descriptor.name))
        descriptor = outer
    return [list(descriptor.file.message_types_by_name).index(descriptor.name), *path]


def _add(pool: DescriptorPool, name: str, text: str, dependencies: Mapping[str, Schema]) -> None:
    file = _file(text)
    for imported in file.dependency:
        if imported not in dependencies or is_known(imported):
            _add_known(pool, imported)
    file.name = name
    pool.AddSerializedFile(file.SerializeToString())


def _file(text: str) -> FileDescriptorProto:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import DecodeError

    try:
        return FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (ValueError, DecodeError) as error:
        raise SchemaError(
            "the registry does not give the Protobuf file's descriptor (its form 'serialized')"
        ) from error


def _add_known(pool: DescriptorPool, name: str) -> None:
    """Add a file that needs no reference to the pool, and the files that it imports."""
    if not is_known(name):
        raise SchemaError(f"the Protobuf file imports {name}, which is not among the schema's references")
    try:
        pool.FindFileByName(name)
    except KeyError:
        file = known_file(name)
        for imported in file.dependency:
            _add_known(pool, imported)
        pool.AddSerializedFile(file.SerializeToString())
