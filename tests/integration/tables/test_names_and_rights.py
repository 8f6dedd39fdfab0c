"""Names that PostgreSQL would cut, keys that it takes for one, and sequences that a role may not use."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from oncelog.errors import ConfigError
from oncelog.spark.tables.keys import KeyRefused
from oncelog.spark.tables.options import Mode
from oncelog.spark.tables.store import TableRefused
from tests.integration.tables.existing import Existing, numbers, texts

LONG = "ü" * 32
"""64 bytes."""


@pytest.mark.parametrize("evolve", [False, True])
def test_a_column_name_that_postgresql_would_truncate_is_refused(existing: Existing, evolve: bool) -> None:
    reported = f"has a name of 64 bytes, {LONG}, and PostgreSQL's names have at most 63: shorten it"
    with pytest.raises(ConfigError, match=reported):
        existing.write({"id": numbers(1), LONG: texts("a")}, "made", evolve=evolve)
    existing.run(f'CREATE TABLE o (id bigint, "{LONG}" text)')
    with pytest.raises(ConfigError, match=reported):
        existing.write({"id": numbers(1), LONG: texts("a")}, evolve=evolve)
    existing.write({"id": numbers(1), LONG[:31]: texts("a")})
    assert existing.run("SELECT * FROM o") == [(1, "a")]


@pytest.mark.parametrize("table", [LONG, f"{LONG}.o"])
def test_two_table_names_that_postgresql_truncates_to_one_name_are_refused(existing: Existing, table: str) -> None:
    with pytest.raises(ConfigError, match="has a name of 64 bytes"):
        existing.write({"id": numbers(1)}, table)


def test_names_of_63_bytes_and_with_any_character_are_written(existing: Existing) -> None:
    schema, table, columns = "Order Items", "t" * 63, ("select", "a.b", "x%s", 'q"q', "{0}", LONG[1:])
    name = f'"{schema}"."{table}"'
    existing.run(f'CREATE SCHEMA "{schema}"')
    for options in ({}, {"mode": Mode.UPSERT, "key": columns[:1]}, {"mode": Mode.COMPLETE}):
        existing.run(f"DROP TABLE IF EXISTS {name}")
        existing.write({column: texts("1", "2") for column in columns}, name, **options)
        assert existing.run(f"SELECT * FROM {name} ORDER BY 1") == [("1",) * 6, ("2",) * 6]


SAME = [("citext", "a@X", "A@x"), ("uuid", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc999c0b4ef8bb6d6bb9bd380a11")]


@pytest.mark.parametrize(("kind", "first", "second"), [*SAME, ("numeric", "1", "1.0"), ("char(5)", "a", "a  ")])
def test_two_keys_that_postgresql_considers_equal_are_refused(
    existing: Existing, kind: str, first: str, second: str
) -> None:
    existing.run(f"CREATE EXTENSION citext; CREATE TABLE o (k {kind} PRIMARY KEY, n bigint)")
    rows = {"k": texts(first, second), "n": numbers(1, 2)}
    for latest_by in ((), ("n",)):
        with pytest.raises(KeyRefused, match=r"one key \(k\) as PostgreSQL compares it, .*: write the key in one way"):
            existing.write(rows, mode=Mode.UPSERT, key=("k",), latest_by=latest_by)
    assert existing.run("SELECT * FROM o") == []
    if kind == "citext":  # the advice, lower(k), and then the latest of the rows that have one key
        (same,) = {first.lower(), second.lower()}
        existing.write({"k": texts(same), "n": numbers(2)}, mode=Mode.UPSERT, key=("k",), latest_by=("n",))
        assert existing.run("SELECT k::text, n FROM o") == [(same, 2)]


@pytest.fixture
def role(existing: Existing) -> str:
    """A role that may write to the table ``o`` alone."""
    name = f"r{uuid.uuid4().hex}"
    existing.run(f"CREATE TABLE o (id bigserial PRIMARY KEY, t text); CREATE ROLE {name} LOGIN")
    existing.run(f"GRANT INSERT ON o TO {name}; REVOKE CREATE ON SCHEMA public FROM public")
    return name


def as_role(existing: Existing, role: str, way: str) -> Existing:
    return Existing(existing.url.replace("user=tests", f"user={role}"), existing.folder / role, way)


def test_a_sequence_without_usage_permission_is_reported(existing: Existing, role: str) -> None:
    existing.run(f"GRANT CREATE ON SCHEMA public TO {role}")
    sink = as_role(existing, role, existing.way)
    with pytest.raises(ConfigError, match="which the role may not use: GRANT USAGE ON SEQUENCE") as reported:
        sink.start({"t": texts()[0]})
    sink.write({"id": numbers(7), "t": texts("its own number")})
    existing.run(str(reported.value).partition("use: ")[2].partition(", or")[0])
    sink.write({"t": texts("the next")})
    assert existing.run("SELECT * FROM o ORDER BY id") == [(1, "the next"), (7, "its own number")]


def test_a_role_without_create_permission_can_write_after_the_documented_steps(existing: Existing, role: str) -> None:
    """The page says which table another role makes for it."""
    sink = as_role(existing, role, "driver")
    rows = {"id": numbers(1), "t": texts("a")}
    with pytest.raises(TableRefused, match=r'CREATE on the schema public, for "public"."oncelog_batches"$'):
        sink.write(rows, driver_writes=True)
    page = (Path(__file__).parents[3] / "docs/how-to/tables-in-detail.md").read_text()
    existing.run(page.partition("```sql\n")[2].partition("```")[0].replace("TO loader", f"TO {role}"))
    with pytest.raises(TableRefused, match="for staged rows, which writers = 0 does without"):
        sink.write(rows)
    sink.write(rows, driver_writes=True)
    assert existing.run("SELECT * FROM o") == [(1, "a")]
