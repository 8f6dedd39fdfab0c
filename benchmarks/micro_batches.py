"""Measures micro-batches of 1, 200 and 20,000 rows on Apache Kafka: oncelog, Spark's own connector, and floors.

    python -m benchmarks --only micro-batches [--quick]
    python -m benchmarks.micro_batches [--rounds N] [--rows N]... [--table FILE]    the tables of the reference

One Spark session (``local[2]``) runs the queries in short turns of a few batches, in reversed order in every other
round, so that other load on the machine affects all of them. Two queries are compared by their times in the same round.
Times come from Spark's progress reports, jobs from Spark's status store, and the steps of a transaction from the sink's
own reports. Batches follow one another without a pause. The last figures belong to idle queries: CPU seconds a second
of Spark's driver (JVM and Python) and of the broker.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from confluent_kafka import Producer
from rich.console import Console

from benchmarks import report
from benchmarks.measures import Figures, new_topic
from benchmarks.servers import Kafka, Server, running
from benchmarks.spark import Job

Add = Callable[[str, Figures], None]
PARTITIONS = 2
ROWS = (1, 200, 20_000)
BATCHES = 12
SKIPPED = 8
"""How many batches at the start of a turn are not counted, because the query is still starting."""
WARM_UPS = 1
"""Rounds that are not counted, because Java's JIT compiler is still busy."""

RATE = "Spark's rate source"
FORMAT, EACH, OWN = "`format` sink", "`for_each_batch`", "Spark's own sink"
WRITE = ("kafka", "kafka-each", "format", "each")
"""The sinks that write to a topic."""
PLAIN = "checkpoint as in pipelines"
"""The suffix of a sink's name if its session uses the setting for local checkpoints that pipelines use."""
READY = "a Python source whose rows are there already"
CHAINS: dict[tuple[str, str], str] = {
    ("rate", "noop"): f"{RATE} to `noop`",
    ("rate", "nothing"): f"{RATE} to a Python sink that does nothing",
    ("rate", "nothing-each"): f"{RATE} to a `foreachBatch` that does nothing",
    ("rate", "arrow-each"): f"{RATE} to a `foreachBatch` that calls `toArrow`",
    ("rate", "kafka-each"): f"{RATE} to a `foreachBatch` that writes with Spark's own connector",
    ("rate", "kafka"): f"{RATE} to {OWN}",
    ("rate", "format"): f"{RATE} to our {FORMAT}",
    ("rate", "each"): f"{RATE} to {EACH}",
    ("empty", "noop"): "a Python source with an empty plan to `noop`",
    ("ready", "noop"): f"{READY} to `noop`",
    ("ready", "nothing"): f"{READY} to a Python sink that does nothing",
    ("ready", "arrow-each"): f"{READY} to a `foreachBatch` that calls `toArrow`",
    ("kafka", "noop"): "Spark's own source to `noop`",
    ("oncelog", "noop"): "our source to `noop`",
    ("kafka", "kafka"): f"Spark's own source to {OWN}",
    ("oncelog", "format"): f"our source to our {FORMAT}",
    ("oncelog", "each"): f"our source to {EACH}",
    ("kafka", "kafka-plain"): f"Spark's own source to {OWN}, {PLAIN}",
    ("oncelog", "format-plain"): f"our source to our {FORMAT}, {PLAIN}",
    ("oncelog", "each-plain"): f"our source to {EACH}, {PLAIN}",
}
BESIDE: tuple[tuple[tuple[str, str], tuple[str, str]], ...] = (
    (("rate", "format"), ("rate", "kafka")),
    (("rate", "format"), ("rate", "nothing")),
    (("rate", "each"), ("rate", "kafka")),
    (("rate", "each"), ("rate", "kafka-each")),
    (("rate", "each"), ("rate", "arrow-each")),
    (("rate", "each"), ("rate", "nothing-each")),
    (("rate", "nothing"), ("rate", "kafka")),
    (("rate", "kafka-each"), ("rate", "kafka")),
    (("rate", "arrow-each"), ("rate", "kafka")),
    (("rate", "nothing-each"), ("rate", "kafka")),
    (("oncelog", "noop"), ("kafka", "noop")),
    (("oncelog", "noop"), ("ready", "noop")),
    (("ready", "noop"), ("kafka", "noop")),
    (("oncelog", "format"), ("kafka", "kafka")),
    (("oncelog", "format"), ("ready", "nothing")),
    (("ready", "nothing"), ("kafka", "kafka")),
    (("oncelog", "each"), ("kafka", "kafka")),
    (("oncelog", "each"), ("ready", "arrow-each")),
    (("ready", "arrow-each"), ("kafka", "kafka")),
    (("oncelog", "format-plain"), ("kafka", "kafka")),
    (("oncelog", "each-plain"), ("kafka", "kafka")),
    (("oncelog", "format-plain"), ("kafka", "kafka-plain")),
    (("oncelog", "each-plain"), ("kafka", "kafka-plain")),
)
"""The pairs of chains whose times are compared: oncelog's, Spark's own, and floors, which do the same work but write or
read nothing."""
WHOLE = "whole trigger"
PARTS = (
    "offsets asked for (`latestOffset`)",
    "plan (`queryPlanning`, `getBatch`)",
    "offsets to the checkpoint (`walCommit`)",
    "`addBatch`",
    "of it jobs: ms",
    "of it jobs: number",
    "of it jobs: stages",
    "of it fence",
    "of it marker read, and rows awaited",
    "of it records sent",
    "of it marker added",
    "of it commit",
    "end to the checkpoint (`commitOffsets`)",
    "the rest",
)
CPU = "CPU of the driver"


