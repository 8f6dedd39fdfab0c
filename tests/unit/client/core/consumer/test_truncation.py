"""A position is checked under every new leader before records are fetched from it (KIP-320), without a network."""

from __future__ import annotations

from typing import Any

import pytest

from oncelog.client.core.client_errors import LogTruncationError
from oncelog.client.core.config import ConsumerConfig
from oncelog.client.core.connection.metadata import ClusterMetadata
from oncelog.client.core.connection.wire import FETCH, METADATA, OFFSET_FOR_LEADER_EPOCH
from oncelog.client.core.consumer.consumer_metrics import ConsumerMetrics
from oncelog.client.core.consumer.fetcher import Fetcher
from oncelog.client.core.consumer.subscription import PartitionState, Reset, Subscription
from oncelog.client.core.metrics import NetworkMetrics
from oncelog.errors import Error
from oncelog.protocol.generated.offset_for_leader_epoch_response import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from tests.unit.client.core.producers import P0, TOPIC, metadata_answer
from tests.unit.client.core.wires import FakeWire


class Reader:
    """A fetcher at offset 10 of one partition, having read a batch of leader epoch 3."""

    def __init__(self, reset: Reset = Reset.EARLIEST) -> None:
        self.wire = FakeWire()
        self.metadata = ClusterMetadata(self.wire, max_age_ms=300_000, retry_backoff_ms=100, retry_backoff_max_ms=1000)
        self.subscription = Subscription(reset)
        self.fetcher = Fetcher(
            ConsumerConfig.from_keywords(),
            self.wire,
            self.metadata,
            self.subscription,
            ConsumerMetrics(NetworkMetrics(self.wire.now_ms())),
            key_deserializer=None,
            value_deserializer=None,
            on_data=lambda: None,
            on_reset=lambda: None,
        )
        self.metadata.want([TOPIC])
        self.metadata.refresh()
        self.wire.pass_time(1)
        self.wire.take(METADATA).answer(metadata_answer(epoch=3))
        self.subscription.assign([P0])
        self.state.seek(10, 3)

    @property
    def state(self) -> PartitionState:
        return self.subscription.assigned[P0]

    def poll(self) -> None:
        self.fetcher.poll(self.wire.now_ms())

    def new_leader(self, epoch: int = 4) -> None:
        self.metadata.refresh()
        self.wire.pass_time(1000)
        self.wire.take(METADATA).answer(metadata_answer(epoch=epoch))
        self.poll()

    def answer(self, end_offset: int, epoch: int = 3, error: Error = Error.NONE) -> None:
        found = EpochEndOffset(error_code=error, partition=0, leader_epoch=epoch, end_offset=end_offset)
        response = OffsetForLeaderEpochResponse(topics=[OffsetForLeaderTopicResult(topic=TOPIC, partitions=[found])])
        self.wire.take(OFFSET_FOR_LEADER_EPOCH).answer(response)

    def asked_to_fetch(self) -> int:
        """The offset of the only Fetch in flight."""
        partition: Any = self.wire.take(FETCH).message.topics[0].partitions[0]
        return int(partition.fetch_offset)


def test_versions_that_need_cluster_permission_are_not_used() -> None:
    """At each new leader, Apache Kafka 2.1 and 2.2 would refuse a consumer that only has READ on its topics."""
    assert OFFSET_FOR_LEADER_EPOCH.lowest == 3


def test_while_the_leader_stays_the_same_no_epoch_request_is_sent() -> None:
    reader = Reader()
    reader.poll()
    assert reader.asked_to_fetch() == 10
    assert not reader.wire.count(OFFSET_FOR_LEADER_EPOCH)


def test_a_position_without_an_epoch_is_not_validated() -> None:
    reader = Reader()
    reader.state.seek(10)
    reader.new_leader()
    assert reader.asked_to_fetch() == 10


def test_a_position_that_the_new_leader_confirms_is_fetched_from_without_another_check() -> None:
    reader = Reader()
    reader.new_leader()
    assert not reader.wire.count(FETCH)
    partition: Any = reader.wire.sent[-1].message.topics[0].partitions[0]
    assert (partition.partition, partition.current_leader_epoch, partition.leader_epoch) == (0, 4, 3)
    reader.answer(10)
    assert reader.asked_to_fetch() == 10
    reader.poll()
    assert not reader.wire.count(OFFSET_FOR_LEADER_EPOCH)


@pytest.mark.parametrize(("position", "expected"), [(10, 7), (5, 5)])
def test_after_a_truncation_reading_continues_at_the_diverging_offset_or_the_earlier_position(
    position: int, expected: int
) -> None:
    reader = Reader()
    reader.state.position = position
    reader.new_leader()
    reader.answer(7, epoch=2)
    assert (reader.state.position, reader.state.fetch_position) == (expected, expected)
    assert not reader.wire.count(FETCH), "the position has a new epoch, so it is looked at once more"
    reader.answer(7, epoch=2)
    assert reader.asked_to_fetch() == expected


def test_an_unknown_epoch_leads_to_a_position_lookup() -> None:
    reader = Reader()
    reader.new_leader()
    reader.answer(-1, epoch=-1)
    assert reader.state.reset is Reset.EARLIEST
    assert not reader.wire.count(FETCH)


@pytest.mark.parametrize(("end_offset", "epoch", "reported"), [(7, 2, 7), (-1, -1, None)])
def test_without_a_reset_policy_lost_records_are_reported(end_offset: int, epoch: int, reported: int | None) -> None:
    reader = Reader(Reset.NONE)
    reader.new_leader()
    reader.answer(end_offset, epoch)
    with pytest.raises(LogTruncationError, match="read to offset 10") as lost:
        reader.fetcher.take(1)
    assert lost.value.divergent_offset == reported
    reader.poll()
    assert not reader.wire.count(FETCH)
    reader.state.paused = False
    reader.state.seek(7)
    reader.poll()
    assert reader.asked_to_fetch() == 7


@pytest.mark.parametrize("how", ["fenced", "lost"])
def test_a_leader_that_does_not_answer_is_asked_again_after_a_wait(how: str) -> None:
    reader = Reader()
    reader.new_leader()
    if how == "lost":
        reader.wire.take(OFFSET_FOR_LEADER_EPOCH).lose()
    else:
        reader.answer(-1, -1, Error.FENCED_LEADER_EPOCH)
    reader.poll()
    assert not reader.wire.count(OFFSET_FOR_LEADER_EPOCH)
    assert not reader.wire.count(FETCH)
    reader.wire.pass_time(200)
    reader.answer(10)
    assert reader.asked_to_fetch() == 10


def test_the_answer_of_an_epoch_lookup_is_dropped_after_a_seek() -> None:
    reader = Reader()
    reader.new_leader()
    reader.state.seek(2)
    reader.answer(7, epoch=2)
    assert reader.state.position == 2
    assert reader.asked_to_fetch() == 2


def test_each_new_leader_is_asked_once_about_an_epoch() -> None:
    reader = Reader()
    reader.new_leader(4)
    reader.answer(10)
    reader.asked_to_fetch()
    reader.new_leader(5)
    reader.answer(10)
    assert reader.state.checked_epoch == 5
