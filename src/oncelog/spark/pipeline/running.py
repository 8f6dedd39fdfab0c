"""Runs pipelines: checks them against the broker, starts their queries, and follows them until they end.

Called by ``oncelog pipeline run`` and the demo's driver. All pipelines of a run share one Spark session and run at the
same time; when one fails, all stop, and one sentence reports the failure. Each record takes effect exactly once from
topic to topic: the checkpoint stores what was read, the broker stores what was written.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from oncelog.client.core.client_errors import KafkaConnectionError, KafkaTimeoutError
from oncelog.errors import ConfigError, KafkaError
from oncelog.spark.kafka.connections import client_config
from oncelog.spark.kafka.kafka_cluster import KafkaCluster
from oncelog.spark.options import EARLIEST, SinkOptions, SourceOptions, parse_sink_options, parse_source_options
from oncelog.spark.pipeline.definition import TOPICS, Pipeline, PipelineError
from oncelog.spark.pipeline.reads import (
    NEW_PIPELINE,
    CheckpointReads,
    SourceRead,
    begins_of,
    keep_reads,
    known_reads,
    starting_offsets,
)
from oncelog.spark.pipeline.registered import Schemas, find_schemas, keep
from oncelog.spark.pipeline.rows import rows_of
from oncelog.spark.pipeline.several import several_sinks
from oncelog.spark.private_apis import streams, texts
from oncelog.spark.private_apis.java_errors import our_sentence
from oncelog.spark.progress import Progress, ProgressReader, TakeWritten
from oncelog.spark.session import for_each_batch
from oncelog.spark.sink.checkpoint import Checkpoint
from oncelog.spark.sink.engine import BatchStep, Observer, ignore
from oncelog.spark.sink.marker import describe_topics, name_topics
from oncelog.spark.sink.sink_topics import existing, missing
from oncelog.spark.tables.sink import open_store
from oncelog.spark.versions import (
    HAS_DATA_SOURCES,
    HAS_SOURCE_NAMES,
    PYSPARK,
    SOURCE_NAMES,
    condition_of,
)
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from oncelog.spark.executors import Written
    from oncelog.spark.schemas import Access

logger = logging.getLogger(__name__)

POLL_S = 0.25
STARTS = 4
"""How often a query is started if Spark gives up on its Python worker before a batch has completed."""
TIMEOUT_MS = 10_000
"""The time in ms in which a broker must answer before a run; running pipelines wait longer for a restarting broker."""
_NOT_NAMED = ("DUPLICATE_SOURCE_NAMES", "UNNAMED_STREAMING_SOURCES_WITH_ENFORCEMENT")
"""The errors with which Spark refuses names of reads: a read is in the query twice, or the transform has a read of its
own."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of a run, as opposed to those of a pipeline.

    :param checkpoint: the folder (or URL) under which each pipeline has a folder of its name.
    :param once: stop once everything present at the start has been processed.
    :param sink_format: the data source that writes; a program that observes commits registers its own under another
        name.
    :param sink_options: more options for that data source, by pipeline.
    :param observers: called at each step of a commit, by pipeline; such a pipeline writes through ``for_each_batch``.
    :param on_written: called after each commit, by pipeline; not with another ``sink_format``.
    :param registry: the schema registry of sources and sinks that name none.
    :param report: called with notices at a start, such as that a source has a newer schema.
    :param written: filled during the run: how batches were written, by pipeline; not with another ``sink_format``.
    """

    bootstrap_servers: str
    checkpoint: str
    once: bool = False
    trigger: str = ""
    sink_format: str = "oncelog"
    sink_options: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    observers: Mapping[str, Observer] = field(default_factory=dict)
    written: dict[str, dict[int, Written]] = field(default_factory=dict)
    on_written: Callable[[str, Written], None] | None = None
    registry: Access = ""
    report: Callable[[str], None] = logger.info


@contextlib.contextmanager
def spark_log(path: Path) -> Iterator[None]:
    """Redirect the output of Spark's JVM and of its workers to a file until they end, if the JVM starts in this block.

    For programs that report failures themselves: Spark prints hundreds of lines for each one.
    """
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        log = path.open("ab")
    except OSError as error:
        raise PipelineError(
            f"Spark's log cannot be written to {path}: {error.strerror}: name another file for it (--log)"
        ) from error
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with log:
            os.dup2(log.fileno(), 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)


def check(pipelines: Sequence[Pipeline], settings: RunSettings) -> None:
    """Refuse pipelines that cannot run, before Spark starts. Raises ConfigError or PipelineError."""
    for one in pipelines:
        _check_trigger(one, settings)
        servers = settings.bootstrap_servers
        place = {"checkpointLocation": checkpoint_of(one, settings)}
        if one.writes_topics:
            to_topics = parse_sink_options(one.writer_options(servers) | place, streaming=True)
        for sink in one.table_sinks.values():
            open_store(sink.parsed(one.mode))
        for source in one.sources.values():
            parsed = parse_source_options(source.reader_options(servers), streaming=True)
            if source.dead_letter and parsed.subscription.reads(source.dead_letter):
                raise PipelineError(
                    f"pipeline {one.name} reads topic {source.dead_letter!r} and writes its dead letters there, so "
                    "they would be read again without end: give dead_letter another topic"
                )
            _check_source(one.name, parsed)
        if one.writes_topics:
            _check_destinations(one, to_topics)
        find_schemas(one, settings.registry)


def _check_trigger(one: Pipeline, settings: RunSettings) -> None:
    trigger = settings.trigger or one.trigger
    if trigger.lower().replace("_", "") in ("availablenow", "once"):
        raise ConfigError(
            f"Pipeline {one.name} has trigger {trigger!r}, but a trigger is the shortest time between two batches: "
            "leave it out, and run the pipeline with --once, which reads what there is and ends"
        )


def _check_destinations(one: Pipeline, options: SinkOptions) -> None:
    """Create the topics that the pipelines declare. Raises PipelineError for undeclared topics that do not exist."""
    cluster_options = replace(options.cluster, timeout_ms=TIMEOUT_MS)
    with contextlib.closing(KafkaCluster.connect(client_config(options.client), cluster_options)) as cluster:
        for topic in one.topics:
            if topic in existing(cluster, [topic], one.creations.get(topic, options.create_topics)):
                continue
            dead = any(source.dead_letter == topic for source in one.sources.values())
            name = "create_dead_letter" if dead else "create"
            role = f"pipeline {one.name} writes topic {topic!r}, which"
            advice = f"or have it created with {name} = {{ partitions = 3, replication = 1 }} in the pipeline's file"
            raise PipelineError(missing(role, topic, cluster, options.bootstrap_servers, advice))


def _check_source(name: str, source: SourceOptions) -> None:
    servers = source.bootstrap_servers
    try:
        options = replace(source.cluster, timeout_ms=TIMEOUT_MS)
        with contextlib.closing(KafkaCluster.connect(client_config(source.client), options)) as cluster:
            known = cluster.partition_counts(source.subscription.topics or None)
    except (KafkaConnectionError, KafkaTimeoutError) as error:
        raise PipelineError(
            f"pipeline {name}: {servers} does not answer as a Kafka broker ({error}): is it running?"
        ) from error
    except KafkaError as error:
        raise PipelineError(f"pipeline {name}: {error}") from error
    missing = [topic for topic in source.subscription.topics if topic not in known]
    if missing:
        raise PipelineError(
            f"pipeline {name} reads topic {missing[0]!r}, which does not exist at {servers}: create it "
            f"(oncelog topics create {missing[0]} --bootstrap-server {servers}) or correct the name"
        )


def start(spark: SparkSession, one: Pipeline, settings: RunSettings) -> StreamingQuery:
    """Start a pipeline's query. Raises PipelineError if Spark refuses it, for instance for bad SQL."""
    checkpoint = Checkpoint.open(checkpoint_of(one, settings))
    known = known_reads(checkpoint)
    starts = _first_offsets(one, known, settings)
    _report_other_topics(one, checkpoint, settings)
    if starts is not None and known is not None:
        keep_reads(checkpoint, one, known)
    if settings.once and not HAS_DATA_SOURCES:
        _await_ends(one, settings)
    try:
        return _start(spark, one, settings, checkpoint, starts, known is not None)
    except (PySparkException, Py4JJavaError) as error:
        raise PipelineError(f"pipeline {one.name} cannot start: {explain(error)}") from error


