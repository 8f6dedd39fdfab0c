"""The Spark driver of the demo, run as a process that can be killed: ``python -m oncelog.apps.demo.driver``.

It runs the demo's pipelines like ``oncelog pipeline run``, records the steps of each commit, and prints a JSON line for
each batch. Before that, it starts a session and waits for a line on standard input. The driver itself writes
``delays-by-hour``; the executors write ``flights-enriched``: here by two writers in a barrier stage, on a cluster by as
many as the batch's size suggests. Started and killed by :mod:`oncelog.apps.demo.run`; the next driver continues from
the checkpoint.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path

import click
import pyspark
from pyspark.sql.streaming.query import StreamingQuery

from oncelog.apps.demo import pipelines as definitions
from oncelog.apps.demo.observed_source import Journal, ObservedDataSource, observing
from oncelog.apps.demo.pipelines import delays_by_hour, flights_enriched
from oncelog.spark.pipeline import Pipeline
from oncelog.spark.pipeline.file import load_pipelines
from oncelog.spark.pipeline.running import RunSettings, check, start, watch
from oncelog.spark.progress import Progress
from oncelog.spark.session import session

SPARK = {
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss4m",
}
WRITERS = "2"
LOCAL = f"local[{max(4, os.cpu_count() or 1)},4]"
"""A local master with enough slots for the writers and for the other pipeline's tasks. A task may fail up to four
times, because the demo also kills a writer."""


def with_prefix(pipeline: Pipeline, prefix: str) -> Pipeline:
    """The pipeline with a prefix before each topic name."""
    sources = {name: replace(one, topic=f"{prefix}{one.topic}") for name, one in pipeline.sources.items()}
    sinks = {name: replace(one, topic=f"{prefix}{one.topic}") for name, one in pipeline.topic_sinks.items()}
    return replace(pipeline, sources=sources, sinks=sinks)


def _spark_home(folder: Path) -> Path:
    """A folder with PySpark's programs and jars, but without ``pyspark.zip``: from that file every worker would compile
    modules again.
    """
    installed = Path(pyspark.__file__).parent
    home = folder / "spark"
    home.mkdir(exist_ok=True)
    for name in ("bin", "jars"):
        with contextlib.suppress(FileExistsError):  # two drivers may come here at once
            (home / name).symlink_to(installed / name)
    return home


def _until_alone(stop: threading.Event) -> None:
    """Set ``stop`` when standard input ends, which shows that the process of the demo has ended."""
    sys.stdin.read()
    stop.set()


@click.command()
@click.option("--bootstrap-server", required=True)
@click.option("--folder", type=click.Path(path_type=Path), required=True)
@click.option("--master", default=None)
@click.option("--prefix", default="")
def main(bootstrap_server: str, folder: Path, master: str | None, prefix: str) -> None:
    """Run both pipelines until SIGTERM."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    if master is None:
        os.environ.setdefault("SPARK_HOME", str(_spark_home(folder)))
    spark = session("oncelog demo", master=master or LOCAL, settings=SPARK)
    spark.dataSource.register(ObservedDataSource)
    if not sys.stdin.readline():
        return
    threading.Thread(target=_until_alone, args=(stop,), daemon=True).start()
    chosen = [with_prefix(pipeline, prefix) for pipeline in load_pipelines(Path(definitions.__file__))]
    settings = RunSettings(
        bootstrap_server,
        str(folder / "checkpoints"),
        sink_format=ObservedDataSource.name(),
        sink_options={
            flights_enriched.name: {"writers": WRITERS if master is None else "auto"},
            delays_by_hour.name: observing(folder / "commits", delays_by_hour.name),
        },
        observers={flights_enriched.name: Journal(folder / "commits", flights_enriched.name)},
    )
    check(chosen, settings)
    by_name = {pipeline.name: pipeline for pipeline in chosen}

    def begin(name: str) -> StreamingQuery:
        return start(spark, by_name[name], settings)

    def show(progress: Progress) -> None:
        sys.stdout.write(progress.as_json() + "\n")
        sys.stdout.flush()

    watch({name: begin(name) for name in by_name}, show, begin, ended=stop.is_set, written=settings.written)
    spark.stop()


if __name__ == "__main__":
    main()
