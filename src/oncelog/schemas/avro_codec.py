"""Avro payloads by fastavro, with a writer's schema and, if wished, a reader's. Called by serializers and decoders."""

from __future__ import annotations

import contextlib
import io
import struct
from collections.abc import Mapping
from typing import Any

from oncelog.errors import ConfigError
from oncelog.schemas.avro_json import from_json, to_json
from oncelog.schemas.avro_shape import drop_impossible_decimals, most_bytes
from oncelog.schemas.avro_tree import load, read, resolved
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
        self.parsed, self._hinted = _parsed(schema, dependencies)
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
            fastavro.schemaless_writer(written, self._hinted, value, strict_allow_default=strict)
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
            value = fastavro.schemaless_reader(source, self._hinted, None if reader is None else reader._hinted)
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
            fastavro.schemaless_reader(source, self._hinted, None)
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


def _parsed(schema: Schema, dependencies: Mapping[str, Schema]) -> tuple[Any, Any]:
    """The schema as fastavro keeps it; and the same, marked so that fastavro does not parse it for each value."""
    from fastavro.schema import SchemaParseException, UnknownType, parse_schema

    try:
        tree = read(load(schema.text), [load(one.text) for one in dependencies.values()], check=False)
        enums = [(name, node) for name, node in tree.types.items() if node["type"] == "enum"]
        symbols = {name: (node["symbols"], node.get("default")) for name, node in enums}
        for _, node in enums:  # fastavro refuses letters of other alphabets
            node["symbols"] = [f"s{number}" for number in range(len(node["symbols"]))]
            node.pop("default", None)
        made = resolved(tree)
        drop_impossible_decimals(made)
        named: dict[str, Any] = {}
        parsed = parse_schema(made, named, _write_hint=False, _ignore_default_error=True)
    except (SchemaParseException, UnknownType, *UNFIT) as error:
        raise SchemaError(f"this is not an Avro schema: {_message(error)}") from error
    except SchemaError as error:
        raise SchemaError(f"this is not an Avro schema: {error}") from error
    for name, (own, default) in symbols.items():
        if name in named:
            named[name]["symbols"] = own
            named[name] |= {} if default is None else {"default": default}
    return parsed, _hinted(parsed, named)


def _hinted(parsed: Any, named: dict[str, Any]) -> Any:
    if isinstance(parsed, list):
        return [_hinted(branch, named) for branch in parsed]
    return {**parsed, "__fastavro_parsed": True, "__named_schemas": named} if isinstance(parsed, dict) else parsed


def _message(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "it nests too deeply"
    return f"{type(error).__name__}: {str(error)[:500]}" if str(error) else type(error).__name__
