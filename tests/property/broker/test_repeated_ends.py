"""Ends of transactions that repeat an earlier one have the same effect as on the general path: two brokers get both."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from oncelog.config import BrokerConfig, parse
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.records.batch import decode_records, encode_batch
from oncelog.records.record import Record
from oncelog.types import TopicPartition
from tests.property.broker.sides import same_on_both
from tests.support.frames import encode_request
from tests.unit.broker.apis_admin.conftest import NOW_MS, Admin, RecordingChannel

STATE = TopicPartition("__transaction_state", 0)
DATA = TopicPartition("t", 0)
SETTINGS = {"transaction.state.log.num.partitions": "1"}
IDS = ("first", "second")
LAST_CLIENT_EPOCH = 32766


class End(NamedTuple):
    """The end of a transaction; ``behind`` epochs old, and with another producer id if it is a ``stranger``'s."""

    name: str = "first"
    commit: bool = True
    version: int = 5
    behind: int = 0
    stranger: bool = False
    of_open: bool = True


def end_of(**fields: Any) -> End:
    """Separate, so that Hypothesis keeps the defaults."""
    return End(**fields)


USUAL = st.builds(end_of, commit=st.sampled_from([True] * 5 + [False]))
ODD = st.builds(
    end_of,
    name=st.sampled_from([*IDS, "unknown", ""]),
    commit=st.booleans(),
    version=st.sampled_from([3, 4, 5]),
    behind=st.sampled_from([0, 0, 1, 2, -1]),
    stranger=st.booleans(),
    of_open=st.booleans(),
)
CHANGES = st.sampled_from(["new producer", "restart of settings", "topic deleted", "feature down"])
STEPS = st.lists(st.one_of(USUAL, USUAL, USUAL, ODD, CHANGES), min_size=5, max_size=25)


class Side:
    """A broker and one connection to it that ends transactions; ``repeats`` counts the ends that took the short
    path.
    """

    def __init__(self, *, may_repeat: bool, policy: str = "none") -> None:
        self.admin = Admin(**SETTINGS, **{"oncelog.flush.policy": policy})
        self.broker = self.admin.broker
        self.channel = RecordingChannel()
        self.may_repeat = may_repeat
        self.repeats = self.asked = 0
        self.broker.topics.ensure_internal(STATE.topic, NOW_MS)
        self.broker.slices.finish()
        self.broker.topics.create("t", 1, {}, NOW_MS)
        for name in IDS:
            self.new_producer(name)

    def new_producer(self, name: str) -> None:
        for _ in range(2):  # the first one may have aborted a transaction
            request = InitProducerIdRequest(name, 60_000)
            frame = encode_request(request.API_KEY, 4, 1, "c", request.encode(4))
            self.broker.receive(RecordingChannel(), 0, memoryview(frame)[4:], NOW_MS)
            self.sync()

    def sync(self) -> None:
        """What waits for the disk, if anything does."""
        while self.broker.flushing.wanted and (job := self.broker.flushing.take(NOW_MS)) is not None:
            self.broker.flushing.done(job, job.sync(), NOW_MS)

    def stamp(self, name: str) -> tuple[int, int]:
        """The start of the id's next transaction, as its client knows it."""
        found = self.broker.transactions.describe(name)
        return found.stamp

    def begin(self, name: str) -> None:
        producer_id, epoch = self.stamp(name)
        batch = encode_batch(
            [Record(0, NOW_MS, b"k", b"v")],
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=0,
            transactional=True,
        )
        data = TopicProduceData("t", partition_data=[PartitionProduceData(0, batch)])
        request = ProduceRequest(name, -1, 30_000, [data])
        frame = encode_request(0, 12, 1, "c", request.encode(12))
        self.broker.receive(RecordingChannel(), 0, memoryview(frame)[4:], NOW_MS)
        self.sync()

    def end(self, end: End) -> None:
        self.asked += 1
        producer_id, epoch = self.stamp(end.name)
        if end.of_open and end.name in IDS:
            self.begin(end.name)
        request = EndTxnRequest(end.name, producer_id + end.stranger, epoch - end.behind, end.commit)
        frame = encode_request(26, end.version, self.asked, "c", request.encode(end.version))
        if self.may_repeat:
            buffer = bytearray(b"..." + frame + b"more")
            after = self.broker.receive_run(self.channel, self.asked, buffer, 3, len(buffer) - 4, NOW_MS)
            if after == len(buffer) - 4:
                self.repeats += 1
                return
            assert after == 3
        self.broker.receive(self.channel, self.asked, memoryview(frame)[4:], NOW_MS)
        self.sync()
        self.broker.advance(NOW_MS + 1_000)  # who waits for markers gives up

    def step(self, step: End | str) -> None:
        match step:
            case End():
                self.end(step)
            case "new producer":
                self.new_producer("first")
            case "topic deleted":
                self.broker.topics.delete("t", NOW_MS)
                self.broker.topics.create("t", 1, {}, NOW_MS)
            case "feature down":
                self.broker.metadata.finalize_features({"group.version": 1, "transaction.version": 1})
            case _:
                self.broker.reconfigure(parse(BrokerConfig, {**SETTINGS, "oncelog.flush.policy": "none"}))

    def seen(self) -> object:
        """What the connection was answered, what the logs hold, and what is known of the ids."""
        logs = []
        for topic_partition in (STATE, DATA):
            partition = self.broker.partition(topic_partition)
            assert partition is not None
            logs.append([(h, decode_records(batch)) for h, batch in partition.log.batches(0)])
        known = [self.broker.transactions.describe(name) for name in IDS]
        return self.channel.answers, self.channel.closed, logs, known


