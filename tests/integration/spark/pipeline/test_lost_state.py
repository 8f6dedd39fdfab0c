"""Files of a query's state are missing: the refusal says what to do, and what it says works."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Protocol

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from oncelog.spark.pipeline.running import explain
from oncelog.spark.session import for_each_batch
from oncelog.spark.tables.sink import to_table
from tests.integration.spark.kafka_records import committed, create_topic, produce
from tests.integration.spark.pipeline.stateful_query import SETTINGS
from tests.support.both_brokers import KAFKA_IN_SOAK
from tests.support.restarted_queries import run_to_the_end

STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
IN_MEMORY = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


@pytest.fixture(params=[IN_MEMORY, pytest.param(SETTINGS[STATE_STORE], marks=pytest.mark.soak)])
def stateful_spark(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[SparkSession]:
    spark.conf.set(STATE_STORE, request.param)
    yield spark
    spark.conf.unset(STATE_STORE)


class Counts:
    """A query that counts the records of each key, and writes the counts to a topic or a table."""

    def __init__(self, spark: SparkSession, address: str, name: str, folder: Path, sink: str) -> None:
        self._spark, self._address, self._sink = spark, address, sink
        self._source = create_topic(address, f"{name}-in")
        self._topic = create_topic(address, f"{name}-out")
        self._database = folder / "tables.db"
        self.checkpoint = folder / "checkpoint"
        self._sent: Counter[str] = Counter()

    def send(self, keys: str) -> None:
        self._sent.update(keys)
        produce(self._address, self._source, [key.encode() for key in keys])

    def _written(self) -> Callable[[DataFrame, int], None]:
        if self._sink == "topic":
            return for_each_batch({"kafka.bootstrap.servers": self._address, "topic": self._topic})
        given = {"format": "sqlite", "url": str(self._database), "table": "counts", "mode": "upsert", "key": "key"}
        return to_table(given)

    def run(self, checkpoint: Path | None = None) -> None:
        source = {
            "kafka.bootstrap.servers": self._address,
            "subscribe": self._source,
            "startingOffsets": "earliest",
        }
        keys = self._spark.readStream.format("oncelog").options(**source).load().selectExpr("string(value) as key")
        counts = keys.groupBy("key").count().selectExpr("key", "string(count) as value")
        stream = counts.writeStream.outputMode("update").foreachBatch(self._written()).trigger(availableNow=True)
        run_to_the_end(stream.option("checkpointLocation", str(checkpoint or self.checkpoint)).start)

    def are_right(self) -> bool:
        found: dict[str, int] = {}
        if self._sink == "topic":
            for record in committed(self._address, self._topic):
                found[(record.key or b"").decode()] = int(record.value or b"")
        else:
            with closing(sqlite3.connect(self._database)) as connection:
                found = {key: int(value) for key, value in connection.execute("SELECT key, value FROM counts")}
        return found == self._sent


@KAFKA_IN_SOAK
@pytest.mark.parametrize("sink", ["topic", pytest.param("table", marks=pytest.mark.soak)])
def test_a_query_whose_state_is_lost_continues_after_what_the_refusal_advises(
    stateful_spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path, sink: str
) -> None:
    counts = Counts(stateful_spark, broker.bootstrap_servers, unique_name, tmp_path, sink)
    for keys in ("aabcd", "bbcde"):
        counts.send(keys)
        counts.run()
    assert counts.are_right()
    state, saved = counts.checkpoint / "state", tmp_path / "saved"
    shutil.copytree(state, saved)
    counts.send("abcde")
    for lost in (state / "0" / "0", state):
        shutil.rmtree(lost)
        with pytest.raises(PySparkException) as refused:
            counts.run()
        expected = r"Spark cannot load the state of the query \(.*\): restore the checkpoint's folder state"
        assert re.match(expected, explain(refused.value))
    shutil.copytree(saved, state, dirs_exist_ok=True)
    counts.run()
    assert counts.are_right()
    if sink == "table":  # the other advice
        counts.run(tmp_path / "new")
        assert counts.are_right()
