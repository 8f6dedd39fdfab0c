"""A consumer's metrics except those of its requests: ``consumer-metrics``, and the metrics of fetching and of its
group.

Called by the fetcher and the consumers' I/O layers.
"""

from __future__ import annotations

from collections.abc import Mapping

from oncelog.client.core.connection.wire import (
    CONSUMER_GROUP_HEARTBEAT,
    FETCH,
    HEARTBEAT,
    JOIN_GROUP,
    OFFSET_COMMIT,
    SYNC_GROUP,
)
from oncelog.client.core.consumer.subscription import PartitionState
from oncelog.client.core.metrics import (
    Metrics,
    NetworkMetrics,
    Sample,
    SampleTime,
    Total,
    meter,
    roll_all,
    seconds_since,
    spread,
    sum_of,
    total,
)
from oncelog.client.core.structs import OffsetAndMetadata, TopicPartition


class _Consumed:
    """Counters of a consumer's reads from one topic."""

    __slots__ = ("bytes", "records", "sizes")

    def __init__(self) -> None:
        self.records, self.bytes = Total(), Total()
        self.sizes = Sample()

    def roll(self) -> None:
        roll_all(self.records, self.bytes, self.sizes)


class ConsumerMetrics:
    """Counts everything that a consumer does, except its requests."""

    def __init__(self, network: NetworkMetrics) -> None:
        self._network = network
        self._topics: dict[str, _Consumed] = {}
        self._sizes = Sample()
        self._fetches = Total()
        self._between_polls = Sample()
        self._polled_at_ms: int | None = None
        self._rebalances = Total()
        self._rebalanced_at_ms: int | None = None
        self._rebalancing_since_ms: int | None = None
        self._rebalance_ms = Sample()
        self._waited_s = {"commit-sync": 0.0, "committed": 0.0}
        network.windows.add(self._roll)

    def _topic(self, name: str) -> _Consumed:
        found = self._topics.get(name)
        if found is None:
            found = self._topics[name] = _Consumed()
        return found

    def waited(self, call: str, seconds: float) -> None:
        """Add the time that the program waited for a call: ``commit-sync`` or ``committed``."""
        self._waited_s[call] += seconds

    def fetched(self, size_bytes: int, throttle_ms: int) -> None:
        """Called when a Fetch response arrived, with records or without."""
        self._fetches.value += 1
        self._sizes.add(size_bytes)
        if throttle_ms:
            self._network.throttle(FETCH, throttle_ms)

    def received(self, partition: TopicPartition, size_bytes: int) -> None:
        """Called when a response contains records of a partition."""
        topic = self._topic(partition.topic)
        topic.bytes.value += size_bytes
        topic.sizes.add(size_bytes)

    def decoded(self, partition: TopicPartition, records: int) -> None:
        """Called when records are about to be returned to the program."""
        self._topic(partition.topic).records.value += records

    def polled(self, now_ms: int) -> None:
        """Called when the program asks for records."""
        if self._polled_at_ms is not None:
            self._between_polls.add(now_ms - self._polled_at_ms)
        self._polled_at_ms = now_ms

    def revoking(self, now_ms: int) -> None:
        """Called when a rebalance begins."""
        if self._rebalancing_since_ms is None:
            self._rebalancing_since_ms = now_ms

    def assigned(self, now_ms: int) -> None:
        """Called when a rebalance has ended with an assignment."""
        self._rebalances.value += 1
        self._rebalanced_at_ms = now_ms
        if self._rebalancing_since_ms is not None:
            self._rebalance_ms.add(now_ms - self._rebalancing_since_ms)
            self._rebalancing_since_ms = None

    def _roll(self) -> None:
        own = (self._sizes, self._fetches, self._between_polls, self._rebalances, self._rebalance_ms)
        roll_all(*self._topics.values(), *own)

    def read(
        self,
        moment: SampleTime,
        assigned: Mapping[TopicPartition, PartitionState],
        positions: Mapping[TopicPartition, OffsetAndMetadata],
        read_committed: bool,
        grouped: bool,
    ) -> Metrics:
        """The current values of all metrics.

        :param positions: the program's position in each partition.
        """
        seconds = moment.seconds
        found: Metrics = {
            "consumer-metrics": {
                **self._network.common(moment),
                **spread("time-between-poll", self._between_polls),
                "last-poll-seconds-ago": seconds_since(self._polled_at_ms, moment.now_ms),
                **{f"{call}-time-ns-total": spent * 1e9 for call, spent in self._waited_s.items()},
            },
            **self._network.by_node("consumer", moment),
            "consumer-fetch-manager-metrics": self._whole_fetching(seconds),
        }
        if grouped:
            found["consumer-coordinator-metrics"] = self._coordinator(len(assigned), moment)
        for name, topic in sorted(self._topics.items()):
            found[f"consumer-fetch-manager-metrics.{name}"] = {
                **total("records-consumed", topic.records, seconds),
                **total("bytes-consumed", topic.bytes, seconds),
                **spread("fetch-size", topic.sizes),
            }
        lags: list[int] = []
        for partition, state in assigned.items():
            end = state.last_stable_offset if read_committed else state.high_watermark
            if end is None or partition not in positions:
                continue
            position = positions[partition].offset
            lags.append(lag := max(0, end - position))
            values: dict[str, float] = {"records-lag": lag}
            if state.log_start_offset is not None:
                values["records-lead"] = max(0, position - state.log_start_offset)
            found[f"consumer-fetch-manager-metrics.{partition.topic}-{partition.partition}"] = values
        found["consumer-fetch-manager-metrics"]["records-lag-max"] = max(lags, default=0)
        return found

    def _whole_fetching(self, seconds: float) -> dict[str, float]:
        topics = self._topics.values()
        recent = sum(one.records.recent() for one in topics)
        fetches = self._fetches.recent()
        return {
            **sum_of("records-consumed", (one.records for one in topics), seconds),
            **sum_of("bytes-consumed", (one.bytes for one in topics), seconds),
            **total("fetch", self._fetches, seconds),
            **spread("fetch-latency", self._network.api(FETCH)),
            **spread("fetch-size", self._sizes),
            **spread("fetch-throttle-time", self._network.throttled(FETCH)),
            "records-per-request-avg": recent / fetches if fetches else 0.0,
        }

    def _coordinator(self, assigned: int, moment: SampleTime) -> dict[str, float]:
        seconds = moment.seconds
        api = self._network.api
        beats, joins = api(HEARTBEAT, CONSUMER_GROUP_HEARTBEAT), api(JOIN_GROUP)
        syncs, commits = api(SYNC_GROUP), api(OFFSET_COMMIT)
        return {
            "assigned-partitions": assigned,
            **meter("heartbeat", beats.count, beats.recent(), seconds),
            "heartbeat-response-time-max": beats.most(),
            **meter("join", joins.count, joins.recent(), seconds),
            **spread("join-time", joins),
            **meter("sync", syncs.count, syncs.recent(), seconds),
            **spread("sync-time", syncs),
            **meter("commit", commits.count, commits.recent(), seconds),
            **spread("commit-latency", commits),
            "rebalance-total": self._rebalances.value,
            "rebalance-rate-per-hour": self._rebalances.recent() / seconds * 3600,
            **spread("rebalance-latency", self._rebalance_ms),
            "rebalance-latency-total": self._rebalance_ms.total,
            "last-rebalance-seconds-ago": seconds_since(self._rebalanced_at_ms, moment.now_ms),
        }


__all__ = ["ConsumerMetrics"]
