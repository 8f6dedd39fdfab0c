"""Counts requests, their errors and their durations (Kafka's ``RequestChannel.Metrics``).

Created by the server if metrics are enabled. ``Broker`` and ``ProduceRuns`` report each request; other events are
counted in the modules where they occur. Times are in nanoseconds of the given clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from oncelog.broker.core.requests.durations import Durations
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.fetch_fast import FetchAnswered
from oncelog.protocol.generated.produce_response import ProduceResponse
from oncelog.protocol.struct_fields import Struct
from oncelog.protocol.wire import Message

PRODUCE = int(ApiKey.PRODUCE)
SOUND_PRODUCE = PRODUCE, 0
"""The key of an accepted Produce in ``errors``: plain numbers, because looking up an enum member takes long."""


class RequestMetrics:
    """Counts requests and errors by API; a request answered with several error codes counts for each of them, as in
    Kafka."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self.clock = clock
        self._requests: dict[tuple[int, int], int] = {}
        self._errors: dict[tuple[int, int], int] = {}
        self._runs: dict[int, int] = {}
        """Produce requests in runs, by version, that are not yet included in ``_requests`` and ``_errors``."""
        self._at_once: Durations | None = None
        self.defects: dict[int, int] = {}
        """The number of requests whose connection was closed without an answer because of an error, by API key."""
        self.at_once: dict[int, Durations] = {}
        """Durations of the requests that were answered without waiting (nearly all), by API key."""
        self.local: dict[int, Durations] = {}
        """For requests that waited, the durations of the work on them, by API key; ``remote`` has the waits, ``total``
        the sums."""
        self.remote: dict[int, Durations] = {}
        self.total: dict[int, Durations] = {}
        self.completions = Durations()
        """Durations from the prepared end of a transaction until all its partitions have their markers."""

    def handled(self, api_key: int, version: int, duration_ns: int, count: int = 1) -> None:
        """Called when ``count`` requests were handled together, whose answers may come later."""
        key = api_key, version
        self._requests[key] = self._requests.get(key, 0) + count
        self._of(self.local, api_key).record(duration_ns // count, count)

    def handled_and_answered(self, api_key: int, version: int, duration_ns: int, response: Message | None) -> None:
        """Called when a request was handled and its answer is ready."""
        key = api_key, version
        self._requests[key] = self._requests.get(key, 0) + 1
        self._of(self.at_once, api_key).record(duration_ns)
        self._count_errors(api_key, response)

    def run_answered(self, version: int, duration_ns: int, count: int) -> None:
        """Called when a run of ``count`` accepted Produce requests was handled and its answers are ready. This is the
        most frequent call: its code is inlined, and counts only by version until the metrics are read."""
        try:
            self._runs[version] += count
        except KeyError:
            self._runs[version] = count
        found = self._at_once
        if found is None:
            found = self._at_once = self._of(self.at_once, PRODUCE)
        found.count += count
        found.sum_ns += duration_ns
        each_ns = duration_ns // count
        shift = each_ns.bit_length() - 4
        found.now[(shift << 3) + (each_ns >> shift) if shift > 0 else each_ns] += count

    @property
    def requests(self) -> dict[tuple[int, int], int]:
        """The number of requests by API key and version."""
        self._count_runs()
        return self._requests

    @property
    def errors(self) -> dict[tuple[int, int], int]:
        """The number of error codes in answers by API key and code, including code 0."""
        self._count_runs()
        return self._errors

    def _count_runs(self) -> None:
        for version, count in self._runs.items():
            key = PRODUCE, version
            self._requests[key] = self._requests.get(key, 0) + count
            self._errors[SOUND_PRODUCE] = self._errors.get(SOUND_PRODUCE, 0) + count
        self._runs.clear()

    def answered(self, api_key: int, local_ns: int, total_ns: int, response: Message | None) -> None:
        self._of(self.total, api_key).record(total_ns)
        self._of(self.remote, api_key).record(max(total_ns - local_ns, 0))
        self._count_errors(api_key, response)

    def answered_run(self, local_ns: int, total_ns: int, count: int, code: int) -> None:
        """Called when the answer to a waiting run of ``count`` Produce requests is sent."""
        self._of(self.total, PRODUCE).record(total_ns, count)
        self._of(self.remote, PRODUCE).record(max(total_ns - local_ns, 0), count)
        key = PRODUCE, int(code)
        self._errors[key] = self._errors.get(key, 0) + count

    def times(self, api_key: int) -> tuple[Durations, Durations, Durations]:
        """The durations of an API's requests: work, wait, and the sum of both."""
        found = Durations(), Durations(), Durations()
        for durations, of_waiting in zip(found, (self.local, self.remote, self.total), strict=True):
            if api_key in of_waiting:
                durations.add(of_waiting[api_key])
            if api_key in self.at_once:
                durations.add(self.at_once[api_key], as_zero=of_waiting is self.remote)
        return found

    def _count_errors(self, api_key: int, response: Message | None) -> None:
        for code in (0,) if response is None else error_codes(response):
            key = api_key, code
            self._errors[key] = self._errors.get(key, 0) + 1

    def failed(self, api_key: int) -> None:
        self.defects[api_key] = self.defects.get(api_key, 0) + 1

    def rotate(self) -> None:
        """Start a new minute of all histograms; called once a minute."""
        for kind in (self.at_once, self.local, self.remote, self.total):
            for durations in kind.values():
                durations.rotate()
        self.completions.rotate()

    @staticmethod
    def _of(durations: dict[int, Durations], api_key: int) -> Durations:
        found = durations.get(api_key)
        if found is None:
            found = durations[api_key] = Durations()
        return found


def error_codes(response: Message) -> Iterable[int]:
    """Every error code in an answer: that of the answer, or those of its topics, partitions and so on."""
    if isinstance(response, ProduceResponse):
        return [part.error_code for topic in response.responses for part in topic.partition_responses]
    if isinstance(response, FetchAnswered):
        return [part.error_code for part in response.partitions] or (response.error_code,)
    return list(_codes_in(response)) or (0,)


def _codes_in(struct: Struct) -> Iterator[int]:
    for name in struct.__slots__:
        value: Any = getattr(struct, name)
        if name == "error_code":
            yield value
        elif isinstance(value, list) and value and isinstance(value[0], Struct):
            for item in value:
                yield from _codes_in(item)
