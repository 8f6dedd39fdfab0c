"""Reads the committed records of a topic up to its end, and writes them to a target together with the progress.

Called by the command line. The end is the topic's end when the run opens: later records are left to the next run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from oncelog.apps.export.target import ExportError, ExportProgress, ExportSource, ExportTarget
from oncelog.client.positions import EARLIEST
from oncelog.records.arrow import HEADERS_TYPE, MAX_MS, in_microseconds
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.apps.export.typed import TypedColumn
    from oncelog.client.blocking import Admin, Consumer

_POLL_MS = 500
_ID_BYTES = 8


class Export:
    """One run of an export, over the records that exist when it starts.

    :param consumer: reads committed records, without a group.
    :param part_bytes: rows are committed when they reach about this size.
    :param skip_deleted: continue after records that were deleted before they were exported.
    :param nulls: whether a timestamp that the table cannot hold becomes null, instead of ending the export.
    """

    def __init__(
        self,
        admin: Admin,
        consumer: Consumer[Any, Any],
        topic: str,
        target: ExportTarget,
        *,
        skip_deleted: bool,
        part_bytes: int,
        nulls: bool = False,
    ) -> None:
        self._admin = admin
        self._consumer = consumer
        self._topic = topic
        self._target = target
        self._skip_deleted = skip_deleted
        self._part_bytes = part_bytes
        self._nulls = nulls
        self._names: list[TopicPartition] = []
        self._ends: dict[TopicPartition, int] = {}
        self._positions: dict[TopicPartition, int] = {}
        self._typed: Mapping[str, TypedColumn] = {}
        self._source = ExportSource(topic, 0)
        self._schema = pa.schema([])
        self._uncommitted = 0
        self.exported = 0
        self.beyond = 0
        """The number of records whose timestamp became null."""
        self.deleted = 0

    def begun(self) -> ExportProgress | None:
        """The progress of an earlier run.

        :raises ExportError: the target does not belong to this topic.
        """
        self._names = self._admin.partitions(self._topic)
        number = self._topic_number()
        self._source = ExportSource(self._topic, number)
        progress = self._target.begun(self._topic, [name.partition for name in self._names])
        if progress is None:
            return None
        if progress.source.topic != self._topic:
            raise ExportError(f"This is an export of the topic {progress.source.topic}: choose another name")
        if number and progress.source.topic_number not in (0, number):
            raise ExportError(
                f"The topic {self._topic} was deleted and created again since this export was begun: choose another "
                "name for the new topic"
            )
        return progress

    def _topic_number(self) -> int:
        found = next(one for one in self._admin.describe_topics([self._topic]) if one.name == self._topic)
        return int.from_bytes(found.topic_id[:_ID_BYTES], "big") >> 1

    def open(
        self, progress: ExportProgress | None, typed: Mapping[str, TypedColumn], schemas: Mapping[str, int]
    ) -> None:
        """Find the offsets at which the run begins and ends, open the target, and assign to the consumer the partitions
        with records to export, each from its first offset.

        :param typed: the readers of ``key`` and ``value``; a part without one stays bytes.
        :param schemas: the ids of their schemas.
        :raises ExportError: a partition ends before the export's position, or records were deleted before they were
            exported and ``skip_deleted`` is not set.
        """
        self._typed = typed
        self._source = ExportSource(self._topic, self._source.topic_number, schemas)
        self._schema = _schema(typed)
        firsts = self._admin.list_offsets(dict.fromkeys(self._names, EARLIEST), read_committed=True)
        ends = self._admin.settled_ends(self._names)
        for name in self._names:
            first, end = firsts[name].offset, ends[name].offset
            start = first if progress is None else progress.offsets.get(name.partition, first)
            self._positions[name] = max(start, self._checked(name, start, first, end))
            self._ends[name] = end
        self._target.open(self._schema, self._source)
        self._consumer.assign([name for name, end in self._ends.items() if self._positions[name] < end])
        for name in self._consumer.assignment():
            self._consumer.seek(name, self._positions[name])

    def _checked(self, name: TopicPartition, start: int, first: int, end: int) -> int:
        if start > end:
            raise ExportError(
                f"{name} ends at offset {end}, and the export has read to {start}: the topic was restored from an "
                "older copy, or records of it were lost; choose another name to export the topic's present records"
            )
        if start < first and not self._skip_deleted:
            raise ExportError(
                f"Records of {name} from offset {start} to {first - 1} were deleted before they were exported: "
                "--skip-deleted continues after them"
            )
        self.deleted += max(0, first - start)
        return first

    @property
    def left(self) -> int:
        """The number of offsets that remain to be exported."""
        return sum(self._ends[name] - position for name, position in self._positions.items())

    def round(self) -> bool:
        """Read the available records, and commit them once they reach ``part_bytes``; returns False when everything has
        been read."""
        waiting = [name for name in self._ends if self._positions[name] < self._ends[name]]
        if waiting:
            for name, table in self._consumer.getmany_arrow(*waiting, timeout_ms=_POLL_MS, headers=True).items():
                self._take(name, table)
            for name in waiting:
                self._positions[name] = min(self._consumer.position(name), self._ends[name])
                if self._positions[name] == self._ends[name]:
                    self._consumer.pause(name)
        if self._target.size_bytes >= self._part_bytes:
            self.commit()
        return bool(waiting)

    def _take(self, name: TopicPartition, table: pa.Table) -> None:
        table = table.filter(pc.less(table["offset"], self._ends[name]))
        if not table.num_rows:
            return
        offsets = table["offset"]
        columns: dict[str, Any] = {
            "partition": pa.array([name.partition] * table.num_rows, pa.int32()),
            "timestamp": self._timestamps(name, table),
            **{column: table[column] for column in ("offset", "key", "value", "headers")},
        }
        for part, reader in self._typed.items():
            columns[part] = reader(table[part], table["headers"], lambda row: f"{name}:{offsets[row]}")
        self._target.write(pa.table([columns[one.name] for one in self._schema], schema=self._schema))
        self._uncommitted += table.num_rows

    def _timestamps(self, name: TopicPartition, table: pa.Table) -> pa.ChunkedArray:
        """The records' timestamps in microseconds; those that a table cannot hold become null if the export allows it.

        :raises ExportError: a table cannot hold a timestamp, and nulls are not allowed.
        """
        given = table["timestamp"]
        found = pa.chunked_array([in_microseconds(chunk) for chunk in given.chunks])
        if found.null_count and not self._nulls:
            first = found.is_null().index(True).as_py()
            raise ExportError(
                f"The record {name}:{table['offset'][first]} has the timestamp {given[first].value} ms, and timestamps "
                f"of a table end at {MAX_MS} ms, in the year 294247: its producer seems to use another unit than "
                "milliseconds; --malformed null exports the record with null as its timestamp"
            )
        self.beyond += found.null_count
        return found

    def commit(self) -> None:
        """Commit the rows that were read, and the position after them.

        :raises ExportError: the topic was recreated, and some rows may come from the new topic.
        """
        if self._uncommitted:
            if self._topic_number() != self._source.topic_number:
                raise ExportError(
                    f"The topic {self._topic} was deleted and created again while it was exported; what was read since "
                    "the last part is left out: export the new topic to a target of another name"
                )
            offsets = {name.partition: position for name, position in self._positions.items()}
            self._target.commit(ExportProgress(self._source, offsets))
        self.exported += self._uncommitted
        self._uncommitted = 0


def _schema(typed: Mapping[str, TypedColumn]) -> pa.Schema:
    bytes_or_typed = {part: typed[part].type if part in typed else pa.binary() for part in ("key", "value")}
    return pa.schema(
        [
            pa.field("partition", pa.int32()),
            pa.field("offset", pa.int64()),
            pa.field("timestamp", pa.timestamp("us", "UTC")),
            *(pa.field(part, kind) for part, kind in bytes_or_typed.items()),
            pa.field("headers", HEADERS_TYPE),
        ]
    )


def schema_ids(registry: Any, topic: str, begun: ExportProgress | None) -> dict[str, int]:
    """The ids of the schemas that define the columns of keys and values: those with which the export began, otherwise
    the newest versions of the subjects ``TOPIC-key``, if that exists, and ``TOPIC-value``.

    :raises SchemaRegistryError: there is no subject for the values.
    """
    if begun is not None:
        return dict(begun.source.schemas)
    subjects: Sequence[str] = registry.subjects()
    found = {"value": int(registry.latest(f"{topic}-value").schema_id)}
    if f"{topic}-key" in subjects:
        found["key"] = int(registry.latest(f"{topic}-key").schema_id)
    return found
