"""Measures ten columns that are written as JSON and read back into columns, with oncelog's connector and with Spark's
own, on Apache Kafka.

    python -m benchmarks --only json-columns [--quick]

One query writes ``to_json`` of ten cached columns; the other applies ``from_json`` to every record and drops the rows.
The same queries without a source or sink show the cost of Spark's own work on JSON, which is the same for every
connector.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from benchmarks.measures import Figures, new_topic
from benchmarks.servers import Kafka, running
from benchmarks.spark import PARTITIONS, Job

Add = Callable[[str, Figures], None]
NAMES = {
    "noop": "Spark alone, to `noop`",
    "kafka": "Spark's own connector",
    "oncelog": 'format("oncelog")',
    "executors": "oncelog, `write`",
}
READERS = ("noop", "kafka", "oncelog")
WARM_UPS = 2
"""Rounds that are not counted, because Java's JIT compiler is still busy."""


def speeds(rounds: int, add: Add, *, quick: bool) -> None:
    """Measure rows a second, and CPU seconds of all Spark processes (``local[2]``) for a million rows; contenders take
    turns."""
    rows = 50_000 if quick else 500_000
    warm_ups = 0 if quick else WARM_UPS
    with running(Kafka()) as server:
        filled = new_topic(server, PARTITIONS)
        common = {"servers": server.bootstrap_servers, "rows": rows}
        steps: list[dict[str, Any]] = [{**common, "work": "write_columns", "format": "kafka", "topic": filled}]
        names: list[tuple[str, str]] = []
        for _ in range(rounds + warm_ups):
            for form in NAMES:
                steps.append(
                    {**common, "work": "write_columns", "format": form, "topic": new_topic(server, PARTITIONS)}
                )
                names.append((form, "write, to_json"))
            for form in READERS:
                steps.append({**common, "work": "read_columns", "format": form, "topic": filled})
                names.append((form, "read, from_json"))
        with Job(steps, master="local[2]") as job:
            job.line()
            for number, (form, work) in enumerate(names):
                printed = job.line()
                counted = number >= len(names) // (rounds + warm_ups) * warm_ups
                took = f"{printed['seconds']:.1f} s, CPU {printed['cpu_s']:.1f} s{'' if counted else ', warm-up'}"
                print(f"ten columns of JSON, {work}, {NAMES[form]}: {took}", file=sys.stderr, flush=True)
                if counted:
                    figures = {
                        "rows_per_s": rows / printed["seconds"],
                        "cpu_s_per_million_rows": printed["cpu_s"] * 1e6 / rows,
                    }
                    where = f"ten columns of JSON, {work}"
                    add(NAMES[form], {f"{where}: {figure}": value for figure, value in figures.items()})
