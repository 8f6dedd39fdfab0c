"""An iterator that works one item ahead in a thread.

Called for reading partitions: the network's next answer arrives while the last one is decoded and sent to the JVM.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class _End:
    """Behind the last item."""


_END = _End()


def run_ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items in the same order, each under way before it is asked for.

    An exception of ``items`` is raised where it would have been. Closing the iterator early does not wait for the item
    under way.
    """
    pool = ThreadPoolExecutor(1, thread_name_prefix="oncelog-prefetch")
    try:
        upcoming: Future[T | _End] = pool.submit(_next, items)
        while not isinstance(item := upcoming.result(), _End):
            upcoming = pool.submit(_next, items)
            yield item
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _next(items: Iterator[T]) -> T | _End:
    return next(items, _END)
