"""Workers beside the driver: what the one that begins a stream's batch does, and the one that commits it."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql.types import StringType, StructField, StructType

from oncelog.errors import InvariantError
from oncelog.spark.options import SinkOptions
from oncelog.spark.private_apis.streams import MicroBatch
from oncelog.spark.sink import writers
from oncelog.spark.sink.engine import ignore
from oncelog.spark.sink.writers import StreamWriter, TaskOutput, begin_stream

OPTIONS = cast(SinkOptions, SimpleNamespace(checkpoint_location="here", micro_batch=None, max_batch_bytes=100))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was called, in order."""
    called: list[str] = []

    def noted(name: str, answer: object = None) -> Any:
        return lambda *given: called.append(name) or answer

    monkeypatch.setattr(writers, "checkpoint_at", lambda location: SimpleNamespace(query_id=lambda: "query"))
    for name in ("encoding_for", "begin_micro_batch", "commit_outputs", "pass_over_imports"):
        monkeypatch.setattr(writers, name, noted(name))
    return called


def begun() -> StreamWriter:
    return begin_stream(StructType([StructField("value", StringType())]), OPTIONS, ignore)


def test_the_first_worker_of_a_batch_resolves_its_address_and_then_reuses_imports(calls: list[str]) -> None:
    begun()
    assert calls == ["encoding_for", "begin_micro_batch", "pass_over_imports"]


def test_the_worker_that_commits_does_not_begin_the_batch_again(
    calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "pyspark.sql.worker.python_streaming_sink_runner"
    monkeypatch.setitem(sys.modules, name, ModuleType(name))
    writer = begun()
    assert calls == []
    writer.commit([TaskOutput(MicroBatch("query", 7), 0, 1, 10, ())], 7)
    assert calls == ["commit_outputs", "pass_over_imports"]
    with pytest.raises(InvariantError, match="made to commit"):
        writer.write(iter(()))
