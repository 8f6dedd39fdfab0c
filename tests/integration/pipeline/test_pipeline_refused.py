"""What cannot run is refused before Spark starts, in one sentence that names it."""

from __future__ import annotations

import re
import socket
from typing import Protocol

import pytest

from oncelog.errors import OncelogError
from oncelog.spark.pipeline import running
from oncelog.spark.pipeline.file import load_pipelines
from tests.integration.pipeline.conftest import PipelineCommand
from tests.support.older_broker import KAFKA_2_3, older_broker

GOOD = '[source]\ntopic = "flights"\n[query]\nsql = "select * from source"\n[sink]\ntopic = "out"\n'


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


@pytest.mark.parametrize(
    ("name", "text", "printed"),
    [
        ("p.toml", "[source\n", "cannot be read as TOML"),
        ("p.toml", GOOD.replace("[sink]", "[snk]"), "unknown entry 'snk'.*did you mean sink"),
        ("p.toml", GOOD.replace("sql", "sqll"), "unknown entry 'query.sqll'.*did you mean sql"),
        ("p.toml", GOOD.replace("sql = ", "file = "), "the query in select .* cannot be read"),
        ("p.toml", GOOD.replace('topic = "out"', "topic = 7"), "sink.topic must be a string, not 7"),
        ("p.toml", GOOD.replace("[sink]\n", ""), r"the section \[sink\] is missing|unknown entry"),
        ("p.toml", 'mode = "upsert"\n' + GOOD, "mode 'upsert': allowed are append, complete, update"),
        ("p.toml", 'name = "a b"\n' + GOOD, "cannot be named 'a b'"),
        ("p.toml", GOOD.replace("[query]", 'watermark = { column = "time" }\n[query]'), "needs column and delay"),
        ("p.py", "x = 1\n", "has no pipeline: decorate a function"),
        ("p.py", "import nowhere_at_all\n", r"ModuleNotFoundError: No module named 'nowhere_at_all' \(line 1\)"),
        ("p.py", "def f(:\n", "SyntaxError"),
        ("p.sql", "select 1", "is not a pipeline file: give a .py file"),
    ],
)
def test_file_that_is_not_a_pipeline_is_named_in_the_refusal(
    cold_pipeline: PipelineCommand, name: str, text: str, printed: str
) -> None:
    path = cold_pipeline.write(name, text)
    with pytest.raises(OncelogError) as refused:
        load_pipelines(path)
    assert re.search(printed, str(refused.value)), str(refused.value)


def test_missing_file_is_named_in_the_refusal(cold_pipeline: PipelineCommand) -> None:
    assert "there is no pipeline file none.toml" in cold_pipeline.refused("none.toml")


def test_unknown_topic_is_named_in_the_refusal(oncelog_broker: RunningBroker, cold_pipeline: PipelineCommand) -> None:
    file = cold_pipeline.write("p.toml", GOOD.replace('"flights"', '"no-such-topic"'))
    sentence = cold_pipeline.refused_at_once(str(file), "--bootstrap-server", oncelog_broker.bootstrap_servers)
    assert "reads topic 'no-such-topic', which does not exist" in sentence


def test_name_that_no_topic_can_have_is_named_in_the_refusal(
    oncelog_broker: RunningBroker, cold_pipeline: PipelineCommand
) -> None:
    file = cold_pipeline.write("p.toml", GOOD.replace('"flights"', '"${TOPIC}"'))
    sentence = cold_pipeline.refused_at_once(str(file), "--bootstrap-server", oncelog_broker.bootstrap_servers)
    assert "topic '${TOPIC}' cannot be used: a topic's name is" in sentence
    assert "is it running" not in sentence


def test_broker_that_does_not_exist_is_reported_by_its_address(
    cold_pipeline: PipelineCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "TIMEOUT_MS", 500)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    sentence = cold_pipeline.refused_at_once(str(cold_pipeline.write("p.toml", GOOD)), "--bootstrap-server", address)
    assert f"{address} does not answer as a Kafka broker" in sentence


def test_a_broker_of_kafka_2_3_is_refused_as_too_old(cold_pipeline: PipelineCommand) -> None:
    with older_broker(KAFKA_2_3) as broker:
        address = broker.bootstrap_servers
        sentence = cold_pipeline.refused_at_once(
            str(cold_pipeline.write("p.toml", GOOD)), "--bootstrap-server", address
        )
    assert f"{address} is older than Apache Kafka 2.5" in sentence
    assert "is it running" not in sentence


def test_unknown_option_is_named_in_the_refusal(oncelog_broker: RunningBroker, cold_pipeline: PipelineCommand) -> None:
    text = GOOD.replace("[query]", 'options = { startingOffset = "latest" }\n[query]')
    sentence = cold_pipeline.refused_at_once(
        str(cold_pipeline.write("p.toml", text)), "--bootstrap-server", "127.0.0.1:1"
    )
    assert "'startingOffset'" in sentence
    assert "did you mean startingOffsets" in sentence


def test_pipeline_that_the_file_does_not_have_is_named_in_the_refusal(cold_pipeline: PipelineCommand) -> None:
    sentence = cold_pipeline.refused_at_once(str(cold_pipeline.write("p.toml", GOOD)), "--only", "q")
    assert "--only names 'q', but the pipelines of" in sentence


def test_a_setting_that_is_not_one_of_sparks_is_named_in_the_refusal(cold_pipeline: PipelineCommand) -> None:
    assert "'cores=2'" in cold_pipeline.refused_at_once(str(cold_pipeline.write("p.toml", GOOD)), "--spark", "cores=2")


def test_missing_java_is_reported_with_the_next_step(cold_pipeline: PipelineCommand) -> None:
    file = str(cold_pipeline.write("p.toml", GOOD))
    sentence = cold_pipeline.refused(file, environment={"PATH": "/nowhere", "JAVA_HOME": ""})
    assert "there is no java on this machine" in sentence
    assert "apt-get install" in sentence
    assert "JAVA_HOME is /nowhere" in cold_pipeline.refused(file, environment={"JAVA_HOME": "/nowhere"})
