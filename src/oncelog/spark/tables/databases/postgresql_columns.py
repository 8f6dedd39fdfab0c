"""Checks which rows a table of PostgreSQL accepts, by asking PostgreSQL: before rows are computed, and for ``doctor``.

Called by :mod:`oncelog.spark.tables.databases.postgresql`. A column accepts values as text in its type's input format,
if PostgreSQL would assign them in an INSERT. An EXPLAIN of such an INSERT checks this, and views, rules and unique
indexes, too. Assignments that would drop a part of each value (a time zone, the time of day, digits of a double) are
refused here; problems of single values are found in :mod:`oncelog.spark.tables.databases.postgresql_values`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntegralType,
    MapType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from oncelog.errors import ConfigError
from oncelog.spark.tables.columns import COUNTED, check_required, counted, escaped, sql_type
from oncelog.spark.tables.databases.sql_names import of_table, on_conflict, parts_of, quoted
from oncelog.spark.tables.latest import compared, later, unlike_order
from oncelog.spark.tables.options import Mode, TableFormat, TableOptions

if TYPE_CHECKING:
    import psycopg

_FACTS = """
WITH RECURSIVE step AS (
    SELECT attnum, 0 AS depth, atttypid AS kind, atttypmod AS modifier, false AS is_array,
        attnotnull AS required, atthasdef OR attidentity <> '' AS filled
    FROM pg_attribute WHERE attrelid = %(oid)s AND attnum > 0 AND NOT attisdropped
    UNION ALL
    SELECT s.attnum, s.depth + 1, CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.typelem END,
        CASE WHEN t.typtype = 'd' AND t.typtypmod <> -1 THEN t.typtypmod ELSE s.modifier END,
        s.is_array OR t.typtype <> 'd',
        s.required OR (t.typnotnull AND NOT s.is_array), s.filled OR t.typdefault IS NOT NULL
    FROM step s JOIN pg_type t ON t.oid = s.kind
    WHERE t.typtype = 'd' OR (t.typcategory = 'A' AND t.typelem <> 0)
)
SELECT a.attname, format_type(a.atttypid, a.atttypmod),
    CASE n.nspname WHEN 'pg_catalog' THEN '' ELSE '.' END || t.typname, t.typcategory::text, s.modifier,
    s.is_array, t.typdelim::text, a.attgenerated <> '', a.attidentity = 'a', s.required AND NOT s.filled,
    t.typrelid::bigint
FROM (SELECT DISTINCT ON (attnum) * FROM step ORDER BY attnum, depth DESC) s
JOIN pg_attribute a ON a.attrelid = %(oid)s AND a.attnum = s.attnum
JOIN pg_type t ON t.oid = s.kind JOIN pg_namespace n ON n.oid = t.typnamespace ORDER BY a.attnum
"""
_NAMES = "SELECT attname FROM pg_attribute WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
_LIMITS = (
    "SELECT current_setting('max_identifier_length')::int, current_setting('max_index_keys')::int, ARRAY("
    "SELECT attname::text FROM pg_attribute WHERE attrelid = 'pg_catalog.pg_class'::regclass AND attnum < 0)"
)
_FILLED_BY_TRIGGER = (
    "SELECT EXISTS (SELECT 1 FROM pg_trigger WHERE tgrelid = %s AND NOT tgisinternal AND tgenabled <> 'D' "
    "AND tgtype & 7 = 7)"
)
"""Whether a trigger before INSERT for each row (``pg_trigger.h``) may set a value for a column that is NOT NULL."""
_NUMBERED = """
SELECT DISTINCT a.attname, s.oid::regclass::text, quote_ident(current_user)
FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
JOIN pg_depend p ON p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid AND p.refclassid = 'pg_class'::regclass
JOIN pg_class s ON s.oid = p.refobjid
WHERE d.adrelid = %s AND a.attname <> ALL (%s::text[])
AND CASE s.relkind WHEN 'S' THEN NOT has_sequence_privilege(s.oid, 'USAGE, UPDATE') END
ORDER BY a.attname
"""
"""Columns whose default is the next value of a sequence (``serial``) that the role may not use."""
_COPIED_INTO = (
    "SELECT relkind IN ('r', 'p') AND NOT row_security_active(oid) "
    "AND NOT EXISTS (SELECT 1 FROM pg_rewrite WHERE ev_class = pg_class.oid AND ev_type = '3') "
    "FROM pg_class WHERE oid = %s"
)
_STORED_APART = """
SELECT DISTINCT part.oid::regclass::text, part.relkind = 'f'
FROM unnest(%s::text[], %s::text[]) AS written (schema, name) JOIN pg_namespace n ON n.nspname = written.schema
JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = written.name
JOIN pg_class part ON part.oid = c.oid OR part.oid IN (SELECT relid FROM pg_partition_tree(c.oid))
WHERE part.relkind = 'f' OR (part.relkind = 'r' AND part.relpersistence = 'u') ORDER BY 1
"""
"""The foreign tables and the unlogged tables among these tables and their partitions."""
_DEFERRED_KEY = """
SELECT conname FROM pg_index JOIN pg_constraint ON conindid = indexrelid AND conrelid = indrelid
WHERE indrelid = %s AND indisunique AND NOT indimmediate AND (
    SELECT array_agg(attname::text ORDER BY attname) FROM pg_attribute
    WHERE attrelid = indrelid AND attnum = ANY (indkey[0:indnkeyatts - 1])) = %s::text[]
