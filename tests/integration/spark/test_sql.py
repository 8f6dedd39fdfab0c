"""Topics as SQL tables, by statements: what the catalog keeps, what they read and write, and where they are refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from tests.conftest import RunningBroker
from tests.integration.spark.kafka_records import Seen, committed, create_topic, eventually, produce, values
from tests.support.restarted_queries import run_to_the_end

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "sql.md"
pytestmark = pytest.mark.timeout(600)


class Tables:
    """A database of its own, whose tables are of topics of one test."""

    def __init__(self, spark: SparkSession, broker: RunningBroker, name: str) -> None:
        self.spark = spark
        self.address = broker.bootstrap_servers
        self.at = f"kafka.bootstrap.servers '{self.address}'"
        self._name = name
        self.database = re.sub(r"\W", "_", name)
        self.run(f"CREATE DATABASE {self.database}")
        self.run(f"USE {self.database}")

    def run(self, statement: str) -> list[Row]:
        return self.spark.sql(statement).collect()

    def topic(self, name: str, partitions: int = 2) -> str:
        """It keeps old records."""
        return create_topic(self.address, f"{self._name}-{name}", partitions, retention_ms="-1")

    def table(self, name: str, options: str = "") -> str:
        """A table of a topic of its own; returns the topic."""
        topic = self.topic(name)
        self.run(f"CREATE TABLE {name} USING oncelog OPTIONS ({self.at}, subscribe '{topic}'{options})")
        return topic

    def records(self, topic: str) -> list[Seen]:
        return committed(self.address, topic)

    def refusal(self, statement: str | Callable[[], object]) -> str:
        """The last line of our error, which stands last in Spark's, and behind which Spark only adds its state."""
        with pytest.raises(PySparkException) as refused:
            self.run(statement) if isinstance(statement, str) else statement()
        lines = re.sub(r" SQLSTATE: \w+", "", str(refused.value)).rstrip().splitlines()
        assert lines[-1].startswith("oncelog."), refused.value
        return lines[-1]

    def refusal_of_a_task(self, statement: str) -> str:
        with pytest.raises(PySparkException) as refused:
            self.run(statement)
        return next(line for line in str(refused.value).splitlines() if line.startswith("oncelog."))


@pytest.fixture
def tables(spark: SparkSession, oncelog_broker: RunningBroker, unique_name: str) -> Iterator[Tables]:
    found = Tables(spark, oncelog_broker, unique_name)
    yield found
    spark.sql("USE default")
    spark.sql(f"DROP DATABASE {found.database} CASCADE")


def statements() -> list[str]:
    blocks = re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [one for block in blocks for one in (text.strip() for text in block.split(";\n")) if one]


def test_the_examples_of_the_sql_page_work(tables: Tables) -> None:
    orders, large = tables.topic("orders"), tables.topic("large")
    found: dict[str, list[Any]] = {}
    for text in statements():
        renamed = text.replace("'127.0.0.1:9092'", f"'{tables.address}'")
        renamed = renamed.replace("'large-orders'", f"'{large}'").replace("'orders'", f"'{orders}'")
        found[text.removesuffix(";")] = tables.run(renamed.replace('"orders"', f'"{orders}"').removesuffix(";"))
    read = {text: [tuple(row) for row in rows] for text, rows in found.items() if text.startswith("SELECT")}
    first = next(iter(read.values()))
    assert sorted(row[:2] for row in first) == [("1", "tea"), ("2", "rice")]
    assert sorted(read["SELECT item, sum(amount) FROM sales GROUP BY item"]) == [("rice", 40), ("tea", 3)]
    assert read["SELECT count(*) FROM orders_now"] == [(2,)]
    tables.table("sparse")
    tables.run("INSERT INTO sparse (value) VALUES (X'01')")
    (by_time,) = (text for text in read if "startingTimestamp" in text)
    assert [tuple(row) for row in tables.run(by_time.replace("FROM orders", "FROM sparse"))] == [(1,)]
    seen = tables.records(large)
    assert sorted(values(seen)) == [b"\x01", b'{"item": "rice", "amount": 40}', b"{}"]
    for view in ("orders_now", "orders_sink"):
        tables.run(f"DROP VIEW {view}")


