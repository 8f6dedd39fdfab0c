"""Counts and durations of requests."""

from __future__ import annotations

import random

import pytest

from oncelog.broker.core.requests.durations import Durations
from oncelog.broker.core.requests.request_metrics import RequestMetrics, error_codes
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.fetch_fast import FetchAnswered, FetchedPartition
from oncelog.protocol.generated.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from oncelog.protocol.generated.end_txn_response import EndTxnResponse
from oncelog.protocol.generated.heartbeat_response import HeartbeatResponse

WANTED = (0.5, 0.75, 0.95, 0.99, 0.999)


@pytest.mark.parametrize("seed", range(5))
def test_quantiles_are_accurate_to_an_eighth(seed: int) -> None:
    chance = random.Random(seed)
    values = [int(chance.lognormvariate(13, 2)) for _ in range(5000)]
    durations = Durations()
    for value in values:
        durations.record(value)
    values.sort()
    for wanted, found in zip(WANTED, durations.quantiles_ms(WANTED), strict=True):
        true = values[min(int(wanted * len(values)), len(values) - 1)] / 1e6
        assert true * 0.87 <= found <= true * 1.15
    assert durations.count == 5000 and durations.sum_ns == sum(values)


@pytest.mark.parametrize("duration_ns", [0, 1, 7, 15, 16, 17, 1 << 40, -5])
def test_any_duration_has_an_accurate_quantile(duration_ns: int) -> None:
    durations = Durations()
    durations.record(duration_ns)
    (found,) = durations.quantiles_ms([0.5])
    assert max(duration_ns, 0) <= found * 1e6 + 1 <= max(duration_ns, 0) * 1.13 + 2


def test_durations_older_than_two_minutes_do_not_count_in_quantiles_but_in_the_total() -> None:
    durations = Durations()
    durations.record(1_000_000, 3)
    durations.rotate()
    assert next(durations.quantiles_ms([0.5])) > 0.9
    durations.rotate()
    assert list(durations.quantiles_ms(WANTED)) == [0.0] * len(WANTED)
    assert durations.count == 3


def test_a_run_of_produce_requests_counts_each_request() -> None:
    metrics = RequestMetrics(lambda: 0)
    metrics.run_answered(12, 60_000, 60)
    metrics.handled(ApiKey.PRODUCE, 12, 60_000, 40)
    metrics.answered_run(60_000, 90_000, 40, Error.NONE)
    assert metrics.requests == {(ApiKey.PRODUCE, 12): 100}
    assert metrics.errors == {(ApiKey.PRODUCE, 0): 100}
    local, remote, total = metrics.times(ApiKey.PRODUCE)
    assert local.count == remote.count == total.count == 100
    assert list(remote.quantiles_ms([0.5])) == [0.0]


def test_an_answer_is_counted_for_each_of_its_error_codes() -> None:
    assert list(error_codes(EndTxnResponse(error_code=Error.INVALID_TXN_STATE))) == [Error.INVALID_TXN_STATE]
    assert list(error_codes(HeartbeatResponse())) == [Error.NONE]
    assert list(error_codes(FetchAnswered(Error.FETCH_SESSION_ID_NOT_FOUND))) == [Error.FETCH_SESSION_ID_NOT_FOUND]
    part = FetchedPartition(("t", b"", 0), Error.OFFSET_OUT_OF_RANGE, -1, -1, -1, None, (), 0, None, None)
    assert list(error_codes(FetchAnswered(Error.NONE, 0, [part]))) == [Error.OFFSET_OUT_OF_RANGE]
    made = CreateTopicsResponse(
        topics=[CreatableTopicResult(error_code=0), CreatableTopicResult(error_code=Error.TOPIC_ALREADY_EXISTS)]
    )
    assert list(error_codes(made)) == [0, Error.TOPIC_ALREADY_EXISTS]
