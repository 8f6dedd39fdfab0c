"""Decodes keys and values by the schemas of a registry, without blocking the console's event loop.

A page calls :meth:`~RegistryReader.learn` in a thread, which fetches the schemas of the records that the page has read;
decoding then sends no request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from oncelog.records.record import Record
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time
from oncelog.schemas.codecs import Codec, Codecs
from oncelog.schemas.framing import header_of, names_a_schema, prefixed, schema_named
from oncelog.schemas.registry import SchemaRegistry
from oncelog.schemas.schema_errors import SchemaError, SchemaRegistryError

MAX_IDS = 50
"""The maximum number of new ids that one step looks up: records with invalid ids must not delay a page for long."""
MAX_KNOWN = 10_000
AGAIN_S = 15.0
"""How long a failed lookup is not repeated, in seconds."""
TIMEOUT_S = 5.0


class _CachedCodec(NamedTuple):
    """A codec, and a label with its schema's type, id, subject and version; if the lookup failed, no codec, the reason
    as the label, and when the lookup may be repeated."""

    codec: Codec | None
    label: str
    until: float = 0.0
    schema_id: int = 0


class ReadSchema(NamedTuple):
    """A decoded key or value; ``label`` names the schema's type, id, subject and version."""

    value: object
    label: str


class RegistryReader:
    """The schemas that a console has seen.

    :raises ConfigError: the address is not valid, or a file cannot be used.
    """

    def __init__(self, access: Mapping[str, Any]) -> None:
        self.registry = SchemaRegistry(**access, timeout_s=TIMEOUT_S, retries=1)
        self._codecs = Codecs(self.registry)
        self._known: dict[int | str, _CachedCodec] = {}
        """The cached codecs by schema id or GUID, whichever the record contains."""

    async def learn(self, records: Iterable[Record]) -> None:
        """Ask the registry for the schemas of these records that are not known yet."""
        now = real_time.monotonic()
        wanted: dict[int | str, None] = {}
        for record in records:
            for data, is_key in ((record.key, True), (record.value, False)):
                named = None if data is None else _named(data, header_of(record.headers, is_key))
                if named is not None:
                    known = self._known.get(named)
                    if known is None or (known.codec is None and known.until < now):
                        wanted[named] = None
        if wanted:
            await asyncio.to_thread(self._fetch, list(wanted)[:MAX_IDS])

    def read(self, data: bytes, header: bytes | None = None) -> ReadSchema:
        """Decode a key or value by the schema whose id stands before it or in the record's header.

        :raises SchemaError: it cannot be decoded; the text says why.
        """
        named, _ = schema_named(data, header)
        known = self._known.get(named)
        if known is None:
            what = f"id {named}" if isinstance(named, int) else f"GUID {named}"
            raise SchemaError(f"the schema, {what}, has not been fetched: open the record's own page")
        if known.codec is None:
            raise SchemaError(known.label)
        read, _ = known.codec.decode_json(prefixed(data, header, lambda _: known.schema_id))
        return ReadSchema(read, known.label)

    def _fetch(self, wanted: list[int | str]) -> None:
        for named in wanted:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            try:
                schema_id = named if isinstance(named, int) else self.registry.id_of(named)
                codec = self._codecs.of(schema_id)
                used = self.registry.where_used(schema_id)
            except SchemaError as error:
                self._known[named] = _CachedCodec(None, str(error), real_time.monotonic() + AGAIN_S)
            except SchemaRegistryError as error:
                until = real_time.monotonic() + AGAIN_S
                self._known[named] = _CachedCodec(None, str(error), until)
                # No status means that the registry cannot be reached: a lookup of the other schemas would time out,
                # too.
                if error.status is None:
                    self._known |= {
                        other: _CachedCodec(None, str(error), until) for other in wanted if other not in self._known
                    }
                    return
            else:
                where = ", ".join(f"{subject} version {version}" for subject, version in used[:3])
                self._known[named] = _CachedCodec(
                    codec, f"{codec.schema_type} id {schema_id}, {where or 'no subject'}", schema_id=schema_id
                )


def _named(data: bytes, header: bytes | None) -> int | str | None:
    if not names_a_schema(data, header):
        return None
    try:
        return schema_named(data, header)[0]
    except SchemaError:
        return None
