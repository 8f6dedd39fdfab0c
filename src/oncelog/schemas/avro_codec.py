"""Encodes and decodes Avro payloads with fastavro, by a writer's schema and, optionally, a reader's. Called by
serializers and decoders."""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from oncelog.errors import ConfigError
from oncelog.schemas.avro import fast
from oncelog.schemas.avro.resolution import resolve
from oncelog.schemas.avro.types import NamedTypes, named_types
from oncelog.schemas.avro.unions import UnionNaming
from oncelog.schemas.avro.values import EXACT, PYTHON, Form, ValueReader
from oncelog.schemas.avro_json import AvroJson
from oncelog.schemas.avro_shape import drop_impossible_decimals, max_bytes
from oncelog.schemas.avro_tree import for_packages, load, read, without_marks
from oncelog.schemas.framing import HEADER_BYTES
from oncelog.schemas.schema_errors import SchemaError, SchemaMismatch
from oncelog.schemas.structs import AVRO, Schema

UNFIT = (
    ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, RecursionError, TypeError, ValueError,
    StopIteration, struct.error,
)  # fmt: skip
"""The exceptions of fastavro for values or bytes that do not fit the schema: fastavro checks neither beforehand."""
MAX_READERS = 100
"""The number of readers' schemas for which a writer's codec caches its preparation."""


class AvroCodec:
    """Reads and writes the payloads of one schema.

    :param dependencies: the referenced schemas, by name.
    :raises SchemaMismatch: the text is not an Avro schema, or the schema allows a few bytes to claim a huge value.
    """

    schema_type = AVRO

    def __init__(self, schema: Schema, dependencies: Mapping[str, Schema]) -> None:
        self.parsed = _parsed(schema, dependencies)
        try:
            self._max_bytes = max_bytes(self.parsed)
        except (ConfigError, RecursionError) as error:
            raise SchemaMismatch(str(error) or "the schema nests too deeply to be read") from error
        self.types = NamedTypes(self.parsed)
        self.name: str | None = self.parsed.get("name") if isinstance(self.parsed, dict) else None
        kind = self.types.known(self.parsed)
        self._is_record = isinstance(kind, dict) and kind["type"] in ("record", "error")
        self._is_bytes = isinstance(kind, dict) and kind["type"] == "bytes"
        """Whether the payload's type is bytes: serializers write such a payload without its length, as Java's do."""
        self._json = AvroJson(NamedTypes("bytes") if self._is_bytes else self.types)
        self._naming = UnionNaming(self.types) if self.types.has_unions() else None
        self._readers: dict[tuple[int, Form], tuple[AvroCodec, ValueReader]] = {}
        self._alike: tuple[AvroCodec, bool] | None = None

    @cached_property
    def _for_reading(self) -> Any:
        return fast.for_reading(self.types)

    @cached_property
    def _for_writing(self) -> Any:
        return fast.for_writing(self.types)

    def encode(self, value: Any, *, strict: bool = False) -> bytes:
        """Encode a value in the form that fastavro accepts; a value of a union of several types may also be a pair of
        the type's name and the value.

        :param strict: refuse fields that are not in the schema.
        :raises SchemaError: the value does not fit, or fits several types of a union.
        """
        import fastavro

        if self._is_bytes:
            if not isinstance(value, bytes):
                raise SchemaError(f"the schema is bytes; this is a {type(value).__name__}")
            return value
        written = io.BytesIO()
        try:
            named = value if self._naming is None else self._naming.named(value)
            whole = named if self._is_record else {fast.WHOLE: named}
            fastavro.schemaless_writer(written, self._for_writing, whole, strict_allow_default=strict)
        except UNFIT as error:
            raise SchemaError(f"the value does not fit the Avro schema{self._named}: {_message(error)}") from error
        return written.getvalue()

    def decode(
        self, data: bytes, reader: AvroCodec | None = None, *, position: int = HEADER_BYTES, form: Form = PYTHON
    ) -> Any:
        """Decode the value after the schema id, with the schema ``reader`` if it is given.

        :raises SchemaMismatch: the reader's schema cannot accept the value.
        :raises SchemaError: the bytes do not fit the schema.
        """
        import fastavro

        payload = data[position:]
        if self._max_bytes is not None and len(payload) > self._max_bytes:
            raise SchemaError(
                f"the value has {len(payload)} bytes, but only values of up to {self._max_bytes} bytes are read with a "
                "schema that is recursive or has so many nested types"
            )
        is_own = reader is None or self._is_alike(reader)
        if self._is_bytes and is_own:
            return payload
        if form is not PYTHON or not is_own:
            return self._resolved(payload, reader or self, form)
        source = io.BytesIO(payload)
        try:
            value: Any = fastavro.schemaless_reader(source, self._for_reading, None)
        except UNFIT:
            return self._resolved(payload, self, form)  # our reader reads the bytes again: its error says what is wrong
        left = len(payload) - source.tell()
        if left:
            raise SchemaError(f"the bytes do not fit the Avro schema{self._named}: {left} bytes are left over")
        return value if self._is_record else value[fast.WHOLE]

    def _is_alike(self, reader: AvroCodec) -> bool:
        if self._alike is None or self._alike[0] is not reader:
            self._alike = reader, reader.parsed == self.parsed
        return self._alike[1]

    def _resolved(self, payload: bytes, reader: AvroCodec, form: Form) -> Any:
        found = self._readers.get((id(reader), form))
        if found is None:
            if len(self._readers) >= MAX_READERS:
                self._readers.clear()
            made = ValueReader(resolve(self.types, reader.types), reader.types, form)
            found = self._readers[id(reader), form] = (reader, made)
        try:
            return found[1].read(payload)
        except SchemaMismatch:
            raise
        except SchemaError as error:
            raise SchemaError(f"the bytes do not fit the Avro schema{self._named}: {error}") from None

    def decode_json(self, data: bytes, *, position: int = HEADER_BYTES) -> tuple[Any, str | None]:
        """Decode the value after the schema id to JSON types; returns it and the name of its type.

        :raises SchemaError: the bytes do not fit the schema.
        """
        return self._json.shown(self.decode(data, position=position, form=EXACT)), self.name

    def from_json(self, value: Any) -> Any:
        """Convert a JSON value to the form that :meth:`encode` takes; the inverse of :meth:`decode_json`.

        :raises SchemaError: the value does not fit, or fits several types of a union.
        """
        return self._json.taken(value)

    @property
    def _named(self) -> str:
        return f" {self.name}" if self.name else ""