def speeds(rounds: int, add: Add, *, quick: bool, rows: Sequence[int] = ROWS) -> None:
    """Measure all chains in each round, with batches of each size."""
    rows = (200,) if quick else tuple(rows)
    order = list(CHAINS)
    numbers = range(0 if quick else -WARM_UPS, rounds)
    turns = [
        (number, count, chain) for number in numbers for count in rows for chain in order[:: -1 if number % 2 else 1]
    ]
    with running(Kafka()) as server:
        filled = {count: _filled(server, count, SKIPPED + BATCHES + 4) for count in {200, *rows}}
        stream = {"work": "stream", "skipped": SKIPPED, "batches": BATCHES}
        steps = [_step(server, chain, count) | stream | {"topic": filled[count]} for _, count, chain in turns]
        idle = [("kafka", "noop"), ("oncelog", "noop"), ("kafka", "kafka"), ("oncelog", "format"), ("oncelog", "each")]
        wait = {"work": "idle", "broker": server.pid, "before_s": 1 if quick else 5, "seconds": 2 if quick else 10}
        waits = [chain for number in range(rounds) for chain in idle[:: -1 if number % 2 else 1]]
        steps += [_step(server, chain, 200) | wait | {"topic": new_topic(server, PARTITIONS)} for chain in waits]
        with Job(steps, master="local[2]") as job:
            _take_turns(job, turns, add)
            for chain in waits:
                cost = job.line()
                for who in ("driver", "broker"):
                    add("idle", {f"{CHAINS[chain]}: CPU of the {who}, ms a second": cost[f"{who}_s"] * 1000})


def _take_turns(job: Job, turns: Sequence[tuple[int, int, tuple[str, str]]], add: Add) -> None:
    """Report to ``add`` the times of each batch and the driver's CPU time, and for each pair of chains in ``BESIDE``
    the ratio of their times in the same round. Warm-up rounds are not reported."""
    took: dict[tuple[int, int, tuple[str, str]], float] = {}
    for number, count, chain in turns:
        found = job.line()
        parts = [_parts(batch) for batch in found["batches"]]
        took[number, count, chain] = whole = median(part[WHOLE] for part in parts)
        print(
            f"micro-batches, round {number}: {CHAINS[chain]}, {count} rows: {whole:.0f} ms", file=sys.stderr, flush=True
        )
        if number >= 0:
            for part in parts:
                add(_size(count), {f"{CHAINS[chain]}: {name}": ms for name, ms in part.items()})
            add(_size(count), {f"{CHAINS[chain]}: {CPU}": found["cpu_s"] * 1000})
    for number, count, chain in took:
        for beside in (beside for mine, beside in BESIDE if mine == chain and number >= 0):
            add(_size(count), {_times(chain, beside): took[number, count, chain] / took[number, count, beside]})


def _size(rows: int) -> str:
    return f"{rows:,} row{'s' * (rows > 1)}"


def _times(chain: tuple[str, str], beside: tuple[str, str]) -> str:
    return f"{CHAINS[chain]} / {CHAINS[beside]}"


def _step(server: Server, chain: tuple[str, str], rows: int) -> dict[str, Any]:
    source, sink = chain
    to = new_topic(server, PARTITIONS) if sink.removesuffix("-plain") in WRITE else ""
    return {"source": source, "sink": sink, "rows": rows, "servers": server.bootstrap_servers, "to": to}


