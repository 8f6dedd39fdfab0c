"""Malformed records, several sources and sinks, and rows that name their topic: each batch is one transaction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Protocol

import pytest
from confluent_kafka import Producer

from oncelog.apps.redrive.dead_letters import ATTEMPTS_HEADER
from oncelog.errors import OncelogError
from tests.integration.cli.conftest import run
from tests.integration.pipeline.conftest import PipelineCommand, PipelinesInSession
from tests.integration.spark.kafka_records import Seen, committed, create_topic
from tests.support.both_brokers import KAFKA_IN_SOAK

pytestmark = [pytest.mark.timeout(1200), pytest.mark.spark]


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


DEAD_LETTER = """
[source]
topic = "{topic}"
schema = "carrier string, delay int"
malformed = "dead-letter"
dead_letter = "{topic}-dead"

[query]
sql = "select carrier, delay from source where delay > 10"

[sink]
topic = "{topic}-late"
key = "carrier"
"""


def produce(address: str, topic: str, values: list[bytes | None]) -> None:
    producer = Producer({"bootstrap.servers": address})
    for number, value in enumerate(values):
        producer.produce(topic, value, key=b"k%d" % number, headers=[("own", b"%d" % number)])
    assert producer.flush(120) == 0


def headers_of(record: Seen) -> dict[str, str]:
    return {name: (value or b"").decode() for name, value in record.headers or []}


@KAFKA_IN_SOAK
def test_malformed_record_goes_to_the_dead_letters_with_its_error_and_origin(
    broker: RunningBroker, unique_name: str, pipelines: PipelinesInSession
) -> None:
    address = broker.bootstrap_servers
    for name in (unique_name, f"{unique_name}-late", f"{unique_name}-dead"):
        create_topic(address, name, 1)
    good = [json.dumps({"carrier": "AA", "delay": 20}).encode(), b'{"carrier": "UA", "delay": 5}']
    bad = [b"no json", b'{"carrier": "XX", "delay": "soon"}', b"\xff\xfe", b"", good[0] + good[0]]
    bad += [good[0] + b'],"parsed":[' + good[1], good[0] + b'],"whole":1} text', good[0] + b"," + good[1], b"null"]
    produce(address, unique_name, [good[0], bad[0], None, bad[1], good[1], *bad[2:]])
    file = pipelines.write("late.toml", DEAD_LETTER.format(topic=unique_name))
    pipelines.run(file, address)
    late = committed(address, f"{unique_name}-late")
    assert [(record.key, json.loads(record.value or b"")) for record in late] == [
        (b"AA", {"carrier": "AA", "delay": 20})
    ]
    dead = sorted(committed(address, f"{unique_name}-dead"), key=lambda record: int((record.key or b"")[1:]))
    offsets = (1, 3, *range(5, 3 + len(bad)))
    assert [(record.key, record.value) for record in dead] == [
        (b"k%d" % offset, value) for offset, value in zip(offsets, bad, strict=True)
    ]
    for record, offset in zip(dead, offsets, strict=True):
        assert headers_of(record) == {
            "own": str(offset),
            "oncelog.error": "the value is not JSON of the schema carrier string, delay int",
            "oncelog.topic": unique_name,
            "oncelog.partition": "0",
            "oncelog.offset": str(offset),
        }
    check_redrive(pipelines, file, address, unique_name, [good[0], good[1], *bad])


REPAIRS = """
from dataclasses import replace

def mend(dead_letter):
    assert dead_letter.error.startswith("the value is not JSON")
    if dead_letter.value != b"no json":
        return dead_letter
    return replace(dead_letter, value=b'{"carrier": "MM", "delay": 99}')
