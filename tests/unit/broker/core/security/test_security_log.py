"""Refusals in the log: a flood of them is counted instead of written."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from oncelog.broker.core.security.security_log import LINES_IN_A_PERIOD, PERIOD_MS, SecurityLog
from oncelog.protocol.acls import AclResourceType, Operation

PEER = SimpleNamespace(client_host="10.0.0.9")


def test_suppressed_lines_are_counted_and_reported_in_the_next_period(caplog: pytest.LogCaptureFixture) -> None:
    log = SecurityLog()
    for _ in range(LINES_IN_A_PERIOD + 3):
        log.refused_login(PEER, "wrong password", 1000)
        log.refused_connection("10.0.0.9", "too many", 1000)
        log.refused_operation("User:a", "h", Operation.READ, AclResourceType.TOPIC, "t", "Fetch", 1000)
    assert len(caplog.messages) == LINES_IN_A_PERIOD
    caplog.clear()
    log.refused_login(PEER, "wrong password", 1000 + PERIOD_MS - 1)
    assert caplog.messages == []
    log.refused_login(PEER, "wrong password", 1000 + PERIOD_MS)
    left_out = 3 * (LINES_IN_A_PERIOD + 3) - LINES_IN_A_PERIOD + 1
    assert caplog.messages == [
        f"{left_out} more refusals were not logged",
        "login refused from 10.0.0.9: wrong password",
    ]


def test_a_period_lasts_as_long_when_the_clock_is_set(caplog: pytest.LogCaptureFixture) -> None:
    log = SecurityLog()
    for _ in range(LINES_IN_A_PERIOD):
        log.refused_login(PEER, "wrong password", 1000)
    log.clock_was_set(-500)
    caplog.clear()
    log.refused_login(PEER, "wrong password", 500 + PERIOD_MS - 1)
    assert caplog.messages == []
    log.refused_login(PEER, "wrong password", 500 + PERIOD_MS)
    assert len(caplog.messages) == 2
