"""Reads pages of records: forwards and backwards from given offsets of several partitions, and searches.

Each request reads a limited number of bytes for a limited time, whatever the topic contains. Positions are offsets by
partition. Records of several partitions are merged by timestamp; records of one partition stay in the order of their
offsets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from oncelog.apps.console.decoding import DisplayedValue, RecordDecoding
from oncelog.apps.console.search import RecordFilter
from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.admin.log_reader import OutcomeReader, Producers, RecordOutcome, StoredRecord
from oncelog.client.core.admin.admin_types import TopicDescription
from oncelog.client.positions import EARLIEST, LATEST
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time
from oncelog.types import TopicPartition

STEP_BYTES = 256 * 1024
LOOK_AHEAD_BYTES = 8 * 1024 * 1024
BUDGET_BYTES = 8 * 1024 * 1024
SEARCH_STEP_BYTES = 1024 * 1024
SEARCH_SECONDS = 1.5
LOOK_SECONDS = 0.5
YIELD_AFTER_SECONDS = 0.02
MAX_TRIES = 6
"""How many windows of offsets the console tries, to find one that contains records, but not too many bytes."""
MAX_PARTITIONS = 64
"""The maximum number of partitions that are read together; in a topic with more, the visitor chooses one."""

Positions = dict[int, int]


@dataclass(frozen=True, slots=True)
class Row:
    """A record as a row of a table."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    outcome: RecordOutcome
    producer_id: int
    producer_epoch: int
    sequence: int
    transactional_id: str | None
    key: DisplayedValue
    value: DisplayedValue
    headers: int
    control: bool


@dataclass(slots=True)
class RecordPage:
    """One page of records. ``next`` holds the positions where the next page starts (where it ends, when paging
    backwards); it is empty if there is no further page."""

    rows: list[Row] = field(default_factory=list)
    next: Positions = field(default_factory=dict)
    looked_at: int = 0
    over: bool = True


@dataclass(frozen=True, slots=True)
class Ends:
    """First offset, high watermark and last stable offset of a partition."""

    first: int
    end: int
    stable: int


def led(topics: Iterable[TopicDescription]) -> list[TopicPartition]:
    """The partitions that have a leader. Without a leader a partition's offsets are unknown, and a request for them
    would wait."""
    return [
        TopicPartition(topic.name, item.partition) for topic in topics for item in topic.partitions if item.leader >= 0
    ]


async def ends_of(admin: Admin, names: Iterable[TopicPartition]) -> dict[TopicPartition, Ends]:
    """The ends of partitions, requested together."""
    wanted = list(names)
    first, end, stable = await asyncio.gather(
        admin.list_offsets(dict.fromkeys(wanted, EARLIEST)),
        admin.list_offsets(dict.fromkeys(wanted, LATEST)),
        admin.list_offsets(dict.fromkeys(wanted, LATEST), read_committed=True),
    )
    return {name: Ends(first[name].offset, end[name].offset, stable[name].offset) for name in wanted}


class Yielding:
    """Lets other tasks run while many records are examined without waiting."""

    def __init__(self) -> None:
        self._since = real_time.monotonic()

    async def after_each(self) -> None:
        """Call this after each record: it yields to other tasks when enough time has passed."""
        if real_time.monotonic() - self._since > YIELD_AFTER_SECONDS:
            await asyncio.sleep(0)
            self._since = real_time.monotonic()


