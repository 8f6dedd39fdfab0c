"""Waiting for a fault."""

from __future__ import annotations

import pytest

from oncelog.broker.faults.rules import Action, Faults


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
        with pytest.raises(TimeoutError, match=r"struck 1 time within 0 s, not 2 times"):
            fault.wait(0, hits=2)


def test_a_fault_is_reported_by_the_call_that_set_it() -> None:
    faults = Faults()
    faults.delay(20, "Produce", client_id="shop")
    faults.delay(30, "Fetch", answer=True)
    faults.lose_answer("EndTxn")
    late, _, lost = faults.of(frozenset(Action))
    faults.strike([late, lost], None)
    faults.strike([late], None)
    assert faults.report() == [
        "delay 20 ms (Produce, client shop) struck 2 times",
        "delay(answer=True) 30 ms (Fetch) struck 0 times",
        "lose_answer (EndTxn) struck 1 time",
    ]
