"""Pipelines that write to tables, and to a topic and tables in one batch: each sink has each batch once."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import psycopg
import pyarrow as pa
import pytest
from confluent_kafka import Producer
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import load_catalog

from oncelog.errors import OncelogError
from tests.integration.cli.conftest import run
from tests.integration.pipeline.conftest import PipelineCommand, PipelinesInSession
from tests.integration.spark.kafka_records import committed, create_topic
from tests.support.two_phase.postgres import WHY_NOT, Postgres, programs

pytestmark = [pytest.mark.timeout(1200), pytest.mark.spark]


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    if programs() is None:
        pytest.skip(WHY_NOT)
    with Postgres() as started:
        yield started


ALL = """
name = "orders"

[source]
topic = "{topic}"
schema = "id long, item string, amount double"
malformed = "dead-letter"
dead_letter = "{topic}-dead"

[sinks.topic]
topic = "{topic}-large"
key = "id"
sql = "select id, amount from source where amount > 5"

[sinks.lake]
format = "delta"
table = "lake/orders"
partition_by = ["item"]
sql = "select id, item, amount from source"

[sinks.ice]
format = "iceberg"
table = "lake.orders"
catalog = {{ type = "sql", uri = "sqlite:///{folder}/catalog.db", warehouse = "file://{folder}/warehouse" }}
sql = "select id, item, amount from source"

[sinks.database]
format = "postgresql"
url = "{url}"
table = "orders"
mode = "upsert"
key = "id"
sql = "select id, item, amount from source"

[sinks.file]
format = "sqlite"
url = "orders.db"
table = "orders"
sql = "select id, amount * 2 as twice from source where amount > 5"
"""


def produce(address: str, topic: str, ids: range) -> None:
    producer = Producer({"bootstrap.servers": address})
    for number in ids:
        value = json.dumps({"id": number, "item": f"i{number % 3}", "amount": number / 2})
        producer.produce(topic, value.encode())
    producer.produce(topic, b"no json")
    assert producer.flush(120) == 0


def forget_the_end(folder: Path, name: str) -> None:
    """The run died after all sinks had the batch, before Spark noted that."""
    commits = folder / "oncelog-checkpoints" / name / "commits"
    last = max(int(path.name) for path in commits.iterdir() if path.name.isdecimal())
    for path in (commits / str(last), commits / f".{last}.crc"):
        path.unlink(missing_ok=True)


class Everywhere:
    def __init__(self, folder: Path, url: str, address: str, topic: str) -> None:
        self._read: list[Callable[[], list[int]]] = [
            lambda: DeltaTable(folder / "lake" / "orders").to_pyarrow_table()["id"].to_pylist(),
            lambda: (
                load_catalog("default", type="sql", uri=f"sqlite:///{folder}/catalog.db")
                .load_table("lake.orders")
                .scan()
                .to_arrow()["id"]
                .to_pylist()
            ),
            lambda: [row[0] for row in psycopg.connect(url).execute("SELECT id FROM orders").fetchall()],
        ]
        self._some: list[Callable[[], list[int]]] = [
            lambda: [row[0] // 1 for row in sqlite3.connect(folder / "orders.db").execute("SELECT twice FROM orders")],
            lambda: [json.loads(record.value or b"")["id"] for record in committed(address, f"{topic}-large")],
        ]

    def check(self, count: int) -> None:
        assert [sorted(read()) for read in self._read] == [list(range(count))] * len(self._read)
        assert [sorted(read()) for read in self._some] == [list(range(11, count))] * len(self._some)


@pytest.mark.parametrize("order", ["tables-first", pytest.param("topics-first", marks=pytest.mark.soak)])
@pytest.mark.parametrize("broker", ["oncelog"], indirect=True)
def test_topic_and_tables_of_one_pipeline_contain_each_row_once(
    broker: RunningBroker, unique_name: str, pipelines: PipelinesInSession, postgres: Postgres, order: str
) -> None:
    address, url = broker.bootstrap_servers, postgres.new_database()
    for name in (unique_name, f"{unique_name}-large", f"{unique_name}-dead"):
        create_topic(address, name, 1)
    text = f'order = "{order}"\n' + ALL.format(topic=unique_name, folder=pipelines.folder, url=url)
    file = pipelines.write("orders.toml", text)
    everywhere = Everywhere(pipelines.folder, url, address, unique_name)

    produce(address, unique_name, range(20))
    pipelines.run(file, address)
    everywhere.check(20)
    forget_the_end(pipelines.folder, "orders")
    produce(address, unique_name, range(20, 30))
    pipelines.run(file, address)
    everywhere.check(30)
    assert [record.value for record in committed(address, f"{unique_name}-dead")] == [b"no json"] * 2
    if order == "topics-first":  # once: it starts Spark twice
        check_doctor(pipelines, file, address, url)


def check_doctor(pipelines: PipelinesInSession, file: Path, address: str, url: str) -> None:
    """It knows all tables, and finds the columns of one that somebody has changed."""
    words = ["pipeline", "doctor", "oncelog-checkpoints/orders", "--pipeline", file, "-b", address, "--json"]
    reported = run(*words, cwd=pipelines.folder).done().json
    tables = [one for one in reported if "table" in one]
    assert [one["table"].split()[0] for one in tables] == ["delta", "iceberg", "postgresql", "sqlite"]
    assert [(one["next"]["verdict"], one["columns"], one["missingRights"]) for one in tables] == [
        ("write", None, [])
    ] * 4
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER TABLE orders ALTER COLUMN amount TYPE boolean USING amount > 0")
    refused = run(*words[:-1], cwd=pipelines.folder)
    assert refused.code == 1, refused.err
    assert "Column amount of postgresql table orders is boolean, to which PostgreSQL assigns no double" in refused.out


NEW = """
[source]
topic = "{topic}"
schema = "id long, item string"

