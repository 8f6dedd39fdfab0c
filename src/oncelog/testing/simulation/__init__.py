"""Deterministic simulation: programs, oncelog's clients and broker run in one thread, in virtual time, from one seed.

Called by users' tests and by the project's own. It may import ``broker.server``, ``broker.faults`` and ``client``.
"""

from __future__ import annotations

from oncelog.testing.simulation.faults import KINDS, PlannedFault
from oncelog.testing.simulation.network import NetworkModel
from oncelog.testing.simulation.run import (
    Failure,
    SimulationSettings,
    check_deterministic,
    explore,
    run_simulation,
    simulate,
    simulation_folder,
)
from oncelog.testing.simulation.simulation_errors import Nondeterministic, NotSimulated, SimulationError
from oncelog.testing.simulation.world import SimulatedProcess, Simulation

__all__ = [
    "KINDS",
    "Failure",
    "NetworkModel",
    "Nondeterministic",
    "NotSimulated",
    "PlannedFault",
    "SimulatedProcess",
    "Simulation",
    "SimulationError",
    "SimulationSettings",
    "check_deterministic",
    "explore",
    "run_simulation",
    "simulate",
    "simulation_folder",
]
