"""Avro payloads by fastavro, with a writer's schema and, if wished, a reader's. Called by serializers and decoders."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import struct
from collections.abc import Mapping
from typing import Any

from oncelog.errors import ConfigError
from oncelog.schemas.avro_json import from_json, to_json
from oncelog.schemas.avro_shape import drop_impossible_decimals, most_bytes
from oncelog.schemas.framing import HEADER_BYTES
from oncelog.schemas.schema_errors import SchemaError
from oncelog.schemas.structs import AVRO, Schema

UNFIT = (
    ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, RecursionError, TypeError, ValueError,
    StopIteration, struct.error,
)  # fmt: skip
"""What fastavro raises for a value or for bytes that do not fit: it checks neither before it reads or writes them."""


class _NotingReads(io.BytesIO):
    """Notes whether more bytes were read than there were."""

    was_short = False

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        self.was_short |= size is not None and len(found) < size
        return found


class AvroCodec:
    """Reads and writes the payloads of one schema.

    :param dependencies: what the schema refers to, by name.
    :raises SchemaError: the text is not an Avro schema, or a few bytes could claim a huge value of it.
    """

    schema_type = AVRO

    def __init__(self, schema: Schema, dependencies: Mapping[str, Schema]) -> None:
        self.parsed = _parsed(schema, dependencies)
        try:
            self._most_bytes = most_bytes(self.parsed)
        except (ConfigError, RecursionError) as error:
            raise SchemaError(str(error) or "the schema nests too deeply to be read") from error
        self.name: str | None = self.parsed.get("name") if isinstance(self.parsed, dict) else None
        kind = self.parsed.get("type") if isinstance(self.parsed, dict) else self.parsed
        self._is_bytes = kind == "bytes"
        """Serializers write a value that is nothing but bytes without its length, as Java's do."""

    def encode(self, value: Any, *, strict: bool = False) -> bytes:
        """:raises SchemaError: the value does not fit; ``strict``: it has a field that the schema has not."""
        import fastavro

        if self._is_bytes:
            if not isinstance(value, bytes):
                raise SchemaError(f"the schema is bytes; this is a {type(value).__name__}")
            return value
        written = io.BytesIO()
        try:
            fastavro.schemaless_writer(written, self.parsed, value, strict_allow_default=strict)
        except UNFIT as error:
            raise SchemaError(f"the value does not fit the Avro schema{self._named}: {_message(error)}") from error
        return written.getvalue()

    def decode(self, data: bytes, reader: AvroCodec | None = None, *, position: int = HEADER_BYTES) -> Any:
        """The value behind the schema id, as ``reader`` sees it.

        :raises SchemaError: the bytes do not fit the schema, or the reader cannot take what was written.
        """
        import fastavro

        payload = data[position:]
        if self._is_bytes:
            return payload
        if self._most_bytes is not None and len(payload) > self._most_bytes:
            raise SchemaError(
                f"with a schema whose types nest like this one's, values are read to {self._most_bytes} bytes"
            )
        source = io.BytesIO(payload)
        try:
            value = fastavro.schemaless_reader(source, self.parsed, None if reader is None else reader.parsed)
        except UNFIT as error:
            message = "they end too early" if self._end_too_early(payload) else _message(error)
            raise SchemaError(f"the bytes do not fit the Avro schema{self._named}: {message}") from error
        left = len(payload) - source.tell()
        if left:
            raise SchemaError(f"the bytes do not fit the Avro schema{self._named}: {left} bytes are left over")
        return value

    def _end_too_early(self, payload: bytes) -> bool:
        """Whether unreadable bytes were truncated, which fastavro's errors do not say."""
        import fastavro

        source = _NotingReads(payload)
        with contextlib.suppress(*UNFIT):
            fastavro.schemaless_reader(source, self.parsed, None)
        return source.was_short

    def to_json(self, value: Any) -> Any:
        """The value as JSON has it."""
        return to_json(value)

    def from_json(self, value: Any) -> Any:
        """A JSON value as the schema has it; the inverse of :meth:`to_json`.

        :raises SchemaError: it does not fit.
        """
        return from_json(self.parsed, value)

    @property
    def _named(self) -> str:
        return f" {self.name}" if self.name else ""


def _parsed(schema: Schema, dependencies: Mapping[str, Schema]) -> Any:
    from fastavro.repository import AbstractSchemaRepository
    from fastavro.schema import SchemaParseException, UnknownType, load_schema

    class Known(AbstractSchemaRepository):
        def load(self, name: str) -> Any:
            return copy.deepcopy(known[name]) if name in known else None

    known: dict[str, Any] = {}
    try:
        for name, dependency in dependencies.items():
            known[name] = known[_full_name(_loaded(dependency.text), name)] = _loaded(dependency.text)
        known[""] = _loaded(schema.text)
        return load_schema("", repo=Known(), _write_hint=False)
    except (SchemaParseException, UnknownType, *UNFIT) as error:
        raise SchemaError(f"this is not an Avro schema: {_message(error)}") from error


def _loaded(text: str) -> Any:
    """A schema's JSON; the name of a primitive type may stand there without quotation marks."""
    bare = text.strip()
    if bare.isidentifier():
        return bare
    loaded = json.loads(text)
    drop_impossible_decimals(loaded)
    return loaded


def _full_name(schema: Any, default: str) -> str:
    name = schema.get("name") if isinstance(schema, dict) else None
    if not isinstance(name, str):
        return default
    space = schema.get("namespace")
    return f"{space}.{name}" if space and "." not in name else name


def _message(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "it nests too deeply"
    return f"{type(error).__name__}: {str(error)[:500]}" if str(error) else type(error).__name__
