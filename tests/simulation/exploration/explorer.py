"""Visits every state of a model, breadth first, and says by which shortest trace a promise can be broken.

A model gives its first state, the steps from a state, what is wrong in a state, and which states count as ended.
States are hashed; of two that differ only in the order of the partitions, one is kept.
"""

from __future__ import annotations

import gc
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

S = TypeVar("S", bound=Hashable)


class Step(NamedTuple, Generic[S]):
    """``broken``: the promise that the step itself breaks, if any."""

    label: str
    state: S
    broken: str = ""


class Model(Protocol[S]):
    def first(self) -> S: ...

    def steps(self, state: S) -> Iterable[Step[S]]: ...

    def broken(self, state: S) -> str:
        """The promise that the state breaks; empty if none."""
        ...

    def ended(self, state: S) -> bool: ...

    def mirrored(self, state: S) -> S:
        """The symmetric state."""
        ...


@dataclass(frozen=True)
class Explored:
    """``promise`` is empty if every promise holds; ``trace`` is the shortest way to the breach."""

    states: int
    steps: int
    promise: str = ""
    trace: tuple[str, ...] = ()

    def __str__(self) -> str:
        size = f"{self.states:,} states, {self.steps:,} steps"
        if not self.promise:
            return f"{size}: every promise holds"
        return "\n".join([f"{size}: {self.promise}", *(f"  {n}. {label}" for n, label in enumerate(self.trace, 1))])


CANNOT_END = "from here no state can be reached in which every transaction is ended"


class TooManyStates(Exception):
    """The model is not explored completely, so nothing is known."""


def explore(model: Model[S], *, limit: int) -> Explored:
    """Explore all states, or up to the first breach.

    :raises TooManyStates: there are more than ``limit``.
    """
    collects = gc.isenabled()
    gc.disable()  # all states live until the end: looking for garbage among them takes most of the time
    try:
        return _explore(model, limit)
    finally:
        if collects:
            gc.enable()


def _explore(model: Model[S], limit: int) -> Explored:
    seen = _Seen(model, limit)
    level, steps = [model.first()], 0
    while level:
        following: list[S] = []
        for state in level:
            number = seen.numbers[state]
            for label, reached, broken in model.steps(state):
                steps += 1
                known = seen.find(reached)
                promise = broken or ("" if known is not None else model.broken(reached))
                if promise:
                    return Explored(len(seen.before), steps, promise, (*seen.trace(number), label))
                if known is None:
                    known = seen.add(reached, number, label)
                    following.append(reached)
                seen.before[known].append(number)
        level = following
    stuck = seen.without_end()
    if stuck is not None:
        return Explored(len(seen.before), steps, CANNOT_END, seen.trace(stuck))
    return Explored(len(seen.before), steps)


class _Seen(Generic[S]):
    """The states so far by number, how each was reached first, and from which ones it can be."""

    def __init__(self, model: Model[S], limit: int) -> None:
        self._model = model
        self._limit = limit
        self._parents: list[tuple[int, str]] = []
        self._ended: list[int] = []
        self.numbers: dict[S, int] = {}
        self.before: list[list[int]] = []
        self.add(model.first(), 0, "")

    def find(self, state: S) -> int | None:
        number = self.numbers.get(state)
        return self.numbers.get(self._model.mirrored(state)) if number is None else number

    def add(self, state: S, parent: int, label: str) -> int:
        number = self.numbers[state] = len(self.before)
        if number >= self._limit:
            raise TooManyStates(f"more than {self._limit:,} states")
        self._parents.append((parent, label))
        self.before.append([])
        if self._model.ended(state):
            self._ended.append(number)
        return number

    def trace(self, number: int) -> tuple[str, ...]:
        labels: list[str] = []
        while number:
            number, label = self._parents[number]
            labels.append(label)
        return tuple(reversed(labels))

    def without_end(self) -> int | None:
        """The first state from which no ended one can be reached, found backwards from those."""
        can_end = bytearray(len(self.before))
        for number in self._ended:
            can_end[number] = 1
        waiting = list(self._ended)
        while waiting:
            for number in self.before[waiting.pop()]:
                if not can_end[number]:
                    can_end[number] = 1
                    waiting.append(number)
        stuck = can_end.find(0)
        return None if stuck < 0 else stuck
