"""Generators for work that may take long or has to wait: straight-line code that yields.

A generator of type ``Work`` yields

- ``None`` between two chunks: other work may run;
- a ``Deferred``: the work continues with the value, or with the exception, once it is resolved;
- a ``Park`` (``parking``): the same with the park's ``Deferred``; meanwhile the connection starts no other request.

``Tasks.begin`` runs work with other callbacks in between, ``carry_out`` without them; ``finished`` runs work that never
waits.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
Work = Generator[Any, Any, T]
"""The yield type is ``Any``, because mypy otherwise rejects a ``yield`` without a value."""


def in_chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The items in chunks of ``size``: work on the broker's state yields after each chunk."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def finished(work: Work[T]) -> T:
    """Run work that never waits to its end in this iteration, and return the result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: T = end.value
            return result