"""

_CAST = {
    TimestampType: {
        "timestamp": "cast({} as timestamp_ntz)",
        "date": "cast({} as date)",
        "time": "date_format({}, 'HH:mm:ss.SSSSSS')",
        "timetz": "date_format({}, 'HH:mm:ss.SSSSSSXXX')",
    },
    TimestampNTZType: {
        "timestamptz": "cast({} as timestamp)",
        "date": "cast({} as date)",
        "time": "date_format({}, 'HH:mm:ss.SSSSSS')",
        "timetz": "date_format(cast({} as timestamp), 'HH:mm:ss.SSSSSSXXX')",
    },
    DateType: {"timestamptz": "cast({} as timestamp)"},
    DoubleType: {"float4": "cast({} as float)"},
}
"""The assignments in which PostgreSQL would change values, by both types, with the expression to write in the query
instead."""
_ALL_FIELDS = 0x7FFF
"""The code for all fields in the upper half of an interval's type modifier, for an interval that was declared without
fields."""
_COMPOSITE, _ENUM, _TEXTS = "C", "E", "S"
"""Categories of types (``pg_type.typcategory``)."""
_SORTED_ALIKE: Mapping[str, tuple[type[DataType], ...]] = {
    "B": (BooleanType,),
    "D": (DateType, TimestampType, TimestampNTZType),
    _ENUM: (StringType,),
    "N": (NumericType,),
    _TEXTS: (StringType,),
}
"""The types of rows that sort like the types of a category, if texts are compared by their bytes."""
_AS_IN_THE_TABLE = {
    "bool": "boolean",
    "date": "date",
    "int2": "smallint",
    "int4": "int",
    "int8": "bigint",
    "numeric": "decimal(38,9)",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
}
"""The types of Spark for those of columns."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table. Its leaf type is the type below all domains and arrays.

    :param type: the column's type, as in a definition.
    :param leaf: the name of the leaf type; it begins with a dot if the type is not one of PostgreSQL's.
    :param category: the category of the leaf type.
    :param modifier: the modifier of the leaf type, -1 if there is none.
    :param is_array: whether values are arrays of the leaf type.
    :param delimiter: separates values in the text of such an array.
    :param generated: whether the table computes the column.
    :param always: whether the table numbers the column, and refuses given numbers.
    :param required: whether a row must have a value.
    :param attributes: the attributes of a composite type.
    """

    name: str
    type: str
    leaf: str
    category: str
    modifier: int
    is_array: bool
    delimiter: str
    generated: bool
    always: bool
    required: bool
    attributes: tuple[TableColumn, ...] = ()

    @property
    def definition(self) -> str:
        return f"{quoted(self.name)} {self.type}"


def check_names(connection: psycopg.Connection, options: TableOptions, columns: Sequence[str] = ()) -> None:
    """Raises ConfigError for a name that PostgreSQL would truncate, so that it could be that of another table or
    column, for the name of a system column, and for a key of more columns than an index may have."""
    ((most, max_keys, own),) = connection.execute(_LIMITS).fetchall()
    if len(options.key) > max_keys:
        raise ConfigError(
            f"Option key of {options} names {len(options.key)} columns, while an index of PostgreSQL may have "
            f"{max_keys}: put them into one column in the query, sha2(to_json(struct(...)), 256), and name that column"
        )
    for name in [*parts_of(options.table), *columns]:
        length = len(name.encode())
        if length > most:
            raise ConfigError(
                f"{options} has a name of {length} bytes, {name}, and PostgreSQL's names have at most {most}: shorten "
                "it (a column's name with AS in the query)"
            )
    for name in columns:
        if name in own:
            raise ConfigError(
                f"{options} cannot have another column named {name}, which PostgreSQL keeps in each table for itself: "
                "give it another name in the query, with AS"
            )


def names_of(connection: psycopg.Connection, oid: int) -> list[str]:
    """The names of the columns of a table, view or foreign table."""
    return [name for (name,) in connection.execute(_NAMES, (oid,)).fetchall()]


def columns_of(connection: psycopg.Connection, oid: int) -> list[TableColumn]:
    """The columns of a table, view, foreign table or composite type."""
    found = connection.execute(_FACTS, {"oid": oid}).fetchall()
    columns = [(TableColumn(*row), inner) for *row, inner in found]
    return [replace(one, attributes=tuple(columns_of(connection, inner))) if inner else one for one, inner in columns]


def copied_into(connection: psycopg.Connection, oid: int) -> bool:
    """Whether COPY has the same effect on the table as INSERT: not on views, with row security, or with rules."""
    ((found,),) = connection.execute(_COPIED_INTO, (oid,)).fetchall()
    return bool(found)


def as_they_are(schema: StructType, columns: Iterable[TableColumn]) -> frozenset[str]:
    """The columns of the rows whose arrays and maps the table's column accepts, so that they need not become JSON."""
    found = {column.name: column for column in columns}
    return frozenset(
        field.name
        for field in schema.fields
        if field.name in found
        and (
            (isinstance(field.dataType, ArrayType) and found[field.name].is_array)
            or (field.dataType == _MAP_OF_TEXTS and found[field.name].leaf == ".hstore")
        )
    )


