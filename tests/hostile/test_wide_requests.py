"""Requests with many elements: 10,000 partitions or topics are served, and what exceeds the limit is refused by name.

How long each keeps others waiting is measured by ``python -m benchmarks.iterations``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from _pytest.mark import ParameterSet

from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.broker.core.registry import SERVED
from oncelog.protocol.framing import decode_response_header
from oncelog.protocol.messages import TITLES, response_type
from tests.hostile.conftest import Node
from tests.support.wide_requests import Shape, World, build, max_entries, precede, prepare, shapes

TOPICS, PARTITIONS, GROUPS = 20, 100, 20
"""What exists; requests name it again and again."""
SERVED_ENTRIES = 10_000
WITH_ACLS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "group.initial.rebalance.delay.ms": "0",
}
FEWER = {
    "AddPartitionsToTxn 5: n transactions, 1 topics, 1 partitions": "transactions of brokers, not of clients",
    "WriteTxnMarkers 2: n markers, 1 topics, 1 partition_indexes": "markers of brokers, not of clients",
    "OffsetFetch 10: n groups, 1 topics, 1 partition_indexes": "groups, with all of their partitions",
    "DescribeShareGroupOffsets 1: n groups, 1 topics, 1 partitions": "groups, with all of their partitions",
    "AlterReplicaLogDirs 2: n dirs, 1 topics, 1 partitions": "folders, of which a broker has few",
    "AlterPartitionReassignments 1: n topics, 1 partitions, 1 replicas": "each topic counts as three",
    "CreateTopics 7: n topics, 1 assignments, 1 broker_ids": "each topic counts as three; 10,000 partitions in all",
    "CreatePartitions 3: n topics, 1 assignments, 1 broker_ids": "each topic counts as three",
    "AlterClientQuotas 1: n entries, 1 entity": "each entry counts as three",
    "AlterClientQuotas 1: n entries, 1 ops": "each entry counts as three",
}
"""Shapes of which fewer are served, and why."""


class Wide(NamedTuple):
    node: Node
    world: World


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wide]:
    node = Node(tmp_path_factory.mktemp("wide"), WITH_ACLS)
    node.start()
    with node.connect() as client:
        client.create_topic("one")
        world = prepare(client, TOPICS, PARTITIONS, GROUPS)
    yield Wide(node, world)
    node.close()


def each_shape() -> Iterator[ParameterSet]:
    """The first shape of each API; the others in the long form of the tests."""
    known: set[int] = set()
    for shape in shapes():
        if not shape.empty:
            yield pytest.param(shape, id=str(shape), marks=[pytest.mark.soak] if shape.api_key in known else [])
            known.add(shape.api_key)


def served(client: RawConnection, shape: Shape, world: World, entries: int) -> None:
    precede(shape, client, world)
    client.send(shape.api_key, shape.version, build(shape, world, entries).encode(shape.version))
    frame = client.receive_frame()
    _, at = decode_response_header(frame, shape.api_key, shape.version)
    response_type(shape.api_key).decode(frame, shape.version, at)


@pytest.mark.parametrize("shape", list(each_shape()))
def test_a_request_for_ten_thousand_entries_is_served_and_one_above_the_limit_refused(wide: Wide, shape: Shape) -> None:
    node, world = wide
    limit = SERVED[shape.api_key].max_elements
    largest = max_entries(shape, world, limit)
    assert largest >= SERVED_ENTRIES or str(shape) in FEWER
    with node.connect(timeout_s=300) as neighbour, node.connect(timeout_s=300) as client:
        served(client, shape, world, min(largest, SERVED_ENTRIES))
        assert neighbour.produce("one", batch(b"v")).error == 0
        before = node.log_path.stat().st_size
        with pytest.raises((ConnectionClosed, OSError)):
            served(client, shape, world, largest + 1)
        assert neighbour.produce("one", batch(b"v")).error == 0
        eventually(lambda: "request refused" in node.log_path.read_text()[before:])
    refused = node.log_path.read_text()[before:]
    assert f"{TITLES[shape.api_key]}Request" in refused
    assert f"at most {limit} are accepted" in refused
