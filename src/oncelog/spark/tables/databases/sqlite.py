"""A table of SQLite: rows and identity in one transaction of the database's file, written by the driver."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oncelog.errors import ConfigError
from oncelog.runtime.chance import uuid4
from oncelog.spark.sink.marker import Marker
from oncelog.spark.tables.columns import missing_names, sql_type, with_json
from oncelog.spark.tables.databases.sql_names import MARKER, batch_row, of_table, on_conflict, parts_of, quoted
from oncelog.spark.tables.databases.sqlite_columns import SqliteColumn, bound, check_taken, columns_of
from oncelog.spark.tables.databases.texts import shown
from oncelog.spark.tables.inline import InlineWriter
from oncelog.spark.tables.keys import KeyRefused, check_keys, keys_alike
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
    check_rights,
    inline_rows,
    may_write,
    query_of,
    unwritable,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

LOCK_S = 60.0
"""Seconds to wait for another writer of the file."""
BATCHES = "oncelog_batches"
_CREATE = f"""CREATE TABLE IF NOT EXISTS {BATCHES} (
    sink TEXT NOT NULL, table_id TEXT NOT NULL, query_id TEXT NOT NULL, batch_id INTEGER NOT NULL,
    row_count INTEGER NOT NULL, fingerprint TEXT NOT NULL, planned_at_ms INTEGER NOT NULL, offsets TEXT NOT NULL,
    PRIMARY KEY (sink, table_id))"""
_VIRTUAL = re.compile(r"\s*CREATE\s+VIRTUAL\s", re.IGNORECASE)
_ID = "oncelog_table_"
"""The beginning of the name of an empty index, which is dropped and copied together with the table; the rest of the
name is the table's id."""


