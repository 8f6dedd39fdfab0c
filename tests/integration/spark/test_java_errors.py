"""Spark's own pattern for errors of ``foreachBatch``, on texts of the JVM as they are and as ``for_each_batch`` raises
them.
"""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from oncelog.spark import session
from oncelog.spark.micro_batches import RunningQuery
from oncelog.spark.private_apis.java_errors import INTERRUPTIONS, shortened
from oncelog.spark.session import for_each_batch


def is_interruption(spark: SparkSession, text: str) -> bool:
    jvm: Any = spark._jvm
    pattern = jvm.org.apache.spark.sql.execution.streaming.runtime.StreamExecution.PROXY_ERROR()
    return bool(pattern.findFirstIn(text).isDefined())


def java_error(text: str) -> str:
    frames = "".join(f"\tat org.apache.spark.rdd.RDD.frame{number}(RDD.scala:{number})\n" for number in range(10_000))
    return (
        f"An error occurred while calling o1.collect.\n: java.lang.Exception: why\n{frames}Caused by: {text}\n{frames}"
    )


def as_spark_sees(error: str) -> str:
    return f"Traceback (most recent call last):\npy4j.protocol.Py4JError: {error}"


def test_an_unshortened_message_of_the_jvm_overflows_the_stack_of_spark(spark: SparkSession) -> None:
    with pytest.raises(Py4JJavaError, match="StackOverflowError"):
        is_interruption(spark, "py4j.protocol.Py4JJavaError: " + java_error("java.lang.Error: x"))


@pytest.mark.parametrize("cause", INTERRUPTIONS)
def test_spark_recognises_an_interruption_by_the_shortened_message(spark: SparkSession, cause: str) -> None:
    assert is_interruption(spark, as_spark_sees(shortened(java_error(f"{cause}: {'x' * 100_000}"))))


def test_spark_does_not_mistake_another_shortened_error_for_an_interruption(spark: SparkSession) -> None:
    assert not is_interruption(spark, as_spark_sees(shortened(java_error("java.lang.Error: " + "x" * 100_000))))


def test_for_each_batch_raises_errors_of_the_jvm_shortened(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error is one that the JVM raised, in the place of the write."""
    jvm: Any = spark._jvm

    def fail(*_: object) -> None:
        jvm.java.util.ArrayDeque().pop()

    monkeypatch.setattr(session, "_plan_and_write", fail)
    monkeypatch.setattr(session, "running_query", lambda *_: RunningQuery("run", "checkpoint"))
    write_batch = for_each_batch({"kafka.bootstrap.servers": "127.0.0.1:1", "topic": "t"})
    rows: DataFrame = spark.range(1)
    with pytest.raises(Py4JError, match=r"^An error occurred while calling") as raised:
        write_batch(rows, 0)
    text = str(raised.value)
    assert "java.util.NoSuchElementException" in text
    assert "\tat " not in text
    assert raised.value.__suppress_context__
