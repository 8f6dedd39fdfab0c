"""The registered schemas of a pipeline: the readers' schemas of its sources and the writers' schemas of its sinks.

Called by :mod:`oncelog.spark.pipeline.running` before a run and at each start. The sources' schema versions are stored
in the checkpoint, so that a start can report changes since the previous one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oncelog.errors import OncelogError
from oncelog.runtime import real_json as json
from oncelog.spark.pipeline.definition import REGISTERED, Pipeline, PipelineError, Sink, Source

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import Column
    from pyspark.sql.types import StructType

    from oncelog.schemas.arrow.value_reading import ReaderSchema
    from oncelog.spark.schemas import Access
    from oncelog.spark.schemas.verdicts import Verdicts
    from oncelog.spark.sink.checkpoint import Checkpoint

KEPT = "schemas"
"""The file in the checkpoint, next to the sinks' files."""


@dataclass(frozen=True)
class Schemas:
    """The schemas that the registry returned at the start of the pipeline.

    :param registry: the run's registry, for sources and sinks that name none.
    :param readers: the schema into which each source's values are read.
    :param verdicts: collects the registry's answers about schema ids while a batch is read; None if no source has a
        registry.
    """

    pipeline: str
    registry: Access = ""
    readers: Mapping[str, ReaderSchema] = field(default_factory=dict)
    verdicts: Verdicts | None = None

    def decoded(self, name: str, source: Source) -> Column:
        """The decoded column ``value``, as a struct of value and problem."""
        from oncelog.spark.schemas.functions import REPORT, read_column

        return read_column("value", self._access(source), self.readers[name], REPORT, self.verdicts, headers="headers")

    def encoded(self, sink: Sink, row: Column, columns: StructType) -> Column:
        """The row in Confluent's wire format. Registers the schema if it is derived from the columns.

        :raises PipelineError: the columns do not fit, or the registry refuses the schema.
        """
        from oncelog.spark.schemas.functions import check_written, write_column

        try:
            target = self.target(sink) if sink.schema else self._registered(sink, columns)
            check_written(columns, target)
            return write_column(row, target)
        except OncelogError as error:
            raise PipelineError(f"pipeline {self.pipeline} cannot write: {error}") from error

    def target(self, sink: Sink) -> ReaderSchema:
        """The registered version with which a sink's values are written. Raises OncelogError."""
        from oncelog.spark.schemas.functions import find_target, open_registry

        with open_registry(self._access(sink)) as asked:
            return _of_format(find_target(asked, sink.schema, message=sink.message), sink.format)

    def _registered(self, sink: Sink, columns: StructType) -> ReaderSchema:
        """A schema derived from the columns, registered for each topic. Raises OncelogError."""
        from oncelog.schemas import record_subject, topic_record_subject, topic_subject
        from oncelog.schemas.arrow.value_writing import avro_name
        from oncelog.spark.schemas.functions import avro_schema, find_target, open_registry

        topics = (sink.topic,) if sink.topic else sink.topics
        record = sink.record or avro_name(sink.topic or self.pipeline)
        text = avro_schema(columns, record)
        subject_of = {"topic": topic_subject, "record": record_subject, "topic-record": topic_record_subject}
        name = subject_of[sink.subject_name]
        with open_registry(self._access(sink)) as asked:
            found = [find_target(asked, name(topic, False, record), text) for topic in topics]
        if len({target.schema_id for target in found}) > 1:
            raise PipelineError(
                f"{asked.url} has other ids for the same schema in other subjects: give each topic a sink of its own"
            )
        return found[0]

    def _access(self, of: Source | Sink) -> Access:
        return access_of(of, self.registry, self.pipeline)


def access_of(of: Source | Sink, registry: Access, pipeline: str) -> Access:
    """The registry of a source or sink. Raises PipelineError if none is named."""
    access = of.registry or registry
    if not access:
        raise PipelineError(
            f"pipeline {pipeline}: format {of.format} needs a schema registry: set registry, or give the run "
            "--schema-registry"
        )
    return access


