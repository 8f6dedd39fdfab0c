"""Defines a pipeline: its sources, transform and sinks.

Called by users' files (the decorator :func:`pipeline`), by :mod:`oncelog.spark.pipeline.file`, which reads files, and
by :mod:`oncelog.spark.pipeline.running`, which runs them. Nothing here talks to a broker or to Spark's JVM before a
run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from oncelog.errors import ConfigError, OncelogError
from oncelog.spark.options import CREATION, OptionValue, TopicCreation, option_texts, topic_creation
from oncelog.spark.tables.options import Mode, TableOptions, parse_table_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from oncelog.spark.schemas import Access

Transform: TypeAlias = "Callable[..., DataFrame | Mapping[str, DataFrame]]"
"""Takes a DataFrame for each source; returns a DataFrame for a single sink, or a mapping from sink names."""

MODES = ("append", "complete", "update")
MALFORMED = ("fail", "null", "dead-letter")
JSON_TEXT = "json"
REGISTERED = {"avro": "AVRO", "json-schema": "JSON", "protobuf": "PROTOBUF"}
"""Formats whose schemas are in a registry, and the registry's names for them."""
SUBJECT_NAMES = ("topic", "record", "topic-record")
TABLES_FIRST, TOPICS_FIRST = "tables-first", "topics-first"
ORDERS = (TABLES_FIRST, TOPICS_FIRST)
ONLY = "source"
"""Name of a pipeline's only source, and of its view in SQL."""
TOPICS = "topics"
"""The name of the sink that writes to all topics of a pipeline. The sink has a name so that its marker stays the same
if the topics change.
"""
_NAME = re.compile(r"[A-Za-z0-9._-]+")


class PipelineError(OncelogError):
    """A pipeline cannot start or has failed; one sentence names it and says why."""


_FOR_DEAD_LETTERS = {name.lower(): name for name in ("includeHeaders", "includeTimestampMillis")}
"""The read options that dead letters need: they add the headers, and timestamps that do not fit into Spark's type."""
_FOR_REGISTRIES = {"includeheaders": "includeHeaders"}
"""The read option that a registry needs: a header may identify the schema."""


@dataclass(frozen=True, slots=True)
class Source:
    """Topics to read.

    :param topic: one topic, or several separated by commas; empty if ``options`` name them (``subscribePattern``).
    :param options: options of ``format("oncelog")`` by the names of Spark's Kafka connector; ``startingOffsets`` is
        ``earliest`` unless given, so that a new pipeline reads everything.
    :param schema: the columns of a JSON value in Spark's notation, ``origin string, delay int``, or as
        ``df.schema.json()`` gives them. The rows then have these columns in addition to ``key``, ``timestamp``,
        ``topic``, ``partition`` and ``offset``, and ``headers`` with the option ``includeHeaders``. If it is empty, the
        value stays bytes.
    :param dead_letter: the topic for malformed records, with ``dead-letter``.
    :param malformed: what happens to a value that is not such JSON: ``fail`` stops the pipeline, ``null`` gives nulls,
        ``dead-letter`` writes the record to the topic ``dead_letter`` in the same transaction as the batch's rows. With
        ``dead-letter``, a record whose timestamp is after the year 294247 is also written there; otherwise it stops the
        pipeline.
    :param watermark: the event-time column, and how late a record may be: ``("timestamp", "2 hours")``.
    :param create_dead_letter: as ``create`` of a sink, for the topic ``dead_letter``.
    :param format: ``json``, or ``avro``, ``json-schema`` or ``protobuf`` in Confluent's wire format: each value is read
        with the schema that it was written with.
    :param registry: the schema registry, as ``from_registry`` takes it; empty for the run's registry.
    :param message: the message of a Protobuf file; its first one unless given.

    With a registry, ``schema`` is the version to read into, ``orders-value:3``, or a subject, whose latest version is
    taken at each start; it is ``TOPIC-value`` unless given.
    """

    topic: str = ""
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    schema: str = ""
    malformed: str = "fail"
    watermark: tuple[str, str] | None = None
    dead_letter: str = ""
    create_dead_letter: Mapping[str, object] = field(default_factory=dict)
    format: str = JSON_TEXT
    registry: Access = ""
    message: str = ""

    def __post_init__(self) -> None:
        self.texts()

    @property
    def is_registered(self) -> bool:
        """Whether values of the source or sink have schemas in a registry."""
        return self.format != JSON_TEXT

    @property
    def subject(self) -> str:
        """The subject or version to request from the registry; empty if neither ``schema`` nor a single topic
        determines it.
        """
        return self.schema or ("" if not self.topic or "," in self.topic else f"{self.topic.strip()}-value")

    def texts(self) -> dict[str, str]:
        """The options as strings, as Spark requires."""
        return option_texts(self.options, "a pipeline's source")

    def reader_options(self, bootstrap_servers: str, starting: str = "") -> dict[str, str]:
        """The options of ``spark.readStream.format("oncelog")``.

        :param starting: the value of ``startingOffsets``, if it is to be other than in ``options``.
        """
        given = {"kafka.bootstrap.servers": bootstrap_servers, "startingOffsets": starting or "earliest"}
        texts = self.texts()
        if begins := [name for name in texts if name.lower().startswith(("startingoffsets", "startingtimestamp"))]:
            if starting:
                texts = {name: text for name, text in texts.items() if name not in begins}
            else:
                del given["startingOffsets"]
        if self.topic:
            given["subscribe"] = self.topic
        needed = _FOR_DEAD_LETTERS if self.dead_letter else _FOR_REGISTRIES if self.is_registered else {}
        texts = {name: text for name, text in texts.items() if name.lower() not in needed}
        given |= dict.fromkeys(needed.values(), "true")
        return given | texts


