"""From one node to three, as ``docs/how-to/outgrow.md`` says; then the first one is killed and never comes back.

A transaction that was begun on our broker is committed on the remaining two nodes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from oncelog import Admin, Broker, Consumer
from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.transactional_producer import RawTransactionalProducer, new_pid
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType
from oncelog.protocol.generated.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from oncelog.types import TopicPartition
from tests.compatibility.interop.promote.test_promote import NEVER_MS, promote, wait_for_leader
from tests.integration.cli.conftest import call
from tests.integration.client.reading import values
from tests.support.apache_kafka import ApacheKafka, run_tool

pytestmark = [pytest.mark.kafka, pytest.mark.soak]

TIMEOUT_S = 240
TOOLS = "org.apache.kafka.tools"
ORDERS = [TopicPartition("orders", number) for number in range(2)]
SENT = [b"%d" % number for number in range(20)]


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[list[ApacheKafka]]:
    """Nodes that are not started yet; the first one is for the promoted folder."""
    first = ApacheKafka(tmp_path / "1", heap="256m")
    found = [first]
    try:
        yield found
    finally:
        for node in found:
            node.kill()


def write(data: Path) -> RawTransactionalProducer:
    """Records, a group in the middle of them, and a transaction that stays open."""
    with Broker(data, settings={"group.initial.rebalance.delay.ms": 0}) as broker:
        connection = RawConnection(broker.bootstrap_servers)
        connection.create_topic("orders", 2)
        for value in SENT:
            assert connection.produce("orders", batch(value)).error == 0
        assert read_on(broker.bootstrap_servers, 5) == SENT[:5]
        producer = RawTransactionalProducer(connection, "shop", version_2=True, timeout_ms=NEVER_MS).init()
        producer.send("orders", b"before", partition=1)
        connection.close()
        return producer


def read_on(servers: str, count: int) -> list[bytes | None]:
    found: list[bytes | None] = []
    with Consumer(
        "orders",
        bootstrap_servers=servers,
        group_id="billing",
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        enable_auto_commit=False,
        default_api_timeout_ms=TIMEOUT_S * 1000,
    ) as consumer:
        while len(found) < count:
            found.append(next(consumer).value)
            consumer.commit()
    return found


def voters(connection: RawConnection) -> int:
    """How many controllers vote."""
    topics = [TopicData("__cluster_metadata", [PartitionData(0)])]
    answer = connection.ask(DescribeQuorumRequest(topics), 2)
    return len(answer.topics[0].partitions[0].current_voters)


def join(tmp_path: Path, number: int, cluster_id: str, controllers: str) -> ApacheKafka:
    """Another node, broker and controller, that becomes a voter by itself."""
    return ApacheKafka(
        tmp_path / str(number),
        {
            "node.id": str(number),
            "controller.quorum.bootstrap.servers": controllers,
            "controller.quorum.auto.join.enable": "true",
            "min.insync.replicas": "2",
            "default.replication.factor": "3",
            "broker.session.timeout.ms": "6000",
        },
        heap="256m",
        joins=cluster_id,
    )


def test_a_promoted_node_grows_to_a_cluster_of_three_and_the_first_node_can_leave(
    tmp_path: Path, nodes: list[ApacheKafka]
) -> None:
    known = write(tmp_path / "data")
    first = nodes[0]
    reported = promote(
        tmp_path / "data", tmp_path / "node", "--listen", first.bootstrap_servers, "--controller", first.controller
    )
    first.start_promoted(tmp_path / "node", timeout_s=TIMEOUT_S)
    nodes += [join(tmp_path, number, reported["cluster_id"], first.controller) for number in (2, 3)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda node: node.start(), nodes[1:]))
    connection = RawConnection(first.bootstrap_servers)
    eventually(lambda: voters(connection) == 3, TIMEOUT_S)

    give_three_replicas(first, tmp_path / "three.json")
    call("topics", "alter", "__transaction_state", "--set-config", "min.insync.replicas=2",
         "-b", first.bootstrap_servers).done()  # fmt: skip
    call("configs", "alter", "broker", "default", "--set-config", "min.insync.replicas=2",
         "-b", first.bootstrap_servers).done()  # fmt: skip
    first.kill()

    left = nodes[1].bootstrap_servers
    with Admin(bootstrap_servers=left, default_api_timeout_ms=TIMEOUT_S * 1000) as admin:

        def led_by_others() -> bool:
            topics = admin.describe_topics(["orders", "__transaction_state", "__consumer_offsets"])
            return all(item.leader in (2, 3) for topic in topics for item in topic.partitions)

        eventually(led_by_others, TIMEOUT_S)
        resource = ConfigResource(ConfigResourceType.TOPIC, "orders")
        least = admin.describe_configs([resource], names=["min.insync.replicas"])[resource]["min.insync.replicas"]
        assert least.value == "2"
        shop = admin.describe_transactions(["shop"])[0]
        assert (shop.state, shop.producer_id, shop.partitions) == ("Ongoing", known.pid, (ORDERS[1],))
        coordinator = node_of(nodes, admin, shop.coordinator)
        leader = node_of(nodes, admin, admin.describe_topics(["orders"])[0].partitions[1].leader)
    producer = RawTransactionalProducer(
        RawConnection(leader.bootstrap_servers), "shop", version_2=True, timeout_ms=NEVER_MS
    )
    producer.pid, producer.epoch, producer.sequences = known.pid, known.epoch, known.sequences
    wait_for_leader(producer.connection, "orders", 1)
    producer.send("orders", b"after", partition=1)
    assert values(left, "orders", 2) == SENT
    producer.connection = RawConnection(coordinator.bootstrap_servers)
    producer.commit()
    eventually(lambda: values(left, "orders", 2) == [*SENT, b"before", b"after"], TIMEOUT_S)
    assert new_pid(producer.connection) > known.pid
    assert sorted(map(bytes, filter(None, read_on(left, 17)))) == sorted([*SENT[5:], b"before", b"after"])


def give_three_replicas(node: ApacheKafka, plan: Path) -> None:
    """As the page says."""
    with Admin(bootstrap_servers=node.bootstrap_servers) as admin:
        topics = admin.describe_topics(admin.list_topics(internal=True))
    orders = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    moves = [
        {"topic": topic.name, "partition": item.partition, "replicas": orders[item.partition % 3]}
        for topic in topics
        for item in topic.partitions
    ]
    plan.write_text(json.dumps({"version": 1, "partitions": moves}))
    servers = ("--bootstrap-server", node.bootstrap_servers)
    file = ("--reassignment-json-file", str(plan))
    run_tool(f"{TOOLS}.reassign.ReassignPartitionsCommand", *servers, *file, "--execute", "--throttle", "50000000")

    def verified() -> bool:
        reported = run_tool(f"{TOOLS}.reassign.ReassignPartitionsCommand", *servers, *file, "--verify")
        return reported.count(" is completed.") == len(moves)

    eventually(verified, TIMEOUT_S)
    elect = ("--election-type", "PREFERRED", "--all-topic-partitions")
    run_tool(f"{TOOLS}.LeaderElectionCommand", *servers, *elect)


def node_of(nodes: list[ApacheKafka], admin: Admin, node_id: int) -> ApacheKafka:
    (port,) = (node.port for node in admin.describe_cluster().nodes if node.node_id == node_id)
    return next(node for node in nodes if node.bootstrap_servers.endswith(f":{port}"))
