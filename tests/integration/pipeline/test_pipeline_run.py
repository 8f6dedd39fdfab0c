"""Pipelines of both kinds of file, against real Spark, from topic to topic."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any, Protocol

import pytest

from oncelog import Broker
from tests.integration.pipeline.conftest import PipelineCommand
from tests.integration.spark.kafka_records import committed, create_topic, produce
from tests.support.both_brokers import KAFKA_IN_SOAK
from tests.support.running_console import TOKEN, RunningConsole

pytestmark = pytest.mark.timeout(1200)


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


def flights(count: int, start: int = 0) -> list[bytes]:
    """JSON values; every other one is late by as many minutes as its number."""
    carriers = ("AA", "UA", "XX")
    return [
        json.dumps({"carrier": carriers[number % 3], "delay": number if number % 2 else None}).encode()
        for number in range(start, start + count)
    ]


def values(broker: RunningBroker, topic: str) -> list[tuple[str | None, Any]]:
    found = committed(broker.bootstrap_servers, topic)
    return sorted(
        ((record.key.decode() if record.key else None, json.loads(record.value or b"null")) for record in found),
        key=str,
    )


TOML = """
name = "late-flights"

[source]
topic = "{topic}"
schema = "carrier string, delay int"
options = {{ maxOffsetsPerTrigger = 40 }}

[tables.airlines]
path = "airlines.csv"

[query]
sql = '''
  select carrier, name, delay
  from source left join airlines using (carrier)
  where delay > 10
'''

[sink]
topic = "{topic}-late"
key = "carrier"
"""


@KAFKA_IN_SOAK
def test_toml_file_runs_sql_and_continues_where_it_was(
    broker: RunningBroker, unique_name: str, pipeline: PipelineCommand
) -> None:
    address = broker.bootstrap_servers
    create_topic(address, unique_name, 2)
    create_topic(address, f"{unique_name}-late", 2)
    produce(address, unique_name, flights(100))
    pipeline.write("airlines.csv", "carrier,name\nAA,American\nUA,United\n")
    file = pipeline.write("late.toml", TOML.format(topic=unique_name))
    names = {"AA": "American", "UA": "United"}

    def expected(count: int) -> list[tuple[str, Any]]:
        rows = [json.loads(value) for value in flights(count)]
        late = [row for row in rows if row["delay"] is not None and row["delay"] > 10]
        return sorted(((r["carrier"], {**r, "name": names.get(r["carrier"])}) for r in late), key=str)

    def sorted_fields(found: list[tuple[str | None, Any]]) -> list[str]:
        return sorted(json.dumps([key, value], sort_keys=True) for key, value in found)

    with RunningConsole({"bootstrap.servers": address}) as console:
        reporting = ("--console", console.url)
        environment = {"ONCELOG_CONSOLE_TOKEN": TOKEN}
        first = pipeline.run(
            str(file), "--once", "--json", "--bootstrap-server", address, *reporting, environment=environment
        )
        with urllib.request.urlopen(f"{console.url}/pipelines") as answer:
            page = answer.read().decode()
    assert first.returncode == 0, first.stderr
    assert "late-flights" in page
    assert "100 rows read in this session" in page
    assert "in step with the checkpoint" in page
    assert "ended" in page
    assert sorted_fields(values(broker, f"{unique_name}-late")) == sorted_fields(list(expected(100)))
    progress = [json.loads(line) for line in first.stdout.splitlines()]
    assert sum(batch["rows"] for batch in progress) == 100
    assert len(progress) >= 3
    assert progress[-1]["lag"] == 0
    assert {batch["pipeline"] for batch in progress} == {"late-flights"}
    produce(address, unique_name, flights(50, 100))
    again = pipeline.run(str(file), "--once", "--bootstrap-server", address)
    assert again.returncode == 0, again.stderr
    assert sorted_fields(values(broker, f"{unique_name}-late")) == sorted_fields(list(expected(150)))
    assert "late-flights: batch" in again.stdout
    idle = pipeline.run(str(file), "--once", "--bootstrap-server", address)
    assert (idle.returncode, idle.stdout, idle.stderr) == (0, "", "late-flights: nothing new to process\n")


PYTHON = """
from pyspark.sql import DataFrame
from oncelog.spark.pipeline import Sink, Source, pipeline

COLUMNS = "carrier string, delay int"


COUNTS = Sink("counts", key="carrier", create={"partitions": 2})


@pipeline(source=Source("flights", schema=COLUMNS), sink=COUNTS, mode="update")
def counts(flights: DataFrame) -> DataFrame:
    return flights.groupBy("carrier").count()


@pipeline(source="flights", sink=Sink("copies", create={"partitions": 2}), name="copy")
def copied(flights: DataFrame) -> DataFrame:
    return flights.select("key", "value")