_MAP_OF_TEXTS = MapType(StringType(), StringType())


def check_taken(
    connection: psycopg.Connection,
    table: str,
    oid: int,
    columns: Sequence[TableColumn],
    schema: StructType,
    options: TableOptions,
) -> None:
    """Raises ConfigError if rows with these columns cannot be written to the table. Columns that the table lacks are
    ignored.

    :param table: the table's name, quoted.
    """
    found = {column.name: column for column in columns}
    fields = [field for field in schema.fields if field.name in found]
    for field in fields:
        _check_column(field, found[field.name], options)
    if any(found[field.name].leaf == "money" for field in fields):
        _check_money(connection, options)
    if options.mode is Mode.COMPLETE:
        _explain(connection, f"DELETE FROM {table}", options)
    insert = _insert(table, fields, found)
    try:
        plans = _explain(connection, insert, options)
    except ConfigError:
        # tried for one column at a time: PostgreSQL's localized message alone would not tell which column is wrong
        for field in fields:
            _explain(connection, _insert(table, [field], found), options, field, found[field.name])
        raise
    _check_stored_together(connection, plans, options)
    if not connection.execute(_FILLED_BY_TRIGGER, (oid,)).fetchall()[0][0]:
        check_required([column.name for column in columns if column.required], schema.names, options)
    for name, sequence, role in connection.execute(_NUMBERED, (oid, schema.names)).fetchall():
        raise ConfigError(
            f"Column {name} of {options} gets its number from the sequence {sequence}, which the role may not use: "
            f"GRANT USAGE ON SEQUENCE {sequence} TO {role}, or add the column in the query"
        )
    if options.mode is Mode.UPSERT:
        for name in compared([field.name for field in fields], options):
            _check_order(schema[name], found[name], table, options)
        _check_key(connection, insert, table, oid, [found[field.name] for field in fields], options)


def _check_stored_together(connection: psycopg.Connection, plans: Sequence[Any], options: TableOptions) -> None:
    """Raises ConfigError if rows are stored in a table that could have other batches after a crash than the table of
    identities has.

    :param plans: PostgreSQL's plans for an INSERT, which name the table behind a view.
    """
    written = [plan["Plan"] for plan in plans if "Plan" in plan and "Relation Name" in plan["Plan"]]
    names = [[plan[field] for plan in written] for field in ("Schema", "Relation Name")]
    for name, foreign in connection.execute(_STORED_APART, names).fetchall():
        raise ConfigError(
            f"{options} stores rows in the foreign table {name}, whose server commits them apart from the batch's "
            "identity, so that a crash could lose a batch or write it twice: let url lead to the database that has the "
            "table itself"
            if foreign
            else f"{options} stores rows in {name}, which is UNLOGGED: after a crash PostgreSQL empties the table, "
            f"while oncelog_batches still has the batches: ALTER TABLE {name} SET LOGGED"
        )


