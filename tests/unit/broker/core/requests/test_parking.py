"""Straight-line code that waits: who may start meanwhile, and until when."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.parking import MAX_PARKS, Park, ParkReason, capacity_to_park, carry_out
from oncelog.broker.core.requests.tasks import Tasks
from oncelog.broker.core.requests.work import Work
from oncelog.runtime.deferred import Deferred
from tests.unit.broker.core.appending.test_validation_thread import Peer


@pytest.fixture
def request_of() -> Callable[[Peer], RequestContext]:
    return lambda peer: RequestContext(peer, 0, 0, 9, 1, "test", 0)


def test_steps_that_need_no_wait_complete_at_once() -> None:
    def steps() -> Work[int]:
        return 7
        yield

    assert carry_out(steps()).value == 7


def test_work_that_runs_to_its_end_at_once_is_not_interleaved_with_other_work() -> None:
    later: Deferred[int] = Deferred()

    def steps() -> Work[int]:
        yield
        value: int = yield later
        yield
        return value

    result = carry_out(steps())
    later.resolve(3)
    assert result.value == 3


@pytest.mark.parametrize("known", [True, False])
def test_interleaved_work_receives_the_value_that_it_waits_for(known: bool) -> None:
    first: Deferred[int] = Deferred.of(2) if known else Deferred()

    def steps() -> Work[int]:
        return (yield first) + 1

    tasks = Tasks()
    result = tasks.begin(steps())
    if not known:
        first.resolve(2)
    tasks.finish()
    assert result.value == 3


@pytest.mark.parametrize("known", [True, False])
def test_interleaved_work_receives_the_failure_of_the_value_that_it_waits_for(known: bool) -> None:
    first: Deferred[int] = Deferred.of_failure(ValueError("expected")) if known else Deferred()

    def steps() -> Work[str]:
        try:
            yield first
        except ValueError as error:
            return str(error)
        return ""

    tasks = Tasks()
    result = tasks.begin(steps())
    if not known:
        first.fail(ValueError("expected"))
    tasks.finish()
    assert result.value == "expected"


def test_a_park_of_interleaved_work_holds_the_connection_until_the_work_continues(
    request_of: Callable[[Peer], RequestContext],
) -> None:
    peer, until = Peer(), Deferred[None]()
    context, held_after = request_of(peer), []

    def steps() -> Work[None]:
        yield Park(context, ParkReason.VALIDATION, until)
        held_after.append(peer.held)

    tasks = Tasks()
    result = tasks.begin(steps(), context)
    assert peer.held == 1
    until.resolve(None)
    tasks.finish()
    assert (held_after, peer.held, result.done) == ([1], 0, True)


def test_a_value_that_is_known_is_sent_into_the_generator_at_once_and_a_later_value_when_it_arrives() -> None:
    later: Deferred[int] = Deferred()

    def steps() -> Work[int]:
        return (yield Deferred.of(2)) * (yield later)

    result = carry_out(steps())
    assert not result.done
    later.resolve(21)
    assert result.value == 42


def test_an_exception_is_raised_in_the_waiting_steps_and_fails_the_result_if_unhandled() -> None:
    first: Deferred[None] = Deferred()
    second: Deferred[None] = Deferred()
    seen: list[str] = []

    def steps() -> Work[None]:
        try:
            yield first
        except ValueError as error:
            seen.append(str(error))
        yield second

    result = carry_out(steps())
    first.fail(ValueError("expected"))
    assert (seen, result.done) == (["expected"], False)
    second.fail(KeyError("not expected"))
    with pytest.raises(KeyError):
        assert result.value


def test_a_park_holds_the_connection_until_the_request_has_continued(
    request_of: Callable[[Peer], RequestContext],
) -> None:
    peer, until = Peer(), Deferred[None]()
    context, held_after = request_of(peer), []

    def steps() -> Work[None]:
        yield Park(context, ParkReason.VALIDATION, until)
        held_after.append(peer.held)

    carry_out(steps())
    assert context.parking is not None
    assert (peer.held, context.parking.count) == (1, 1)
    until.resolve(None)
    assert held_after == [1], "the step behind the park comes first"
    assert (peer.held, context.parking.count) == (0, 0)


@pytest.mark.parametrize("fails", [False, True])
def test_between_two_parks_no_other_request_is_started(
    request_of: Callable[[Peer], RequestContext], fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer, first, second = Peer(), Deferred[None](), Deferred[None]()
    context = request_of(peer)
    released: list[int] = []

    def steps() -> Work[None]:
        yield Park(context, ParkReason.VALIDATION, first)
        yield Park(context, ParkReason.VALIDATION, second)

    result = carry_out(steps())
    monkeypatch.setattr(peer, "resume_requests", released.append)
    first.resolve(None)
    assert released == []
    if fails:
        second.fail(ValueError("the disk"))
    else:
        second.resolve(None)
    assert result.done
    assert released == [0]


def test_a_request_parks_a_limited_number_of_times_in_a_row(request_of: Callable[[Peer], RequestContext]) -> None:
    context = request_of(Peer())
    waits = [Deferred[None]() for _ in range(MAX_PARKS)]
    parks = [Park(context, ParkReason.VALIDATION, until) for until in waits]
    capacity = carry_out(capacity_to_park(context))
    assert not capacity.done
    parks[0].end()
    assert capacity.done
