"""A deferred value is given once, to all who asked, in the order in which they asked."""

import pytest

from oncelog.deferred import Deferred, gather
from oncelog.errors import InvariantError


def test_callbacks_run_in_order_before_and_after_the_value_is_known() -> None:
    deferred: Deferred[int] = Deferred()
    seen: list[tuple[str, int]] = []
    deferred.then(lambda value: seen.append(("a", value)))
    deferred.then(lambda value: seen.append(("b", value)))
    deferred.resolve(7)
    deferred.then(lambda value: seen.append(("c", value)))
    assert seen == [("a", 7), ("b", 7), ("c", 7)]


def test_second_resolve_is_refused() -> None:
    deferred = Deferred.of(1)
    with pytest.raises(InvariantError):
        deferred.resolve(2)


def test_value_is_not_readable_before_it_is_known() -> None:
    with pytest.raises(InvariantError):
        _ = Deferred[int]().value


def test_gather_keeps_order_and_waits_for_the_last() -> None:
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
