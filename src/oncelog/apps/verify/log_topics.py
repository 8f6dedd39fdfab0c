"""Reads topics of any Kafka cluster, control records included, and checks each partition.

Called by the command line. The log is read up to the current high watermark. The last stable offset and the open
transactions that the broker reports are compared with the log; a difference is read again before it is reported. Checks
that need a request that an old broker lacks are left out, and the report names them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from oncelog.apps.mirror.reading import committed_batches
from oncelog.apps.verify.decisions import decisions_in
from oncelog.apps.verify.expected import Expected
from oncelog.apps.verify.findings import Report
from oncelog.apps.verify.isolation import ReaderStuck, compare_reader
from oncelog.apps.verify.open_transactions import judge_at_rest, judge_with_coordinator
from oncelog.apps.verify.outcomes import Outcomes
from oncelog.apps.verify.partition_check import PartitionCheck, Writers
from oncelog.apps.verify.second_look import still_there
from oncelog.apps.verify.topic_settings import FORBIDDEN, expected_of
from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.admin.log_reader import FetchedRecords, fetch_stored
from oncelog.client.aio.consumer.consumer import Consumer
from oncelog.client.aio.offset_lookups import EARLIEST, LATEST
from oncelog.client.core.admin.admin_types import (
    TransactionDescription,
    TransactionListing,
)
from oncelog.client.core.client_errors import UnsupportedVersionError
from oncelog.client.core.config import ConsumerConfig
from oncelog.errors import Error, KafkaError
from oncelog.records.batch import CorruptBatch, decode_records, iter_headers
from oncelog.records.record_errors import OlderFormat
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time
from oncelog.types import (
    TRANSACTION_STATE_TOPIC,
    IsolationLevel,
    TopicPartition,
    java_hash_partition,
)

OnProgress = Callable[[int, str], None]

_LOOKS = 5
"""The number of reads after which a difference that persists is reported."""
_LOOK_PAUSE_S = 0.2
_ROUNDS = 1000
"""The number of attempts to reach the high watermark of a partition that is constantly written."""
_DAMAGED = frozenset({Error.CORRUPT_MESSAGE, Error.KAFKA_STORAGE_ERROR, Error.UNKNOWN_SERVER_ERROR})


@dataclass(frozen=True)
class LogSelection:
    """The settings of a check.

    :param decodes: decode records, not only batch headers.
    :param reads: compare with a read_committed reader.
    :param compacted: the topics were compacted once, whatever their settings are now.
    """

    decodes: bool = True
    reads: bool = True
    compacted: bool = False
    clock: Callable[[], float] = field(default=real_time.time)


class PartitionOffsets(NamedTuple):
    """The offsets of a partition in a fetch answer of its leader whose records reach the high watermark."""

    high_watermark: int
    last_stable_offset: int
    log_start_offset: int


async def verify_topics(
    admin: Admin,
    reader: ConsumerConfig,
    topics: Sequence[str],
    wanted: LogSelection,
    report: Report,
    advance: OnProgress = lambda offsets, text: None,
) -> None:
    """Check every partition of some topics.

    :param reader: settings of a consumer of the same cluster, with ``read_committed`` and without a group.
    :param advance: called with the number of offsets read, and the name of the partition.
    :raises KafkaError: a topic does not exist or the cluster cannot be reached. A later failure is a finding.
    """
    described = await admin.describe_topics(topics)
    run = _Run(admin, wanted, report, advance, await expected_of(admin, described, wanted.compacted, report))
    try:
        async with Consumer(config=reader) as consumer:
            for topic in described:
                for item in topic.partitions:
                    where = TopicPartition(topic.name, item.partition)
                    if item.leader < 0:
                        report.add("no-leader", where, "no client can read this partition now")
                    else:
                        await run.partition(where, consumer)
        await run.judge()
    finally:
        run.close()


async def count_offsets(admin: Admin, topics: Sequence[str]) -> int:
    """The number of offsets to read, for a progress bar."""
    names = [
        TopicPartition(topic.name, item.partition)
        for topic in await admin.describe_topics(topics)
        for item in topic.partitions
        if item.leader >= 0
    ]
    first = await admin.list_offsets(dict.fromkeys(names, EARLIEST))
    end = await admin.list_offsets(dict.fromkeys(names, LATEST))
    return sum(end[name].offset - first[name].offset for name in names)


class _Run:
    """One run of the checks over some partitions."""

    def __init__(
        self, admin: Admin, wanted: LogSelection, report: Report, advance: OnProgress, expected: Mapping[str, Expected]
    ) -> None:
        self._admin = admin
        self._wanted = wanted
        self._report = report
        self._add = advance
        self._expected = expected
        self._outcomes = Outcomes()
        self._writers = Writers()
        self._undecided: list[PartitionCheck] = []
        """The checks of partitions with open transactions; the ends of these partitions are read again when the run
        ends."""

    def close(self) -> None:
        self._outcomes.close()

    # --- one partition

    async def partition(self, where: TopicPartition, consumer: Consumer) -> None:
        """Read and check one partition; a failure to do so is a finding."""
        made: list[PartitionCheck] = []
        with self._reported(where, made):
            start = (await self._admin.list_offsets({where: EARLIEST}))[where].offset
            expected = replace(self._expected[where.topic], log_start=start)
            check = PartitionCheck(where, expected, self._report, self._outcomes, decodes=self._wanted.decodes)
            made.append(check)
            look = await self._read(check, start)
            if look is not None:
                look = await self._compare_stable_offset(check, look)
                if self._wanted.reads and check.has_transactions:
                    await self._compare_reader(check, consumer, start, look)
        for check in made:
            if check.open():
                self._undecided.append(check)
            else:
                await self._end(check)

    @contextmanager
    def _reported(self, where: TopicPartition, made: Sequence[PartitionCheck]) -> Iterator[None]:
        """A context that reports an error while reading a partition as a finding, at the offset that the partition's
        check has reached."""
        try:
            yield
            return
        except OlderFormat as error:
            kind, message = "older-format", str(error)
        except CorruptBatch as error:
            kind, message = "malformed-batch", f"{error}; nothing after it was read"
        except KafkaError as error:
            kind, message = "unreadable" if error.error in _DAMAGED else "not-read", str(error)
            if error.error in FORBIDDEN:
                kind = "not-permitted"
        except ReaderStuck as error:
            kind, message = "not-read", str(error)
        at = next((check.next_offset for check in made if check.next_offset is not None), -1)
        self._report.add(kind, where, message, first=at)

    async def _end(self, check: PartitionCheck) -> None:
        """End the check of a partition. Repeated keys are reported only if the earlier record still exists."""
        came_back = check.came_back()
        with self._reported(check.where, [check]):
            there = await still_there(self._admin, check.where, [twice.earlier for twice in came_back])
            came_back[:] = [twice for twice in came_back if twice.earlier in there]
        check.end(self._writers)

    async def _read(self, check: PartitionCheck, start: int) -> PartitionOffsets | None:
        """Read a partition to its high watermark; returns the offsets in the answer that reached it, or None if records
        are written faster than they are read."""
        position = start
        for _ in range(_ROUNDS):
            end = (await self._admin.list_offsets({check.where: LATEST}))[check.where].offset
            position, look = await self._read_to(check, position, end)
            if look is not None:
                return look
        self._report.add(
            "moving", check.where, f"the partition is written faster than it is read; checked up to offset {position}"
        )
        return None

    async def _read_to(self, check: PartitionCheck, position: int, end: int) -> tuple[int, PartitionOffsets | None]:
        """Read at least to ``end``; returns the position, and the offsets in the last answer if its records reach its
        own high watermark."""
        while True:
            stored = await fetch_stored(self._admin, check.where, position, IsolationLevel.READ_UNCOMMITTED)
            before = position
            position = self._take(check, stored, position)
            look = PartitionOffsets(stored.high_watermark, stored.last_stable_offset, stored.log_start_offset)
            self._add(position - before, str(check.where))
            if position >= stored.high_watermark:
                return position, look
            if position == before:
                # An empty answer below the high watermark means that compaction removed the rest; an incomplete batch
                # is damage.
                if not stored.records:
                    if not check.expected.compacted:
                        message = f"nothing is there up to the high watermark {stored.high_watermark}"
                        self._report.add("high-watermark-missing", check.where, message, first=position)
                    return stored.high_watermark, look
                raise CorruptBatch(f"no whole batch is at offset {position} of {check.where}")
            if position >= end and before < end:
                return position, None

    @staticmethod
    def _take(check: PartitionCheck, stored: FetchedRecords, position: int) -> int:
        view = memoryview(stored.records)
        for at, header in iter_headers(view):
            if header.base_offset >= stored.high_watermark:
                break
            check.take(header, view[at : at + header.size_bytes])
            position = max(position, header.next_offset)
        return position

    async def _compare_stable_offset(self, check: PartitionCheck, look: PartitionOffsets) -> PartitionOffsets:
        """Compare the broker's last stable offset with the open transactions; returns the last answer."""
        wrong = self._difference(check, look)
        for _ in range(_LOOKS):
            if wrong is None:
                return look
            await asyncio.sleep(_LOOK_PAUSE_S)
            again = await self._read(check, look.high_watermark)
            if again is None:
                return look
            look = again
            if self._difference(check, look) != wrong:
                # a difference that a repeated request does not show came from a change between two requests
                return look
        if wrong is None:
            return look
        kind, first = wrong
        stable = f"the last stable offset is {look.last_stable_offset}, the high watermark {look.high_watermark}"
        by = next((one for one in check.open() if one.first_offset == first), None)
        self._report.add(
            kind,
            check.where,
            stable if by is None else f"{stable}, and a transaction is open since {first}",
            first=first,
            producer_id=-1 if by is None else by.producer_id,
            producer_epoch=-1 if by is None else by.producer_epoch,
        )
        return look

    @staticmethod
    def _difference(check: PartitionCheck, look: PartitionOffsets) -> tuple[str, int] | None:
        """The kind of contradiction between the broker's last stable offset and the open transactions, with the offset
        that shows it; None if they agree."""
        first_open = next((one.first_offset for one in check.open()), None)
        expected = look.high_watermark if first_open is None else min(first_open, look.high_watermark)
        if look.last_stable_offset > expected and first_open is not None:
            return "stable-offset-past-open", first_open
        cut_off = look.log_start_offset > 0 and look.last_stable_offset <= look.log_start_offset
        if look.last_stable_offset < expected and not cut_off:
            return "stable-offset-behind", look.last_stable_offset
        return None

    async def _compare_reader(
        self, check: PartitionCheck, consumer: Consumer, start: int, look: PartitionOffsets
    ) -> None:
        begin = max(start, look.log_start_offset)
        undecided = {one.producer_id: one.first_offset for one in check.open()}
        await compare_reader(
            self._admin,
            consumer,
            check.where,
            begin,
            min(look.last_stable_offset, look.high_watermark),
            check.aborted(),
            undecided,
            self._report,
        )

    # --- all partitions together

    async def judge(self) -> None:
        """Judge transactions across partitions, by the logs and by the coordinators."""
        listed = await self._listed()
        await self._judge_open(listed)
        for check in self._undecided:
            await self._end(check)
        names: dict[int, str | None] = {item.producer_id: item.transactional_id for item in listed or ()}
        await self._read_decisions(names)
        self._outcomes.judge(self._report)
        self._writers.judge(self._report, names)
        self._report.name_producers(names)

    async def _read_decisions(self, names: Mapping[int, str | None]) -> None:
        """Read the coordinators' records about producers whose transactions the log does not fully explain."""
        in_doubt = self._outcomes.in_doubt()
        ids = {name for producer_id in in_doubt if (name := names.get(producer_id)) is not None}
        if not ids:
            return
        try:
            partitions = await self._admin.partitions(TRANSACTION_STATE_TOPIC)
            for number in sorted({java_hash_partition(name, len(partitions)) for name in ids}):
                where = TopicPartition(TRANSACTION_STATE_TOPIC, number)
                start = (await self._admin.list_offsets({where: EARLIEST}))[where].offset
                end = (await self._admin.list_offsets({where: LATEST}))[where].offset
                async for _, data in committed_batches(self._admin, where, start, end):
                    self._outcomes.decide(decisions_in(decode_records(data), in_doubt))
        except KafkaError as error:
            if error.error not in FORBIDDEN:
                raise  # without permission to read the topic, transactions in doubt are reported as outcomes-differ

    async def _listed(self) -> list[TransactionListing] | None:
        """The transactional ids that coordinators know; None if they cannot be asked."""
        try:
            return await self._admin.list_transactions()
        except UnsupportedVersionError as error:
            self._report.add("not-offered", None, f"transactional ids of producers (ListTransactions): {error}")
        except KafkaError as error:
            if error.error not in FORBIDDEN:
                raise
            self._report.add("not-permitted", None, f"transactional ids of producers: {error}")
        return None

    async def _judge_open(self, listed: list[TransactionListing] | None) -> None:
        open_before = {
            (one.where, one.producer_id, one.first_offset) for check in self._undecided for one in check.open()
        }
        if not open_before:
            return
        known = {} if listed is None else await self._described(listed, {producer for _, producer, _ in open_before})
        # Coordinators know no hanging transaction, and none that ended after the first reading either: read the log
        # again, and report as hanging only transactions that are still open.
        known_to_end = []
        for check in self._undecided:
            with self._reported(check.where, [check]):
                if check.next_offset is not None:
                    await self._read(check, check.next_offset)
                known_to_end.append(check)
        now_ms = int(self._wanted.clock() * 1000)
        for check in known_to_end:
            for one in check.open():
                if (one.where, one.producer_id, one.first_offset) not in open_before:
                    continue
                owner = known.get(one.producer_id)
                if listed is None or self._outcomes.elsewhere(one.producer_id, one.producer_epoch, one.where):
                    judge_at_rest([one], now_ms, check.expected, self._outcomes, self._report)
                else:
                    judge_with_coordinator(one, owner, now_ms, self._report)

    async def _described(
        self, listed: Sequence[TransactionListing], producer_ids: set[int]
    ) -> dict[int, TransactionDescription]:
        """The coordinators' descriptions of these producers' transactions, by producer id."""
        found = {}
        for item in listed:
            if item.producer_id not in producer_ids:
                continue
            try:
                (described,) = await self._admin.describe_transactions([item.transactional_id])
            except KafkaError as error:
                if error.error is not Error.TRANSACTIONAL_ID_NOT_FOUND:  # it expired since
                    raise
                continue
            found[described.producer_id] = described
        return found
