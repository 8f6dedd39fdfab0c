"""What a run does when its JVM ends; without Spark itself."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError

from oncelog.cli import pipeline
from oncelog.errors import OncelogError
from oncelog.spark.pipeline import PipelineError


@pytest.fixture
def jvm(monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """Stands for the JVM; runs until it is killed."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=process))
        yield process
        process.kill()


@pytest.mark.parametrize("error", [ConnectionRefusedError(111, "refused"), Py4JNetworkError("closed")])
def test_a_jvm_that_was_killed_is_said_with_its_log(jvm: subprocess.Popen[bytes], error: Exception) -> None:
    jvm.kill()
    with pytest.raises(OncelogError, match=r"JVM has ended.*its log: spark\.log.*continues where it was") as told:
        _run(error)
    assert told.value.__cause__ is error


def test_a_jvm_that_does_not_start_is_not_told_as_one_that_was_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restarting, as that message says, would give the same result: a Spark setting may be wrong."""
    monkeypatch.setattr(SparkContext, "_gateway", None)
    error = PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
    with pytest.raises(OncelogError, match=r"JVM did not start; its log spark\.log says why"):
        _run(error)
    _run(error, stopped=True)
    with pytest.raises(PySparkRuntimeError, match="CANNOT_CONFIGURE"):
        _run(PySparkRuntimeError("[CANNOT_CONFIGURE_SPARK_CONNECT_MASTER] Spark Connect is asked for"))


def test_a_reader_of_the_output_that_is_gone_says_nothing_of_the_jvm(
    jvm: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end waited ten seconds for a JVM that nobody had killed."""
    monkeypatch.setattr(pipeline, "_jvm_ended", lambda _: pytest.fail("waits for the JVM"))
    with pytest.raises(BrokenPipeError):
        _run(BrokenPipeError(32, "Broken pipe"))


@pytest.mark.parametrize("error", [ConnectionResetError(104, "reset"), PipelineError("SparkContext was shut down")])
def test_a_jvm_that_is_stopped_with_the_command_is_no_failure(jvm: subprocess.Popen[bytes], error: Exception) -> None:
    jvm.kill()
    _run(error, stopped=True)


@pytest.mark.parametrize("stopped", [True, False])
def test_a_failure_of_a_jvm_that_lives_is_its_own(
    jvm: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch, stopped: bool
) -> None:
    monkeypatch.setattr(pipeline, "JVM_ENDS_SECONDS", 0.01)
    with pytest.raises(PipelineError, match="the rows are bad"):
        _run(PipelineError("the rows are bad"), stopped=stopped)
    with pytest.raises(ConnectionRefusedError):
        _run(ConnectionRefusedError(111, "of the pipeline's own program"), stopped=stopped)


def test_py4j_prints_no_traceback_meanwhile(caplog: pytest.LogCaptureFixture) -> None:
    root = logging.getLogger()
    with pipeline._jvm_may_end(threading.Event(), Path("spark.log")):
        for path in ("/lib/py4j/java_gateway.py", "/lib/other/program.py"):
            root.handle(logging.LogRecord("root", logging.ERROR, path, 1, f"told by {path}", None, None))
    assert caplog.messages == ["told by /lib/other/program.py"]


def _run(error: Exception, *, stopped: bool = False) -> None:
    stop = threading.Event()
    if stopped:
        stop.set()
    with pipeline._jvm_may_end(stop, Path("spark.log")):
        raise error