@dataclass(frozen=True, slots=True)
class Sink:
    """A topic to write to.

    Rows with a column ``value`` are written as they are (``key``, ``value``, ``headers``, ``partition``). For other
    rows the value is a JSON object of all their columns. A column ``headers``, a map or an array of structs of key and
    value, becomes the record's headers.

    :param topic: the topic for all rows; empty if each row names its topic in a column ``topic``.
    :param key: the column that becomes the record's key; empty for records without keys.
    :param options: options of ``format("oncelog")``.
    :param topics: with an empty ``topic``, the topics that rows may name.
    :param create: how missing topics are created: ``{"partitions": 3}``, with ``replication`` and settings of a topic
        by Kafka's names if they are to differ from the broker's. Without it missing topics are refused.
    :param format: ``avro``, ``json-schema`` or ``protobuf``: the value is all columns in Confluent's wire format.
    :param registry: the schema registry, as ``from_registry`` takes it; empty for the run's registry.
    :param schema: the version to write with, ``orders-value:3``, or a subject, whose latest version is taken at each
        start. If it is empty, an Avro schema is made of the columns, and registered.
    :param record: the full name of the record in a schema that is made of the columns; the topic's name unless given.
    :param subject_name: the subject of a schema that is made of the columns: ``topic`` (``TOPIC-value``), ``record`` or
        ``topic-record``.
    :param message: the message of a Protobuf file; its first one unless given.
    """

    topic: str = ""
    key: str = ""
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    topics: tuple[str, ...] = ()
    create: Mapping[str, object] = field(default_factory=dict)
    format: str = ""
    registry: Access = ""
    schema: str = ""
    record: str = ""
    subject_name: str = "topic"
    message: str = ""

    def __post_init__(self) -> None:
        self.texts()

    def texts(self) -> dict[str, str]:
        """The options as strings, as Spark requires."""
        return option_texts(self.options, "a pipeline's sink")


@dataclass(frozen=True, slots=True)
class TableSink:
    """A table to write: Delta, Iceberg, PostgreSQL or SQLite.

    :param options: options of ``to_table``: ``format``, ``table``, ``url``, ``key`` and so on. ``mode`` is ``append``
        unless given; a pipeline of mode ``complete`` replaces the table's rows, and one of mode ``update`` needs
        ``mode`` and ``key``.
    """

    options: Mapping[str, OptionValue]

    def __post_init__(self) -> None:
        option_texts(self.options, "a pipeline's table")

    def parsed(self, mode: str) -> TableOptions:
        """Parse the options of the table for a pipeline of this mode. Raises ConfigError."""
        texts = option_texts(self.options, "a pipeline's table")
        if mode == "complete" and not any(name.lower() == "mode" for name in texts):
            texts["mode"] = Mode.COMPLETE.value
        found = parse_table_options(texts)
        if mode == "update" and found.mode is not Mode.UPSERT:
            raise ConfigError(
                f"A pipeline of mode update writes the same key again, and {found} has mode {found.mode.value}: give "
                "it mode = upsert and key, the columns that identify a row"
            )
        return found