def _filled(server: Server, rows: int, batches: int) -> str:
    """Create a topic that contains this many batches of rows. For batches of one row it has one partition, because
    Spark's source reads at least a row from each partition."""
    topic, partitions, records = new_topic(server, min(PARTITIONS, rows)), min(PARTITIONS, rows), rows * batches
    producer = Producer({"bootstrap.servers": server.bootstrap_servers, "queue.buffering.max.messages": 1_000_000})
    for number in range(records):
        producer.produce(topic, b"%0110d" % number, b"%d" % number, partition=number % partitions)
        if number % 1000 == 0:
            producer.poll(0)
    producer.flush()
    return topic


def _parts(batch: Mapping[str, Any]) -> dict[str, float]:
    """The durations of the parts of one micro-batch in ms; :data:`PARTS` has their names."""
    durations, steps = batch["durations"], batch["steps"]
    offsets, end = durations.get("latestOffset", 0), durations.get("commitOffsets", 0)
    plan, wal = durations.get("queryPlanning", 0) + durations.get("getBatch", 0), durations.get("walCommit", 0)
    jobs = [ms for _, ms in batch["jobs"]]
    between = [
        steps.get(until, 0.0) - steps.get(since, 0.0)
        for since, until in (
            ("started", "fenced"),
            ("fenced", "marker-read"),
            ("marker-read", "produced"),
            ("produced", "marker-added"),
            ("marker-added", "committed"),
        )
    ]
    whole, add_batch = durations["triggerExecution"], durations["addBatch"]
    of_jobs = [sum(jobs), len(jobs), sum(stages for stages, _ in batch["jobs"])]
    rest = whole - offsets - plan - wal - add_batch - end
    return {WHOLE: whole} | dict(
        zip(PARTS, [offsets, plan, wal, add_batch, *of_jobs, *between, end, rest], strict=True)
    )


def write_tables(results: report.Results, path: Path) -> None:
    """The tables of the reference, as Markdown: medians, and in brackets the quartiles."""
    found = report.medians(results)
    sizes = [name for name in found if name != "idle"]

    def row(title: str, figure: str, digits: int) -> str:
        return f"| {title} | {' | '.join(_spread(results[size][figure], digits) for size in sizes)} |"

    head = [f"| {' | '.join(sizes)} |", "|---|" + "---:|" * len(sizes)]
    lines = [f"| whole trigger, ms {head[0]}", head[1]]
    lines += [row(name, f"{name}: {WHOLE}", 0) for name in CHAINS.values()]
    lines += ["", f"| CPU of the driver with all its processes, ms a batch {head[0]}", head[1]]
    lines += [row(name, f"{name}: {CPU}", 0) for name in CHAINS.values()]
    lines += ["", f"| whole trigger, how many times as long as | {head[0]}", head[1].replace("|", "|---|", 1)]
    lines += [row(_times(*pair).replace(" / ", " | "), _times(*pair), 2) for pair in BESIDE]
    shown = [chain for chain in CHAINS if chain in (("kafka", "kafka"), ("oncelog", "format"), ("oncelog", "each"))]
    title = f"ms, for {' / '.join(size.split()[0] for size in sizes)} rows"
    lines += ["", f"| {title} | {' | '.join(CHAINS[chain] for chain in shown)} |", "|---|" + "---:|" * len(shown)]
    for part in (*PARTS, WHOLE):
        cells = [" / ".join(f"{found[size][f'{CHAINS[chain]}: {part}']:.0f}" for size in sizes) for chain in shown]
        lines.append(f"| {part} | {' | '.join(cells)} |")
    lines += ["", "| a query that finds nothing: CPU, ms a second | driver | broker |", "|---|---:|---:|"]
    for name in CHAINS.values():
        costs = [results["idle"].get(f"{name}: CPU of the {who}, ms a second") for who in ("driver", "broker")]
        cells = [_spread(cost, 0) for cost in costs if cost]
        lines += [f"| {name} | {' | '.join(cells)} |"] if cells else []
    path.write_text("\n".join(lines) + "\n")


def _spread(values: Sequence[float], digits: int) -> str:
    low, middle, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else [*values] * 3
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.micro_batches", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--quick", action="store_true", help="200 rows, no warm-up")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, action="append", help="rows a batch; may be given several times")
    parser.add_argument("--table", type=Path, metavar="FILE", help="the tables, as Markdown")
    options = parser.parse_args()
    results: dict[str, dict[str, list[float]]] = {}

    def add(name: str, figures: Figures) -> None:
        for figure, value in figures.items():
            results.setdefault(name, {}).setdefault(figure, []).append(value)

    speeds(options.rounds, add, quick=options.quick, rows=options.rows or ROWS)
    report.show(results, Console(width=160))
    if options.table:
        write_tables(results, options.table)


if __name__ == "__main__":
    main()
