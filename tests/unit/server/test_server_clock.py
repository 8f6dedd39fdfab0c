"""Timeouts last as long as they were meant to, whatever becomes of the wall clock."""

from __future__ import annotations

import pytest

import oncelog
from oncelog.server.nodes import Nodes
from oncelog.server.server import WallClock

HOUR_NS = 3_600_000_000_000


def test_a_clock_that_is_set_is_noticed_once_and_one_that_drifts_is_not() -> None:
    wall, monotonic = 1_700_000_000 * 10**9, 5 * 10**9
    clock = WallClock(lambda: wall, lambda: monotonic)
    for seconds in range(1, 100):
        wall += 10**9 + 10_000 * seconds
        monotonic += 10**9
        assert clock.step_ms() == 0
    wall -= HOUR_NS
    assert abs(clock.step_ms() + 3_600_000) <= 100
    assert clock.step_ms() == 0
    wall += HOUR_NS
    assert abs(clock.step_ms() - 3_600_000) <= 100


@pytest.mark.parametrize("step_ms", [-3_600_000, 3_600_000])
def test_who_waits_for_a_rate_does_so_as_long_whatever_becomes_of_the_clock(step_ms: int) -> None:
    def waits(nodes: Nodes) -> tuple[int, int]:
        server, now_ms = nodes.server, nodes.server.now_ms()
        before = max(server._limits.wait_ms("127.0.0.1", "PLAINTEXT", now_ms) for _ in range(100))
        was = server._wall_clock
        wall, monotonic = 1_700_000_000 * 10**9, 5 * 10**9
        server._wall_clock = WallClock(lambda: wall, lambda: monotonic)
        wall += step_ms * 10**6
        server._mind_the_clock()
        server._wall_clock = was
        return before, server._limits.wait_ms("127.0.0.1", "PLAINTEXT", now_ms + step_ms)

    with oncelog.Broker(settings={"max.connection.creation.rate": "1"}) as broker:
        before, after = broker.on_loop(waits)
    assert before > 0
    assert after == before + 1000
