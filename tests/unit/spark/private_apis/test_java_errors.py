"""Errors of Spark's JVM are short enough for the pattern that Spark matches them with, and keep what it looks for."""

from __future__ import annotations

import pytest

from oncelog.spark.private_apis.java_errors import INTERRUPTIONS, MAX_CHARS, shortened

FRAMES = "".join(f"\tat org.apache.spark.rdd.RDD.frame{number}(RDD.scala:{number})\n" for number in range(400))
LONG = (
    "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.\n"
    f": org.apache.spark.SparkException: Job 7 cancelled\n{FRAMES}"
    f"Caused by: java.io.IOException: disk\n{FRAMES}\t... 12 more\n"
)


def test_java_stack_frames_are_left_out_and_causes_are_kept() -> None:
    assert len(LONG) > 40_000
    assert shortened(LONG).splitlines() == [
        "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.",
        ": org.apache.spark.SparkException: Job 7 cancelled",
        "Caused by: java.io.IOException: disk",
    ]


def test_long_messages_keep_their_beginning_and_the_last_cause() -> None:
    text = shortened(LONG.replace("Job 7 cancelled", "Job 7 cancelled: " + "x" * 50_000))
    assert len(text) <= MAX_CHARS
    assert text.startswith("An error occurred while calling z:")
    assert text.endswith("Caused by: java.io.IOException: disk")


def test_a_short_error_text_is_unchanged() -> None:
    text = "An error occurred while calling o1.x.\n: E: why"
    assert shortened(text) == text


@pytest.mark.parametrize("name", INTERRUPTIONS)
def test_the_first_line_of_a_shortened_java_error_names_the_interruption(name: str) -> None:
    text = shortened(LONG.replace("java.io.IOException", name))
    assert text.splitlines()[0].endswith(f": {name}")
    assert "Job 7 cancelled" in text
    assert len(text) < 500
