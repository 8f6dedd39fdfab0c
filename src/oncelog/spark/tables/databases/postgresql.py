"""A table of PostgreSQL: rows and identity are in one transaction; tasks copy the rows of large batches before it.

The driver copies a small batch. Tasks with more rows COPY them, each attempt into a separate staging table next to the
destination; the transaction moves the rows of the reported staging tables, and drops these tables. A lock on the sink's
name is held from the decisive read of the table to the commit. Taking the lock also waits until PostgreSQL has ended
the transaction of a connection that died after COMMIT was sent.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from oncelog.errors import ConfigError
from oncelog.spark.sink.marker import Marker
from oncelog.spark.tables.columns import missing_names, sql_type, with_json
from oncelog.spark.tables.databases.postgresql_columns import (
    TableColumn,
    as_they_are,
    check_names,
    check_taken,
    columns_of,
    copied_into,
    later_of,
    names_of,
    refusal,
    sentence,
    transient,
)
from oncelog.spark.tables.databases.postgresql_copy import (
    ON_THEIR_WAY,
    STAGED,
    CopyWriter,
    connected,
    copy_rows,
    definitions,
)
from oncelog.spark.tables.databases.postgresql_lock import lock, lock_to_read
from oncelog.spark.tables.databases.sql_names import MARKER, batch_row, on_conflict, parts_of, quoted
from oncelog.spark.tables.inline import InlineWriter
from oncelog.spark.tables.keys import UNKNOWN, KeyRefused, check_keys, keys_alike, null_key
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
    query_of,
)

try:
    import psycopg
    from psycopg import errors
    from psycopg.conninfo import conninfo_to_dict
except ImportError as missing:
    raise ConfigError("A postgresql sink needs psycopg: pip install 'oncelog[postgresql]'") from missing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

BATCHES = "oncelog_batches"
_HAS_RIGHT = (
    "SELECT has_table_privilege(%s::oid, %s) OR (%s <> 'DELETE' AND "
    "has_any_column_privilege(%s::oid, replace(%s, 'DELETE', 'SELECT')))"
)
_INLINE = "oncelog_inline"
_MADE_S = f"substring(c.relname FROM '^{STAGED}([0-9]+)_')::bigint"
_CREATE = """CREATE TABLE IF NOT EXISTS {} (
    sink text NOT NULL, home text NOT NULL, table_oid bigint NOT NULL, table_name text NOT NULL,
    query_id text NOT NULL, batch_id bigint NOT NULL, row_count bigint NOT NULL, fingerprint text NOT NULL,
    planned_at_ms bigint NOT NULL, offsets text NOT NULL, PRIMARY KEY (sink, home, table_oid))"""
_IS_HOME = (
    "(home = %s OR (left(home, 1) = '/' OR left(%s::text, 1) = '/') AND substr(home, strpos(home, '/')) = "
    "substr(%s::text, strpos(%s::text, '/')))"
)
"""A condition for identities that were written in this database cluster. It is also true if the cluster's identifier is
unknown, because a role lacked the right to query it.
"""
_KEPT_IN = """SELECT c.oid::bigint, quote_ident(n.nspname) || '.' || quote_ident(c.relname)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relname = %s AND c.relkind IN ('r', 'p') AND NOT pg_is_other_temp_schema(n.oid)
    AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
    AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'home' AND NOT a.attisdropped)
    ORDER BY n.nspname <> %s, c.oid"""
"""A query for all readable tables with batch identities; the table in the given schema comes first."""


_IN_OTHER_LETTERS = """SELECT CASE WHEN %s::text IS NULL THEN '' ELSE quote_ident(n.nspname) || '.' END ||
        quote_ident(c.relname)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE lower(c.relname) = lower(%s) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
    AND CASE WHEN %s::text IS NULL THEN n.nspname = ANY (current_schemas(false)) ELSE lower(n.nspname) = lower(%s) END
    ORDER BY n.nspname, c.relname LIMIT 1"""


class TablePlace(NamedTuple):
    """A table, or the name of one that will be created.

    :param database: identifies the database cluster and the database in it, independently of the server's name.
    :param oid: None if the table does not exist.
    :param schema: the schema's name, unquoted.
    :param name: the names of schema and table, quoted.
    """

    database: str
    oid: int | None
    schema: str
    name: str

    @property
    def table_id(self) -> str:
        return "" if self.oid is None else f"{self.database}/{self.oid}"

    @property
    def batches(self) -> str:
        """The table of batch identities in the same schema, quoted."""
        return f"{quoted(self.schema)}.{quoted(BATCHES)}"


class PostgresTable:
    """A table of PostgreSQL, found by its name each time; its id is its oid, which no other table of the same name
    gets.

    Identities of batches are stored in the table's schema, with the oid and the home (database cluster, database, oid)
    of the table of identities. If the table is moved to another schema, they are left behind, so all schemas are
    searched. In a database that was restored from a dump the oids and homes differ, and an identity is matched to the
    table by name.
    """

    def __init__(self, options: TableOptions) -> None:
        self._options = options
        parts = parts_of(options.table)
        if len(parts) > 2:
            raise ConfigError(f"Option table of a postgresql sink is {options.table!r}: write schema.name, or a name")
        _check_address(options)
        self._name = ".".join(map(quoted, parts))
        self._schema = f"{quoted(parts[0])}." if len(parts) == 2 else ""
        self._columns: tuple[TableColumn, ...] = ()
        self._as_they_are: Collection[str] = ()

    def look(self, group: str, plans: Sequence[str], known: Collection[str] = ()) -> TableLook:
        with self._connected() as connection:
            lock_to_read(connection, group)
            return _look(connection, self._place(connection), group, known)

    def prepare(self, schema: StructType, options: TableOptions) -> str:
        self._options = options
        wanted = _wanted(schema)
        with self._connected() as connection:
            check_names(connection, self._options, schema.names)
            # a lock, because CREATE TABLE IF NOT EXISTS can fail if two sessions run it at once
            lock(connection, BATCHES, str(self._options))
            place = self._place(connection)
            oid = place.oid
            if oid is None:
                self._check_case(connection)
            check_rights(self._options, self._missing_rights(connection, place))
            if _oid(connection, place.batches) is None:
                _execute(connection, _CREATE.format(place.batches))
            if oid is None:
                _execute(connection, f"CREATE TABLE IF NOT EXISTS {self._name} ({self._definition(wanted)})")
            else:
                found = names_of(connection, oid)
                for name, kind in missing_names(wanted, found, self._options):
                    _execute(connection, f"ALTER TABLE {self._name} ADD COLUMN {quoted(name)} {kind}")
            place = self._place(connection)
            oid = _existing(place.oid, self._options)
            columns = columns_of(connection, oid)
            check_taken(connection, self._name, oid, columns, schema, self._options)
            self._columns = _of_rows(columns, schema.names)
            self._as_they_are = as_they_are(schema, columns)
            return place.table_id

    def layout(self) -> TableLayout | None:
        with self._connected() as connection:
            check_names(connection, self._options)
            return _layout(connection, _oid(connection, self._name))

    def arranged(self, rows: DataFrame) -> DataFrame:
        return with_json(rows, self._as_they_are)

    def task_writer(self) -> TaskWriter:
        if self._options.driver_writes:
            return InlineWriter()
        return CopyWriter(self._options.url, self._schema, self._name, self._columns, str(self._options))

    def check(self) -> None:
        """Does nothing: the checks depend on the rows."""

    def compare(self, schema: StructType, options: TableOptions) -> None:
        self._options = options
        with self._connected() as connection:
            check_names(connection, self._options, schema.names)
            oid = _oid(connection, self._name)
            if oid is None:
                self._check_case(connection)
            else:
                columns = columns_of(connection, oid)
                missing_names(_wanted(schema), {column.name for column in columns}, self._options)
                check_taken(connection, self._name, oid, columns, schema, self._options)

    def _check_case(self, connection: psycopg.Connection) -> None:
        """Raises ConfigError if there is a table whose name differs only in case, for instance because one name was not
        quoted."""
        *schemas, name = parts_of(self._options.table)
        schema = schemas[0] if schemas else None
        found = _one(connection, _IN_OTHER_LETTERS, (schema, name, schema, schema))
        if found is not None:
            raise ConfigError(
                f"{self._options} does not exist, and there is {found}: names are case-sensitive here, so "
                f"set table to {found}, or create the other table first"
            )

    def missing_rights(self) -> list[str]:
        with self._connected() as connection:
            return self._missing_rights(connection, self._place(connection))

    def _missing_rights(self, connection: psycopg.Connection, place: TablePlace) -> list[str]:
        """The missing rights on the table, on the table of identities, and on the schema in which tables are
        created."""
        if _one(connection, "SELECT current_setting('transaction_read_only')::boolean", None):
            return [_why_read_only(connection)]
        needed = {Mode.APPEND: "INSERT", Mode.UPSERT: "SELECT,INSERT,UPDATE", Mode.COMPLETE: "INSERT,DELETE"}
        tables = [
            (self._name, place.oid, needed[self._options.mode]),
            (place.batches, _oid(connection, place.batches), "SELECT,INSERT,UPDATE"),
        ]
        found = [
            f"the role has no right to {right} on {name}"
            for name, number, rights in tables
            if number is not None
            for right in rights.split(",")
            if not _one(connection, _HAS_RIGHT, (number, right, right, number, right))
        ]
        creates = any(number is None for _, number, _ in tables)
        if creates or not self._options.driver_writes:
            schema = place.schema if creates else parts_of(self._options.table)[0] if self._schema else None
            may = _one(connection, "SELECT has_schema_privilege(coalesce(%s, current_schema()), 'CREATE')", (schema,))
            if not may:
                made = " and ".join(name for name, number, _ in tables if number is None)
                what = made or "staged rows, which writers = 0 does without"
                found.append(
                    f"the role lacks the privilege CREATE on the schema {schema or 'that is current'}, for {what}"
                )
        through_another = self._options.mode is Mode.UPSERT or (
            place.oid is not None and not copied_into(connection, place.oid)
        )
        if through_another and not _one(connection, "SELECT has_database_privilege(current_database(), 'TEMP')", None):
            found.append("the role lacks the privilege TEMP on the database, which staged rows need")
        batches = tables[1][1]
        if batches is not None and _one(connection, "SELECT row_security_active(%s::oid)", (batches,)):
            found.append(
                f"row-level security could hide the batches in {place.batches} from the role: ALTER TABLE "
                f"{place.batches} DISABLE ROW LEVEL SECURITY, or make the role its owner"
            )
        return found

    def leftovers(self, older_than_h: int) -> list[Leftover]:
        """Staging tables whose rows were never moved, of this table or of a table that was dropped."""
        with self._connected() as connection:
            found = _execute(
                connection,
                "SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), obj_description(c.oid, 'pg_class'), "
                "pg_total_relation_size(c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
                "WHERE n.nspname = coalesce(%s, current_schema()) AND c.relkind = 'r' "
                f"AND {_MADE_S} < extract(epoch FROM now()) - %s * 3600 ORDER BY c.relname",
                (parts_of(self._options.table)[0] if self._schema else None, older_than_h),
            ).fetchall()
            own = _oid(connection, self._name)
            return [
                Leftover(str(name), int(size), int(_one(connection, f"SELECT count(*) FROM {_in_values(name)}", ())))
                for name, comment, size in found
                if str(comment).startswith(ON_THEIR_WAY)
                and _oid(connection, str(comment).removeprefix(ON_THEIR_WAY)) in (None, own)
            ]

    def remove(self, found: Iterable[Leftover], older_than_h: int) -> None:
        with self._connected() as connection:
            for one in found:
                _execute(connection, f"DROP TABLE IF EXISTS {one.what}")

    def commit(self, commit: Commit) -> None:
        with self._connected() as connection:
            lock(connection, commit.group, str(self._options))
            place = self._place(connection)
            if not _look(connection, place, commit.group).is_as(commit.seen):
                raise Conflict(f"{self._options} got another batch of {commit.group} after it was read")
            oid = _existing(place.oid, self._options)
            if commit.mode is Mode.COMPLETE:
                _execute(connection, f"DELETE FROM {self._name}")
            self._move(connection, commit, oid)
            # checked after the insert, whose lock keeps the table in place until the transaction ends
            if _oid(connection, self._name) != oid:
                raise Conflict(f"{self._options} was replaced by another table after it was read")
            self._check_unchanged(columns_of(connection, oid))
            _identify(connection, place, commit.group, commit.marker)
            connection.commit()

    # --- statements

    @contextlib.contextmanager
    def _connected(self) -> Iterator[psycopg.Connection]:
        """A connection for one transaction, which is committed at the end of the block."""
        try:
            with connected(self._options.url) as connection:
                yield connection
        except psycopg.Error as error:
            if not transient(error):
                raise TableRefused(refusal(str(self._options), error)) from error
            if isinstance(error, (errors.SerializationFailure, errors.DeadlockDetected, errors.LockNotAvailable)):
                raise Conflict(f"{self._options} was changed by others at the same time ({sentence(error)})") from error
            raise Conflict(f"The connection to {self._options} ended ({sentence(error)})") from error

    def _place(self, connection: psycopg.Connection) -> TablePlace:
        oid = _oid(connection, self._name)
        given = parts_of(self._options.table)
        ((database, asks),) = _execute(
            connection,
            "SELECT oid::bigint, has_function_privilege(to_regprocedure('pg_catalog.pg_control_system()'), 'EXECUTE') "
            "FROM pg_database WHERE datname = current_database()",
        ).fetchall()
        system = _one(connection, "SELECT system_identifier FROM pg_catalog.pg_control_system()", None) if asks else ""
        if oid is not None:
            ((schema, table),) = _execute(
                connection,
                "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
                "WHERE c.oid = %s",
                (oid,),
            ).fetchall()
        else:
            schema = given[0] if self._schema else _one(connection, "SELECT current_schema()", None)
            table = given[-1]
        if schema is None:
            raise TableRefused(f"{self._options} cannot be written: no schema is in the role's search_path")
        return TablePlace(f"{system}/{database}", oid, schema, f"{quoted(schema)}.{quoted(table)}")

    def _definition(self, wanted: Sequence[tuple[str, str]]) -> str:
        columns = [f"{quoted(name)} {kind}" for name, kind in wanted]
        if self._options.key:
            columns.append(f"PRIMARY KEY ({', '.join(map(quoted, self._options.key))})")
        return ", ".join(columns)

    def _move(self, connection: psycopg.Connection, commit: Commit, oid: int) -> None:
        """Insert the rows of all parts into the table: copies the rows that the driver has, and moves those in the
        tasks' staging tables."""
        upserts = commit.mode is Mode.UPSERT
        staged = {str(pickle.loads(part.written)): part.rows for part in commit.parts if part.written is not None}
        for source, rows in staged.items() if upserts else ():
            self._check_keys(connection, source, rows)
        sources = [*staged, *self._copy_inline(connection, commit, oid)]
        if not sources:
            return
        names = [column.name for column in self._columns]
        listed = ", ".join(map(quoted, names))
        text = f"INSERT INTO {self._name} AS target ({listed}) "
        text += " UNION ALL ".join(f"SELECT {listed} FROM {source}" for source in sources)
        if upserts:
            text += on_conflict(self._options.key, names, later_of(self._columns, self._options))
        try:
            moved = _execute(connection, text).rowcount
        except errors.CardinalityViolation as error:
            raise KeyRefused(self._one_key(bool(staged))) from error
        # a trigger or a rule may have skipped rows
        if not upserts and moved != sum(part.rows for part in commit.parts):
            for source, rows in staged.items():
                self._check_there(rows, int(_one(connection, f"SELECT count(*) FROM {source}", None)))
        for source in staged:
            _execute(connection, f"DROP TABLE {source}")

    def _one_key(self, by_tasks: bool) -> str:
        """The error message for two rows with one key. This concerns rows that tasks have copied and for which no order
        has chosen the latest; all other rows were compared before.
        """
        alike = keys_alike(self._options, "PostgreSQL")
        if self._options.latest_by or not by_tasks:
            return alike
        return (
            f"A batch for {self._options} has two rows with one key, and {UNKNOWN}. If Spark tells them apart: {alike}"
        )

    def _copy_inline(self, connection: psycopg.Connection, commit: Commit, oid: int) -> list[str]:
        """Copy the rows that tasks left to the driver. Returns the staging table that has them; an empty list if they
        were copied into the table itself."""
        inline = inline_rows(commit.parts)
        if not inline:
            return []
        if commit.mode is Mode.UPSERT:
            check_keys(inline, self._options)
        directly = commit.mode is not Mode.UPSERT and copied_into(connection, oid)
        if not directly:
            _execute(connection, f"CREATE TEMPORARY TABLE {_INLINE} ({definitions(self._columns)}) ON COMMIT DROP")
        target = self._name if directly else f"pg_temp.{_INLINE}"
        copy_rows(connection, target, self._columns, inline, str(self._options))
        return [] if directly else [target]

    def _check_keys(self, connection: psycopg.Connection, staged: str, expected: int) -> None:
        """Raises KeyRefused for keys that :func:`check_keys` would refuse."""
        keys = ", ".join(f"count({quoted(name)})" for name in self._options.key)
        ((there, *given),) = _execute(connection, f"SELECT count(*), {keys} FROM {staged}").fetchall()
        self._check_there(expected, there)
        for name, count in zip(self._options.key, given, strict=True):
            if count < there:
                raise KeyRefused(null_key(name, self._options))

    def _check_unchanged(self, columns: Sequence[TableColumn]) -> None:
        """Raises ConfigError if the table's columns have changed since the tasks wrote the rows."""
        found = {column.name: column for column in columns}
        for column in self._columns:
            now = found.get(column.name)
            if now != column:
                raise ConfigError(
                    f"Column {column.name} of {self._options} is {now.type if now else 'gone'}, and was {column.type} "
                    "when the batch was begun: start the query again"
                )

    def _check_there(self, expected: int, there: int) -> None:
        """Raises TableRefused if rows are missing that tasks have staged."""
        if there != expected:
            raise TableRefused(
                f"{there} of {expected} staged rows of {self._options} were found: PostgreSQL has crashed, or "
                f"another client has changed the tables {STAGED}...; nothing was committed, and a new start computes "
                f"the "
                "batch again"
            )


