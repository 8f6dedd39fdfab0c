"""What one hostile or clumsy client sends costs others nothing: each row was once a way to stop the broker."""

from __future__ import annotations

import contextlib
import socket
import struct
from pathlib import Path

import pytest
import zstandard

from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import ZSTD, batch, record
from oncelog.apps.conformance.raw.bodies import RawFetchPosition
from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest
from oncelog.protocol.generated.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.protocol.generated.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from oncelog.protocol.struct_fields import uvarint
from tests.hostile.conftest import Node

MB = 1024 * 1024
INVALID_REQUEST, MESSAGE_TOO_LARGE, INVALID_RECORD, INVALID_TIMESTAMP = 42, 10, 87, 32


def test_announced_requests_take_no_memory_before_they_arrive(node: Node) -> None:
    before = node.memory_bytes()
    announced = [node.connect() for _ in range(20)]
    for connection in announced:
        connection.send_bytes(struct.pack(">i", 100 * MB) + bytes(1000))
    node.check_neighbour()
    assert node.memory_bytes() - before < 32 * MB
    for connection in announced:
        connection.close()


def test_requests_being_received_share_one_memory_limit(tmp_path: Path) -> None:
    limits = {"queued.max.request.bytes": str(24 * MB), "socket.request.max.bytes": str(8 * MB)}
    node = Node(tmp_path, limits)
    node.start()
    try:
        node.check_neighbour()
        before = node.memory_bytes()
        slow = [node.connect() for _ in range(8)]
        for connection in slow:
            connection._socket.settimeout(0.2)
            with contextlib.suppress(TimeoutError):  # it has to wait for memory
                connection.send_bytes(struct.pack(">i", 8 * MB) + bytes(8 * MB - 1))
        assert node.memory_bytes() - before < 48 * MB
        node.check_neighbour()
        # A large request of an honest client waits, until those who send nothing more have made room.
        with node.connect() as honest:
            honest.create_topic("large", max_message_bytes=8 * MB)
            assert honest.produce("large", batch(bytes(6 * MB))).error == 0
        for connection in slow:
            connection.close()
    finally:
        node.close()


@pytest.mark.parametrize("count", [8_000_000, 4_000_000])
def test_batch_that_unpacks_to_millions_of_records_is_refused_cheaply(node: Node, count: int) -> None:
    with node.connect() as bomber:
        topic = f"bombed-{count}"
        bomber.create_topic(topic, cleanup_policy="compact")
        packed = batch(
            records=zstandard.compress(record(None) * count), count=count, last_offset_delta=count - 1, attributes=ZSTD
        )
        assert len(packed) < 20_000
        before = node.memory_bytes()
        assert bomber.produce(topic, packed).error in (MESSAGE_TOO_LARGE, INVALID_RECORD)
        assert node.memory_bytes() - before < 128 * MB
    node.check_neighbour()


def test_unknown_isolation_level_is_an_invalid_request(node: Node) -> None:
    with node.connect() as client:
        client.create_topic("isolated")
        assert client.fetch_all({}, isolation=7).error == INVALID_REQUEST
        asked = ListOffsetsPartition(partition_index=0, current_leader_epoch=-1, timestamp=-1)
        request = ListOffsetsRequest(
            replica_id=-1, isolation_level=7, topics=[ListOffsetsTopic(name="isolated", partitions=[asked])]
        )
        (answer,) = client.ask(request, 9).topics
        assert answer.partitions[0].error_code == INVALID_REQUEST
    node.check_neighbour()


def test_a_request_whose_names_are_too_long_for_the_answer_ends_only_its_connection(node: Node) -> None:
    name = "n" * 32_760
    bystander = node.connect()
    bystander.create_topic("long-names")
    waiting = bystander.send_fetch({("long-names", 0): RawFetchPosition(0, MB)}, max_wait_ms=60_000, min_bytes=1)
    resource = DescribeConfigsResource(resource_type=2, resource_name=name, configuration_keys=None)
    for request, version in (
        (DescribeConfigsRequest(resources=[resource]), 1),
        (DescribeGroupsRequest(groups=[name]), 0),
        (DeleteTopicsRequest(topic_names=[name]), 5),
    ):
        with node.connect() as client, contextlib.suppress(ConnectionClosed):
            client.ask(request, version)
    with node.connect() as producer:
        assert producer.produce("long-names", batch(b"v")).error == 0
    assert bystander.receive_fetch(waiting).partitions["long-names", 0].batches
    bystander.close()


def test_an_invented_producer_id_does_not_use_up_other_ids(tmp_path: Path) -> None:
    node = Node(tmp_path, {})
    node.start()
    try:
        with node.connect() as client:
            client.create_topic("t")
            first = client.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), 4)
            assert client.produce("t", batch(b"v", pid=2**63 - 1, epoch=0, sequence=0)).error == 0
        node.kill()
        node.start()
        with node.connect() as client:
            second = client.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), 4)
            assert second.error_code == 0
            assert first.producer_id < second.producer_id < 10_000
    finally:
        node.close()


