"""``oncelog reassign`` against a cluster that is written out: moves in progress, and moves that end meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from click.testing import CliRunner

from oncelog.cli import reassign
from oncelog.cli.options import Cluster
from oncelog.client.core.admin_types import (
    ConfigResource,
    PartitionDescription,
    PartitionReassignment,
    TopicDescription,
)
from oncelog.client.core.errors import error_for
from oncelog.errors import Error, OncelogError
from oncelog.types import TopicPartition

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


@dataclass
class Written:
    """An admin client of a cluster with one topic, whose moves are done after being looked at ``rounds`` times."""

    replicas: list[Sequence[int]]
    leader: int = 1
    under_way: dict[TopicPartition, PartitionReassignment] = field(default_factory=dict)
    elected: dict[TopicPartition, Error] = field(default_factory=dict)
    refusal: Error = Error.NONE
    up: Sequence[int] = (1, 2, 3, 4)
    rounds: int = 0
    end: str = "done"
    """Or what somebody else does with the moves: "cancelled", "deleted"."""
    lag: int = 0
    """How many looks at the topic still show its old state."""
    ended: bool = False
    asked: list[dict[TopicPartition, Sequence[int] | None]] = field(default_factory=list)
    others_move: bool = False
    configs: list[tuple[int, dict[str, dict[str, str | None]]]] = field(default_factory=list)
    """Settings by resource, each with how many moves had been requested before."""

    def __enter__(self) -> Written:
        return self

    def __exit__(self, *_: object) -> None: ...

    def list_topics(self, *, internal: bool) -> list[str]:
        return [] if self.ended and self.end == "deleted" else ["t"]

    def describe_topics(self, names: list[str]) -> list[TopicDescription]:
        if not names:
            return []
        if self.ended and self.end == "done":
            self.lag -= 1
            if self.lag < 0:
                for name, nodes in self.asked[-1].items():
                    self.replicas[name.partition] = nodes or ()
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

        return Nodes([Node(number) for number in self.up])

    def list_partition_reassignments(
        self, names: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        if names is None:
            return {TopicPartition("other", 0): PartitionReassignment((1, 2), (2,), ())} if self.others_move else {}
        if not self.asked:
            return self.under_way
        if not self.rounds:
            self.ended = True
            return {}
        self.rounds -= 1
        moves = {name: set(nodes or ()) for name, nodes in self.asked[-1].items()}
        return {
            name: PartitionReassignment(
                tuple(nodes.union(self.replicas[name.partition])),
                tuple(nodes.difference(self.replicas[name.partition])),
                tuple(set(self.replicas[name.partition]).difference(nodes)),
            )
            for name, nodes in moves.items()
        }

    def alter_partition_reassignments(self, wanted: Mapping[TopicPartition, Sequence[int] | None]) -> None:
        self.asked.append(dict(wanted))
        if self.refusal is not Error.NONE:
            raise error_for(self.refusal, "t-0 was not reassigned")

    def alter_configs(self, changes: Mapping[ConfigResource, Mapping[str, str | None]]) -> None:
        self.configs.append((len(self.asked), {item.name: dict(values) for item, values in changes.items()}))

    def elect_leaders(self, names: Iterable[TopicPartition]) -> dict[TopicPartition, Error]:
        return {name: self.elected.get(name, Error.NONE) for name in names}


def run(admin: Written, monkeypatch: pytest.MonkeyPatch, *words: str) -> Any:
    monkeypatch.setattr(Cluster, "admin", lambda _: cast("Any", admin))
    monkeypatch.setattr(reassign, "POLL_S", 0)
    return CliRunner().invoke(reassign.command, words)


def test_a_move_under_way_counts_as_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until then the partition has its old and its new replicas, not all of which will stay."""
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


def test_what_is_still_to_go_is_told_with_the_node_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reassign, "SAY_EVERY_S", 0)
    outcome = run(Written([[1], [2]], rounds=1), monkeypatch, "--nodes", "3,4")
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stderr.splitlines()[0] == ("2 partitions still to go: t-0 waits for node 3; t-1 waits for node 4"), (
        outcome.stderr
    )
    assert "2 partitions moved" in outcome.stderr


def test_a_wait_that_is_over_names_what_is_down_and_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    class Dying(Written):
        def alter_partition_reassignments(self, wanted: Mapping[TopicPartition, Sequence[int] | None]) -> None:
            super().alter_partition_reassignments(wanted)
            self.up = (1, 2, 3)

    outcome = run(Dying([[1]], rounds=10**6), monkeypatch, "--nodes", "4", "--timeout", "0")
    assert isinstance(outcome.exception, OncelogError), outcome.output
    assert str(outcome.exception) == (
        "1 partition still to be moved after --timeout 0 (t-0 waits for node 4, which is not in the cluster now): the "
        "cluster continues with the moves; the same command waits again once all of these nodes are up, and --cancel "
        "ends them"
    )


