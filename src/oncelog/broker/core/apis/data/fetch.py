"""Fetch (key 1), versions 4-18: read batches as stored in the log, as far as the isolation level allows.

Version 7 adds incremental sessions (KIP-227), 9 the leader epoch check, 11 a rack, 12 the last fetched epoch
(flexible), 13 topic ids, 16 node endpoints. The answer waits in the purgatory until ``min_bytes`` are available or
``max_wait_ms`` is over. Records are returned as file slices, which the server sends without copying. Sources: Kafka's
``KafkaApis.handleFetchRequest``, ``ReplicaManager.fetchMessages`` and ``FetchManager``.
"""

from __future__ import annotations

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
    FetchSession,
)
from oncelog.broker.core.fetching.purgatory import ParkedFetch
from oncelog.broker.core.requests.context import RequestContext
from oncelog.errors import NONE, Error
from oncelog.protocol.fetch_fast import (
    FIRST_WITH_SESSIONS,
    FIRST_WITH_TOPIC_IDS,
    FetchAnswered,
    FetchAsked,
    FetchPosition,
    PartitionKey,
)
from oncelog.runtime.deferred import Deferred
from oncelog.types import IsolationLevel, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import FetchPorts

_Opened = tuple[FetchSession | None, dict[PartitionKey, FetchPosition]]
"""The fetch session in use (None without one), and the partitions to read."""
ISOLATION_LEVELS = {int(level): level for level in IsolationLevel}


def handle(ports: FetchPorts, context: RequestContext, request: FetchAsked) -> FetchAnswered | Deferred[FetchAnswered]:
    """Handle Fetch: answer at once if there is enough data, something to report, or nothing to wait for; otherwise
    later."""
    isolation = ISOLATION_LEVELS.get(request.isolation_level)
    if isolation is None:
        return FetchAnswered(Error.INVALID_REQUEST)
    opened = _open(ports, context, request)
    if not isinstance(opened, tuple):
        return FetchAnswered(opened)
    session, positions = opened
    answers, is_enough = read_all(ports, context, request, positions, isolation)
    if is_enough or request.max_wait_ms <= 0:
        return _respond(session, answers)
    watched = []
    for _, _, partition in answers:
        if partition is not None:
            watched.append(partition.topic_partition)
    if not watched:
        return _respond(session, answers)
    request.topics = request.forgotten = ()  # free the request's memory: the fetch may wait for long
    fetch = _WaitingFetch(ports, context, request, session, positions, isolation, answers)
    ports.fetches.park(fetch, watched, ports.now_ms + request.max_wait_ms)
    ports.long_requests.answered(context)
    return fetch


class _WaitingFetch(ParkedFetch[FetchAnswered]):
    """A fetch that waits, with the sizes read so far. A partition that advances is read again; once there is enough
    data, all partitions are. A fetch of one partition, which has not advanced when the time is over, is answered with
    what was read at first."""

    __slots__ = (
        "_answers",
        "_context",
        "_isolation",
        "_ports",
        "_positions",
        "_read",
        "_request",
        "_session",
        "_total",
    )

    def __init__(
        self,
        ports: FetchPorts,
        context: RequestContext,
        request: FetchAsked,
        session: FetchSession | None,
        positions: dict[PartitionKey, FetchPosition],
        isolation: IsolationLevel,
        answers: list[PartitionAnswer],
    ) -> None:
        ParkedFetch.__init__(self, context.channel)
        self._ports = ports
        self._context = context
        self._request = request
        self._session = session
        self._positions = positions
        self._isolation = isolation
        self._answers: list[PartitionAnswer] | None = answers
        self._total = 0
        if len(answers) == 1 and not answers[0][0].size_bytes:
            return
        # an answer is kept only if it is small and has no slices, whose segment could be removed meanwhile
        self._note_read(answers)

    def _note_read(self, answers: list[PartitionAnswer]) -> None:
        self._answers = None
        read = self._read = dict[TopicPartition, tuple[PartitionKey, int]]()
        for data, _, partition in answers:
            if partition is not None:
                read[partition.topic_partition] = data.key, data.size_bytes
                self._total += data.size_bytes

    def attempt(self, woken: TopicPartition | None) -> bool:
        try:
            answers = self._answers or self._read_all() if woken is None else self._read_woken(woken)
            if answers is None:
                return False
            self.resolve(_respond(self._session, answers))
        except Exception as error:  # noqa: BLE001 - a producer's request may have woken this
            self.fail(error)
        return True

    def _read_all(self) -> list[PartitionAnswer]:
        return read_all(self._ports, self._context, self._request, self._positions, self._isolation)[0]

    def _read_woken(self, woken: TopicPartition) -> list[PartitionAnswer] | None:
        """Read the partition ``woken`` again; returns the answers for all partitions if there is enough data now, else
        None."""
        if self._answers is not None:
            self._note_read(self._answers)
        (key, before), request = self._read[woken], self._request
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
        data, at_once, _ = answer
        self._total += data.size_bytes - before
        self._read[woken] = key, data.size_bytes
        failed = data.error_code != NONE  # for example, the topic was deleted during the wait
        if not failed and not at_once and self._total < request.min_bytes:
            return None
        return [answer] if len(self._positions) == 1 else self._read_all()


