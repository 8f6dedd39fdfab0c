"""The same steps on two brokers, one of which may take the short path for what repeats: nobody can tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

Step = TypeVar("Step", contravariant=True)


class Side(Protocol[Step]):
    """A broker and one connection to it; ``repeats`` counts the requests that took the short path."""

    repeats: int

    def __init__(self, *, may_repeat: bool) -> None: ...

    def step(self, step: Step) -> None: ...

    def seen(self) -> Any: ...


def same_on_both(side: type[Side[Any]], steps: Sequence[Any]) -> int:
    """How many took the short path on the side that allows it."""
    sides = [side(may_repeat=False), side(may_repeat=True)]
    for each in sides:
        for step in steps:
            each.step(step)
    repeats = sides[1].repeats
    assert sides[1].seen() == sides[0].seen()
    return repeats
