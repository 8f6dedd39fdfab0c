"""Two sinks in one query, of which the second fails between two batches of the first: each row is in each sink once.

A restart is another run of the query with its checkpoint, as after the death of the driver between the two sinks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from deltalake import DeltaTable
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

import oncelog
from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType
from oncelog.spark.session import for_each_batch
from oncelog.spark.tables.sink import to_table
from tests.integration.spark.kafka_records import committed, create_topic
from tests.support.two_phase.postgres import WHY_NOT, Postgres, programs

Write = Callable[[DataFrame, int], None]


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    if programs() is None:
        pytest.skip(WHY_NOT)
    with Postgres() as started:
        yield started


class Sinks:
    """A topic, a Delta table and a table of PostgreSQL, and a query of numbers from files that writes to some."""

    def __init__(self, spark: SparkSession, folder: Path, postgres: Postgres, address: str, topic: str) -> None:
        self._spark = spark
        self._folder = folder
        self.address = address
        self.topic = topic
        self.database = postgres.new_database()
        (folder / "in").mkdir()

    def give(self, *numbers: int) -> None:
        """The rows of the next batch."""
        (self._folder / "in" / f"{numbers[0]}.json").write_text("".join(f'{{"id": {one}}}\n' for one in numbers))

    def lake(self) -> Write:
        return to_table({"format": "delta", "table": str(self._folder / "lake")}, name="lake")

    def rows(self) -> Write:
        return to_table({"format": "postgresql", "url": self.database, "table": "flights"}, name="rows")

    def records(self) -> Write:
        write = for_each_batch({"kafka.bootstrap.servers": self.address, "topic": self.topic})
        return lambda rows, batch_id: write(rows.select(col("id").cast("string").alias("value")), batch_id)

    def run(self, *sinks: Write) -> None:
        """Process what there is; each file is a batch."""

        def write(rows: DataFrame, batch_id: int) -> None:
            for sink in sinks:
                sink(rows, batch_id)

        stream = self._spark.readStream.schema("id long").option("maxFilesPerTrigger", 1)
        writer = stream.json(str(self._folder / "in")).writeStream.foreachBatch(write).trigger(availableNow=True)
        writer.option("checkpointLocation", str(self._folder / "checkpoint")).start().awaitTermination()

    def execute(self, *statements: str) -> None:
        with psycopg.connect(self.database, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def in_rows(self) -> list[int]:
        with psycopg.connect(self.database) as connection:
            return [int(one) for (one,) in connection.execute("SELECT id FROM flights ORDER BY id").fetchall()]

    def in_lake(self) -> list[int]:
        return sorted(DeltaTable(self._folder / "lake").to_pyarrow_table()["id"].to_pylist())

    def in_topic(self) -> list[int]:
        return sorted(int(one.value or b"") for one in committed(self.address, self.topic))


@pytest.fixture
def sinks(spark: SparkSession, tmp_path: Path, postgres: Postgres, unique_name: str) -> Iterator[Sinks]:
    with oncelog.Broker() as broker:
        address = broker.bootstrap_servers
        yield Sinks(spark, tmp_path, postgres, address, create_topic(address, unique_name, 2))


def test_a_table_can_refuse_a_batch_that_a_topic_and_a_table_already_have(sinks: Sinks) -> None:
    """A constraint at the first batch, and a right that was taken away at a later one."""
    sinks.execute("CREATE TABLE flights (id bigint CHECK (id <> 2))")
    sinks.give(1, 2)
    for _ in range(2):
        with pytest.raises(StreamingQueryException, match="flights_id_check"):
            sinks.run(sinks.records(), sinks.lake(), sinks.rows())
    assert (sinks.in_topic(), sinks.in_lake(), sinks.in_rows()) == ([1, 2], [1, 2], [])
    sinks.execute("ALTER TABLE flights DROP CONSTRAINT flights_id_check")
    sinks.give(3)
    sinks.run(sinks.records(), sinks.lake(), sinks.rows())
    sinks.execute("DROP ROLE IF EXISTS loader", "CREATE ROLE loader LOGIN", "GRANT ALL ON oncelog_batches TO loader")
    owner = sinks.database
    sinks.database = owner.replace("user=tests", "user=loader")
    sinks.give(4)
    with pytest.raises(StreamingQueryException, match="the role has no right to INSERT"):
        sinks.run(sinks.records(), sinks.lake(), sinks.rows())
    sinks.database = owner
    sinks.give(5)
    sinks.run(sinks.records(), sinks.lake(), sinks.rows())
    assert [sinks.in_topic(), sinks.in_lake(), sinks.in_rows()] == [[1, 2, 3, 4, 5]] * 3


def test_if_one_of_two_tables_was_dropped_the_query_can_continue_in_both(sinks: Sinks) -> None:
    """Nothing is guessed about the batches that were in it; with the user's choice all go on."""
    sinks.give(1)
    sinks.run(sinks.lake(), sinks.rows())
    sinks.execute("DROP TABLE flights")
    sinks.give(2)
    with pytest.raises(StreamingQueryException, match=r"wrote last to the table with id \S+, while there is none now"):
        sinks.run(sinks.lake(), sinks.rows())
    assert sinks.in_lake() == [1, 2]
    again = {"format": "postgresql", "url": sinks.database, "table": "flights", "onMissingMarker": "write"}
    sinks.run(sinks.lake(), to_table(again, name="rows"))
    sinks.give(3)
    sinks.run(sinks.lake(), sinks.rows())
    assert (sinks.in_lake(), sinks.in_rows()) == ([1, 2, 3], [2, 3])


def test_a_topic_can_refuse_a_batch_that_the_tables_already_have(sinks: Sinks) -> None:
    topic = ConfigResource(ConfigResourceType.TOPIC, sinks.topic)
    with oncelog.Admin(bootstrap_servers=sinks.address) as admin:
        admin.alter_configs({topic: {"max.message.bytes": "10"}})
        sinks.give(1)
        with pytest.raises(StreamingQueryException, match=r"too large|MESSAGE_TOO_LARGE"):
            sinks.run(sinks.lake(), sinks.rows(), sinks.records())
        assert (sinks.in_lake(), sinks.in_rows(), sinks.in_topic()) == ([1], [1], [])
        admin.alter_configs({topic: {"max.message.bytes": "1000000"}})
    sinks.give(2)
    sinks.run(sinks.lake(), sinks.rows(), sinks.records())
    assert [sinks.in_lake(), sinks.in_rows(), sinks.in_topic()] == [[1, 2]] * 3
