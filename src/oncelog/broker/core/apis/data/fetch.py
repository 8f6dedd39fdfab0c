"""Fetch (key 1), versions 4-18: read batches as stored in the log, as far as the isolation level allows.

Version 7 adds incremental sessions (KIP-227), 9 the leader epoch check, 11 a rack, 12 the last fetched epoch
(flexible), 13 topic ids, 16 node endpoints. The answer waits in the purgatory until ``min_bytes`` are available or
``max_wait_ms`` is over. Records are returned as file slices, which the server sends without copying. Sources: Kafka's
``KafkaApis.handleFetchRequest``, ``ReplicaManager.fetchMessages`` and ``FetchManager``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from oncelog.broker.core.apis.data.fetch_reading import (
    PartitionAnswer,
    max_bytes,
    read_all,
    read_partition,
)
from oncelog.broker.core.fetching.fetch_sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    FetchPosition,
    FetchSession,
    PartitionKey,
)
from oncelog.broker.core.fetching.purgatory import ParkedFetch
from oncelog.broker.core.requests.context import RequestContext
from oncelog.errors import NONE, Error
from oncelog.protocol.generated.fetch_request import FetchRequest
from oncelog.protocol.generated.fetch_response import (
    FetchableTopicResponse,
    FetchResponse,
)
from oncelog.protocol.wire import ZERO_UUID
from oncelog.runtime.deferred import Deferred
from oncelog.types import IsolationLevel, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import FetchPorts

FIRST_WITH_TOPIC_IDS = 13
_Opened = tuple[FetchSession | None, dict[PartitionKey, FetchPosition]]
"""The session in use, and the partitions to read."""
ISOLATION_LEVELS = {int(level): level for level in IsolationLevel}


def handle(
    ports: FetchPorts, context: RequestContext, request: FetchRequest
) -> FetchResponse | Deferred[FetchResponse]:
    """Answer at once if there is enough data, something to report, or nothing to wait for; otherwise later."""
    isolation = ISOLATION_LEVELS.get(request.isolation_level)
    if isolation is None:
        return FetchResponse(error_code=Error.INVALID_REQUEST)
    opened = _open(ports, context, request)
    if not isinstance(opened, tuple):
        return FetchResponse(error_code=opened)
    session, positions = opened
    answers = read_all(ports, context, request, positions, isolation)
    if request.max_wait_ms <= 0 or _is_enough(request, answers):
        return _respond(session, answers)
    request.topics, request.forgotten_topics_data = [], []  # the wait may be long
    waiting = _ParkedRead(ports, context, request, session, positions, isolation)
    fetch = ParkedFetch(context.channel, waiting.attempt)
    waiting.watch(fetch, answers)
    if not fetch.partitions:
        return _respond(session, answers)
    ports.fetches.ends_at(fetch, ports.now_ms + request.max_wait_ms)
    ports.long_requests.answered(context)
    return waiting.response


def _is_enough(request: FetchRequest, answers: Sequence[PartitionAnswer]) -> bool:
    """Whether the answers satisfy the fetch, or contain something to report at once."""
    size_bytes, at_once = 0, False
    for answer in answers:
        size_bytes += answer.size_bytes
        at_once = at_once or answer.at_once
    return at_once or size_bytes >= request.min_bytes


class _ParkedRead:
    """The data that a waiting fetch has read; an advancing partition is read again, and all partitions when there is
    enough."""

    __slots__ = (
        "_context",
        "_isolation",
        "_keys",
        "_ports",
        "_positions",
        "_request",
        "_session",
        "_sizes",
        "_total",
        "response",
    )

    def __init__(
        self,
        ports: FetchPorts,
        context: RequestContext,
        request: FetchRequest,
        session: FetchSession | None,
        positions: dict[PartitionKey, FetchPosition],
        isolation: IsolationLevel,
    ) -> None:
        self.response: Deferred[FetchResponse] = Deferred()
        self._ports = ports
        self._context = context
        self._request = request
        self._session = session
        self._positions = positions
        self._isolation = isolation
        self._keys: dict[TopicPartition, PartitionKey] = {}
        self._sizes: dict[PartitionKey, int] = {}
        self._total = 0

    def watch(self, fetch: ParkedFetch, answers: Iterable[PartitionAnswer]) -> None:
        """Have ``fetch`` watch the partitions of ``answers``."""
        watched: list[TopicPartition] = []
        for answer in answers:
            key, size_bytes = answer.key, answer.size_bytes
            if answer.partition is None:
                continue
            topic_partition = answer.partition.topic_partition
            watched.append(topic_partition)
            self._keys[topic_partition] = key
            self._sizes[key] = size_bytes
            self._total += size_bytes
        if watched:
            self._ports.fetches.watch(fetch, watched)

    def attempt(self, woken: TopicPartition | None) -> bool:
        """See :class:`ParkedFetch`."""
        try:
            answers = self._read_all() if woken is None else self._read_woken(woken)
            if answers is None:
                return False
            self.response.resolve(_respond(self._session, answers))
        except Exception as error:  # noqa: BLE001 - a producer's request may have woken this
            self.response.fail(error)
        return True

    def _read_all(self) -> list[PartitionAnswer]:
        return read_all(self._ports, self._context, self._request, self._positions, self._isolation)

    def _read_woken(self, woken: TopicPartition) -> list[PartitionAnswer] | None:
        """All answers if there is enough now that ``woken`` has changed, else None."""
        key, request = self._keys[woken], self._request
        answer = read_partition(
            self._ports,
            self._context,
            request,
            key,
            self._positions[key],
            self._isolation,
            max_bytes(self._ports, request),
            at_least_one_batch=True,
        )
        self._total += answer.size_bytes - self._sizes[key]
        self._sizes[key] = answer.size_bytes
        failed = answer.data.error_code != NONE  # its topic may have been deleted
        if not failed and not answer.at_once and self._total < request.min_bytes:
            return None
        return [answer] if len(self._positions) == 1 else self._read_all()


def _open(ports: FetchPorts, context: RequestContext, request: FetchRequest) -> _Opened | Error:
    """The session in use (None without one) and what to read, in serving order (``FetchManager.newContext``)."""
    by_id = context.api_version >= FIRST_WITH_TOPIC_IDS
    wanted: dict[PartitionKey, FetchPosition] = {}
    for topic in request.topics:
        name, topic_id = _identity(ports, by_id, topic.topic, topic.topic_id)
        for asked in topic.partitions:
            wanted[name, topic_id, asked.partition] = FetchPosition(
                asked.fetch_offset,
                asked.partition_max_bytes,
                asked.current_leader_epoch,
                asked.last_fetched_epoch,
                asked.log_start_offset,
            )
    forgotten: dict[PartitionKey, None] = {}
    for gone in request.forgotten_topics_data:
        name, topic_id = _identity(ports, by_id, gone.topic, gone.topic_id)
        for index in gone.partitions:
            forgotten[name, topic_id, index] = None
    sessions = ports.fetch_sessions
    if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
        if request.session_id != NO_SESSION:
            sessions.close(request.session_id)
        if request.session_epoch == FINAL_EPOCH or context.api_version < 7:
            return None, wanted
        return sessions.open(wanted, by_id, ports.now_ms), wanted
    session = sessions.resume(request.session_id, request.session_epoch, by_id, ports.now_ms)
    if isinstance(session, Error):
        return session
    if not sessions.update(session, wanted, forgotten):
        return Error.FETCH_SESSION_ID_NOT_FOUND
    if not session.partitions:
        sessions.close(session.session_id)
        return None, wanted
    return session, dict(session.partitions)


def _identity(ports: FetchPorts, by_id: bool, name: str, topic_id: bytes) -> tuple[str, bytes]:
    """Name and id of a topic, whichever of them the request gave; an unknown id has an empty name."""
    if not by_id:
        return name, b""
    info = ports.metadata.topic_by_id(topic_id)
    return (info.name if info else "", topic_id)


def _respond(session: FetchSession | None, answers: list[PartitionAnswer]) -> FetchResponse:
    """All answers, or within a session only those with something new (``IncrementalFetchContext``)."""
    session_id = NO_SESSION
    if session is not None:
        session_id, incremental = session.session_id, session.epoch > INITIAL_EPOCH + 1
        answers = [answer for answer in answers if _is_news(session, answer, incremental)]
    for answer in answers:
        if answer.size_bytes and answer.partition is not None:
            answer.partition.bytes_out += answer.size_bytes
            if session is not None:
                session.serve_last(answer.key)
    return FetchResponse(0, NONE, session_id, _by_topic(answers))


def _is_news(session: FetchSession, answer: PartitionAnswer, incremental: bool) -> bool:
    """Whether the answer must contain this partition; also stores in the session what is sent. A full answer contains
    every partition.
    """
    position = session.partitions.get(answer.key)
    data = answer.data
    if position is None:
        return True
    failed = data.error_code != NONE
    news = (
        not incremental
        or answer.size_bytes > 0
        or failed
        or position.reported_error
        or data.high_watermark != position.reported_high_watermark
        or data.last_stable_offset != position.reported_last_stable_offset
        or data.log_start_offset != position.reported_log_start_offset
        or data.diverging_epoch.epoch >= 0
    )
    position.reported_high_watermark = data.high_watermark
    position.reported_last_stable_offset = data.last_stable_offset
    position.reported_log_start_offset = data.log_start_offset
    position.reported_error = failed
    return news


def _by_topic(answers: Iterable[PartitionAnswer]) -> list[FetchableTopicResponse]:
    """Adjacent partitions of one topic are one entry; the order is kept."""
    topics: list[FetchableTopicResponse] = []
    last: tuple[str, bytes] | None = None
    for answer in answers:
        name, topic_id, _ = answer.key
        if last != (name, topic_id):
            last = name, topic_id
            topics.append(FetchableTopicResponse(name, topic_id or ZERO_UUID, [answer.data]))
        else:
            topics[-1].partitions.append(answer.data)
    return topics