def test_insert_writes_each_column_that_a_producer_sets(tables: Tables) -> None:
    topic = tables.table("t", ", INCLUDEHEADERS true")
    tables.run("INSERT INTO t (value, KEY) VALUES (X'01', X'02'), (NULL, X'03'), (X'', NULL)")
    tables.run(
        "INSERT INTO t BY NAME SELECT X'04' AS value, 1 AS partition, TIMESTAMP_MILLIS(1500000000123) AS timestamp"
    )
    tables.run("INSERT INTO t (headers, value) VALUES (array(named_struct('key', 'h', 'value', X'05')), X'06')")
    seen = {(one.key, one.value) for one in tables.records(topic)}
    assert seen == {(b"\x02", b"\x01"), (b"\x03", None), (None, b""), (None, b"\x04"), (None, b"\x06")}
    (row,) = tables.run("SELECT partition, timestamp, timestampType FROM t WHERE value = X'04'")
    assert (row.partition, row.timestamp.astimezone(UTC), row.timestampType) == (
        1,
        datetime(2017, 7, 14, 2, 40, 0, 123000, UTC),
        0,
    )
    (row,) = tables.run("SELECT headers FROM t WHERE value = X'06'")
    assert [(one.key, bytes(one.value)) for one in row.headers] == [("h", b"\x05")]


def test_insert_refuses_microseconds_that_a_record_does_not_keep(tables: Tables) -> None:
    tables.table("t")
    insert = "INSERT INTO t BY NAME SELECT X'01' AS value, {} AS timestamp"
    at = "TIMESTAMP '2024-05-01 12:00:00.123456Z'"
    says = tables.refusal_of_a_task(insert.format(at))
    assert "records of Kafka keep milliseconds: cut it, date_trunc('MILLISECOND', timestamp), or" in says
    tables.run(insert.format(f"date_trunc('MILLISECOND', {at})"))
    (row,) = tables.run("SELECT timestamp FROM t")
    assert row.timestamp.astimezone(UTC) == datetime(2024, 5, 1, 12, 0, 0, 123000, UTC)


def test_insert_is_one_transaction_and_an_insert_with_an_id_is_written_once(tables: Tables) -> None:
    topic = tables.table("t")
    with pytest.raises(PySparkException, match=r"USER_RAISED_EXCEPTION.*the last row"):
        tables.run(
            "INSERT INTO t (value) SELECT CAST(IF(id = 99, raise_error('the last row'), 'x') AS BINARY) FROM "
            "range(0, 100, 1, 2)"
        )
    for _ in range(2):
        tables.run("INSERT INTO t WITH (transactionalIdPrefix = 'sql-', batchId = 7) (value) VALUES (X'01'), (X'02')")
    assert sorted(values(tables.records(topic))) == [b"\x01", b"\x02"]


@pytest.mark.soak
def test_the_insert_methods_of_a_dataframe_write_like_insert(tables: Tables) -> None:
    topic = tables.table("t")
    rows = tables.spark.sql("SELECT X'01' AS value, X'02' AS key")
    rows.writeTo("t").append()
    rows.write.format("oncelog").mode("append").saveAsTable("t")
    tables.spark.sql("SELECT X'02', X'01', NULL, 1, NULL, NULL, NULL").write.insertInto("t")
    assert [(one.key, one.value) for one in tables.records(topic)] == [(b"\x02", b"\x01")] * 3


def test_select_uses_the_options_of_its_statement(tables: Tables) -> None:
    topic = tables.table("t")
    produce(tables.address, topic, [b"%d" % n for n in range(5)], partition=0)
    count = 'SELECT count(*) FROM t WITH (startingOffsets = \'{"TOPIC": {"0": 3, "1": -2}}\')'.replace("TOPIC", topic)
    assert tables.run(count) == [Row(2)]
    assert tables.run("SELECT count(*) FROM t a JOIN t b USING (partition, offset) WHERE a.value = X'31'") == [Row(1)]


