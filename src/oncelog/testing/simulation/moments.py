"""Decides when a fault begins: now, or while a request is being handled."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

from oncelog.testing.simulation.network import MessageTrigger

if TYPE_CHECKING:
    from oncelog.testing.simulation.world import Simulation

Undo = Callable[[], None]
MOMENTS = ("Produce", "EndTxn", "answer to Produce", "answer to EndTxn", "answer to TxnOffsetCommit")
REQUESTS = ("Produce", "Produce", "EndTxn", "TxnOffsetCommit", "AddPartitionsToTxn", "InitProducerId", "JoinGroup")


def in_the_middle(
    world: Simulation, chance: random.Random, act: Callable[[], None], undo: Undo | None = None
) -> Undo | None:
    """Call ``act`` now, or shortly after the next request or answer of a randomly chosen API has arrived, while work is
    in progress.

    ``undo`` is called some time later, and again when the fault ends.
    """
    lasts = min(20.0, chance.expovariate(1 / 3.0))

    def act_now() -> None:
        if not world.is_calm:
            act()
            if undo is not None:
                later(world, lasts, undo)

    if chance.random() < 0.25:
        act_now()
        return undo
    delay_s = chance.choice([0.0, chance.uniform(0.0, 0.006), chance.uniform(0.0, 0.006)])
    what = chance.choice((*REQUESTS, *MOMENTS))
    world.network.add_trigger(
        MessageTrigger(what, chance.randrange(4), lambda connection: later(world, delay_s, act_now))
    )
    return undo


def later(world: Simulation, seconds: float, act: Callable[[], None]) -> None:
    world.loop.call_later(seconds, act)


__all__ = ["MOMENTS", "REQUESTS", "Undo", "in_the_middle", "later"]
