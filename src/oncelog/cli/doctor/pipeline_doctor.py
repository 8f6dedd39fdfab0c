"""``oncelog pipeline doctor``: compares checkpoint, marker and log, and predicts what the next start will do."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oncelog.cli.doctor.pipeline_tables import pipeline_of, table_diagnoses
from oncelog.cli.shared.options import ConnectionOptions, cluster_options
from oncelog.cli.shared.output import remark, show_json
from oncelog.cli.shared.registry_option import RegistryAccess, registry_option
from oncelog.errors import Error, KafkaError, OncelogError

if TYPE_CHECKING:
    from oncelog.client.blocking import Admin
    from oncelog.spark.options import TopicCreation
    from oncelog.spark.pipeline import Pipeline
    from oncelog.spark.sink.checkpoint import Checkpoint
    from oncelog.spark.sink.doctor import Diagnosis, SinkLogState
    from oncelog.spark.tables.doctor import TableDiagnosis

END = -1


@click.command("doctor")
@click.argument("checkpoint")
@click.option("--group", default="", help="Group of the marker; without it, the groups that the checkpoint remembers.")
@click.option(
    "--on-missing-marker",
    type=click.Choice(["fail", "write", "skip"]),
    default="fail",
    show_default=True,
    help="The value of the query's option onMissingMarker.",
)
@click.option(
    "--pipeline", "file", type=click.Path(path_type=Path), metavar="FILE",
    help="The pipeline's file: its tables are examined too.",
)  # fmt: skip
@registry_option
@cluster_options
def doctor(
    checkpoint: str,
    group: str,
    on_missing_marker: str,
    file: Path | None,
    schema_registry: RegistryAccess,
    cluster: ConnectionOptions,
) -> None:
    """Print what the next start of a query will do with CHECKPOINT, the folder or URL of its checkpoint, and why.

    It changes nothing. Exit status 1 if the query would be refused. With --pipeline, it also prints what the tables
    hold, how their columns differ from the rows, which rights are missing, and which files tasks left behind; it
    does so before the first start, too, when there is no CHECKPOINT yet.

    \b
    Examples:
      oncelog pipeline doctor oncelog-checkpoints/late --bootstrap-server 127.0.0.1:9092
      oncelog pipeline doctor oncelog-checkpoints/late --pipeline late.toml
      oncelog pipeline doctor s3a://bucket/checkpoints/late --bootstrap-server kafka:9092 --json
    """
    pipeline = None if file is None else pipeline_of(file, checkpoint)
    known = _known(checkpoint, pipeline)
    topics: Sequence[Diagnosis | FirstStart] = []
    if pipeline is None or pipeline.writes_topics or group:
        if known is not None:
            topics = diagnoses(cluster, known, group or _group_of(pipeline, known), on_missing_marker)
        elif pipeline is not None:
            topics = _first_start(cluster, pipeline)
    servers = cluster.properties["bootstrap.servers"]
    tables = [] if pipeline is None else table_diagnoses(pipeline, known, servers, schema_registry)
    found: Sequence[Diagnosis | FirstStart | TableDiagnosis] = [*topics, *tables]
    if cluster.as_json:
        show_json([one.as_json() for one in found])
    else:
        for number, one in enumerate(found):
            if number:
                click.echo()
            for what, text in one.lines():
                click.echo(f"{what:<12}{text}")
        if not group and topics and known is not None:
            remark(
                "this is true of a query that writes where the checkpoint has written; for a copy that writes "
                "elsewhere, name its group (transactional id prefix, query, topic) with --group"
            )
    if any(one.verdict == "refuse" for one in found) or any(one.refused for one in tables):
        raise click.exceptions.Exit(1)


def opened(checkpoint: str) -> Checkpoint:
    """The checkpoint at a path or URL.

    :raises OncelogError: there is none.
    """
    found = _at(checkpoint)
    _check_folder(checkpoint)
    found.query_id()
    return found


def _known(checkpoint: str, one: Pipeline | None) -> Checkpoint | None:
    """The checkpoint; None if the pipeline has not started yet."""
    if one is not None and not _inner(checkpoint) and _at(checkpoint).is_new():
        return None
    return opened(checkpoint)


def _at(checkpoint: str) -> Checkpoint:
    from importlib.util import find_spec

    if find_spec("pyarrow") is None:
        raise OncelogError("checkpoints are read through pyarrow: install it with pip install 'oncelog[spark]'")
    from oncelog.spark.sink.checkpoint import Checkpoint

    return Checkpoint.open(checkpoint)


def _group_of(one: Pipeline | None, checkpoint: Checkpoint) -> str:
    """The group in which a pipeline's markers for topics are committed; empty if the checkpoint already records its
    topics."""
    from oncelog.spark.options import parse_sink_options
    from oncelog.spark.pipeline.definition import TOPICS
    from oncelog.spark.sink.checkpoint import marker_group

    if one is None or any(not last.table for last in checkpoint.last_writes()):
        return ""
    options = one.writer_options("") | {"checkpointLocation": checkpoint.location}
    prefix = parse_sink_options(options, streaming=True).transactional_id_prefix
    return marker_group(prefix, checkpoint.query_id(), "", TOPICS)


@dataclass(frozen=True, slots=True)
class FirstStart:
    """What the first start of a pipeline will do with one of its topics.

    :param partitions: the topic's number of partitions; None if the topic does not exist.
    :param creation: how the start then creates the topic.
    """

    topic: str
    partitions: int | None
    creation: TopicCreation | None = None

    @property
    def verdict(self) -> str:
        return "refuse" if self.partitions is None and self.creation is None else "write"

    @property
    def reason(self) -> str:
        if self.verdict == "refuse":
            return f"topic {self.topic} does not exist: create it (oncelog topics create {self.topic}), or name another"
        first = "there is no checkpoint yet, so this is the first start"
        return first if self.partitions is not None else f"{first}; it creates topic {self.topic} {self.creation}"

    def as_json(self) -> dict[str, Any]:
        coming = {"batchId": 0, "repeats": False, "verdict": self.verdict, "reason": self.reason}
        return {"topic": self.topic, "partitions": self.partitions, "next": coming}

    def lines(self) -> list[tuple[str, str]]:
        return [
            ("topic", self.topic),
            ("partitions", "no such topic" if self.partitions is None else str(self.partitions)),
            ("next start", f"plans batch 0: {self.verdict}, {self.reason}"),
        ]


def _first_start(cluster: ConnectionOptions, one: Pipeline) -> Sequence[FirstStart]:
    with cluster.admin() as admin:
        counts = {topic.name: len(topic.partitions) for topic in admin.describe_topics()}
    return [FirstStart(topic, counts.get(topic), one.creations.get(topic)) for topic in one.topics]


def diagnoses(
    cluster: ConnectionOptions, found: Checkpoint, group: str = "", on_missing_marker: str = "fail"
) -> Sequence[Diagnosis]:
    """Predict what the next start of a query will do, for each of its destinations."""
    from oncelog.spark.options import OnMissingMarker
    from oncelog.spark.sink.doctor import diagnose, groups_of
    from oncelog.spark.sink.planning import now_ms

    with cluster.admin() as admin:
        option = OnMissingMarker(on_missing_marker)
        return [
            diagnose(found, name, _log_state(cluster, admin, found, name), now_ms(), option)
            for name in groups_of(found, group)
        ]


def _check_folder(checkpoint: str) -> None:
    """Check that a local path is a checkpoint.

    :raises OncelogError: the folder does not exist, or contains several checkpoints instead of being one.
    """
    folder = Path(checkpoint)
    if ":" in checkpoint or (folder / "metadata").exists():
        return
    if not folder.is_dir():
        raise OncelogError(
            f"no such folder: {checkpoint} (before the first start of a pipeline, name its file with --pipeline)"
        )
    if inner := _inner(checkpoint):
        raise OncelogError(f"{checkpoint} is not a checkpoint but contains some; name one: {', '.join(inner)}")


def _inner(checkpoint: str) -> list[str]:
    """The names of the checkpoints in a local folder."""
    return [] if ":" in checkpoint else sorted(str(path.parent) for path in Path(checkpoint).glob("*/metadata"))


def _log_state(cluster: ConnectionOptions, admin: Admin, checkpoint: Checkpoint, group: str) -> SinkLogState:
    from oncelog.spark.kafka.kafka_cluster import KafkaCluster
    from oncelog.spark.sink.doctor import SinkLogState

    offsets = admin.list_consumer_group_offsets(group, negative=True)
    topics = sorted({partition.topic for partition in offsets})
    partitions = [partition for topic in topics for partition in admin.partitions(topic)]
    ends = admin.list_offsets(dict.fromkeys(partitions, END), read_committed=True) if partitions else {}
    remembered = checkpoint.remembered(group)
    marker_topic = None if remembered is None else remembered.marker_topic
    with contextlib.closing(KafkaCluster.connect(cluster.admin_settings())) as client:
        return SinkLogState(
            facts=client.facts(group),
            offsets=offsets,
            transaction=_transaction(admin, group),
            ends={where: one.offset for where, one in ends.items()},
            topic_ids={} if marker_topic is None else client.topic_ids([marker_topic.name]),
        )


def _transaction(admin: Admin, transactional_id: str) -> str:
    try:
        state = admin.describe_transactions([transactional_id])[0].state
    except KafkaError as error:
        if error.error is Error.UNSUPPORTED_VERSION:
            return "not shown by this cluster (the next start aborts an open one)"
        if error.error is not Error.TRANSACTIONAL_ID_NOT_FOUND:
            raise
        return "none known"
    return f"{state} (the next start aborts it)" if state == "Ongoing" else state
