"""Generators for work that may take long or has to wait: straight-line code that yields.

A generator of type ``Work`` yields

- ``None`` between two chunks: others may go ahead;
- a ``Deferred``: the work continues with the value, or with the exception, once it is resolved;
- a ``Park`` (``parking``): the same with its ``Deferred``; meanwhile the connection starts no other request.

``Tasks.begin`` runs work with other callbacks in between, ``carry_out`` without; ``finished`` runs work that never
waits.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
U = TypeVar("U")
Work = Generator[Any, Any, T]
"""``Any``, because mypy otherwise rejects a ``yield`` without a value."""


def in_parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def groups_in_parts(
    groups: Iterable[T], elements: Callable[[T], Sequence[U]], size: int
) -> Iterator[list[tuple[T, Sequence[U]]]]:
    """Groups with their elements, about ``size`` elements at a time; an empty group counts like an element."""
    part: list[tuple[T, Sequence[U]]] = []
    count = 0
    for group in groups:
        for some in list(in_parts(elements(group), size)) or [()]:
            part.append((group, some))
            count += len(some) or 1
            if count >= size:
                yield part
                part, count = [], 0
    if part:
        yield part


def finished(work: Work[T]) -> T:
    """Do all of the work in this iteration."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: T = end.value
            return result
