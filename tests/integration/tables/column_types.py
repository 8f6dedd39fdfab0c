"""Columns of PostgreSQL and SQLite, types of Spark, and a few values of each, for the tests of tables that exist.

``tools`` and pages do not know them: the tests compute from them what the page says.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

UTC = datetime.UTC


class Given(NamedTuple):
    """A type of Spark.

    :param arrow: as Spark sends it to a task, if the table takes it as it is.
    :param sql: the type of PostgreSQL that such a value has of itself.
    :param values: a few.
    """

    kind: DataType
    arrow: pa.DataType
    sql: str
    values: tuple[Any, ...]


_MOMENTS = (datetime.datetime(2024, 1, 2, 3, 4, 5, 678000), datetime.datetime(1883, 11, 18, 12, 3, 58))
GIVEN: dict[str, Given] = {
    "boolean": Given(BooleanType(), pa.bool_(), "boolean", (True, False, None)),
    "byte": Given(ByteType(), pa.int8(), "smallint", (1, 127, None)),
    "short": Given(ShortType(), pa.int16(), "smallint", (1999, 2000, None)),
    "int": Given(IntegerType(), pa.int32(), "integer", (1999, 2000, None)),
    "long": Given(LongType(), pa.int64(), "bigint", (1999, 2000, None)),
    "float": Given(FloatType(), pa.float32(), "real", (1999.0, 2000.0, None)),
    "double": Given(DoubleType(), pa.float64(), "double precision", (1999.0, 2000.0, None)),
    "decimal": Given(
        DecimalType(10, 2), pa.decimal128(10, 2), "numeric", (Decimal("1999.00"), Decimal("2000.00"), None)
    ),
    "string": Given(StringType(), pa.string(), "", ()),
    "binary": Given(BinaryType(), pa.binary(), "bytea", (b"\x00\xff\\", b"", None)),
    "date": Given(DateType(), pa.date32(), "date", (datetime.date(2024, 2, 29), datetime.date(1, 1, 1), None)),
    "timestamp": Given(
        TimestampType(), pa.timestamp("us", "UTC"), "timestamptz", tuple(m.replace(tzinfo=UTC) for m in _MOMENTS)
    ),
    "timestamp_ntz": Given(TimestampNTZType(), pa.timestamp("us"), "timestamp", _MOMENTS),
    "array<int>": Given(ArrayType(IntegerType()), pa.list_(pa.int32()), "integer[]", ([1, None, 3], [], None)),
    "array<string>": Given(ArrayType(StringType()), pa.list_(pa.string()), "", ()),
    "map": Given(MapType(StringType(), IntegerType()), pa.string(), "jsonb", ('{"a":1}', "{}", None)),
    "struct": Given(StructType([StructField("a", IntegerType())]), pa.string(), "jsonb", ('{"a":1}', None)),
}

POSTGRESQL_TYPES: dict[str, tuple[str, ...]] = {
    "boolean": ("true", "no"),
    "smallint": ("7",),
    "integer": ("-7",),
    "bigint": ("9223372036854775807",),
    "real": ("1.5", "NaN"),
    "double precision": ("0.1", "-Infinity"),
    "numeric": ("1e3", "0.10000000000000000001"),
    "numeric(10,2)": ("12.50", "1e3"),
    "money": ("$1,234.50",),
    "text": ("a", "", "\\N", 'quo"te, and\nline', "\\."),
    "varchar(50)": ("a", ""),
    "char(36)": ("ab", ""),
    "citext": ("Ab",),
    "uuid": ("A0EEBC99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc999c0b4ef8bb6d6bb9bd380a11"),
    "order_status": ("new", "so'ld"),
    "bytea": ("\\x00ff",),
    "date": ("2024-02-29", "January 8, 1999", "0044-03-15 BC", "infinity"),
    "time": ("04:05:06.789",),
    "timestamp": ("2024-01-02 03:04:05.678901", "-infinity"),
    "timestamptz": ("2024-01-02T03:04:05.678901Z", "2024-01-02 03:04:05+05:30", "infinity"),
    "timestamptz(3)": ("2024-01-02T03:04:05.678Z",),
    "interval": ("1 day 02:03:04", "P1Y2M"),
    "json": ('{"a":  1}', "null"),
    "jsonb": ('{"a":  1, "b": 0.12345678901234567890123456789}', "[]"),
    "integer[]": ("{1,NULL,3}", "{{1,2},{3,4}}"),
    "text[]": ('{"a b",NULL,"NULL"}',),
    "uuid[]": ("{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}",),
    "inet": ("192.168.0.1/24", "::1"),
    "cidr": ("10.0.0.0/8",),
    "macaddr": ("08:00:2b:01:02:03",),
    "bit(4)": ("1010",),
    "int4range": ("[1,10)", "empty"),
    "point": ("(1,2)",),
    "tsvector": ("'a':1 'b':2",),
    "xml": ("<a>1</a>",),
    "hstore": ('"a"=>"1", "b"=>NULL',),
    "address": ("(Main St,12)",),
    "year (a domain of integer)": ("1999",),
}
"""Types of columns, with texts that they take."""

POSTGRESQL_SETUP = """
CREATE EXTENSION citext; CREATE EXTENSION hstore;
CREATE TYPE order_status AS ENUM ('new', 'so''ld');
CREATE TYPE address AS (street text, number int);
CREATE DOMAIN year AS integer CHECK (VALUE >= 1901 AND VALUE <= 2155);
"""


def written(column_type: str) -> str:
    """The type in a definition."""
    return column_type.partition(" (")[0]


SQLITE_TYPES = (
    "INTEGER",
    "BIGINT",
    "REAL",
    "DOUBLE PRECISION",
    "NUMERIC",
    "DECIMAL(10,2)",
    "BOOLEAN",
    "DATE",
    "DATETIME",
    "TIMESTAMP",
    "JSON",
    "TEXT",
    "VARCHAR(50)",
    "CHAR(5)",
    "BLOB",
    "ANY",
    "",
)
"""Types in definitions of SQLite's tables; a column may have none."""
