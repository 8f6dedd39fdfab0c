"""The executors' path without Spark: which reports may be committed, what another attempt can fix, how many write."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from oncelog.errors import ConfigError, Error, InvariantError, KafkaError
from oncelog.spark.executors import carrier, scheduling
from oncelog.spark.executors.barrier import RankReport
from oncelog.spark.executors.carrier import check_reports, timeouts_ms
from oncelog.spark.executors.scheduling import choose_writers
from oncelog.spark.kafka.advice import with_advice
from oncelog.spark.kafka.interface import final
from oncelog.spark.options import parse_sink_options
from oncelog.spark.private_apis import jobs
from oncelog.spark.sink.engine import SinkRefused

ONE = RankReport(0, rows=10)
TWO = replace(ONE, rank=1, rows=5)


def test_the_report_of_a_writer_is_unchanged_after_encoding_and_decoding() -> None:
    assert RankReport.decode(ONE.encode()) == ONE


def test_reports_of_all_ranks_can_arrive_in_any_order() -> None:
    check_reports([TWO, ONE], 2)


@pytest.mark.parametrize("reports", [[ONE], [ONE, ONE], [ONE, replace(TWO, rank=2)], [ONE, TWO, replace(TWO, rank=2)]])
def test_a_batch_without_exactly_one_report_of_each_rank_is_never_committed(reports: list[RankReport]) -> None:
    with pytest.raises(InvariantError):
        check_reports(reports, 2)


def test_a_batch_is_refused_if_any_rank_refuses_it() -> None:
    with pytest.raises(SinkRefused, match="too large"):
        check_reports([ONE, replace(TWO, refusal="too large")], 2)


@pytest.mark.parametrize(
    "error",
    [Error.PRODUCER_FENCED, Error.INVALID_PRODUCER_EPOCH, Error.MESSAGE_TOO_LARGE, Error.TOPIC_AUTHORIZATION_FAILED],
)
def test_permanent_failures_of_a_batch_are_not_retried(error: Error) -> None:
    """A run begins with a fence, so a fenced one that ran again would fence its successor in turn."""
    assert final(KafkaError(error))


@pytest.mark.parametrize("error", [Error.NOT_LEADER_OR_FOLLOWER, Error.TRANSACTION_ABORTABLE, Error.INVALID_TXN_STATE])
def test_failures_that_a_new_transaction_can_overcome_are_retried(error: Error) -> None:
    assert not final(KafkaError(error))


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (Error.INVALID_PRODUCER_EPOCH, r"t-0 .*: another run of this query .* timeout \(5000 ms\)"),
        (Error.PRODUCER_FENCED, r"raise kafka.transaction.timeout.ms \(at most .*\) \[PRODUCER_FENCED\]"),
        (Error.INVALID_TRANSACTION_TIMEOUT, "kafka.transaction.timeout.ms is 5000, more than the broker's"),
        (Error.MESSAGE_TOO_LARGE, "t-0 did not take a batch: raise max.message.bytes of the topic"),
        (Error.NOT_LEADER_OR_FOLLOWER, r"t-0 did not take a batch \[NOT_LEADER_OR_FOLLOWER\]"),
    ],
)
def test_a_refusal_names_possible_causes_and_the_next_step(error: Error, says: str) -> None:
    with pytest.raises(KafkaError, match=says) as raised, with_advice(5000):
        raise KafkaError(error, "t-0 did not take a batch")
    assert raised.value.error is error


def test_a_shorter_transaction_timeout_is_tried_second_unless_the_user_sets_one() -> None:
    at = {"kafka.bootstrap.servers": "b:1", "topic": "t"}
    assert timeouts_ms(parse_sink_options(at, streaming=False)) == (900_000, 60_000)
    given = at | {"kafka.transaction.timeout.ms": "5000"}
    assert timeouts_ms(parse_sink_options(given, streaming=False)) == (5000,)


@pytest.mark.parametrize(("seconds", "warns"), [(29.9, False), (30.1, True)])
def test_a_write_that_takes_half_of_its_timeout_logs_a_warning_that_names_the_setting(
    caplog: pytest.LogCaptureFixture, seconds: float, warns: bool
) -> None:
    carrier._warn_of_timeout(seconds, 60_000)
    assert (
        "raise kafka.transaction.timeout.ms (at most the broker's transaction.max.timeout.ms)" in caplog.text
    ) == warns


class Session:
    """The part of a SparkSession that is used."""

    sparkContext = SimpleNamespace(master="spark://m:7077")

    def __init__(self, **settings: str) -> None:
        self.conf = {name.replace("_", "."): value for name, value in settings.items()}


@pytest.fixture
def four_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "slots", lambda context: 4)
    monkeypatch.setattr(scheduling, "TIMEOUT_S", 0.0)


@pytest.mark.parametrize(
    ("wanted", "partitions", "writers"), [(None, 9, 4), (None, 3, 3), (2, 9, 2), (4, 3, 3), (0, 9, 0)]
)
def test_the_number_of_writers_is_limited_by_slots_and_partitions(
    four_slots: None, wanted: int | None, partitions: int, writers: int
) -> None:
    spark: Any = Session()
    assert choose_writers(spark, wanted, partitions) == writers


def test_more_writers_than_spark_slots_are_refused(four_slots: None) -> None:
    spark: Any = Session()
    with pytest.raises(ConfigError, match="writers is 5, but the cluster has 4 slots"):
        choose_writers(spark, 5, 9)


def test_with_dynamic_allocation_the_driver_writes_or_the_query_is_refused(four_slots: None) -> None:
    spark: Any = Session(spark_dynamicAllocation_enabled="true")
    assert choose_writers(spark, None, 9) == 0
    assert choose_writers(spark, 0, 9) == 0
    with pytest.raises(ConfigError, match=r"spark.dynamicAllocation.enabled is true"):
        choose_writers(spark, 2, 9)