def later_of(columns: Sequence[TableColumn], options: TableOptions) -> str:
    """The condition under which a table's row stays in an upsert; texts are compared by their bytes, as in Spark.

    :param columns: the columns of the rows.
    """
    texts = {column.name for column in columns if column.category in (_ENUM, _TEXTS)}

    def value(table: str, name: str) -> str:
        found = of_table(table, name)
        return f"convert_to(CAST({found} AS text), 'UTF8')" if name in texts else found

    return later(compared([column.name for column in columns], options), value, "target", "excluded")


def _check_column(field: StructField, column: TableColumn, options: TableOptions) -> None:
    name = field.name
    if column.generated:
        raise ConfigError(
            f"Column {name} of {options} is generated from other columns: leave it out of the rows in the query"
        )
    if column.always:
        raise ConfigError(
            f"Column {name} of {options} is GENERATED ALWAYS AS IDENTITY: leave it out of the rows in the query, or "
            f"let the table take numbers, ALTER COLUMN {quoted(name)} SET GENERATED BY DEFAULT"
        )
    if column.leaf == "interval" and column.modifier >= 0 and column.modifier >> 16 != _ALL_FIELDS:
        raise ConfigError(
            f"Column {name} of {options} is {column.type}, which drops the fields of an interval that it lacks: ALTER "
            "COLUMN "
            f"{quoted(name)} TYPE interval"
        )
    kind, depth = field.dataType, 0
    while isinstance(kind, ArrayType) and column.is_array:
        kind, depth = kind.elementType, depth + 1
    advice = next((casts.get(column.leaf) for spark, casts in _CAST.items() if isinstance(kind, spark)), None)
    if isinstance(kind, BinaryType) and column.category == _TEXTS:
        advice = "cast({} as string)"
    if advice is not None:
        raise ConfigError(
            f"Column {name} of {options} is {column.type}, which does not hold what {field.dataType.simpleString()} "
            f"says: {_WHY[type(kind)]}; write {in_query(advice, name, depth)} in the query"
        )


def _check_order(field: StructField, column: TableColumn, table: str, options: TableOptions) -> None:
    """Raises ConfigError for a column of ``latestBy`` that does not sort like the rows' values."""
    kind = field.dataType
    if isinstance(kind, _SORTED_ALIKE.get(column.category, ())) and not column.is_array:
        return
    if isinstance(kind, StringType) and column.leaf in _AS_IN_THE_TABLE and not column.is_array:
        given = in_query(f"cast({{}} as {_AS_IN_THE_TABLE[column.leaf]})", field.name, 0)
        advice = f"write {given} in the query"
    else:
        wanted = sql_type(kind, TableFormat.POSTGRESQL)
        name = quoted(field.name)
        advice = f"ALTER TABLE {table} ALTER COLUMN {name} TYPE {wanted} USING {name}::{wanted}"
    raise ConfigError(unlike_order(field.name, column.type, kind, options, advice))


def in_query(advice: str, name: str, depth: int) -> str:
    """The expression to write in the query for a column, or for the elements of its arrays."""
    place = name if re.fullmatch(r"\w+", name) else escaped(name)
    if not depth:
        return advice.format(place)
    inner = advice.format("x")
    for _ in range(depth - 1):
        inner = f"transform(x, x -> {inner})"
    return f"transform({place}, x -> {inner})"


_WHY: Mapping[type[DataType], str] = {
    TimestampType: "whose clock it shows, or on which day, depends on a time zone",
    TimestampNTZType: "a time without a zone is no instant, and has more than a day or a time of day",
    DateType: "when a day begins depends on a time zone",
    DoubleType: "half of its digits would be lost",
    BinaryType: "PostgreSQL would store the digits of its bytes",
}


def _insert(table: str, fields: Sequence[StructField], found: Mapping[str, TableColumn]) -> str:
    names = ", ".join(quoted(field.name) for field in fields)
    values = ", ".join(_null(field.dataType, found[field.name]) for field in fields)
    return f"INSERT INTO {table} AS target ({names}) SELECT {values}"