def _report_other_topics(one: Pipeline, checkpoint: Checkpoint, settings: RunSettings) -> None:
    """Report the earlier batches that went to other topics than the next batches will: those records stay there."""
    if not one.writes_topics:
        return
    now = one.topics if one.writer_options("").keys() & {"topic", "topics"} else ()
    for last_write in checkpoint.last_writes():
        if last_write.table or not last_write.topics or last_write.topics[-1].topics == now:
            continue
        ended = max(checkpoint.batches("commits"), default=last_write.topics[-1].since_batch_id)
        went = describe_topics(last_write.topics, ended)
        settings.report(
            f"{one.name}: {went}; later batches go to {name_topics(now)}, and the earlier records stay where they are"
        )


def _await_ends(one: Pipeline, settings: RunSettings) -> None:
    """Wait until transactions whose end was acknowledged have their markers: Spark's own source, used before PySpark 4,
    does not wait."""
    for source in one.sources.values():
        parsed = parse_source_options(source.reader_options(settings.bootstrap_servers), streaming=True)
        with contextlib.closing(KafkaCluster.connect(client_config(parsed.client), parsed.cluster)) as cluster:
            known = cluster.partition_counts(parsed.subscription.topics or None)
            read = {topic: count for topic, count in known.items() if parsed.subscription.reads(topic)}
            partitions = [TopicPartition(topic, number) for topic, count in read.items() for number in range(count)]
            cluster.settled_ends(partitions, parsed.isolation)


