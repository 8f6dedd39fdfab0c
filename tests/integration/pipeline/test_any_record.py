"""The same odd records through source, sinks, dead letters, redrive, mirror, export and console, byte for byte.

Who compares is librdkafka (``confluent-kafka``).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from oncelog import Broker
from oncelog.spark.session import for_each_batch, write
from tests.integration.cli.conftest import call
from tests.integration.console.test_guard import ask
from tests.integration.pipeline.conftest import PipelinesInSession
from tests.integration.spark.kafka_records import committed, create_topic
from tests.support.both_brokers import KAFKA_IN_SOAK
from tests.support.restarted_queries import run_to_the_end
from tests.support.running_console import RunningConsole

pytestmark = [pytest.mark.timeout(1200), pytest.mark.spark]
LARGE = 20 << 20
ROOM = {"max_message_bytes": str(32 << 20), "retention_ms": "-1"}
Header = tuple[str, bytes | None]


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


class Odd(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: list[Header]
    timestamp: int = 1_700_000_000_000


RECORDS = {
    "plain": Odd(b"k", b"v", [("h", b"1")]),
    "tombstone": Odd(b"k", None, []),
    "tombstone with headers": Odd(b"k", None, [("h", b"1")]),
    "no key": Odd(None, b"v", []),
    "nothing": Odd(None, None, []),
    "empty key": Odd(b"", b"v", []),
    "empty value": Odd(b"k", b"", []),
    "empty both": Odd(b"", b"", []),
    "null header": Odd(b"k", b"v", [("h", None)]),
    "empty header": Odd(b"k", b"v", [("h", b"")]),
    "header without a name": Odd(b"k", b"v", [("", b"x"), ("", None)]),
    "headers of one name": Odd(b"k", b"v", [("h", b"1"), ("h", b"2"), ("h", b"1"), ("H", None)]),
    "headers of other letters": Odd(b"k", b"v", [("größe\n", b"\xff\x00")]),
    "not UTF-8": Odd(b"\xff\xfe\x00", b"\xc3\x28\x00", [("h", b"\xff")]),
    "key of an int": Odd(b"\x00\x00\x00\x07", b"\x00" * 8, []),
    "negative timestamp": Odd(b"k", b"v", [], -5),
    "text null": Odd(b"null", b"null", [("null", b"null")]),
    "many headers": Odd(b"k", b"v", [(f"h{number % 100}", b"%d" % number) for number in range(10_000)]),
    "large": Odd(b"k", bytes(range(256)) * (LARGE // 256), [("h", b"1")]),
}
Content = tuple[bytes | None, bytes | None, list[Header]]


def contents(address: str, topic: str) -> list[Content]:
    return [(record.key, record.value, record.headers or []) for record in committed(address, topic)]


def sent() -> list[Content]:
    return [(one.key, one.value, one.headers) for one in RECORDS.values()]


def differing(found: list[Content], wanted: list[Content] | None = None) -> list[str]:
    """Names of the records that are not what was sent: their bytes would fill the report."""
    expected = sent() if wanted is None else wanted
    names = [name for name, one in RECORDS.items() if (one.key, one.value, one.headers) in expected]
    wrong = [name for name, a, b in zip(names, found, expected, strict=False) if a != b]
    return wrong if len(found) == len(expected) else [*wrong, f"{len(found)} records instead of {len(expected)}"]


@pytest.fixture
def topic(broker: RunningBroker, unique_name: str) -> str:
    create_topic(broker.bootstrap_servers, unique_name, 1, **ROOM)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "message.max.bytes": 64 << 20})
    for one in RECORDS.values():
        producer.produce(unique_name, one.value, one.key, headers=list(one.headers), timestamp=one.timestamp)
    assert producer.flush(120) == 0
    assert differing(contents(broker.bootstrap_servers, unique_name)) == []
    return unique_name


@KAFKA_IN_SOAK
def test_any_record_passes_source_and_sinks_unchanged(
    spark: SparkSession, broker: RunningBroker, topic: str, tmp_path: Path
) -> None:
    at = {"kafka.bootstrap.servers": broker.bootstrap_servers}
    read = {**at, "subscribe": topic, "startingOffsets": "earliest", "includeHeaders": "true"}
    rows = spark.read.format("oncelog").options(**read).load().orderBy("offset").coalesce(1)
    stream = spark.readStream.format("oncelog").options(**read).load()
    for way in ("df.write", "write", "format", "for_each_batch"):
        copy = create_topic(broker.bootstrap_servers, f"{topic}-{way}", 1, **ROOM)
        given, location = {**at, "topic": copy}, {"checkpointLocation": str(tmp_path / way)}
        if way == "df.write":
            rows.write.format("oncelog").mode("append").options(**given).save()
        elif way == "write":
            write(rows, given)
        else:
            writer = stream.select("key", "value", "headers").writeStream.options(**location)
            if way == "format":
                writer = writer.format("oncelog").options(**given)
            else:
                writer = writer.foreachBatch(for_each_batch({**given, **location}))
            run_to_the_end(writer.trigger(availableNow=True).start)
        assert (way, differing(contents(broker.bootstrap_servers, copy))) == (way, [])


DEAD_LETTERS = """
[source]
topic = "{topic}"
schema = "id int"
malformed = "dead-letter"
dead_letter = "{topic}-dead"

