"""Fetches that repeat an earlier one are answered as on the general path: two brokers get the same ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.broker.core.fetching.repeated_fetches import READ_HERE_BYTES
from oncelog.broker.core.requests.session import Part
from oncelog.broker.core.storage.partition import Partition
from oncelog.broker.log.results import FileSlice
from oncelog.broker.server.disk.memory_disk import MemoryFile
from oncelog.errors import Error
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic
from oncelog.protocol.generated.fetch_response import FetchResponse
from oncelog.records.batch import Record, encode_batch
from oncelog.types import ProducerIdAndEpoch, TopicPartition
from tests.support.frames import encode_request, receive_as_run
from tests.unit.broker.core.conftest import NOW_MS, Admin, RecordingChannel

PRODUCER_ID = 7


class Append(NamedTuple):
    """A batch, in a transaction or not; ``end`` (commit or abort) ends the transaction instead."""

    count: int  # type: ignore[assignment] # a tuple has a method of that name
    transactional: bool
    end: bool | None
    size: int = 30


class Asked(NamedTuple):
    offset: int
    isolation: int = 0
    version: int = 12
    min_bytes: int = 1
    max_bytes: int = 400
    partition: int = 0
    leader_epoch: int = -1
    session_epoch: int = -1


APPENDS = st.builds(
    Append,
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from([None, None, None, True, False]),
    st.sampled_from([30, 30, READ_HERE_BYTES]),
)
OFFSETS = st.integers(-1, 14)
USUAL = st.builds(lambda offset, isolation: Asked(offset, isolation), OFFSETS, st.sampled_from([0, 1]))
ODD = st.builds(
    Asked,
    OFFSETS,
    isolation=st.sampled_from([0, 1]),
    version=st.sampled_from([4, 7, 11, 12, 13, 16, 17]),
    min_bytes=st.sampled_from([0, 1, 150, 10_000]),
    max_bytes=st.sampled_from([0, 100, 400]),
    partition=st.sampled_from([0, 0, 1, 2]),
    leader_epoch=st.sampled_from([-2, -1, 0, 1]),
    session_epoch=st.sampled_from([-1, -1, 0]),
)
STEPS = st.lists(st.one_of(APPENDS, USUAL, USUAL, USUAL, ODD, st.just("new topic")), max_size=30)


class Reader(RecordingChannel):
    """Reads the ranges of files that it is sent."""

    def reply(self, slot: int, parts: Sequence[Part]) -> None:
        read = [part.read_bytes() if isinstance(part, FileSlice) else part for part in parts]
        super().reply(slot, read)


class Side:
    """A broker and one connection to it that reads; ``repeats`` counts the fetches that left the general path."""

    def __init__(self, *, may_repeat: bool) -> None:
        self.broker = Admin(**{"transaction.partition.verification.enable": "false"}).broker
        self.channel = Reader()
        self.may_repeat = may_repeat
        self.repeats = self.asked = self.sequence = self.epoch = 0
        self.new_topic()

    def new_topic(self) -> None:
        if self.broker.metadata.topic("t") is not None:
            self.broker.topics.delete("t", NOW_MS)
        self.topic_id = self.broker.topics.create("t", 2, {}, NOW_MS).topic_id
        self.sequence = 0

    def partition(self) -> Partition:
        partition = self.broker.partition(TopicPartition("t", 0))
        assert partition is not None
        return partition

    def append(self, step: Append) -> None:
        if step.end is not None:
            identity = ProducerIdAndEpoch(PRODUCER_ID, 0)
            settings = {"coordinator_epoch": 0, "transaction_version": 0, "now_ms": NOW_MS}
            assert not self.partition().append_marker(identity, commit=step.end, **settings).error  # type: ignore[arg-type]
            return
        records = [Record(offset, NOW_MS, None, b"v" * step.size) for offset in range(step.count)]
        producer = {"producer_id": PRODUCER_ID, "producer_epoch": 0, "base_sequence": self.sequence}
        if step.transactional:
            self.sequence += step.count
        batch = encode_batch(records, transactional=step.transactional, **producer if step.transactional else {})
        assert not self.partition().append_client(batch, NOW_MS).error

    def ask(self, asked: Asked) -> None:
        self.asked += 1
        part = FetchPartition(
            partition=asked.partition,
            current_leader_epoch=asked.leader_epoch if asked.version >= 9 else -1,
            fetch_offset=asked.offset,
            partition_max_bytes=asked.max_bytes,
        )
        topic = FetchTopic(partitions=[part])
        if asked.version >= 13:
            topic.topic_id = self.topic_id
        else:
            topic.topic = "t"
        request = FetchRequest(
            max_wait_ms=0 if asked.min_bytes == 150 else 500,
            min_bytes=asked.min_bytes,
            max_bytes=1000,
            isolation_level=asked.isolation,
            session_id=0,
            session_epoch=asked.session_epoch if asked.version >= 7 else -1,
            topics=[topic],
        )
        frame = encode_request(1, asked.version, self.asked, "reader", request.encode(asked.version))
        if self.may_repeat and receive_as_run(self.broker, self.channel, self.asked, frame, NOW_MS):
            self.repeats += 1
        else:
            self.broker.receive(self.channel, self.asked, memoryview(frame)[4:], NOW_MS)

    def step(self, step: Append | Asked | str) -> None:
        match step:
            case Append():
                self.append(step)
            case Asked():
                self.ask(step)
            case _:
                self.new_topic()


@settings(max_examples=200, deadline=None)
@given(STEPS)
def test_a_repeated_fetch_is_answered_as_any_other(steps: list[Append | Asked | str]) -> None:
    sides = [Side(may_repeat=False), Side(may_repeat=True)]
    for side in sides:
        for step in steps:
            side.step(step)
        side.broker.advance(NOW_MS + 1_000)
    assert sides[1].channel.answers == sides[0].channel.answers
    assert sides[1].channel.closed is sides[0].channel.closed is None


def test_a_leader_epoch_that_is_not_known_is_refused_in_every_version() -> None:
    for version in range(9, 18):
        side = Side(may_repeat=False)
        side.append(Append(1, False, None))
        side.ask(Asked(0, version=version, leader_epoch=1))
        assert side.channel.closed is None
        answer = FetchResponse.decode(side.channel.answers[0], version, 9 if version >= 12 else 8)
        assert answer.responses[0].partitions[0].error_code == Error.UNKNOWN_LEADER_EPOCH


def test_from_the_second_on_fetches_of_a_reader_take_the_short_way() -> None:
    for isolation in (0, 1):
        for version in (12, 13, 16):
            side = Side(may_repeat=True)
            for _ in range(5):
                side.append(Append(1, False, None))
            for offset in range(5):
                side.ask(Asked(offset, isolation, version, max_bytes=100))
            assert side.repeats == 4


def test_many_readers_of_one_tail_cost_one_read_of_the_file() -> None:
    side = Side(may_repeat=True)
    readers = [Reader() for _ in range(10)]

    def each_asks(offset: int) -> None:
        for side.channel in readers:
            side.ask(Asked(offset))

    side.append(Append(1, False, None))
    each_asks(0)  # which learns them
    for offset in range(1, 4):
        side.append(Append(1, False, None))
        with mock.patch.object(MemoryFile, "read_at", autospec=True, side_effect=MemoryFile.read_at) as read_at:
            each_asks(offset)
        assert read_at.call_count == 1
    assert side.repeats == 30
    assert len({tuple(answer[8:] for answer in reader.answers) for reader in readers}) == 1


def test_a_topic_that_is_made_again_is_read_again() -> None:
    """The new topic has a record of the same size at the same place."""
    side = Side(may_repeat=True)
    for value in (b"old", b"new"):
        batch = encode_batch([Record(0, NOW_MS, None, value)])
        assert not side.partition().append_client(batch, NOW_MS).error
        for _ in range(3):
            side.ask(Asked(0))
        assert all(value in answer for answer in side.channel.answers[-3:])
        side.new_topic()
