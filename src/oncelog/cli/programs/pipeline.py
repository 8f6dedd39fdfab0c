"""``oncelog pipeline``: runs data pipelines on Spark, on the embedded broker or on any Kafka cluster."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import click

from oncelog.cli.doctor.pipeline_doctor import doctor
from oncelog.cli.doctor.pipeline_tables import clean
from oncelog.cli.shared.options import ENVIRONMENT
from oncelog.cli.shared.output import draws_progress, remark
from oncelog.cli.shared.parameters import CommandGroup
from oncelog.cli.shared.registry_option import RegistryAccess, registry_option
from oncelog.errors import ConfigError, OncelogError

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from oncelog.spark.executors import Written
    from oncelog.spark.pipeline import Pipeline
    from oncelog.spark.pipeline.running import RunSettings
    from oncelog.spark.pipeline.series import PipelineSource
    from oncelog.spark.progress import Progress


DATA = Path("oncelog-data")
LISTEN = "127.0.0.1:0"
JVM_ENDS_SECONDS = 10
"""How long a JVM that has stopped answering may take to end, in seconds."""


@click.group("pipeline", cls=CommandGroup)
def command() -> None:
    """Run data pipelines on Spark, exactly once from topic to topic.

    \b
    Examples:
      oncelog pipeline run late_flights.toml --bootstrap-server 127.0.0.1:9092
      oncelog pipeline doctor oncelog-checkpoints/late --bootstrap-server 127.0.0.1:9092
    """


command.add_command(doctor)
command.add_command(clean)


@command.command("run")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--bootstrap-server",
    "-b",
    metavar="HOST:PORT",
    help=f"A Kafka cluster.  [default: ${ENVIRONMENT}, unless --data or --listen is given, or an embedded broker]",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help=f"Run an embedded broker on this data folder.  [default: {DATA}]",
)
@click.option("--listen", metavar="HOST:PORT", help=f"Run an embedded broker that listens here.  [default: {LISTEN}]")
@click.option("--master", metavar="URL", help="A Spark cluster, spark://HOST:PORT; without it this machine.")
@click.option(
    "--checkpoint",
    default="oncelog-checkpoints",
    show_default=True,
    help="Folder for the checkpoint, which remembers how far the query has read.",
)
@click.option("--once", is_flag=True, help="Process the existing records, then stop.")
@click.option("--trigger", default="", metavar="TIME", help="Minimum time between two batches, such as '5 seconds'.")
@click.option("--only", multiple=True, metavar="NAME", help="Run this pipeline of the file; may be repeated.")
@click.option("--spark", "spark_settings", multiple=True, metavar="NAME=VALUE", help="A setting of Spark.")
@click.option(
    "--log",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("oncelog-spark.log"),
    show_default=True,
    help="File for Spark's own log.",
)
@click.option("--metrics", metavar="HOST:PORT", help="Serve metrics and health of the run over HTTP.")
@click.option(
    "--console",
    metavar="URL",
    help="Report to the console at http://HOST:PORT, with the token in $ONCELOG_CONSOLE_TOKEN.",
)
@registry_option
@click.option("--json", "-J", "as_json", is_flag=True, help="One JSON object for each batch.")
def run(
    file: Path,
    bootstrap_server: str | None,
    data: Path | None,
    listen: str | None,
    master: str | None,
    checkpoint: str,
    once: bool,
    trigger: str,
    only: tuple[str, ...],
    spark_settings: tuple[str, ...],
    log: Path,
    metrics: str | None,
    console: str | None,
    schema_registry: RegistryAccess,
    as_json: bool,
) -> None:
    """Run the pipelines of FILE: Python functions with @pipeline, or a TOML file with source, SQL and sink.

    It runs until Ctrl-C, or with --once until everything is processed. Started again, it continues where it stopped:
    each record counts exactly once, whatever was killed.

    \b
    Examples:
      oncelog pipeline run late.toml --bootstrap-server 127.0.0.1:9092
      oncelog pipeline run flights.py --once --data ./data
      oncelog pipeline run flights.py --bootstrap-server kafka:9092 --master spark://spark:7077
    """
    _need_spark()
    from oncelog.spark.pipeline.file import load_pipelines
    from oncelog.spark.pipeline.running import RunSettings

    pipelines = _chosen(load_pipelines(file), only, file)
    settings = _assignments(spark_settings)
    location = _checkpoints(checkpoint)
    with _broker(_cluster(bootstrap_server, data, listen), data or DATA, listen or LISTEN) as servers:
        names = [pipeline.name for pipeline in pipelines]
        with _reporting(console, names) as report, _measured(metrics, names) as measured:
            run_settings = RunSettings(
                servers,
                location,
                once,
                trigger,
                registry=schema_registry,
                report=remark,
            )
            _run(pipelines, run_settings, master, settings, log, as_json, report, measured)


def _need_spark() -> None:
    from importlib.util import find_spec

    if find_spec("pyspark") is None or find_spec("pyarrow") is None:
        raise OncelogError("pipelines need PySpark: install it with pip install 'oncelog[spark]'")
    from oncelog.spark.java import find_java
    from oncelog.spark.versions import check_pyspark

    check_pyspark()

    find_java()


def _chosen(pipelines: list[Pipeline], only: tuple[str, ...], file: Path) -> list[Pipeline]:
    names = [pipeline.name for pipeline in pipelines]
    for name in only:
        if name not in names:
            raise ConfigError(f"--only names {name!r}, but the pipelines of {file} are {', '.join(names)}")
    return [pipeline for pipeline in pipelines if not only or pipeline.name in only]


def _assignments(given: tuple[str, ...]) -> dict[str, str]:
    settings: dict[str, str] = {}
    for assignment in given:
        name, separator, value = assignment.partition("=")
        if not separator or not name.startswith("spark."):
            raise ConfigError(f"--spark takes a setting of Spark as spark.NAME=VALUE, not {assignment!r}")
        settings[name] = value
    return settings


def _checkpoints(given: str) -> str:
    """The folder or URL that contains all checkpoints. A local folder is created, so that a folder that cannot be
    created is refused before Spark starts."""
    if "://" in given:
        return given
    folder = Path(given).resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--checkpoint {given}: the folder cannot be created: {error.strerror}") from error
    return str(folder)


def _cluster(given: str | None, data: Path | None, listen: str | None) -> str | None:
    """The address of the cluster to run on; None for the embedded broker."""
    embedded = [name for name, value in (("--data", data), ("--listen", listen)) if value is not None]
    if given is not None and embedded:
        raise ConfigError(
            f"{' and '.join(embedded)} belong{'s' if len(embedded) == 1 else ''} to the embedded broker, and "
            f"--bootstrap-server {given} names another broker: give one or the other"
        )
    if given is not None or embedded:
        return given
    address = os.environ.get(ENVIRONMENT) or None
    if address is not None:
        remark(f"the pipelines run on {address}, as {ENVIRONMENT} says")
    return address


@contextlib.contextmanager
def _broker(bootstrap_server: str | None, data: Path, listen: str) -> Iterator[str]:
    """The address of the cluster: the given one, or that of a broker started for the run."""
    if bootstrap_server is not None:
        yield bootstrap_server
        return
    from oncelog.broker.server.embedded import Broker

    with Broker(data, listen=listen) as broker:
        remark(f"the embedded broker listens on {broker.bootstrap_servers}, data in {data}")
        yield broker.bootstrap_servers


def _run(
    pipelines: list[Pipeline],
    settings: RunSettings,
    master: str | None,
    spark_settings: dict[str, str],
    log: Path,
    as_json: bool,
    report: Show,
    measured: PipelineSource,
) -> None:
    from oncelog.spark.pipeline.running import check, checkpoint_of, spark_log, start, watch
    from oncelog.spark.pipeline.stopped import Finished
    from oncelog.spark.process import this_process
    from oncelog.spark.session import session

    reported: set[str] = set()
    finished = {pipeline.name: Finished() for pipeline in pipelines}

    def note(name: str, written: Written) -> None:
        finished[name].add(written)
        measured.written(name, written)

    settings = replace(settings, on_written=note)

    def show_progress(progress: Progress) -> None:
        reported.add(progress.pipeline)
        show(progress)
        report(progress)
        measured.progress(progress)

    check(pipelines, settings)
    with _stopping() as stop, _shown(as_json) as show, _jvm_may_end(stop, log):
        with spark_log(log):
            spark = session("oncelog pipeline", master=master, settings=spark_settings)
        try:
            by_name = {pipeline.name: pipeline for pipeline in pipelines}

            def begin(name: str) -> StreamingQuery:
                return start(spark, by_name[name], settings)

            queries = {name: begin(name) for name in by_name}
            measured.running()
            watch(queries, show_progress, begin, ended=stop.is_set, written=settings.written)
            for name in by_name if settings.once and not stop.is_set() else ():
                if name not in reported:
                    remark(f"{name}: nothing new to process")
        finally:
            measured.ended()
            spark.stop()
            this_process().close()
    for pipeline in pipelines if stop.is_set() else ():
        remark(finished[pipeline.name].describe(pipeline.name, checkpoint_of(pipeline, settings)))


@contextlib.contextmanager
def _jvm_may_end(stop: threading.Event, log: Path) -> Iterator[None]:
    """A context in which Spark's JVM may end: together with this process, which was asked to stop, or killed because
    the machine has no memory left.

    :raises OncelogError: the JVM ended without such a request, or never started.
    """
    from py4j.protocol import Py4JError, Py4JNetworkError
    from pyspark.errors import PySparkException, PySparkRuntimeError

    from oncelog.spark.pipeline import PipelineError
    from oncelog.spark.private_apis import driver
    from oncelog.spark.versions import condition_of

    root, refusals = logging.getLogger(), logging.getLogger("oncelog.spark.micro_batches")
    root.addFilter(_not_of_py4j)
    refusals.addFilter(_not_twice)
    logged = log.stat().st_size if log.exists() else 0
    try:
        yield
    except BrokenPipeError:
        raise  # standard output has lost its reader; py4j has no part in this error
    except (ConnectionError, Py4JError, PySparkException, PipelineError) as error:
        if not stop.is_set() and not driver.has_java():
            if isinstance(error, PySparkRuntimeError) and condition_of(error) == "JAVA_GATEWAY_EXITED":
                reason = _why_java_ended(log, logged)
                if reason:
                    raise OncelogError(f"Spark's JVM did not start: {reason} (its log: {log})") from error
                raise OncelogError(f"Spark's JVM did not start; its log {log} says why") from error
            raise
        ending = stop.is_set() or isinstance(error, ConnectionError | Py4JNetworkError)
        if not _jvm_ended(JVM_ENDS_SECONDS if ending else 0):
            raise
        if not stop.is_set():
            raise OncelogError(
                f"Spark's JVM has ended, killed or out of memory (its log: {log}): run the same "
                "command again, and it continues where it was"
            ) from error
    finally:
        root.removeFilter(_not_of_py4j)
        refusals.removeFilter(_not_twice)


def _why_java_ended(log: Path, begin: int) -> str:
    """The message of the exception that ended a JVM, from its log after the position ``begin``; empty if there is
    none."""
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(begin)
        text = file.read().decode(errors="replace")
    found = re.findall(r'^Exception in thread "main" [\w.$]+: (.+)$', text, re.MULTILINE)
    return str(found[-1]) if found else ""


def _not_twice(record: logging.LogRecord) -> bool:
    """A filter that drops the log's record of a refusal, because the command ends with the refusal as its error."""
    return record.levelno < logging.ERROR