@settings(max_examples=60, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(STEPS)
def test_a_repeated_end_does_what_any_other_does(steps: list[End | str]) -> None:
    same_on_both(Side, steps)


def test_from_the_second_on_ends_take_the_short_way() -> None:
    assert same_on_both(Side, [End()] * 5) == 4
    assert same_on_both(Side, [End(commit=False)] * 5) == 4


def test_settings_that_change_end_the_short_way() -> None:
    assert same_on_both(Side, [End(), End(), End(), "restart of settings", End(), End()]) == 3


@pytest.mark.parametrize("odd", [End(behind=1), End(behind=-1), End(stranger=True)])
def test_a_zombie_or_a_stranger_takes_the_general_way(odd: End) -> None:
    assert same_on_both(Side, [End(), End(), odd, End()]) == 2


def test_the_end_of_nothing_and_older_versions_take_the_general_way() -> None:
    assert same_on_both(Side, [End(), End(of_open=False), End(of_open=False, commit=False)]) == 0
    assert same_on_both(Side, [End(version=4, behind=0)] * 3) == 0


def test_an_end_that_waits_for_a_sync_takes_the_general_way() -> None:
    side = Side(may_repeat=True, policy="commit")
    for _ in range(3):
        side.end(End())
    assert len(side.channel.answers) == 3
    assert side.repeats == 0


def test_used_up_epochs_give_a_new_producer_id_in_the_short_way_too() -> None:
    sides = [Side(may_repeat=False), Side(may_repeat=True)]
    for side in sides:
        side.end(End())
        shard = side.broker.transactions.runtime.shard(0)
        assert shard is not None
        entry = shard.entry("first")
        assert entry is not None
        entry.txn = entry.txn._replace(producer_epoch=LAST_CLIENT_EPOCH - 1)
        for _ in range(4):
            side.end(End())
    assert sides[1].seen() == sides[0].seen()
    assert sides[1].repeats == 4


def test_a_disk_that_fails_is_told_as_any_other_end_is_told_it() -> None:
    sides = [Side(may_repeat=False), Side(may_repeat=True)]
    for side in sides:
        side.end(End())
        side.begin("first")
        partition = side.broker.partition(STATE)
        assert partition is not None
        partition.flush_failed("the disk is full")
        side.end(End(of_open=False))
    assert sides[1].channel.answers == sides[0].channel.answers
    assert sides[1].repeats == 0
