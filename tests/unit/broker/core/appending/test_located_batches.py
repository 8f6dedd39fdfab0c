"""Which bytes of a Produce are the batch of a partition, and which requests are refused before they reach the log."""

from __future__ import annotations

import pytest

from oncelog.errors import Error
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.generated.produce_response import PartitionProduceResponse
from oncelog.records.batch import encode_batch
from oncelog.records.compression import Compression
from oncelog.records.record import Record
from oncelog.types import CONSUMER_OFFSETS_TOPIC, TopicPartition
from tests.unit.broker.core.conftest import NOW_MS, Admin

T0 = TopicPartition("t", 0)
RECORD = Record(0, NOW_MS, b"k", b"v" * 50)
PLAIN = bytes(encode_batch([RECORD]))


def produce(
    admin: Admin, data: bytes | None, *, topic: str = "t", version: int = 9, acks: int = -1
) -> PartitionProduceResponse:
    request = ProduceRequest(
        None, acks, 1000, [TopicProduceData(topic, partition_data=[PartitionProduceData(0, data)])]
    )
    (found,) = admin.ask(request, version).responses[0].partition_responses
    assert isinstance(found, PartitionProduceResponse)
    return found


@pytest.fixture(autouse=True)
def topics(admin: Admin) -> None:
    admin.broker.topics.create("t", 1, {}, NOW_MS)


@pytest.mark.parametrize("rest", [b"\0", PLAIN[:-1], PLAIN[:20]], ids=["a byte", "most of a batch", "its start"])
def test_bytes_after_the_batch_that_are_not_a_batch_are_left_out(admin: Admin, rest: bytes) -> None:
    assert produce(admin, PLAIN + rest).error_code == Error.NONE
    assert admin.broker.partitions()[T0].log.size_bytes == len(PLAIN)


@pytest.mark.parametrize(
    "data", [None, b"", PLAIN[:10], PLAIN + PLAIN], ids=["null", "empty", "too short", "two batches"]
)
def test_a_produce_without_exactly_one_batch_for_a_partition_is_refused(admin: Admin, data: bytes | None) -> None:
    assert produce(admin, data).error_code == Error.INVALID_RECORD
    assert admin.broker.partitions()[T0].log.log_end_offset == 0


def test_zstd_is_refused_in_produce_versions_that_do_not_support_it(admin: Admin) -> None:
    packed = bytes(encode_batch([RECORD], compression=Compression.ZSTD))
    refused = produce(admin, packed, version=6)
    assert refused.error_code == Error.UNSUPPORTED_COMPRESSION_TYPE
    assert produce(admin, packed, version=7).error_code == Error.NONE


@pytest.mark.parametrize("acks", [2, -2])
def test_acks_other_than_all_one_and_none_are_refused(admin: Admin, acks: int) -> None:
    assert produce(admin, PLAIN, acks=acks).error_code == Error.INVALID_REQUIRED_ACKS


def test_clients_do_not_write_to_internal_topics(admin: Admin) -> None:
    admin.broker.topics.ensure_internal(CONSUMER_OFFSETS_TOPIC, NOW_MS)
    refused = produce(admin, PLAIN, topic=CONSUMER_OFFSETS_TOPIC)
    assert (refused.error_code, refused.error_message) == (
        Error.INVALID_TOPIC_EXCEPTION,
        f"The topic {CONSUMER_OFFSETS_TOPIC} is internal: clients may not write to it.",
    )


def test_an_unknown_topic_is_refused_by_id_and_by_name(admin: Admin) -> None:
    assert produce(admin, PLAIN, topic="none").error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    data = TopicProduceData(topic_id=b"no-such-topic-id", partition_data=[PartitionProduceData(0, PLAIN)])
    (found,) = admin.ask(ProduceRequest(None, -1, 1000, [data]), 13).responses[0].partition_responses
    assert found.error_code == Error.UNKNOWN_TOPIC_ID
