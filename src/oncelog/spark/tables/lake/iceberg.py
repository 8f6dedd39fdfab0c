"""An Iceberg table, by pyiceberg: tasks write files, the driver makes one commit, which contains the batch's identity.

The identity is in the summary of each snapshot that a batch creates: a table that was rolled back lacks the later
batches, because their snapshots are no ancestors of the current one. Snapshots expire, so a table property keeps the
last batch of each sink (:mod:`oncelog.spark.tables.lake.iceberg_batches`). pyiceberg would retry a commit that lost a
race without checking identities, so the catalog is called directly, once.
"""

from __future__ import annotations

import contextlib
import datetime
import pickle
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from oncelog.errors import ConfigError
from oncelog.spark.private_apis import plans
from oncelog.spark.tables.columns import check_required, missing_columns, null_refusal, stored_schema
from oncelog.spark.tables.inline import InlineWriter, leave_few
from oncelog.spark.tables.keys import check_keys
from oncelog.spark.tables.lake.parquet import file_schema
from oncelog.spark.tables.lake.row_conditions import cast_wider, fulfilling, widened
from oncelog.spark.tables.latest import compared
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
    unwritable,
)

try:
    import pyarrow as pa
    from pyarrow.fs import FileSelector
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import (
        CommitFailedException,
        NamespaceAlreadyExistsError,
        NoSuchNamespaceError,
        NoSuchTableError,
        NotInstalledError,
        RESTError,
        TableAlreadyExistsError,
    )
    from pyiceberg.io import load_file_io
    from pyiceberg.io.pyarrow import PyArrowFileIO
    from pyiceberg.table.update import AddSnapshotUpdate, AssertCurrentSchemaId, AssertDefaultSpecId, AssertTableUUID
    from pyiceberg.transforms import IdentityTransform

    from oncelog.spark.tables.lake.iceberg_batches import LAST, in_summary, in_table, last_batches
    from oncelog.spark.tables.lake.iceberg_demands import (
        MADE_OF,
        check_deletes,
        check_partitions,
        check_types,
        check_writable,
        conditions,
        data_files,
        made_of,
        spark_types,
        summary_of,
    )
    from oncelog.spark.tables.lake.iceberg_upsert import upsert
except ImportError as missing:
    raise ConfigError("An iceberg sink needs pyiceberg: pip install 'oncelog[iceberg]'") from missing

try:
    from sqlalchemy.exc import SQLAlchemyError
except ImportError:  # not installed: only a catalog of type sql needs it

    class SQLAlchemyError(Exception):  # type: ignore[no-redef]
        """Takes the place of SQLAlchemy's exception if SQLAlchemy is not installed; never raised."""


try:
    from botocore.exceptions import BotoCoreError, ClientError

    _AWS_FAILURES: tuple[type[Exception], ...] = (BotoCoreError, ClientError)
except ImportError:  # not installed: only a catalog of type glue needs it
    _AWS_FAILURES = ()

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table, Transaction
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.types import NestedField
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_WRITTEN = re.compile(r"\d{5}-\d+-[0-9a-f-]{36}\.parquet")
_CHUNK_BYTES = 128 << 20
_FAILURES: tuple[type[Exception], ...] = (RESTError, SQLAlchemyError, OSError, *_AWS_FAILURES)
_MISCONFIGURED = (ValueError, TypeError, KeyError, ImportError, NotInstalledError)
"""The exceptions of pyiceberg for a catalog, a file system or a name that it cannot use."""


