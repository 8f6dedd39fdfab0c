"""A Delta table, by delta-rs: tasks write files, the driver makes one commit, which contains the batch's identity.

A commit has two application transactions: the batch's number, and the beginning of its plan's fingerprint as a number.
Delta keeps both when it shortens its log. For people, the whole identity is also in the commit's information. delta-rs
refuses a commit if another one with the same application was made first.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from oncelog.errors import ConfigError
from oncelog.runtime import real_json as json
from oncelog.spark.sink.marker import Marker
from oncelog.spark.tables.columns import check_required, missing_columns, stored_schema
from oncelog.spark.tables.databases.sql_names import of_table, quoted
from oncelog.spark.tables.inline import InlineWriter, leave_few
from oncelog.spark.tables.keys import check_keys
from oncelog.spark.tables.lake.delta_demands import (
    Demands,
    arranged,
    check_names,
    check_nulls,
    check_partitions,
    check_understood,
    check_writable,
    demands_of,
    required,
)
from oncelog.spark.tables.lake.delta_log import INFO, CommitHistory
from oncelog.spark.tables.lake.parquet import PREFIX, DataFile, FileWriter, check_partition_texts, file_schema
from oncelog.spark.tables.lake.row_conditions import widened
from oncelog.spark.tables.lake.struct_fields import rearranged
from oncelog.spark.tables.latest import compared, later
from oncelog.spark.tables.options import Mode, TableFormat, TableOptions
from oncelog.spark.tables.store import (
    FOR_EVER_MS,
    Commit,
    Conflict,
    Leftover,
    TableLayout,
    TableLook,
    TableRefused,
    TaskWriter,
    WrittenPart,
    check_rights,
    inline_rows,
    query_of,
    unwritable,
)

try:
    from deltalake import CommitProperties, DeltaTable, Schema, Transaction
    from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
    from deltalake.fs import DeltaStorageHandler
    from deltalake.transaction import AddAction, RemoveAction
except ImportError as missing:
    raise ConfigError("A delta sink needs deltalake: pip install 'oncelog[delta]'") from missing

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.fs import FileSystem
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_PLAN = ":plan"
_HISTORY = 100
_OF_PARQUET = re.compile(r"\.parquet$|^[^._=][^=]*=")
"""Matches the names of files and partition folders in a table of Parquet files."""
_RETENTION = "delta.setTransactionRetentionDuration"
_UNITS_MS = {
    "microsecond": 0.001,
    "millisecond": 1,
    "second": 1_000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 604_800_000,
}


LastBatch: TypeAlias = tuple[int | None, dict[str, Any]]
"""The number of the last batch, None if there is none, and the details that oncelog stored in the batch's commit; the
details are empty if the log no longer has the commit.
"""


class _Seen(NamedTuple):
    """The last batch of a group when the table was last read; stored so that each commit of the log is read only once.

    :param state: the table's id, and the group's application transaction.
    """

    state: tuple[object, int]
    version: int
    found: LastBatch


class DeltaTableStore:
    """The table at a path or URL."""

    def __init__(self, options: TableOptions) -> None:
        self._options = options
        self._prepared: DeltaTable | None = None
        self._schema: StructType | None = None
        self._kept = Demands()
        self._seen: dict[str, _Seen] = {}

    def look(self, group: str, plans: Sequence[str], known: Collection[str] = ()) -> TableLook:
        table = self._load()
        return TableLook("", FOR_EVER_MS, None) if table is None else self._look_at(table, group, plans, known)

    def prepare(self, schema: StructType, options: TableOptions) -> str:
        self._options = options
        self._schema = stored = stored_schema(schema, TableFormat.DELTA)
        table = self._load()
        check_rights(self._options, self.missing_rights())
        try:
            if table is None:
                check_names(schema, self._options)
                check_partitions(stored, self._options.partition_by, self._options)
                self._check_new()
                table = DeltaTable.create(
                    self._options.table,
                    Schema.from_json(stored.json()),
                    mode="ignore",
                    partition_by=list(self._options.partition_by),
                    storage_options=dict(self._options.storage),
                )
            self._check_partitions(table)
            added = self._missing(table, stored)
            if added.fields:
                check_names(schema, self._options)
                table.alter.add_columns(Schema.from_json(added.json()).fields)
        except DeltaError as error:
            raise self._refused(error) from error
        self._prepared = table
        return str(table.metadata().id)

    def check(self) -> None:
        table = self._load()
        if table is not None:
            check_writable(table, _columns(table), self._options)

    def compare(self, schema: StructType, options: TableOptions) -> None:
        self._options = options
        table = self._load()
        if table is None:
            check_partitions(schema, self._options.partition_by, self._options)
            self._check_new()
        else:
            self._missing(table, stored_schema(schema, TableFormat.DELTA))

    def _check_new(self) -> None:
        """Refuse a folder of Parquet files that is no Delta table: readers of the files would find the rows of both,
        and Delta's VACUUM would delete the files. Raises ConfigError."""
        from pyarrow.fs import FileSelector

        try:
            found = file_system(self._options).get_file_info(FileSelector("", allow_not_found=True))
        except TableNotFoundError:  # nor a folder
            return
        except (DeltaError, OSError) as error:
            raise self._refused(error) from error
        of_a_table = [one.base_name for one in found if _OF_PARQUET.search(one.base_name)]
        if of_a_table:
            table = self._options.table
            raise ConfigError(
                f"{self._options} is no Delta table, and its folder has {of_a_table[0]}, as tables of Parquet files "
                f"do: make it one in Spark (CONVERT TO DELTA parquet.`{table}`), or write to another folder"
            )

    def _missing(self, table: DeltaTable, schema: StructType) -> StructType:
        """The columns that the table lacks and that may be added. Raises ConfigError if columns must not be added."""
        from pyspark.sql.types import StructType

        found = _columns(table)
        check_writable(table, found, self._options)
        schema = widened(schema, {field.name: field.dataType for field in found.fields})
        wanted = [(field.name, field.dataType.simpleString()) for field in schema.fields]
        added = missing_columns(
            wanted,
            [(field.name, field.dataType.simpleString()) for field in found.fields],
            self._options,
            lambda name: rearranged(name, schema[name].dataType, found[name].dataType),
        )
        check_required(required(table), schema.names, self._options)
        if self._options.mode is Mode.UPSERT:
            check_understood(table, demands_of(table, found), self._options)
        return StructType([schema[name] for name, _ in added])

    def _check_partitions(self, table: DeltaTable) -> None:
        """Raises Conflict if the table's partition columns have changed since it was read: the files were written for
        the old ones."""
        found = tuple(table.metadata().partition_columns)
        if found != self._options.partition_by:
            raise Conflict(f"{self._options} was repartitioned by {', '.join(found) or 'nothing'} after it was read")

    def layout(self) -> TableLayout | None:
        table = self._load()
        return None if table is None else _layout(table)

    def arranged(self, rows: DataFrame) -> DataFrame:
        table = self._prepared
        if table is None:
            return rows
        columns = _columns(table)
        self._kept = demands_of(table, columns)
        return arranged(rows, self._kept, columns, self._options)

    def missing_rights(self) -> list[str]:
        """The missing permissions to write to a local folder; an object store is not asked."""
        path = self._options.table.removeprefix("file://")
        if "://" in path:
            return []
        log = Path(path) / "_delta_log"
        return unwritable(path) or unwritable(str(log))

    def leftovers(self, older_than_h: int) -> list[Leftover]:
        table = self._load()
        if table is None:
            return []
        try:
            unnamed, removed = (
                set(table.vacuum(older_than_h, dry_run=True, enforce_retention_duration=False, full=full))
                for full in (True, False)
            )
        except (DeltaError, OSError) as error:
            raise self._refused(error) from error
        names = sorted(name for name in unnamed - removed if name.startswith(PREFIX))
        infos = file_system(self._options).get_file_info(names) if names else []
        return [Leftover(info.path, info.size or 0) for info in infos]

    def remove(self, found: Iterable[Leftover], older_than_h: int) -> None:
        files = file_system(self._options)
        try:
            for one in found:
                files.delete_file(one.what)
        except (DeltaError, OSError) as error:
            raise self._refused(error) from error

    def task_writer(self) -> TaskWriter:
        if self._options.driver_writes or self._options.mode is Mode.UPSERT:
            return InlineWriter()
        return DeltaFilesWriter(self._options)

    def commit(self, commit: Commit) -> None:
        table = self._load()
        if table is None or not self._same(table, commit):
            raise Conflict(f"{self._options} got another batch of {commit.group} after it was read")
        self._check_partitions(table)
        if self._schema is not None and self._missing(table, self._schema).fields:
            raise Conflict(f"{self._options} has lost columns since it was prepared")
        if added := set(demands_of(table, _columns(table)).conditions) - set(self._kept.conditions):
            raise TableRefused(
                f"{self._options} got the {min(added).name} while a batch was written, and its rows are not checked "
                "for that: nothing was committed, and a new start computes the batch again"
            )
        rows = inline_rows(commit.parts)
        upserts = commit.mode is Mode.UPSERT and bool(rows)
        if upserts:
            check_keys(rows, self._options)
            check_partition_texts(rows, self._options.partition_by)
        files = [] if upserts else self._files(commit.parts, rows)
        check_nulls(files, required(table), self._options)
        properties = _properties(commit)
        try:
            if upserts:
                before = table.version()
                self._merge(table, rows, properties)
                if table.version() == before:  # every row of the table was newer, so delta-rs has committed nothing
                    add_files(table, [], "append", self._options.partition_by, properties)
            else:
                mode: Literal["append", "overwrite"] = "overwrite" if commit.mode is Mode.COMPLETE else "append"
                add_files(table, files, mode, self._options.partition_by, properties)
        except CommitFailedError as error:
            if self._version() == table.version():
                raise self._refused(error) from error
            raise Conflict(f"{self._options} was changed by others at the same time ({short(error)})") from error
        except (DeltaError, OSError) as error:
            raise Conflict(f"It is not known whether {self._options} has the commit ({short(error)})") from error

    def _version(self) -> int | None:
        table = self._load()
        return None if table is None else table.version()

    def _merge(self, table: DeltaTable, rows: Sequence[pa.RecordBatch], properties: CommitProperties) -> None:
        import pyarrow as pa

        schema = file_schema(rows[0].schema, ())
        source = pa.Table.from_batches(rows).cast(schema)
        on = " AND ".join(f"target.{quoted(name)} = source.{quoted(name)}" for name in self._options.key)
        merger = table.merge(source, on, source_alias="source", target_alias="target", commit_properties=properties)
        columns = {quoted(name): f"source.{quoted(name)}" for name in schema.names}
        by = compared(schema.names, self._options)
        stays = None if not by else f"NOT {later(by, of_table, 'target', 'source')}"
        merger.when_matched_update(columns, predicate=stays).when_not_matched_insert(columns).execute()

    def _files(self, parts: Sequence[WrittenPart], rows: Sequence[pa.RecordBatch]) -> list[DataFile]:
        """The tasks' files, and one file for all rows that they left to the driver."""
        import pyarrow as pa

        found = [one for part in parts if part.written is not None for one in pickle.loads(part.written)]
        if rows:
            partition_by = self._options.partition_by
            table = pa.Table.from_batches(rows)
            if partition_by:
                table = table.sort_by([(name, "ascending") for name in partition_by])
            writer = FileWriter(file_system(self._options), self._options, file_schema(table.schema, partition_by))
            try:
                for batch in table.to_batches():
                    writer.write(batch)
                found += writer.finish()
            except OSError as error:
                raise self._refused(error) from error
        return found

    def _look_at(self, table: DeltaTable, group: str, plans: Sequence[str], known: Collection[str]) -> TableLook:
        retention = _retention_ms(table.metadata().configuration.get(_RETENTION))
        marker = self._marker(table, group, plans)
        others = {} if marker is not None else self._others(table, group, plans, known)
        return TableLook(str(table.metadata().id), retention, marker, others, _layout(table))

    def _others(self, table: DeltaTable, group: str, plans: Sequence[str], known: Collection[str]) -> dict[str, Marker]:
        """The last batches of the query's other groups: of known groups, and of those that the log still names."""
        named = {str(info.get("sink")) for info in self._history(table) if info.get("queryId") == query_of(group)}
        groups = sorted({*known, *named} - {group})
        found = {other: self._marker(table, other, plans) for other in groups}
        return {other: marker for other, marker in found.items() if marker is not None}

    def _marker(self, table: DeltaTable, group: str, plans: Sequence[str]) -> Marker | None:
        """The last batch of a group, from its application transactions and the information in its commit."""
        number, details = self._last_batch(table, group)
        if number is None:
            return None
        plan = table.transaction_version(group + _PLAN)
        known = details.get("fingerprint") or next((one for one in plans if plan_number(one) == plan), None)
        return Marker(
            query_id=str(details.get("queryId", query_of(group))),
            batch_id=number,
            rows=int(details.get("rows", 0)),
            fingerprint=str(known or f"{plan:016x}..."),
            planned_at_ms=int(details.get("plannedAtMs", 0)),
            offsets=str(details.get("offsets", "")),
        )

    def _last_batch(self, table: DeltaTable, group: str) -> LastBatch:
        """The last batch of a group whose commit still counts."""
        number = table.transaction_version(group)
        if number is None:
            return None, {}
        state = table.metadata().id, number
        seen = self._seen.get(group)
        after, before = (seen.version, seen.found) if seen is not None and seen.state == state else (-1, (number, {}))
        history = self._history(table, after)
        found = _newest_of(history, group, before)
        if history.undone and after >= 0:  # the restored state may be older than ``after``: read everything
            found = _newest_of(self._history(table), group, (number, {}))
        self._seen[group] = _Seen(state, table.version(), found)
        return found

    def _same(self, table: DeltaTable, commit: Commit) -> bool:
        """Whether the group's last batch in the table is unchanged since the table was read."""
        before = None if commit.seen.marker is None else commit.seen.marker.batch_id
        return (str(table.metadata().id), self._last_batch(table, commit.group)[0]) == (commit.seen.table_id, before)

    def _history(self, table: DeltaTable, after: int = -1) -> CommitHistory:
        """The batches in the table's history. :param after: the version up to which the history is known."""
        return CommitHistory(self._newest_commits(table.version(), after))

    def _newest_commits(self, newest: int, after: int) -> Iterator[str]:
        """The texts of the newest commits, the newest first, as far as the log has them."""
        files = file_system(self._options)
        for version in range(newest, max(newest - _HISTORY, after), -1):
            try:
                with files.open_input_stream(f"_delta_log/{version:020}.json") as log:
                    yield log.read().decode()
            except FileNotFoundError:  # the log begins after this version
                return

    def _load(self) -> DeltaTable | None:
        try:
            return find_table(self._options)
        except (DeltaError, OSError) as error:
            raise self._refused(error) from error

    def _refused(self, error: Exception) -> TableRefused:
        return TableRefused(f"{self._options} cannot be read or written: {short(error)}")