"""


def check_redrive(pipelines: PipelinesInSession, file: Path, address: str, topic: str, values: list[bytes]) -> None:
    """Each of the pipeline's dead letters is back once; the one that a transform repairs is processed, and the others
    become dead letters again, which say that they were sent back."""
    pipelines.write("repairs.py", REPAIRS)
    words = ("redrive", f"{topic}-dead", "-b", address, "--transform", "repairs:mend")
    bad = values[2:]
    for sent in (len(bad), 0):
        assert run(*words, cwd=pipelines.folder).done().err == f"{sent} dead letters sent back\n"
    back = [record for record in committed(address, topic) if ATTEMPTS_HEADER in headers_of(record)]
    mended = [b'{"carrier": "MM", "delay": 99}' if value == b"no json" else value for value in bad]
    assert sorted((record.value or b"") for record in back) == sorted(mended)
    for record in back:
        own = (record.key or b"")[1:].decode()
        assert (record.partition, headers_of(record)) == (0, {"own": own, ATTEMPTS_HEADER: "1"})
    pipelines.run(file, address)
    assert [record.key for record in committed(address, f"{topic}-late")] == [b"AA", b"MM"]
    dead = [record for record in committed(address, f"{topic}-dead") if ATTEMPTS_HEADER in headers_of(record)]
    assert sorted((record.value or b"") for record in dead) == sorted(bad[1:])
    assert {headers_of(record)[ATTEMPTS_HEADER] for record in dead} == {"1"}


MORE = """
[sinks.late]
topic = "{topic}-late"
key = "carrier"
sql = "select carrier, delay from source where delay > 10"

[sinks.all]
topic = "{topic}-all"
key = "carrier"
sql = "select carrier, delay from source"
"""


@pytest.mark.parametrize("broker", ["oncelog"], indirect=True)
def test_a_pipeline_continues_after_dead_letters_and_a_sink_are_added(
    broker: RunningBroker, unique_name: str, pipelines: PipelinesInSession
) -> None:
    address = broker.bootstrap_servers
    for name in ("", "-late", "-dead", "-all"):
        create_topic(address, f"{unique_name}{name}", 1)
    dead_letters = DEAD_LETTER.format(topic=unique_name)
    before = dead_letters.replace('malformed = "dead-letter"\n', "").replace("dead_letter = ", "# ")
    produce(address, unique_name, [b'{"carrier": "AA", "delay": 20}', b"bad"])
    with pytest.raises(OncelogError, match="is not JSON of the schema"):
        pipelines.run(pipelines.write("late.toml", before), address)
    more = dead_letters[: dead_letters.index("[query]")] + MORE.format(topic=unique_name)
    planned = "its last run planned a batch and did not end it, and the batch has the reads source__source, whose"
    with pytest.raises(OncelogError, match=planned):
        pipelines.run(pipelines.write("late.toml", more), address)
    runs: list[tuple[str, list[bytes | None]]] = [
        (dead_letters, []),
        (more, [b'{"carrier": "UA", "delay": 30}', b"worse"]),
    ]
    for file, values in runs:
        produce(address, unique_name, values)
        pipelines.run(pipelines.write("late.toml", file), address)
    found = {
        name: [(one.key, one.value) for one in committed(address, f"{unique_name}-{name}")]
        for name in ("late", "all", "dead")
    }
    assert [key for key, _ in found["late"]] == [b"AA", b"UA"]
    assert [key for key, _ in found["all"]] == [b"UA"]
    assert [value for _, value in found["dead"]] == [b"bad", b"worse"]


TWICE = """
[source]
topic = "{topic}"

[query]
sql = "select key, value from source union all select key, cast('again' as binary) from source"

[sink]
topic = "{topic}-out"
"""


@pytest.mark.soak
@pytest.mark.parametrize("broker", ["oncelog"], indirect=True)
def test_a_query_that_reads_a_source_twice_runs_without_source_names(
    broker: RunningBroker, unique_name: str, pipelines: PipelinesInSession
) -> None:
    address = broker.bootstrap_servers
    for name in ("", "-out"):
        create_topic(address, f"{unique_name}{name}", 1)
    file = pipelines.write("twice.toml", TWICE.format(topic=unique_name))
    for value in (b"one", b"two"):
        produce(address, unique_name, [value])
        pipelines.run(file, address)
    written = sorted(record.value or b"" for record in committed(address, f"{unique_name}-out"))
    assert written == [b"again", b"again", b"one", b"two"]
    lines = (pipelines.folder / "oncelog-checkpoints" / "twice" / "offsets" / "1").read_text().splitlines()
    assert [line.startswith("{") for line in lines[2:]] == [True, True]


COUNTS = """
mode = "update"

