"""What can be wrong with a simulation itself, rather than with what it simulates."""

from __future__ import annotations

from oncelog.errors import OncelogError


class SimulationError(OncelogError):
    """The simulation cannot go on: nothing will ever happen again, time is up, or something real was asked for."""


class NotSimulated(SimulationError):
    """Code inside the simulation asked for a thread, a real socket, or another thing that is not simulated."""


class Nondeterministic(SimulationError):
    """The same seed went two ways: something came from outside, as the real clock, or the order of a set."""


__all__ = ["Nondeterministic", "NotSimulated", "SimulationError"]
