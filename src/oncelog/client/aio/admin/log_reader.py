"""Reads the batches of a partition as stored, control records included, and determines the outcome of each record.

Called by the command line and the console. Below the last stable offset the broker lists the aborted transactions, so
one pass suffices; above it the next marker of a record's producer decides, and without a marker its transaction is
open. Source: KIP-98 (``abortedTransactions`` of Fetch).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.connection.cluster_access import check
from oncelog.client.core.client_errors import UnsupportedVersionError
from oncelog.client.core.connection.wire import Api
from oncelog.client.core.consumer.read_committed import Aborted, AbortedFilter, control_type_of
from oncelog.client.core.structs import TopicPartition
from oncelog.errors import Error, KafkaError
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic
from oncelog.records.batch import BatchHeader, Record, decode_records, iter_headers
from oncelog.records.control import ControlType
from oncelog.types import IsolationLevel

FETCH = Api(ApiKey.FETCH, 4, 12)
"""Versions that identify topics by name; later ones need topic ids."""
MAX_BYTES = 4 * 1024 * 1024


class RecordOutcome(Enum):
    """The outcome of a record's transaction, or the kind of a control record; the values are the words that users
    see."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"
    ENDED = "ended"
    """The batch's transaction has ended, but its marker lies beyond the look-ahead."""
    NOT_TRANSACTIONAL = "not transactional"
    COMMIT_MARKER = "commit marker"
    ABORT_MARKER = "abort marker"
    CONTROL = "control"
    """A control record that is not a transaction marker."""


class StoredBatch(NamedTuple):
    """A batch with its decoded records; ``control`` is None for data."""

    header: BatchHeader
    records: tuple[Record, ...]
    control: ControlType | None


class DecidedBatch(NamedTuple):
    """A batch and the outcome of its records."""

    batch: StoredBatch
    outcome: RecordOutcome


class StoredRecord(NamedTuple):
    """A record with the batch that holds it and its outcome."""

    header: BatchHeader
    record: Record
    outcome: RecordOutcome


class FetchedLog(NamedTuple):
    """The result of a fetch for one partition."""

    batches: list[StoredBatch]
    aborted: list[Aborted]
    high_watermark: int
    last_stable_offset: int


async def read(
    admin: Admin,
    name: TopicPartition,
    offset: int,
    isolation: IsolationLevel,
    *,
    max_bytes: int = MAX_BYTES,
    headers_only: bool = False,
) -> FetchedLog:
    """Whole batches of one partition, starting with the one that holds ``offset``: at least one, or none at the end.

    :param headers_only: leave out the batches' records.

    :raises KafkaError: the partition does not exist, or the offset is out of its range.
    """
    stored = await fetch_stored(admin, name, offset, isolation, max_bytes)
    return FetchedLog(
        list(_decoded(stored.records, offset, headers_only)),
        stored.aborted,
        stored.high_watermark,
        stored.last_stable_offset,
    )


class FetchedRecords(NamedTuple):
    """The unparsed result of a fetch for one partition; ``log_start_offset`` is -1 if the broker does not send it."""

    records: bytes | memoryview
    aborted: list[Aborted]
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int


async def fetch_stored(
    admin: Admin,
    name: TopicPartition,
    offset: int,
    isolation: IsolationLevel,
    max_bytes: int = MAX_BYTES,
    *,
    wait_ms: int = 0,
    channel: int = 0,
) -> FetchedRecords:
    """Batches of one partition as stored and compressed, starting with the one that holds ``offset``.

    :param wait_ms: how long the broker may wait for records, if there are none.
    :param channel: which of the connections to the leader to use: while the broker waits, no other request is answered
        there.
    :raises KafkaError: the partition does not exist, or the offset is out of its range.
    """
    cluster = admin.cluster
    wanted = FetchPartition(partition=name.partition, fetch_offset=offset, partition_max_bytes=max_bytes)
    request = FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        isolation_level=isolation,
        session_epoch=-1,
        topics=[FetchTopic(topic=name.topic, partitions=[wanted])],
    )

    async def ask(node: int) -> FetchedRecords:
        answer = await cluster.ask(node, FETCH, request, channel=channel)
        check(answer.error_code, f"{name} cannot be read")
        if not answer.responses:  # a quota applies: the broker delays the next request
            raise KafkaError(Error.THROTTLING_QUOTA_EXCEEDED, f"a quota of the cluster delays reading {name}")
        item = answer.responses[0].partitions[0]
        check(item.error_code, f"{name} cannot be read from offset {offset} on")
        aborted = [(entry.first_offset, entry.producer_id) for entry in item.aborted_transactions or ()]
        return FetchedRecords(
            item.records or b"", aborted, item.high_watermark, item.last_stable_offset, item.log_start_offset
        )

    return await cluster.at_leader(f"reading {name}", name, ask)