[query]
sql = "select id from source where id is not null"

[sink]
topic = "{topic}-good"
"""
ADDED = 4
"""Headers that a dead letter has more."""


@KAFKA_IN_SOAK
def test_any_record_passes_dead_letters_and_redrive_unchanged(
    broker: RunningBroker, topic: str, pipelines: PipelinesInSession
) -> None:
    address = broker.bootstrap_servers
    for name in (f"{topic}-good", f"{topic}-dead", f"{topic}-back"):
        create_topic(address, name, 1, **ROOM)
    file = pipelines.write("letters.toml", DEAD_LETTERS.format(topic=topic))
    pipelines.run(file, address)
    malformed = [one for one in sent() if one[1] is not None]
    dead_letters = [(key, value, headers[:-ADDED]) for key, value, headers in contents(address, f"{topic}-dead")]
    assert differing(dead_letters, malformed) == []
    call("redrive", f"{topic}-dead", "--to", f"{topic}-back", "-b", address).done()
    back = [(key, value, headers[:-1]) for key, value, headers in contents(address, f"{topic}-back")]
    assert differing(back, malformed) == []


@KAFKA_IN_SOAK
def test_any_record_is_mirrored_unchanged(broker: RunningBroker, topic: str) -> None:
    with Broker() as target:
        call(
            "mirror", "--from", broker.bootstrap_servers, "--to", target.bootstrap_servers, "-t", topic, "--once"
        ).done()
        assert differing(contents(target.bootstrap_servers, topic)) == []
        times = [record["timestamp"] for record in _as_json(target.bootstrap_servers, topic)]
    assert times == [one.timestamp for one in RECORDS.values()]


def _as_json(address: str, topic: str) -> list[dict[str, object]]:
    found = call("consume", "-t", topic, "--from-beginning", "--to-end", "--json", "-b", address).done()
    return found.json_lines


@KAFKA_IN_SOAK
def test_any_record_is_exported_unchanged(broker: RunningBroker, topic: str, tmp_path: Path) -> None:
    call("export", topic, "--to", tmp_path / "out.parquet", "-b", broker.bootstrap_servers).done()
    files = sorted((tmp_path / "out.parquet").glob("*.parquet"))
    table = pa.concat_tables(pq.read_table(file) for file in files).sort_by("offset")
    found: list[Content] = [
        (row["key"], row["value"], [(one["key"], one["value"]) for one in row["headers"] or []])
        for row in table.to_pylist()
    ]
    assert differing(found) == []
    assert table["timestamp"].cast(pa.int64()).to_pylist() == [one.timestamp * 1000 for one in RECORDS.values()]


@KAFKA_IN_SOAK
def test_the_console_shows_any_record(broker: RunningBroker, topic: str) -> None:
    with RunningConsole({"bootstrap.servers": broker.bootstrap_servers}) as console:
        page = ask(console, "GET", f"/records?topic={topic}")
        assert page.status == 200
        texts = [
            ask(console, "GET", f"/record?topic={topic}&partition=0&offset={offset}") for offset in range(len(RECORDS))
        ]
        assert [one.status for one in texts] == [200] * len(RECORDS)
