"""What tests of code that uses Kafka need: the pytest plugin (``plugin``), a broker as from a
container, faults, simulation."""

from __future__ import annotations

from oncelog.faults.proxy import FaultProxy
from oncelog.faults.rules import Fault, FaultError, Faults
from oncelog.testing.brokers import KafkaBroker
from oncelog.testing.simulation import Simulation, simulate

__all__ = ["Fault", "FaultError", "FaultProxy", "Faults", "KafkaBroker", "Simulation", "simulate"]