def _check_address(options: TableOptions) -> None:
    """Raises ConfigError for a URL that libpq cannot parse; libpq's own message could show a password."""
    try:
        conninfo_to_dict(options.url)
    except psycopg.ProgrammingError as error:
        why = f" ({str(error).strip()})" if str(error).startswith("invalid URI query parameter") else ""
        raise ConfigError(
            f"Option url of {options} is not an address that PostgreSQL's clients read{why}: write "
            "postgresql://user@host:5432/database, without jdbc: or the name of a driver; in a password % is %25, @ is "
            "%40, / is %2F"
        ) from error


def _look(connection: psycopg.Connection, place: TablePlace, group: str, known: Collection[str] = ()) -> TableLook:
    """The last batch of a group in the table.

    A table that was moved to another schema and back, or was written by roles with other rights, may have several rows
    for a sink. Then the last batch counts, among the rows with the table's oid if there are any.
    """
    best: dict[str, tuple[bool, Marker]] = {}
    kept_in = _execute(connection, _KEPT_IN, (BATCHES, place.schema)).fetchall() if place.oid is not None else []
    for batches, name in kept_in:
        home = f"{place.database}/{batches}"
        rows = _execute(
            connection,
            f"SELECT sink, {_IS_HOME}, {MARKER} FROM {_in_values(name)} "
            "WHERE (query_id = %s OR sink = ANY (%s::text[])) "
            f"AND CASE WHEN {_IS_HOME} THEN table_oid = %s ELSE table_name = %s END",
            (*[home] * 4, query_of(group), list(known), *[home] * 4, place.oid, place.name),
        )
        for sink, is_home, *fields in rows:
            new, old = Marker(*fields), best.get(str(sink))
            if old is None or (is_home, new.batch_id) > (old[0], old[1].batch_id):
                best[str(sink)] = is_home, new
    found = {sink: marker for sink, (_, marker) in best.items()}
    marker = found.pop(group, None)
    others = found if marker is None else {}
    return TableLook(place.table_id, FOR_EVER_MS, marker, others, _layout(connection, place.oid))


