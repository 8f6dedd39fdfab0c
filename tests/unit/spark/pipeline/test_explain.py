"""The one sentence in Spark's long messages."""

from __future__ import annotations

import pytest

from oncelog.spark.pipeline.running import explain


def test_our_own_error_is_found_in_the_traceback_of_a_python_worker() -> None:
    text = (
        "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Job aborted. SQLSTATE: XXKST\n"
        "Traceback (most recent call last):\n"
        '  File "worker.py", line 1, in main\n'
        "oncelog.spark.sink.engine.SinkRefused: The marker is missing: start with a new checkpoint\n\tat java.X"
    )
    assert explain(Exception(text)) == "The marker is missing: start with a new checkpoint"


def test_an_analysis_error_is_reported_by_its_first_line_without_sqlstate() -> None:
    text = "[UNRESOLVED_COLUMN] A column `x` cannot be resolved. SQLSTATE: 42703; line 1 pos 7;\n'Project ['x]\n+- Y"
    assert explain(Exception(text)) == "[UNRESOLVED_COLUMN] A column `x` cannot be resolved.; line 1 pos 7"


def test_a_syntax_error_is_reported_by_its_first_line() -> None:
    text = (
        "\n[PARSE_SYNTAX_ERROR] Syntax error at or near 'selekt'. SQLSTATE: 42601 (line 1, pos 0)\n\n"
        "== SQL ==\nselekt carrier from source\n^^^\n"
    )
    assert explain(Exception(text)) == "[PARSE_SYNTAX_ERROR] Syntax error at or near 'selekt'. (line 1, pos 0)"


def test_the_failure_of_a_call_to_java_is_reported_with_javas_message() -> None:
    text = (
        "An error occurred while calling o213.start.\n"
        ": java.io.IOException: mkdir of file:/proc/x/late-flights failed\n"
        "\tat org.apache.hadoop.fs.FileSystem.primitiveMkdir(FileSystem.java:1414)\n"
    )
    assert explain(Exception(text)) == "mkdir of file:/proc/x/late-flights failed"


def test_a_failure_of_a_stream_is_reported_by_its_deepest_cause() -> None:
    text = (
        "[STREAM_FAILED] Query [id = 1] terminated with exception: Job aborted due to stage failure.\n"
        "org.apache.spark.SparkException: Job aborted due to stage failure\n"
        "Caused by: java.lang.RuntimeException: too late\n\tat org.apache.X"
    )
    assert explain(Exception(text)) == "too late"


def test_a_checkpoint_with_another_number_of_sources_is_reported_with_advice() -> None:
    text = (
        "[STREAM_FAILED] Query [id = 1] terminated with exception: assertion failed: There are [1] sources in the "
        "checkpoint offsets and now there are [3] sources requested by the query. Cannot continue. SQLSTATE: XXKST"
    )
    assert "that read 1 times with one that reads 3 times" in explain(Exception(text))


def test_the_error_of_a_python_function_is_reported_and_not_only_its_place() -> None:
    text = (
        "An exception was thrown from the Python worker:\n"
        "Traceback (most recent call last):\n"
        '  File "worker.py", line 1, in main\n'
        "    process()\n"
        "ValueError: no order is negative\n"
        "\n"
        "\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:1)"
    )
    assert explain(Exception(text)) == (
        "An exception was thrown from the Python worker: ValueError: no order is negative"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "Caused by: org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS] "
            "An error occurred during loading state. Error reading delta file ... SQLSTATE: 58030\n\tat java.X\n"
            "Caused by: java.io.FileNotFoundException: File file:/c/state/0/0/1.delta does not exist\n",
            "file:/c/state/0/0/1.delta is missing",
        ),
        (
            "[STREAM_FAILED] Query [id = 1] terminated with exception: "
            "[STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY] Cannot restart streaming query with stateful "
            "operators because the state directory is empty or missing.\nStateful operators in current batch: [...]",
            "Cannot restart streaming query with stateful operators because the state directory is empty or missing",
        ),
    ],
)
def test_lost_files_of_the_state_are_reported_with_advice(text: str, why: str) -> None:
    found = explain(Exception(text))
    assert found.startswith(f"Spark cannot load the state of the query ({why}): restore the checkpoint's folder state")


def test_a_missing_file_that_is_no_state_is_no_lost_state() -> None:
    text = "[STREAM_FAILED] Query\nCaused by: java.io.FileNotFoundException: File file:/data/1.csv does not exist\n"
    assert explain(Exception(text)) == "File file:/data/1.csv does not exist"