class SqliteTable:
    """A table of SQLite. Its writer holds the file's write lock from the decisive read of the table to the commit, so
    there is only one writer at a time."""

    def __init__(self, options: TableOptions) -> None:
        self._options = options
        parts = parts_of(options.table)
        if len(parts) > 1:
            raise ConfigError(f"Option table of a sqlite sink is {options.table!r}: write a name without a schema")
        self._name = parts[0]
        self._columns: Mapping[str, SqliteColumn] = {}

    def look(self, group: str, plans: Sequence[str], known: Collection[str] = ()) -> TableLook:
        with self._connected() as connection:
            return self._look(connection, group, known)

    def prepare(self, schema: StructType, options: TableOptions) -> str:
        self._options = options
        wanted = _wanted(schema)
        check_rights(self._options, self.missing_rights())
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_CREATE)
            table_id = self._id(connection)
            self._check_kind(connection)
            found = columns_of(connection, self._name)
            if not found:
                columns = [f"{quoted(name)} {kind}" for name, kind in wanted]
                if self._options.key:
                    columns.append(f"PRIMARY KEY ({', '.join(map(quoted, self._options.key))})")
                connection.execute(f"CREATE TABLE {quoted(self._name)} ({', '.join(columns)})")
            else:
                for name, kind in missing_names(wanted, [column.name for column in found], self._options):
                    connection.execute(f"ALTER TABLE {quoted(self._name)} ADD COLUMN {quoted(name)} {kind}")
            self._columns = self._taken(connection, schema)
            if not table_id:
                table_id = uuid4().hex
                first = quoted(columns_of(connection, self._name)[0].name)
                connection.execute(f"CREATE INDEX {quoted(_ID + table_id)} ON {quoted(self._name)} ({first}) WHERE 0")
            connection.execute("COMMIT")
            return table_id

    def layout(self) -> TableLayout | None:
        if not Path(self._options.url).exists():
            return None
        with self._connected() as connection:
            return self._layout(connection)

    def _layout(self, connection: sqlite3.Connection) -> TableLayout | None:
        columns = [column.name for column in columns_of(connection, self._name)]
        return TableLayout(columns) if columns else None

    def arranged(self, rows: DataFrame) -> DataFrame:
        return with_json(rows)

    def task_writer(self) -> TaskWriter:
        return InlineWriter()

    def check(self) -> None:
        """Does nothing: the checks depend on the rows."""

    def compare(self, schema: StructType, options: TableOptions) -> None:
        self._options = options
        wanted = _wanted(schema)
        if not Path(self._options.url).exists():
            return
        with self._connected() as connection:
            self._check_kind(connection)
            found = [column.name for column in columns_of(connection, self._name)]
            if found:
                missing_names(wanted, found, self._options)
                self._taken(connection, schema)

    def missing_rights(self) -> list[str]:
        path = Path(self._options.url)
        if path.exists() and not may_write(path):
            return [f"the file {path} may not be written"]
        return unwritable(str(path.absolute().parent))

    def leftovers(self, older_than_h: int) -> list[Leftover]:
        """Returns no leftovers, because all rows go through the driver."""
        return []

    def remove(self, found: Iterable[Leftover], older_than_h: int) -> None:
        """Does nothing: there are no leftovers."""

    def commit(self, commit: Commit) -> None:
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            if not self._look(connection, commit.group).is_as(commit.seen):
                raise Conflict(f"{self._options} got another batch of {commit.group} after it was read")
            self._check_unchanged(connection)
            if commit.mode is Mode.COMPLETE:
                connection.execute(f"DELETE FROM {quoted(self._name)}")
            batches = inline_rows(commit.parts)
            if commit.mode is Mode.UPSERT:
                check_keys(batches, self._options)
            if batches:
                self._write(connection, batches)
            self._identify(connection, commit.group, commit.seen.table_id, commit.marker)
            connection.execute("COMMIT")

    # --- statements

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """A connection that is closed when the block ends; uncommitted changes are rolled back."""
        try:
            with contextlib.closing(
                sqlite3.connect(self._options.url, timeout=LOCK_S, isolation_level=None, uri=False)
            ) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("PRAGMA foreign_keys = ON")  # SQLite does not enforce foreign keys by default
                yield connection
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise Conflict(
                    f"{self._options} has been locked by another writer for {LOCK_S:.0f} s ({error}): end that process "
                    f"(fuser {self._options.url} lists the processes), so that this query, or its next start, continues"
                ) from error
            if error.sqlite_errorcode == sqlite3.SQLITE_CANTOPEN:
                raise TableRefused(
                    f"{self._options} is in {self._options.url}, which cannot be opened as a file: make its folder, "
                    "and write the path in full"
                ) from error
            raise TableRefused(self._message(error)) from error
        except (sqlite3.Error, OverflowError) as error:
            raise TableRefused(self._message(error)) from error

    def _message(self, error: Exception) -> str:
        return f"{self._options} in {self._options.url} cannot be written: {error}"

    def _look(self, connection: sqlite3.Connection, group: str, known: Collection[str] = ()) -> TableLook:
        table_id = self._id(connection)
        found: dict[str, Marker] = {}
        if table_id and _exists(connection, BATCHES):
            rows = connection.execute(
                f"SELECT sink, {MARKER} FROM {BATCHES} "
                f"WHERE table_id = ? AND (query_id = ? OR sink IN ({', '.join('?' * len(known))}))",
                (table_id, query_of(group), *known),
            )
            found = {str(sink): Marker(*marker) for sink, *marker in rows}
        marker = found.pop(group, None)
        others = found if marker is None else {}
        return TableLook(table_id, FOR_EVER_MS, marker, others, self._layout(connection))

    def _id(self, connection: sqlite3.Connection) -> str:
        """The table's id; empty if the table does not exist, or no sink has written to it."""
        row = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? COLLATE NOCASE AND name GLOB ?",
            (self._name, f"{_ID}*"),
        ).fetchone()
        return "" if row is None else str(row[0]).removeprefix(_ID)

    def _check_kind(self, connection: sqlite3.Connection) -> None:
        row = connection.execute(
            "SELECT type, sql FROM sqlite_master WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE",
            (self._name,),
        ).fetchone()
        kind = "" if row is None else "view" if row[0] == "view" else "virtual table" if _VIRTUAL.match(row[1]) else ""
        if kind:
            raise ConfigError(
                f"{self._options} is a {kind}, which can have no index in SQLite, and so no identity of batches: name "
                "the table behind it"
            )

    def _taken(self, connection: sqlite3.Connection, schema: StructType) -> dict[str, SqliteColumn]:
        """The table's columns that the rows have, in the rows' order. Raises ConfigError if the table does not accept
        the rows.
        """
        columns = columns_of(connection, self._name)
        found = {column.name: column for column in columns}
        named = {name: found[name] for name in schema.names if name in found}
        check_taken(connection, quoted(self._name), self._insert(list(named)), columns, schema, self._options)
        return named

    def _check_unchanged(self, connection: sqlite3.Connection) -> None:
        found = {column.name: column for column in columns_of(connection, self._name)}
        for name, column in self._columns.items():
            now = found.get(name)
            if now != column:
                raise ConfigError(
                    f"Column {name} of {self._options} is {now.declared if now else 'gone'}, and was {column.declared} "
                    "when the batch was begun: start the query again"
                )

    def _write(self, connection: sqlite3.Connection, batches: Sequence[pa.RecordBatch]) -> None:
        """Insert the rows. Raises TableRefused with the row that SQLite refuses."""
        last: dict[str, Any] = {}

        def rows() -> Iterator[tuple[Any, ...]]:
            for batch in batches:
                for row in zip(*bound(batch, self._columns, self._options), strict=True):
                    last.update(zip(self._columns, row, strict=True))
                    yield row

        try:
            if self._options.mode is Mode.UPSERT:
                self._upsert(connection, rows())
            else:
                connection.executemany(self._insert(list(self._columns)), rows())
        except sqlite3.IntegrityError as error:
            row = ", ".join(f"{name} = {shown(value, 30)}" for name, value in last.items())
            raise TableRefused(f"{self._message(error)}, in the row {row}") from error

    def _upsert(self, connection: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> None:
        """Insert or replace the rows. Raises KeyRefused for two rows whose keys are equal in SQLite, by collation or
        affinity: SQLite would keep only the second row."""
        returned = ", ".join(map(quoted, self._options.key))
        text = f"{self._insert(list(self._columns))} RETURNING {returned}"
        seen: set[tuple[Any, ...]] = set()
        for row in rows:
            for stored in connection.execute(text, row).fetchall():
                if stored in seen:
                    raise KeyRefused(keys_alike(self._options, "SQLite", stored))
                seen.add(stored)

    def _insert(self, columns: Sequence[str]) -> str:
        names = ", ".join(map(quoted, columns))
        marks = ", ".join("?" * len(columns))
        text = f"INSERT INTO {quoted(self._name)} AS target ({names}) VALUES ({marks})"
        if self._options.mode is not Mode.UPSERT:
            return text
        by = compared(columns, self._options)
        return text + on_conflict(self._options.key, columns, later(by, _by_bytes, "target", "excluded"))

    def _identify(self, connection: sqlite3.Connection, group: str, table_id: str, marker: Marker) -> None:
        connection.execute(
            f"INSERT OR REPLACE INTO {BATCHES} (sink, table_id, {MARKER}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (group, table_id, *batch_row(marker)),
        )


def _by_bytes(table: str, name: str) -> str:
    """A column for a comparison in Spark's order, whatever the column's collation is."""
    return f"{of_table(table, name)} COLLATE BINARY"


def _wanted(schema: StructType) -> list[tuple[str, str]]:
    return [(field.name, sql_type(field.dataType, TableFormat.SQLITE)) for field in schema.fields]


def _exists(connection: sqlite3.Connection, name: str) -> bool:
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)).fetchone()
    return found is not None
