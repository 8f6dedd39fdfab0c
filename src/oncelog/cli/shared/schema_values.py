"""Decodes keys and values of records for ``consume``, and encodes them for ``produce``, by the schemas of a
registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oncelog.cli.shared.output import remark
from oncelog.cli.shared.record_lines import Line, dumped
from oncelog.errors import ConfigError, OncelogError
from oncelog.runtime import real_json as json
from oncelog.runtime import real_time
from oncelog.runtime.shown import json_bytes, show_bytes
from oncelog.schemas.codecs import Codec, Codecs, Decoded
from oncelog.schemas.framing import framed, header_of, names_a_schema
from oncelog.schemas.protobuf_codec import ProtobufCodec
from oncelog.schemas.schema_errors import SchemaError, SchemaRegistryError
from oncelog.schemas.structs import AVRO, JSON, PROTOBUF, RegisteredSchema, Schema
from oncelog.schemas.subjects import topic_subject

if TYPE_CHECKING:
    from oncelog.schemas.registry import SchemaRegistry

TYPES = {".avsc": AVRO, ".json": JSON, ".proto": PROTOBUF}
RESTART_S = 60.0
"""How long to wait, in seconds, for a registry that may be restarting, after a request to it has timed out."""
MAX_REMARKS = 5
"""The maximum number of reasons that are printed for values that cannot be decoded; further ones are counted."""


@dataclass(frozen=True, slots=True)
class _Shown:
    """A record whose key and value are JSON where they could be decoded."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    headers: Any
    key: bytes | None
    value: bytes | None


class Decoding:
    """Formats records with keys and values decoded; what cannot be decoded stays as bytes, with the reason."""

    def __init__(self, registry: SchemaRegistry) -> None:
        registry.subjects()  # an unreachable registry is refused before the first record
        self._codecs = Codecs(registry)
        self._undecoded = 0

    def tell_rest(self) -> None:
        """At the end, report how many keys and values could not be decoded beyond those whose reasons were printed."""
        rest = self._undecoded - MAX_REMARKS
        if rest > 0:
            which = "key or value is not decoded" if rest == 1 else "keys and values are not decoded"
            remark(f"{rest} more {which}; --json has each reason")

    def as_json(self, record: Any) -> bytes:
        """One line of JSON, which ``produce --json-lines`` accepts."""
        fields: dict[str, Any] = {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp,
            "timestamp_type": record.timestamp_type,
        }
        key_and_value, about = self.members(record)
        headers = [[name, json_bytes(value)] for name, value in record.headers]
        return dumped({**fields, **key_and_value, "headers": headers, **about})

    def members(self, record: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The key and value for JSON, and what is known about each: its schema, or the reason why it is not decoded."""
        parts: dict[str, Any] = {}
        about: dict[str, Any] = {}
        for part, data in (("key", record.key), ("value", record.value)):
            found, problem = self._decoded(data, record.headers, part)
            parts[part] = json_bytes(data) if found is None else found.value
            if found is not None:
                about[f"{part}_schema"] = {"id": found.schema_id, "type": found.schema_type, "name": found.name}
            elif problem:
                about[f"{part}_problem"] = problem
        return parts, about

    def texts(self, place: str, record: Any, null: str) -> tuple[str, str]:
        """The key and value as text.

        :param place: the record's position, such as ``orders-0:17``.
        :param null: the text for null.
        """
        key, value = (show_bytes(self._as_bytes(place, record, part), null) for part in ("key", "value"))
        return key, value

    def around(self, line: Line) -> Line:
        """A function that formats records like ``line``, but with their decoded keys and values as JSON."""

        def decoded(record: Any) -> bytes:
            at = f"{record.topic}-{record.partition}:{record.offset}"
            key, value = (self._as_bytes(at, record, part) for part in ("key", "value"))
            place = (record.topic, record.partition, record.offset, record.timestamp, record.headers)
            return line(_Shown(*place, key, value))

        return decoded

    def _as_bytes(self, place: str, record: Any, part: str) -> bytes | None:
        data: bytes | None = getattr(record, part)
        found, problem = self._decoded(data, record.headers, part)
        if found is not None:
            return json.dumps(found.value, ensure_ascii=False).encode()
        if problem and data and names_a_schema(data, header_of(record.headers, part == "key")):
            self._undecoded += 1
            if self._undecoded <= MAX_REMARKS:
                remark(f"{place}: its {part} is not decoded: {problem}")
        return data

    def _decoded(self, data: bytes | None, headers: Any, part: str) -> tuple[Decoded | None, str]:
        if data is None:
            return None, ""
        waiting_until = None
        while True:
            try:
                return self._codecs.decoded(bytes(data), headers, is_key=part == "key"), ""
            except SchemaError as error:
                return None, str(error)
            except SchemaRegistryError as error:
                if error.is_not_found:
                    return None, str(error)
                now = real_time.monotonic()
                if error.status is not None or (waiting_until is not None and now > waiting_until):
                    raise
                if waiting_until is None:
                    waiting_until = now + RESTART_S
                    remark(f"still waiting, for {RESTART_S:.0f} s more at most: {error}")


def encoder(registry: SchemaRegistry, topic: str, given: str, *, is_key: bool) -> Callable[[Any, str | None], bytes]:
    """A function that encodes a JSON value by the schema that an option names. For Protobuf it also takes the name of a
    message; None selects the first message of the schema.

    :param given: a file, which is registered under the topic's subject; ``latest`` of that subject; or SUBJECT:VERSION.
    :raises OncelogError: there is no such schema, or the registry refuses it.
    """
    codecs = Codecs(registry)
    schema_id = _schema_id(registry, topic_subject(topic, is_key, None), given)
    codec: Codec = codecs.of(schema_id)
    first = codec.name

    def encoded(value: Any, message: str | None = None) -> bytes:
        wanted = message or first
        if isinstance(codec, ProtobufCodec) and wanted is not None and wanted != codec.name:
            codec.choose(wanted)
        return framed(schema_id, codec.encode(codec.from_json(value), strict=True))

    return encoded


def _schema_id(registry: SchemaRegistry, subject: str, given: str) -> int:
    path = Path(given)
    if given == "latest":
        return _writable_id(registry.version(subject))
    if path.suffix in TYPES:
        return registry.register(subject, schema_file(path))
    named, colon, version = given.rpartition(":")
    if not colon or not named or not (version == "latest" or version.isdecimal()):
        raise ConfigError(
            f"a schema is a file ({', '.join(TYPES)}), latest, SUBJECT:VERSION or SUBJECT:latest, not {given!r}"
        )
    return _writable_id(registry.version(named, version))


def _writable_id(found: RegisteredSchema) -> int:
    found.check_writable()
    return found.schema_id


def schema_file(path: Path, schema_type: str | None = None) -> Schema:
    """Read a schema from a file; the end of the file's name gives its type, unless ``schema_type`` does.

    :raises OncelogError: the file cannot be read, or its type is not known.
    """
    kind = schema_type or TYPES.get(path.suffix)
    if kind is None:
        raise ConfigError(f"the name of a schema's file ends with {', '.join(TYPES)}, not {path.name!r}: see --type")
    try:
        return Schema(path.read_text(encoding="utf-8-sig"), kind)
    except (OSError, UnicodeDecodeError) as error:
        raise OncelogError(f"the schema {path} cannot be read: {error}") from error