@pytest.mark.soak
def test_cached_table_shows_what_insert_has_written(tables: Tables) -> None:
    tables.table("t")
    tables.run("INSERT INTO t (value) VALUES (X'01')")
    tables.run("CACHE TABLE t")
    assert tables.run("SELECT count(*) FROM t") == [Row(1)]
    tables.run("INSERT INTO t (value) VALUES (X'02')")
    assert tables.run("SELECT count(*) FROM t") == [Row(2)]
    tables.run("UNCACHE TABLE t")


@pytest.mark.soak
def test_rows_can_name_one_of_the_topics_of_a_table(tables: Tables) -> None:
    one, two = tables.topic("one"), tables.topic("two")
    tables.run(f"CREATE TABLE t USING oncelog TBLPROPERTIES ({tables.at}, subscribe '{one}, {two}', 'team' = 'x')")
    tables.run(f"INSERT INTO t (value, topic) VALUES (X'01', '{one}'), (X'02', '{two}')")
    assert [values(tables.records(topic)) for topic in (one, two)] == [[b"\x01"], [b"\x02"]]
    assert "column topic is null there" in tables.refusal_of_a_task("INSERT INTO t (value) VALUES (X'01')")


@pytest.mark.soak
def test_dropping_a_table_leaves_its_topic_and_the_table_can_be_created_again(tables: Tables) -> None:
    topic = tables.table("t")
    tables.run("INSERT INTO t (value) VALUES (X'01')")
    tables.run("DROP TABLE t")
    tables.run(f"CREATE TABLE t USING oncelog OPTIONS ({tables.at}, topic '{topic}')")
    assert tables.run("SELECT count(*) FROM t") == [Row(1)]
    other = tables.topic("other")
    tables.run(f"CREATE OR REPLACE TABLE t USING oncelog OPTIONS ({tables.at}, topic '{other}')")
    assert tables.run("SELECT count(*) FROM t") == [Row(0)]


def test_a_stream_read_from_a_table_uses_its_options_but_a_stream_into_a_table_does_not(
    tables: Tables, tmp_path: Path
) -> None:
    topic = tables.table("t", ", maxOffsetsPerTrigger 2")
    copy = tables.table("copy")
    produce(tables.address, topic, [b"%d" % n for n in range(6)], partition=0)

    def started(folder: str, **options: str) -> Any:
        rows = tables.spark.readStream.option("startingOffsets", "earliest").table("t").select("key", "value")
        writer = rows.writeStream.options(**options, checkpointLocation=str(tmp_path / folder))
        return run_to_the_end(lambda: writer.trigger(availableNow=True).toTable("copy"))

    with pytest.raises(PySparkException, match=r"toTable does not see the options of CREATE TABLE: write"):
        started("refused")
    options = {"kafka.bootstrap.servers": tables.address, "topic": copy}
    query = started("checkpoint", **options)
    assert [progress["numInputRows"] for progress in query.recentProgress if progress["numInputRows"]] == [2, 2, 2]
    produce(tables.address, topic, [b"6"], partition=0)
    started("checkpoint", **options)
    eventually(lambda: sorted(values(tables.records(copy))), [b"%d" % n for n in range(7)])


def test_a_table_created_with_a_column_list_or_select_is_refused(tables: Tables) -> None:
    topic = tables.table("t")
    tables.run("INSERT INTO t (value) VALUES (X'01')")
    create = f"CREATE TABLE made {{}} USING oncelog OPTIONS ({tables.at}, topic '{topic}')"
    again = "without a column list and without AS SELECT"
    assert again in tables.refusal(create.format("") + " AS SELECT key, value FROM t")
    assert "create the table first" in tables.refusal_of_a_task(create.format("") + " AS SELECT * FROM t")
    assert not tables.run("SHOW TABLES LIKE 'made'")
    tables.run(create.format("(key BINARY, value BINARY)"))
    assert again in tables.refusal("SELECT * FROM made")
    assert again in tables.refusal("INSERT INTO made VALUES (X'01', X'02')")
    tables.run("DROP TABLE made")
    tables.run(create.format(""))
    assert tables.run("SELECT value FROM made") == [Row(bytearray(b"\x01"))]
    tables.run("ALTER TABLE made ADD COLUMNS (more INT)")
    assert again in tables.refusal("SELECT * FROM made")
    assert len(tables.records(topic)) == 1


