"""An iterator that fetches one item ahead in a thread.

Used to read partitions: the network's next answer arrives while the last one is decoded and sent to the JVM.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class _End:
    """The sentinel after the last item."""


_END = _End()


def run_ahead(items: Iterator[T], *, wait: bool = False) -> Generator[T, None, None]:
    """The same items in the same order, each requested before the caller asks for it.

    An exception of ``items`` is raised at its place. Closing the iterator early does not wait for the item under way,
    unless ``wait`` is set: for items from a stream that the caller continues to use.
    """
    pool = ThreadPoolExecutor(1, thread_name_prefix="oncelog-prefetch")
    try:
        upcoming: Future[T | _End] = pool.submit(_next, items)
        while not isinstance(item := upcoming.result(), _End):
            upcoming = pool.submit(_next, items)
            yield item
    finally:
        pool.shutdown(wait=wait, cancel_futures=True)


def _next(items: Iterator[T]) -> T | _End:
    return next(items, _END)
