"""The rows' columns under a table's names: as Spark resolves them, and refused only where two are meant."""

from __future__ import annotations

import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from oncelog.errors import ConfigError
from oncelog.spark.tables.names import BatchNames, named_rows
from oncelog.spark.tables.options import Mode, TableFormat, TableOptions
from oncelog.spark.tables.store import TableLayout, TableRefused

OPTIONS = TableOptions(TableFormat.DELTA, "lake")
ROWS = StructType([StructField("ID", LongType()), StructField("Text", StringType())])


def test_a_table_that_does_not_exist_gets_the_column_names_of_the_rows() -> None:
    options = TableOptions(TableFormat.DELTA, "lake", partition_by=("text",), mode=Mode.UPSERT, key=("id",))
    found = named_rows(ROWS, options, None)
    assert (found.names, found.written) == (["ID", "Text"], ROWS)
    assert (found.options.key, found.options.partition_by) == (("ID",), ("Text",))


def test_column_names_partitions_and_keys_are_those_of_the_existing_table() -> None:
    options = TableOptions(TableFormat.DELTA, "lake", mode=Mode.UPSERT, key=("Id",), latest_by=("text",))
    found = named_rows(ROWS, options, TableLayout(["more", "TEXT", "id"], ("more",)))
    assert (found.names, found.written.names) == (["id", "TEXT"], ["id", "TEXT"])
    assert (found.options.key, found.options.latest_by, found.options.partition_by) == (("id",), ("TEXT",), ("more",))


@pytest.mark.parametrize("columns", [["ID", "id", "Text"], ["Id", "ID", "iD", "Text"]])
def test_an_exact_column_name_takes_precedence_over_a_name_in_another_case(columns: list[str]) -> None:
    assert named_rows(ROWS, OPTIONS, TableLayout(columns)).names == ["ID", "Text"]


def test_a_column_that_matches_two_table_columns_except_for_case_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"have a column ID, and delta table lake has id and Id: .*, with AS id"):
        named_rows(ROWS, OPTIONS, TableLayout(["id", "Id", "Text"]))


@pytest.mark.parametrize(
    ("layout", "says"),
    [
        (TableLayout(["ID", "Text"]), "is partitioned by nothing, and partitionBy says Text: leave it out$"),
        (
            TableLayout(["ID", "Text"], ("ID", "Text")),
            r"by ID, Text, and .* says Text: leave it out, or set it to ID, Text$",
        ),
        (
            TableLayout(["ID", "Text"], ("bucket[4](Text)",), by_columns=False),
            r"by bucket\[4\]\(Text\), .*: leave it out$",
        ),
    ],
)
def test_partition_columns_that_differ_from_the_tables_are_refused(layout: TableLayout, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        named_rows(ROWS, TableOptions(TableFormat.DELTA, "lake", partition_by=("text",)), layout)


def test_the_column_names_of_a_batch_are_fixed_and_a_changed_table_is_refused() -> None:
    batch = BatchNames(ROWS, OPTIONS)
    batch.look(TableLayout(["id", "text"]))
    assert batch.written().names == ["id", "text"]
    batch.look(TableLayout(["id", "text"]))
    with pytest.raises(TableRefused, match="changed its columns or partitions while a batch was written"):
        batch.look(TableLayout(["id", "text"], ("id",)))
