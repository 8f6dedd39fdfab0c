"""Each contradiction is found under its name, with the fewest events that show it; a sound history has none."""

from __future__ import annotations

from pathlib import Path

import pytest

from oncelog.testing.history import (
    AbortAsked,
    Aborted,
    Acknowledged,
    Began,
    Breach,
    CommitAsked,
    Committed,
    Event,
    History,
    Opened,
    Position,
    Read,
    ReadAll,
    Rebalanced,
    Sent,
    Started,
    check,
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
    "committed to nothing": ("torn", 3, [Began(0, "p"), Sent(A, P, "p", 0), CommitAsked(0), Committed(0), *ALL]),
    "torn where the partitioner chose": (
        "torn", 7,
        [Began(0, "p"), Sent(A, TopicPartition("t", -1), "p", 0), Sent(B, TopicPartition("t", -1), "p", 0),
         Acknowledged(A, P, 0), Acknowledged(B, Q, 0), CommitAsked(0), Read("all", P, 0, A), *ALL],
    ),
    "stored in another order": ("out-of-order", 5, [*PLAIN[:2], Read("all", P, 0, B), Read("all", P, 1, A), *ALL]),
    "read again": ("out-of-order", 2, [Read("r", P, 1, B), Read("r", P, 0, A)]),
    "position back": ("non-monotonic", 2, [Position("g", P, 5), Position("g", P, 7), Position("g", P, 6)]),
    "skipped": (
        "skipped", 4,
        [Started("r", P, 0), Read("r", P, 1, B), Read("all", P, 0, A), Read("all", P, 1, B), *ALL],
    ),
}  # fmt: skip


def kinds(breaches: list[Breach]) -> list[str]:
    return list(dict.fromkeys(breach.kind for breach in breaches))


@pytest.mark.parametrize("name", BROKEN)
def test_contradiction_is_found_with_the_fewest_events_that_show_it(name: str) -> None:
    kind, size, events = BROKEN[name]
    breach = next(one for one in check(History(events)) if one.kind == kind)
    assert len(breach.events) == size, breach.events
    assert [one.detail for one in check(History(breach.events), kinds=[kind])] == [breach.detail]
    for event in breach.events:
        without = [one for one in breach.events if one is not event]
        assert breach.detail not in [one.detail for one in check(History(without), kinds=[kind])]


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
    "positions of two groups": [Position("g", P, 5), Position("h", P, 3), Position("g", Q, 0), Position("g", P, 5)],
    "begins late": [Started("r", P, 1), Read("r", P, 1, B), Read("all", P, 0, A), Read("all", P, 1, B), *ALL],
    "not read to the end": [*PLAIN, Read("r", P, 0, A)],
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_history_has_no_breach(name: str) -> None:
    assert check(History(SOUND[name])) == []


def test_producer_without_idempotence_may_repeat() -> None:
    _, _, events = BROKEN["twice"]
    assert kinds(check(History(events), kinds=["doubled"], repeats=["p"])) == []


def test_history_is_kept_in_a_file(tmp_path: Path) -> None:
    history = History([event for _, _, events in BROKEN.values() for event in events])
    history.add(Rebalanced("r", (P, Q)))
    history.save(tmp_path / "history.jsonl")
    loaded = History.load(tmp_path / "history.jsonl")
    assert loaded.events == history.events
    assert loaded.begin("p") == 1


def test_edn_has_an_operation_for_each_transaction_and_reader() -> None:
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
