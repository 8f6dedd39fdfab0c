"""What holds on which PySpark: reads, writes, streams and restarts, each in an environment of its own."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.compatibility.spark_versions.environments import Environment
from tests.compatibility.spark_versions.running import Program
from tests.conftest import RunningBroker
from tests.integration.spark.kafka_records import committed, create_topic, eventually, produce, values

pytestmark = [pytest.mark.timeout(1200)]
case = pytest.mark.case


def numbers_in(address: str, topic: str) -> list[int]:
    return sorted(int(value) for value in values(committed(address, topic)))


class Copy:
    """Two topics and a checkpoint, for a query that copies."""

    def __init__(self, broker: RunningBroker, name: str, folder: Path) -> None:
        self.address = broker.bootstrap_servers
        self.source, self.sink = f"{name}-in", f"{name}-out"
        self.checkpoint = folder / "checkpoint"
        self.folder = folder
        create_topic(self.address, self.source, 1)
        create_topic(self.address, self.sink, 2)
        self.count = 0

    def add(self, count: int) -> None:
        produce(self.address, self.source, [b"%d" % n for n in range(self.count, self.count + count)])
        self.count += count

    def task(self, by: str, **more: Any) -> dict[str, Any]:
        base = {"run": "stream", "by": by, "servers": self.address, "source": self.source, "sink": self.sink}
        return base | {"checkpoint": str(self.checkpoint), "folder": str(self.folder), "rows": 40} | more

    def check(self) -> None:
        """Every record is there once."""
        eventually(lambda: numbers_in(self.address, self.sink), list(range(self.count)))


@pytest.fixture
def copy(oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path) -> Copy:
    return Copy(oncelog_broker, unique_name, tmp_path)


def test_every_private_api_in_use_exists(program: Program) -> None:
    assert program.printed({"run": "private"}) == [[]]


@case("`write`, by the driver and by the executors")
def test_a_batch_can_be_written_by_the_driver_or_by_the_executors(program: Program, copy: Copy) -> None:
    write = {"run": "write", "servers": copy.address, "sink": copy.sink}
    found = program.printed(write | {"by": "0", "range": [0, 50]}, write | {"by": "2", "range": [50, 200]})
    assert found == [["driver", 50], ["executors", 150]]
    assert numbers_in(copy.address, copy.sink) == list(range(200))


@case('`format("oncelog")`: batch read and batch write', least=(4, 0))
def test_format_oncelog_reads_and_writes_a_batch(program: Program, copy: Copy) -> None:
    copy.add(70)
    found = program.printed(
        {"run": "read", "servers": copy.address, "source": copy.source},
        {"run": "write", "servers": copy.address, "sink": copy.sink, "by": "format", "range": [0, 50]},
    )
    assert found[0] == list(range(70))
    assert numbers_in(copy.address, copy.sink) == list(range(50))


@case('`format("oncelog")`: batch read and batch write', below=(4, 0), holds="refused by name")
def test_format_oncelog_is_refused_by_name_on_a_pyspark_without_data_sources(program: Program, copy: Copy) -> None:
    text = program.refusal({"run": "read", "servers": copy.address, "source": copy.source})
    assert 'has no Python data sources, so format("oncelog") begins with PySpark 4.0: read with format("kafka")' in text


@case("SQL tables: `CREATE TABLE`, SELECT, INSERT, and what they refuse", least=(4, 0))
def test_a_topic_is_written_and_read_as_a_sql_table(
    environment: Environment, program: Program, copy: Copy, unique_name: str
) -> None:
    table = unique_name.replace("-", "_")
    at = f"kafka.bootstrap.servers '{copy.address}', topic '{copy.sink}'"
    create = f"CREATE TABLE {{}} USING oncelog OPTIONS ({at}{{}})"
    insert = f"INSERT INTO {table} (key, value) VALUES (X'6B', X'31'), (NULL, X'32')"
    if environment.release == (4, 0):
        assert "CANNOT_FIND_DATA" in program.refusal(sql(create.format(table, ""), insert))
        others = ", ".join(["NULL"] * 5)
        insert = f"INSERT INTO {table} VALUES (X'6B', X'31', {others}), (NULL, X'32', {others})"
    else:
        program.printed(sql(create.format(table, "")))
    numbered = f"INSERT INTO {table} WITH (transactionalIdPrefix = 'p-', batchId = 1) {insert.partition(table)[2]}"
    found = program.printed(sql(insert, numbered, numbered, f"SELECT key, value FROM {table} ORDER BY value, offset"))
    assert found[-1] == [["k", "1"], ["k", "1"], [None, "2"], [None, "2"]]
    counts = program.printed(
        sql(f"SELECT count(*) FROM {table} WITH (subscribe = '{copy.source}') WHERE value IS NULL")
    )
    assert counts == [[["0"]]]
    copied = create.format(f"{table}_copy", "")
    for statement, says in {
        f"INSERT INTO {table} SELECT * FROM {table}": "in column timestampType, which is only read",
        f"{copied} AS SELECT * FROM {table}": "in column timestampType, which is only read",
        f"{copied} AS SELECT key, value FROM {table}": "without a column list and without AS SELECT",
        create.format("bad", ", kafka.group.id 'x'"): "Option kafka.group.id is not supported, leave it out",
        create.format("bad", ", kafka.sasl.password 'x'"): "is a secret",
        f"INSERT OVERWRITE {table} SELECT * FROM {table}": "A topic cannot be overwritten",
    }.items():
        assert says in program.refusal(sql(statement)), statement
    columns = program.printed(
        sql(f"CREATE TABLE {table}_files USING parquet AS SELECT key, value, offset FROM {table}")
    )
    assert columns == [[]]
    assert sorted(values(committed(copy.address, copy.sink))) == [b"1", b"1", b"2", b"2"]


def sql(*statements: str) -> dict[str, Any]:
    return {"run": "sql", "statements": statements}


def batches_of(found: list[Any]) -> list[int]:
    sizes: list[int] = found[-1]["batches"]
    return sizes


def check_stream(environment: Environment, program: Program, copy: Copy, by: str) -> None:
    """New, restarted, restarted with nothing new and once more with AvailableNow: each record once."""
    limited = environment.release not in ((4, 0), (4, 1))
    copy.add(100)
    assert batches_of(program.printed(copy.task(by))) == ([40, 40, 20] if limited else [100])
    copy.check()
    copy.add(60)
    again = program.printed(copy.task(by), copy.task(by), copy.task(by, until="stopped"))
    runs = [line["batches"] for line in again if isinstance(line, dict)]
    assert runs == ([[40, 20], [], []] if limited else [[60], [], []])
    copy.check()


@case('`format("oncelog")`: stream read and stream write', least=(4, 0), short=False)
def test_a_stream_written_with_format_oncelog_copies_each_record_once(
    environment: Environment, program: Program, copy: Copy
) -> None:
    check_stream(environment, program, copy, "format")


@case("`for_each_batch`, by the driver")
def test_for_each_batch_written_by_the_driver_copies_each_record_once(
    environment: Environment, program: Program, copy: Copy
) -> None:
    check_stream(environment, program, copy, "0")


@case("`for_each_batch`, by the executors", short=False)
def test_for_each_batch_written_by_executors_copies_each_record_once(
    environment: Environment, program: Program, copy: Copy
) -> None:
    check_stream(environment, program, copy, "2")


@case("restored checkpoint is refused", short=False)
def test_checkpoint_that_is_older_than_the_log_is_refused(program: Program, copy: Copy) -> None:
    copy.add(40)
    program.printed(copy.task("0"))
    kept = copy.folder / "kept"
    shutil.copytree(copy.checkpoint, kept)
    copy.add(40)
    program.printed(copy.task("0"))
    shutil.rmtree(copy.checkpoint)
    kept.rename(copy.checkpoint)
    copy.add(40)
    assert "is older than the log" in program.refusal(copy.task("0"))
    assert numbers_in(copy.address, copy.sink) == list(range(80))
