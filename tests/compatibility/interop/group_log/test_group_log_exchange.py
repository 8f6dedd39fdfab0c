"""Groups move between our broker and Apache Kafka with their partition of ``__consumer_offsets``, without any loss.

One side is given groups of every kind and stopped, and its segment replaces the other's. The other side must report the
same about every group: state, generation or epoch, members, offsets, and which offsets a transaction holds back.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.wire import TRANSIENT, RawConnection
from oncelog.protocol.generated.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from oncelog.protocol.generated.consumer_group_describe_request import ConsumerGroupDescribeRequest
from oncelog.protocol.generated.delete_groups_request import DeleteGroupsRequest
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.list_groups_request import ListGroupsRequest
from tests.compatibility.interop.group_log.test_group_log import OFFSETS_TOPIC, SETTINGS, TOPICS, A, Side
from tests.integration.conformance.nodes import Node, new_node

pytestmark = pytest.mark.kafka

ONE_PARTITION = {**SETTINGS, "offsets.topic.num.partitions": "1"}
CLASSIC, STATIC, EMPTY, CONSUMER, SIMPLE, PENDING, DELETED = (
    f"exchange-{kind}" for kind in ("classic", "static", "empty", "consumer", "simple", "pending", "deleted")
)
GROUPS = [CLASSIC, STATIC, EMPTY, CONSUMER, SIMPLE, PENDING, DELETED]
SESSION_MS = 300_000


def start(node: Node, *, first: bool = True) -> None:
    """Run until both coordinators answer; the first run creates the topics."""
    node.start()
    with RawConnection(node.bootstrap_servers) as connection:
        for topic, partitions in TOPICS.items() if first else ():
            connection.create_topic(topic, partitions)
        for key_type in (0, 1):
            connection.ask_until(FindCoordinatorRequest("x", key_type), 1, lambda a: not a.error_code)
        connection.ask_until(DeleteGroupsRequest(["x"]), 2, lambda a: not {r.error_code for r in a.results} & TRANSIENT)


def fill(node: Node) -> None:
    """A group of every kind."""

    def side(group: str) -> Side:
        return Side(node.bootstrap_servers, group)

    for group, instance_id in ((CLASSIC, None), (STATIC, "i"), (EMPTY, None)):
        s = side(group)
        member = s.joined(instance_id=instance_id, session_timeout_ms=SESSION_MS)
        s.ask(s.sync(member.member_id, 1, {member.member_id: b"given"}, instance_id=instance_id), 5)
        s.ask(s.commit(7, member_id=member.member_id, generation=1, instance_id=instance_id), 9)
        if group is EMPTY:
            s.ask(s.leave((member.member_id, None)), 5)
        s.close()
    s = side(CONSUMER)
    s.ask(s.consumer_beat("a", 0), 1)
    s.ask(s.consumer_beat("b", 0, instance_id="j"), 1)
    s.ask(s.consumer_beat("a", 2, owned=[0, 1, 2, 3]), 1)
    s.ask(s.commit(8, member_id="a", generation=2), 9)
    s.close()
    for group in (SIMPLE, DELETED):
        s = side(group)
        s.ask(s.commit(9, metadata="note"), 9)
        s.ask(s.commit(10, 4, partition=1, retention_ms=86_400_000), 4)
        if group is DELETED:
            s.ask(DeleteGroupsRequest([group]), 2)
        s.close()
    s = side(PENDING)
    for tid, partition, commit in (("committed", 0, True), ("aborted", 1, False), ("open", 2, None)):
        tid = f"exchange-{tid}"
        started = s.connection.ask_until(
            InitProducerIdRequest(tid, 600_000), 2, lambda a: a.error_code not in TRANSIENT
        )
        producer = (started.producer_id, started.producer_epoch)
        s.connection.ask_until(AddOffsetsToTxnRequest(tid, *producer, PENDING), 2, lambda a: not a.error_code)
        s.ask(s.txn_commit(11, producer, 3, transactional_id=tid, partition=partition), 3)
        if commit is not None:
            s.ask(EndTxnRequest(tid, *producer, commit), 2)
            stable = s.fetch(9, topics={A: [partition]}, stable=True)

            def ended(s: Side = s, stable: Any = stable) -> bool:
                return not s.connection.ask(stable, 9).groups[0].topics[0].partitions[0].error_code

            eventually(ended)
    s.close()


def described(node: Node) -> dict[str, Any]:
    """What the broker says about the groups, except what belongs to its own topics."""
    reported: dict[str, Any] = {}
    with RawConnection(node.bootstrap_servers) as connection:
        rows = connection.ask_until(ListGroupsRequest(), 5, lambda a: not a.error_code).groups
    reported["listed"] = sorted((g.group_id, g.group_type, g.group_state) for g in rows if g.group_id in GROUPS)
    for group in GROUPS:
        side = Side(node.bootstrap_servers, group)
        offsets = side.connection.ask(side.fetch(9, stable=True), 9).groups[0]
        asked = side.fetch(9, topics={A: [0, 1, 2]}, stable=True)
        stable = side.connection.ask(asked, 9).groups[0].topics[0].partitions
        classic = side.connection.ask(DescribeGroupsRequest([group]), 5).groups[0]
        consumer = side.connection.ask(ConsumerGroupDescribeRequest([group]), 1).groups[0]
        side.close()
        reported[group] = {
            "offsets": sorted(
                (p.partition_index, p.committed_offset, p.metadata) for t in offsets.topics for p in t.partitions
            ),
            "stable": [(p.committed_offset, p.error_code) for p in stable],
            "classic": (
                classic.group_state,
                classic.protocol_data,
                [(m.member_id, m.group_instance_id, m.client_host, m.member_assignment) for m in classic.members],
            ),
            "consumer": (
                consumer.error_code,
                consumer.group_state,
                consumer.group_epoch,
                consumer.assignment_epoch,
                sorted((m.member_id, m.instance_id, m.member_epoch) for m in consumer.members),
            ),
        }
    return reported


@pytest.fixture
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[Node, Node]]:
    """The side that writes and the side that takes over."""
    nodes = [new_node(kind, ONE_PARTITION) for kind in request.param]
    try:
        yield nodes[0], nodes[1]
    finally:
        for node in nodes:
            node.close()


def take_over(source: Path, target: Path) -> None:
    """Copy one partition's records into another's folder, which keeps its identity and rebuilds the rest."""
    for old in target.iterdir():
        if old.name.startswith("0000") or old.name == "leader-epoch-checkpoint":
            old.unlink()
    for segment in source.glob("*.log"):
        shutil.copy(segment, target)
    for mark in target.parent.glob(".kafka_cleanshutdown"):
        mark.unlink()
    for checkpoint in target.parent.glob("recovery-point-offset-checkpoint"):
        checkpoint.unlink()


@pytest.mark.parametrize("pair", [("oncelog", "kafka"), ("kafka", "oncelog")], indirect=True, ids=" to ".join)
def test_groups_stay_the_same_when_kafka_or_oncelog_takes_over_their_partition(pair: tuple[Node, Node]) -> None:
    writer, successor = pair
    start(writer)
    fill(writer)
    before = described(writer)
    assert [row[0] for row in before["listed"]] == sorted(set(GROUPS) - {DELETED})
    assert before[PENDING]["stable"] == [(11, 0), (-1, 0), (-1, 88)]
    writer.stop()
    start(successor)
    successor.stop()
    for topic in (OFFSETS_TOPIC, "__transaction_state"):  # an open transaction comes with its coordinator's records
        for source in writer.data_folder.glob(f"{topic}-*"):
            take_over(source, successor.data_folder / source.name)
    start(successor, first=False)
    assert described(successor) == before