[sinks.missing]
topic = "{topic}-nowhere"
key = "id"
sql = "select id, item from source"

[sinks.lake]
format = "delta"
table = "lake/orders"
sql = "select id, item from source"

[sinks.base]
format = "sqlite"
url = "orders.db"
table = "orders"
sql = "select id, item from source"

[sinks.ice]
format = "iceberg"
table = "lake.orders"
catalog = {{ type = "sql", uri = "sqlite:///{folder}/nowhere/catalog.db", warehouse = "file://{folder}/warehouse" }}
sql = "select id, item from source"
"""


@pytest.mark.parametrize("broker", ["oncelog"], indirect=True)
def test_doctor_refuses_a_sink_before_the_first_start_for_the_reason_for_which_a_start_refuses_it(
    broker: RunningBroker, unique_name: str, pipelines: PipelinesInSession
) -> None:
    address = broker.bootstrap_servers
    create_topic(address, unique_name, 1)
    file = pipelines.write("new.toml", NEW.format(topic=unique_name, folder=pipelines.folder))
    lake = str(pipelines.folder / "lake" / "orders")
    write_deltalake(lake, pa.table({"id": pa.array([1], pa.int64()), "item": ["a"]}))
    log = Path(lake) / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "protocol" in line:
            line["protocol"] = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["rowTracking"]}
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = ["pipeline", "doctor", "oncelog-checkpoints/new", "--pipeline", file, "-b", address]
    reported = run(*words, "--json", cwd=pipelines.folder)
    assert reported.code == 1, reported.err
    topic, delta, sqlite, iceberg = reported.json
    assert (topic["topic"], topic["partitions"], topic["next"]["verdict"]) == (f"{unique_name}-nowhere", None, "refuse")
    assert "has the feature rowTracking, which deltalake" in delta["columns"]
    assert (sqlite["columns"], sqlite["tableId"], sqlite["next"]["reason"]) == (
        None,
        None,
        "there is no checkpoint yet, so this is the first start",
    )
    assert (iceberg["next"]["verdict"], "iceberg table lake.orders cannot be read" in iceberg["next"]["reason"]) == (
        "refuse",
        True,
    )
    assert not (pipelines.folder / "oncelog-checkpoints" / "new").exists()
    create_topic(address, f"{unique_name}-nowhere", 1)
    (pipelines.folder / "nowhere").mkdir()
    with pytest.raises(OncelogError, match="has the feature rowTracking, which deltalake"):
        pipelines.run(file, address)
    assert not (pipelines.folder / "oncelog-checkpoints" / "new" / "offsets" / "0").exists()


LATEST = """
[source]
topic = "{topic}"
schema = "id long, item string, at int"

[sinks.by_column]
format = "sqlite"
url = "latest.db"
table = "by_column"
mode = "upsert"
key = "id"
latest_by = "at"
sql = "select id, item, at from source"

[sinks.by_offset]
format = "sqlite"
url = "latest.db"
table = "by_offset"
mode = "upsert"
key = "id"
sql = "select id, item, topic, partition, offset from source"
"""


@pytest.mark.parametrize("broker", ["oncelog"], indirect=True)
def test_upsert_keeps_the_latest_row_of_each_key_by_column_or_offset(
    broker: RunningBroker, unique_name: str, pipelines: PipelinesInSession
) -> None:
    create_topic(broker.bootstrap_servers, unique_name, 2)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for key, item, at in ((1, "newest", 9), (1, "last", 3), (2, "only", 1)):
        value = json.dumps({"id": key, "item": item, "at": at}).encode()
        producer.produce(unique_name, value, key=str(key).encode())
    assert producer.flush(120) == 0
    file = pipelines.write("latest.toml", LATEST.format(topic=unique_name))
    pipelines.run(file, broker.bootstrap_servers)
    with sqlite3.connect(pipelines.folder / "latest.db") as connection:
        assert sorted(connection.execute("SELECT id, item FROM by_column")) == [(1, "newest"), (2, "only")]
        assert sorted(connection.execute("SELECT id, item FROM by_offset")) == [(1, "last"), (2, "only")]


ONE = """
from oncelog.spark.pipeline import Source, TableSink, pipeline

