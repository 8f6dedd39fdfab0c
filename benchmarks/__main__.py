"""Measures throughput, latency, memory and CPU of oncelog, Apache Kafka, Tansu and Spark's own connector, in one run.

    python -m benchmarks [--quick] [--only NAME]... [--rounds N] [--json FILE]

Servers take turns in each round, so that other load on the machine affects all of them; medians are shown. Client and
server share the machine: compare within a run, not across machines. Progress goes to standard error.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from benchmarks import report, requests
from benchmarks.load import BenchmarkError, raw_client
from benchmarks.measures import (
    FULL,
    MEASURES,
    QUICK,
    Figures,
    Size,
    produce_only,
    recovery,
    recovery_of_many_partitions,
    recovery_of_small_batches,
    throughput,
)
from benchmarks.servers import Kafka, Oncelog, Server, Tansu, running
from benchmarks.share_groups import share_groups

WORKS: Mapping[str, Callable[[Server, Size], Figures]] = {**MEASURES, "share-groups": share_groups}
INTERLEAVED = (*WORKS, "requests")
ALONE = {
    "flush": "flush policies compared",
    "recovery": "restart after kill -9",
    "metrics": "what metrics cost",
    "kit": "what faults and nodes cost a broker that has neither",
    "spark": "Spark",
    "json-columns": "Spark, ten columns of JSON",
    "executors": "Spark's executors write, on a cluster",
    "micro-batches": "Spark's micro-batches, small and large",
    "schema-registry": "the schema registry",
    "verify": "oncelog verify on large topics",
    "kills": "Spark's driver killed",
}
LONG = {"soak": "an hour of clients that come and go"}
"""Benchmarks that run only if ``--only`` names them."""


class Run:
    """Collects the figures of all rounds, by server."""

    def __init__(self, size: Size, rounds: int) -> None:
        self.size = size
        self.rounds = rounds
        self.results: dict[str, dict[str, list[float]]] = {}

    def take(self, server: Server, label: str, work: Callable[[Server, Size], Figures]) -> None:
        print(f"{label}: {server.name}", file=sys.stderr, flush=True)
        self.add(server.name, work(server, self.size))

    def add(self, name: str, figures: Figures) -> None:
        for figure, value in figures.items():
            self.results.setdefault(name, {}).setdefault(figure, []).append(value)


SERVERS: dict[str, Callable[[], Server]] = {"oncelog": Oncelog, "kafka": Kafka, "tansu": Tansu}


def interleaved(run: Run, names: list[str], servers_wanted: list[str]) -> None:
    """Run these benchmarks on all wanted servers in turn; all servers stay up, and only one at a time is under load."""
    if "requests" in names:
        try:
            raw_client()
        except BenchmarkError as error:
            print(f"requests: skipped: {error}", file=sys.stderr)
            names = [name for name in names if name != "requests"]
    if not names:
        return
    with ExitStack() as stack:
        servers = [stack.enter_context(running(server)) for server in (SERVERS[w]() for w in servers_wanted)]
        for server in servers if names != ["requests"] else []:  # "requests" warms up before each of its measurements
            print(f"warm-up: {server.name}", file=sys.stderr, flush=True)
            throughput(server, QUICK)  # under load a JVM compiles its hot code, which measurements must not include
        for round_number in range(run.rounds):
            works = [(name, WORKS[name]) for name in names if name != "requests"]
            works += requests.cells(run.size).items() if "requests" in names else ()
            for name, work in works:
                for server in servers:
                    run.take(server, f"round {round_number + 1}, {name}", work)


def flush_policies(run: Run) -> None:
    """Measure production, latency and transactions with each flush policy: the cost of a sync before each
    acknowledgement."""
    with ExitStack() as stack:
        policies = [Oncelog("commit"), Oncelog("interval"), Oncelog("none")]
        servers = [stack.enter_context(running(server)) for server in policies]
        for round_number in range(run.rounds):
            for server in servers:
                for work in (produce_only, MEASURES["latency"], MEASURES["transactions"]):
                    run.take(server, f"round {round_number + 1}, flush policy", work)


def recoveries(run: Run) -> None:
    """Measure starts after kill -9, of oncelog with flush policy ``none`` and of Apache Kafka: neither syncs before it
    acknowledges."""
    for work in (recovery, recovery_of_small_batches, recovery_of_many_partitions):
        for server in (Oncelog("none"), Kafka()):
            with running(server):
                run.take(server, "recovery", work)


def soak_of(run: Run, options: argparse.Namespace) -> None:
    from benchmarks import soak

    soak.hours(run.add, options.chart, quick=options.quick)
    options.chart = None  # soak has drawn its line chart into this file: draw no bar chart over it


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="less load, one round: shows that it works")
    parser.add_argument(
        "--only", action="append", choices=[*INTERLEAVED, *ALONE, *LONG], help="may be given several times"
    )
    parser.add_argument("--rounds", type=int, help="default 3, with --quick 1")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument(
        "--chart", type=Path, metavar="FILE", help="bars of all rates and of CPU, or the lines of soak, as SVG"
    )
    parser.add_argument(
        "--table", type=Path, metavar="FILE", help="where to write the results of raw requests as a Markdown table"
    )
    parser.add_argument("--server", action="append", choices=["oncelog", "kafka", "tansu"], help="default: all three")
    parser.add_argument("--cell", default="", metavar="TEXT", help="of raw requests only cells whose name holds TEXT")
    return parser


def main() -> None:
    options = arguments().parse_args()
    chosen = options.only or [*INTERLEAVED, *ALONE]
    run = Run(
        (QUICK if options.quick else FULL)._replace(cell=options.cell), options.rounds or (1 if options.quick else 3)
    )
    # an exception, so that the benchmarks stop their servers
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("benchmarks: ended by a signal"))
    try:
        interleaved(run, [name for name in INTERLEAVED if name in chosen], options.server or [*SERVERS])
        if "flush" in chosen:
            flush_policies(run)
        if "recovery" in chosen:
            recoveries(run)
        if "metrics" in chosen:
            from benchmarks import metrics

            metrics.costs(run.rounds, run.add, quick=options.quick)
        if "kit" in chosen:
            from benchmarks import kit

            kit.costs(run.rounds, run.add, quick=options.quick)
        if "schema-registry" in chosen:
            from benchmarks import schema_registry

            schema_registry.speeds(run.rounds, run.add, quick=options.quick)
        if "verify" in chosen:
            from benchmarks import verify

            verify.speeds(run.rounds, run.add, quick=options.quick)
        if "soak" in chosen:
            soak_of(run, options)
        if "executors" in chosen:
            from benchmarks import executors

            executors.speeds(run.rounds, run.add, quick=options.quick)
        if "json-columns" in chosen:
            from benchmarks import json_columns

            json_columns.speeds(run.rounds, run.add, quick=options.quick)
        if "micro-batches" in chosen:
            from benchmarks import micro_batches

            micro_batches.speeds(run.rounds, run.add, quick=options.quick)
        if "spark" in chosen or "kills" in chosen:
            from benchmarks import spark

            if "spark" in chosen:
                spark.speeds(run.rounds, run.add, quick=options.quick)
            if "kills" in chosen:
                spark.kills(run.add, quick=options.quick)
    except BenchmarkError as error:
        sys.exit(f"benchmarks: {error}")
    finally:
        if run.results:
            report.show(run.results, Console(width=None if sys.stdout.isatty() else 160))
            if options.json:
                report.write_json(run.results, options.json)
            if options.chart:
                report.write_chart(run.results, options.chart)
            if options.table:
                report.write_cells(run.results, options.table)


if __name__ == "__main__":
    main()
