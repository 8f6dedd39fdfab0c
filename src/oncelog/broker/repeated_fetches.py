"""Fetches that differ from an earlier one of their connection in offset and correlation id alone.

Called by :class:`~oncelog.broker.broker.Broker` for requests that lie whole in a connection's buffer. What is
remembered of a fetch that went the general way (``apis/fetch.py``) are its bytes, the partition that it reads, and the
answer with its gaps. Only a fetch without a session, of one partition, in a flexible version is remembered, and only an
answer that has records and is enough is given here; all else (errors, waiting, an offset out of range, another leader)
is left to the general way, which sees the request from its first byte. A property test holds both together. What is
remembered is forgotten where anything changes that it was learned from (``Broker.forget_routes``).
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

from oncelog.broker.context import Channel, Part, RequestContext
from oncelog.broker.partition import Partition
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.framing import encode_response_header
from oncelog.protocol.generated.fetch_request import FetchRequest
from oncelog.protocol.generated.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from oncelog.protocol.repeated import CORRELATION_AT, RequestPattern
from oncelog.protocol.wire import uvarint
from oncelog.types import IsolationLevel, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

FIRST_FLEXIBLE: Final = 12
FIRST_WITH_TOPIC_IDS: Final = 13
NO_SESSION: Final = (0, -1)
LEARNED_IN_VAIN: Final = 8
"""A connection none of whose fetches was like an earlier one for so long is not looked at any more."""
_INT32: Final = Struct(">i")
_INT64: Final = Struct(">q")
_MARK: Final = -0x5A5A_0001_7E57_0002
_OFFSETS: Final = Struct(">qqq")
_MARKS: Final = (-0x5A5A_0001_7E57_0003, -0x5A5A_0001_7E57_0004, -0x5A5A_0001_7E57_0005)
_ABORTED: Final = Struct(">qqx")
_NOT_ASKED: Final = b"\0"
_ENDS: Final = b"\0\0\0"
"""Tags of the partition, its topic and the answer."""


class Repeated:
    """A fetch, and its answer up to the offsets; ``hits``: how often the like came again."""

    __slots__ = (
        "bound",
        "head",
        "hits",
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
        self.hits = 0
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
        self.head = answer[:gap]
        self.tail = answer[gap + _OFFSETS.size + len(_NOT_ASKED) : -len(_ENDS) - 1]  # without the length of no records


class RepeatedFetches:
    """What is remembered of all connections of one broker."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._known: dict[Channel, Repeated] = {}
        self._in_vain: dict[Channel, int] = {}

    def forget(self, channel: Channel | None = None) -> None:
        """Fetches must be learned anew: that of ``channel``, or all."""
        if channel is None:
            self._known.clear()
            self._in_vain.clear()
        else:
            self._known.pop(channel, None)
            self._in_vain.pop(channel, None)

    def learn(self, context: RequestContext, request: FetchRequest, frame: memoryview, body: int) -> None:
        """Remember a fetch that was just answered with records, if the next one may be like it."""
        version, channel = context.api_version, context.channel
        if version < FIRST_FLEXIBLE or (request.session_id, request.session_epoch) != NO_SESSION:
            return
        if len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
            return
        asked = request.topics[0].partitions[0]
        known = self._known.get(channel)
        in_vain = self._in_vain.get(channel, 0) if known is None or not known.hits else 0
        if asked.last_fetched_epoch >= 0 or in_vain >= LEARNED_IN_VAIN:
            return
        self._in_vain[channel] = in_vain + 1
        offset, asked.fetch_offset = asked.fetch_offset, _MARK
        marked = request.encode(version)
        asked.fetch_offset = offset
        pattern = RequestPattern.of(frame, body, marked, _INT64.pack(_MARK))
        if pattern is None:
            return
        info = (
            self._broker.metadata.topic_by_id(request.topics[0].topic_id) if version >= FIRST_WITH_TOPIC_IDS else None
        )
        name = info.name if info is not None else request.topics[0].topic
        partition = self._broker.partition(TopicPartition(name, asked.partition))
        if partition is not None:
            self._known[channel] = Repeated(pattern, version, request, partition)

    def receive(self, channel: Channel, slot: int, buffer: bytearray, start: int, end: int) -> int:
        """Answer the request at ``buffer[start:end]``; where it ends, ``start`` where the general way has to."""
        known = self._known.get(channel)
        if known is None:
            return start
        after = known.pattern.end(buffer, start, end)
        if after == start:
            return start
        requests = self._broker.requests
        begun_ns = requests.clock() if requests is not None else 0
        (correlation_id,) = _INT32.unpack_from(buffer, start + CORRELATION_AT)
        parts = self._answer(known, correlation_id, _INT64.unpack_from(buffer, start + known.pattern.gap_at)[0])
        if parts is None:
            return start
        known.hits += 1
        if requests is not None:
            local_ns = requests.clock() - begun_ns
            requests.handled(ApiKey.FETCH, known.version, local_ns)
            requests.answered(ApiKey.FETCH, local_ns, local_ns, None)
        channel.reply(slot, parts)
        return after

    def _answer(self, known: Repeated, correlation_id: int, offset: int) -> list[Part] | None:
        partition = known.partition
        log = partition.log
        upper = partition.readable_to(known.bound)
        if log.failed is not None or known.leader_epoch not in (-1, partition.leader_epoch):
            return None
        if not log.log_start_offset <= offset < upper:
            return None
        limit = min(known.limit, self._broker.config.fetch_max_bytes)
        read = log.read(offset, limit, upper, at_least_one_batch=True)
        if isinstance(read, Error) or not read.size_bytes or read.size_bytes < known.min_bytes:
            return None
        partition.reads += 1
        partition.bytes_out += read.size_bytes
        aborted = _NOT_ASKED
        if known.bound is IsolationLevel.READ_COMMITTED:
            entries = log.aborted_transactions(offset, read.upper_bound_offset)
            aborted = uvarint(len(entries) + 1) + b"".join([_ABORTED.pack(*entry) for entry in entries])
        middle = b"".join(
            (
                known.head,
                _OFFSETS.pack(log.high_watermark, log.last_stable_offset, log.log_start_offset),
                aborted,
                known.tail,
                uvarint(read.size_bytes + 1),
            )
        )
        size_bytes = len(middle) + read.size_bytes + len(_ENDS)
        header = encode_response_header(ApiKey.FETCH, known.version, correlation_id, size_bytes)
        return [header + middle, *read.slices, _ENDS]
