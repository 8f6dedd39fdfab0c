"""Helpers for tests of code that uses Kafka: a broker with the interface of a test container, faults, and simulation.

The pytest plugin, :mod:`oncelog.pytest_plugin`, has fixtures for all of them.
"""

from __future__ import annotations

from oncelog.apps.proxy.proxy import FaultProxy
from oncelog.broker.faults.rules import Fault, FaultError, Faults
from oncelog.testing.containers import KafkaBroker
from oncelog.testing.simulation import Simulation, simulate

__all__ = ["Fault", "FaultError", "FaultProxy", "Faults", "KafkaBroker", "Simulation", "simulate"]
