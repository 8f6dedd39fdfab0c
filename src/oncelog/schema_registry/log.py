"""Reads and writes the registry's topic, by default ``_schemas``: reads end at the last stable offset, and writes are
transactions. Called by the service.

Every decision is one batch in one transaction. The transactional id is the same for all registries of a topic, so a
registry that initializes it fences the previous writer and ends the transaction that it left open: a read after that
returns every record.

A user who may write to the topic may register schemas, but must not divert other users' requests and passwords: the
address of the registry that writes is trusted only if the producer of that transactional id wrote it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from oncelog.client.aio.admin.admin import Admin, ConfigResource, ConfigResourceType, NewTopic
from oncelog.client.aio.admin.log_reader import fetch_stored
from oncelog.client.aio.offset_lookups import LATEST
from oncelog.client.aio.transactions.batch_transaction import BatchTransactions, ReadyBatch
from oncelog.client.core.client_errors import TopicAlreadyExistsError
from oncelog.client.core.consumer.read_committed import AbortedFilter, control_type_of
from oncelog.errors import KafkaError, OncelogError
from oncelog.records.batch import BatchBuilder, BatchHeader, decode_records, iter_headers
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time
from oncelog.schema_registry.schema_records import (
    DamagedRecord,
    Key,
    Value,
    Write,
    decode_key,
    decode_value,
    encode_key,
    without_url,
)
from oncelog.schema_registry.schema_records import encode_value as encoded
from oncelog.types import NO_PRODUCER, IsolationLevel, TopicPartition

log = logging.getLogger(__name__)

TRANSACTION_TIMEOUT_MS = 15_000
"""The transaction timeout: the longest time for which a registry that died during a write blocks readers, unless
another one takes over first.
"""
DELIVERY_MS = 10_000
WAIT_MS = 500
OWNER_SECONDS = 5.0
"""The longest time for which a read waits to learn the producer id of the transactional id."""
_READING_CHANNEL = 2
"""The channel for reads, on a connection of its own: while a fetch waits for records, the broker answers no other
request on the same connection."""


class TopicRefused(OncelogError):
    """The topic does not have the settings that a registry needs."""


class SchemasRecord(NamedTuple):
    """A record of the topic. ``aborted``: its transaction was aborted; readers of uncommitted records have seen it."""

    key: Key
    value: Value | None
    aborted: bool


class SchemasRead(NamedTuple):
    """The records of one read, and where the next read begins."""

    entries: list[SchemasRecord]
    position: int


class SchemasLog:
    """Reads and writes the topic, which has one partition."""

    def __init__(self, admin: Admin, topic: str, transactional_id: str) -> None:
        self._admin = admin
        self.partition = TopicPartition(topic, 0)
        self._transactional_id = transactional_id
        self._owners = NO_PRODUCER.producer_id
        """The producer id that the transactional id had at the last lookup."""
        self._transactions = BatchTransactions(
            admin.cluster,
            transactional_id,
            TRANSACTION_TIMEOUT_MS,
            delivery_ms=DELIVERY_MS,
            delivery_setting="the time a registry waits",
        )

    async def create(self) -> None:
        """Create the topic if it does not exist.

        :raises TopicRefused: it exists with several partitions, or without compaction, which would lose schemas.
        """
        topic = self.partition.topic
        if topic not in await self._admin.list_topics(internal=True):
            with suppress(TopicAlreadyExistsError):  # another registry has created the topic first
                await self._admin.create_topics([NewTopic(topic, 1, -1, {}, {"cleanup.policy": "compact"})])
                return
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        settings = (await self._admin.describe_configs([resource], names=["cleanup.policy"]))[resource]
        if settings["cleanup.policy"].value != "compact" or len(await self._admin.partitions(topic)) != 1:
            raise TopicRefused(
                f"the topic {topic!r} must have one partition and cleanup.policy=compact: otherwise schemas would be "
                "lost or out of order; correct it, or name another one"
            )

    async def end(self) -> int:
        """The last stable offset of the topic's partition."""
        return (await self._admin.list_offsets({self.partition: LATEST}))[self.partition].offset

    async def read(self, position: int, *, wait_ms: int = 0) -> SchemasRead:
        """The next records whose transactions have ended; empty if none arrives within ``wait_ms``."""
        stored = await fetch_stored(
            self._admin,
            self.partition,
            position,
            IsolationLevel.READ_COMMITTED,
            wait_ms=wait_ms,
            channel=_READING_CHANNEL,
        )
        transactions = AbortedFilter(stored.aborted)
        view = memoryview(stored.records)
        entries: list[SchemasRecord] = []
        begin = position
        for at, header in iter_headers(view):
            kept = transactions.keeps(header, control_type_of(view, at) if header.is_control else None)
            if header.next_offset <= position:
                continue
            position = header.next_offset
            if not header.is_control:
                data = view[at : at + header.size_bytes]
                records = [one for one in decode_records(data) if one.offset >= begin]
                found = [one for record in records for one in _entries(record.key, record.value, aborted=not kept)]
                entries += await self._believed(header, found)
        return SchemasRead(entries, max(position, begin))

    async def _believed(self, header: BatchHeader, entries: list[SchemasRecord]) -> list[SchemasRecord]:
        """A batch's records, without addresses of registries that a producer other than that of the transactional id
        announced."""
        without = [one._replace(value=without_url(one.key, one.value)) for one in entries]
        if without == entries or await self._is_owner(header):
            return entries
        log.info("the address in %s is not that of the registry that may write: no request goes there", entries)
        return without

    async def _is_owner(self, header: BatchHeader) -> bool:
        """Whether the transactional id's current producer wrote the batch. A record of an earlier producer id does not
        count: the registry that has the current id has announced itself since."""
        if not header.is_transactional:
            return False
        if header.producer_id not in (self._owners, self._transactions.producer.producer_id):
            try:
                async with asyncio.timeout(OWNER_SECONDS):
                    (found,) = await self._admin.describe_transactions([self._transactional_id])
            except (KafkaError, TimeoutError) as error:
                log.info("the current producer of %s is not known: %s", self._transactional_id, error)
                return False
            self._owners = found.producer_id
        return header.producer_id in (self._owners, self._transactions.producer.producer_id)

    async def fence(self) -> None:
        """Fence other registries' transactions, and become the only writer."""
        await self._transactions.init()

    async def write(self, writes: Sequence[Write]) -> int:
        """Write records in one transaction; returns an offset that is past them.

        :raises KafkaError: the outcome is unknown: call :meth:`fence`, then read.
        """
        builder = BatchBuilder()
        now_ms = real_time.time_ms()
        for key, value in writes:
            builder.append(now_ms, encode_key(key), encoded(value))
        batch = ReadyBatch(builder.count, builder.build())
        base = (await self._transactions.append({self.partition: batch}))[self.partition]
        await self._transactions.end(commit=True)
        return base + batch.records if base >= 0 else await self.end()


def _entries(key: bytes | None, value: bytes | None, *, aborted: bool) -> list[SchemasRecord]:
    """A list of the record; empty if the record is of an unknown kind, or is damaged, which is logged: Confluent's
    registry skips both, too."""
    try:
        named = decode_key(key)
        return [] if named is None else [SchemasRecord(named, decode_value(value), aborted)]
    except DamagedRecord as error:
        log.error("skipped: %s", error)
        return []
