"""Fetches that differ from an earlier one of their connection only in offset and correlation id.

Only fetches without a session, of one partition, in a flexible version are learned (``apis/fetch.py`` is the general
path), and only an answer with records, and enough of them, is given here: waiting and every error (an offset out of
range, another leader) take the general path. A property test compares both paths.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, Protocol

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.repeated_requests import MeasurePorts, RepeatedRequests
from oncelog.broker.core.requests.session import Channel, Part
from oncelog.broker.core.storage.partition import Partition
from oncelog.broker.log.results import LogRead
from oncelog.broker.log.segments.transaction_index import AbortedTxn
from oncelog.errors import CorruptLogError, Error, StorageError
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.framing import encode_response_header
from oncelog.protocol.generated.fetch_request import FetchRequest
from oncelog.protocol.generated.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from oncelog.protocol.repeated import CORRELATION_AT, RequestPattern
from oncelog.protocol.wire import uvarint
from oncelog.types import IsolationLevel, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.metadata.store import MetadataStore
    from oncelog.settings.config import BrokerConfig

FIRST_FLEXIBLE: Final = 12
FIRST_WITH_TOPIC_IDS: Final = 13
NO_SESSION: Final = (0, -1)
_INT32: Final = Struct(">i")
_INT64: Final = Struct(">q")
_CORRELATION_BYTES: Final = 4
_MARK: Final = -0x5A5A_0001_7E57_0002
_OFFSETS: Final = Struct(">qqq")
_MARKS: Final = (-0x5A5A_0001_7E57_0003, -0x5A5A_0001_7E57_0004, -0x5A5A_0001_7E57_0005)
_ABORTED: Final = Struct(">qqx")
_NOT_ASKED: Final = b"\0"
_NONE_ABORTED: Final = uvarint(1)
_ENDS: Final = b"\0\0\0"
"""Tags of the partition, its topic and the answer."""
READ_HERE_BYTES: Final = 2048
"""Up to this many bytes of records are read once for all fetches of the same range: many consumers at one tail."""
KEPT: Final = 256
"""For how many partitions such records are kept."""


class _FetchPattern:
    """The pattern of a fetch: its bytes, and its answer around the parts that differ."""

    __slots__ = (
        "bound",
        "given_bytes",
        "head",
        "leader_epoch",
        "limit",
        "min_bytes",
        "partition",
        "pattern",
        "tail",
        "version",
    )

    def __init__(self, pattern: RequestPattern, version: int, request: FetchRequest, partition: Partition) -> None:
        topic = request.topics[0]
        asked = topic.partitions[0]
        self.pattern = pattern
        self.version = version
        self.partition = partition
        self.min_bytes = request.min_bytes
        self.limit = min(request.max_bytes, asked.partition_max_bytes)
        self.leader_epoch = max(asked.current_leader_epoch, -1)
        self.bound = IsolationLevel(request.isolation_level)
        high_watermark, last_stable_offset, log_start_offset = _MARKS
        data = PartitionData(
            partition_index=asked.partition,
            error_code=Error.NONE,
            high_watermark=high_watermark,
            last_stable_offset=last_stable_offset,
            log_start_offset=log_start_offset,
            aborted_transactions=None,
            preferred_read_replica=-1,
            records=b"",
        )
        answer = FetchResponse(responses=[FetchableTopicResponse(topic.topic, topic.topic_id, [data])]).encode(version)
        gap = answer.rindex(_OFFSETS.pack(*_MARKS))
        self.head = encode_response_header(ApiKey.FETCH, version, 0, 0)[8:] + answer[:gap]  # after the correlation id
        self.tail = answer[gap + _OFFSETS.size + len(_NOT_ASKED) : -len(_ENDS) - 1]  # without the length of no records
        self.given_bytes = _CORRELATION_BYTES + len(self.head) + _OFFSETS.size + len(self.tail) + len(_ENDS)
        """Bytes of each answer besides the records, after its size."""


class RepeatedFetchPorts(MeasurePorts, Protocol):
    """What a repeated fetch needs from the broker."""

    config: BrokerConfig
    metadata: MetadataStore

    def partition(self, topic_partition: TopicPartition) -> Partition | None: ...


class RepeatedFetches(RepeatedRequests[_FetchPattern]):
    _ports: RepeatedFetchPorts

    def __init__(self, ports: RepeatedFetchPorts) -> None:
        super().__init__(ports, ApiKey.FETCH)
        self._records: dict[Partition, tuple[LogRead, bytes]] = {}
        """What was last read of a partition; valid as long as its log returns the same object."""

    def forget(self, channel: Channel | None = None) -> None:
        super().forget(channel)
        if channel is None:
            self._records.clear()

    def learn(self, context: RequestContext, request: FetchRequest, frame: memoryview, body: int) -> None:
        """Learn the pattern of a fetch that was just answered with records, if the next one may match it."""
        version, channel = context.api_version, context.channel
        if version < FIRST_FLEXIBLE or (request.session_id, request.session_epoch) != NO_SESSION:
            return
        if len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
            return
        asked = request.topics[0].partitions[0]
        if asked.last_fetched_epoch >= 0 or not self._may_learn(channel):
            return
        offset, asked.fetch_offset = asked.fetch_offset, _MARK
        marked = request.encode(version)
        asked.fetch_offset = offset
        pattern = RequestPattern.of(frame, body, marked, _INT64.pack(_MARK))
        if pattern is None:
            return
        info = self._ports.metadata.topic_by_id(request.topics[0].topic_id) if version >= FIRST_WITH_TOPIC_IDS else None
        name = info.name if info is not None else request.topics[0].topic
        partition = self._ports.partition(TopicPartition(name, asked.partition))
        if partition is not None:
            self._known[channel] = _FetchPattern(pattern, version, request, partition)

    def _answer(self, known: _FetchPattern, buffer: bytearray, start: int, now_ms: int) -> list[Part] | None:
        (offset,) = _INT64.unpack_from(buffer, start + known.pattern.gap_at)
        partition = known.partition
        log = partition.log
        stable = log.last_stable_offset
        upper = stable if known.bound is IsolationLevel.READ_COMMITTED else log.high_watermark
        if log.failed is not None or known.leader_epoch not in (-1, partition.leader_epoch):
            return None
        if not log.log_start_offset <= offset < upper:
            return None
        limit = min(known.limit, self._ports.config.fetch_max_bytes)
        aborted = _NOT_ASKED
        try:
            read = log.read(offset, limit, upper, at_least_one_batch=True)
            if isinstance(read, Error) or not read.size_bytes or read.size_bytes < known.min_bytes:
                return None
            if known.bound is IsolationLevel.READ_COMMITTED:
                aborted = _aborted(log.aborted_entries(offset, read.upper_bound_offset))
        except (StorageError, CorruptLogError):
            return None
        partition.reads += 1
        partition.bytes_out += read.size_bytes
        length = uvarint(read.size_bytes + 1)
        before = (
            _INT32.pack(known.given_bytes + len(aborted) + len(length) + read.size_bytes),
            buffer[start + CORRELATION_AT : start + CORRELATION_AT + _CORRELATION_BYTES],
            known.head,
            _OFFSETS.pack(log.high_watermark, stable, log.log_start_offset),
            aborted,
            known.tail,
            length,
        )
        records = self._records_of(partition, read) if read.size_bytes <= READ_HERE_BYTES else None
        if records is None:
            return [b"".join(before), *read.slices, _ENDS]
        return [b"".join((*before, records, _ENDS))]

    def _records_of(self, partition: Partition, read: LogRead) -> bytes | None:
        """The records; None if the file cannot be read or is too short: that is reported when the slice is sent."""
        known = self._records.get(partition)
        if known is not None and known[0] is read:
            return known[1]
        try:
            data = b"".join([chunk.read_bytes() for chunk in read.slices])
        except StorageError:
            return None
        if len(data) < read.size_bytes:
            return None
        if len(self._records) >= KEPT:
            self._records.clear()
        self._records[partition] = read, data
        return data


def _aborted(entries: list[AbortedTxn]) -> bytes:
    if not entries:
        return _NONE_ABORTED
    return uvarint(len(entries) + 1) + b"".join([_ABORTED.pack(*entry[:2]) for entry in entries])