async def stored_batches(admin: Admin, name: TopicPartition, start: int, end: int) -> AsyncIterator[StoredBatch]:
    """Every batch from ``start`` up to ``end``, exclusive, whatever its outcome."""
    position = start
    while position < end:
        batches = (await read(admin, name, position, IsolationLevel.READ_UNCOMMITTED)).batches
        if not batches:
            return
        position = batches[-1].header.next_offset
        for batch in batches:
            yield batch


def _decoded(data: bytes | memoryview, offset: int, headers_only: bool) -> Iterator[StoredBatch]:
    """The batches from the one that holds ``offset`` on, without the records of the first batch that are before
    ``offset``.
    """
    for position, header in iter_headers(data):
        if header.last_offset < offset:
            continue
        decoded = () if headers_only else decode_records(data, position)
        records = tuple(record for record in decoded if record.offset >= offset)
        yield StoredBatch(header, records, control_type_of(data, position) if header.is_control else None)


class OutcomeReader:
    """Reads through one partition from ``position`` on; :meth:`step` never waits for new records.

    :param step_bytes: how much one step reads, at least one batch.
    :param look_ahead_bytes: how far beyond a step to read for the markers of its records; None reads to the end. If
        that is not far enough, a record whose transaction is over is ``ENDED``.
    :param headers_only: leave the batches' records out, without decoding them.
    """

    def __init__(
        self,
        admin: Admin,
        name: TopicPartition,
        position: int,
        *,
        step_bytes: int = MAX_BYTES,
        look_ahead_bytes: int | None = None,
        headers_only: bool = False,
    ) -> None:
        self.name = name
        self.position = position
        self.high_watermark = -1
        self.last_stable_offset = -1
        self._admin = admin
        self._step_bytes = step_bytes
        self._look_ahead_bytes = look_ahead_bytes
        self._headers_only = headers_only

    async def step(self) -> list[StoredRecord]:
        """The next records with their outcomes; empty at the end of the partition."""
        return [
            StoredRecord(batch.header, record, outcome)
            for batch, outcome in await self.step_batches()
            for record in batch.records
        ]

    async def step_batches(self) -> list[DecidedBatch]:
        """The next batches with their outcomes; empty at the end of the partition."""
        stable = await self._read(IsolationLevel.READ_COMMITTED)
        self.high_watermark, self.last_stable_offset = stable.high_watermark, stable.last_stable_offset
        if self.position < stable.last_stable_offset:
            self._move_past(stable.batches, stable.last_stable_offset)
            return list(decided_outcomes(stable.batches, stable.aborted))
        tail: list[StoredBatch] = []
        while self.position < stable.high_watermark:
            more = await self._read(IsolationLevel.READ_UNCOMMITTED)
            self._move_past(more.batches, stable.high_watermark)
            tail += more.batches
            if self._look_ahead_bytes is not None:
                break
        if self._look_ahead_bytes is None or self.position >= stable.high_watermark:
            return list(outcomes_by_markers(tail))
        later = await self._outcomes_after(tail, stable.high_watermark)
        return list(outcomes_by_markers(tail, later))

    async def _read(self, isolation: IsolationLevel) -> FetchedLog:
        return await read(
            self._admin,
            self.name,
            self.position,
            isolation,
            max_bytes=self._step_bytes,
            headers_only=self._headers_only,
        )

    async def _outcomes_after(self, tail: Sequence[StoredBatch], end: int) -> dict[int, RecordOutcome]:
        """How the transactions that no marker in ``tail`` ends have ended later, by producer id; reads at most
        ``look_ahead_bytes`` further."""
        wanted = _unended(tail)
        found: dict[int, RecordOutcome] = {}
        position, left = self.position, self._look_ahead_bytes or 0
        while wanted.keys() - found.keys() and position < end and left > 0:
            stored = await fetch_stored(self._admin, self.name, position, IsolationLevel.READ_UNCOMMITTED)
            left -= len(stored.records)
            before = position
            for at, header in iter_headers(stored.records):
                position = header.next_offset
                control = control_type_of(stored.records, at) if header.is_control else None
                if control in _OUTCOMES:
                    found.setdefault(header.producer_id, _OUTCOMES[control])
            if position == before:
                return found
        if position < end and wanted.keys() - found.keys():
            # Requested after the records were read: if a producer's open transaction began at or before its record, the
            # record belongs to that transaction.
            states = (await self._admin.describe_producers([self.name]))[self.name]
            starts = {state.producer_id: state.transaction_start_offset for state in states}
            for producer_id, last in wanted.items():
                open_from = starts.get(producer_id, -1)
                found.setdefault(producer_id, RecordOutcome.OPEN if 0 <= open_from <= last else RecordOutcome.ENDED)
        return found

    def _move_past(self, batches: list[StoredBatch], end: int) -> None:
        """Continue after these batches, or at ``end`` if compaction has left no batch before it."""
        self.position = batches[-1].header.next_offset if batches else end


