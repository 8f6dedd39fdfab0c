"""Shows keys and values to people: as text, JSON, hex, Avro, or the fields of an internal topic. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from oncelog.apps.console.avro import NotAvro, PastedSchema
from oncelog.apps.console.schema_lookup import RegistryReader
from oncelog.broker.coordinator.shown_records import decode_internal_record
from oncelog.records.record import Record
from oncelog.runtime import real_json as json
from oncelog.runtime.shown import show_bytes
from oncelog.schemas.framing import header_of, names_a_schema
from oncelog.schemas.schema_errors import SchemaError
from oncelog.types import INTERNAL_TOPICS

PREVIEW_CHARACTERS = 240
FULL_BYTES = 64 * 1024
"""The maximum number of bytes of a key or value that a page shows; the whole can be downloaded."""
HEX_BYTES = FULL_BYTES // 4
"""The maximum number of bytes that are shown as hex, where each byte takes three characters."""


class ValueDecoder(Enum):
    """How bytes are decoded. ``AUTO`` takes the first that fits, in this order: registry, schema, JSON, text, hex."""

    AUTO = "auto"
    TEXT = "text"
    JSON = "json"
    HEX = "hex"
    AVRO = "avro"

    @classmethod
    def named(cls, text: str) -> ValueDecoder:
        return cls(text) if text in cls._value2member_map_ else cls.AUTO


@dataclass(frozen=True, slots=True)
class DisplayedValue:
    """A key or value: its text, how it was decoded, its size (-1 for null), what went wrong, and its schema."""

    text: str
    kind: str
    size: int
    problem: str = ""
    cut: bool = False
    schema: str = ""

    def preview(self) -> DisplayedValue:
        """The beginning of the value, for a table."""
        if len(self.text) <= PREVIEW_CHARACTERS:
            return self
        return replace(self, text=self.text[:PREVIEW_CHARACTERS], cut=True)


@dataclass(frozen=True, slots=True)
class RecordDecoding:
    """How the keys and values of a topic's records are decoded for display."""

    topic: str
    key: ValueDecoder = ValueDecoder.AUTO
    value: ValueDecoder = ValueDecoder.AUTO
    schema: PastedSchema | None = None
    registry: RegistryReader | None = None

    def shown(self, record: Record) -> tuple[DisplayedValue, DisplayedValue]:
        """Key and value."""
        if self.topic in INTERNAL_TOPICS and ValueDecoder.AUTO in (self.key, self.value):
            fields = decode_internal_record(self.topic, record)
            if fields is not None:
                key, value = (_fields(part) for part in fields)
                return (
                    DisplayedValue(key, "fields", _size(record.key))
                    if self.key is ValueDecoder.AUTO
                    else self._shown_key(record),
                    DisplayedValue(value, "fields", _size(record.value))
                    if self.value is ValueDecoder.AUTO
                    else self._shown_value(record),
                )
        return self._shown_key(record), self._shown_value(record)

    def _shown_key(self, record: Record) -> DisplayedValue:
        schema = self.schema if self.key is ValueDecoder.AVRO else None
        header = header_of(record.headers, is_key=True)
        return decode(record.key, self.key, schema, None if schema else self.registry, header)

    def _shown_value(self, record: Record) -> DisplayedValue:
        header = header_of(record.headers, is_key=False)
        return decode(record.value, self.value, self.schema, None if self.schema else self.registry, header)

    def parsed(self, record: Record) -> Any:
        """The value as JSON types, for searching; :data:`NOTHING` if it is not JSON."""
        fields = decode_internal_record(self.topic, record) if self.topic in INTERNAL_TOPICS else None
        if fields is not None:
            return {"key": fields[0], "value": fields[1]}
        if record.value is None:
            return NOTHING
        if self.schema is not None:
            try:
                return self.schema.read(record.value)
            except NotAvro:
                return NOTHING
        header = header_of(record.headers, is_key=False)
        if self.registry is not None and names_a_schema(record.value, header):
            try:
                return self.registry.read(record.value, header).value
            except SchemaError:
                return NOTHING
        try:
            return json.loads(record.value)
        except (ValueError, RecursionError):
            return NOTHING


NOTHING = object()


def decode(
    data: bytes | None,
    decoder: ValueDecoder,
    schema: PastedSchema | None,
    registry: RegistryReader | None = None,
    header: bytes | None = None,
) -> DisplayedValue:
    """A key or value as text; bytes that cannot be decoded as requested are shown in another form, with the reason.

    :param header: the value of the record header that names a schema, if there is one.
    """
    if data is None:
        return DisplayedValue("null", "null", -1)
    size = len(data)
    if decoder is ValueDecoder.AVRO and schema is None:
        return _hex(data, "no Avro schema was given for this topic")
    problem = ""
    if decoder in (ValueDecoder.AUTO, ValueDecoder.AVRO):
        found = _by_schema(data, header, schema, registry if decoder is ValueDecoder.AUTO else None)
        if isinstance(found, DisplayedValue):
            return found
        problem = found
    match decoder:
        case ValueDecoder.TEXT:
            return _cut(show_bytes(data[:FULL_BYTES]), "text", size)
        case ValueDecoder.HEX:
            return _hex(data, problem)
        case ValueDecoder.JSON:
            return _json(data) or DisplayedValue(
                show_bytes(data[:FULL_BYTES]), "text", size, "is not JSON", size > FULL_BYTES
            )
        case _:
            return _guessed(data, problem)


def _by_schema(
    data: bytes, header: bytes | None, schema: PastedSchema | None, registry: RegistryReader | None
) -> DisplayedValue | str:
    """Decode a value by the visitor's schema, else by the registry's; returns the reason if that fails, and an empty
    text if neither schema applies."""
    try:
        if schema is not None:
            return _cut(_dumped(schema.read(data)), "Avro", len(data))
        if registry is not None and names_a_schema(data, header):
            read = registry.read(data, header)
            return replace(_cut(_dumped(read.value), "JSON", len(data)), schema=read.label)
    except NotAvro as error:
        return f"does not fit the Avro schema: {error}"
    except SchemaError as error:
        return str(error)
    except RecursionError:
        return "nests too deeply to be shown with the Avro schema"
    return ""


def _guessed(data: bytes, problem: str) -> DisplayedValue:
    size = len(data)
    if data[:1] in (b"{", b"[") and size <= FULL_BYTES:
        found = _json(data)
        if found is not None:
            return replace(found, problem=problem)
    head = data[:FULL_BYTES]
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        if size <= FULL_BYTES or error.start < FULL_BYTES - 4:
            return _hex(data, problem)
        text = head[: error.start].decode()
    if any(ord(c) < 32 and c not in "\t\r\n" for c in text):
        return _hex(data, problem)
    return DisplayedValue(text, "text", size, problem, size > FULL_BYTES)


def _json(data: bytes) -> DisplayedValue | None:
    try:
        return _cut(_dumped(json.loads(data)), "JSON", len(data))
    except (ValueError, RecursionError):
        return None


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> str:
    return show_bytes(value) if isinstance(value, bytes) else str(value)


def _fields(value: Any) -> str:
    return "null" if value is None else json.dumps(value, ensure_ascii=False)


def _cut(text: str, kind: str, size: int) -> DisplayedValue:
    return DisplayedValue(text[:FULL_BYTES], kind, size, "", len(text) > FULL_BYTES or size > FULL_BYTES)


def _hex(data: bytes, problem: str) -> DisplayedValue:
    return DisplayedValue(data[:HEX_BYTES].hex(" ", 1), "hex", len(data), problem, len(data) > HEX_BYTES)


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)