class IcebergTable:
    """A table in a catalog, loaded again for each step."""

    def __init__(self, options: TableOptions) -> None:
        self._options = options
        self._identifier = tuple(options.table.split("."))
        if len(self._identifier) < 2:
            raise ConfigError(f"Option table of an iceberg sink is {options.table!r}: write namespace.name")
        self._opened: Catalog | None = None
        self._table: Table | None = None
        self._shape: TableShape | None = None
        self._checked: tuple[object, ...] = ()

    def look(self, group: str, plans: Sequence[str], known: Collection[str] = ()) -> TableLook:
        table = self._load()
        return TableLook("", FOR_EVER_MS, None) if table is None else self._look_at(table, group, known)

    def prepare(self, schema: StructType, options: TableOptions) -> str:
        self._options = options
        stored = stored_schema(schema, TableFormat.ICEBERG)
        check_rights(self._options, self.missing_rights())
        try:
            table = self._load() or self._created(file_schema(plans.arrow_schema(stored), ()))
            self._check(table)
            if missing := self._missing(table, stored):
                with table.update_schema() as update:
                    update.union_by_name(missing)
        except _FAILURES as error:
            raise self._refused(error) from error
        self._table = table
        return str(table.metadata.table_uuid)

    def check(self) -> None:
        table = self._load()
        if table is not None:
            self._check(table)

    def compare(self, schema: StructType, options: TableOptions) -> None:
        self._options = options
        table = self._load()
        if table is not None:
            self._check(table)
            self._missing(table, stored_schema(schema, TableFormat.ICEBERG))

    def _check(self, table: Table) -> None:
        """Refuse a table that cannot be written; checked again when the table has changed."""
        metadata = table.metadata
        properties = {name: text for name, text in table.properties.items() if not name.startswith(LAST)}
        checked = (
            *(metadata.table_uuid, metadata.format_version, metadata.current_schema_id, metadata.default_spec_id),
            properties,
        )
        check_deletes(summary_of(table), self._options)
        if checked != self._checked:
            check_writable(table, self._options)
            self._checked = checked

    def _missing(self, table: Table, stored: StructType) -> pa.Schema | None:
        """The columns to add. Raises ConfigError if columns must not be added, or if one has another type."""
        schema = table.schema()
        check_types(schema, stored.names, self._options)
        check_required([one.name for one in schema.fields if one.required], stored.names, self._options)
        wide = file_schema(plans.arrow_schema(widened(stored, spark_types(schema))), ())
        found = {name: _text(kind) for name, kind in _fields(schema.as_arrow())}
        taken = {one.name: str(one.field_type) for one in schema.fields}
        wanted = []
        for name, kind in _fields(wide):
            is_made = _text(kind) == MADE_OF.get(taken.get(name, "").partition("[")[0])
            wanted.append((name, found[name] if is_made else _text(kind)))
        missing = missing_columns(wanted, list(found.items()), self._options)
        return pa.schema([wide.field(name) for name, _ in missing]) if missing else None

    def missing_rights(self) -> list[str]:
        """The missing permissions to write to a local warehouse; an object store is not asked."""
        table = self._load()
        location = str(self._options.catalog.get("warehouse", "")) if table is None else table.location()
        if not location.startswith(("file:", "/")):
            return []
        return unwritable("/" + location.removeprefix("file:").lstrip("/"))

    def leftovers(self, older_than_h: int) -> list[Leftover]:
        """Files with pyiceberg's naming scheme that no snapshot refers to."""
        table = self._load()
        if table is None or not isinstance(table.io, PyArrowFileIO):
            return []
        try:
            named = {
                str(path).partition("://")[2] or path for path in table.inspect.all_files()["file_path"].to_pylist()
            }
            folder = table.properties.get("write.data.path", f"{table.location()}/data")
            scheme, netloc, path = PyArrowFileIO.parse_location(folder)
            found = table.io.fs_by_scheme(scheme, netloc).get_file_info(
                FileSelector(path, allow_not_found=True, recursive=True)
            )
        except _FAILURES as error:
            raise self._refused(error) from error
        before = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=older_than_h)
        return [
            Leftover(f"{folder}{info.path.removeprefix(path)}", info.size)
            for info in found
            if _WRITTEN.fullmatch(info.base_name) and info.path not in named and info.mtime < before
        ]

    def remove(self, found: Iterable[Leftover], older_than_h: int) -> None:
        table = self._load()
        try:
            for one in found:
                if table is not None:
                    table.io.delete(one.what)
        except _FAILURES as error:
            raise self._refused(error) from error

    def _created(self, schema: pa.Schema) -> Table:
        try:
            return self._create(schema)
        except _MISCONFIGURED as error:
            raise self._misconfigured("made", error) from error

    def _create(self, schema: pa.Schema) -> Table:
        with contextlib.suppress(NamespaceAlreadyExistsError):
            self._catalog().create_namespace(self._identifier[:-1])
        try:
            creation = self._catalog().create_table_transaction(self._identifier, schema)
            with creation.update_spec() as spec:
                for name in self._options.partition_by:
                    spec.add_identity(name)
            return creation.commit_transaction()
        except TableAlreadyExistsError:
            return self._catalog().load_table(self._identifier)

    def layout(self) -> TableLayout | None:
        table = self._load()
        return None if table is None else _layout(table)

    def arranged(self, rows: DataFrame) -> DataFrame:
        schema = self._prepared().schema()
        rows = cast_wider(rows, spark_types(schema))
        found = conditions(schema)
        return fulfilling(rows, rows.columns, found, self._options) if found else rows

    def task_writer(self) -> TaskWriter:
        table = self._prepared()
        self._shape = TableShape(table.schema().fields, table.metadata.default_spec_id)
        if self._options.driver_writes or self._options.mode is Mode.UPSERT:
            return InlineWriter()
        metadata = table.metadata.model_copy(update={"snapshots": [], "snapshot_log": [], "metadata_log": []})
        return IcebergFilesWriter(str(self._options), pickle.dumps((metadata, dict(table.io.properties))))

    def _prepared(self) -> Table:
        if self._table is None:
            raise TableRefused(f"{self._options} was not prepared")
        return self._table

    def commit(self, commit: Commit) -> None:
        table = self._load()
        if table is None or not self._look_at(table, commit.group).is_as(commit.seen):
            raise Conflict(f"{self._options} got another batch of {commit.group} after it was read")
        self._check(table)
        if self._shape is not None and not self._shape.fits(table):
            raise TableRefused(
                f"{self._options} changed its columns or partitions while a batch was written, so the batch's files do "
                f"not fit: nothing was committed, and a new start computes the batch again"
            )
        properties = in_summary(commit.group, commit.marker)
        rows = inline_rows(commit.parts)
        transaction = table.transaction()
        try:
            if commit.mode is Mode.UPSERT and rows:
                check_keys(rows, self._options)
                source = self._source(table, rows)
                by = compared(source.column_names, self._options)
                upsert(transaction, table, source, self._options.key, properties, by)
            else:
                self._append(transaction, table, commit, rows, properties)
        except OSError as error:
            raise self._refused(error) from error
        except OverflowError as error:
            raise _beyond_years(str(self._options)) from error
        *_, last = (one.snapshot for one in transaction._updates if isinstance(one, AddSnapshotUpdate))
        transaction.set_properties(in_table(commit.group, commit.marker, last))
        metadata = table.metadata
        requirements = (
            *transaction._requirements,
            AssertTableUUID(uuid=metadata.table_uuid),
            AssertCurrentSchemaId.model_validate({"current-schema-id": metadata.current_schema_id}),
            AssertDefaultSpecId.model_validate({"default-spec-id": metadata.default_spec_id}),
        )
        try:
            table.catalog.commit_table(table, requirements, transaction._updates)
        except CommitFailedException as error:
            raise Conflict(f"{self._options} was changed by others at the same time ({error})") from error
        except _FAILURES as error:
            raise Conflict(f"It is not known whether {self._options} has the commit ({error})") from error

    def _append(
        self,
        transaction: Transaction,
        table: Table,
        commit: Commit,
        rows: Sequence[pa.RecordBatch],
        properties: dict[str, str],
    ) -> None:
        if commit.mode is Mode.COMPLETE and table.current_snapshot() is not None:
            from pyiceberg.expressions import AlwaysTrue

            transaction.delete(AlwaysTrue(), snapshot_properties=properties)
        found = [file for part in commit.parts if part.written is not None for file in pickle.loads(part.written)]
        if rows:
            source = self._source(table, rows)
            found += data_files(table.metadata, source, table.io)
        with transaction.update_snapshot(snapshot_properties=properties).fast_append() as append:
            for file in found:
                append.append_data_file(file)

    def _source(self, table: Table, rows: Sequence[pa.RecordBatch]) -> pa.Table:
        source = made_of(_rows(rows), table.schema(), self._options)
        _check_nulls(source, table.metadata, str(self._options))
        check_partitions(source, table.metadata, self._options)
        return source

    def _look_at(self, table: Table, group: str, known: Collection[str] = ()) -> TableLook:
        try:
            found = last_batches(table, group, known)
        except OSError as error:
            raise self._refused(error) from error
        own = found.pop(group, None)
        others = found if own is None else {}
        return TableLook(str(table.metadata.table_uuid), FOR_EVER_MS, own, others, _layout(table))

    def _catalog(self) -> Catalog:
        if self._opened is None:
            properties = dict(self._options.catalog)
            self._opened = load_catalog(properties.pop("name", "default"), **properties)
        return self._opened

    def _load(self) -> Table | None:
        try:
            return self._catalog().load_table(self._identifier)
        except (NoSuchTableError, NoSuchNamespaceError):
            return None
        except _FAILURES as error:
            raise self._refused(error) from error
        except _MISCONFIGURED as error:
            raise self._misconfigured("looked up", error) from error

    def _refused(self, error: Exception) -> TableRefused:
        return TableRefused(f"{self._options} cannot be read or written: {_reason(error)}")

    def _misconfigured(self, what: str, error: Exception) -> ConfigError:
        return ConfigError(
            f"{self._options} cannot be {what} by pyiceberg ({_reason(error)}): correct the options catalog.* "
            "(catalog.type, catalog.uri, catalog.warehouse) or the name of the table, or install what is missing"
        )