def test_a_peer_that_never_reads_is_closed_when_idle_and_does_not_delay_a_stop(tmp_path: Path) -> None:
    node = Node(tmp_path, {"connections.max.idle.ms": "1500"})
    node.start()
    try:
        with node.connect() as writer:
            writer.create_topic("t", max_message_bytes=16 * MB)
            assert writer.produce("t", batch(bytes(12 * MB))).error == 0
        deaf = node.connect()
        for _ in range(4):
            deaf.send_fetch({("t", 0): RawFetchPosition(0, 16 * MB)}, max_bytes=16 * MB)

        eventually(lambda: established(node, deaf) == 0)
        node.check_neighbour()
    finally:
        node.close()


def established(node: Node, connection: RawConnection) -> int:
    """How many sockets the broker has towards this peer."""
    port = connection._socket.getsockname()[1]
    lines = Path(f"/proc/{node.pid}/net/tcp").read_text().splitlines()[1:]
    ours = f":{int(node.bootstrap_servers.rpartition(':')[2]):04X}"
    return sum(
        1
        for fields in map(str.split, lines)
        if fields[1].endswith(ours) and fields[2].endswith(f":{port:04X}") and fields[3] == "01"
    )


def test_unread_answers_are_dropped_when_memory_is_short(tmp_path: Path) -> None:
    node = Node(tmp_path, {"queued.max.request.bytes": str(6 * MB), "socket.request.max.bytes": str(2 * MB)})
    node.start()
    asked = DescribeConfigsRequest([DescribeConfigsResource(2, "t")] * 300)
    deaf = [node.connect() for _ in range(24)]
    try:
        with node.connect() as honest:
            honest.create_topic("t", max_message_bytes=2 * MB)
            for connection in deaf:
                connection._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                connection.send(asked.API_KEY, 1, asked.encode(1))
            eventually(lambda: any(not established(node, connection) for connection in deaf), timeout_s=120)
            assert honest.produce("t", batch(bytes(MB))).error == 0
        node.check_neighbour()
    finally:
        for connection in deaf:
            connection.close()
        node.close()


def test_slow_reader_of_a_deleted_topic_does_not_prevent_a_clean_stop(tmp_path: Path) -> None:
    node = Node(tmp_path, {"log.segment.delete.delay.ms": "1"})
    node.start()
    with node.connect() as writer:
        writer.create_topic("t", max_message_bytes=16 * MB)
        assert writer.produce("t", batch(bytes(12 * MB))).error == 0
        deaf = node.connect()
        deaf.send_fetch({("t", 0): RawFetchPosition(0, 16 * MB)}, max_bytes=16 * MB)
        assert len(deaf._exactly(100)) == 100
        writer.ask(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000), 5)
        eventually(lambda: not list((tmp_path / "data").glob("t-0*")))
    node.check_neighbour()
    process = node._running()
    node.stop()
    assert process.returncode == 0, node.log_tail()


def test_a_long_commit_is_carried_out_after_its_client_has_gone(node: Node) -> None:
    """As Apache Kafka carries out what it received whole."""
    with node.connect() as client:
        client.create_topic("left", partitions=1000)
        client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["leaving"]), 4)
    committed = [OffsetCommitRequestPartition(index, 7, -1, "m" * 20) for index in range(1000)]
    request = OffsetCommitRequest("leaving", topics=[OffsetCommitRequestTopic("left", partitions=committed)])
    with node.connect() as leaving:
        leaving.send(request.API_KEY, 8, request.encode(8))
    asked = OffsetFetchRequestTopics("left", partition_indexes=list(range(1000)))

    def offsets() -> set[int]:
        with node.connect() as other:
            groups = [OffsetFetchRequestGroup("leaving", topics=[asked])]
            (group,) = other.ask(OffsetFetchRequest(groups=groups), 8).groups
            return {partition.committed_offset for partition in group.topics[0].partitions}

    eventually(lambda: offsets() == {7})
    node.check_neighbour()


@pytest.mark.parametrize("api_key", [0, 3])
def test_a_header_of_millions_of_tags_is_refused_at_once(node: Node, api_key: int) -> None:
    count = 2_000_000
    frame = struct.pack(">hhih", api_key, 9, 7, -1) + uvarint(count) + b"\x63\x00" * count
    with node.connect() as client, contextlib.suppress(ConnectionClosed, OSError):
        client.send_bytes(struct.pack(">i", len(frame)) + frame)
        client.receive_frame()
        raise AssertionError("it was answered")
    node.check_neighbour()


def test_many_incomplete_requests_stay_within_the_memory_limit(tmp_path: Path) -> None:
    """Each of 30 connections sends 20,000 empty names at once: together about 300 MB if all were read side by side."""
    node = Node(tmp_path, {"queued.max.request.bytes": str(64 * MB), "socket.request.max.bytes": str(8 * MB)})
    node.start()
    try:
        node.check_neighbour()
        before = node.memory_bytes()
        topics = [MetadataRequestTopic(name="")] * 20_000
        request = MetadataRequest(topics, allow_auto_topic_creation=False)
        body = request.encode(12)
        many = [node.connect() for _ in range(30)]
        for connection in many:
            connection.send(request.API_KEY, 12, body)
        most = 0
        for connection in many:
            assert connection.receive_frame()
            most = max(most, node.memory_bytes())
            connection.close()
        node.check_neighbour()
        assert most - before < 200 * MB
    finally:
        node.close()