def _null(kind: DataType, column: TableColumn) -> str:
    """The text NULL with the type from which PostgreSQL would assign; without a type for strings, which PostgreSQL
    parses like a constant."""
    dimensions = ""
    while isinstance(kind, ArrayType) and column.is_array:
        kind, dimensions = kind.elementType, "[]"
    if isinstance(kind, StringType) or (kind == _MAP_OF_TEXTS and column.leaf == ".hstore"):
        return "NULL"
    written = "numeric" if isinstance(kind, DecimalType) else sql_type(kind, TableFormat.POSTGRESQL)
    return f"NULL::{written}{dimensions}"


def _explain(
    connection: psycopg.Connection,
    statement: str,
    options: TableOptions,
    field: StructField | None = None,
    column: TableColumn | None = None,
) -> Sequence[Any]:
    """PostgreSQL's plans for a statement. Raises ConfigError if PostgreSQL refuses the statement."""
    import psycopg

    try:
        with connection.transaction():
            ((plans,),) = connection.execute(f"EXPLAIN (VERBOSE, FORMAT JSON) {statement}".encode()).fetchall()
            return cast("Sequence[Any]", plans)
    except psycopg.errors.DatatypeMismatch as error:
        if field is None or column is None:
            raise ConfigError(f"{options} does not accept such rows: {sentence(error)}") from error
        raise ConfigError(
            f"Column {field.name} of {options} is {column.type}, to which PostgreSQL assigns no "
            f"{field.dataType.simpleString()}: {_what_it_assigns(field, column)}"
        ) from error
    except psycopg.Error as error:
        if transient(error):
            raise
        raise ConfigError(f"{options} does not accept such rows: {sentence(error)}") from error


def _what_it_assigns(field: StructField, column: TableColumn) -> str:
    """The advice for a column to which PostgreSQL does not assign the rows' type. A cast to string is no remedy for
    nested values, because Spark's text of them differs from PostgreSQL's."""
    kind = {"timestamp": "timestamp_ntz", "bool": "boolean"}.get(column.leaf, column.leaf)
    if isinstance(field.dataType, IntegralType) and kind in COUNTED and not column.is_array:
        return counted(field.name, kind)
    if not isinstance(field.dataType, ArrayType | MapType | StructType):
        return (
            "cast it in the query to what it does assign, or to string, whose text PostgreSQL reads as it reads a "
            "constant"
        )
    if isinstance(field.dataType, MapType) and column.leaf == ".hstore":
        return f"write {in_query('cast({} as map<string,string>)', field.name, 0)} in the query"
    if column.category == _COMPOSITE:
        return "write the row's text in the query, as a string, as PostgreSQL reads it: (1,Main St)"
    return "write a value of it in the query, or its text as a string, as PostgreSQL reads it in a constant"


def _check_key(
    connection: psycopg.Connection,
    insert: str,
    table: str,
    oid: int,
    columns: Sequence[TableColumn],
    options: TableOptions,
) -> None:
    """Raises ConfigError if no unique index of the table has just the key's columns."""
    import psycopg

    names = ", ".join(options.key)
    try:
        with connection.transaction():
            names_of_rows = [column.name for column in columns]
            statement = insert + on_conflict(options.key, names_of_rows, later_of(columns, options))
            connection.execute(f"EXPLAIN {statement}".encode())
    except psycopg.errors.InvalidColumnReference as error:
        raise ConfigError(
            f"Option key of {options} names {names}, and no unique index of the table is on just these columns, "
            f"without expressions and without WHERE: {_how_to_index(connection, table, oid, options)}"
        ) from error
    except psycopg.Error as error:
        if transient(error):
            raise
        raise ConfigError(f"{options} does not support upserts: {sentence(error)}") from error
    for (deferred,) in connection.execute(_DEFERRED_KEY, (oid, sorted(options.key))).fetchall():
        keys = ", ".join(map(quoted, options.key))
        raise ConfigError(
            f"Option key of {options} names {names}, whose constraint is DEFERRABLE, and PostgreSQL cannot use such a "
            f"constraint for an upsert: recreate it, ALTER TABLE {table} DROP CONSTRAINT {quoted(deferred)}, ADD "
            f"UNIQUE ({keys})"
        )


