"""A partition without a leader, as a full disk leaves it: commands show the others instead of waiting for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import oncelog
from oncelog.client.blocking import Admin
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.types import TopicPartition
from tests.integration.cli.conftest import Outcome, call

Ask = Callable[..., Outcome]
LONE = "oncelog: not checked, because they have no leader: t-1"


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """A command on a cluster in which partition 1 of topic t has lost its node."""
    with oncelog.Broker(nodes=2) as broker:
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.create_topics([NewTopic("t", replica_assignments={0: [1], 1: [2]})])
            positions = {TopicPartition("t", 0): 0, TopicPartition("t", 1): 0}
            broker.move_coordinator(1, group="g")
            admin.alter_consumer_group_offsets("g", positions)
        broker.node(2).stop()
        server = broker.node(1).bootstrap_servers
        yield lambda *words: call(*words, "-b", server, "-X", "default.api.timeout.ms=5000")


def test_topics_describe_leaves_out_offsets_of_a_leaderless_partition(ask: Ask) -> None:
    (topic,) = ask("topics", "describe", "t", "--json").done().json
    assert [(item["leader"], item["high_watermark"]) for item in topic["partitions"]] == [(1, 0), (None, None)]
    last = ask("topics", "describe", "t").done().out.splitlines()[-1]
    assert last.split() == ["1", "-", "2", "2", "-", "-", "-"]


def test_cluster_shows_a_partition_without_a_leader(ask: Ask) -> None:
    rows = ask("cluster", "--partitions", "--json").done().json["partitions"]
    assert {row["partition"]: row["leader"] for row in rows if row["topic"] == "t"} == {0: 1, 1: None}


def test_offsets_of_other_partitions_are_shown_and_the_leaderless_partition_reported(ask: Ask) -> None:
    shown = ask("get-offsets", "-t", "t", "--json")
    assert shown.json == [{"topic": "t", "partition": 0, "offset": 0}]
    assert shown.sentence() == LONE


def test_hanging_transactions_are_searched_in_partitions_with_a_leader(ask: Ask) -> None:
    shown = ask("transactions", "find-hanging", "-t", "t")
    assert shown.code == 1
    assert shown.err.splitlines()[-1] == LONE


def test_a_group_is_described_without_the_lag_of_leaderless_partitions(ask: Ask) -> None:
    (group,) = ask("groups", "describe", "g", "--json").done().json
    assert [(item["partition"], item["end"], item["lag"]) for item in group["offsets"]] == [(0, 0, 0), (1, None, None)]
