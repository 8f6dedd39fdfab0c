"""Refusals in the log: each is written once, and then how often it was repeated."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from oncelog.broker.core.security.security_log import PERIOD_MS, REFUSALS_IN_A_PERIOD, SecurityLog
from oncelog.protocol.acls import AclResourceType, Operation
from oncelog.runtime.timers import Timers

PEER = SimpleNamespace(client_host="10.0.0.9")
WRONG_PASSWORD = "login refused from 10.0.0.9: wrong password"


@pytest.fixture
def timers() -> Timers:
    return Timers()


@pytest.fixture
def log(timers: Timers) -> SecurityLog:
    return SecurityLog(timers)


def test_repeated_refusals_are_written_once_and_counted_by_kind(
    log: SecurityLog, timers: Timers, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(58):
        log.refused_login(PEER, "wrong password", 1000)
        log.refused_connection("10.0.0.9", "too many", 1000)
        log.refused_request(PEER, "too long", 1000)
    log.refused_operation("User:a", "h", Operation.READ, AclResourceType.TOPIC, "t", "Fetch", 1000)
    first = [WRONG_PASSWORD, "connection refused from 10.0.0.9: too many", "request refused from 10.0.0.9: too long"]
    assert caplog.messages == [*first, "'User:a' from h may not READ Topic 't' (in a Fetch request)"]
    caplog.clear()
    timers.fire(1000 + PERIOD_MS - 1)
    assert caplog.messages == []
    timers.fire(1000 + PERIOD_MS)
    assert caplog.messages == [f"{line} (57 more times)" for line in first]


def test_a_continuing_refusal_is_counted_in_each_period_and_logged_again_after_a_pause(
    log: SecurityLog, timers: Timers, caplog: pytest.LogCaptureFixture
) -> None:
    for now_ms in range(0, 3 * PERIOD_MS, 1000):
        timers.fire(now_ms)
        log.refused_login(PEER, "wrong password", now_ms)
    timers.fire(3 * PERIOD_MS)
    counts = [9, 10, 10]
    assert caplog.messages == [WRONG_PASSWORD] + [f"{WRONG_PASSWORD} ({count} more times)" for count in counts]
    caplog.clear()
    timers.fire(4 * PERIOD_MS)
    assert timers.next_ms() is None
    log.refused_login(PEER, "wrong password", 5 * PERIOD_MS)
    assert caplog.messages == [WRONG_PASSWORD]


def test_at_most_a_hundred_different_refusals_are_logged_in_a_period(
    log: SecurityLog, timers: Timers, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(REFUSALS_IN_A_PERIOD + 50):
        log.refused_login(PEER, f"reason {number}", 1000)
    assert len(caplog.messages) == REFUSALS_IN_A_PERIOD
    caplog.clear()
    timers.fire(1000 + PERIOD_MS)
    assert caplog.messages == ["50 more refusals were not logged"]
    log.refused_login(PEER, "later", 1000 + PERIOD_MS)
    assert caplog.messages[1:] == ["login refused from 10.0.0.9: later"]


@pytest.mark.parametrize("step_ms", [0, 3_600_000, -3_600_000])
def test_setting_the_clock_does_not_change_the_length_of_a_period(
    log: SecurityLog, timers: Timers, caplog: pytest.LogCaptureFixture, step_ms: int
) -> None:
    for _ in range(2):
        log.refused_login(PEER, "wrong password", 1000)
    timers.shift(step_ms)
    timers.fire(1000 + step_ms + PERIOD_MS - 1)
    assert caplog.messages == [WRONG_PASSWORD]
    timers.fire(1000 + step_ms + PERIOD_MS)
    assert caplog.messages[1:] == [f"{WRONG_PASSWORD} (1 more time)"]
