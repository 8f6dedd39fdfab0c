"""Options by dictionary take what Spark's ``option`` takes; others are refused by name, at the call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oncelog.errors import ConfigError
from oncelog.spark.options import includes_headers, option_texts
from oncelog.spark.pipeline.definition import ONLY, Pipeline, PipelineError, Sink, Source
from oncelog.spark.pipeline.file import load_pipelines
from oncelog.spark.session import for_each_batch, session, write

BASE: dict[str, Any] = {"kafka.bootstrap.servers": "127.0.0.1:1", "topic": "t"}
TOML = """
[source]
topic = "in"
[query]
sql = "SELECT * FROM source"
[sink]
topic = "out"
[sink.options]
{}
"""


def from_toml(line: str, folder: Path) -> Pipeline:
    path = folder / "one.toml"
    path.write_text(TOML.format(line))
    return load_pipelines(path)[0]


def test_option_values_are_converted_to_text_as_by_spark() -> None:
    pyspark = pytest.importorskip("pyspark.sql.utils")
    given: dict[str, Any] = {"a": "text", "b": 2, "c": 0.5, "d": True, "e": False, "f": 2**40, "g": 1e30, "h": ""}
    assert option_texts(given, "x") == {name: pyspark.to_str(value) for name, value in given.items()}
    assert option_texts({"d": True, "b": 2}, "x") == {"d": "true", "b": "2"}


REFUSING: dict[str, Callable[[dict[str, Any]], object]] = {
    "for_each_batch": lambda given: for_each_batch(BASE | given),
    "write": lambda given: write(None, BASE | given),  # type: ignore[arg-type]
    "session": lambda given: session(settings=given),
    "a pipeline's source": lambda given: Source("in", options=given),
    "a pipeline's sink": lambda given: Sink("out", options=given),
}


@pytest.mark.parametrize("of", REFUSING)
@pytest.mark.parametrize("value", [None, ["a", "b"], {"0": 1}, b"2"], ids=str)
def test_an_invalid_value_is_named_in_the_refusal_at_the_call(of: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"Option writers of .*{of} is .*, of type {type(value).__name__}: give a"):
        REFUSING[of]({"writers": value})


@pytest.mark.parametrize("of", REFUSING)
def test_a_name_that_is_not_text_is_refused_at_the_call(of: str) -> None:
    with pytest.raises(ConfigError, match=f"An option of .*{of} is named 3: names must be strings"):
        REFUSING[of]({3: "x"})  # type: ignore[dict-item]


def test_for_each_batch_checks_numbers_and_booleans_as_texts() -> None:
    for_each_batch(BASE | {"writers": 2, "kafka.enable.idempotence": True})
    with pytest.raises(ConfigError, match="'0' for option maxBatchBytes"):
        for_each_batch(BASE | {"maxBatchBytes": 0})
    with pytest.raises(ConfigError, match="'true' for option writers"):
        for_each_batch(BASE | {"writers": True})


def test_a_pipeline_hands_numbers_and_booleans_to_spark_as_texts() -> None:
    source = Source("in", options={"includeHeaders": True, "maxOffsetsPerTrigger": 100})
    sink = Sink("out", options={"writers": 2, "kafka.enable.idempotence": True})
    one = Pipeline("p", {ONLY: source}, {ONLY: sink}, lambda rows: rows)
    read, written = source.reader_options("h:1"), one.writer_options("h:1")
    assert (read["includeHeaders"], read["maxOffsetsPerTrigger"]) == ("true", "100")
    assert (written["writers"], written["kafka.enable.idempotence"]) == ("2", "true")


def test_sinks_whose_options_have_equal_values_of_different_types_agree() -> None:
    sinks = {"a": Sink("a", options={"writers": 2}), "b": Sink("b", options={"writers": "2"})}
    one = Pipeline("p", {ONLY: Source("in")}, sinks, lambda rows: {"a": rows, "b": rows})
    assert one.writer_options("h:1")["writers"] == "2"


def test_values_in_a_pipeline_file_are_converted_like_options_of_a_call(tmp_path: Path) -> None:
    assert from_toml("writers = 2", tmp_path).writer_options("h:1")["writers"] == "2"
    with pytest.raises(PipelineError, match=r"one\.toml: Option writers of \[sink\.options\] is \[2\], of type list"):
        from_toml("writers = [2]", tmp_path)


@pytest.mark.parametrize("given", [{"includeHeaders": True}, {"INCLUDEHEADERS": " true "}])
def test_the_headers_option_is_read_in_any_spelling(given: dict[str, Any]) -> None:
    assert includes_headers(Source("in", options=given).texts())
    assert not includes_headers(Source("in", options=dict.fromkeys(given, False)).texts())