def _layout(connection: psycopg.Connection, oid: int | None) -> TableLayout | None:
    return None if oid is None else TableLayout(names_of(connection, oid))


def _identify(connection: psycopg.Connection, place: TablePlace, group: str, marker: Marker) -> None:
    """Store the identity of the batch in the schema's table of batch identities. From then on, identities that were
    restored from a dump are ignored.
    """
    home = f"{place.database}/{_oid(connection, place.batches)}"
    batches = _in_values(place.batches)
    changed = ", ".join(f"{name} = excluded.{name}" for name in ("table_name", *MARKER.split(", ")))
    _execute(
        connection,
        f"INSERT INTO {batches} (sink, home, table_oid, table_name, {MARKER}) "
        "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s) "
        f"ON CONFLICT (sink, home, table_oid) DO UPDATE SET {changed}",
        (group, home, place.oid, place.name, *batch_row(marker)),
    )
    _execute(
        connection,
        f"UPDATE {batches} SET table_name = '' WHERE sink = %s AND home <> %s AND table_name = %s",
        (group, home, place.name),
    )


def _why_read_only(connection: psycopg.Connection) -> str:
    if _one(connection, "SELECT pg_is_in_recovery()", None):
        return (
            "the server is a standby, which is read-only: let url lead to the primary, with all hosts and "
            "target_session_attrs=read-write"
        )
    return (
        "default_transaction_read_only is on for the role, the database or the server: ALTER ROLE ... SET "
        "default_transaction_read_only = off"
    )


