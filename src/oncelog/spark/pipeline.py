"""What a pipeline is: where it reads, what it does with the rows, where it writes.

Called by users' files (the decorator :func:`pipeline`), by :mod:`oncelog.spark.pipeline_file`, which reads files, and
by :mod:`oncelog.spark.pipeline_run`, which runs them. Nothing here talks to a broker or to Spark's JVM before a run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from oncelog.errors import ConfigError, OncelogError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Transform: TypeAlias = "Callable[[DataFrame], DataFrame]"

MODES = ("append", "complete", "update")
MALFORMED = ("fail", "null")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


class PipelineError(OncelogError):
    """A pipeline that cannot start or has failed; one sentence that names it and says why."""


@dataclass(frozen=True, slots=True)
class Source:
    """Topics to read.

    :param topic: one topic, or several separated by commas; empty where ``options`` say it (``subscribePattern``).
    :param options: options of ``format("oncelog")`` by the names of Spark's Kafka connector; ``startingOffsets`` is
        ``earliest`` unless given, so that a new pipeline sees everything.
    :param schema: columns of a JSON value as Spark writes them, ``origin string, delay int``. The rows then have these
        columns beside ``key``, ``timestamp``, ``topic``, ``partition`` and ``offset``; empty leaves the value as bytes.
    :param malformed: what a value that is not such JSON does: ``fail`` stops the pipeline, ``null`` gives nulls.
    :param watermark: event-time column and how late a record may be, ``("timestamp", "2 hours")``.
    """

    topic: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    schema: str = ""
    malformed: str = "fail"
    watermark: tuple[str, str] | None = None

    def reader_options(self, bootstrap_servers: str) -> dict[str, str]:
        """The options of ``spark.readStream.format("oncelog")``."""
        given = {"kafka.bootstrap.servers": bootstrap_servers, "startingOffsets": "earliest"}
        if any(
            name.lower().startswith("startingoffsets") or name.lower() == "startingtimestamp" for name in self.options
        ):
            del given["startingOffsets"]
        if self.topic:
            given["subscribe"] = self.topic
        return given | dict(self.options)


@dataclass(frozen=True, slots=True)
class Sink:
    """A topic to write.

    Rows with a column ``value`` are written as they are (``key``, ``value``, ``headers``, ``partition``); of other rows
    the value is a JSON object of all their columns, and ``key`` names the column that becomes the record's key.
    """

    topic: str = ""
    key: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    def writer_options(self, name: str, bootstrap_servers: str) -> dict[str, str]:
        """The options of ``writeStream.format("oncelog")``; transactional ids begin with the pipeline's name."""
        given = {"kafka.bootstrap.servers": bootstrap_servers}
        if not any(option.lower() == "transactionalidprefix" for option in self.options):
            given["transactionalIdPrefix"] = f"{name}-"
        if self.topic:
            given["topic"] = self.topic
        return given | dict(self.options)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of reference data that SQL may join: a file or folder that Spark reads."""

    name: str
    path: str
    format: str = "csv"
    schema: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One query from topics to a topic, exactly once.

    :param name: also names its checkpoint; renaming a pipeline starts it anew.
    :param mode: Spark's output mode. ``update`` writes through ``foreachBatch`` with the same guarantee.
    :param trigger: least time between two batches, as Spark writes it; empty runs one after the other.
    """

    name: str
    source: Source
    sink: Sink
    transform: Transform
    mode: str = "append"
    trigger: str = ""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ConfigError(f"A pipeline cannot be named {self.name!r}: use letters, digits, '.', '_' and '-'")
        if self.mode not in MODES:
            raise ConfigError(f"Pipeline {self.name} has mode {self.mode!r}: allowed are {', '.join(MODES)}")
        if self.source.malformed not in MALFORMED:
            raise ConfigError(
                f"Pipeline {self.name}: malformed is {self.source.malformed!r}, allowed are {', '.join(MALFORMED)}"
            )
        if not self.source.topic and not self.source.options:
            raise ConfigError(f"Pipeline {self.name} names no topic to read: give its source one")


def pipeline(
    *, source: str | Source, sink: str | Sink, name: str = "", mode: str = "append", trigger: str = ""
) -> Callable[[Transform], Pipeline]:
    """Make a pipeline of a function from rows to rows; ``oncelog pipeline run FILE`` runs all of a file.

    .. code-block:: python

        @pipeline(source=Source("flights", schema="origin string, dep_delay int"), sink=Sink("late", key="origin"))
        def late(flights: DataFrame) -> DataFrame:
            return flights.where("dep_delay > 60")

    The function is called once, on the driver, with a streaming DataFrame; ``rows.sparkSession`` is the session.
    """

    def decorate(transform: Transform) -> Pipeline:
        return Pipeline(
            name=name or transform.__name__.replace("_", "-"),
            source=Source(source) if isinstance(source, str) else source,
            sink=Sink(sink) if isinstance(sink, str) else sink,
            transform=transform,
            mode=mode,
            trigger=trigger,
        )

    return decorate
