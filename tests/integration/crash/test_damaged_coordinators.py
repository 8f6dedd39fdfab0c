"""A damaged record in an internal topic only costs the groups or transactional ids of its partition their
coordinator.

The broker starts, everybody else is served, and the log names the partition. The same holds if an internal topic is
deleted: its coordinator goes, and a new one starts empty.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path

import pytest

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import TRANSACTIONAL, RawBatch, batch, parse_batches
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.errors import Error
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.protocol.generated.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from oncelog.protocol.generated.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from oncelog.types import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, java_hash_partition
from tests.integration.metrics.pages import scrape

TOPICS = (CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC)
PARTITIONS = 4
SETTINGS = {
    "offsets.topic.num.partitions": PARTITIONS,
    "transaction.state.log.num.partitions": PARTITIONS,
    "group.initial.rebalance.delay.ms": 0,
}
NAMES = [f"name-{number}" for number in range(12)]
GROUP, TRANSACTION = 0, 1
HEADER_BYTES = 61


def a_flipped_bit(stored: bytes, _: RawBatch) -> bytes:
    return stored[:-3] + bytes([stored[-3] ^ 4]) + stored[-2:]


def no_length(stored: bytes, _: RawBatch) -> bytes:
    return stored[:8] + struct.pack(">i", -5) + stored[12:]


def a_value_that_ends_early(_: bytes, damaged: RawBatch) -> bytes:
    """A sound batch whose contents no coordinator ever wrote."""
    return batch(b"\x00", key=damaged.records()[0].key, base_offset=damaged.base_offset, leader_epoch=0)


DAMAGES: Mapping[int, Callable[[bytes, RawBatch], bytes]] = {
    0: a_flipped_bit,
    1: no_length,
    2: a_value_that_ends_early,
}
"""By partition; the last one is left intact."""


def coordinated(client: RawConnection) -> None:
    for kind in (GROUP, TRANSACTION):
        request = FindCoordinatorRequest(key_type=kind, coordinator_keys=["a"])
        client.ask_until(request, 4, lambda answer: answer.coordinators[0].error_code == 0)


def init(client: RawConnection, name: str) -> tuple[Error, int, int]:
    """What InitProducerId answers, with the producer id that it gives."""
    request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
    answer = client.ask_until(request, 4, lambda found: found.error_code != Error.CONCURRENT_TRANSACTIONS)
    return Error(answer.error_code), answer.producer_id, answer.producer_epoch


def commit(client: RawConnection, name: str, offset: int) -> Error:
    partition = OffsetCommitRequestPartition(0, offset, -1, "m")
    request = OffsetCommitRequest(name, topics=[OffsetCommitRequestTopic("t", partitions=[partition])])
    return Error(client.ask(request, 8).topics[0].partitions[0].error_code)


def committed(client: RawConnection, name: str) -> tuple[Error, list[int]]:
    (group,) = client.ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(name, topics=None)]), 8).groups
    return Error(group.error_code), [found.committed_offset for topic in group.topics for found in topic.partitions]


def segment(data: Path, topic: str, index: int) -> Path:
    return data / f"{topic}-{index}" / "00000000000000000000.log"


def damage(data: Path) -> None:
    """The second batch of each partition that is in ``DAMAGES``."""
    for topic in TOPICS:
        for index, spoil in DAMAGES.items():
            content = segment(data, topic, index).read_bytes()
            first, second = islice(parse_batches(content), 2)
            begin = HEADER_BYTES + len(first.area)
            end = begin + HEADER_BYTES + len(second.area)
            spoilt = spoil(content[begin:end], second)
            segment(data, topic, index).write_bytes(content[:begin] + spoilt + content[end:])


def test_a_damaged_record_stops_only_the_coordinator_of_its_partition(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    owners = {name: java_hash_partition(name, PARTITIONS) for name in NAMES}
    assert set(owners.values()) == set(range(PARTITIONS))
    with oncelog.Broker(tmp_path, settings=SETTINGS) as broker, RawConnection(broker.bootstrap_servers) as client:
        client.create_topic("t")
        coordinated(client)
        for name in NAMES:
            assert [commit(client, name, offset) for offset in range(3)] == [Error.NONE] * 3
            assert [init(client, name)[0] for _ in range(2)] == [Error.NONE] * 2
    damage(tmp_path)
    paths = [segment(tmp_path, topic, index) for topic in TOPICS for index in DAMAGES]
    left = [path.read_bytes() for path in paths]
    with (
        oncelog.Broker(tmp_path, settings=SETTINGS, metrics="127.0.0.1:0") as broker,
        RawConnection(broker.bootstrap_servers) as client,
    ):
        for name, owner in owners.items():
            lost = owner in DAMAGES
            expected = Error.COORDINATOR_NOT_AVAILABLE if lost else Error.NONE
            assert committed(client, name) == (expected, [] if lost else [2]), name
            assert commit(client, name, 3) is expected
            assert init(client, name)[0] is expected
        assert client.produce("t", batch(b"v")).error == 0
        client.create_topic("another")
        page = scrape(broker.metrics_address)
        for coordinator in ("group", "transaction"):
            unreadable = page.value("oncelog_coordinator_partitions_unreadable", coordinator=coordinator)
            assert unreadable == len(DAMAGES)
    for topic in TOPICS:
        reported = [f"{topic}-{index} cannot be read at or after offset" in caplog.text for index in range(PARTITIONS)]
        assert reported == [index in DAMAGES for index in range(PARTITIONS)]
    assert [path.read_bytes() for path in paths] == left, "what is left is there for whoever mends it"


def test_after_the_transaction_log_is_deleted_a_new_log_without_the_old_ids_is_created() -> None:
    with oncelog.Broker(settings=SETTINGS) as broker, RawConnection(broker.bootstrap_servers) as client:
        client.create_topic("t")
        coordinated(client)
        _, pid, epoch = init(client, "writer")
        opened = batch(b"open", pid=pid, epoch=epoch, sequence=0, attributes=TRANSACTIONAL)
        assert client.produce("t", opened, transactional_id="writer", version=12).error == 0
        (deleted,) = client.ask(DeleteTopicsRequest(topic_names=[TRANSACTION_STATE_TOPIC]), 5).responses
        assert deleted.error_code == 0
        end = EndTxnRequest("writer", pid, epoch, True)
        assert client.ask(end, 4).error_code == Error.NOT_COORDINATOR
        coordinated(client)
        assert client.ask(end, 4).error_code == Error.INVALID_PRODUCER_ID_MAPPING
        error, new_pid, new_epoch = init(client, "writer")
        assert error is Error.NONE
        assert new_pid != pid
        again = batch(b"again", pid=new_pid, epoch=new_epoch, sequence=0, attributes=TRANSACTIONAL)
        assert client.produce("t", again, transactional_id="writer", version=12).error == 0
        assert client.ask(EndTxnRequest("writer", new_pid, new_epoch, True), 4).error_code == 0
        assert client.read_committed("t") == [], "nobody knows how the first transaction ended"
        topics = [WritableTxnMarkerTopic("t", [0])]
        client.ask(WriteTxnMarkersRequest([WritableTxnMarker(pid, epoch, False, topics, 0)]), 1)
        eventually(lambda: client.read_committed("t") == [b"again"])
