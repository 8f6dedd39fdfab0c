"""What was fetched ahead is handed out once, in order, or fetched again: never passed over. Without a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from oncelog.client.core.config import ConsumerConfig
from oncelog.client.core.consumer_metrics import ConsumerMetrics
from oncelog.client.core.errors import RecordDeserializationError
from oncelog.client.core.fetcher import Fetcher
from oncelog.client.core.metadata import ClusterMetadata
from oncelog.client.core.metrics import NetworkMetrics
from oncelog.client.core.subscription import Reset, Subscription
from oncelog.client.core.wire import FETCH, METADATA
from oncelog.errors import Error
from oncelog.protocol.generated.fetch_response import (
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from oncelog.records.batch import Record, encode_batch
from oncelog.types import TopicPartition
from tests.unit.client.core.producers import P0, P1, TOPIC, picture
from tests.unit.client.core.wires import FakeWire


class Reader:
    """A fetcher of one topic, whose answers the test gives."""

    def __init__(self, value_deserializer: Callable[[bytes], object] | None = None) -> None:
        self.wire = FakeWire()
        metadata = ClusterMetadata(self.wire, max_age_ms=300_000, retry_backoff_ms=100, retry_backoff_max_ms=1000)
        self.subscription = Subscription(Reset.EARLIEST)
        self.fetcher = Fetcher(
            ConsumerConfig.from_keywords(),
            self.wire,
            metadata,
            self.subscription,
            ConsumerMetrics(NetworkMetrics(self.wire.now_ms())),
            key_deserializer=None,
            value_deserializer=value_deserializer,
            on_data=lambda: None,
            on_reset=lambda: None,
        )
        metadata.want([TOPIC])
        metadata.refresh()
        self.wire.pass_time(1)
        self.wire.take(METADATA).answer(picture())

    def read(self, *partitions: TopicPartition) -> None:
        """Assign these, and find their positions at the start."""
        self.subscription.assign(partitions)
        for state in self.subscription.assigned.values():
            state.seek(0)
        self.fetcher.poll(self.wire.now_ms())

    def answer(self, *found: tuple[TopicPartition, int, Sequence[bytes]]) -> None:
        """The Fetch under way gets for each partition a batch of these values at an offset."""
        partitions = [
            PartitionData(
                partition_index=name.partition,
                high_watermark=1000,
                records=encode_batch([Record(offset + n, 0, None, value) for n, value in enumerate(values)]),
            )
            for name, offset, values in found
        ]
        answer = FetchResponse(responses=[FetchableTopicResponse(topic=TOPIC, partitions=partitions)])
        self.wire.take(FETCH).answer(answer)

    def take(self, most: int = 100, *only: TopicPartition) -> list[tuple[int, int]]:
        """Partition and offset of what is handed out."""
        found = self.fetcher.take(most, only, self.wire.now_ms())
        return [(record.partition, record.offset) for records in found.values() for record in records]


def refuse_bad(value: bytes) -> bytes:
    if value == b"bad":
        raise ValueError("bad")
    return value


def test_a_record_that_is_refused_costs_no_paused_partition_what_was_fetched_of_it() -> None:
    reader = Reader(refuse_bad)
    reader.read(P0, P1)
    reader.answer((P0, 0, [b"a", b"b"]), (P1, 0, [b"bad"]))
    reader.subscription.state(P0).paused = True
    with pytest.raises(RecordDeserializationError, match="offset 0 of"):
        reader.take()
    reader.subscription.state(P0).paused = False
    reader.subscription.state(P1).seek(1)
    assert reader.take() == [(0, 0), (0, 1)]


def test_a_record_that_is_refused_costs_partitions_that_were_not_asked_for_nothing() -> None:
    reader = Reader(refuse_bad)
    reader.read(P0, P1)
    reader.answer((P0, 0, [b"a", b"b"]), (P1, 0, [b"bad"]))
    with pytest.raises(RecordDeserializationError):
        reader.take(100, P1)
    assert reader.take(100, P0) == [(0, 0), (0, 1)]


def test_what_was_fetched_in_an_earlier_assignment_is_not_handed_out_in_a_later_one() -> None:
    reader = Reader()
    reader.read(P0)
    reader.answer((P0, 0, [b"a", b"b", b"c"]))
    assert reader.take(2) == [(0, 0), (0, 1)]
    reader.subscription.unsubscribe()
    reader.read(P0)
    assert reader.take() == []
    reader.answer((P0, 3, [b"d"]))  # what was asked for in the earlier assignment
    assert reader.take() == []
    reader.answer((P0, 0, [b"a", b"b", b"c"]))
    assert reader.take() == [(0, 0), (0, 1), (0, 2)]


def test_taking_records_at_hand_one_by_one_is_noted() -> None:
    reader = Reader()
    reader.read(P0)
    reader.answer((P0, 0, [b"a", b"b", b"c"]))
    assert reader.take(1) == [(0, 0)]
    assert not reader.fetcher.handed_out
    record = reader.fetcher.take_one()
    assert record is not None
    assert record.offset == 1
    assert reader.fetcher.handed_out


@pytest.mark.parametrize("error", [Error.NOT_LEADER_OR_FOLLOWER, Error.FENCED_LEADER_EPOCH])
def test_a_broker_that_leads_a_partition_no_more_is_told_to_leave_it_out(error: Error) -> None:
    """Else its fetch session answers at once with the refusal, again and again."""
    reader = Reader()
    reader.read(P0, P1)
    gone = PartitionData(
        partition_index=P1.partition, error_code=error, current_leader=LeaderIdAndEpoch(leader_id=2, leader_epoch=1)
    )
    here = PartitionData(partition_index=P0.partition, high_watermark=1000, records=b"")
    topics = [FetchableTopicResponse(topic=TOPIC, partitions=[here, gone])]
    reader.wire.take(FETCH).answer(FetchResponse(session_id=7, responses=topics))
    reader.wire.pass_time(1000)
    asked = {sent.node: sent.message for sent in (reader.wire.take(FETCH), reader.wire.take(FETCH))}
    assert [(topic.topic, topic.partitions) for topic in asked[1].forgotten_topics_data] == [(TOPIC, [P1.partition])]
    assert [[item.partition for item in topic.partitions] for topic in asked[2].topics] == [[P1.partition]]
