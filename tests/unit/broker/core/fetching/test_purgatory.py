"""Parked fetches are woken by their partitions, by time, and forgotten with their connection."""

from collections.abc import Callable
from dataclasses import dataclass

from oncelog.broker.core.fetching.purgatory import LOOKED_AT_IN_A_CHUNK, MAX_WATCHED, FetchPurgatory, ParkedFetch
from oncelog.broker.core.requests.tasks import AT_ONCE, Tasks
from oncelog.runtime.timers import Timers
from oncelog.types import TopicPartition

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


@dataclass
class FakeChannel:
    connection_id: int = 1
    client_host: str = "h"

    def reply(self, slot: int, parts: object) -> None: ...

    def close(self, reason: str) -> None: ...


class Fetch(ParkedFetch[None]):
    """Counts its attempts; satisfied once ``enough`` is set."""

    def __init__(self, purgatory: FetchPurgatory, channel: FakeChannel, *partitions: TopicPartition) -> None:
        super().__init__(channel)
        self.enough = False
        self.attempts: list[bool] = []
        purgatory.park(self, partitions, deadline_ms=100)

    def attempt(self, woken: TopicPartition | None) -> bool:
        self.attempts.append(woken is None)
        return woken is None or self.enough


class Scripted(ParkedFetch[None]):
    """Attempts with a function."""

    def __init__(self, channel: FakeChannel, attempt: Callable[[TopicPartition | None], bool]) -> None:
        super().__init__(channel)
        self._attempt = attempt

    def attempt(self, woken: TopicPartition | None) -> bool:
        return self._attempt(woken)


def test_a_fetch_stays_in_purgatory_until_min_bytes() -> None:
    purgatory = FetchPurgatory(Timers(), Tasks())
    fetch = Fetch(purgatory, FakeChannel(), A, B)
    purgatory.wake(A)
    assert len(purgatory) == 1
    fetch.enough = True
    purgatory.wake(B)
    purgatory.wake(A)
    assert fetch.attempts == [False, False]
    assert len(purgatory) == 0


def test_a_waiting_fetch_is_answered_once_at_its_deadline() -> None:
    timers = Timers()
    purgatory = FetchPurgatory(timers, Tasks())
    fetch = Fetch(purgatory, FakeChannel(), A)
    timers.fire(99)
    assert fetch.attempts == []
    timers.fire(100)
    purgatory.wake(A)
    assert fetch.attempts == [True]


def test_waiting_fetches_of_a_closed_connection_are_dropped_without_an_answer() -> None:
    timers = Timers()
    purgatory = FetchPurgatory(timers, Tasks())
    gone, stays = FakeChannel(1), FakeChannel(2)
    dropped, kept = Fetch(purgatory, gone, A), Fetch(purgatory, stays, A)
    purgatory.drop(gone)
    purgatory.wake(A)
    timers.fire(1000)
    assert dropped.attempts == []
    assert kept.attempts == [False, True]


def test_a_waiting_fetch_receives_the_partition_that_woke_it() -> None:
    purgatory = FetchPurgatory(Timers(), Tasks())
    woken: list[TopicPartition | None] = []

    def attempt(partition: TopicPartition | None) -> bool:
        woken.append(partition)
        return partition is None

    purgatory.park(Scripted(FakeChannel(), attempt), (A, B), deadline_ms=100)
    purgatory.wake(B)
    purgatory.expire_all()
    assert woken == [B, None]


def test_if_too_many_fetches_wait_the_fetch_with_the_most_partitions_is_answered() -> None:
    purgatory = FetchPurgatory(Timers(), Tasks())
    few = Fetch(purgatory, FakeChannel(1), A, B)
    half = tuple(TopicPartition("wide", index) for index in range(MAX_WATCHED // 2))
    wide = Fetch(purgatory, FakeChannel(2), *half)
    assert (few.attempts, wide.attempts) == ([], [])
    wider = Fetch(purgatory, FakeChannel(3), *half, TopicPartition("wide", MAX_WATCHED))
    assert (few.attempts, wide.attempts, wider.attempts) == ([], [], [True])
    purgatory.drop(FakeChannel(2))
    again = Fetch(purgatory, FakeChannel(4), *half)
    assert (again.attempts, len(purgatory)) == ([], 2)


def test_fetches_that_stay_unsatisfied_are_woken_in_chunks() -> None:
    tasks = Tasks()
    purgatory = FetchPurgatory(Timers(), tasks)
    greedy = [Fetch(purgatory, FakeChannel(number), A) for number in range(1000)]
    purgatory.wake(A)
    assert {len(fetch.attempts) for fetch in greedy} == {1}
    other = Fetch(purgatory, FakeChannel(1000), A)
    other.enough = True
    purgatory.wake(A)
    assert (len(other.attempts), len(purgatory)) == (1, 1000)
    assert tasks
    assert sum(len(fetch.attempts) > 1 for fetch in greedy) <= AT_ONCE * LOOKED_AT_IN_A_CHUNK

    greedy[0].enough = greedy[999].enough = True
    purgatory.wake(A)  # some of them have been looked at, and are looked at once more
    tasks.finish()
    assert {len(fetch.attempts) for fetch in greedy[1:999]} == {3}
    assert len(purgatory) == 998

    for number in range(1, 999):
        purgatory.drop(FakeChannel(number))
    purgatory.wake(A)
    tasks.finish()
    assert len(purgatory) == 0
    assert {len(fetch.attempts) for fetch in greedy[1:999]} == {3}


def test_a_fetch_that_is_dropped_while_it_waits_is_not_answered() -> None:
    timers = Timers()
    purgatory = FetchPurgatory(timers, Tasks())
    channel = FakeChannel()
    attempts: list[str] = []

    def ends_both(woken: TopicPartition | None) -> bool:
        attempts.append("first")
        purgatory.forget(second)
        purgatory.forget(second)
        return True

    def never(woken: TopicPartition | None) -> bool:
        attempts.append("second")
        return False

    first, second = Scripted(channel, ends_both), Scripted(channel, never)
    purgatory.park(first, [A], deadline_ms=50)
    purgatory.park(second, [A, B], deadline_ms=50)
    purgatory.wake(A)
    assert attempts == ["first"]
    purgatory.wake(B)
    timers.fire(1000)
    assert attempts == ["first"] and len(purgatory) == 0


def test_a_fetch_whose_connection_ends_during_an_attempt_is_not_attempted_again() -> None:
    purgatory = FetchPurgatory(Timers(), Tasks())
    attempts = []

    def leaves(woken: TopicPartition | None) -> bool:
        attempts.append(woken)
        purgatory.drop(channel)
        return False

    channel = FakeChannel()
    purgatory.park(Scripted(channel, leaves), [A], deadline_ms=100)
    purgatory.wake(A)
    purgatory.wake(A)
    assert attempts == [A]
