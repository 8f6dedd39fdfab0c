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

from oncelog.cli.programs import pipeline
from oncelog.errors import ConfigError, OncelogError
from oncelog.spark.pipeline import PipelineError
from oncelog.spark.pipeline.running import spark_log


@pytest.fixture
def jvm(monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """Stands for the JVM; runs until it is killed."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=process))
        yield process
        process.kill()


@pytest.mark.parametrize("error", [ConnectionRefusedError(111, "refused"), Py4JNetworkError("closed")])
def test_a_jvm_that_was_killed_is_reported_with_its_log(jvm: subprocess.Popen[bytes], error: Exception) -> None:
    jvm.kill()
    with pytest.raises(OncelogError, match=r"JVM has ended.*its log: spark\.log.*continues where it was") as reported:
        _run(error)
    assert reported.value.__cause__ is error


def test_a_jvm_that_does_not_start_is_not_reported_as_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restarting, as that message says, would give the same result: a Spark setting may be wrong."""
    monkeypatch.setattr(SparkContext, "_gateway", None)
    error = PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
    with pytest.raises(OncelogError, match=r"JVM did not start; its log spark\.log says why"):
        _run(error)
    _run(error, stopped=True)
    with pytest.raises(PySparkRuntimeError, match="CANNOT_CONFIGURE"):
        _run(PySparkRuntimeError("[CANNOT_CONFIGURE_SPARK_CONNECT_MASTER] Spark Connect is asked for"))


def test_a_jvm_that_does_not_start_is_reported_with_its_own_output(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Those of this run: the log may hold older ones."""
    monkeypatch.setattr(SparkContext, "_gateway", None)
    log = tmp_path / "spark.log"
    log.write_text('Exception in thread "main" java.lang.Exception: of yesterday\n')
    error = PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
    with pytest.raises(OncelogError, match="says why"), pipeline._jvm_may_end(threading.Event(), log):
        raise error
    wrong = 'Exception in thread "main" org.apache.spark.SparkException: Master must be local\n\tat X\n'

    def start() -> None:
        with pipeline._jvm_may_end(threading.Event(), log):
            log.write_text(log.read_text() + wrong)
            raise error

    with pytest.raises(OncelogError, match=r"did not start: Master must be local \(its log: .*spark\.log"):
        start()


def test_a_pipeline_reads_the_cluster_from_the_environment_like_other_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ONCELOG_BOOTSTRAP_SERVER", raising=False)
    assert pipeline._cluster(None, None, None) is None
    monkeypatch.setenv("ONCELOG_BOOTSTRAP_SERVER", "kafka:9092")
    assert pipeline._cluster("other:9092", None, None) == "other:9092"
    assert pipeline._cluster(None, Path("data"), None) is None
    assert pipeline._cluster(None, None, "127.0.0.1:0") is None
    assert capsys.readouterr().err == ""
    assert pipeline._cluster(None, None, None) == "kafka:9092"
    assert "run on kafka:9092, as ONCELOG_BOOTSTRAP_SERVER says" in capsys.readouterr().err


def test_a_cluster_address_and_a_folder_of_the_embedded_broker_contradict_each_other() -> None:
    """The folder was ignored."""
    with pytest.raises(ConfigError, match=r"--data belongs to the embedded broker, and --bootstrap-server a:1 names"):
        pipeline._cluster("a:1", Path("data"), None)
    with pytest.raises(ConfigError, match=r"--data and --listen belong to"):
        pipeline._cluster("a:1", Path("data"), "127.0.0.1:0")


def test_folders_that_cannot_be_created_are_refused_before_spark_starts(tmp_path: Path) -> None:
    """The one of the checkpoints failed with a page of Java, that of the log as a bug to report."""
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"--checkpoint .*file/x: the folder cannot be created: Not a directory"):
        pipeline._checkpoints(str(tmp_path / "file" / "x"))
    assert pipeline._checkpoints("s3a://bucket/x") == "s3a://bucket/x"
    assert Path(pipeline._checkpoints(str(tmp_path / "new"))).is_dir()
    log = tmp_path / "file" / "x.log"
    with pytest.raises(PipelineError, match=r"log cannot be written to .*x\.log: .*\(--log\)"), spark_log(log):
        pytest.fail("Spark would start")


def test_a_closed_output_pipe_is_not_reported_as_a_jvm_failure(
    jvm: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end waited ten seconds for a JVM that nobody had killed."""
    monkeypatch.setattr(pipeline, "_jvm_ended", lambda _: pytest.fail("waits for the JVM"))
    with pytest.raises(BrokenPipeError):
        _run(BrokenPipeError(32, "Broken pipe"))


@pytest.mark.parametrize("error", [ConnectionResetError(104, "reset"), PipelineError("SparkContext was shut down")])
def test_a_jvm_that_is_stopped_with_the_command_is_not_a_failure(
    jvm: subprocess.Popen[bytes], error: Exception
) -> None:
    jvm.kill()
    _run(error, stopped=True)


@pytest.mark.parametrize("stopped", [True, False])
def test_a_failure_while_the_jvm_runs_is_not_reported_as_a_killed_jvm(
    jvm: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch, stopped: bool
) -> None:
    monkeypatch.setattr(pipeline, "JVM_ENDS_SECONDS", 0.01)
    with pytest.raises(PipelineError, match="the rows are bad"):
        _run(PipelineError("the rows are bad"), stopped=stopped)
    with pytest.raises(ConnectionRefusedError):
        _run(ConnectionRefusedError(111, "of the pipeline's own program"), stopped=stopped)


def test_py4j_prints_no_traceback_when_the_jvm_is_killed(caplog: pytest.LogCaptureFixture) -> None:
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