def find_schemas(one: Pipeline, registry: Access, context: SparkContext | None = None) -> Schemas:
    """Ask the registry for the schemas of a pipeline. Raises PipelineError if one is missing or cannot be used.

    :param context: Spark's context at a start; None for a check before Spark starts.
    """
    sinks = [sink for sink in one.topic_sinks.values() if sink.format]
    sources = {name: source for name, source in one.sources.items() if source.is_registered}
    if not sinks and not sources:
        return Schemas(one.name)
    from oncelog.spark.schemas.functions import check_here

    check_here()
    readers = {name: _reader(one.name, source, registry) for name, source in sources.items()}
    verdicts = None
    if readers and context is not None:
        from oncelog.spark.schemas.verdicts import Verdicts

        verdicts = Verdicts(context)
    found = Schemas(one.name, registry, readers, verdicts)
    for sink in sinks:
        access_of(sink, registry, one.name)
        if sink.schema:
            try:
                found.target(sink)
            except OncelogError as error:
                raise PipelineError(f"pipeline {one.name} cannot write {sink.schema}: {error}") from error
    return found


def _reader(pipeline: str, source: Source, registry: Access) -> ReaderSchema:
    from oncelog.schemas.arrow.value_reading import find_reader
    from oncelog.spark.schemas.functions import open_registry

    access = access_of(source, registry, pipeline)
    try:
        with open_registry(access) as asked:
            found = _of_format(find_reader(asked, source.subject, source.message), source.format)
            _columns(found)
        return found
    except OncelogError as error:
        raise PipelineError(f"pipeline {pipeline} cannot read {source.subject}: {error}") from error


def _of_format(found: ReaderSchema, name: str) -> ReaderSchema:
    if found.schema.schema_type != REGISTERED[name]:
        raise PipelineError(f"{found.shown} is of type {found.schema.schema_type}, and the format is {name}")
    return found


def _columns(reader: ReaderSchema) -> dict[str, str]:
    """The columns of a schema and their types. Raises SchemaError."""
    from oncelog.schemas.arrow.value_reading import columns_of

    kind = columns_of(reader)
    return {column.name: str(column.type) for column in kind}


def keep(found: Schemas, checkpoint: Checkpoint, report: Callable[[str], None]) -> None:
    """Store the sources' schemas in the checkpoint, and report changes since the last start."""
    if not found.readers:
        return
    before = _kept(checkpoint)
    now = {name: _entry(reader) for name, reader in found.readers.items()}
    for name, entry in now.items():
        if before.get(name) == entry:
            continue
        notice = f"{found.pipeline}: {name} is read into {found.readers[name].shown}"
        earlier = before.get(name)
        if isinstance(earlier, dict):
            notice += f", and was into {earlier.get('subject')}:{earlier.get('version')}{_difference(earlier, entry)}"
        report(notice)
    if before != now:
        checkpoint.keep(KEPT, json.dumps(now).encode())


def _kept(checkpoint: Checkpoint) -> Mapping[str, Any]:
    data = checkpoint.kept(KEPT)
    try:
        found = {} if data is None else json.loads(data)
    except ValueError:
        found = {}
    return found if isinstance(found, dict) else {}


def _entry(reader: ReaderSchema) -> dict[str, Any]:
    return {
        "subject": reader.subject,
        "version": reader.version,
        "id": reader.schema_id,
        "type": reader.schema.schema_type,
        "schema": reader.schema.text,
        "columns": _columns(reader),
    }


def _difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The difference between the columns of two schemas: ``; new: note; gone: old``."""
    old, new = before.get("columns"), now["columns"]
    if not isinstance(old, dict):
        return ""
    parts = {
        "new": [name for name in new if name not in old],
        "gone": [name for name in old if name not in new],
        "another type": [name for name in new if name in old and old[name] != new[name]],
    }
    return "".join(f"; {what}: {', '.join(names)}" for what, names in parts.items() if names)
