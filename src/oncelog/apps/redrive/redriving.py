"""Reads dead letters and sends them back, in transactions that also commit the positions up to which they were read.

Called by the command line and the console. The transactional id is the group's name, so a second run of the same name
fences the first run and ends its open transaction before reading the group's positions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from oncelog.apps.redrive.dead_letters import DeadLetter, DeadLetterOutcome, Plan, RedriveError
from oncelog.client.aio import Admin, Consumer, Producer
from oncelog.client.aio.offset_lookups import FoundOffset
from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType
from oncelog.client.core.config import ConsumerConfig, ProducerConfig
from oncelog.client.core.structs import ConsumerRecord, OffsetAndMetadata
from oncelog.client.positions import EARLIEST
from oncelog.errors import Error, KafkaError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time
from oncelog.types import TopicPartition

_FENCED = (Error.PRODUCER_FENCED, Error.INVALID_PRODUCER_EPOCH)
_POLL_MS = 500
_RETENTION = "offsets.retention.minutes"
_RETENTION_MINUTES = 10_080
"""How long positions are kept, in minutes, if the broker's value cannot be read: Apache Kafka's default."""


def group_of(topic: str, name: str) -> str:
    """The name of a redrive's consumer group, which is also its transactional id; no topic's name contains a colon."""
    return f"oncelog-redrive-{topic}:{name}"


@dataclass(frozen=True, slots=True)
class Decided:
    """A dead letter, and the decision about it."""

    record: ConsumerRecord[bytes, bytes]
    outcome: DeadLetterOutcome
    dead_letter: DeadLetter | None


class Redrive:
    """One run of a redrive, over the dead letters that exist when it starts.

    :param consumer: reads committed records, without a group.
    :param producer: transactional, with the group's name as its id; None: nothing is written.
    :param limit: the maximum number of dead letters that are sent or parked.
    :param first_run: the caller knows that no redrive of the group has run before.
    """

    def __init__(
        self,
        admin: Admin,
        consumer: Consumer[bytes, bytes],
        producer: Producer[Any, Any] | None,
        topic: str,
        group: str,
        plan: Plan,
        *,
        transaction_size: int,
        limit: int | None = None,
        first_run: bool = False,
    ) -> None:
        self._admin = admin
        self._consumer = consumer
        self._producer = producer
        self._topic = topic
        self._group = group
        self._plan = plan
        self._size = transaction_size
        self._limit = limit
        self._first_run = first_run
        self._stored: dict[TopicPartition, int] = {}
        """The position to commit for each partition; all are committed together, so that they expire together."""
        self._keeps = False
        """Whether this run must still commit the group's existing positions again, so that they do not expire."""
        self._ends: Mapping[TopicPartition, int] = {}
        self._positions: dict[TopicPartition, int] = {}
        self._partitions: dict[str, int] = {}
        self.deleted = 0
        """The number of offsets that were deleted before the group had read them."""
        self.counts: Counter[DeadLetterOutcome] = Counter()

    async def open(self) -> None:
        """Find the group's positions, and the ends of the dead letters' partitions. The producer must have been
        started.

        :raises RedriveError: the group was begun with another selection of dead letters, or it has no positions and
            they may have expired.
        """
        names = await self._admin.partitions(self._topic)
        # a dry run does not wait for the end of a transaction that a killed run left open
        stable = self._producer is not None
        committed = await self._admin.list_consumer_group_offsets(self._group, names, require_stable=stable)
        selection = self._plan.selection
        if any(position.metadata != selection for position in committed.values()):
            raise RedriveError(
                f"Group {self._group} was begun with another --where or --error, and has skipped dead letters that "
                "the new options may select: repeat the earlier options, or give this redrive a --name of its own"
            )
        firsts = await self._admin.list_offsets(dict.fromkeys(names, EARLIEST), read_committed=True)
        ends = await self._admin.settled_ends(names)
        await self._check_first_run(committed, firsts, ends)
        starts = {name: max(committed[name].offset if name in committed else 0, firsts[name].offset) for name in names}
        self.deleted = sum(max(0, firsts[name].offset - read.offset) for name, read in committed.items())
        for name, read in committed.items():
            if read.offset > ends[name].offset:
                raise RedriveError(
                    f"{name} ends at offset {ends[name].offset}, and group {self._group} has read to "
                    f"{read.offset}: the topic was created again, or records of it were lost; delete the group, or "
                    "give this redrive a --name of its own, to begin with the dead letters that exist now"
                )
        self._stored, self._keeps = starts, bool(committed)
        self._ends = {name: ends[name].offset for name in names if starts[name] < ends[name].offset}
        self._positions = {name: starts[name] for name in self._ends}
        self._consumer.assign(list(self._ends))
        for name, position in self._positions.items():
            self._consumer.seek(name, position)

    async def _check_first_run(
        self,
        committed: Mapping[TopicPartition, OffsetAndMetadata],
        firsts: Mapping[TopicPartition, FoundOffset],
        ends: Mapping[TopicPartition, FoundOffset],
    ) -> None:
        """Check that a group without positions has not sent any of the dead letters before.

        :raises RedriveError: some dead letters are older than the time for which positions are kept, so an earlier run
            may have sent them, and its positions may have expired; or a group with positions is said to run for the
            first time.
        """
        if committed and self._first_run:
            raise RedriveError(f"Group {self._group} has positions: this is not its first run, leave --first-run out")
        with_dead_letters = [name for name in ends if firsts[name].offset < ends[name].offset]
        if committed or self._first_run or not with_dead_letters:
            return
        minutes = await _offsets_retention_minutes(self._admin)
        # 90 % of the retention time, because the clocks of broker and client may differ
        before_ms = real_time.time_ms() - minutes * 54_000
        oldest = await self._admin.list_offsets(dict.fromkeys(with_dead_letters, 0), read_committed=True)
        if any(one.offset >= 0 and one.timestamp < before_ms for one in oldest.values()):
            raise RedriveError(
                f"Group {self._group} has no positions, and dead letters of {self._topic} are older than "
                f"positions are kept ({_RETENTION} = {minutes}): if an earlier redrive of this name has sent them, "
                "they would be sent again; if none has, say --first-run"
            )

    @property
    def positions(self) -> Mapping[TopicPartition, int]:
        """The position of the next dead letter in each partition that has dead letters."""
        return self._positions

    @property
    def left(self) -> int:
        """The number of offsets in the dead letters' topic that this run has not read yet."""
        return sum(max(0, self._ends[name] - position) for name, position in self._positions.items())

    async def round(self) -> list[Decided] | None:
        """Decide about the next dead letters and, if there is a producer, carry out the decisions in one transaction.

        Returns None at the end, or when the limit is reached. Nothing is sent before the decisions about all of them
        are made.
        """
        records = await self._next()
        if not records:
            if self._keeps and self._producer is not None:  # store the positions again, or they would expire
                with _fencing_reported(self._group):
                    await self._carry_out(self._producer, [], {})
            return None
        decided, positions = self._decide(records)
        await self._check_targets(decided)
        if self._producer is not None:
            with _fencing_reported(self._group):
                await self._carry_out(self._producer, decided, positions)
        self._positions |= positions
        self.counts.update(one.outcome for one in decided)
        return decided

    async def _next(self) -> list[ConsumerRecord[bytes, bytes]]:
        """The next dead letters below the end; empty at the end, or when the limit is reached."""
        if self._limit is not None and self._written >= self._limit:
            return []
        while True:
            waiting = [name for name, end in self._ends.items() if await self._consumer.position(name) < end]
            if not waiting:
                self._positions = dict(self._ends)
                return []
            found = await self._consumer.getmany(*waiting, timeout_ms=_POLL_MS, max_records=self._size)
            records = [one for name, held in found.items() for one in held if one.offset < self._ends[name]]
            if records:
                return records

    @property
    def _written(self) -> int:
        return self.counts[DeadLetterOutcome.SENT] + self.counts[DeadLetterOutcome.PARKED]

    def _decide(self, records: list[ConsumerRecord[bytes, bytes]]) -> tuple[list[Decided], dict[TopicPartition, int]]:
        """The decisions about dead letters until the limit is reached, and the positions after these dead letters."""
        decided: list[Decided] = []
        positions: dict[TopicPartition, int] = {}
        written = self._written
        for record in records:
            if self._limit is not None and written >= self._limit:
                break
            outcome, dead_letter = self._plan.decide(record)
            written += dead_letter is not None
            decided.append(Decided(record, outcome, dead_letter))
            positions[TopicPartition(record.topic, record.partition)] = record.offset + 1
        return decided, positions

    async def _check_targets(self, decided: list[Decided]) -> None:
        """Check, before anything is sent, that the topic and partition of each dead letter exist.

        :raises RedriveError: a dead letter would go to its own topic, or to a partition that does not exist.
        """
        for one in decided:
            if one.dead_letter is None:
                continue
            topic, partition = one.dead_letter.topic, one.dead_letter.partition
            if topic == self._topic:
                raise RedriveError(
                    f"Dead letter {_place(one.record)} would be sent to its own topic, {topic}, and again by each run: "
                    "say with --to where it goes, or leave it out with --where or --error"
                )
            if topic not in self._partitions:
                self._partitions[topic] = len(await self._admin.partitions(topic))
            if partition is not None and partition >= self._partitions[topic]:
                raise RedriveError(
                    f"Dead letter {_place(one.record)} was in partition {partition} of {topic}, which has "
                    f"{self._partitions[topic]} now: --to {topic} leaves the partition to the key"
                )

    async def _carry_out(
        self, producer: Producer[Any, Any], decided: list[Decided], positions: dict[TopicPartition, int]
    ) -> None:
        self._stored |= positions
        offsets = {name: OffsetAndMetadata(offset, self._plan.selection) for name, offset in self._stored.items()}
        async with producer.transaction():
            sent = [
                await producer.send(one.topic, one.value, one.key, one.partition, None, one.headers)
                for one in (found.dead_letter for found in decided)
                if one is not None
            ]
            for future in sent:
                future.add_done_callback(_retrieved)
            await producer.send_offsets_to_transaction(offsets, self._group)
            await asyncio.gather(*sent)
        self._keeps = False


