"""Protobuf schemas: parsed by protoc (``grpcio-tools``), written by ``protobuf_text``, compared by
``protobuf_changes``.

protoc runs in a process of its own, within a time limit, so a text that crashes protoc ends that process only. A schema
may come as text or as a serialized ``FileDescriptorProto`` in base64, as confluent-kafka's Python client sends it. Both
become the same text; a descriptor that no text can express is kept unchanged.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from google.protobuf.descriptor_pb2 import (
    DESCRIPTOR,
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from oncelog.schema_registry.formats.parsed import Dependency
from oncelog.schema_registry.formats.protobuf_changes import Files, problems
from oncelog.schema_registry.formats.protobuf_text import in_order, printed
from oncelog.schema_registry.rest_errors import InvalidSchema
from oncelog.schemas.known_protos import CONFLUENTS, is_known, known_file

PROTOC_SECONDS = 30
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")
_WARNING = re.compile(r".*warning:|WARNING:|[IW]\d{4} ")
_NOT_FOUND = re.compile(r"(\S+): File not found\.")
SERIALIZED = "serialized"
_OWN = "oncelog-schema.proto"


class ProtobufSchema:
    """A parsed schema; made by :func:`parse`."""

    def __init__(
        self,
        text: str,
        descriptor: FileDescriptorProto,
        imported: Sequence[FileDescriptorProto],
        printable: FileDescriptorProto | None = None,
    ) -> None:
        self.text = text
        self._descriptor = descriptor
        self._imported = imported
        self._printable = printable
        """The descriptor from which the text was written; None if the text is kept as it was sent."""

    @cached_property
    def files(self) -> Files:
        return Files(self._descriptor, self._imported)

    def check_new(self) -> None:
        """Does nothing: parsing has already checked everything."""

    def normalized(self) -> str:
        return self.text if self._printable is None else printed(in_order(self._printable))

    def formatted(self, form: str) -> str:
        if form != SERIALIZED:
            raise InvalidSchema(f"Protobuf has no format {form!r}, only {SERIALIZED}")
        return base64.b64encode(self._descriptor.SerializeToString(deterministic=True)).decode()

    def problems_reading(self, writer: ProtobufSchema) -> list[str]:
        return problems(writer.files, self.files)


def parse(text: str, dependencies: Sequence[Dependency]) -> ProtobufSchema:
    """Parse a ``.proto`` text or a descriptor in base64.

    :raises InvalidSchema: the text is not a Protobuf schema, or imports a file that was not passed along.
    """
    given = _descriptor_of(text)
    source = text if given is None else printed(given)
    descriptor, imported = _compiled(source, dependencies)
    kept = _plain(descriptor if given is None else given)
    whole = _with_options(kept, imported)
    for printable in (kept, whole):
        written = printed(printable)
        same = descriptor if written == source else _compiled(written, dependencies)[0]
        if _serialized(_with_options(_plain(same), imported)) == _serialized(whole):
            return ProtobufSchema(written, kept, imported, printable)
    if given is None:
        return ProtobufSchema(text.strip() + "\n", kept, imported)
    return ProtobufSchema(base64.b64encode(_serialized(kept)).decode(), kept, imported)


def _with_options(kept: FileDescriptorProto, imported: Sequence[FileDescriptorProto]) -> FileDescriptorProto:
    """The descriptor with its custom options parsed, which it or its imports define; they are unknown bytes
    otherwise."""
    pool = DescriptorPool()
    own = FileDescriptorProto()
    own.CopyFrom(kept)
    own.name = _OWN
    standard = FileDescriptorProto.FromString(DESCRIPTOR.serialized_pb)
    for file in (standard, *(one for one in imported if one.name != standard.name), own):
        pool.AddSerializedFile(file.SerializeToString())
    known: Any = GetMessageClass(pool.FindMessageTypeByName(FileDescriptorProto.DESCRIPTOR.full_name))
    found: FileDescriptorProto = known.FromString(kept.SerializeToString())
    return found


def _serialized(descriptor: FileDescriptorProto) -> bytes:
    found: bytes = descriptor.SerializeToString(deterministic=True)
    return found


def _descriptor_of(text: str) -> FileDescriptorProto | None:
    """The descriptor that a base64 text encodes; None if the text is a ``.proto`` file."""
    if not _BASE64.fullmatch(text):
        return None
    try:
        found = FileDescriptorProto.FromString(base64.b64decode(text))
    except (binascii.Error, DecodeError, ValueError) as error:
        raise InvalidSchema(f"this is not a Protobuf schema, nor the base64 of one: {error}") from error
    if not (found.message_type or found.enum_type or found.extension or found.service or found.dependency):
        raise InvalidSchema("this is not a Protobuf schema: it defines nothing")
    return found


def _plain(descriptor: FileDescriptorProto) -> FileDescriptorProto:
    """A descriptor without the parts that may differ between two descriptors of the same schema: file name, source
    positions, JSON names.
    """
    found = FileDescriptorProto()
    found.CopyFrom(descriptor)
    found.ClearField("name")
    found.ClearField("source_code_info")
    if found.syntax == "proto2":
        found.ClearField("syntax")
    for field in found.extension:
        _plain_field(field)
    waiting: list[DescriptorProto] = list(found.message_type)
    while waiting:
        message = waiting.pop()
        for field in (*message.field, *message.extension):
            _plain_field(field)
        waiting += message.nested_type
    return found


def _plain_field(field: FieldDescriptorProto) -> None:
    camel = re.sub(r"_([a-zA-Z0-9])", lambda match: match[1].upper(), field.name).replace("_", "")
    if field.json_name in (camel, ""):
        field.ClearField("json_name")


def _compiled(source: str, dependencies: Sequence[Dependency]) -> tuple[FileDescriptorProto, list[FileDescriptorProto]]:
    """The descriptors that protoc makes of a text and of its imports."""
    name = f"schema-{hashlib.sha256(source.encode(errors='replace')).hexdigest()[:16]}.proto"
    with TemporaryDirectory(prefix="oncelog-protobuf-") as folder:
        root, out = Path(folder) / "in", Path(folder) / "out"
        root.mkdir()
        for dependency in dependencies:
            given = _descriptor_of(dependency.text)
            _write(root, dependency.name, dependency.text if given is None else printed(given))
        _write(root, name, source)
        for known in CONFLUENTS:
            _write_file(root, known, printed(known_file(known)))
        command = [
            sys.executable, "-I", "-m", "grpc_tools.protoc", f"-I{root}", *_google_types(), "--include_imports",
            f"--descriptor_set_out={out}", name,
        ]  # fmt: skip
        try:
            ended = subprocess.run(
                command, capture_output=True, timeout=PROTOC_SECONDS, check=False, stdin=subprocess.DEVNULL, cwd=folder
            )
        except subprocess.TimeoutExpired:
            raise InvalidSchema(f"this is not a Protobuf schema: protoc took more than {PROTOC_SECONDS} s") from None
        if ended.returncode != 0 or not out.exists():
            raise InvalidSchema(f"this is not a Protobuf schema: {_message(ended.stderr, root, name)}")
        every = FileDescriptorSet.FromString(out.read_bytes())
    found = [one for one in every.file if one.name == name]
    return found[0], [one for one in every.file if one.name != name]


def _google_types() -> list[str]:
    """The option of protoc for the folder of ``google/type``, which makes no other file of the folder's parent
    visible."""
    found = find_spec("google.type")
    return [f"-Igoogle/type={folder}" for folder in (found.submodule_search_locations or () if found else ())]


def _write(root: Path, name: str, text: str) -> None:
    """Write an imported file into protoc's folder.

    :raises InvalidSchema: the file's name leads out of the folder.
    """
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name or not path.parts:
        raise InvalidSchema(f"a reference of Protobuf is named by the path that is imported, not {name!r}")
    if not is_known(name):
        _write_file(root, name, text)


def _write_file(root: Path, name: str, text: str) -> None:
    file = root / PurePosixPath(name)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except (OSError, UnicodeEncodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error.reason
        raise InvalidSchema(f"the reference {name[:100]!r} is not a valid file name: {why}") from error


def _message(stderr: bytes, root: Path, name: str) -> str:
    """The error message of protoc, without the folder in which it ran."""
    text = stderr.decode(errors="replace").replace(f"{root}/", "").replace(str(root), "")
    missing = sorted({file for file in _NOT_FOUND.findall(text) if file != name})
    if missing:
        return (
            f"it imports {', '.join(missing)[:500]}, which is neither among its references nor a file that every "
            "registry has (google/protobuf, google/type, confluent): register the file, and refer to it by the name "
            "that is imported (references; --reference of the command)"
        )
    lines = [line for line in text.splitlines() if not _WARNING.match(line)]
    text = "; ".join(line.replace(f"{name}:", "line ", 1) for line in lines)
    return text[:1000] or "protoc failed without a message"