@dataclass(frozen=True, slots=True)
class DeltaFilesWriter:
    """Writes a task's rows to files, and leaves a few rows to the driver."""

    options: TableOptions

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[WrittenPart]:
        many = yield from leave_few(batches)
        if many is None:
            return
        first = next(many)
        schema = file_schema(first.schema, self.options.partition_by)
        try:
            writer = FileWriter(file_system(self.options), self.options, schema)
            writer.write(first)
            for batch in many:
                writer.write(batch)
            files = writer.finish()
        except OSError as error:
            raise TableRefused(f"{self.options} cannot be written: {short(error)}") from error
        yield WrittenPart(sum(f.rows for f in files), sum(f.size_bytes for f in files), written=pickle.dumps(files))


def find_table(options: TableOptions) -> DeltaTable | None:
    """The table in its current state; None if there is none.

    :raises DeltaError, OSError: the table cannot be read.
    """
    try:
        return DeltaTable(options.table, storage_options=dict(options.storage))
    except TableNotFoundError:
        return None


def add_files(
    table: DeltaTable,
    files: Sequence[DataFile],
    mode: Literal["append", "overwrite"],
    partition_by: Sequence[str],
    properties: CommitProperties,
) -> None:
    """Make one commit that adds these files, and removes all others if the mode is ``overwrite``."""
    actions: list[AddAction | RemoveAction] = [_add(one) for one in files]
    table.create_write_transaction(actions, mode, table.schema(), list(partition_by), commit_properties=properties)


