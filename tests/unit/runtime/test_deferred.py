"""A deferred value is delivered once, to everybody who asked, in the order in which they asked."""

import pytest

from oncelog.errors import InvariantError
from oncelog.runtime.deferred import Deferred, gather


def test_callbacks_run_in_order_whether_they_are_added_before_or_after_the_value_is_known() -> None:
    deferred: Deferred[int] = Deferred()
    seen: list[tuple[str, int]] = []
    deferred.then(lambda value: seen.append(("a", value)))
    deferred.then(lambda value: seen.append(("b", value)))
    deferred.resolve(7)
    deferred.then(lambda value: seen.append(("c", value)))
    assert seen == [("a", 7), ("b", 7), ("c", 7)]


def test_resolving_a_deferred_twice_is_refused() -> None:
    deferred = Deferred.of(1)
    with pytest.raises(InvariantError):
        deferred.resolve(2)


def test_reading_the_value_of_a_deferred_before_it_is_known_is_refused() -> None:
    with pytest.raises(InvariantError):
        _ = Deferred[int]().value


def test_gather_keeps_the_order_of_its_deferreds_and_waits_for_the_last() -> None:
    first: Deferred[str] = Deferred()
    second: Deferred[str] = Deferred()
    both = gather([first, second])
    second.resolve("second")
    assert not both.done
    first.resolve("first")
    assert both.value == ["first", "second"]
    assert gather([]).value == []


def test_flat_map_waits_for_the_inner_value() -> None:
    outer: Deferred[int] = Deferred()
    inner: Deferred[int] = Deferred()
    result = outer.flat_map(lambda value: inner.map(lambda other: value + other))
    outer.resolve(1)
    assert not result.done
    inner.resolve(2)
    assert result.value == 3


def test_an_exception_in_a_callback_reaches_only_waiters_for_its_result(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shared: Deferred[int] = Deferred()
    failures: list[Exception] = []
    seen: list[int] = []
    shared.map(lambda value: value // 0).then(seen.append, failures.append)
    shared.flat_map(lambda value: Deferred.of(value // 0)).then(seen.append, failures.append)
    gather([shared.map(lambda value: value // 0), Deferred.of(1)]).then(lambda _: None, failures.append)
    shared.then(lambda value: seen.append(value // 0))
    shared.then(seen.append)
    shared.resolve(7)
    assert [type(failure) for failure in failures] == [ZeroDivisionError] * 3
    assert seen == [7]
    assert [record.name for record in caplog.records] == ["oncelog.runtime.deferred"]
    for late in (
        shared.map(lambda value: value // 0),
        shared.flat_map(lambda value: Deferred.of(value // 0)),
        gather([Deferred.of(1), shared.map(lambda value: value // 0)]),
    ):
        with pytest.raises(ZeroDivisionError):
            _ = late.value
    assert shared.flat_map(lambda value: Deferred.of(value + 1)).value == 8