def _unended(batches: Sequence[StoredBatch]) -> dict[int, int]:
    """Producers with records of a transaction that no marker in ``batches`` ends, and the offset of their last such
    record."""
    found: dict[int, int] = {}
    for header, _, control in batches:
        if control in _OUTCOMES:
            found.pop(header.producer_id, None)
        elif header.is_transactional and control is None:
            found[header.producer_id] = header.last_offset
    return found


def decided_outcomes(batches: list[StoredBatch], aborted: list[Aborted]) -> Iterator[DecidedBatch]:
    """The outcomes of batches below the last stable offset, where every transaction has ended; ``aborted`` is the
    broker's list of aborted transactions."""
    transactions = AbortedFilter(aborted)
    for batch in batches:
        header, _, control = batch
        kept = transactions.keeps(header, control)
        if control is not None:
            outcome = _MARKERS.get(control, RecordOutcome.CONTROL)
        elif not header.is_transactional:
            outcome = RecordOutcome.NOT_TRANSACTIONAL
        else:
            outcome = RecordOutcome.COMMITTED if kept else RecordOutcome.ABORTED
        yield DecidedBatch(batch, outcome)


def outcomes_by_markers(
    batches: list[StoredBatch], later: Mapping[int, RecordOutcome] | None = None
) -> Iterator[DecidedBatch]:
    """The outcomes of batches above the last stable offset, up to the high watermark: the next marker of the same
    producer decides.

    :param later: outcomes, by producer id, of transactions that no marker in ``batches`` ends; a transaction that is
        missing here is open.
    """
    outcomes: list[RecordOutcome] = []
    ended = dict(later or {})
    for header, _, control in reversed(batches):
        if control is not None:
            outcomes.append(_MARKERS.get(control, RecordOutcome.CONTROL))
            if control in _OUTCOMES:
                ended[header.producer_id] = _OUTCOMES[control]
        elif header.is_transactional:
            outcomes.append(ended.get(header.producer_id, RecordOutcome.OPEN))
        else:
            outcomes.append(RecordOutcome.NOT_TRANSACTIONAL)
    return (DecidedBatch(batch, outcome) for batch, outcome in zip(batches, reversed(outcomes), strict=True))


_MARKERS = {ControlType.COMMIT: RecordOutcome.COMMIT_MARKER, ControlType.ABORT: RecordOutcome.ABORT_MARKER}
_OUTCOMES = {ControlType.COMMIT: RecordOutcome.COMMITTED, ControlType.ABORT: RecordOutcome.ABORTED}


class Producers:
    """Looks up the transactional ids of producer ids, each when its producer first appears.

    Coordinators forget old transactional ids, and old brokers report none.
    """

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._names: dict[int, str | None] = {}

    async def name(self, header: BatchHeader) -> str | None:
        """The transactional id that wrote a batch; None if it is not transactional or no longer known."""
        return (await self.names([header]))[header.producer_id] if header.is_transactional else None

    async def names(self, headers: Iterable[BatchHeader]) -> dict[int, str | None]:
        """The transactional ids of the transactional batches among ``headers``, by producer id; one request at most."""
        return await self.by_id(header.producer_id for header in headers if header.is_transactional)

    async def by_id(self, producer_ids: Iterable[int]) -> dict[int, str | None]:
        """The transactional id of each producer id; None if it has none or is no longer known."""
        wanted = sorted(set(producer_ids))
        unknown = [producer_id for producer_id in wanted if producer_id not in self._names]
        if unknown:
            try:
                listed = await self._admin.list_transactions(producer_ids=unknown)
            except UnsupportedVersionError:  # coordinators before Apache Kafka 3.0 do not support ListTransactions
                listed = []
            found = {item.producer_id: item.transactional_id for item in listed}
            self._names.update((producer_id, found.get(producer_id)) for producer_id in unknown)
        return {producer_id: self._names[producer_id] for producer_id in wanted}
