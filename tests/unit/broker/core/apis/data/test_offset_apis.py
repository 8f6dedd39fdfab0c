"""Offsets that clients ask for or delete, without a broker; expected errors are those of Kafka's ``Partition``."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.storage.partition import Partition
from oncelog.broker.server.disk.memory_disk import MemoryDisk
from oncelog.errors import Error
from oncelog.protocol.generated.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from oncelog.protocol.generated.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from oncelog.protocol.generated.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from oncelog.settings.config import TopicConfig
from oncelog.types import TopicPartition
from tests.support.handler_ports import HandlerPorts
from tests.unit.broker.log.batches import NOW_MS, PARTITION, batch, fill, open_log

LEADER_EPOCH = 3


class PartitionFakes(HandlerPorts):
    """One partition of topic ``t`` with three records and an open transaction behind them."""

    def __init__(self, config: TopicConfig | None = None, *, internal: bool = False) -> None:
        log = open_log(MemoryDisk(), config=config)
        fill(log, 3)
        self.led = Partition(
            PARTITION,
            bytes(16),
            log,
            LEADER_EPOCH,
            sync_before_commit=False,
            on_dirty=lambda partition: None,
            on_advance=lambda topic_partition: None,
        )
        assert self.led.append_client(batch(pid=7, seq=0, txn=True), NOW_MS).error is Error.NONE
        info = SimpleNamespace(name="t", partitions=1, internal=internal, config=log.config)
        super().__init__(NOW_MS, metadata=SimpleNamespace(topic=lambda name: info if name == "t" else None))

    def led_partition(self, _: RequestContext, asked: TopicPartition) -> Partition | Error:
        return self.led if asked == PARTITION else Error.UNKNOWN_TOPIC_OR_PARTITION

    def list_offsets(
        self, timestamp: int, *, version: int = 11, isolation: int = 0, epoch: int = -1, partition: int = 0
    ) -> tuple[Error, int, int, int]:
        """Error, timestamp, offset and leader epoch."""
        asked = ListOffsetsPartition(partition, epoch, timestamp)
        answer = self.ask(ListOffsetsRequest(-1, isolation, [ListOffsetsTopic("t", [asked])]), version)
        (found,) = answer.topics[0].partitions
        return Error(found.error_code), found.timestamp, found.offset, found.leader_epoch

    def delete_records(self, offset: int, *, topic: str = "t", partition: int = 0) -> tuple[Error, int]:
        """Error and low watermark."""
        asked = [DeleteRecordsTopic(topic, [DeleteRecordsPartition(partition, offset)])]
        (found,) = self.ask(DeleteRecordsRequest(topics=asked, timeout_ms=1000), 2).topics[0].partitions
        return Error(found.error_code), found.low_watermark


@pytest.fixture
def ports() -> PartitionFakes:
    return PartitionFakes()


@pytest.mark.parametrize(
    ("timestamp", "isolation", "found"),
    [
        (-1, 0, (-1, 4, LEADER_EPOCH)),  # latest
        (-1, 1, (-1, 3, LEADER_EPOCH)),  # up to the open transaction
        (-2, 0, (-1, 0, 0)),  # earliest
        (-4, 0, (-1, 0, 0)),  # earliest that is not tiered
        (-5, 0, (-1, -1, -1)),  # nothing is tiered
        (-6, 0, (-1, -1, -1)),  # nothing is to be uploaded
        (-3, 0, (NOW_MS + 2, 2, 0)),  # the greatest timestamp
        (NOW_MS + 1, 0, (NOW_MS + 1, 1, 0)),
        (NOW_MS + 9, 0, (-1, -1, -1)),
    ],
)
def test_each_kind_of_timestamp_finds_its_offset(
    ports: PartitionFakes, timestamp: int, isolation: int, found: tuple[int, int, int]
) -> None:
    assert ports.list_offsets(timestamp, isolation=isolation) == (Error.NONE, *found)


@pytest.mark.parametrize(("timestamp", "first"), [(-3, 7), (-4, 8), (-5, 9), (-6, 11), (-7, 12)])
def test_list_offsets_refuses_a_special_timestamp_in_a_version_without_it(
    ports: PartitionFakes, timestamp: int, first: int
) -> None:
    assert ports.list_offsets(timestamp, version=first - 1) == (Error.UNSUPPORTED_VERSION, -1, -1, -1)
    if first <= 11:
        assert ports.list_offsets(timestamp, version=first)[0] is Error.NONE


def test_no_leader_epoch_is_reported_before_version_4(ports: PartitionFakes) -> None:
    assert ports.list_offsets(-1, version=3) == (Error.NONE, -1, 4, -1)


@pytest.mark.parametrize(
    ("epoch", "partition", "error"),
    [
        (LEADER_EPOCH - 1, 0, Error.FENCED_LEADER_EPOCH),
        (LEADER_EPOCH + 1, 0, Error.UNKNOWN_LEADER_EPOCH),
        (LEADER_EPOCH, 0, Error.NONE),
        (-1, 1, Error.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_offsets_are_returned_only_for_the_current_leader_epoch(
    ports: PartitionFakes, epoch: int, partition: int, error: Error
) -> None:
    assert ports.list_offsets(-1, epoch=epoch, partition=partition)[0] is error
    asked = OffsetForLeaderPartition(partition, epoch, LEADER_EPOCH)
    answer = ports.ask(OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic("t", [asked])]), 4)
    assert answer.topics[0].partitions[0].error_code == error


def test_a_partition_that_is_named_twice_is_refused_once(ports: PartitionFakes) -> None:
    twice = [ListOffsetsPartition(0, -1, -1), ListOffsetsPartition(0, -1, -2), ListOffsetsPartition(1, -1, -1)]
    answer = ports.ask(ListOffsetsRequest(-1, 0, [ListOffsetsTopic("t", twice)]), 7)
    errors = [(part.partition_index, part.error_code) for part in answer.topics[0].partitions]
    assert errors == [(0, Error.INVALID_REQUEST), (1, Error.UNKNOWN_TOPIC_OR_PARTITION)]


def test_an_unknown_isolation_level_is_refused(ports: PartitionFakes) -> None:
    assert ports.list_offsets(-1, isolation=2)[0] is Error.INVALID_REQUEST


def test_a_partition_whose_disk_failed_returns_a_storage_error(ports: PartitionFakes) -> None:
    ports.led.log.fail("no such device")
    assert ports.list_offsets(-1)[0] is Error.KAFKA_STORAGE_ERROR
    assert ports.delete_records(1) == (Error.KAFKA_STORAGE_ERROR, -1)


@pytest.mark.parametrize(
    ("epoch", "found"), [(0, (0, 3)), (1, (0, 3)), (LEADER_EPOCH, (LEADER_EPOCH, 4)), (LEADER_EPOCH + 1, (-1, -1))]
)
def test_an_epoch_ends_at_the_start_offset_of_the_next_epoch(
    ports: PartitionFakes, epoch: int, found: tuple[int, int]
) -> None:
    """KIP-279: of an epoch without records, the one before it is told; of one that is not known yet, nothing."""
    asked = OffsetForLeaderPartition(0, -1, epoch)
    answer = ports.ask(OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic("t", [asked])]), 4)
    (part,) = answer.topics[0].partitions
    assert (part.leader_epoch, part.end_offset) == found


def test_records_are_deleted_up_to_the_high_watermark(ports: PartitionFakes) -> None:
    assert ports.delete_records(2) == (Error.NONE, 2)
    assert ports.list_offsets(-2)[2] == 2
    assert ports.delete_records(1) == (Error.NONE, 2)
    assert ports.delete_records(5) == (Error.OFFSET_OUT_OF_RANGE, -1)
    assert ports.delete_records(-1) == (Error.NONE, 4)


def test_deleting_records_of_missing_internal_and_compacted_topics_is_refused(ports: PartitionFakes) -> None:
    assert ports.delete_records(1, topic="u") == (Error.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert ports.delete_records(1, partition=1) == (Error.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert PartitionFakes(internal=True).delete_records(1) == (Error.INVALID_TOPIC_EXCEPTION, -1)
    compacted = PartitionFakes(TopicConfig(cleanup_policy=("compact",)))
    assert compacted.delete_records(1) == (Error.POLICY_VIOLATION, -1)
