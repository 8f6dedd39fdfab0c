"""Runs of produce requests decide as the general way does: the same answers, the same log, the same producer state.

Two brokers get the same requests, sound and hostile ones; one of them never sees more than one at a time. And the
compiled scanner finds what its twin finds in any bytes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple
from unittest import mock

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from oncelog.protocol.framing import decode_request_header
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.init_producer_id_response import InitProducerIdResponse
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.produce_scan import Limits, ProduceShape, scan, scan_in_python
from oncelog.records.batch import Compression, encode_batch, set_producer
from oncelog.records.native import compiled
from oncelog.records.record import Record
from oncelog.types import MAX_SEQUENCE, TopicPartition
from tests.support.frames import encode_request
from tests.unit.broker.core.conftest import NOW_MS, Admin, RecordingChannel

TOPICS: dict[str, dict[str, str]] = {
    "plain": {},
    "small": {"max.message.bytes": "300"},
    "keyed": {"cleanup.policy": "compact"},
    "dated": {"message.timestamp.type": "LogAppendTime"},
    "packed": {"compression.type": "lz4"},
}
NO_TOPIC = "nowhere"
ID = "id"
KNOWN_PID, OTHER_PID, UNKNOWN_PID = 0, 1, 7000
HOUR_MS = 3_600_000


class Sent(NamedTuple):
    """One request; ``change``: the position of a byte in its frame (from the end) and its new value."""

    topic: str = "plain"
    partition: int = 0
    version: int = 9
    acks: int = -1
    transactional_id: str | None = None
    count: int = 1  # type: ignore[assignment] # a tuple has a method of that name
    size: int = 10
    key: bytes | None = b"k"
    timestamp: int = NOW_MS
    codec: Compression = Compression.NONE
    pid: int = -1
    epoch: int = 0
    sequence: int = 0
    transactional: bool = False
    base_offset: int = 0
    change: tuple[int, int] | None = None


def sent_as(**kinds: Any) -> Sent:
    return Sent(**kinds)


def usual(**kinds: Any) -> st.SearchStrategy[Sent]:
    return st.builds(
        sent_as,
        topic=st.sampled_from(["plain"] * 6 + ["small", "keyed"]),
        partition=st.sampled_from([0, 0, 0, 1]),
        count=st.integers(1, 4),
        size=st.sampled_from([0, 10, 100]),
        **kinds,
    )


PLAIN = usual()
IN_SEQUENCE = usual(pid=st.sampled_from([KNOWN_PID, OTHER_PID]), sequence=st.just(-1))
TRANSACTIONAL = usual(
    pid=st.just(KNOWN_PID),
    sequence=st.just(-1),
    transactional=st.just(True),
    transactional_id=st.just(ID),
    version=st.just(12),
)
ODD = st.builds(
    sent_as,
    topic=st.sampled_from([*TOPICS, NO_TOPIC]),
    partition=st.integers(-1, 2),
    version=st.sampled_from([3, 4, 5, 7, 8, 9, 10, 11, 12, 13]),
    acks=st.sampled_from([-1, 1, 0, 2]),
    transactional_id=st.sampled_from([None, ID, "other"]),
    count=st.integers(1, 3),
    size=st.sampled_from([0, 120, 400]),
    key=st.sampled_from([None, b"k"]),
    timestamp=st.sampled_from([NOW_MS, -1, 0, NOW_MS + HOUR_MS - 1, NOW_MS + HOUR_MS + 1]),
    codec=st.sampled_from([Compression.NONE, Compression.NONE, Compression.LZ4]),
    pid=st.sampled_from([-1, KNOWN_PID, OTHER_PID, UNKNOWN_PID]),
    epoch=st.sampled_from([0, 0, 1, -1]),
    sequence=st.sampled_from([-1, 0, 1, 2, MAX_SEQUENCE, MAX_SEQUENCE - 1]),
    transactional=st.booleans(),
    base_offset=st.sampled_from([0, 0, 1]),
)
CHANGED = st.builds(
    lambda sent, change: sent._replace(change=change), PLAIN, st.tuples(st.integers(1, 140), st.integers(0, 255))
)
REQUESTS = st.lists(st.one_of(PLAIN, PLAIN, IN_SEQUENCE, IN_SEQUENCE, TRANSACTIONAL, ODD, CHANGED), max_size=14)


class Frames:
    """Makes frames; ``sequence=-1`` means the producer's next one in that partition if all earlier ones were
    accepted.
    """

    def __init__(self, topic_ids: dict[str, bytes]) -> None:
        self._next: dict[tuple[int, str, int], int] = {}
        self._topic_ids = topic_ids
        self._count = 0

    def batch(self, sent: Sent) -> bytearray:
        records = [Record(offset, sent.timestamp, sent.key, b"v" * sent.size) for offset in range(sent.count)]
        batch = bytearray(encode_batch(records, compression=sent.codec))
        batch[:8] = sent.base_offset.to_bytes(8, "big")  # which no CRC covers
        if sent.pid >= 0:
            place = sent.pid, sent.topic, sent.partition
            sequence = sent.sequence if sent.sequence >= 0 else self._next.get(place, 0)
            self._next[place] = (sequence + sent.count) & MAX_SEQUENCE
            set_producer(batch, sent.pid, sent.epoch, sequence, sent.transactional)
        return batch

    def frame(self, sent: Sent) -> bytes:
        self._count += 1
        data = [PartitionProduceData(sent.partition, self.batch(sent))]
        if sent.version >= 13:
            topic = TopicProduceData(topic_id=self._topic_ids.get(sent.topic, bytes(16)), partition_data=data)
        else:
            topic = TopicProduceData(name=sent.topic, partition_data=data)
        request = ProduceRequest(sent.transactional_id, sent.acks, 30_000, [topic])
        frame = bytearray(encode_request(0, sent.version, self._count, "test", request.encode(sent.version)))
        if sent.change is not None and sent.change[0] <= len(frame) - 4:
            frame[-sent.change[0]] = sent.change[1]
        return bytes(frame)


class Side:
    """A broker with the topics, and one connection to it."""

    def __init__(self, policy: str) -> None:
        self.admin = Admin(**{"oncelog.flush.policy": policy, "transaction.state.log.num.partitions": "1"})
        self.broker = self.admin.broker
        self.topic_ids = {
            name: self.broker.topics.create(name, 2, settings, NOW_MS).topic_id for name, settings in TOPICS.items()
        }
        for index in range(2):
            small = self.broker.partition(TopicPartition("small", index))
            assert small is not None
            small.log.update_config(replace(small.log.config, segment_bytes=600, index_interval_bytes=150))
        self.channel = RecordingChannel()
        self.runs = 0
        self._begin_transactions()

    def _begin_transactions(self) -> None:
        self.broker.topics.ensure_internal("__transaction_state", NOW_MS)
        self.flush()
        channel = RecordingChannel()
        request = InitProducerIdRequest(transactional_id=ID, transaction_timeout_ms=60_000)
        frame = encode_request(request.API_KEY, 4, 1, "test", request.encode(4))
        self.broker.receive(channel, 0, memoryview(frame)[4:], NOW_MS)
        self.flush()
        answer = InitProducerIdResponse.decode(channel.answers[0], 4, 9)
        assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (0, KNOWN_PID, 0)

    def one_by_one(self, frames: list[bytes]) -> None:
        for slot, frame in enumerate(frames):
            if self.channel.closed is None:
                self.broker.receive(self.channel, slot, memoryview(frame)[4:], NOW_MS)

    def together(self, frames: list[bytes]) -> None:
        buffer = bytearray(b"".join(frames))
        position, end, slot = 0, len(buffer), 0
        while position < end and self.channel.closed is None:
            after = self.broker.receive_run(self.channel, slot, buffer, position, end, NOW_MS)
            if after == position:
                after = position + 4 + int.from_bytes(buffer[position : position + 4], "big")
                self.broker.receive(self.channel, slot, memoryview(bytes(buffer[position + 4 : after])), NOW_MS)
            else:
                self.runs += 1
            position, slot = after, slot + 1

    def reconnect(self) -> None:
        """Continue with another connection."""
        self.broker.disconnected(self.channel)
        self.channel = RecordingChannel()

    def reported(self) -> object:
        """What this connection was answered."""
        return b"".join(self.channel.answers), self.channel.closed

    def flush(self) -> None:
        while (job := self.broker.flushing.take(NOW_MS)) is not None:
            self.broker.flushing.done(job, job.sync(), NOW_MS)

    def seen(self) -> object:
        logs = {}
        for topic in TOPICS:
            for index in range(2):
                partition = self.broker.partition(TopicPartition(topic, index))
                assert partition is not None
                log = partition.log
                logs[topic, index] = (
                    [(header, bytes(data)) for header, data in log.batches(0)],
                    log.active_producers(),
                    log.high_watermark,
                    log.last_stable_offset,
                    log.segments,
                    [(s.offset_index.entries(), s.time_index.entries()) for s in log.segment_list],
                )
        return logs, self.reported()


@pytest.mark.parametrize("policy", ["none", "commit"])
@settings(max_examples=150, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(REQUESTS)
def test_produce_requests_processed_together_have_the_same_outcome_as_one_by_one(
    policy: str, requests: list[Sent]
) -> None:
    alone, together = Side(policy), Side(policy)
    maker = Frames(alone.topic_ids)
    frames = [maker.frame(sent) for sent in requests]
    alone.one_by_one(frames)
    together.together(frames)
    alone.flush()
    together.flush()
    assert together.seen() == alone.seen()


def test_plain_requests_after_the_first_are_processed_as_a_run() -> None:
    side = Side("none")
    maker = Frames(side.topic_ids)
    first = [maker.frame(Sent()), maker.frame(Sent(pid=KNOWN_PID, sequence=-1))]
    more = [maker.frame(Sent(pid=KNOWN_PID, sequence=-1, partition=0)) for _ in range(9)]
    side.together(first)
    side.together(more)
    assert side.runs == 1


FRAMES = st.lists(st.one_of(PLAIN, PLAIN, IN_SEQUENCE, TRANSACTIONAL, ODD, CHANGED), min_size=1, max_size=6)


@pytest.mark.skipif(compiled is None, reason="the module is not compiled")
@settings(max_examples=400, deadline=None)
@given(
    FRAMES,
    st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), max_size=3),
    st.integers(0, 80),
    st.sampled_from([Limits(1000, False, -(2**63), 2**63 - 1, True), Limits(120, True, NOW_MS - 5, NOW_MS + 5, False)]),
)
def test_both_scanners_find_the_same_produces(
    requests: list[Sent], changes: list[tuple[int, int]], cut: int, limits: Limits
) -> None:
    maker = Frames({})
    frames = [maker.frame(sent._replace(version=requests[0].version)) for sent in requests]
    buffer = bytearray(b"".join(frames))
    sound = maker.frame(Sent(version=requests[0].version, topic=requests[0].topic))
    header, body = decode_request_header(memoryview(sound)[4:])
    shape = ProduceShape.of(memoryview(sound)[4:], body, header.api_version)
    assert shape is not None
    for position, byte in changes:
        buffer[position % len(buffer)] = byte
    end = max(len(buffer) - cut, 0)
    assert scan(buffer, 0, end, shape, limits) == scan_in_python(buffer, 0, end, shape, limits)


def test_a_duplicate_in_a_transaction_is_answered_as_on_the_general_path() -> None:
    alone, together = Side("none"), Side("none")
    maker = Frames(alone.topic_ids)

    def sent(sequence: int) -> bytes:
        return maker.frame(Sent(pid=KNOWN_PID, sequence=sequence, transactional=True, transactional_id=ID, version=12))

    reads = [[sent(0)], [sent(1)], [sent(1)], [sent(0)]]
    for frames in reads:
        alone.one_by_one(frames)
        together.together(frames)
    assert together.seen() == alone.seen()


def test_requests_are_not_cached_while_faults_are_active() -> None:
    class Nobody:
        def takes(self, *_: object) -> bool:
            return False

    side = Side("none")
    side.broker.intercept(Nobody(), mock.Mock())
    side.one_by_one([Frames(side.topic_ids).frame(Sent())])
    assert side.reported()[0]  # type: ignore[index]
    assert not side.broker.pattern_caches
