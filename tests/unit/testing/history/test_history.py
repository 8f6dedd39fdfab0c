"""Each contradiction is found under its name, with the fewest events that show it; a sound history has none."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from oncelog.client.core.consumer.subscription import ConsumerRebalanceListener
from oncelog.testing.history import (
    AbortAsked,
    Aborted,
    Acknowledged,
    Anomaly,
    Began,
    CommitAsked,
    Committed,
    Event,
    GroupOffset,
    History,
    Opened,
    Read,
    ReadAll,
    Rebalanced,
    Sent,
    Started,
    check,
    recorded,
    to_edn,
)
from oncelog.types import TopicPartition

P, Q = TopicPartition("t", 0), TopicPartition("t", 1)
A, B = b"a", b"b"
ALL = [ReadAll("all", P), ReadAll("all", Q)]
UNCOMMITTED = Opened("everything", "read_uncommitted")

COMMITTED: list[Event] = [
    Began(0, "p"), Sent(A, P, "p", 0), Sent(B, Q, "p", 0), Acknowledged(A, P, 0), Acknowledged(B, Q, 0), CommitAsked(0),
    Committed(0),
]  # fmt: skip
PLAIN: list[Event] = [Sent(A, P, "p"), Sent(B, P, "p"), Acknowledged(A, P, 0), Acknowledged(B, P, 1)]


def aborted_then_committed() -> list[Event]:
    return [
        Began(0, "p"), Sent(A, P, "p", 0), Sent(B, P, "p", 0), Acknowledged(A, P, 0), AbortAsked(0), Aborted(0),
        Began(1, "p"), Sent(A, P, "p", 1), Sent(B, P, "p", 1), Acknowledged(A, P, 4), Acknowledged(B, P, 5),
        CommitAsked(1), Committed(1),
    ]  # fmt: skip


BROKEN: dict[str, tuple[str, int, list[Event]]] = {
    "acknowledged and gone": ("lost", 2, [*PLAIN, Read("all", P, 1, B), *ALL]),
    "another in its place": (
        "lost", 4, [*PLAIN, UNCOMMITTED, Read("everything", P, 0, B), ReadAll("everything", P)],
    ),
    "committed and gone": ("lost", 4, [*COMMITTED, Read("all", P, 5, A), *ALL]),
    "twice": ("doubled", 4, [*PLAIN, Read("all", P, 0, A), Read("all", P, 1, B), Read("all", P, 2, A), *ALL]),
    "aborted": (
        "aborted-read", 3,
        [Began(0, "p"), Sent(A, P, "p", 0), AbortAsked(0), Aborted(0), Read("r", P, 0, A)],
    ),
    "before its commit": (
        "aborted-read", 2, [Began(0, "p"), Sent(A, P, "p", 0), Read("r", P, 0, A), CommitAsked(0), Committed(0)],
    ),
    "torn": ("torn", 5, [*COMMITTED[:3], CommitAsked(0), Read("all", P, 0, A), *ALL]),
    "aborted, although it was sent again": (
        "aborted-read", 3, [*aborted_then_committed(), Read("r", P, 0, A)],
    ),
    "twice, once of the aborted transaction": (
        "doubled", 4,
        [*aborted_then_committed(), Read("all", P, 0, A), Read("all", P, 4, A), Read("all", P, 5, B), *ALL],
    ),
    "of two that were sent again one is gone": ("lost", 4, [*aborted_then_committed(), Read("all", P, 4, A), *ALL]),
    "committed to nothing": ("torn", 3, [Began(0, "p"), Sent(A, P, "p", 0), CommitAsked(0), Committed(0), *ALL]),
    "torn where the partitioner chose": (
        "torn", 7,
        [Began(0, "p"), Sent(A, TopicPartition("t", -1), "p", 0), Sent(B, TopicPartition("t", -1), "p", 0),
         Acknowledged(A, P, 0), Acknowledged(B, Q, 0), CommitAsked(0), Read("all", P, 0, A), *ALL],
    ),
    "stored in another order": ("out-of-order", 5, [*PLAIN[:2], Read("all", P, 0, B), Read("all", P, 1, A), *ALL]),
    "read again": ("out-of-order", 2, [Read("r", P, 1, B), Read("r", P, 0, A)]),
    "position back": ("non-monotonic", 2, [GroupOffset("g", P, 5), GroupOffset("g", P, 7), GroupOffset("g", P, 6)]),
    "skipped": (
        "skipped", 4,
        [Started("r", P, 0), Read("r", P, 1, B), Read("all", P, 0, A), Read("all", P, 1, B), *ALL],
    ),
}  # fmt: skip


def kinds(anomalies: list[Anomaly]) -> list[str]:
    return list(dict.fromkeys(anomaly.kind for anomaly in anomalies))


@pytest.mark.parametrize("name", BROKEN)
def test_a_contradiction_in_a_history_is_found_with_the_fewest_events_that_show_it(name: str) -> None:
    kind, size, events = BROKEN[name]
    anomaly = next(one for one in check(History(events)) if one.kind == kind)
    assert len(anomaly.events) == size, anomaly.events
    assert [one.detail for one in check(History(anomaly.events), kinds=[kind])] == [anomaly.detail]
    for event in anomaly.events:
        without = [one for one in anomaly.events if one is not event]
        assert anomaly.detail not in [one.detail for one in check(History(without), kinds=[kind])]


SOUND: dict[str, list[Event]] = {
    "plain": [*PLAIN, Read("all", P, 0, A), Read("all", P, 1, B), *ALL],
    "committed": [*COMMITTED, Read("all", P, 0, A), Read("all", Q, 0, B), *ALL],
    "aborted": [*COMMITTED[:5], AbortAsked(0), Aborted(0), *ALL],
    "unknown outcome": [*COMMITTED[:6], *ALL],
    "aborted and read uncommitted": [*COMMITTED[:5], AbortAsked(0), UNCOMMITTED, Read("everything", P, 0, A)],
    "sent twice": [Sent(A, P, "p"), Sent(A, P, "p"), Read("all", P, 0, A), Read("all", P, 1, A), *ALL],
    "never acknowledged": [Sent(A, P, "p"), *ALL],
    "seeks back": [Read("r", P, 3, B), Started("r", P, 0), Read("r", P, 0, A)],
    "rebalanced": [Read("r", P, 3, B), Rebalanced("r", (P,)), Read("r", P, 0, A)],
    "positions of two groups": [
        GroupOffset("g", P, 5),
        GroupOffset("h", P, 3),
        GroupOffset("g", Q, 0),
        GroupOffset("g", P, 5),
    ],
    "begins late": [Started("r", P, 1), Read("r", P, 1, B), Read("all", P, 0, A), Read("all", P, 1, B), *ALL],
    "not read to the end": [*PLAIN, Read("r", P, 0, A)],
    "sent again after an abort": [
        *aborted_then_committed(), Read("all", P, 4, A), Read("all", P, 5, B), UNCOMMITTED, Read("everything", P, 0, A),
        Read("everything", P, 1, B), Read("everything", P, 4, A), Read("everything", P, 5, B), *ALL,
        ReadAll("everything", P),
    ],
    "a part of an aborted transaction sent again": [
        *aborted_then_committed()[:6], Began(1, "p"), Sent(A, P, "p", 1), Acknowledged(A, P, 4), CommitAsked(1),
        Committed(1), Read("all", P, 4, A), *ALL,
    ],
    "sent again after an unknown outcome, and that aborted": [
        Began(0, "p"), Sent(A, P, "p", 0), CommitAsked(0), Read("r", P, 0, A),
        Began(1, "q"), Sent(A, P, "q", 1), AbortAsked(1), Aborted(1),
    ],
    "acknowledged after the next began": [
        Began(0, "p"), Sent(A, P, "p", 0), AbortAsked(0), Aborted(0), Began(1, "p"), Sent(A, P, "p", 1),
        Acknowledged(A, P, 0, 0), Acknowledged(A, P, 2, 1), CommitAsked(1), Committed(1), Read("all", P, 2, A), *ALL,
    ],
    "repeated by the program": [
        Sent(A, P, "p"), Sent(B, P, "p"), Acknowledged(B, P, 0), Sent(A, P, "p"), Acknowledged(A, P, 1),
        Read("all", P, 0, B), Read("all", P, 1, A), *ALL,
    ],
    "all is read again": [*PLAIN, Read("all", P, 0, A), Rebalanced("all", (P,)), Read("all", P, 0, A),
                          Read("all", P, 1, B), *ALL],
    "another run of the reader": [Opened("r", "read_committed"), Read("r", P, 3, B), Opened("r", "read_committed"),
                                  Read("r", P, 0, A)],
}  # fmt: skip


@pytest.mark.parametrize("name", SOUND)
def test_a_correct_history_has_no_anomaly(name: str) -> None:
    assert check(History(SOUND[name])) == []


def test_a_producer_without_idempotence_may_repeat_records() -> None:
    _, _, events = BROKEN["twice"]
    assert kinds(check(History(events), kinds=["doubled"], repeats=["p"])) == []


def test_a_history_can_be_stored_in_a_file_and_read_back(tmp_path: Path) -> None:
    history = History([event for _, _, events in BROKEN.values() for event in events])
    history.add(Rebalanced("r", (P, Q)))
    history.save(tmp_path / "history.jsonl")
    loaded = History.load(tmp_path / "history.jsonl")
    assert loaded.events == history.events
    assert loaded.begin("p") == 2


def test_edn_contains_an_operation_for_each_transaction_and_reader() -> None:
    """The form that Elle's ``list_append`` checks: appends of numbers to keys, and reads of whole lists."""
    history = [*COMMITTED, Sent(b"c", P, "q"), Read("all", P, 0, A), Read("all", Q, 0, B), *ALL]
    assert to_edn(history).splitlines() == [
        '{:index 0, :time 1, :type :invoke, :process 0, :f :txn, :value [[:append "t-0" 1] [:append "t-1" 2]]}',
        '{:index 1, :time 6, :type :ok, :process 0, :f :txn, :value [[:append "t-0" 1] [:append "t-1" 2]]}',
        '{:index 2, :time 7, :type :invoke, :process 1, :f :txn, :value [[:append "t-0" 3]]}',
        '{:index 3, :time 8, :type :invoke, :process 2, :f :txn, :value [[:r "t-0" nil] [:r "t-1" nil]]}',
        '{:index 4, :time 11, :type :ok, :process 2, :f :txn, :value [[:r "t-0" [1]] [:r "t-1" [2]]]}',
        '{:index 5, :time 12, :type :info, :process 1, :f :txn, :value [[:append "t-0" 3]]}',
    ]
    aborted = to_edn([*COMMITTED[:5], AbortAsked(0), Aborted(0)])
    assert [line.split(":type ")[1].split(",")[0] for line in aborted.splitlines()] == [":invoke", ":fail"]