def file_system(options: TableOptions) -> FileSystem:
    """The file system whose root is the table's folder, with the library's own store and options."""
    from pyarrow.fs import PyFileSystem

    return PyFileSystem(DeltaStorageHandler(options.table, dict(options.storage)))


def _columns(table: DeltaTable) -> StructType:
    """The table's columns as Spark types, with Delta's entries in their metadata."""
    from pyspark.sql.types import StructType

    return StructType.fromJson(_json(table.schema().to_json()))


def _layout(table: DeltaTable) -> TableLayout:
    return TableLayout([field.name for field in table.schema().fields], tuple(table.metadata().partition_columns))


def _newest_of(history: CommitHistory, group: str, otherwise: LastBatch) -> LastBatch:
    """The group's last batch in a history. If the history has no batch of the group, and neither RESTORE nor REPLACE
    TABLE, returns ``otherwise``.
    """
    for info in history:
        if info.get("sink") == group:
            return int(info["batchId"]), info
    return (None, {}) if history.undone else otherwise


def _properties(commit: Commit) -> CommitProperties:
    marker, group = commit.marker, commit.group
    info = {"sink": group, **_json(marker.encode())}
    return CommitProperties(
        custom_metadata={INFO: info},
        app_transactions=[
            Transaction(group, marker.batch_id),
            Transaction(group + _PLAN, plan_number(marker.fingerprint)),
        ],
    )


def short(error: Exception) -> str:
    """The library's error with its causes, which it lists on separate lines after arrows."""
    first, *causes = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip().split("\n")
    parts = [first, *(cause.strip().removeprefix("\u21b3").strip() for cause in causes if "\u21b3" in cause)]
    return ": ".join(parts) or type(error).__name__


def plan_number(fingerprint: str) -> int:
    """The first bits of a fingerprint, as many as fit into the version of an application transaction."""
    return int(fingerprint[:16], 16) >> 1


def _retention_ms(interval: str | None) -> int:
    """The time in ms for which the table keeps application transactions, from a text such as ``interval 30 days``, in
    any case, as Delta-Spark reads it; for ever if there is none."""
    if not interval:
        return FOR_EVER_MS
    found = re.findall(rf"([+-]?[\d.]+)\s+({'|'.join(_UNITS_MS)})s?\b", interval.lower())
    return int(sum(float(number) * _UNITS_MS[unit] for number, unit in found))


def _add(file: DataFile) -> AddAction:
    return AddAction(
        path=file.path,
        size=file.size_bytes,
        partition_values=file.partition_values,
        modification_time=file.modified_ms,
        data_change=True,
        stats=file.statistics,
    )


def _json(text: str) -> Any:
    return json.loads(text)