@asynccontextmanager
async def opened(
    admin: Admin,
    reading: ConsumerConfig,
    writing: ProducerConfig | None,
    topic: str,
    group: str,
    plan: Plan,
    *,
    transaction_size: int,
    limit: int | None = None,
    first_run: bool = False,
) -> AsyncIterator[Redrive]:
    """A context: a redrive that begins at the positions of its group.

    :param writing: the producer's settings; the transactional id is the group. None: nothing is written.
    :raises RedriveError: the group was begun with another selection of dead letters.
    """
    read = replace(
        reading, group_id=None, isolation_level="read_committed", enable_auto_commit=False, auto_offset_reset="none"
    )
    async with AsyncExitStack() as stack:
        await admin.partitions(topic)
        producer = None
        if writing is not None:
            # A broker has already accepted each dead letter, whatever its size
            room = replace(writing, max_request_size=max(writing.max_request_size, writing.buffer_memory))
            producer = await stack.enter_async_context(Producer[Any, Any](config=room))
        consumer = await stack.enter_async_context(Consumer[bytes, bytes](config=read))
        redrive = Redrive(
            admin,
            consumer,
            producer,
            topic,
            group,
            plan,
            transaction_size=transaction_size,
            limit=limit,
            first_run=first_run,
        )
        await redrive.open()
        yield redrive