def _not_of_py4j(record: logging.LogRecord) -> bool:
    """A filter that drops what py4j logs: a traceback of each call that a JVM did not answer. :func:`_jvm_may_end`
    reports the JVM's end once."""
    return Path(record.pathname).parent.name != "py4j"


def _jvm_ended(within_seconds: float) -> bool:
    """Whether the JVM of this process ends within the given seconds, or was never started."""
    from oncelog.spark.private_apis import driver

    process = driver.java_process()
    if process is None:
        return not driver.has_java()
    try:
        process.wait(within_seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


@contextlib.contextmanager
def _stopping() -> Iterator[threading.Event]:
    """A context with an event that SIGTERM or Ctrl-C sets; the queries then stop where they are, and a later run
    continues."""
    stop = threading.Event()
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Show(Protocol):
    def __call__(self, progress: Progress) -> None: ...


@contextlib.contextmanager
def _measured(address: str | None, names: list[str]) -> Iterator[PipelineSource]:
    """A context with the metrics of a run, which are served over HTTP if an address is given."""
    from oncelog.spark.pipeline.series import PipelineSource

    source = PipelineSource(names)
    if address is None:
        yield source
        return
    from oncelog.broker.metrics.endpoint import Endpoint
    from oncelog.broker.server.listener_settings import Address
    from oncelog.broker.server.opening import bind

    endpoint = Endpoint(bind(Address.parse(address)), source)
    endpoint.start()
    host, port = endpoint.address
    click.echo(f"metrics on http://{Address(host, port)}/metrics", err=True)
    try:
        yield source
    finally:
        endpoint.stop()


@contextlib.contextmanager
def _reporting(console: str | None, names: list[str]) -> Iterator[Show]:
    """A context that reports each batch, and at the end the outcome of the pipelines, to a console, if its address is
    given."""
    if console is None:
        yield lambda progress: None
        return
    from oncelog.spark.reporting import ConsoleReporter

    reporter = ConsoleReporter(console)
    state, problem = "ended", ""
    try:
        for name in names:
            reporter.state(name, "running")
        yield reporter.progress
    except OncelogError as error:
        state, problem = "failed", str(error)
        raise
    finally:
        for name in names:
            reporter.state(name, state, problem)
        reporter.close()


@contextlib.contextmanager
def _shown(as_json: bool) -> Iterator[Show]:
    """A context with the function that shows each batch: as a JSON line, as a bar for each pipeline on a terminal, or
    as a plain line."""
    if as_json:
        yield lambda progress: click.echo(progress.as_json())
    elif draws_progress():
        with _bars() as show:
            yield show
    else:
        yield lambda progress: click.echo(_line(progress))


def _line(progress: Progress) -> str:
    return (
        f"{progress.pipeline}: batch {progress.batch}, {progress.rows} rows, "
        f"{progress.rows_per_second:.0f} rows/s, lag {_lag(progress)}{_written_by(progress)}"
    )


def _lag(progress: Progress) -> str:
    return "unknown" if progress.lag is None else str(progress.lag)


def _written_by(progress: Progress) -> str:
    words = {"driver": "written by the driver", "executors": "written by the executors", "none": "was written before"}
    return f", {words[progress.path]}" if progress.path in words else ""


@contextlib.contextmanager
def _bars() -> Iterator[Show]:
    """A context with the function that shows a bar for each pipeline: the processed share of the available records,
    rows per second, lag."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]} rows/s"),
        TextColumn("lag {task.fields[lag]}"),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, TaskID] = {}
        rows: dict[str, int] = {}

        def show(progress: Progress) -> None:
            name = progress.pipeline
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=None, rate="0", lag="0")
            rows[name] = rows.get(name, 0) + progress.rows
            bars.update(
                tasks[name],
                completed=rows[name],
                total=None if progress.lag is None else rows[name] + progress.lag,
                rate=f"{progress.rows_per_second:,.0f}",
                lag=_lag(progress),
            )

        yield show
