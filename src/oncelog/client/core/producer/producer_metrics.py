"""A producer's metrics besides its requests: ``producer-metrics`` and ``producer-topic-metrics``.

Called by the sender and the producers' I/O layers.
"""

from __future__ import annotations

from collections.abc import Mapping

from oncelog.client.core.batches.accumulator import Accumulator, ProducerBatch
from oncelog.client.core.connection.wire import PRODUCE
from oncelog.client.core.metrics import (
    Metrics,
    NetworkMetrics,
    Sample,
    SampleTime,
    Total,
    roll_all,
    seconds_since,
    spread,
    sum_of,
    total,
)
from oncelog.client.core.structs import TopicPartition

_CALLS = {
    "flush": "flush",
    "init": "txn-init",
    "send-offsets": "txn-send-offsets",
    "prepare": "txn-prepare",
    "commit": "txn-commit",
    "abort": "txn-abort",
}
"""The calls that make a program wait, and the names of their metrics."""


class _Sent:
    """Counters of a producer's records to one topic."""

    __slots__ = ("bytes", "errors", "packed", "records", "retries")

    def __init__(self) -> None:
        self.records, self.bytes, self.retries, self.errors = Total(), Total(), Total(), Total()
        self.packed = Sample()

    def roll(self) -> None:
        roll_all(self.records, self.bytes, self.retries, self.errors, self.packed)


class ProducerMetrics:
    """Counts everything that a producer does, except its requests."""

    def __init__(self, network: NetworkMetrics) -> None:
        self._network = network
        self._topics: dict[str, _Sent] = {}
        self._sizes, self._queued, self._per_request = Sample(), Sample(), Sample()
        self._splits = Total()
        self._waited_s = dict.fromkeys(_CALLS, 0.0)
        network.windows.add(self._roll)

    def _topic(self, name: str) -> _Sent:
        found = self._topics.get(name)
        if found is None:
            found = self._topics[name] = _Sent()
        return found

    def sent(self, batches: Mapping[TopicPartition, ProducerBatch], now_ms: int) -> None:
        """Called when a request is sent. The samples' ``add`` is inlined, because this runs for each request."""
        records = 0
        sizes, queued, per_request = self._sizes, self._queued, self._per_request
        for partition, batch in batches.items():
            count = batch.count
            records += count
            topic = self._topics.get(partition.topic) or self._topic(partition.topic)
            if batch.attempts > 1:
                topic.retries.value += count
                continue
            size, waited_ms = len(batch.payload or b""), now_ms - batch.created_ms
            topic.records.value += count
            topic.bytes.value += size
            packed = topic.packed
            packed.count += 1
            packed.total += size / batch.size_bytes
            sizes.count += 1
            sizes.total += size
            if size > sizes.highest:
                sizes.highest = size
            queued.count += 1
            queued.total += waited_ms
            if waited_ms > queued.highest:
                queued.highest = waited_ms
        per_request.count += 1
        per_request.total += records

    def failed(self, batch: ProducerBatch) -> None:
        """Called when a batch has failed."""
        self._topic(batch.partition.topic).errors.value += batch.count

    def waited(self, call: str, seconds: float) -> None:
        """Add the time that the program waited for a call, one of ``_CALLS``."""
        self._waited_s[call] += seconds

    def throttled(self, throttle_ms: int) -> None:
        """Called when a broker's answer contains a throttle time."""
        self._network.throttle(PRODUCE, throttle_ms)

    def split(self) -> None:
        """Called when a broker found a batch too large."""
        self._splits.value += 1

    def _roll(self) -> None:
        roll_all(*self._topics.values(), self._sizes, self._queued, self._per_request, self._splits)

    def read(self, moment: SampleTime, accumulator: Accumulator, in_flight: int, drawn_ms: int | None) -> Metrics:
        """The current values of all metrics.

        :param drawn_ms: when the metadata was last updated.
        """
        seconds = moment.seconds
        topics = self._topics.values()
        packed = sum(one.packed.recent() for one in topics)
        whole = {
            **self._network.common(moment),
            **sum_of("record-send", (one.records for one in topics), seconds),
            **sum_of("record-retry", (one.retries for one in topics), seconds),
            **sum_of("record-error", (one.errors for one in topics), seconds),
            **spread("batch-size", self._sizes),
            **spread("record-queue-time", self._queued),
            **spread("request-latency", self._network.api(PRODUCE)),
            **spread("produce-throttle-time", self._network.throttled(PRODUCE)),
            **total("batch-split", self._splits, seconds),
            "compression-rate-avg": (
                sum(one.packed.average() * one.packed.recent() for one in topics) / packed if packed else 0.0
            ),
            "records-per-request-avg": self._per_request.average(),
            "requests-in-flight": in_flight,
            "buffer-total-bytes": accumulator.buffer_memory_bytes,
            "buffer-available-bytes": max(0, accumulator.buffer_memory_bytes - accumulator.used_bytes),
            "metadata-age": max(0.0, seconds_since(drawn_ms, moment.now_ms)),
            **{f"{name}-time-ns-total": self._waited_s[call] * 1e9 for call, name in _CALLS.items()},
        }
        by_topic = {
            f"producer-topic-metrics.{name}": {
                **total("record-send", one.records, seconds),
                **total("byte", one.bytes, seconds),
                **total("record-retry", one.retries, seconds),
                **total("record-error", one.errors, seconds),
                "compression-rate": one.packed.average(),
            }
            for name, one in sorted(self._topics.items())
        }
        return {"producer-metrics": whole, **self._network.by_node("producer", moment), **by_topic}


__all__ = ["ProducerMetrics"]