@dataclass(frozen=True, slots=True)
class Table:
    """A table of reference data that SQL may join: a file or folder that Spark reads."""

    name: str
    path: str
    format: str = "csv"
    schema: str = ""
    options: Mapping[str, OptionValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One query from topics to topics and tables, exactly once: the rows of a batch for all topics are one transaction,
    and those for each table are one.

    :param sources: by argument name of the transform; a single source is named ``ONLY``. Sinks are named as in the
        mapping that the transform returns; a single sink is named ``ONLY``, too.
    :param name: also names the pipeline's checkpoint; a renamed pipeline starts from the beginning.
    :param mode: Spark's output mode. ``update`` writes through ``foreachBatch`` with the same guarantee.
    :param trigger: the shortest time between two batches, in Spark's notation; if it is empty, batches follow each
        other at once.
    :param order: ``tables-first``: a reader that sees a record of a batch in a topic finds the batch's rows in all
        tables; or ``topics-first``: a reader that sees a batch's rows in a table finds the batch's records in all
        topics.
    """

    name: str
    sources: Mapping[str, Source]
    sinks: Mapping[str, Sink | TableSink]
    transform: Transform
    mode: str = "append"
    trigger: str = ""
    order: str = TABLES_FIRST

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ConfigError(f"A pipeline cannot be named {self.name!r}: use letters, digits, '.', '_' and '-'")
        if self.mode not in MODES:
            raise ConfigError(f"Pipeline {self.name} has mode {self.mode!r}: allowed are {', '.join(MODES)}")
        if self.order not in ORDERS:
            raise ConfigError(f"Pipeline {self.name} has order {self.order!r}: allowed are {', '.join(ORDERS)}")
        if not self.sources or not self.sinks:
            raise ConfigError(f"Pipeline {self.name} needs a source and a sink")
        for source in self.sources.values():
            self._check_source(source)
        for sink in self.topic_sinks.values():
            self._check_format(sink)
        if "" in self.creations:
            raise ConfigError(f"Pipeline {self.name}: create and create_dead_letter need the topic that they create")

    def _check_format(self, sink: Sink) -> None:
        """Raises ConfigError if a sink's format is unknown, or if the sink lacks something that its format needs."""
        if not sink.format:
            return
        if sink.format not in REGISTERED:
            raise ConfigError(f"Pipeline {self.name}: a sink's format must be one of {', '.join(REGISTERED)}")
        if sink.subject_name not in SUBJECT_NAMES:
            raise ConfigError(f"Pipeline {self.name}: subject_name must be one of {', '.join(SUBJECT_NAMES)}")
        if not sink.schema and sink.format != "avro":
            raise ConfigError(
                f"Pipeline {self.name}: a sink of format {sink.format} needs schema, a registered version to write with"
            )
        if sink.schema and (sink.record or sink.subject_name != "topic"):
            raise ConfigError(
                f"Pipeline {self.name}: record and subject_name are for a schema that is made of the columns, and "
                f"schema names {sink.schema}: leave one out"
            )
        self._check_message(sink)
        if not sink.schema and not sink.topic and not sink.topics:
            raise ConfigError(f"Pipeline {self.name}: a schema is registered for each topic: name the sink's topics")

    def _check_message(self, of: Source | Sink) -> None:
        if of.message and of.format != "protobuf":
            raise ConfigError(
                f"Pipeline {self.name}: message = {of.message!r} is for the format protobuf: leave it out"
            )

    def _check_source(self, source: Source) -> None:
        if source.malformed not in MALFORMED:
            raise ConfigError(
                f"Pipeline {self.name}: malformed is {source.malformed!r}, allowed are {', '.join(MALFORMED)}"
            )
        if not source.topic and not source.options:
            raise ConfigError(f"Pipeline {self.name} names no topic to read: give its source one")
        if (source.malformed == "dead-letter") != bool(source.dead_letter):
            raise ConfigError(
                f"Pipeline {self.name}: malformed = 'dead-letter' and dead_letter, the topic, need each other: set both"
            )
        if source.format not in (JSON_TEXT, *REGISTERED):
            known = ", ".join((JSON_TEXT, *REGISTERED))
            raise ConfigError(f"Pipeline {self.name}: format is {source.format!r}, allowed are {known}")
        self._check_message(source)
        if source.registry and not source.is_registered:
            raise ConfigError(
                f"Pipeline {self.name}: a source with a registry needs a format ({', '.join(REGISTERED)}): give it "
                "one, or leave the registry out"
            )
        if source.is_registered and not source.subject:
            raise ConfigError(
                f"Pipeline {self.name} reads several topics of format {source.format}: name the subject to read into "
                "(schema)"
            )
        if source.dead_letter and not source.schema and not source.is_registered:
            raise ConfigError(f"Pipeline {self.name}: without a schema no value is malformed: give the source one")

    @property
    def topic_sinks(self) -> Mapping[str, Sink]:
        return {name: sink for name, sink in self.sinks.items() if isinstance(sink, Sink)}

    @property
    def table_sinks(self) -> Mapping[str, TableSink]:
        return {name: sink for name, sink in self.sinks.items() if isinstance(sink, TableSink)}

    @property
    def writes_topics(self) -> bool:
        return bool(self.topic_sinks) or any(source.dead_letter for source in self.sources.values())

    @property
    def topics(self) -> tuple[str, ...]:
        """The destination topics that are known before the rows are computed."""
        sinks = self.topic_sinks.values()
        named = [name for sink in sinks for name in ((sink.topic,) if sink.topic else sink.topics)]
        return tuple(dict.fromkeys([*named, *(s.dead_letter for s in self.sources.values() if s.dead_letter)]))

    @property
    def creations(self) -> Mapping[str, TopicCreation]:
        """By topic, how a missing topic is created; missing topics that are not among these are refused. Raises
        ConfigError."""
        given = {topic: sink.create for sink in self.topic_sinks.values() for topic in (sink.topic, *sink.topics)}
        given |= {one.dead_letter: one.create_dead_letter for one in self.sources.values()}
        found: dict[str, TopicCreation] = {}
        for topic, creation in given.items():
            try:
                found |= {topic: topic_creation(creation)} if creation else {}
            except ValueError:
                raise ConfigError(
                    f"Pipeline {self.name} creates topic {topic!r} with {dict(creation)}: give partitions as a "
                    f"number, as in {CREATION}, and settings of a topic by Kafka's names"
                ) from None
        return found

    @property
    def writes_one_topic(self) -> bool:
        return len(self.topics) == 1 and all(sink.topic for sink in self.topic_sinks.values())

    def writer_options(self, bootstrap_servers: str) -> dict[str, str]:
        """The options of ``writeStream.format("oncelog")``; transactional ids begin with the pipeline's name."""
        given = {"kafka.bootstrap.servers": bootstrap_servers, "transactionalIdPrefix": f"{self.name}-"}
        chosen: dict[str, tuple[str, str]] = {}
        for name, sink in self.topic_sinks.items():
            for option, value in sink.texts().items():
                other = chosen.setdefault(option.lower(), (name, value))
                if other[1] != value:
                    raise ConfigError(
                        f"Pipeline {self.name}: sinks {other[0]} and {name} have different values for {option}, but "
                        "write in one transaction: give both the same"
                    )
                if option.lower() == "transactionalidprefix":
                    del given["transactionalIdPrefix"]
                given[option] = value
        if self.writes_one_topic:
            given["topic"] = self.topics[0]
        elif all(sink.topic or sink.topics for sink in self.topic_sinks.values()):
            given["topics"] = ",".join(self.topics)
        return given


def pipeline(
    *,
    source: str | Source | Mapping[str, str | Source],
    sink: str | Sink | TableSink | Mapping[str, str | Sink | TableSink],
    name: str = "",
    mode: str = "append",
    trigger: str = "",
    order: str = TABLES_FIRST,
) -> Callable[[Transform], Pipeline]:
    """Turn a function from rows to rows into a pipeline; ``oncelog pipeline run FILE`` runs all pipelines of a file.

    .. code-block:: python

        @pipeline(source=Source("flights", schema="origin string, dep_delay int"), sink=Sink("late", key="origin"))
        def late(flights: DataFrame) -> DataFrame:
            return flights.where("dep_delay > 60")

    The function is called when the query starts, once for each sink, on the driver, with a streaming DataFrame;
    ``rows.sparkSession`` is the session.
    With several sources (a mapping) it is called with one argument for each, by name, and with several sinks it returns
    a mapping from their names to rows.
    """

    def decorate(transform: Transform) -> Pipeline:
        return Pipeline(
            name=name or transform.__name__.replace("_", "-"),
            sources=_sources(source),
            sinks=_sinks(sink),
            transform=transform,
            mode=mode,
            trigger=trigger,
            order=order,
        )

    return decorate


def _sources(given: str | Source | Mapping[str, str | Source]) -> dict[str, Source]:
    named = given if isinstance(given, Mapping) else {ONLY: given}
    return {name: Source(one) if isinstance(one, str) else one for name, one in named.items()}


def _sinks(given: str | Sink | TableSink | Mapping[str, str | Sink | TableSink]) -> dict[str, Sink | TableSink]:
    named = given if isinstance(given, Mapping) else {ONLY: given}
    return {name: Sink(one) if isinstance(one, str) else one for name, one in named.items()}
