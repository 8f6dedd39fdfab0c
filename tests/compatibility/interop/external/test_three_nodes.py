"""Other projects' tests that need three brokers, against three nodes of ours: franz-go's, and kafkajs while leaders
move.

franz-go's module includes its tests, which take a cluster from their environment; `make soak` runs them, against three
real Apache Kafkas, too. kafkajs publishes none, so those flows are ours, in `make interop`. librdkafka's own: ``python
-m tests.compatibility.interop.librdkafka``.
"""

from __future__ import annotations

import json
import re
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oncelog import Broker
from oncelog.broker.faults.control import FaultControl
from tests.compatibility.interop.external.test_external_clients import HERE, franz_go_module, kafkajs_module, needs, run
from tests.support.kafka_cluster import KafkaCluster

FRANZ_GO_TESTS = "TestTxnEtl|TestGroupETL|TestIssue434|TestConsume|TestAddRemovePartitions|TestGroupSimple|Test848"
COMMITTED = sorted(value for value in "124578" for _ in range(3))


@pytest.fixture
def three() -> Iterator[Broker]:
    with Broker(nodes=3, settings={"group.initial.rebalance.delay.ms": 0}) as broker:
        yield broker


@pytest.fixture(params=["oncelog", pytest.param("kafka", marks=pytest.mark.kafka)])
def servers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Three nodes of ours, and three Apache Kafkas: what fails on both is the suite's fault."""
    if request.param == "oncelog":
        yield request.getfixturevalue("three").bootstrap_servers
        return
    with KafkaCluster(tmp_path, {"group.initial.rebalance.delay.ms": "0"}) as cluster:
        yield cluster.bootstrap_servers


@pytest.mark.soak
def test_the_tests_of_franz_go_pass_on_three_nodes(servers: str) -> None:
    go, folder = needs("go", "Go 1.24 or later"), franz_go_module()
    program = folder / "kgo.test"
    run(go, "test", "-c", "-o", program, "github.com/twmb/franz-go/pkg/kgo", folder=folder)
    environment = {"KGO_SEEDS": servers, "KGO_TEST_RECORDS": "500", "KGO_LOG_LEVEL": "none"}
    reported = run(program, "-test.v", "-test.run", FRANZ_GO_TESTS, folder=folder, more=environment, timeout_s=600)
    passed = set(re.findall(r"--- PASS: (\S+)", reported))
    assert {"TestTxnEtl", "TestTxnEtl/range/848", "TestGroupETL", "TestGroupETL/cooperative-sticky"} <= passed


@pytest.mark.external
def test_kafkajs_loses_and_duplicates_nothing_while_leaders_move_and_nodes_die(three: Broker) -> None:
    node, folder = needs("node", "Node.js 18 or later"), kafkajs_module()
    shutil.copy(HERE / "kafkajs_cluster.js", folder)
    control = FaultControl(three.faults, "127.0.0.1", 0)
    try:
        name = uuid.uuid4().hex[:8]
        reported = run(node, "kafkajs_cluster.js", three.bootstrap_servers, control.address, name, folder=folder)
    finally:
        control.stop()
    seen: dict[str, Any] = json.loads(reported)
    assert seen == {
        "leader_moves": [str(number) for number in range(12)],
        "leader_dies": [str(number) for number in range(6)],
        "group_coordinator_moves": [str(number) for number in range(9)],
        "transactions_while_coordinators_move": COMMITTED,
    }