def _open(ports: FetchPorts, context: RequestContext, request: FetchAsked) -> _Opened | Error:
    """The fetch session in use (None without one) and the partitions to read, in serving order
    (``FetchManager.newContext``)."""
    by_id = context.api_version >= FIRST_WITH_TOPIC_IDS
    wanted: dict[PartitionKey, FetchPosition] = {}
    for name, topic_id, positions in request.topics:
        known = _name_of(ports, topic_id) if by_id else name
        for position in positions:
            wanted[known, topic_id, position[0]] = position
    session_id, session_epoch = request.session_id, request.session_epoch
    if session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
        if session_id != NO_SESSION:
            ports.fetch_sessions.close(session_id)
        if session_epoch == FINAL_EPOCH or context.api_version < FIRST_WITH_SESSIONS:
            return None, wanted
        return ports.fetch_sessions.open(wanted, by_id, ports.now_ms), wanted
    forgotten: dict[PartitionKey, None] = {}
    for name, topic_id, indexes in request.forgotten:
        known = _name_of(ports, topic_id) if by_id else name
        for index in indexes:
            forgotten[known, topic_id, index] = None
    sessions = ports.fetch_sessions
    session = sessions.resume(request.session_id, request.session_epoch, by_id, ports.now_ms)
    if isinstance(session, Error):
        return session
    if not sessions.update(session, wanted, forgotten):
        return Error.FETCH_SESSION_ID_NOT_FOUND
    if not session.partitions:
        sessions.close(session.session_id)
        return None, wanted
    return session, dict(session.partitions)


def _name_of(ports: FetchPorts, topic_id: bytes) -> str:
    """The name of the topic with an id; empty if the id is unknown."""
    info = ports.metadata.topic_by_id(topic_id)
    return info.name if info else ""


def _respond(session: FetchSession | None, answers: list[PartitionAnswer]) -> FetchAnswered:
    """The response: all answers, or within an incremental session only those with something new
    (``IncrementalFetchContext``)."""
    session_id = NO_SESSION
    if session is not None:
        session_id, incremental = session.session_id, session.epoch > INITIAL_EPOCH + 1
        answers = [answer for answer in answers if _is_news(session, answer, incremental)]
    found = []
    for data, _, partition in answers:
        found.append(data)
        size_bytes = data.size_bytes
        if size_bytes and partition is not None:
            partition.bytes_out += size_bytes
            if session is not None:
                session.serve_last(data.key)
    return FetchAnswered(NONE, session_id, found)


def _is_news(session: FetchSession, answer: PartitionAnswer, incremental: bool) -> bool:
    """Whether the answer must contain this partition; also stores in the session which values are sent. A full answer
    contains every partition."""
    data, _, _ = answer
    failed = data.error_code != NONE
    now = data.error_code, data.high_watermark, data.last_stable_offset, data.log_start_offset
    has_changed = session.is_news(data.key, now)
    return has_changed or not incremental or data.size_bytes > 0 or failed or data.divergence is not None