def _start(
    spark: SparkSession,
    one: Pipeline,
    settings: RunSettings,
    checkpoint: Checkpoint,
    starts: Mapping[SourceRead, str] | None,
    is_known: bool,
) -> StreamingQuery:
    """Start the query with names of its reads; without them if Spark refuses them and the checkpoint has none.

    :param starts: as in :func:`rows_of`.
    """
    try:
        with _source_names(spark, needed=starts is not None):
            records, writer = _writer(spark, one, settings, checkpoint, starts)
            with _checkpoint_files(records, checkpoint):
                return writer.start()
    except PySparkException as error:
        if starts is None or not condition_of(error).endswith(_NOT_NAMED):
            raise
        if is_known:
            raise PipelineError(
                f"pipeline {one.name}: a sink reads the same source twice, or the transform reads a stream of its own, "
                "for which Spark has no names, and the checkpoint began with names: undo the change, "
                f"or {NEW_PIPELINE}"
            ) from error
    return _start(spark, one, settings, checkpoint, None, is_known)


@contextlib.contextmanager
def _source_names(spark: SparkSession, *, needed: bool) -> Iterator[None]:
    """Make Spark require the names of all sources, or allow none, for queries that start in the block. The session's
    own setting is restored afterwards."""
    if not HAS_SOURCE_NAMES:
        yield
        return
    before = spark.conf.get(SOURCE_NAMES)
    spark.conf.set(SOURCE_NAMES, str(needed).lower())
    try:
        yield
    finally:
        spark.conf.set(SOURCE_NAMES, str(before))


@contextlib.contextmanager
def _checkpoint_files(records: DataFrame, checkpoint: Checkpoint) -> Iterator[None]:
    """Make a query without state that starts in the block write a checkpoint on this machine's disk through Hadoop's
    older ``FileSystem``, which starts 4 processes (``chmod``) per batch instead of 20.

    A file is renamed once it is complete, and an existing file is refused. Two runs that add a file at the same moment
    may both succeed, and the later file stays: :meth:`RunningQuery.check_plan` refuses the other run's batch. The
    session's own setting is restored afterwards.
    """
    setting, conf = streams.CHECKPOINT_FILES, records.sparkSession.conf
    is_free = checkpoint.is_local and conf.get(setting, None) is None
    files = streams.plain_checkpoint_files(records) if is_free else None
    if files is None:
        yield
        return
    conf.set(setting, files)
    try:
        yield
    finally:
        conf.unset(setting)


def _first_offsets(one: Pipeline, known: CheckpointReads | None, settings: RunSettings) -> dict[SourceRead, str] | None:
    """The ``startingOffsets`` of reads that the checkpoint does not know; None if this Spark has no names of reads."""
    if known is not None and known.have_names and not HAS_SOURCE_NAMES:
        raise PipelineError(
            f"pipeline {one.name}: its checkpoint names the reads ({', '.join(known.begins)}), which PySpark 4.3 and "
            f"later continue, and this is {PYSPARK}: run it there"
        )
    if not HAS_SOURCE_NAMES or (known is not None and not known.have_names):
        return None
    from oncelog.spark.source.reader import subscribed_partitions  # PySpark 3.5 cannot import this module

    found = {}
    for read, begin in begins_of(one, known).items():
        parsed = parse_source_options(
            one.sources[read.source].reader_options(settings.bootstrap_servers), streaming=True
        )
        with contextlib.closing(KafkaCluster.connect(client_config(parsed.client), parsed.cluster)) as cluster:
            found[read] = starting_offsets(begin, subscribed_partitions(cluster, parsed), EARLIEST)
    return found


