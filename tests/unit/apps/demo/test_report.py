"""What the report shades: how long nothing from a killed process came through."""

from __future__ import annotations

from pathlib import Path

from oncelog.apps.demo.charts import ChartBar
from oncelog.apps.demo.history import COMMITTED, Span
from oncelog.apps.demo.report import downtimes
from oncelog.apps.demo.run import DELAYS, ENRICHED, FLIGHTS, Crash, DemoOutcome, DemoSettings


def test_downtime_lasts_from_a_kill_to_the_next_commit_of_the_killed_pipeline() -> None:
    outcome = DemoOutcome(DemoSettings(folder=Path(), flights=0), "b:1", started_at=1000.0)
    outcome.spans = {
        FLIGHTS: [Span("producer", 1_001_000, 1_002_000, COMMITTED), Span("producer", 1_003_500, 1_004_000, COMMITTED)],
        ENRICHED: [Span("e", 1_004_500, 1_005_000, "aborted"), Span("e", 1_006_000, 1_007_000, COMMITTED)],
        DELAYS: [Span("d", 1_008_000, 1_009_000, COMMITTED)],
    }
    outcome.crashes = [Crash(1001.5, "producer", ""), Crash(1004.0, "driver", ""), Crash(1008.5, "writer", "")]
    assert downtimes(outcome, 20.0) == [
        ChartBar(1.5, 4.0, "down", "producer down: 2.5 s until the next commit"),
        ChartBar(4.0, 7.0, "down", "driver down: 3.0 s until the next commit"),
        ChartBar(8.5, 20.0, "down", "writer down: 11.5 s until the next commit"),
    ]
