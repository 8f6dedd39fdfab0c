"""Settings of a server, database or role: values are what they were, or a sentence says what to set before any work."""

from __future__ import annotations

import datetime
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest
from pyspark.sql.types import ArrayType, BinaryType, DateType, LongType, StringType, TimestampNTZType

from oncelog.spark.tables.options import Mode
from oncelog.spark.tables.store import TableRefused
from tests.integration.tables.existing import Existing, moments, numbers, texts
from tests.support.two_phase.postgres import Postgres

NAME = """public."s\\'t\""""
UTC = datetime.UTC
MOMENTS = [datetime.datetime(1, 2, 3, 4, 5, 6, 7, UTC), datetime.datetime(2024, 11, 12, 13, 14, 15, 999999, UTC)]
DAYS = [datetime.date(1, 2, 3), datetime.date(9999, 12, 11)]
FAR_US, FAR_DAY = 253_402_300_800_000_000, 2_932_897
"""The first moment and day of the year 10000."""


def set_for_the_database(existing: Existing, **settings: str) -> None:
    (database,) = existing.run("SELECT current_database()")[0]
    for name, value in settings.items():
        existing.run(f"ALTER DATABASE {database} SET {name} = {value}")


STYLES = [
    {"datestyle": "'ISO, DMY'", "intervalstyle": "postgres"},
    {"datestyle": "'SQL, MDY'", "intervalstyle": "sql_standard"},
    {"datestyle": "'German, DMY'", "intervalstyle": "iso_8601"},
    {"datestyle": "'Postgres, YMD'", "intervalstyle": "postgres_verbose"},
]
TEXTS = [
    {"standard_conforming_strings": "off", "backslash_quote": "off"},
    {"bytea_output": "escape", "array_nulls": "off", "extra_float_digits": "-15"},
    {"default_transaction_isolation": "'repeatable read'", "transform_null_equals": "on"},
    {"default_transaction_isolation": "serializable", "default_transaction_deferrable": "on"},
    {"xmloption": "document", "lc_monetary": "'C'", "timezone": "'Asia/Kathmandu'"},
    {"search_path": "''"},
    {"search_path": "nowhere, pg_catalog"},
]


@pytest.mark.parametrize("settings", [*STYLES, *TEXTS], ids=lambda one: "-".join(one.values()).replace(" ", ""))
def test_stored_values_do_not_depend_on_settings_of_the_database(existing: Existing, settings: dict[str, str]) -> None:
    text = "a\\b'c\"d\ne\tü\\."
    existing.run(
        "CREATE TYPE mood AS ENUM ('a\\b', 'c');"
        f"CREATE TABLE {NAME} (id bigint PRIMARY KEY, at timestamptz, local timestamp, day date, bytes bytea, "
        "text text, list text[], mood mood, x double precision)"
    )
    set_for_the_database(existing, **settings)
    columns = {
        "id": numbers(1, 2, 3),
        "at": moments(*MOMENTS, FAR_US),
        "local": (TimestampNTZType(), pa.timestamp("us"), [*(m.replace(tzinfo=None) for m in MOMENTS), FAR_US]),
        "day": (DateType(), pa.date32(), [*DAYS, FAR_DAY]),
        "bytes": (BinaryType(), pa.binary(), [b"\0\\'\xff", b"", None]),
        "text": texts(text, "", None),
        "list": (ArrayType(StringType()), pa.list_(pa.string()), [[text, None, "NULL", ""], [], None]),
        "mood": texts("a\\b", "c", None),
    }
    for mode in (Mode.APPEND, Mode.UPSERT):
        key = ("id",) if mode is Mode.UPSERT else ()
        existing.write(columns, NAME, mode=mode, key=key)
        found = existing.run(
            "SELECT extract(epoch FROM at AT TIME ZONE 'UTC') * 1000000, extract(epoch FROM local) * 1000000, "
            "extract(epoch FROM day) / 86400, encode(bytes, 'hex'), text, list, mood::text "
            f"FROM {NAME} ORDER BY id"
        )
        micros = [
            (m.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
            for m in MOMENTS
        ]
        days = [(day - datetime.date(1970, 1, 1)).days for day in DAYS]
        assert [row[0] for row in found] == [row[1] for row in found] == [*micros, FAR_US]
        assert [row[2] for row in found] == [*days, FAR_DAY]
        assert [row[3:] for row in found] == [
            (b"\0\\'\xff".hex(), text, [text, None, "NULL", ""], "a\\b"),
            ("", "", [], "c"),
            (None, None, None, None),
        ]


@pytest.mark.parametrize(
    ("encoding", "held", "lost"),
    [("LATIN1", "ü\x80", "€"), ("WIN1252", "ü€", "Ж"), ("SQL_ASCII", "ü€Ж", ""), ("EUC_JP", "日本", "ü€")],
)
def test_characters_outside_the_databases_encoding_are_refused(
    postgres: Postgres, tmp_path: Path, encoding: str, held: str, lost: str
) -> None:
    name = f"d_{encoding.lower()}"
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name}")
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'")
    existing = Existing(postgres.address.replace("dbname=postgres", f"dbname={name}"), tmp_path, "driver")
    existing.run("CREATE TABLE o (c text)")
    existing.write({"c": texts(held, held[0])})
    with psycopg.connect(existing.url, client_encoding="UTF8") as connection:
        found = connection.execute("SELECT c FROM o ORDER BY length(c) DESC").fetchall()
    assert [one if isinstance(one, str) else one.decode() for (one,) in found] == [held, held[0]]
    if lost:
        with pytest.raises(TableRefused, match=f'has no equivalent in encoding "{encoding}"'):
            existing.write({"c": texts("a", lost)})
        with pytest.raises(Exception, match=f'has no equivalent in encoding "{encoding}"'):
            existing.start({lost: LongType()}, evolve=True)