def _writer(
    spark: SparkSession,
    one: Pipeline,
    settings: RunSettings,
    checkpoint: Checkpoint,
    starts: Mapping[SourceRead, str] | None,
) -> tuple[DataFrame, DataStreamWriter]:
    """A pipeline's rows, and what starts their query."""
    schemas = find_schemas(one, settings.registry, spark.sparkContext)
    records = rows_of(spark, one, settings.bootstrap_servers, schemas, starts)
    keep(schemas, checkpoint, settings.report)
    options = one.writer_options(settings.bootstrap_servers) if one.writes_topics else {}
    options |= settings.sink_options.get(one.name, {})
    writer = records.writeStream.outputMode(one.mode).queryName(one.name)
    observe = _observer(schemas, settings.observers.get(one.name))
    if settings.sink_format == "oncelog" or one.mode == "update" or observe is not None or one.table_sinks:
        known = settings.written.setdefault(one.name, {})

        def note(written: Written) -> None:
            known[written.batch_id or 0] = written
            if settings.on_written is not None:
                settings.on_written(one.name, written)

        if one.table_sinks:
            write = several_sinks(one, options, note, observe or ignore)
        else:
            write = for_each_batch(options, name=TOPICS, on_written=note, observe=observe or ignore)
        writer = writer.foreachBatch(_forgetting_verdicts(schemas, write))
    else:
        writer = writer.format(settings.sink_format).options(**options, sinkName=TOPICS)
    trigger = settings.trigger or one.trigger
    if settings.once:
        writer = writer.trigger(availableNow=True)
    elif trigger:
        writer = writer.trigger(processingTime=trigger)
    return records, writer.option("checkpointLocation", checkpoint.location)


def _observer(schemas: Schemas, given: Observer | None) -> Observer | None:
    """The observer that is called at each step of a commit: the check of the batch's schema ids, and the run's own
    observer."""
    if schemas.verdicts is None:
        return given
    check_ids = schemas.verdicts.observe
    return check_ids if given is None else functools.partial(_both, check_ids, given)


def _both(first: Observer, second: Observer, step: BatchStep, batch_id: int | None) -> None:
    first(step, batch_id)
    second(step, batch_id)


def _forgetting_verdicts(schemas: Schemas, write: Callable[[DataFrame, int], None]) -> Callable[[DataFrame, int], None]:
    """A function that writes a batch, and before that discards the answers about schema ids from the previous batch."""
    verdicts = schemas.verdicts
    if verdicts is None:
        return write

    def write_anew(rows: DataFrame, batch_id: int) -> None:
        verdicts.begin()
        write(rows, batch_id)

    return write_anew


def checkpoint_of(one: Pipeline, settings: RunSettings) -> str:
    """The location of the pipeline's checkpoint."""
    return f"{settings.checkpoint.rstrip('/')}/{one.name}"


def watch(
    started: Mapping[str, StreamingQuery],
    on_progress: Callable[[Progress], None],
    again: Callable[[str], StreamingQuery],
    *,
    ended: Callable[[], bool] = lambda: False,
    written: Mapping[str, dict[int, Written]] | None = None,
) -> None:
    """Report each batch of each query until all have ended, or until ``ended()`` asks to stop.

    ``written`` is that of the run's settings, if reports are to include how each batch was written. ``again`` starts a
    query again if Spark gave up on a Python worker, which it does after ten seconds on a machine that is too busy.
    Raises PipelineError with the first other failure, after stopping the other queries.
    """
    known = written or {}
    queries = dict(started)
    readers = {name: ProgressReader(name, query, _taking(known.get(name))) for name, query in queries.items()}
    starts_left = dict.fromkeys(queries, STARTS)
    try:
        while True:
            running = [name for name, query in queries.items() if query.isActive]
            for name, reader in readers.items():
                for progress in reader.new():
                    starts_left[name] = STARTS
                    on_progress(progress)
            for name, query in queries.items():
                failure = None if query.isActive else query.exception()
                if failure is None:
                    continue
                starts_left[name] -= 1
                if not starts_left[name] or not texts.worker_was_late(failure):
                    raise PipelineError(f"pipeline {name} failed: {explain(failure)}") from failure
                logger.warning("pipeline %s is started again: %s", name, explain(failure))
                queries[name] = again(name)
                readers[name] = ProgressReader(name, queries[name], _taking(known.get(name)))
                running.append(name)
            if not running or ended():
                return
            time.sleep(POLL_S)
    finally:
        for query in queries.values():
            query.stop()


def _taking(written: dict[int, Written] | None) -> TakeWritten:
    return lambda batch: None if written is None else written.pop(batch, None)


def explain(error: Exception) -> str:
    """The sentence in Spark's long message that names the cause; a sentence of oncelog takes precedence."""
    text = str(error)
    if ours := our_sentence(text):
        return ours
    if counts := texts.sources_changed(text):
        return (
            f"Spark does not continue the checkpoint of a query that read {counts[0]} times with one that reads "
            f"{counts[1]} times (each sink reads its sources once, dead letters once more): undo the change, "
            f"or {NEW_PIPELINE}"
        )
    return texts.lost_state(text) or texts.first_cause(text)
