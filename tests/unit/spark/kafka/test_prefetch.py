"""Working ahead in a thread changes neither items nor order nor errors."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from oncelog.spark.kafka.prefetch import run_ahead


def test_prefetched_items_arrive_in_order() -> None:
    assert list(run_ahead(iter(range(100)))) == list(range(100))


def test_the_next_item_is_prefetched() -> None:
    started = threading.Event()

    def items() -> Iterator[int]:
        yield 1
        started.set()
        yield 2

    ahead = run_ahead(items())
    assert next(ahead) == 1
    assert started.wait(60)
    assert list(ahead) == [2]


def test_prefetching_raises_an_error_only_at_the_item_that_failed() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise OSError("gone")

    ahead = run_ahead(items())
    assert next(ahead) == 1
    with pytest.raises(OSError, match="gone"):
        next(ahead)


def test_stopping_early_does_not_wait_for_the_item_in_progress() -> None:
    release = threading.Event()

    def items() -> Iterator[int]:
        yield 1
        release.wait(60)
        yield 2

    ahead = run_ahead(items())
    assert next(ahead) == 1
    ahead.close()  # type: ignore[attr-defined]
    release.set()
