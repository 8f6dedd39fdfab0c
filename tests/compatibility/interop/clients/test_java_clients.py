"""Apache Kafka's Java client, unmodified, against our broker: both group protocols in one JVM."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oncelog import Broker
from tests.compatibility.interop.clients.java_programs import start_program

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def flows(tmp_path_factory: pytest.TempPathFactory, kafka_jars: Path) -> Iterator[dict[str, Any]]:
    """What each flow saw, by group protocol."""
    folder = tmp_path_factory.mktemp("java")
    beats = {"group.consumer.min.heartbeat.interval.ms": 200, "group.consumer.heartbeat.interval.ms": 200}
    with Broker(folder / "data", settings={"group.initial.rebalance.delay.ms": 0, **beats}) as broker:
        program = start_program("JavaFlows.java", broker.bootstrap_servers, folder=folder)
        try:
            _, output = program.communicate(timeout=240)
        finally:
            program.kill()
            program.wait()
        assert program.returncode == 0, output
        yield json.loads(output.splitlines()[-1])


@pytest.fixture(scope="module", params=["classic", "consumer"])
def protocol(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture
def seen(flows: dict[str, Any], protocol: str) -> dict[str, Any]:
    of_protocol: dict[str, Any] = flows[protocol]
    return of_protocol


def numbered(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


def test_idempotent_records_arrive_once_and_in_order(seen: dict[str, Any]) -> None:
    assert seen["idempotent"] == {"values": numbered("", 300), "sequences": [299]}


def test_group_shares_partitions_and_survivor_takes_all(seen: dict[str, Any], protocol: str) -> None:
    assert seen["rebalance"] == {
        "shares": [[4], [2, 2], [4]],
        "values": 120,
        "most": 1,
        "committed": [30, 30, 30, 30],
        "group": [protocol.title(), "Stable", 1],
    }


def test_read_committed_consumer_reads_only_committed_transactions(seen: dict[str, Any]) -> None:
    committed, aborted, last = (numbered(outcome, 30) for outcome in ("committed", "aborted", "last"))
    assert seen["transactions"] == {"committed": committed + last, "all": committed + aborted + last}


def test_consume_transform_produce_commits_offsets_with_its_output(seen: dict[str, Any]) -> None:
    assert seen["consume_transform_produce"] == {
        "out": sorted(numbered("V", 20)),
        "count": 20,
        "all": 40,
        "offsets": [[], [10, 10]],
    }


def test_zombie_is_fenced_and_its_records_stay_invisible(seen: dict[str, Any]) -> None:
    assert seen["zombie"] == {"fenced": "ProducerFencedException", "committed": ["fresh"]}


def test_member_that_left_cannot_commit_offsets_in_a_transaction(seen: dict[str, Any]) -> None:
    assert seen["stale_member"] == {"refused": "CommitFailedException", "offsets": 0}
