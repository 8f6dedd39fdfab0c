"""Requests of one API that differ from an earlier one of their connection only in one part and the correlation id.

The base of :class:`~oncelog.broker.core.fetching.repeated_fetches.RepeatedFetches` and
:class:`~oncelog.broker.core.coordination.repeated_commits.RepeatedCommits`, which ``Broker`` calls for complete
requests in a connection's buffer. The pattern of a request accepted on the general path is learned: its bytes and its
answer. A request that matches it is compared instead of decoded; any other is left to the general path, from its first
byte on. A pattern is dropped when anything that it was learned from changes (``Broker.forget_patterns``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.session import Channel, Part
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.repeated import RequestPattern

if TYPE_CHECKING:
    from oncelog.broker.core.requests.request_metrics import RequestMetrics

LEARNED_IN_VAIN: Final = 8
"""After this many consecutive requests that did not match, no more patterns are learned from the connection."""


class LearnedPattern(Protocol):
    """The pattern of a request, besides what its API needs for the answer."""

    @property
    def pattern(self) -> RequestPattern: ...

    @property
    def version(self) -> int: ...


class MeasurePorts(Protocol):
    """Where requests are measured."""

    request_metrics: RequestMetrics | None


LearnedT = TypeVar("LearnedT", bound=LearnedPattern)


class RepeatedRequests(Generic[LearnedT]):
    """The learned patterns of all connections of one broker, one for each."""

    def __init__(self, ports: MeasurePorts, api_key: ApiKey) -> None:
        self._ports = ports
        self._api_key = api_key
        self._known: dict[Channel, LearnedT] = {}
        self._in_vain: dict[Channel, int] = {}

    def forget(self, channel: Channel | None = None) -> None:
        """Drop the pattern of ``channel``, or all of them."""
        if channel is None:
            self._known.clear()
            self._in_vain.clear()
        else:
            self._known.pop(channel, None)
            self._in_vain.pop(channel, None)

    def learn(self, context: RequestContext, request: Any, frame: memoryview, body: int) -> None:
        """Learn the pattern of a request that the general path has just accepted, if the next one may match it."""
        raise NotImplementedError

    def receive(self, channel: Channel, slot: int, buffer: bytearray, start: int, end: int, now_ms: int) -> int:
        """Answer the request at ``buffer[start:end]``; returns its end, ``start`` if it is for the general path."""
        known = self._known.get(channel)
        if known is None:
            return start
        after = known.pattern.end(buffer, start, end)
        if after == start:
            return start
        requests = self._ports.request_metrics
        begun_ns = requests.clock() if requests is not None else 0
        parts = self._answer(known, buffer, start, now_ms)
        if parts is None:
            return start
        self._in_vain[channel] = 0
        if requests is not None:
            requests.handled_and_answered(self._api_key, known.version, requests.clock() - begun_ns, None)
        channel.reply(slot, parts)
        return after

    def _answer(self, known: LearnedT, buffer: bytearray, start: int, now_ms: int) -> list[Part] | None:
        """Carry out the request at ``buffer[start]``, which matches ``known``; None leaves it to the general path."""
        raise NotImplementedError

    def _may_learn(self, channel: Channel) -> bool:
        """Whether to learn another pattern; it counts as unused until a request matches it."""
        in_vain = self._in_vain.get(channel, 0)
        if in_vain >= LEARNED_IN_VAIN:
            return False
        self._in_vain[channel] = in_vain + 1
        return True
