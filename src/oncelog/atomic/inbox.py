"""Writes records to a database exactly once, with any Kafka broker: each partition's position is a row that the same
transaction updates.

The database decides who may write a partition's rows: a transaction first advances the partition's position from the
offset where its records begin, which fails if another instance has advanced the position. Offsets are also committed to
the group, some time afterwards, so that tools can show the lag; no decision depends on them.
``docs/internals/atomic.md`` has the reasoning.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Generic

from oncelog.atomic.databases import Database
from oncelog.atomic.refusals import Mismatch
from oncelog.atomic.tables import INBOX, ensure
from oncelog.atomic.transaction import GroupConsumer, K, Transaction, TransactionWriter, V, started
from oncelog.client.core.consumer.subscription import ConsumerRebalanceListener
from oncelog.client.core.structs import ConsumerRecord
from oncelog.client.errors import IllegalStateError, KafkaError, NoOffsetForPartitionError, OffsetOutOfRangeError
from oncelog.runtime import real_time
from oncelog.types import TopicPartition

log = logging.getLogger(__name__)

_COMMIT_S = 1.0
"""Seconds between two commits of the positions to the group."""
_WHERE = "WHERE group_id = ? AND topic = ? AND partition_number = ?"
_READ = f"SELECT next_offset FROM {INBOX} {_WHERE}"
_FIRST = f"INSERT INTO {INBOX} VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
_MOVE = f"UPDATE {INBOX} SET next_offset = ? {_WHERE} AND next_offset = ? RETURNING 1"

Found = Mapping[TopicPartition, list[ConsumerRecord[K, V]]]


class _Listener(ConsumerRebalanceListener):
    """Forgets positions of revoked and of newly assigned partitions; may be called by another thread."""

    def __init__(self, expected: dict[TopicPartition, int]) -> None:
        self._expected = expected

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        for name in revoked:
            self._expected.pop(name, None)

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        self.on_partitions_revoked(assigned)


class InboxReader(Generic[K, V]):
    """Reads topics as a member of a group; each record is processed in exactly one transaction that commits.

    :param begin: where to begin in a partition without a stored position: ``earliest`` or ``latest``.
    """

    def __init__(
        self,
        writer: TransactionWriter,
        consumer: GroupConsumer[K, V],
        topics: Iterable[str],
        *,
        begin: str = "earliest",
    ) -> None:
        config = consumer.config
        for property_name, wanted, given in (
            ("isolation_level", "'read_committed'", config.isolation_level == "read_committed"),
            ("enable_auto_commit", "False", not config.enable_auto_commit),
            ("auto_offset_reset", "'none'", config.auto_offset_reset == "none"),
        ):
            if not given:
                raise IllegalStateError(f"an inbox needs a consumer with {property_name}={wanted}")
        if config.group_id is None:
            raise IllegalStateError("an inbox needs a consumer with a group_id: positions are kept under its name")
        if begin not in ("earliest", "latest"):
            raise ValueError(f"begin={begin!r} must be 'earliest' or 'latest'")
        self._writer = writer
        self._database: Database = writer.database
        self._consumer = consumer
        self._topics = tuple(topics)
        self._group: str = config.group_id
        self._begin = begin
        self._expected: dict[TopicPartition, int] = {}
        """Each partition's position in the database, as this instance last read or wrote it."""
        self._unshown: dict[TopicPartition, int] = {}
        self._shown_s = 0.0

    async def start(self) -> None:
        """Create the tables if they do not exist, and begin to join the group."""
        await self._writer.start()
        await ensure(self._database, INBOX)
        self._consumer.subscribe(self._topics, listener=_Listener(self._expected))
        await started(self._consumer)

    @asynccontextmanager
    async def transaction(self, *, timeout_ms: int = 1000, max_records: int = 500) -> AsyncIterator[Transaction[K, V]]:
        """Begin a block with the next records: the block's changes and the new positions take effect together.

        ``records`` is empty if no record arrived within ``timeout_ms``. If the block or the commit fails, the records
        are delivered again.
        """
        found = await self._next(timeout_ms, max_records)
        moved: dict[TopicPartition, int] = {}
        try:
            async with self._writer.transaction() as transaction:
                moved = await self._move(found)
                transaction.records = [record for name in moved for record in found[name]]
                yield transaction
        except BaseException:
            for name in found:
                self._expected.pop(name, None)
            raise
        self._expected |= {name: offset for name, offset in moved.items() if name in self._expected}
        self._unshown |= moved
        await self._show()

    async def _next(self, timeout_ms: int, max_records: int) -> Found[K, V]:
        """The next records at or after the positions in the database. Records of a partition whose position is not
        known are dropped; the consumer reads them again after the next seek."""
        await self._seek()
        try:
            found = await self._consumer.getmany(timeout_ms=timeout_ms, max_records=max_records)
        except NoOffsetForPartitionError:
            self._expected.clear()  # a rebalance has assigned a partition since the seek
            return {}
        except OffsetOutOfRangeError as error:
            raise Mismatch(
                f"Inbox {self._group}: {error}. Records that the database does not have are gone, or the topic was "
                f"recreated: set next_offset in {INBOX}, or delete the row to start again"
            ) from error
        kept = {}
        for name in sorted(found):
            expected = self._expected.get(name)
            new = [] if expected is None else [record for record in found[name] if record.offset >= expected]
            if new:
                kept[name] = new
        return kept

    async def _seek(self) -> bool:
        """Seek to the database's position of each newly assigned partition; returns whether any partition was new."""
        names = [name for name in sorted(self._consumer.assignment()) if name not in self._expected]
        for name in names:
            offset = await self._position(name)
            try:
                self._consumer.seek(name, offset)
            except IllegalStateError:
                continue  # a rebalance gave the partition to another consumer
            self._expected[name] = offset
        return bool(names)

    async def _position(self, name: TopicPartition) -> int:
        where = (self._group, name.topic, name.partition)
        found = await self._database.look(_READ, *where)
        if not found:
            ask = self._consumer.beginning_offsets if self._begin == "earliest" else self._consumer.end_offsets
            first = (await ask([name]))[name]
            await self._database.begin()
            try:
                await self._database.fetch(_FIRST, *where, first)
                found = await self._database.fetch(_READ, *where)
            except BaseException:
                await self._database.rollback()
                raise
            await self._database.commit()
        return int(found[0][0])

    async def _move(self, found: Found[Any, Any]) -> dict[TopicPartition, int]:
        """Advance the stored positions past the records; returns the new positions. A partition whose position another
        instance has advanced is left out."""
        moved = {}
        for name, records in found.items():
            expected, after = self._expected.get(name), records[-1].offset + 1
            where = (self._group, name.topic, name.partition)
            if expected is not None and await self._database.fetch(_MOVE, after, *where, expected):
                moved[name] = after
            else:
                self._expected.pop(name, None)
        return moved

    async def _show(self) -> None:
        """Commit positions that the database has stored to the group, so that tools can show the lag; at most once per
        :data:`_COMMIT_S`."""
        if not self._unshown or real_time.monotonic() - self._shown_s < _COMMIT_S:
            return
        shown, self._unshown, self._shown_s = self._unshown, {}, real_time.monotonic()
        try:
            await self._consumer.commit(shown)
        except KafkaError as error:
            log.info("the offsets of group %s, which only tools read, were not committed: %s", self._group, error)


__all__ = ["InboxReader"]