def test_insert_creates_the_topic_if_the_table_has_the_option_create_topics(tables: Tables) -> None:
    create = f"CREATE TABLE {{}} USING oncelog OPTIONS ({tables.at}, topic '{tables.database}-{{}}'{{}})"
    tables.run(create.format("plain", "new", ""))
    assert "createTopics, as in" in tables.refusal("INSERT INTO plain (value) VALUES (X'01')")
    tables.run(create.format("made", "new", """, createTopics '{"partitions": 3}'"""))
    tables.run("INSERT INTO made (value) VALUES (X'01')")
    assert tables.run("SELECT value FROM plain") == [Row(bytearray(b"\x01"))]


def test_a_table_that_spark_created_from_a_select_is_refused_when_read(tables: Tables) -> None:
    tables.table("t")
    tables.spark.table("t").where("false").write.format("oncelog").saveAsTable("made")
    assert "without a column list and without AS SELECT" in tables.refusal("SELECT * FROM made")
    with_own = f"INSERT INTO t WITH ('kafka.bootstrap.servers' = '{tables.address}') (value) VALUES (X'01')"
    assert "leaves kafka.bootstrap.servers to the table" in tables.refusal(with_own)


def test_create_table_refuses_a_table_that_could_be_neither_read_nor_written(tables: Tables) -> None:
    for options, says in {
        "subscribe 'a'": r"kafka\.bootstrap\.servers is missing: give HOST:PORT of the broker.*",
        tables.at: "The table names no topic: give CREATE TABLE the option subscribe .*",
        f"{tables.at}, subscribe 'a', kafka.group.id 'g'": r"Option kafka\.group\.id is not supported, .*",
        f"{tables.at}, subscribe 'a', startingOfsets 'earliest'": ".*did you mean startingOffsets.",
    }.items():
        assert re.search(says + "$", tables.refusal(f"CREATE TABLE bad USING oncelog OPTIONS ({options})"))
    assert not tables.run("SHOW TABLES LIKE 'bad'")
    tables.table("whole")
    assert "use INSERT INTO" in tables.refusal("INSERT OVERWRITE whole (value) VALUES (X'01')")


def test_secret_is_given_to_a_statement_from_the_drivers_environment(tables: Tables) -> None:
    """Spark puts variables of its environment into SQL, so the advice of the refusal needs nothing of ours."""
    topic = tables.table("t")
    create = f"CREATE TABLE bad USING oncelog OPTIONS ({tables.at}, topic '{topic}', kafka.sasl.password 'x')"
    assert "WITH ('kafka.sasl.password' = '${env:KAFKA_SECRET}')" in tables.refusal(create)
    with_one = "SELECT count(*) FROM t WITH ('kafka.client.id' = '${env:HOME}', 'kafka.sasl.password' = '${env:HOME}')"
    assert tables.run(with_one) == [Row(0)]
    assert tables.run("SELECT '${env:HOME}'") != [Row("${env:HOME}")]


def test_rows_of_a_table_do_not_carry_its_options(tables: Tables, tmp_path: Path) -> None:
    """What Spark makes of them is not that table: neither a file, nor another table, nor a write with its own topic."""
    tables.table("t")
    other = tables.topic("other")
    rows = tables.spark.table("t")
    rows.select("key", "value", "topic", "partition", "offset", "timestamp").write.parquet(str(tmp_path / "rows"))
    read = tables.spark.read.parquet(str(tmp_path / "rows"))
    assert not any(field.metadata for field in read.schema.fields)
    elsewhere = {"kafka.bootstrap.servers": tables.address, "topic": other}
    text = tables.refusal(lambda: rows.write.format("oncelog").options(**elsewhere).mode("append").save())
    assert 'select the columns to write, as in rows.select("key", "value")' in text
    rows.select("key", "value").write.format("oncelog").options(**elsewhere).mode("append").save()
