"""A Delta table: each commit holds the position of each partition as an application transaction.

Delta keeps the last version of each application for as long as the table exists, so the position is as durable as
the rows. Files and commits are made by the code of the pipelines' Delta sink.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError

from oncelog.apps.export.target import ExportError, ExportProgress, ExportSource
from oncelog.errors import InvariantError
from oncelog.spark.tables.lake.delta import add_files, file_system, find_table, short
from oncelog.spark.tables.lake.delta_demands import check_name
from oncelog.spark.tables.lake.parquet import FileWriter, file_schema
from oncelog.spark.tables.options import TableFormat, TableOptions

_PARTS = ("key", "value")


class ExportedDelta:
    """The Delta table at a path or URL, as the target of an export."""

    def __init__(self, path: str, storage: Mapping[str, str]) -> None:
        self._options = TableOptions(TableFormat.DELTA, path, storage=storage)
        self._topic = ""
        self._found: ExportProgress | None = None
        self._schema: pa.Schema = pa.schema([])
        self._writer: FileWriter | None = None

    def begun(self, topic: str, partitions: Sequence[int]) -> ExportProgress | None:
        self._topic = topic
        table = self._load()
        if table is None:
            return None
        self._found = self._progress(table, partitions)
        if self._found is None:
            raise ExportError(f"{self._options} holds no export of {topic}: choose another path")
        return self._found

    def _progress(self, table: DeltaTable, partitions: Sequence[int]) -> ExportProgress | None:
        number = table.transaction_version(self._application("topic"))
        if number is None:
            return None
        schemas = {part: table.transaction_version(self._application(f"{part}-schema")) for part in _PARTS}
        offsets = {one: table.transaction_version(self._application(str(one))) for one in partitions}
        return ExportProgress(
            ExportSource(self._topic, number, {part: one for part, one in schemas.items() if one is not None}),
            {one: offset for one, offset in offsets.items() if offset is not None},
        )

    def _application(self, what: str) -> str:
        return f"oncelog-export:{self._topic}:{what}"

    def open(self, schema: pa.Schema, source: ExportSource) -> None:
        _check_names(schema, self._options)
        self._schema = file_schema(schema, ())
        try:
            if self._found is None:
                self._found = ExportProgress(source, {})
                DeltaTable.create(
                    self._options.table,
                    Schema.from_arrow(self._schema),
                    storage_options=dict(self._options.storage),
                    commit_properties=CommitProperties(app_transactions=self._transactions(self._found)),
                )
            columns = self._required().schema()
            if columns != Schema.from_arrow(self._schema):
                raise ExportError(
                    f"{self._options} has other columns: repeat --schema-registry as it was, or choose another path"
                )
        except (DeltaError, OSError) as error:
            raise self._refused(error) from error

    def write(self, rows: pa.Table) -> None:
        if self._writer is None:
            self._writer = FileWriter(file_system(self._options), self._options, self._schema)
        for batch in rows.to_batches():
            self._writer.write(batch)

    @property
    def size_bytes(self) -> int:
        return 0 if self._writer is None else self._writer.size_bytes

    def commit(self, progress: ExportProgress) -> None:
        table = self._required()
        if self._progress(table, sorted(progress.offsets)) != self._found:
            raise self._overtaken()
        files = [] if self._writer is None else self._writer.finish()
        properties = CommitProperties(app_transactions=self._transactions(progress))
        try:
            add_files(table, files, "append", (), properties)
        except CommitFailedError as error:
            raise self._overtaken() from error
        except (DeltaError, OSError) as error:
            raise self._refused(error) from error
        self._found, self._writer = progress, None

    def _transactions(self, progress: ExportProgress) -> list[Transaction]:
        source = progress.source
        versions = {
            "topic": source.topic_number,
            **{f"{part}-schema": number for part, number in source.schemas.items()},
            **{str(partition): offset for partition, offset in progress.offsets.items()},
        }
        return [Transaction(self._application(what), version) for what, version in versions.items()]

    def close(self) -> None:
        """Do nothing: files of rows that were not committed stay in the folder, and Delta's ``vacuum`` with
        ``full=True`` deletes them."""

    def _required(self) -> DeltaTable:
        table = self._load()
        if table is None:
            raise InvariantError(f"{self._options} is gone")
        return table

    def _load(self) -> DeltaTable | None:
        try:
            return find_table(self._options)
        except (DeltaError, OSError) as error:
            raise self._refused(error) from error

    def _overtaken(self) -> ExportError:
        return ExportError(f"{self._options} was written by another export in the meantime: run one at a time")

    def _refused(self, error: Exception) -> ExportError:
        return ExportError(f"{self._options} cannot be read or written: {short(error)}")


def _check_names(columns: Iterable[pa.Field], options: TableOptions) -> None:
    for field in columns:
        check_name(field.name, options)
        if pa.types.is_nested(field.type):
            _check_names((field.type.field(number) for number in range(field.type.num_fields)), options)