[source]
topic = "{topic}"
schema = "id int"
"""

COUNT = """
[sinks.{name}]
topic = "{topic}-{name}"
key = "id"
sql = "select id % {by} as id, count(*) as n from source group by id % {by}"
"""


@pytest.mark.soak
@pytest.mark.parametrize("broker", ["oncelog"], indirect=True)
def test_stateful_sinks_keep_their_state_when_reordered_in_the_file(
    broker: RunningBroker, unique_name: str, pipelines: PipelinesInSession
) -> None:
    address = broker.bootstrap_servers
    for name in ("", "-twos", "-threes"):
        create_topic(address, f"{unique_name}{name}", 1)
    twos, threes = (COUNT.format(topic=unique_name, name=name, by=by) for name, by in (("twos", 2), ("threes", 3)))
    for sinks in (twos + threes, threes + twos):
        produce(address, unique_name, [json.dumps({"id": number}).encode() for number in range(6)])
        file = pipelines.write("counts.toml", COUNTS.format(topic=unique_name) + sinks)
        pipelines.run(file, address)
    found = {
        name: {
            record.key: json.loads(record.value or b"")["n"] for record in committed(address, f"{unique_name}-{name}")
        }
        for name in ("twos", "threes")
    }
    assert found == {"twos": {b"0": 6, b"1": 6}, "threes": {b"0": 4, b"1": 4, b"2": 4}}


SEVERAL = """
from pyspark.sql import DataFrame
from pyspark.sql.functions import coalesce, col, concat, lit
from pyspark.sql.types import IntegerType, StringType, StructType

from oncelog.spark.pipeline import Sink, Source, pipeline

ORDERS = Source("{topic}-orders", schema="id int, kind string", malformed="dead-letter", dead_letter="{topic}-dead")

SCHEMA = StructType().add("id", IntegerType()).add("why", StringType()).json()
RETURNS = Source("{topic}-returns", schema=SCHEMA, malformed="null")


@pipeline(
    source={{"orders": ORDERS, "returns": RETURNS}},
    sink={{"all": Sink("{topic}-all"), "by_kind": Sink(key="id", topics=("{topic}-a", "{topic}-b"))}},
)
def shop(orders: DataFrame, returns: DataFrame) -> dict[str, DataFrame]:
    known = coalesce(returns.id.cast("string"), returns.why)
    ids = orders.selectExpr("cast(id as string) as value").unionByName(returns.select(known.alias("value")))
    routed = orders.select("id", "kind").withColumn("topic", concat(lit("{topic}-"), col("kind")))
    return {{"all": ids, "by_kind": routed}}
"""


@KAFKA_IN_SOAK
def test_function_with_several_sources_and_sinks_routes_rows_by_their_topic(
    broker: RunningBroker, unique_name: str, pipelines: PipelinesInSession
) -> None:
    address = broker.bootstrap_servers
    for name in ("orders", "returns", "all", "a", "b", "dead"):
        create_topic(address, f"{unique_name}-{name}", 1)
    orders: list[bytes | None] = [b'{"id": %d, "kind": "%s"}' % (n, b"ab"[n % 2 : n % 2 + 1]) for n in range(6)]
    produce(address, f"{unique_name}-orders", [*orders, b"{"])
    produce(address, f"{unique_name}-returns", [b'{"id": 7}', b'{"id": 8}{"id": 9}', b'{"id": "x", "why": "late"}'])
    file = pipelines.write("shop.py", SEVERAL.format(topic=unique_name))
    pipelines.run(file, address)

    def found(name: str) -> list[bytes]:
        return sorted(record.value or b"" for record in committed(address, f"{unique_name}-{name}"))

    assert found("all") == [b"", b"0", b"1", b"2", b"3", b"4", b"5", b"7", b"late"]
    assert found("dead") == [b"{"]
    assert [json.loads(value) for value in found("a")] == [{"id": n, "kind": "a"} for n in (0, 2, 4)]
    assert [record.key for record in committed(address, f"{unique_name}-b")] == [b"1", b"3", b"5"]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ('malformed = "dead-letter"', "malformed = 'dead-letter' and dead_letter, the topic, need each other"),
        ('dead_letter = "x"', "need each other"),
    ],
)
def test_malformed_and_dead_letter_must_be_set_together(cold_pipeline: PipelineCommand, wrong: str, text: str) -> None:
    lines = DEAD_LETTER.format(topic="t").splitlines()
    name = wrong.split(" ")[0]
    kept = [line for line in lines if not line.startswith(("malformed", "dead_letter")) or line.startswith(name)]
    file = cold_pipeline.write("half.toml", "\n".join(kept))
    assert text in cold_pipeline.refused_at_once(str(file), "--once", "--bootstrap-server", "127.0.0.1:1")


NANOSECONDS = 1_700_000_000_000_000_000


@KAFKA_IN_SOAK
def test_record_with_a_timestamp_that_spark_cannot_hold_goes_to_the_dead_letters(
    broker: RunningBroker, unique_name: str, pipelines: PipelinesInSession
) -> None:
    address = broker.bootstrap_servers
    create_topic(address, unique_name, message_timestamp_after_max_ms=str(2**63 - 1), retention_ms="-1")
    for name in (f"{unique_name}-late", f"{unique_name}-dead"):
        create_topic(address, name)
    good = b'{"carrier": "AA", "delay": 20}'
    producer = Producer({"bootstrap.servers": address})
    for value, timestamp in ((good, 5), (good, NANOSECONDS), (None, NANOSECONDS), (good, 7)):
        producer.produce(unique_name, value, key=b"k", timestamp=timestamp, headers=[("own", b"1")])
    assert producer.flush(120) == 0
    text = DEAD_LETTER.format(topic=unique_name).replace(
        "[query]", '[source.options]\nincludeHeaders = "false"\n[query]'
    )
    file = pipelines.write("late.toml", text)
    pipelines.run(file, address)
    assert len(committed(address, f"{unique_name}-late")) == 2
    dead = committed(address, f"{unique_name}-dead")
    assert [(record.key, record.value) for record in dead] == [(b"k", good), (b"k", None)]
    error = f"the timestamp {NANOSECONDS} ms is beyond 9223372036854775 ms, the end of Spark's"
    assert [headers_of(record) for record in dead] == [
        {"own": "1", "oncelog.error": error, "oncelog.topic": unique_name, "oncelog.partition": "0"}
        | {"oncelog.offset": str(offset)}
        for offset in (1, 2)
    ]
    run("redrive", f"{unique_name}-dead", "-b", address).done()
    pipelines.run(file, address)
    assert len(committed(address, f"{unique_name}-late")) == 3
    assert len(committed(address, f"{unique_name}-dead")) == 2


STRICT = """
[source]
topic = "{topic}"
schema = "carrier string, delay int"