def _how_to_index(connection: psycopg.Connection, table: str, oid: int, options: TableOptions) -> str:
    """The advice for a key without a unique index, which PostgreSQL does not support on every partitioned table."""
    ((kind, by, columns),) = connection.execute(_KIND_OF_TABLE, {"oid": oid}).fetchall()
    key = list(options.key)
    if kind == "v":
        return "make one in the view's table, or write to that table (a view with a trigger takes mode append alone)"
    if kind == "p" and not set(columns) <= set(key):
        if not all(columns):
            return f"PostgreSQL cannot make one, as an expression makes the partitions ({by}); write to another table"
        key += [name for name in columns if name not in key]
        lead = f"the table is partitioned ({by}), so name {', '.join(key)}, and "
    else:
        lead = ""
    index = f"CREATE UNIQUE INDEX ON {table} ({', '.join(map(quoted, key))})"
    return f"{lead}make one, {index}, or name the columns of another"


_KIND_OF_TABLE = """
SELECT relkind::text, pg_get_partkeydef(oid), ARRAY(
    SELECT a.attname::text FROM pg_partitioned_table p
    CROSS JOIN unnest(p.partattrs) WITH ORDINALITY AS one (number, place)
    LEFT JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = one.number AND a.attnum > 0
    WHERE p.partrelid = c.oid ORDER BY place)
FROM pg_class c WHERE oid = %(oid)s
"""


def _check_money(connection: psycopg.Connection, options: TableOptions) -> None:
    import psycopg

    try:
        with connection.transaction():
            ((exact,),) = connection.execute("SELECT '1234.25'::money::numeric = 1234.25").fetchall()
    except psycopg.DataError:
        exact = False
    if not exact:
        ((locale,),) = connection.execute("SELECT current_setting('lc_monetary')").fetchall()
        raise ConfigError(
            f"{options} has a column of type money, and the role's lc_monetary, {locale}, reads 1234.25 as something "
            "else: set it for the role, ALTER ROLE ... SET lc_monetary = 'C'"
        )


# --- PostgreSQL's own words

_TRANSIENT_CLASSES = ("08", "40")
_TRANSIENT = ("53300", "55P03", "57P01", "57P02", "57P03", "57P05")
"""The error codes for too many connections, a lock timeout, and servers that stop or start."""
_COPIED = re.compile(r"COPY .*?, \S+ \d+, (\S+ .*)", re.DOTALL)
"""Matches the position of an error in a COPY, in any language: table, line, column and value."""
_ADVICE = {
    "57014": "if nobody has cancelled it: ALTER ROLE ... SET statement_timeout = 0, for the role of url",
    "25P03": "ALTER ROLE ... SET idle_in_transaction_session_timeout = 0, for the role of url",
    "25P04": "ALTER ROLE ... SET transaction_timeout = 0, for the role of url",
    "54000": "PostgreSQL limits the size of a row and of an index entry: put several columns into one in the query, "
    "with struct(...), which is stored as jsonb, and use short keys",
    "54011": "PostgreSQL counts dropped columns too, until the table is copied: CREATE TABLE ... (LIKE ...)",
}
"""The advice that PostgreSQL's own message lacks, by SQLSTATE."""
_MAX_CHARS = 300


def transient(error: psycopg.Error) -> bool:
    """Whether the same statements may succeed later: the connection was lost, or other transactions interfered."""
    state = error.sqlstate
    return state is None or state[:2] in _TRANSIENT_CLASSES or state in _TRANSIENT


def refusal(table: str, error: psycopg.Error) -> str:
    """One sentence about an error with which PostgreSQL refuses rows or a whole batch."""
    return f"{table} cannot be written: {sentence(error)}"


def sentence(error: psycopg.Error) -> str:
    """PostgreSQL's error in one line, with the column and the value if PostgreSQL names them."""
    found = error.diag
    if found.message_primary is None:
        return str(error).strip().partition("\n")[0] or type(error).__name__
    text = found.message_primary
    copied = _COPIED.search(found.context or "")
    if copied is not None:
        text += f", in {_short(copied[1])}"
    for more in (found.message_detail, found.message_hint, _ADVICE.get(error.sqlstate or "")):
        if more:
            text += f" ({_short(more)})"
    return text


def _short(text: str) -> str:
    line = " ".join(text.split("\n"))
    return line if len(line) <= _MAX_CHARS else f"{line[:_MAX_CHARS]}..."
