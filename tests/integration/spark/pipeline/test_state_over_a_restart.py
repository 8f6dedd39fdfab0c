"""A stream-stream join and deduplication, on RocksDB: a run that ends, and one that continues where its driver
"died".

``test_stateful.py`` (``make soak``) kills drivers and executors; events and expected results are shared with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from pyspark.sql import SparkSession

from tests.integration.spark.kafka_records import committed, create_topic, produce, wait_until_settled
from tests.integration.spark.pipeline.stateful_query import SETTINGS, start
from tests.integration.spark.pipeline.test_stateful import expected, made
from tests.support.both_brokers import KAFKA_IN_SOAK
from tests.support.restarted_queries import run_to_the_end

EVENTS = 80
STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
NO_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"
"""Off, so that the last batch of a run, the one that is repeated, has rows: neither query needs more to emit them."""


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


@pytest.fixture
def stateful_spark(spark: SparkSession) -> Iterator[SparkSession]:
    """With one partition: a join keeps four stores in each."""
    settings = {STATE_STORE: SETTINGS[STATE_STORE], NO_DATA: "false", "spark.sql.shuffle.partitions": "1"}
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield spark
    for name, known in before.items():
        if known is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, known)


def crash_before_commit_log(checkpoint: Path) -> None:
    """As a driver leaves it that dies between EndTxn and Spark's commit log."""
    last = max(checkpoint.glob("commits/[0-9]*"), key=lambda file: int(file.name))
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink()


@KAFKA_IN_SOAK
@pytest.mark.parametrize("query", ["joined", "distinct"])
def test_state_and_output_agree_over_a_restart_that_repeats_a_batch(
    stateful_spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path, query: str
) -> None:
    """Events that belong together lie on both sides of the restart, and in the batch that is repeated."""
    address = broker.bootstrap_servers
    events, others = made(EVENTS, 1), made(EVENTS, 2)
    task: dict[str, Any] = {
        "servers": address,
        "events": create_topic(address, f"{unique_name}-events"),
        "others": create_topic(address, f"{unique_name}-others"),
        "sink": create_topic(address, f"{unique_name}-results"),
        "checkpoint": str(tmp_path / "checkpoint"),
        "rows": EVENTS,
    }
    for part in (slice(EVENTS // 2 - 10), slice(EVENTS // 2 - 10, None)):
        produce(address, task["events"], [event.encode() for event in events[part]])
        produce(address, task["others"], [other.encode() for other in others[part]])
        run_to_the_end(lambda: start(stateful_spark, task, query))
        wait_until_settled(address, task["sink"])
        if part.start is None:
            crash_before_commit_log(tmp_path / "checkpoint")
    records = committed(address, task["sink"])
    pairs = Counter(((record.key or b"").decode(), (record.value or b"").decode()) for record in records)
    found = Counter({pair: count for pair, count in pairs.items() if "end" not in pair[0]})
    assert found == expected(query, events, others)
    assert len(found) > 4
