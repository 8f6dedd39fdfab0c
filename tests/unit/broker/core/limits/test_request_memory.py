"""Memory for requests: who waits for it, in which order it is granted, and what is counted though it is too much."""

from __future__ import annotations

from oncelog.broker.core.limits.request_memory import DEFAULT_LIMIT_BYTES, RequestMemory


class Connection:
    granted = False

    def memory_granted(self) -> None:
        self.granted = True


def test_memory_is_granted_in_order_even_if_a_later_request_needs_less() -> None:
    memory = RequestMemory(100, 0)
    first, large, small = Connection(), Connection(), Connection()
    assert memory.reserve(first, 80)
    assert not memory.reserve(large, 60) and not memory.reserve(small, 1)
    assert memory.waiting and memory.wanted_bytes(large) == 60
    assert memory.missing_bytes == 80 + 61 - 100
    memory.release(10)
    assert not large.granted and not small.granted
    memory.release(70)
    assert large.granted and small.granted and not first.granted
    assert (memory.taken_bytes, bool(memory.waiting), memory.missing_bytes) == (61, False, -39)


def test_the_memory_of_complete_requests_delays_others_and_is_never_refused() -> None:
    memory = RequestMemory(100, 0)
    waiting = Connection()
    memory.estimate(150)
    assert not memory.reserve(waiting, 10)
    assert not memory.is_full_of_requests  # it waits for complete requests, which end by themselves
    memory.estimate(-60)
    assert waiting.granted and memory.taken_bytes == 100


def test_request_memory_reports_when_only_incomplete_requests_fill_it() -> None:
    memory = RequestMemory(100, 0)
    assert memory.reserve(Connection(), 95)
    assert not memory.reserve(Connection(), 10)
    assert memory.is_full_of_requests


def test_a_disconnected_client_is_not_waited_for() -> None:
    memory = RequestMemory(100, 0)
    gone, next_one, reported = Connection(), Connection(), []
    memory.released = lambda: reported.append(memory.taken_bytes)
    assert memory.reserve(Connection(), 100)
    assert not memory.reserve(gone, 100) and not memory.reserve(next_one, 50)
    memory.forget(gone)
    memory.release(100)
    assert next_one.granted and not gone.granted
    assert reported == [50]


def test_small_chunks_may_exceed_the_limit_by_a_quarter() -> None:
    memory = RequestMemory(100, 0)
    assert memory.count(125)
    assert not memory.count(1)


def test_a_request_memory_limit_of_0_means_the_default_that_fits_at_least_two_requests() -> None:
    assert RequestMemory(0, 1).limit_bytes == DEFAULT_LIMIT_BYTES
    assert RequestMemory(-1, DEFAULT_LIMIT_BYTES).limit_bytes == 2 * DEFAULT_LIMIT_BYTES
