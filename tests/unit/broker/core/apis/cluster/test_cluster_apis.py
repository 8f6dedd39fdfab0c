"""Who is who in the cluster, without a broker; expected answers are Apache Kafka's ``KafkaApis``'."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from oncelog.broker.core.cluster.node import SimulatedNode
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work
from oncelog.errors import Error
from oncelog.protocol.generated.describe_cluster_request import DescribeClusterRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.types import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from tests.support.handler_ports import HandlerPorts

NODES = (SimulatedNode(1, "one.example", 9092, "rack-1"), SimulatedNode(2, "two.example", 9093, None))


class ClusterFakes(HandlerPorts):
    """Two nodes; transactions are coordinated by the second one, groups have no coordinator yet."""

    def __init__(self) -> None:
        self.made: list[str] = []
        super().__init__(
            0,
            topics=self,
            metadata=SimpleNamespace(cluster_id="abc", topic=lambda name: name if name in self.made else None),
            nodes=SimpleNamespace(seen_by=lambda context: (NODES, 2), coordinator_of=self._coordinator_of),
        )

    def ensuring_internal(self, topic: str, now_ms: int) -> Work[None]:
        self.made.append(topic)
        yield

    @staticmethod
    def _coordinator_of(context: RequestContext, topic: str, key: str) -> SimulatedNode | None:
        return NODES[1] if topic == TRANSACTION_STATE_TOPIC else None


@pytest.fixture
def ports() -> ClusterFakes:
    return ClusterFakes()


def test_each_key_has_its_coordinator_and_the_internal_topic_is_created_for_it(ports: ClusterFakes) -> None:
    answer = ports.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["a", "b"]), 4)
    found = [(one.key, one.node_id, one.host, one.port, one.error_code) for one in answer.coordinators]
    assert found == [("a", 2, "two.example", 9093, 0), ("b", 2, "two.example", 9093, 0)]
    assert set(ports.made) == {TRANSACTION_STATE_TOPIC}


def test_without_a_coordinator_clients_get_a_retriable_error(ports: ClusterFakes) -> None:
    (found,) = ports.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 6).coordinators
    assert (found.error_code, found.node_id, found.host, found.port) == (Error.COORDINATOR_NOT_AVAILABLE, -1, "", -1)
    assert ports.made == [CONSUMER_OFFSETS_TOPIC]


def test_a_share_coordinator_request_with_a_malformed_key_is_invalid(ports: ClusterFakes) -> None:
    (found,) = ports.ask(FindCoordinatorRequest(key_type=2, coordinator_keys=["g:id:0"]), 6).coordinators
    assert found.error_code == Error.INVALID_REQUEST
    assert not ports.made


@pytest.mark.parametrize("version", range(4))
def test_find_coordinator_below_version_4_answers_a_single_key_with_the_message_none(
    ports: ClusterFakes, version: int
) -> None:
    if version == 0:  # which knows groups only
        assert ports.ask(FindCoordinatorRequest(key="g"), 0).error_code == Error.COORDINATOR_NOT_AVAILABLE
        return
    answer = ports.ask(FindCoordinatorRequest(key="a", key_type=1), version)
    assert (answer.error_code, answer.error_message, answer.node_id) == (0, "NONE", 2)


@pytest.mark.parametrize(
    ("kind", "error"), [(2, Error.MISMATCHED_ENDPOINT_TYPE), (3, Error.UNSUPPORTED_ENDPOINT_TYPE), (1, Error.NONE)]
)
def test_describe_cluster_refuses_endpoint_types_other_than_brokers(
    ports: ClusterFakes, kind: int, error: Error
) -> None:
    answer = ports.ask(DescribeClusterRequest(endpoint_type=kind), 1)
    assert answer.error_code == error
    assert len(answer.brokers) == (2 if error is Error.NONE else 0)


def test_the_cluster_is_described_by_its_nodes(ports: ClusterFakes) -> None:
    answer = ports.ask(DescribeClusterRequest(), 0)
    assert (answer.cluster_id, answer.controller_id) == ("abc", 2)
    rows = [(node.broker_id, node.host, node.port, node.rack) for node in answer.brokers]
    assert rows == [(1, "one.example", 9092, "rack-1"), (2, "two.example", 9093, None)]
