"""``oncelog reassign`` against a cluster that is written out: moves under way, and those that end meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from click.testing import CliRunner

from oncelog.cli import reassign
from oncelog.cli.options import Cluster
from oncelog.client.core.admin_types import PartitionDescription, PartitionReassignment, TopicDescription
from oncelog.client.core.errors import error_for
from oncelog.errors import Error
from oncelog.types import TopicPartition

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


@dataclass
class Written:
    """An admin client of a cluster with one topic."""

    replicas: Sequence[Sequence[int]]
    leader: int = 1
    under_way: dict[TopicPartition, PartitionReassignment] = field(default_factory=dict)
    elected: dict[TopicPartition, Error] = field(default_factory=dict)
    refusal: Error = Error.NONE
    asked: list[dict[TopicPartition, Sequence[int] | None]] = field(default_factory=list)

    def __enter__(self) -> Written:
        return self

    def __exit__(self, *_: object) -> None: ...

    def list_topics(self, *, internal: bool) -> list[str]:
        return ["t"]

    def describe_topics(self, names: list[str]) -> list[TopicDescription]:
        partitions = tuple(
            PartitionDescription(number, self.leader, 0, tuple(replicas), tuple(replicas))
            for number, replicas in enumerate(self.replicas)
        )
        return [TopicDescription("t", b"", False, partitions)]

    def describe_cluster(self) -> Any:
        @dataclass
        class Node:
            node_id: int
            rack: None = None

        @dataclass
        class Nodes:
            nodes: list[Node]

        return Nodes([Node(number) for number in (1, 2, 3, 4)])

    def list_partition_reassignments(
        self, names: Iterable[TopicPartition]
    ) -> dict[TopicPartition, PartitionReassignment]:
        return {} if self.asked else self.under_way

    def alter_partition_reassignments(self, wanted: Mapping[TopicPartition, Sequence[int] | None]) -> None:
        self.asked.append(dict(wanted))
        if self.refusal is not Error.NONE:
            raise error_for(self.refusal, "t-0 was not reassigned")

    def elect_leaders(self, names: Iterable[TopicPartition]) -> dict[TopicPartition, Error]:
        return {name: self.elected.get(name, Error.NONE) for name in names}


def run(admin: Written, monkeypatch: pytest.MonkeyPatch, *words: str) -> Any:
    monkeypatch.setattr(Cluster, "admin", lambda _: cast("Any", admin))
    return CliRunner().invoke(reassign.command, words)


def test_a_move_under_way_counts_as_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until then the partition has its old replicas and its new ones, which are not all to be kept."""
    admin = Written([[1, 2, 3, 4]], under_way={FIRST: PartitionReassignment((1, 2, 3, 4), (3, 4), (1, 2))})
    outcome = run(admin, monkeypatch, "--nodes", "3,4")
    assert outcome.exit_code == 0, outcome.output
    assert admin.asked == [{FIRST: (3, 4)}]


def test_a_move_that_ended_before_it_was_cancelled_keeps_no_other_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reassign, "AT_ONCE", 1)
    move = PartitionReassignment((1, 2), (2,), (1,))
    admin = Written([[1, 2], [1, 2]], under_way={FIRST: move, SECOND: move}, refusal=Error.NO_REASSIGNMENT_IN_PROGRESS)
    outcome = run(admin, monkeypatch, "--cancel")
    assert (outcome.exit_code, admin.asked) == (0, [{FIRST: None}, {SECOND: None}]), outcome.output


def test_another_refusal_of_a_cancellation_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    move = PartitionReassignment((1, 2), (2,), (1,))
    admin = Written([[1, 2]], under_way={FIRST: move}, refusal=Error.CLUSTER_AUTHORIZATION_FAILED)
    assert "CLUSTER_AUTHORIZATION_FAILED" in str(run(admin, monkeypatch, "--cancel").exception)


def test_who_does_not_lead_and_what_waits_for_a_leader_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    admin = Written([[1]], leader=-1, elected={FIRST: Error.PREFERRED_LEADER_NOT_AVAILABLE})
    outcome = run(admin, monkeypatch, "--nodes", "2")
    assert "t-0 has no leader" in outcome.output
    assert "the first replica of t-0 does not lead: PREFERRED_LEADER_NOT_AVAILABLE" in outcome.output