def _retrieved(future: asyncio.Future[Any]) -> None:
    """Mark a future's error as retrieved: if the transaction ends first, nothing awaits the future, and asyncio would
    print the error."""
    if not future.cancelled():
        future.exception()


def _place(record: ConsumerRecord[bytes, bytes]) -> str:
    return f"{record.topic}-{record.partition}:{record.offset}"


async def _offsets_retention_minutes(admin: Admin) -> int:
    nodes = (await admin.describe_cluster()).nodes
    broker = ConfigResource(ConfigResourceType.BROKER, str(nodes[0].node_id))
    try:
        found = await admin.describe_configs([broker], names=[_RETENTION])
    except KafkaError as error:
        if error.error not in (Error.CLUSTER_AUTHORIZATION_FAILED, Error.UNSUPPORTED_VERSION):
            raise
        return _RETENTION_MINUTES
    entry = found[broker].get(_RETENTION)
    return int(entry.value) if entry is not None and entry.value else _RETENTION_MINUTES


@contextmanager
def _fencing_reported(group: str) -> Iterator[None]:
    try:
        yield
    except KafkaError as error:
        if error.error not in _FENCED:
            raise
        raise RedriveError(
            f"Another redrive of group {group} has started and continues in place of this one; run two at once with "
            "different --name only if their dead letters differ"
        ) from error


__all__ = ["Decided", "Redrive", "group_of", "opened"]