def _oid(connection: psycopg.Connection, name: str) -> int | None:
    row = _execute(connection, "SELECT to_regclass(%s)::oid::bigint", (name,)).fetchone()
    return None if row is None or row[0] is None else int(row[0])


def _existing(oid: int | None, options: TableOptions) -> int:
    if oid is None:
        raise Conflict(f"{options} was dropped since it was created")
    return oid


def _of_rows(columns: Sequence[TableColumn], names: Sequence[str]) -> tuple[TableColumn, ...]:
    """The columns with these names, in the order of the names."""
    found = {column.name: column for column in columns}
    return tuple(found[name] for name in names)


def _wanted(schema: StructType) -> list[tuple[str, str]]:
    return [(field.name, sql_type(field.dataType, TableFormat.POSTGRESQL)) for field in schema.fields]


def _in_values(name: str) -> str:
    """A quoted name for a statement with parameters, in which ``%`` is doubled."""
    return name.replace("%", "%%")


def _one(connection: psycopg.Connection, text: str, values: Any) -> Any:
    row = _execute(connection, text, values).fetchone()
    return None if row is None else row[0]


def _execute(connection: psycopg.Connection, text: str, values: Any = None) -> psycopg.Cursor[Any]:
    return connection.execute(_sql(text), values)


def _sql(text: str) -> bytes:
    """A statement that consists of fixed words and quoted names, as bytes."""
    return text.encode()
