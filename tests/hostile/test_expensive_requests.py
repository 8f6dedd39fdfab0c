"""Expensive requests: their own client waits, and others have their turns between the chunks."""

from __future__ import annotations

from pathlib import Path

import pytest

from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.bodies import RawFetchPosition
from oncelog.apps.conformance.raw.wire import ConnectionClosed
from oncelog.protocol.generated.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.list_transactions_request import ListTransactionsRequest
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
from tests.hostile.conftest import Node

MB = 1024 * 1024
INVALID_REGULAR_EXPRESSION = 128


@pytest.mark.parametrize(
    ("request_of", "version"),
    [
        (lambda: FindCoordinatorRequest(key_type=0, coordinator_keys=["k"] * 2_000_000), 4),
        (lambda: DescribeGroupsRequest(groups=["g"] * 2_000_000), 5),
        (lambda: MetadataRequest(topics=[MetadataRequestTopic(name="n")] * 600_000), 12),
    ],
    ids=["FindCoordinator", "DescribeGroups", "Metadata"],
)
def test_millions_of_keys_in_one_request_are_refused(node: Node, request_of: object, version: int) -> None:
    before = node.memory_bytes()
    with node.connect() as client, pytest.raises((ConnectionClosed, OSError)):
        client.ask(request_of(), version)  # type: ignore[operator]
    node.check_neighbour()
    assert node.memory_bytes() - before < 200 * MB


def test_an_admin_clients_request_for_100000_keys_is_answered(node: Node) -> None:
    """As Apache Kafka does: an admin client may ask for all transactional ids of a large broker at once."""
    keys = [f"a-transactional-id-{number:010}" for number in range(100_000)]
    with node.connect() as client:
        found = client.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=keys), 4)
    assert [coordinator.key for coordinator in found.coordinators] == keys
    node.check_neighbour()


def test_a_request_for_20000_groups_answers_each_group(node: Node) -> None:
    keys = [f"g{number}" for number in range(20_000)]
    with node.connect() as client:
        found = client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=keys), 4)
        assert [coordinator.key for coordinator in found.coordinators] == keys
        assert [group.group_id for group in client.ask(DescribeGroupsRequest(groups=keys), 5).groups] == keys
    node.check_neighbour()


def test_topics_created_by_a_long_metadata_request_all_exist_and_can_all_be_deleted(node: Node) -> None:
    names = [f"auto.made_{number}" for number in range(60)]
    with node.connect() as client:
        asked = MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=True
        )
        assert [topic.error_code for topic in client.ask(asked, 12).topics] == [0] * 60
        deleted = client.ask(DeleteTopicsRequest(topic_names=names, timeout_ms=10_000), 5)
        assert [result.error_code for result in deleted.responses] == [0] * 60
        rest = {topic.name for topic in client.ask(MetadataRequest(topics=None), 12).topics}
        assert rest.isdisjoint(names)


def test_endless_regular_expressions_are_answered_and_do_not_delay_a_stop(tmp_path: Path) -> None:
    """Both APIs that take an expression, with something to match it against."""
    node = Node(tmp_path, {})
    node.start()
    try:
        with node.connect() as client:
            client.create_topic("a" * 40)
            for kind in (0, 1):
                request = FindCoordinatorRequest(key_type=kind, coordinator_keys=["a" * 40])
                client.ask_until(request, 4, lambda answer: answer.coordinators[0].error_code == 0)
            init = InitProducerIdRequest(transactional_id="a" * 40, transaction_timeout_ms=60_000)
            assert client.ask(init, 4).error_code == 0
            for pattern, expected in (("(((){1000}){1000}){1000}", INVALID_REGULAR_EXPRESSION), ("(a+)+b", 0)):
                listing = ListTransactionsRequest(duration_filter=-1, transactional_id_pattern=pattern)
                assert client.ask(listing, 2).error_code == expected
                joining = ConsumerGroupHeartbeatRequest("g", "AAAAAAAAAAAAAAAAAAAAAA", 0, None, None, 60_000, None)
                joining.subscribed_topic_regex, joining.topic_partitions = pattern, []
                assert client.ask(joining, 1).error_code == expected
        node.check_neighbour()
        process = node._running()
        node.stop()
        assert process.returncode == 0, node.log_tail()
    finally:
        node.close()


def test_a_waiting_fetch_of_many_partitions_is_answered_at_min_bytes(node: Node) -> None:
    with node.connect() as reader, node.connect() as writer:
        reader.create_topic("wide", partitions=40)
        positions = {("wide", index): RawFetchPosition(0, MB) for index in range(40)}
        waiting = reader.send_fetch(positions, max_wait_ms=60_000, min_bytes=300)
        for index in (3, 17, 39, 3):
            assert writer.produce("wide", batch(b"v" * 30), index).error == 0
        answer = reader.receive_fetch(waiting)
        got = {index: len(fetched.batches) for (_, index), fetched in answer.partitions.items() if fetched.batches}
        assert set(got) <= {3, 17, 39}
        assert sum(len(fetched.records or b"") for fetched in answer.partitions.values()) >= 300


def test_the_broker_serves_more_partitions_and_connections_than_descriptors(tmp_path: Path) -> None:
    """All partitions are there after kill -9 and stay, whatever connects; refused connections succeed later."""
    node = Node(tmp_path, {})
    node.prefix = ("prlimit", "--nofile=256:256")
    node.start()
    try:
        with node.connect() as client:
            client.create_topic("many", partitions=300)
            written = {("many", index): batch(b"v") for index in range(300)}
            assert {answer.error for answer in client.produce_all(written).values()} == {0}
        node.kill()
        node.start()
        crowd = [node.connect() for _ in range(300)]
        with crowd[0] as client:
            written = {("many", index): batch(b"v") for index in range(300)}
            assert {answer.error for answer in client.produce_all(written).values()} == {0}
        for connection in crowd:
            connection.close()
        eventually(lambda: neighbour_is_served(node))
    finally:
        node.close()


def neighbour_is_served(node: Node) -> bool:
    try:
        node.check_neighbour()
    except (ConnectionClosed, OSError):
        return False
    return True
