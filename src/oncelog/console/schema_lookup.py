"""Decodes keys and values by the schemas of a registry, without the console's loop waiting for it.

Pages :meth:`~RegistryReader.learn` the ids of the records that they have read, in a thread; decoding then asks nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from oncelog.process import real_time
from oncelog.records.record import Record
from oncelog.schemas.codecs import Codec, Codecs
from oncelog.schemas.framing import HEADER_BYTES, MAGIC, schema_id_of
from oncelog.schemas.registry import SchemaRegistry
from oncelog.schemas.schema_errors import SchemaError, SchemaRegistryError

MAX_IDS = 50
"""How many new ids one step asks for: records with false ones must not make a page wait for long."""
MAX_KNOWN = 10_000
AGAIN_S = 15.0
"""How long what went wrong is not tried again."""
TIMEOUT_S = 5.0


class _CachedCodec(NamedTuple):
    """A codec and where its schema is used; without a codec, why, and until when that is believed."""

    codec: Codec | None
    label: str
    until: float = 0.0


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
        self._known: dict[int, _CachedCodec] = {}

    async def learn(self, records: Iterable[Record]) -> None:
        """Ask the registry for the schemas of these records that are not known yet."""
        now = real_time.monotonic()
        wanted: dict[int, None] = {}
        for record in records:
            for data in (record.key, record.value):
                if data is not None and is_framed(data):
                    known = self._known.get(schema_id_of(data))
                    if known is None or (known.codec is None and known.until < now):
                        wanted[schema_id_of(data)] = None
        if wanted:
            await asyncio.to_thread(self._fetch, list(wanted)[:MAX_IDS])

    def read(self, data: bytes) -> ReadSchema:
        """A framed key or value.

        :raises SchemaError: it cannot be decoded; the text says why.
        """
        schema_id = schema_id_of(data)
        known = self._known.get(schema_id)
        if known is None:
            raise SchemaError(f"its schema, id {schema_id}, has not been fetched: look at the record by itself")
        if known.codec is None:
            raise SchemaError(known.label)
        return ReadSchema(known.codec.decode_json(data)[0], known.label)

    def _fetch(self, ids: list[int]) -> None:
        for schema_id in ids:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            try:
                codec = self._codecs.of(schema_id)
                used = self.registry.where_used(schema_id)
            except SchemaError as error:
                self._known[schema_id] = _CachedCodec(None, str(error), real_time.monotonic() + AGAIN_S)
            except SchemaRegistryError as error:
                until = real_time.monotonic() + AGAIN_S
                self._known[schema_id] = _CachedCodec(None, str(error), until)
                if error.status is None:  # it cannot be reached: the others would wait for it too
                    self._known |= {
                        other: _CachedCodec(None, str(error), until) for other in ids if other not in self._known
                    }
                    return
            else:
                where = ", ".join(f"{subject} version {version}" for subject, version in used[:3])
                self._known[schema_id] = _CachedCodec(
                    codec, f"{codec.schema_type} id {schema_id}, {where or 'no subject'}"
                )


def is_framed(data: bytes) -> bool:
    """Whether bytes may begin with a schema's id."""
    return len(data) >= HEADER_BYTES and data[0] == MAGIC