@pytest.mark.parametrize(("end", "where"), [("cancelled", "t-0 is on 1, not on 4"), ("deleted", "t-0 is gone")])
def test_a_move_that_somebody_else_ended_is_no_move(monkeypatch: pytest.MonkeyPatch, end: str, where: str) -> None:
    monkeypatch.setattr(reassign, "LAG_S", 0)
    outcome = run(Written([[1]], rounds=1, end=end), monkeypatch, "--nodes", "4")
    assert isinstance(outcome.exception, OncelogError), outcome.output
    assert f"({where})" in str(outcome.exception)
    assert "0 partitions moved" in outcome.stderr


def test_a_broker_that_does_not_know_of_the_end_yet_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reassign, "LAG_S", 3600)
    outcome = run(Written([[1]], lag=3), monkeypatch, "--nodes", "4")
    assert outcome.exit_code == 0, outcome.output
    assert "1 partition moved" in outcome.stderr


def test_of_many_partitions_a_sentence_names_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = run(Written([[1]] * 5, rounds=10**6), monkeypatch, "--nodes", "4", "--timeout", "0")
    assert "t-2 waits for node 4; and 2 more)" in str(outcome.exception)


def test_a_node_that_restarts_keeps_its_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    admin = Written([[1, 4]], up=(1, 2, 3))
    assert "node 4 holds replicas, of t-0 for one, and is not in the cluster now" in str(
        run(admin, monkeypatch).exception
    )
    assert admin.asked == []
    assert run(admin, monkeypatch, "--nodes", "1,2,3").exit_code == 0
    assert admin.asked == [{FIRST: (1, 2)}]


def test_a_node_whose_replicas_go_may_be_down(monkeypatch: pytest.MonkeyPatch) -> None:
    move = PartitionReassignment((1, 4, 2), (2,), (4,))
    admin = Written([[1, 2, 4]], up=(1, 2, 3), under_way={FIRST: move})
    outcome = run(admin, monkeypatch)
    assert outcome.exit_code == 0, outcome.output


RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
FROM, TO = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
LIFTED: dict[str, dict[str, str | None]] = {"t": {FROM: None, TO: None}, "": dict.fromkeys(RATES)}


def test_copies_are_throttled_before_they_begin_and_until_they_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Like Kafka's own tool: sources at the leaders, new replicas at the followers."""
    moving = {SECOND: PartitionReassignment((2, 3), (3,), (2,))}
    admin = Written([[1, 2], [2, 3], [4]], under_way=moving, rounds=1)
    outcome = run(admin, monkeypatch, "--nodes", "1,4", "--throttle", "5000")
    assert outcome.exit_code == 0, outcome.output
    (asked,) = admin.asked
    assert set(asked) == {FIRST, SECOND}
    sources = {FIRST: (1, 2), SECOND: (2,)}
    wanted = {
        FROM: ",".join(f"{name.partition}:{node}" for name in asked for node in sources[name]),
        TO: ",".join(
            f"{n.partition}:{node}" for n, nodes in asked.items() for node in nodes or () if node not in sources[n]
        ),
    }
    throttled: dict[str, dict[str, str | None]] = {"t": {**wanted}, "": dict.fromkeys(RATES, "5000")}
    assert admin.configs == [(0, throttled), (1, LIFTED)]


def test_where_nothing_is_copied_nothing_is_throttled(monkeypatch: pytest.MonkeyPatch) -> None:
    admin = Written([[1, 2], [2, 1]])
    assert run(admin, monkeypatch, "--nodes", "1,2", "--replication-factor", "1", "--throttle", "5000").exit_code == 0
    assert len(admin.asked) == 1
    assert admin.configs == [(1, LIFTED)]


def test_a_throttle_stays_while_nobody_waits_and_is_lifted_by_the_same_command(monkeypatch: pytest.MonkeyPatch) -> None:
    admin = Written([[1]])
    words = ("--nodes", "2", "--throttle", "5000")
    assert "--lift-throttle" in run(admin, monkeypatch, *words, "--no-wait").stderr
    assert len(admin.configs) == 1
    admin.replicas = [[2]]
    assert run(admin, monkeypatch, *words).exit_code == 0
    assert admin.configs[1:] == [(1, LIFTED)]
    lifted = run(admin, monkeypatch, "--lift-throttle")
    assert (lifted.exit_code, lifted.stderr) == (0, "the throttle of 1 topic is lifted\n")
    assert json.loads(run(admin, monkeypatch, "--lift-throttle", "--json").stdout) == {"lifted": ["t"]}
    assert admin.configs[2:] == [(1, LIFTED)] * 2


def test_the_rate_stays_while_others_move(monkeypatch: pytest.MonkeyPatch) -> None:
    admin = Written([[1]], others_move=True)
    outcome = run(admin, monkeypatch, "--lift-throttle")
    assert "other partitions are being moved" in outcome.stderr
    assert admin.configs == [(0, {"t": LIFTED["t"]})]
