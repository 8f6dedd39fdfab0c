"""What happens where Spark lacks a private API, and where it has it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import pytest
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError

from oncelog.spark.private_apis.uses import ApiMissing, private_api
from oncelog.spark.process import this_process


@pytest.fixture(autouse=True)
def _fresh_process() -> Iterator[None]:
    this_process().close()
    yield
    this_process().close()


class Spark:
    """What a use asks: it answers, or raises."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error
        self.asked = 0

    def answer(self, number: int) -> str:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return f"private {number}"


def use_of(spark: Spark) -> Any:
    @private_api("A.b", buys="speed", instead=lambda number: f"public {number}", loses="it is slower")
    def asked(number: int) -> str:
        return spark.answer(number)

    return asked


GONE = "An error occurred while calling o7.b. Trace:\npy4j.Py4JException: Method b([]) does not exist\n\tat py4j"


@pytest.mark.parametrize(
    "error",
    [
        Py4JError(GONE),
        AttributeError("'DataFrame' object has no attribute '_jdf'"),
        ImportError("no pyspark.sql.pandas"),
        TypeError("b() takes no arguments"),
        ApiMissing("no class b"),
    ],
)
def test_a_missing_private_api_is_replaced_and_logged_once(caplog: pytest.LogCaptureFixture, error: Exception) -> None:
    spark = Spark(error)
    use = use_of(spark)
    with caplog.at_level(logging.DEBUG, "oncelog"):
        assert [use(number) for number in range(3)] == ["public 0", "public 1", "public 2"]
    assert spark.asked == 1
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert caplog.text.strip().endswith("it is slower") and "test_uses.asked (" in caplog.text


def test_the_log_names_the_private_method_that_the_jvm_lacks(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "oncelog"):
        use_of(Spark(Py4JError(GONE)))(1)
    assert "(Method b([]) does not exist)" in caplog.text


@pytest.mark.parametrize(
    "error", [Py4JJavaError("a job failed", Mock(_target_id="o1")), Py4JNetworkError("the JVM has ended"), ValueError()]
)
def test_failures_of_an_existing_private_api_are_raised(caplog: pytest.LogCaptureFixture, error: Exception) -> None:
    spark = Spark(error)
    for _ in range(2):
        with pytest.raises(type(error)):
            use_of(spark)(1)
    assert spark.asked == 2
    assert not caplog.records


def test_the_presence_of_a_private_api_is_checked_once() -> None:
    there, missing = Spark(None), Spark(ApiMissing())
    use = use_of(there)
    assert [use.is_missing(1), use.is_missing(1), use(2), there.asked] == [False, False, "private 2", 2]
    this_process().close()
    use = use_of(missing)
    assert [use.is_missing(1), use.is_missing(1), use(2), missing.asked] == [True, True, "public 2", 1]
