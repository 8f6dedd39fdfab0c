"""Fetched records are handed out once, in order, or fetched again: never skipped. Without a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from kafka.record.legacy_records import LegacyRecordBatchBuilder

from oncelog.client.aio.consumer.buffered import BufferedRecords
from oncelog.client.core.client_errors import RecordDeserializationError, UnsupportedForMessageFormatError
from oncelog.client.core.config import ConsumerConfig
from oncelog.client.core.connection.metadata import ClusterMetadata
from oncelog.client.core.connection.wire import FETCH, METADATA
from oncelog.client.core.consumer.consumer_metrics import ConsumerMetrics
from oncelog.client.core.consumer.fetcher import Fetcher
from oncelog.client.core.consumer.subscription import Reset, Subscription
from oncelog.client.core.metrics import NetworkMetrics
from oncelog.errors import ConfigError, Error, KafkaError, OncelogError
from oncelog.protocol.generated.fetch_response import (
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from oncelog.records.batch import Record, encode_batch
from oncelog.schemas import SchemaError, SchemaMismatch, SchemaRegistryError
from oncelog.types import TopicPartition
from tests.unit.client.core.producers import P0, P1, TOPIC, metadata_answer
from tests.unit.client.core.wires import FakeWire


class Reader:
    """A fetcher of one topic, whose answers the test gives."""

    def __init__(self, value_deserializer: Callable[[bytes], object] | None = None, **settings: Any) -> None:
        self.wire = FakeWire()
        metadata = ClusterMetadata(self.wire, max_age_ms=300_000, retry_backoff_ms=100, retry_backoff_max_ms=1000)
        self.subscription = Subscription(Reset.EARLIEST)
        self.fetcher = Fetcher(
            ConsumerConfig.from_keywords(**settings),
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
        self.wire.take(METADATA).answer(metadata_answer())

    def read(self, *partitions: TopicPartition) -> None:
        """Assign these, and find their positions at the start."""
        self.subscription.assign(partitions)
        for state in self.subscription.assigned.values():
            state.seek(0)
        self.fetcher.poll(self.wire.now_ms())

    def answer(self, *found: tuple[TopicPartition, int, Sequence[bytes]]) -> None:
        """Answer the Fetch in flight: for each partition, a batch of these values at an offset."""
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


def test_a_fetch_request_follows_the_settings() -> None:
    reader = Reader(
        fetch_max_bytes=1001,
        fetch_min_bytes=7,
        fetch_max_wait_ms=70,
        max_partition_fetch_bytes=501,
        isolation_level="read_committed",
        client_rack="r1",
    )
    reader.read(P0)
    sent = reader.wire.take(FETCH)
    request = sent.message
    assert (request.max_bytes, request.min_bytes, request.max_wait_ms) == (1001, 7, 70)
    assert (request.isolation_level, request.rack_id) == (1, "r1")
    assert [part.partition_max_bytes for topic in request.topics for part in topic.partitions] == [501]


def refuse_bad(value: bytes) -> bytes:
    if value == b"bad":
        raise ValueError("bad")
    return value


def test_a_record_that_cannot_be_decoded_keeps_the_fetched_records_of_paused_partitions() -> None:
    reader = Reader(refuse_bad)
    reader.read(P0, P1)
    reader.answer((P0, 0, [b"a", b"b"]), (P1, 0, [b"bad"]))
    reader.subscription.state(P0).paused = True
    with pytest.raises(RecordDeserializationError, match="offset 0 of"):
        reader.take()
    reader.subscription.state(P0).paused = False
    reader.subscription.state(P1).seek(1)
    assert reader.take() == [(0, 0), (0, 1)]


@pytest.mark.parametrize(
    ("error", "is_its_own"),
    [
        (ValueError("no JSON"), True),
        (SchemaError("they end too early"), True),
        (SchemaMismatch("b was not written, and has no default in the reader's schema"), False),
        (SchemaRegistryError("http://127.0.0.1:1 cannot be reached"), False),
        (ConfigError("the registry's address is not valid"), False),
        (ImportError("no module named fastavro"), False),
        (OncelogError("schemas need fastavro: pip install 'oncelog[schemas]'"), False),
    ],
)
def test_a_record_can_be_skipped_only_if_the_fault_is_its_own(error: Exception, is_its_own: bool) -> None:
    def refuse(value: bytes) -> bytes:
        raise error

    reader = Reader(refuse)
    reader.read(P0)
    reader.answer((P0, 0, [b"a"]))
    with pytest.raises(RecordDeserializationError) as refused:
        reader.take()
    advice = "seek past it" if is_its_own else "the position stays before it: mend what the error names, and poll again"
    assert str(refused.value).endswith(f"; {advice} [INVALID_RECORD]")


def test_a_refused_record_does_not_affect_partitions_not_requested() -> None:
    reader = Reader(refuse_bad)
    reader.read(P0, P1)
    reader.answer((P0, 0, [b"a", b"b"]), (P1, 0, [b"bad"]))
    with pytest.raises(RecordDeserializationError):
        reader.take(100, P1)
    assert reader.take(100, P0) == [(0, 0), (0, 1)]


def test_records_fetched_in_an_earlier_assignment_are_not_delivered_in_a_later_one() -> None:
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


def test_the_fetcher_knows_whether_records_were_delivered_one_by_one() -> None:
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
def test_a_former_leader_is_asked_to_remove_the_partition_from_its_fetch_session(error: Error) -> None:
    """Otherwise its fetch session repeats the refusal at once, again and again."""
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


def answer_alone(reader: Reader, data: PartitionData) -> int:
    """Answer the Fetch in flight for one partition; returns the node that it was sent to."""
    sent = reader.wire.take(FETCH)
    sent.answer(FetchResponse(responses=[FetchableTopicResponse(topic=TOPIC, partitions=[data])]))
    return sent.node


def some(offset: int, *values: bytes) -> PartitionData:
    records = encode_batch([Record(offset + n, 0, None, value) for n, value in enumerate(values)])
    return PartitionData(partition_index=0, high_watermark=1000, records=records)


def test_a_preferred_read_replica_is_used_until_it_expires() -> None:
    """A leader that names a follower hands out no records itself (KIP-392)."""
    reader = Reader()
    reader.read(P0)
    near = PartitionData(partition_index=0, high_watermark=1000, preferred_read_replica=2)
    assert answer_alone(reader, near) == 1
    assert answer_alone(reader, some(0, b"a")) == 2
    assert reader.take() == [(0, 0)]
    assert answer_alone(reader, some(1, b"b")) == 2
    reader.wire.pass_time(300_000)
    assert answer_alone(reader, some(2, b"c")) == 2
    assert reader.take() == [(0, 1), (0, 2)]
    assert reader.wire.take(FETCH).node == 1


@pytest.mark.parametrize("error", [Error.OFFSET_OUT_OF_RANGE, Error.NOT_LEADER_OR_FOLLOWER, Error.OFFSET_NOT_AVAILABLE])
def test_after_an_error_of_a_follower_the_consumer_reads_from_the_leader_without_a_reset(error: Error) -> None:
    reader = Reader()
    reader.read(P0)
    answer_alone(reader, PartitionData(partition_index=0, high_watermark=1000, preferred_read_replica=2))
    assert answer_alone(reader, PartitionData(partition_index=0, error_code=error)) == 2
    reader.wire.pass_time(1000)
    assert answer_alone(reader, some(0, b"a")) == 1
    assert reader.take() == [(0, 0)]


def test_if_a_follower_does_not_answer_the_consumer_reads_from_the_leader() -> None:
    reader = Reader()
    reader.read(P0)
    answer_alone(reader, PartitionData(partition_index=0, high_watermark=1000, preferred_read_replica=2))
    reader.wire.take(FETCH).lose()
    reader.wire.pass_time(1000)
    assert answer_alone(reader, some(0, b"a")) == 1


def test_if_a_follower_cannot_be_reached_the_consumer_reads_from_the_leader() -> None:
    """Nothing was read for ``metadata.max.age.ms``: the reader waited for a connection that never came."""
    reader = Reader()
    reader.read(P0)
    reader.wire.not_ready.add(2)
    answer_alone(reader, PartitionData(partition_index=0, high_watermark=1000, preferred_read_replica=2))
    sent = reader.wire.take(FETCH)
    assert sent.node == 2
    sent.lose()
    reader.wire.pass_time(1000)
    assert answer_alone(reader, some(0, b"a")) == 1
    assert reader.take() == [(0, 0)]


def test_fetched_records_are_delivered_before_an_out_of_range_position_is_reset() -> None:
    reader = Reader()
    reader.read(P0)
    answer_alone(reader, some(0, b"a", b"b"))
    answer_alone(reader, PartitionData(partition_index=0, error_code=Error.OFFSET_OUT_OF_RANGE))
    reader.wire.pass_time(1000)
    assert reader.wire.count(FETCH) == 0
    assert reader.take() == [(0, 0), (0, 1)]
    assert reader.subscription.state(P0).reset is None
    answer_alone(reader, PartitionData(partition_index=0, error_code=Error.OFFSET_OUT_OF_RANGE))
    assert reader.subscription.state(P0).reset is Reset.EARLIEST


def test_an_answer_that_cannot_be_read_stops_its_partition_alone() -> None:
    """Requested again and again, the answer would keep the network busy until the program looks."""
    reader = Reader()
    reader.read(P0, P1)
    answer_alone(reader, PartitionData(partition_index=0, high_watermark=1000, records=b"no batch" * 20))
    sent = reader.wire.take(FETCH)
    assert [item.partition for topic in sent.message.topics for item in topic.partitions] in ([1], [])
    with pytest.raises(KafkaError, match="from offset 0 on"):
        reader.take()
    reader.wire.sent.append(sent)
    reader.answer((P1, 0, [b"x"]))
    assert reader.take() == [(1, 0)]


def batches(offset: int, *epochs: int) -> PartitionData:
    """A batch of one record for each of these leader epochs."""
    records = b"".join(
        bytes(encode_batch([Record(offset + n, 0, None, b"v")], partition_leader_epoch=epoch))
        for n, epoch in enumerate(epochs)
    )
    return PartitionData(partition_index=0, high_watermark=1000, records=records)


def test_a_position_has_the_leader_epoch_of_the_record_before_it() -> None:
    """A commit stores that epoch, so that its successor can learn that the log was cut (KIP-320)."""
    reader = Reader()
    held = BufferedRecords(reader.subscription)
    reader.read(P0)
    answer_alone(reader, batches(0, 3, 3, 5, 6))
    reported = []
    for _ in range(4):
        reader.take(1)
        reported.append(held.positions()[P0])
    assert reported == [(1, "", 3), (2, "", 3), (3, "", 5), (4, "", 6)]
    reader.subscription.state(P0).seek(2)
    assert held.positions()[P0] == (2, "", -1)
    answer_alone(reader, batches(4, 7))  # what was asked for before the seek
    answer_alone(reader, batches(2, 5, 6))
    assert list(reader.fetcher.take_batches()) == [P0]
    assert held.positions()[P0] == (4, "", 6)


@pytest.mark.parametrize(
    "answer",
    [
        PartitionData(partition_index=0, error_code=Error.CORRUPT_MESSAGE),
        PartitionData(partition_index=0, high_watermark=1000, records=b"no batch" * 20),
    ],
    ids=["by the broker", "in the answer"],
)
def test_damage_is_reported_after_the_records_before_it_and_a_seek_can_skip_it(answer: PartitionData) -> None:
    """Otherwise seeking past the batch would also skip records that are intact."""
    reader = Reader()
    reader.read(P0)
    answer_alone(reader, some(0, b"a", b"b"))
    answer_alone(reader, answer)
    reader.wire.pass_time(1000)
    assert reader.take() == [(0, 0), (0, 1)]
    answer_alone(reader, answer)
    with pytest.raises(KafkaError, match=r"cannot be read from offset 2 on: .*; seek past the batch"):
        reader.take()
    reader.wire.pass_time(1000)
    assert reader.wire.count(FETCH) == 0
    reader.subscription.state(P0).seek(3)
    reader.fetcher.poll(reader.wire.now_ms())
    answer_alone(reader, some(3, b"d"))
    assert reader.take() == [(0, 3)]


def test_records_of_an_older_format_are_refused_for_their_format_and_not_as_damaged() -> None:
    """Apache Kafka still serves what producers before 0.11 wrote."""
    builder = LegacyRecordBatchBuilder(magic=1, compression_type=0, batch_size=10_000)
    builder.append(0, 1_700_000_000_000, None, b"v")
    reader = Reader()
    reader.read(P0)
    answer_alone(reader, PartitionData(partition_index=0, high_watermark=1, records=bytes(builder.build())))
    with pytest.raises(UnsupportedForMessageFormatError) as refused:
        reader.take()
    assert f"{P0} cannot be read from offset 0 on" in str(refused.value)
    assert "message format 1" in str(refused.value) and "they are intact" in str(refused.value)