def test_default_transaction_read_only_is_refused_and_the_statement_that_ends_it_suggested(existing: Existing) -> None:
    existing.run("CREATE TABLE o (id bigint)")
    existing.write({"id": numbers(1)})
    (database,) = existing.run("SELECT current_database()")[0]
    existing.run(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    with pytest.raises(
        TableRefused, match=r"default_transaction_read_only is on for the role.*: ALTER ROLE \.\.\. SET"
    ):
        existing.start({"id": LongType()})


def test_a_statement_timeout_is_reported_with_the_statement_that_removes_it(existing: Existing) -> None:
    existing.run(
        "CREATE TABLE o (id bigint); CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM pg_sleep(60); RETURN NEW; END $$; "
        "CREATE TRIGGER slow BEFORE INSERT ON o FOR EACH ROW EXECUTE FUNCTION slow()"
    )
    set_for_the_database(existing, statement_timeout="'200ms'")
    with pytest.raises(TableRefused, match=r"statement timeout .*ALTER ROLE \.\.\. SET statement_timeout = 0"):
        existing.write({"id": numbers(1)})
    assert existing.run("SELECT * FROM o") == []


def test_row_security_on_the_table_of_batches_is_refused(existing: Existing) -> None:
    """Hosted databases switch it on for each new table; without a policy the role would see no batch."""
    role = f"writer_{existing.way}"
    existing.run(f"CREATE ROLE {role} LOGIN; CREATE TABLE o (id bigint); GRANT ALL ON SCHEMA public TO {role}")
    existing.write({"id": numbers(1)})
    existing.run(
        f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}; ALTER TABLE oncelog_batches ENABLE ROW LEVEL SECURITY"
    )
    owner = existing.url
    existing.url = owner.replace("user=tests", f"user={role}")
    with pytest.raises(TableRefused, match=r"could hide the batches in .*: (ALTER TABLE .* SECURITY), or") as refused:
        existing.start({"id": LongType()})
    existing.url = owner
    existing.run(str(refused.value).partition("role: ")[2].partition(", or")[0])
    existing.url = owner.replace("user=tests", f"user={role}")
    existing.write({"id": numbers(2)})


def test_a_batch_that_waited_for_another_run_sees_the_rows_of_that_run(existing: Existing) -> None:
    """With the default isolation of repeatable read the look would show the table as it was before the wait."""
    existing.run(
        "CREATE TABLE o (id bigint, isolation text); CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN NEW.isolation = current_setting('transaction_isolation'); RETURN NEW; END $$; "
        "CREATE TRIGGER noted BEFORE INSERT ON o FOR EACH ROW EXECUTE FUNCTION noted()"
    )
    set_for_the_database(existing, default_transaction_isolation="'repeatable read'")
    existing.write({"id": numbers(1)})
    assert existing.run("SELECT isolation FROM o") == [("read committed",)]
