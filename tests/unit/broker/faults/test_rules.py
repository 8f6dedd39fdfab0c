"""Waiting for a fault."""

from __future__ import annotations

import pytest

from oncelog.broker.faults.rules import Faults


def test_waiting_for_a_fault_returns_the_fault() -> None:
    faults = Faults()
    with faults.lose_answer("Produce") as fault:
        assert faults.strike([fault], None) == [fault]
        assert fault.wait(10) is fault
        assert fault.wait(10)


def test_waiting_for_a_fault_that_does_not_strike_raises_a_timeout() -> None:
    faults = Faults()
    with faults.lose_answer("Produce", times=2) as fault:
        faults.strike([fault], None)
        with pytest.raises(TimeoutError, match=r"struck 1 time.* within 0 s, not 2 times"):
            fault.wait(0, hits=2)