@pipeline(
    source=Source("{topic}", schema="id long, item string", options={{"maxOffsetsPerTrigger": 5}}),
    sink=TableSink({{"format": "sqlite", "url": "items.db", "table": "items"}}),
    mode="complete",
)
def items(orders):
    return orders.groupBy("item").count()
"""


@pytest.mark.soak
@pytest.mark.parametrize("broker", ["oncelog"], indirect=True)
def test_a_pipeline_with_only_a_table_writes_in_complete_mode(
    broker: RunningBroker, unique_name: str, pipeline: PipelineCommand
) -> None:
    create_topic(broker.bootstrap_servers, unique_name, 1)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(12):
        producer.produce(unique_name, json.dumps({"id": number, "item": f"i{number % 3}"}).encode())
    assert producer.flush(120) == 0
    file = pipeline.write("items.py", ONE.format(topic=unique_name))
    ended = pipeline.run(str(file), "--once", "--bootstrap-server", broker.bootstrap_servers)
    assert ended.returncode == 0, ended.stderr
    with sqlite3.connect(pipeline.folder / "items.db") as connection:
        assert sorted(connection.execute('SELECT item, "count" FROM items')) == [("i0", 4), ("i1", 4), ("i2", 4)]


@pytest.mark.parametrize(
    ("sink", "reported"),
    [
        ('format = "oracle"\ntable = "t"', "Invalid value 'oracle' for option format"),
        ('format = "sqlite"\ntable = "t"', "needs the option url"),
        ('format = "sqlite"\nurl = "a.db"\ntable = "t"\ntopic = "t"', "sink.topic is for topics"),
        ('topic = "t"\ntable = "t"', "sink.table is for tables"),
        ('format = "sqlite"\nurl = "a.db"\ntable = "t"\nmode = "upsert"', "need each other"),
        ('format = "delta"\ntable = "t"\noptions = { nonsense = 1 }', "Unknown option 'nonsense' of a table"),
    ],
)
def test_a_wrong_table_is_refused_before_spark_starts(cold_pipeline: PipelineCommand, sink: str, reported: str) -> None:
    text = f'[source]\ntopic = "t"\n[query]\nsql = "select 1 as id from source"\n[sink]\n{sink}\n'
    assert reported in cold_pipeline.refused_at_once(str(cold_pipeline.write("wrong.toml", text)), "--once")


MOVED = """
name = "lake"
[source]
topic = "{topic}"
schema = "id long, item string"
[query]
sql = "select id, item from source"
[sink]
format = "{format}"
{where}
"""


@pytest.mark.parametrize(
    ("form", "where"),
    [
        pytest.param("delta", 'table = "{above}/lake/orders"', marks=pytest.mark.soak),  # as test_identity.py shows
        ("sqlite", 'url = "{above}/orders.db"\ntable = "orders"'),
    ],
)
def test_a_pipeline_file_that_was_moved_continues_with_its_table(
    oncelog_broker: RunningBroker, unique_name: str, pipelines: PipelinesInSession, form: str, where: str
) -> None:
    """The table is spelt by another path from there, and the last batch was written without Spark's knowing it."""
    address = oncelog_broker.bootstrap_servers
    create_topic(address, unique_name, 1)
    producer = Producer({"bootstrap.servers": address})

    def send(ids: range) -> None:
        for number in ids:
            producer.produce(unique_name, json.dumps({"id": number, "item": "x"}).encode())
        producer.flush(120)

    def run(folder: str, above: str) -> list[str]:
        (pipelines.folder / folder).mkdir(parents=True, exist_ok=True)
        text = MOVED.format(topic=unique_name, format=form, where=where.format(above=above))
        ran = pipelines.run(pipelines.write(f"{folder}/lake.toml", text), address)
        return [batch.path for batch in ran.batches]

    send(range(3))
    assert run("t1", "..") == ["driver"]
    for name in ("0", ".0.crc"):
        (pipelines.folder / "oncelog-checkpoints" / "lake" / "commits" / name).unlink(missing_ok=True)
    send(range(3, 5))
    assert run("t1/sub", "../..") == ["none", "driver"]
    if form == "delta":
        found = DeltaTable(pipelines.folder / "lake" / "orders").to_pyarrow_table()["id"].to_pylist()
    else:
        with contextlib.closing(sqlite3.connect(pipelines.folder / "orders.db")) as connection:
            found = [one for (one,) in connection.execute("SELECT id FROM orders")]
    assert sorted(found) == list(range(5))