"""


def test_python_file_runs_all_its_pipelines_on_an_embedded_broker(cold_pipeline: PipelineCommand) -> None:
    file = cold_pipeline.write("flights.py", PYTHON)
    data = cold_pipeline.folder / "data"
    with Broker(data) as broker:
        create_topic(broker.bootstrap_servers, "flights", 2)
        produce(broker.bootstrap_servers, "flights", flights(30))
    run = cold_pipeline.run(str(file), "--once", "--data", str(data))
    assert run.returncode == 0, run.stderr
    with Broker(data) as broker:
        assert values(broker, "counts") == [
            (carrier, {"carrier": carrier, "count": 10}) for carrier in ("AA", "UA", "XX")
        ]
        copies = [record.value or b"" for record in committed(broker.bootstrap_servers, "copies")]
        assert sorted(copies) == sorted(flights(30))
    assert sorted(path.name for path in (cold_pipeline.folder / "oncelog-checkpoints").iterdir()) == ["copy", "counts"]


@pytest.mark.soak
def test_only_the_named_pipeline_runs_until_asked_to_stop(cold_pipeline: PipelineCommand, tmp_path: Path) -> None:
    import signal
    import subprocess
    import sys

    file = cold_pipeline.write("flights.py", PYTHON)
    with Broker() as broker:
        address = broker.bootstrap_servers
        create_topic(address, "flights", 2)
        produce(address, "flights", flights(12))
        command = [sys.executable, "-m", "oncelog", "pipeline", "run", str(file), "--only", "copy", "--json"]
        with subprocess.Popen(
            [*command, "--bootstrap-server", address],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None and process.stderr is not None
            batch = json.loads(process.stdout.readline())
            assert (batch["pipeline"], batch["rows"], batch["sinks"]) == ("copy", 12, {"topic 'copies'": 12})
            process.send_signal(signal.SIGTERM)
            assert process.wait(120) == 0
            assert process.stderr.read().splitlines()[-1] == (
                "copy: stopped, batch 0 is finished (12 rows to topic 'copies'); the next start continues with batch 1"
            )
        assert len(committed(address, "copies")) == 12


@pytest.mark.parametrize(
    ("value", "sql", "printed"),
    [
        (b'{"carrier": "AA"}', "select carrier, dely from source", "cannot be resolved. Did you mean"),
        pytest.param(
            b'{"carrier": "AA"}',
            "selekt carrier from source",
            "Syntax error at or near 'selekt'",
            marks=pytest.mark.soak,  # test_explain.py has this sentence
        ),
        (
            b'{"carrier": "AA"} {"carrier": "BB"}',  # Spark itself reads the first one and leaves out the rest
            "select key, topic as value from source",  # and parses nothing if no column of the value is used
            "-0 has a value that is not JSON of the schema carrier string, delay int: correct the schema, or set",
        ),
    ],
    ids=["unknown column", "syntax", "malformed value"],
)
def test_pipeline_that_fails_says_why_in_one_sentence(
    oncelog_broker: RunningBroker, unique_name: str, pipeline: PipelineCommand, value: bytes, sql: str, printed: str
) -> None:
    assert_refused(oncelog_broker, unique_name, pipeline, value, sql, printed)


@pytest.mark.soak
def test_no_output_of_spark_precedes_the_error_sentence(
    oncelog_broker: RunningBroker, unique_name: str, cold_pipeline: PipelineCommand
) -> None:
    sql = "select cast(raise_error('too late') as string) as value from source"
    assert_refused(oncelog_broker, unique_name, cold_pipeline, b'{"carrier": "AA"}', sql, "too late")


def assert_refused(
    oncelog_broker: RunningBroker, unique_name: str, pipeline: PipelineCommand, value: bytes, sql: str, printed: str
) -> None:
    address = oncelog_broker.bootstrap_servers
    for topic in (unique_name, f"{unique_name}-out"):
        create_topic(address, topic)
    produce(address, unique_name, [value])
    file = pipeline.write(
        "bad.toml",
        f'[source]\ntopic = "{unique_name}"\nschema = "carrier string, delay int"\n'
        f'[query]\nsql = "{sql}"\n[sink]\ntopic = "{unique_name}-out"\n',
    )
    sentence = pipeline.refused(str(file), "--once", "--bootstrap-server", address)
    assert printed in sentence
    assert "pipeline bad " in sentence


def test_a_misspelt_sink_topic_is_refused_and_a_changed_sink_topic_reported(
    oncelog_broker: RunningBroker, unique_name: str, pipeline: PipelineCommand
) -> None:
    address, right, wrong = oncelog_broker.bootstrap_servers, f"{unique_name}-flights", f"{unique_name}-fligths"
    for topic in (unique_name, right):
        create_topic(address, topic)
    produce(address, unique_name, flights(6))

    def file(topic: str, more: str = "") -> str:
        sink = f'[sink]\ntopic = "{topic}"\n{more}\n'
        source = f'[source]\ntopic = "{unique_name}"\n[query]\nsql = "select value from source"\n'
        return str(pipeline.write("copied.toml", source + sink))

    at = ("--once", "--bootstrap-server", address)
    assert pipeline.refused(file(wrong), *at) == (
        f"oncelog: pipeline copied writes topic {wrong!r}, which does not exist at {address}; did you mean {right}? "
        "Correct the name, or have it created with create = { partitions = 3, replication = 1 } in the pipeline's file"
    )
    first = pipeline.run(file(wrong, "create = { partitions = 2 }"), *at)
    assert first.returncode == 0, first.stderr
    assert len(committed(address, wrong)) == 6
    corrected = pipeline.run(file(right), *at)
    assert corrected.returncode == 0, corrected.stderr
    assert (
        f"copied: batch 0 went to topic {wrong!r}; later batches go to topic {right!r}, and the earlier records stay "
        "where they are\n"
        "copied: nothing new to process\n"
    ) in corrected.stderr
