"""The Protobuf files that every registry and every client has, so that no reference is registered for them.

Source: ``ProtobufSchema.KNOWN_DEPENDENCIES`` of Confluent's registry. Google's files come with Google's packages.
Confluent's files, which no separate package contains, are built here. Called by the registry, serializers and the
codec.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from oncelog.schemas.schema_errors import SchemaError

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

_GOOGLES = {
    "google/protobuf/": "any api descriptor duration empty field_mask source_context struct timestamp type wrappers",
    "google/type/": "calendar_period color date datetime dayofweek decimal expr fraction interval latlng "
    "localized_text money month phone_number postal_address quaternion timeofday",
}
_DESCRIPTOR = "google/protobuf/descriptor.proto"
_META = "confluent/meta.proto"
_DECIMAL = "confluent/type/decimal.proto"
_OLD_DECIMAL = "confluent/types/decimal.proto"
_VARIANT = "confluent/type/variant.proto"
CONFLUENTS = (_META, _DECIMAL, _OLD_DECIMAL, _VARIANT)
KNOWN = frozenset(
    [*CONFLUENTS, *(f"{folder}{name}.proto" for folder, names in _GOOGLES.items() for name in names.split())]
)
_OPTIONS = {
    "FileOptions": "file_meta",
    "MessageOptions": "message_meta",
    "FieldOptions": "field_meta",
    "EnumOptions": "enum_meta",
    "EnumValueOptions": "enum_value_meta",
}
_META_NUMBER = 1088


def is_known(name: str) -> bool:
    """Whether a file that is imported under this name needs no reference."""
    return name in KNOWN


def known_file(name: str) -> FileDescriptorProto:
    """The descriptor of a known file.

    :raises SchemaError: the package that contains the file is not installed.
    """
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    if name in CONFLUENTS:
        return _confluents(name)
    try:
        module = import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
    except ModuleNotFoundError as error:
        raise SchemaError(f"the Protobuf file imports {name}: pip install 'oncelog[schemas]'") from error
    return FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)


@cache
def _confluents(name: str) -> FileDescriptorProto:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    file = FileDescriptorProto(name=name, package="confluent.type", syntax="proto3")
    if name == _META:
        file.package = "confluent"
        file.dependency.append(_DESCRIPTOR)
        _add_meta(file)
    elif name == _VARIANT:
        _add_fields(file.message_type.add(name="Variant"), metadata="bytes", value="bytes")
    else:
        _add_fields(file.message_type.add(name="Decimal"), value="bytes", precision="uint32", scale="int32")
    return file


def _add_meta(file: FileDescriptorProto) -> None:
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto

    meta = file.message_type.add(name="Meta")
    _add_fields(meta, doc="string", params=".confluent.Meta.ParamsEntry", tags="string", rules=".confluent.Rule")
    for number in (1, 2, 3):
        meta.field[number].label = FieldDescriptorProto.LABEL_REPEATED
    entry = meta.nested_type.add(name="ParamsEntry")
    entry.options.map_entry = True
    _add_fields(entry, key="string", value="string")
    _add_fields(file.message_type.add(name="Rule"), name="string", doc="string", expr="string", sql="string")
    for options, name in _OPTIONS.items():
        file.extension.add(
            name=name,
            number=_META_NUMBER,
            label=FieldDescriptorProto.LABEL_OPTIONAL,
            type=FieldDescriptorProto.TYPE_MESSAGE,
            type_name=".confluent.Meta",
            extendee=f".google.protobuf.{options}",
        )


def _add_fields(message: DescriptorProto, **kinds: str) -> None:
    """Add fields, numbered from 1. A kind that begins with a dot is the name of a message."""
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto

    for number, (name, kind) in enumerate(kinds.items(), 1):
        field = message.field.add(name=name, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL)
        if kind.startswith("."):
            field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, kind
        else:
            field.type = FieldDescriptorProto.Type.Value(f"TYPE_{kind.upper()}")