class Member:
    """A consumer of one record, which a group can make read it again."""

    def __init__(self) -> None:
        self.listener: Any = None

    def subscribe(self, topics: Any, listener: Any = None) -> None:
        self.listener = listener

    def assignment(self) -> list[TopicPartition]:
        return [P]

    def getone(self) -> SimpleNamespace:
        return SimpleNamespace(topic=P.topic, partition=P.partition, offset=3, key=None, value=A)

    def seek_to_beginning(self) -> None:
        return None


def test_a_rebalance_that_returns_the_same_partitions_is_recorded() -> None:
    history, reported = History(), list[Any]()

    class Own(ConsumerRebalanceListener):
        def on_partitions_assigned(self, assigned: Any) -> None:
            reported.append(assigned)

    member = Member()
    consumer = recorded(member, history, "c")
    consumer.subscribe(["t"], listener=Own())
    consumer.getone()
    member.listener.on_partitions_assigned([P])
    consumer.getone()
    consumer.seek_to_beginning()
    consumer.getone()
    assert check(history) == []
    assert reported == [[P]]
    consumer.getone()
    assert kinds(check(history)) == ["out-of-order"]


def test_the_order_of_positions_of_two_concurrent_commits_is_not_checked() -> None:
    class Committing:
        def commit(self, offsets: Any) -> None:
            if offsets[P] == 5:
                later.commit({P: 7})

    history = History()
    later = recorded(Committing(), history, "later", group="g")
    recorded(Committing(), history, "earlier", group="g").commit({P: 5})
    assert [event for event in history if isinstance(event, GroupOffset)] == [GroupOffset("g", P, 7)]
    later.commit({P: 6})
    assert kinds(check(history)) == ["non-monotonic"]
