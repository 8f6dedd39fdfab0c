"""What clients count: Kafka's windows, and what counts as sent, retried, given up."""

from __future__ import annotations

import pytest

from oncelog.client.core.metrics import WINDOW_MS, Metrics, Sample, Total, Windows
from oncelog.errors import Error
from oncelog.records.batch import HEADER_SIZE_BYTES
from tests.unit.client.core.producers import TOPIC, ProducerCore, refuse, stored


def test_a_rate_covers_at_least_one_and_at_most_two_windows() -> None:
    """Kafka's ``Rate``: with two samples of 30 s a value counts for 30 to 60 s, over no less than 30 s."""
    windows, total = Windows(0), Total()
    windows.add(total.roll)
    total.value += 300
    assert windows.seconds(1) == 30.0
    assert windows.seconds(45_000) == 45.0
    windows.roll(WINDOW_MS)
    total.value += 60
    assert (total.recent(), windows.seconds(40_000)) == (360, 40.0)
    windows.roll(2 * WINDOW_MS)
    assert (total.recent(), windows.seconds(2 * WINDOW_MS)) == (60, 30.0)
    windows.roll(3 * WINDOW_MS)
    assert total.recent() == 0
    assert total.value == 360


def test_metric_windows_last_at_least_thirty_seconds() -> None:
    windows, total = Windows(0), Total()
    windows.add(total.roll)
    total.value += 5
    for now_ms in range(0, WINDOW_MS, 500):
        windows.roll(now_ms)
    assert total.recent() == 5
    assert windows.seconds(WINDOW_MS) == 30.0


def test_average_and_maximum_leave_out_values_that_are_two_windows_old() -> None:
    sample = Sample()
    for value in (10.0, 30.0):
        sample.add(value)
    assert (sample.average(), sample.most()) == (20.0, 30.0)
    sample.roll()
    sample.add(5.0)
    assert (sample.average(), sample.most()) == (15.0, 30.0)
    sample.roll()
    assert (sample.average(), sample.most()) == (5.0, 5.0)
    sample.roll()
    assert (sample.average(), sample.most()) == (0.0, 0.0)
    assert (sample.count, sample.total) == (3, 45.0)


def reported(core: ProducerCore) -> Metrics:
    moment = core.network_metrics.moment(core.wire.now_ms(), 1)
    return core.metrics.read(moment, core.accumulator, core.sender.in_flight, None)


def test_a_record_that_is_repeated_counts_once_as_sent_and_once_as_repeated() -> None:
    core = ProducerCore(enable_idempotence=False)
    core.append(b"one")
    core.send(b"two")
    assert reported(core)["producer-metrics"]["requests-in-flight"] == 1
    refuse(core.produced(), Error.NOT_ENOUGH_REPLICAS)
    core.wire.pass_time(2000)
    stored(core.produced())
    whole, topic = reported(core)["producer-metrics"], reported(core)[f"producer-topic-metrics.{TOPIC}"]
    for found in (whole, topic):
        assert (found["record-send-total"], found["record-retry-total"], found["record-error-total"]) == (2, 2, 0)
    assert whole["requests-in-flight"] == 0
    assert whole["records-per-request-avg"] == 2
    assert topic["byte-total"] == whole["batch-size-max"] > HEADER_SIZE_BYTES
    assert whole["buffer-available-bytes"] == whole["buffer-total-bytes"]


def test_a_record_that_is_refused_counts_as_an_error() -> None:
    core = ProducerCore(enable_idempotence=False)
    core.send(b"one")
    refuse(core.produced(), Error.INVALID_RECORD)
    assert reported(core)["producer-metrics"]["record-error-total"] == 1


@pytest.mark.parametrize(("compression", "packed"), [("none", False), ("gzip", True)])
def test_compression_rate_is_the_sent_size_divided_by_the_uncompressed_size(compression: str, packed: bool) -> None:
    core = ProducerCore(enable_idempotence=False, compression_type=compression)
    core.send(b"a" * 5000)
    found = reported(core)[f"producer-topic-metrics.{TOPIC}"]["compression-rate"]
    assert found < 0.1 if packed else found == 1.0