def _parsed(schema: Schema, dependencies: Mapping[str, Schema]) -> Any:
    """The schema as parsed by fastavro, with invalid logical types removed."""
    from fastavro.schema import SchemaParseException, UnknownType, parse_schema

    try:
        tree = read(load(schema.text), [load(one.text) for one in dependencies.values()], check=False)
        enums = [(name, node) for name, node in tree.types.items() if node["type"] == "enum"]
        symbols = {name: (node["symbols"], node.get("default")) for name, node in enums}
        for _, node in enums:  # renamed, because fastavro refuses symbols with letters outside ASCII
            node["symbols"] = [f"s{number}" for number in range(len(node["symbols"]))]
            node.pop("default", None)
        made = for_packages(tree)
        drop_impossible_decimals(made)
        parsed = without_marks(parse_schema(made, _write_hint=False, _ignore_default_error=True))
    except (SchemaParseException, UnknownType, *UNFIT) as error:
        raise SchemaMismatch(f"this is not an Avro schema: {_message(error)}") from error
    except SchemaError as error:
        raise SchemaMismatch(f"this is not an Avro schema: {error}") from error
    named = named_types(parsed)
    for name, (own, default) in symbols.items():
        if name in named:
            named[name]["symbols"] = own
            named[name] |= {} if default is None else {"default": default}
    return parsed


def _message(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "it nests too deeply"
    return f"{type(error).__name__}: {str(error)[:500]}" if str(error) else type(error).__name__
