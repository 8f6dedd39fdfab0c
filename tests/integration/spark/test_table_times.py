"""Dates and times of any year into each kind of table: equal when the real thing reads them, or refused.

The real things are Spark's reader of Parquet files, PostgreSQL and SQLite; a moment is known by its microseconds.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import struct, to_json

from oncelog.errors import OncelogError
from oncelog.spark.tables.columns import JSON_OPTIONS
from oncelog.spark.tables.options import TableFormat, TableOptions
from tests.integration.spark.test_table_types import _files
from tests.integration.tables.worlds import Query, world_of
from tests.support.two_phase.postgres import WHY_NOT, Postgres, programs

DAY_US = 86_400_000_000
PLACES = {
    "year 1": -719_162,
    "year 1000": -354_285,
    "the last Julian day": -141_428,  # 1582-10-04, ten days before 1582-10-15 in the Gregorian calendar
    "the first Gregorian day": -141_427,
    "railway time": -31_455,
    "1900": -25_567,
    "1969": -1,
    "1970": 0,
    "a gap of summer time": 19_792,
    "2038": 24_855,
    "nanoseconds' end": 106_752,
    "year 9999": 2_932_896,
}
"""Days since 1970-01-01 that every table holds."""
BEYOND = {"year 0": -719_163, "year 10000": 2_932_897, "the last": 106_751_990, "the first": -106_751_990}
"""Days that tables may refuse."""
TYPES = {
    "date": "date_from_unix_date({day})",
    "timestamp": "timestamp_micros({us}L)",
    "timestamp_ntz": "to_timestamp_ntz(timestamp_micros({us}L))",
}
REFUSING = (TableFormat.ICEBERG, TableFormat.POSTGRESQL)
"""pyiceberg knows the years of Python, PostgreSQL 4713 BC to 5874897, and 294276 for timestamps."""


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    if programs() is None:
        pytest.skip(WHY_NOT)
    with Postgres() as started:
        yield started


@pytest.fixture
def utc(spark: SparkSession) -> Iterator[None]:
    zone = spark.conf.get("spark.sql.session.timeZone") or "UTC"
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    yield
    spark.conf.set("spark.sql.session.timeZone", zone)


def frame_of(spark: SparkSession, kind: str, days: list[int]) -> DataFrame:
    """A moment of each day; its expression is the test's, as is what comes back."""
    parts = [
        f"select {number} as n, {TYPES[kind].format(day=day, us=day * DAY_US + 8_130_000_007)} as at"
        for number, day in enumerate(days)
    ]
    return spark.sql(" union all ".join(parts)).coalesce(1)


def micros(spark: SparkSession, kind: str, options: TableOptions) -> list[int]:
    """What the real thing reads, in days or microseconds since 1970."""
    if options.format in (TableFormat.DELTA, TableFormat.ICEBERG):
        of_spark = {
            "date": "unix_date(at)",
            "timestamp": "unix_micros(at)",
            "timestamp_ntz": "unix_micros(cast(at as timestamp))",
        }
        rows = spark.read.parquet(*_files(options)).orderBy("n").selectExpr(of_spark[kind])
        return [row[0] for row in rows.collect()]
    if options.format is TableFormat.POSTGRESQL:
        of_postgres = {
            "date": "at - date '1970-01-01'",
            "timestamp": "(extract(epoch from at) * 1000000)::bigint",
            "timestamp_ntz": "(extract(epoch from at) * 1000000)::bigint",
        }
        with psycopg.connect(options.url) as connection:
            found = connection.execute(f"SELECT {of_postgres[kind]} FROM flights ORDER BY n".encode()).fetchall()
        return [row[0] for row in found]
    texts = [row[0] for row in sqlite3.connect(options.url).execute("SELECT at FROM flights ORDER BY n").fetchall()]
    read = {"date": "unix_date(date(t))", "timestamp": "unix_micros(timestamp(t))"}
    read["timestamp_ntz"] = "unix_micros(timestamp(concat(t, 'Z')))"
    rows = spark.createDataFrame(list(enumerate(texts)), "n int, t string").orderBy("n").selectExpr(read[kind])
    return [row[0] for row in rows.collect()]


def wanted(kind: str, days: list[int]) -> list[int]:
    return days if kind == "date" else [day * DAY_US + 8_130_000_007 for day in days]


def written(
    spark: SparkSession, folder: Path, form: TableFormat, request: pytest.FixtureRequest, kind: str, days: list[int]
) -> TableOptions:
    folder.mkdir()
    new_database = request.getfixturevalue("postgres").new_database if form is TableFormat.POSTGRESQL else str
    options = world_of(form, folder, new_database).options
    Query(folder / "checkpoint", options).write_frame(0, frame_of(spark, kind, days))
    return options


@pytest.mark.parametrize("kind", list(TYPES))
@pytest.mark.parametrize("form", list(TableFormat), ids=lambda form: str(form.value))
def test_years_1_to_9999_are_stored_unchanged(
    spark: SparkSession, utc: None, tmp_path: Path, form: TableFormat, kind: str, request: pytest.FixtureRequest
) -> None:
    days = list(PLACES.values())
    options = written(spark, tmp_path / "world", form, request, kind, days)
    assert micros(spark, kind, options) == wanted(kind, days)


@pytest.mark.parametrize("kind", list(TYPES))
@pytest.mark.parametrize("form", list(TableFormat), ids=lambda form: str(form.value))
@pytest.mark.parametrize(
    "place", [pytest.param(one, marks=[] if one == "the last" else pytest.mark.soak) for one in BEYOND]
)
def test_years_out_of_range_are_stored_exactly_or_refused_in_a_sentence(
    spark: SparkSession,
    utc: None,
    tmp_path: Path,
    form: TableFormat,
    kind: str,
    place: str,
    request: pytest.FixtureRequest,
) -> None:
    days = [BEYOND[place]]
    refusal = ""
    try:
        options = written(spark, tmp_path / "world", form, request, kind, days)
    except OncelogError as error:
        refusal = str(error)
    if refusal:
        assert form in REFUSING
        assert "outside the years 1 to 9999" in refusal or "out of range" in refusal
        return
    assert micros(spark, kind, options) == wanted(kind, days)


def test_timestamps_in_json_do_not_depend_on_the_sessions_time_zone(spark: SparkSession) -> None:
    """JSON is the value of a topic's record, and what SQL databases have of nested rows."""
    given = [day * DAY_US + 8_130_000_007 for day in (*PLACES.values(), *BEYOND.values())]
    zone = spark.conf.get("spark.sql.session.timeZone") or "UTC"
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")  # -04:56:02 before 1883
    try:
        rows = spark.createDataFrame([(one,) for one in given], "us long").selectExpr(
            "us", "timestamp_micros(us) as at", "cast(timestamp_micros(us) as timestamp_ntz) as local"
        )
        texts = rows.select("*", to_json(struct("at", "local"), JSON_OPTIONS).alias("text"))
        back = texts.selectExpr("us", "at", "local", "from_json(text, 'at timestamp, local timestamp_ntz') as read")
        same = back.selectExpr("us", "read.at = at as same", "read.local = local as same_local").collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert [(row.us, row.same, row.same_local) for row in same] == [(one, True, True) for one in given]