[query]
sql = "select carrier, delay from source"

[sink]
topic = "{topic}-late"
"""


def test_a_pipeline_without_dead_letters_stops_at_a_timestamp_that_spark_cannot_hold(
    oncelog_broker: RunningBroker, unique_name: str, pipelines: PipelinesInSession
) -> None:
    address = oncelog_broker.bootstrap_servers
    create_topic(address, unique_name, message_timestamp_after_max_ms=str(2**63 - 1))
    create_topic(address, f"{unique_name}-late")
    producer = Producer({"bootstrap.servers": address})
    producer.produce(unique_name, b'{"carrier": "AA", "delay": 20}', timestamp=NANOSECONDS)
    assert producer.flush(120) == 0
    file = pipelines.write("late.toml", STRICT.format(topic=unique_name))
    with pytest.raises(OncelogError, match=f"Record 0 of {unique_name}-0 has the timestamp {NANOSECONDS} ms"):
        pipelines.run(file, address)
    assert committed(address, f"{unique_name}-late") == []


MAPS = '''
[source]
topic = "{topic}"

[sinks.one]
topic = "{topic}-one"
sql = "select 'v' as value, map('a', cast(key as string), 'b', null) as headers from source"

[sinks.two]
topic = "{topic}-two"
sql = """select timestamp_micros(-5364662400000001) as x, array(named_struct('value', 't', 'key', 'a')) as headers
from source"""
'''


def test_pipeline_headers_may_be_maps_and_strings_and_json_keeps_microseconds(
    oncelog_broker: RunningBroker, unique_name: str, pipelines: PipelinesInSession
) -> None:
    address = oncelog_broker.bootstrap_servers
    for name in (unique_name, f"{unique_name}-one", f"{unique_name}-two"):
        create_topic(address, name)
    produce(address, unique_name, [b"1"])
    file = pipelines.write("maps.toml", MAPS.format(topic=unique_name))
    pipelines.run(file, address)
    assert [(one.value, one.headers) for one in committed(address, f"{unique_name}-one")] == [
        (b"v", [("a", b"k0"), ("b", None)])
    ]
    assert [(one.value, one.headers) for one in committed(address, f"{unique_name}-two")] == [
        (b'{"x":"1799-12-31T23:59:59.999999Z"}', [("a", b"t")])
    ]