@dataclass(frozen=True, slots=True)
class TopicReading:
    """Reads the records of a topic as one request asks for them: how they are decoded, how many, and whether with
    markers."""

    admin: Admin
    producers: Producers
    decoding: RecordDecoding
    limit: int
    control: bool = False

    @property
    def topic(self) -> str:
        return self.decoding.topic

    async def forward(self, starts: Mapping[int, int], ends: Mapping[int, Ends]) -> RecordPage:
        """A page of records from these positions on."""
        taken = await asyncio.gather(
            *(self._from(partition, offset, ends[partition].end) for partition, offset in starts.items())
        )
        found = RecordPage(looked_at=sum(len(records) for records, _ in taken))
        queues = {partition: records for partition, (records, _) in zip(starts, taken, strict=True)}
        rows: list[tuple[int, StoredRecord]] = []
        heads = dict.fromkeys(queues, 0)
        while len(rows) < self.limit:
            waiting = [p for p, records in queues.items() if heads[p] < len(records)]
            if not waiting:
                break
            chosen = min(waiting, key=lambda p: (queues[p][heads[p]].record.timestamp, p))
            rows.append((chosen, queues[chosen][heads[chosen]]))
            heads[chosen] += 1
        for partition, (records, position) in zip(starts, taken, strict=True):
            left = records[heads[partition] :]
            found.next[partition] = left[0].record.offset if left else position
        found.over = all(found.next[partition] >= ends[partition].end for partition in starts)
        found.rows = await self.rows(rows)
        return found

    async def backward(self, bounds: Mapping[int, int], ends: Mapping[int, Ends]) -> RecordPage:
        """A page of records before these positions, newest first."""
        taken = await asyncio.gather(
            *(self._before(partition, offset, ends[partition].first) for partition, offset in bounds.items())
        )
        found = RecordPage(looked_at=sum(len(records) for records, _ in taken))
        queues = {partition: list(records) for partition, (records, _) in zip(bounds, taken, strict=True)}
        rows: list[tuple[int, StoredRecord]] = []
        while len(rows) < self.limit and any(queues.values()):
            chosen = max(
                (p for p, records in queues.items() if records), key=lambda p: (queues[p][-1].record.timestamp, p)
            )
            rows.append((chosen, queues[chosen].pop()))
        for partition, (_, start) in zip(bounds, taken, strict=True):
            left = queues[partition]
            found.next[partition] = left[-1].record.offset + 1 if left else start
        found.over = all(found.next[partition] <= ends[partition].first for partition in bounds)
        found.rows = await self.rows(rows)
        return found

    async def search(self, search: RecordFilter, starts: Mapping[int, int], ends: Mapping[int, Ends]) -> RecordPage:
        """Matching records from these positions on, one partition after the other, until the page is full or the time
        of one request is over.

        Records that the broker has returned are examined for a short time even after that, so that the next request
        need not read a slow broker's answer again for the sake of a few records.
        """
        found = RecordPage(next=dict(starts))
        until = real_time.monotonic() + SEARCH_SECONDS
        rows: list[tuple[int, StoredRecord]] = []
        for partition, start in starts.items():
            reader = self._reader(partition, start, SEARCH_STEP_BYTES)
            while found.next[partition] < ends[partition].end:
                if len(rows) >= self.limit or (found.looked_at and real_time.monotonic() > until):
                    found.over = False
                    break
                stored = await reader.step()
                found.next[partition] = reader.position if stored else ends[partition].end
                await self.learn_for(search, stored)
                yielding = Yielding()
                looking_until = max(until, real_time.monotonic() + LOOK_SECONDS)
                for one in stored:
                    found.looked_at += 1
                    if self.wants(one) and search.finds(one.record, self.decoding):
                        rows.append((partition, one))
                    await yielding.after_each()
                    if len(rows) >= self.limit or real_time.monotonic() > looking_until:
                        found.next[partition] = one.record.offset + 1
                        break
                await asyncio.sleep(0)
        found.rows = await self.rows(rows)
        return found

    async def rows(self, records: Iterable[tuple[int, StoredRecord]]) -> list[Row]:
        """Records as rows of a table."""
        given = list(records)
        await self.learn(stored for _, stored in given)
        names = await self.producers.names(stored.header for _, stored in given)
        return [self._row(partition, stored, names) for partition, stored in given]

    async def learn(self, records: Iterable[StoredRecord]) -> None:
        """Fetch the schemas of these records, so that they can be decoded."""
        if self.decoding.registry is not None:
            await self.decoding.registry.learn(one.record for one in records if not one.header.is_control)

    async def learn_for(self, search: RecordFilter, records: Iterable[StoredRecord]) -> None:
        """Fetch the schemas of these records if the search has a JSON path, which needs decoded values."""
        if search.path is not None:
            await self.learn(records)

    def _row(self, partition: int, stored: StoredRecord, names: Mapping[int, str | None]) -> Row:
        header, record, outcome = stored
        nothing = DisplayedValue("", "null", -1)
        key, value = (nothing, nothing) if header.is_control else self.decoding.shown(record)
        return Row(
            self.topic, partition, record.offset, record.timestamp, outcome, header.producer_id, header.producer_epoch,
            record.sequence, names.get(header.producer_id), key.preview(), value.preview(), len(record.headers),
            header.is_control,
        )  # fmt: skip

    def _reader(self, partition: int, offset: int, step_bytes: int = STEP_BYTES) -> OutcomeReader:
        name = TopicPartition(self.topic, partition)
        return OutcomeReader(self.admin, name, offset, step_bytes=step_bytes, look_ahead_bytes=LOOK_AHEAD_BYTES)

    def wants(self, stored: StoredRecord) -> bool:
        """Whether to show a record; markers are shown only on request."""
        return self.control or not stored.header.is_control

    async def _from(self, partition: int, offset: int, end: int) -> tuple[list[StoredRecord], int]:
        """Records from ``offset`` on until there are about ``limit``, and the offset at which to read on."""
        reader = self._reader(partition, offset)
        records: list[StoredRecord] = []
        size = 0
        while reader.position < end and len(records) < self.limit and size < BUDGET_BYTES:
            stored = await reader.step()
            if not stored:
                return records, max(reader.position, end)
            size += sum(len(one.record.value or b"") for one in stored)
            records += [one for one in stored if self.wants(one)]
        return records, reader.position

    async def _before(self, partition: int, bound: int, first: int) -> tuple[list[StoredRecord], int]:
        """Up to ``limit`` records before ``bound``, and the offset at which they begin, where the next older page
        ends."""
        records: list[StoredRecord] = []
        start, window, size = bound, self.limit, 0
        for _ in range(MAX_TRIES):
            at = max(first, start - window)
            older, taken, whole = await self._between(partition, at, start)
            size += taken
            if not whole and window > 1:
                window = max(1, window // 4)  # the records are large: read only the newest few
                continue
            records, start = older + records, at
            if len(records) >= self.limit or start <= first or size >= BUDGET_BYTES:
                break
            if len(older) * 2 < window:
                window *= 8  # few records in the range: compaction removed the others, or it has only markers
        if len(records) > self.limit:
            records = records[-self.limit :]
            start = records[0].record.offset
        return records, start

    async def _between(self, partition: int, start: int, bound: int) -> tuple[list[StoredRecord], int, bool]:
        """The records between two offsets, the number of bytes read, and whether all records were read; False if the
        limit of bytes was reached first."""
        reader = self._reader(partition, start)
        records: list[StoredRecord] = []
        size = 0
        while reader.position < bound:
            if size >= BUDGET_BYTES:
                return records, size, False
            stored = await reader.step()
            if not stored:
                break
            size += sum(len(one.record.value or b"") for one in stored)
            records += [one for one in stored if self.wants(one) and one.record.offset < bound]
        return records, size, True


def encode_positions(positions: Mapping[int, int]) -> str:
    return ",".join(f"{partition}:{offset}" for partition, offset in sorted(positions.items()))


def decode_positions(text: str) -> Positions:
    """Positions from the query string of a page; invalid ones are left out."""
    found: Positions = {}
    for part in text.split(",")[: 4 * MAX_PARTITIONS]:
        partition, _, offset = part.partition(":")
        if partition.isdecimal() and offset.isdecimal() and len(partition) < 10 and len(offset) < 19:
            found[int(partition)] = int(offset)
    return found
