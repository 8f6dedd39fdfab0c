"""A client's own metrics, under Kafka's names (``record-send-total`` in ``producer-metrics``).

Called by connections and, with ``producer_metrics`` and ``consumer_metrics``, by sender, fetcher and consumer: once per
request or batch, never per record, and each call is only an addition. Rates, averages and maxima are computed when they
are read, over Kafka's two windows of 30 s each; the network closes windows in time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from oncelog.client.core.connection.wire import Api

WINDOW_MS = 30_000
"""``metrics.sample.window.ms``; the last two windows are used (Kafka's metrics.num.samples)."""

Metrics = dict[str, dict[str, float]]
"""Values by name, in groups. A group has Kafka's name; if it is about one node, topic or partition, a dot and that one
follow."""


class Total:
    """A running total."""

    __slots__ = ("_middle", "_start", "value")

    def __init__(self) -> None:
        self.value = 0
        self._start = self._middle = 0

    def roll(self) -> None:
        self._start, self._middle = self._middle, self.value

    def recent(self) -> int:
        """The sum over the windows in use."""
        return self.value - self._start


class Sample:
    """A series of sizes or times: their number, their sum, and the recent maximum."""

    __slots__ = ("_before", "_middle", "_start", "count", "highest", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.highest = self._before = 0.0
        self._start = self._middle = (0, 0.0)

    def add(self, value: float) -> None:
        self.count += 1
        self.total += value
        if value > self.highest:
            self.highest = value

    def roll(self) -> None:
        self._start, self._middle = self._middle, (self.count, self.total)
        self._before, self.highest = self.highest, 0.0

    def average(self) -> float:
        """The average over the windows in use; 0 if there were no values."""
        count = self.count - self._start[0]
        return (self.total - self._start[1]) / count if count else 0.0

    def most(self) -> float:
        return max(self._before, self.highest)

    def recent(self) -> int:
        return self.count - self._start[0]


class _Rollable(Protocol):
    def roll(self) -> None: ...


def roll_all(*each: _Rollable) -> None:
    for one in each:
        one.roll()


class Windows:
    """Keeps the starts of the two windows; totals and samples are registered here to be rolled."""

    def __init__(self, now_ms: int) -> None:
        self._begins_ms = [now_ms, now_ms]
        self._rolled: list[Callable[[], None]] = []

    def add(self, roll: Callable[[], None]) -> None:
        self._rolled.append(roll)

    def roll(self, now_ms: int) -> None:
        """Close the newest window if it is old enough; returns at once if it is not."""
        if now_ms - self._begins_ms[1] < WINDOW_MS:
            return
        self._begins_ms = [self._begins_ms[1], now_ms]
        for roll in self._rolled:
            roll()

    def seconds(self, now_ms: int) -> float:
        """The period of rates: never less than one window, so that there is no peak at the start (Kafka's ``Rate``)."""
        return max(now_ms - self._begins_ms[0], WINDOW_MS) / 1000


class SampleTime(NamedTuple):
    """A time at which metrics are read; rates cover the ``seconds`` before it."""

    now_ms: int
    seconds: float
    connections: int


class Traffic:
    """The traffic between the client and one node."""

    __slots__ = ("bytes_in", "latency", "sizes")

    def __init__(self) -> None:
        self.sizes = Sample()
        """The size of each request, in bytes."""
        self.latency = Sample()
        """The time from sending a request to its answer, in ms."""
        self.bytes_in = Total()

    def roll(self) -> None:
        self.sizes.roll()
        self.latency.roll()
        self.bytes_in.roll()


class NetworkMetrics:
    """The metrics of one client's connections and requests."""

    def __init__(self, now_ms: int) -> None:
        self.windows = Windows(now_ms)
        self.windows.add(self._roll)
        self.nodes: dict[int, Traffic] = {}
        self.apis: dict[int, Sample] = {}
        """The time to an answer in ms, by the API's key."""
        self.made, self.ended = Total(), Total()
        self._throttled: dict[int, Sample] = {}

    def node(self, node: int) -> Traffic:
        found = self.nodes.get(node)
        if found is None:
            found = self.nodes[node] = Traffic()
        return found

    def answered(self, traffic: Traffic, api_key: int, size_bytes: int, took_ms: int) -> None:
        """Called when an answer arrived."""
        traffic.bytes_in.value += size_bytes
        latency = traffic.latency  # ``add`` is inlined, because this runs once for each answer
        latency.count += 1
        latency.total += took_ms
        if took_ms > latency.highest:
            latency.highest = took_ms
        sample = self.apis.get(api_key)
        if sample is None:
            sample = self.apis[api_key] = Sample()
        sample.count += 1
        sample.total += took_ms
        if took_ms > sample.highest:
            sample.highest = took_ms

    def throttle(self, api: Api, throttle_ms: int) -> None:
        """Called when a broker's answer contains a throttle time."""
        sample = self._throttled.get(api.key)
        if sample is None:
            sample = self._throttled[api.key] = Sample()
        sample.add(throttle_ms)

    def throttled(self, api: Api) -> Sample:
        return self._throttled.get(api.key, Sample())

    def api(self, *choice: Api) -> Sample:
        """The latencies of the first of these APIs that has any answers; an empty sample if none has."""
        return next((self.apis[api.key] for api in choice if api.key in self.apis), Sample())

    def _roll(self) -> None:
        roll_all(*self.nodes.values(), *self.apis.values(), *self._throttled.values(), self.made, self.ended)

    def moment(self, now_ms: int, connections: int) -> SampleTime:
        """The current moment, after closing all windows that are old enough."""
        self.windows.roll(now_ms)
        return SampleTime(now_ms, self.windows.seconds(now_ms), connections)

    def common(self, moment: SampleTime) -> dict[str, float]:
        """The metrics with which the ``*-metrics`` group of every client begins."""
        seconds = moment.seconds
        sizes = [traffic.sizes for traffic in self.nodes.values()]
        sent = sum(item.count for item in sizes)
        recent = sum(item.recent() for item in sizes)
        recent_bytes = sum(item.average() * item.recent() for item in sizes)
        return {
            "connection-count": moment.connections,
            **meter("connection-creation", self.made.value, self.made.recent(), seconds),
            **meter("connection-close", self.ended.value, self.ended.recent(), seconds),
            **meter("request", sent, recent, seconds),
            **meter("outgoing-byte", sum(item.total for item in sizes), recent_bytes, seconds),
            "request-size-avg": recent_bytes / recent if recent else 0.0,
            "request-size-max": max((item.most() for item in sizes), default=0.0),
            **meter(
                "response",
                sum(traffic.latency.count for traffic in self.nodes.values()),
                sum(traffic.latency.recent() for traffic in self.nodes.values()),
                seconds,
            ),
            **meter(
                "incoming-byte",
                sum(traffic.bytes_in.value for traffic in self.nodes.values()),
                sum(traffic.bytes_in.recent() for traffic in self.nodes.values()),
                seconds,
            ),
        }

    def by_node(self, client: str, moment: SampleTime) -> Metrics:
        """The metrics of each node, in groups such as ``producer-node-metrics.node-1``."""
        seconds = moment.seconds
        return {
            f"{client}-node-metrics.node-{node}": {
                **meter("request", traffic.sizes.count, traffic.sizes.recent(), seconds),
                **meter(
                    "outgoing-byte", traffic.sizes.total, traffic.sizes.average() * traffic.sizes.recent(), seconds
                ),
                **spread("request-size", traffic.sizes),
                **meter("response", traffic.latency.count, traffic.latency.recent(), seconds),
                **total("incoming-byte", traffic.bytes_in, seconds),
                **spread("request-latency", traffic.latency),
            }
            for node, traffic in sorted(self.nodes.items())
        }


def seconds_since(at_ms: int | None, now_ms: int) -> float:
    """Seconds since ``at_ms``; -1 if it is None, as in Kafka."""
    return -1.0 if at_ms is None else (now_ms - at_ms) / 1000


def meter(name: str, total: float, recent: float, seconds: float) -> dict[str, float]:
    return {f"{name}-total": total, f"{name}-rate": recent / seconds}


def total(name: str, counted: Total, seconds: float) -> dict[str, float]:
    return meter(name, counted.value, counted.recent(), seconds)


def sum_of(name: str, totals: Iterable[Total], seconds: float) -> dict[str, float]:
    found = list(totals)
    return meter(name, sum(one.value for one in found), sum(one.recent() for one in found), seconds)


def spread(name: str, sample: Sample) -> dict[str, float]:
    return {f"{name}-avg": sample.average(), f"{name}-max": sample.most()}


__all__ = ["Metrics", "NetworkMetrics", "Sample", "Total", "Traffic", "Windows"]
