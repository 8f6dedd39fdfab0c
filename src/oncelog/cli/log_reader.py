"""Reads the batches of a partition as they are stored, control records included, and tells the fate of each record.

Called by ``consume --show-transactions`` and ``transactions history``. Below the last stable offset the broker's list
of aborted transactions tells what was aborted, so one pass suffices; above it a record's fate is the next marker of its
producer, and where there is none its transaction is open. Sources: KIP-98 (``abortedTransactions`` of Fetch).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from oncelog.client.aio.admin import Admin
from oncelog.client.aio.cluster import check
from oncelog.client.core.read_committed import Aborted, AbortedFilter, control_type_of
from oncelog.client.core.structs import TopicPartition
from oncelog.client.core.wire import Api
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic
from oncelog.protocol.generated.fetch_response import FetchResponse
from oncelog.records.batch import BatchHeader, Record, decode_records, iter_headers
from oncelog.records.control import ControlType
from oncelog.types import IsolationLevel

FETCH = Api(FetchRequest, FetchResponse, 4, 12)
"""Versions that name topics; later ones need their ids."""
MAX_BYTES = 4 * 1024 * 1024


class Fate(Enum):
    """What became of a record, in the words shown to users."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"
    NOT_TRANSACTIONAL = "not transactional"
    COMMIT_MARKER = "commit marker"
    ABORT_MARKER = "abort marker"
    CONTROL = "control"
    """A control record of another kind."""


class StoredBatch(NamedTuple):
    """A batch with its decoded records; ``control`` is None for data."""

    header: BatchHeader
    records: tuple[Record, ...]
    control: ControlType | None


class StoredRecord(NamedTuple):
    """A record with the batch that holds it and its fate."""

    header: BatchHeader
    record: Record
    fate: Fate


class Fetched(NamedTuple):
    """An answer for one partition."""

    batches: list[StoredBatch]
    aborted: list[Aborted]
    high_watermark: int
    last_stable_offset: int


async def read(admin: Admin, name: TopicPartition, offset: int, isolation: IsolationLevel) -> Fetched:
    """Whole batches of one partition from the one that holds ``offset`` on; none where there is nothing yet.

    :raises KafkaError: the partition does not exist, or the offset is out of its range.
    """
    cluster = admin.cluster
    wanted = FetchPartition(partition=name.partition, fetch_offset=offset, partition_max_bytes=MAX_BYTES)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=MAX_BYTES,
        isolation_level=isolation,
        session_epoch=-1,
        topics=[FetchTopic(topic=name.topic, partitions=[wanted])],
    )

    async def ask(node: int) -> Fetched:
        answer = await cluster.ask(node, FETCH, request)
        check(answer.error_code, f"{name} can not be read")
        item = answer.responses[0].partitions[0]
        check(item.error_code, f"{name} can not be read from offset {offset} on")
        aborted = [(entry.first_offset, entry.producer_id) for entry in item.aborted_transactions or ()]
        batches = list(_decoded(item.records or b"", offset))
        return Fetched(batches, aborted, item.high_watermark, item.last_stable_offset)

    return await cluster.at_leader(f"reading {name}", name, ask)


def _decoded(data: bytes | memoryview, offset: int) -> Iterator[StoredBatch]:
    """The batches that reach ``offset``; of the first one only the records from there on."""
    for position, header in iter_headers(data):
        if header.last_offset < offset:
            continue
        records = tuple(record for record in decode_records(data, position) if record.offset >= offset)
        yield StoredBatch(header, records, control_type_of(data, position) if header.is_control else None)


class FateReader:
    """Goes through one partition from ``position`` on; :meth:`step` never waits for new records."""

    def __init__(self, admin: Admin, name: TopicPartition, position: int) -> None:
        self.name = name
        self.position = position
        self._admin = admin

    async def step(self) -> list[StoredRecord]:
        """The next records with their fates; empty at the end of the partition."""
        stable = await read(self._admin, self.name, self.position, IsolationLevel.READ_COMMITTED)
        if self.position < stable.last_stable_offset:
            self._pass(stable.batches, stable.last_stable_offset)
            return list(decided_fates(stable.batches, stable.aborted))
        tail: list[StoredBatch] = []
        while self.position < stable.high_watermark:
            more = await read(self._admin, self.name, self.position, IsolationLevel.READ_UNCOMMITTED)
            self._pass(more.batches, stable.high_watermark)
            tail += more.batches
        return list(fates_by_markers(tail))

    def _pass(self, batches: list[StoredBatch], end: int) -> None:
        """Go behind the batches; to ``end`` where compaction has left nothing up to there."""
        self.position = batches[-1].header.next_offset if batches else end


def decided_fates(batches: list[StoredBatch], aborted: list[Aborted]) -> Iterator[StoredRecord]:
    """Fates below the last stable offset, where every transaction is over."""
    transactions = AbortedFilter(aborted)
    for header, records, control in batches:
        kept = transactions.keeps(header, control)
        if control is not None:
            fate = _MARKERS.get(control, Fate.CONTROL)
        elif not header.is_transactional:
            fate = Fate.NOT_TRANSACTIONAL
        else:
            fate = Fate.COMMITTED if kept else Fate.ABORTED
        for record in records:
            yield StoredRecord(header, record, fate)


def fates_by_markers(batches: list[StoredBatch]) -> Iterator[StoredRecord]:
    """Fates above the last stable offset, up to the high watermark: by the next marker of the same producer."""
    fates: list[Fate] = []
    ended: dict[int, Fate] = {}
    for header, _, control in reversed(batches):
        if control is not None:
            fates.append(_MARKERS.get(control, Fate.CONTROL))
            if control in _OUTCOMES:
                ended[header.producer_id] = _OUTCOMES[control]
        elif header.is_transactional:
            fates.append(ended.get(header.producer_id, Fate.OPEN))
        else:
            fates.append(Fate.NOT_TRANSACTIONAL)
    for (header, records, _), fate in zip(batches, reversed(fates), strict=True):
        for record in records:
            yield StoredRecord(header, record, fate)


_MARKERS = {ControlType.COMMIT: Fate.COMMIT_MARKER, ControlType.ABORT: Fate.ABORT_MARKER}
_OUTCOMES = {ControlType.COMMIT: Fate.COMMITTED, ControlType.ABORT: Fate.ABORTED}