def _reason(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


class TableShape(NamedTuple):
    """The columns and the partition spec for which a batch's files were written: files refer to columns by ids."""

    columns: Sequence[NestedField]
    spec_id: int

    def fits(self, table: Table) -> bool:
        """Whether the table still has these columns and this partition spec."""
        now = table.schema().fields
        return table.metadata.default_spec_id == self.spec_id and all(column in now for column in self.columns)


@dataclass(frozen=True, slots=True)
class IcebergFilesWriter:
    """Writes a task's rows to files, and leaves a few rows to the driver.

    :param name: the table's name, for messages.
    :param table: metadata and properties of the file system, pickled: they are loaded in tasks only.
    """

    name: str
    table: bytes

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[WrittenPart]:
        many = yield from leave_few(batches)
        if many is None:
            return
        metadata, properties = pickle.loads(self.table)
        for rows in _chunks(many):
            rows = made_of(rows, metadata.schema(), self.name)
            _check_nulls(rows, metadata, self.name)
            check_partitions(rows, metadata, self.name)
            try:
                found = _write(metadata, properties, rows)
            except OSError as error:
                raise TableRefused(f"{self.name} cannot be written: {error}") from error
            except OverflowError as error:
                raise _beyond_years(self.name) from error
            size = sum(file.file_size_in_bytes for file in found)
            yield WrittenPart(rows.num_rows, size, written=pickle.dumps(found))


def _check_nulls(rows: pa.Table, metadata: TableMetadata, name: str) -> None:
    for field in metadata.schema().fields:
        if field.required and rows.column(field.name).null_count:
            raise TableRefused(null_refusal(field.name, name))


def _beyond_years(name: str) -> TableRefused:
    return TableRefused(
        f"A row for {name} has a date or time outside the years 1 to 9999, which pyiceberg cannot write"
    )


def _write(metadata: TableMetadata, properties: Mapping[str, str], rows: pa.Table) -> list[DataFile]:
    return data_files(metadata, rows, load_file_io(dict(properties), metadata.location))


def _chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The batches, as tables large enough to make files of a good size."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= _CHUNK_BYTES:
            yield _rows(held)
            held.clear()
            size = 0
    if held:
        yield _rows(held)


def _rows(batches: Sequence[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(batches).cast(file_schema(batches[0].schema, ()))


def _layout(table: Table) -> TableLayout:
    name = table.schema().find_column_name
    partitions = [(field.transform, str(name(field.source_id))) for field in table.spec().fields]
    by_columns = all(isinstance(transform, IdentityTransform) for transform, _ in partitions)
    texts = [
        column if isinstance(transform, IdentityTransform) else f"{transform}({column})"
        for transform, column in partitions
    ]
    return TableLayout([field.name for field in table.schema().fields], tuple(texts), by_columns)


def _fields(schema: pa.Schema) -> list[tuple[str, pa.DataType]]:
    return [(one.name, one.type) for one in schema]


def _text(kind: Any) -> str:
    """A type's text without the differences that do not matter because files refer to fields by ids: large and small
    buffers, names inside lists and maps, the order of a struct's fields.
    """
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "string"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return "binary"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"list<{_text(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{_text(kind.key_type)},{_text(kind.item_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(sorted(f'{one.name}: {_text(one.type)}' for one in kind))}>"
    if pa.types.is_timestamp(kind):
        return "timestamp_ntz" if kind.tz is None else "timestamptz"
    return str(kind)
