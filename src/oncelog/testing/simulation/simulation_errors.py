"""Errors of a simulation itself, as opposed to those of the simulated programs."""

from __future__ import annotations

from oncelog.errors import OncelogError


class SimulationError(OncelogError):
    """The simulation cannot continue: nothing will ever happen again, time is up, or something real was requested."""


class NotSimulated(SimulationError):
    """Code inside the simulation requested a thread, a real socket, or something else that is not simulated."""


class Nondeterministic(SimulationError):
    """Two runs of a seed differ: something is not deterministic, for instance the real clock or the order of a set."""


__all__ = ["Nondeterministic", "NotSimulated", "SimulationError"]
