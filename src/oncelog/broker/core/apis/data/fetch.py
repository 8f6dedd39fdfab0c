"""Fetch (key 1), versions 4-18: read batches as stored in the log, as far as the isolation level allows.

Version 7 adds incremental sessions (KIP-227), 9 the leader epoch check, 11 a rack, 12 the last fetched epoch
(flexible), 13 topic ids, 16 node endpoints. The answer waits in the purgatory until ``min_bytes`` are available or
``max_wait_ms`` is over. Records are returned as file slices, which the server sends without copying. Sources: Kafka's
``KafkaApis.handleFetchRequest``, ``ReplicaManager.fetchMessages`` and ``FetchManager``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from oncelog.broker.core.apis.data.fetch_reading import (
    PartitionAnswer,
    may_read,
    partition_of,
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
from oncelog.broker.core.requests.work import Work, finished, groups_in_parts, in_parts
from oncelog.errors import Error
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
PARTITIONS_IN_A_CHUNK = 100
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
    if _names_many(request):
        return _ChunkedFetch(ports, context, request, isolation).begin(_positions(ports, context, request))
    opened = finished(_positions(ports, context, request))
    if isinstance(opened, Error):
        return FetchResponse(error_code=opened)
    session, positions = opened
    if len(positions) > PARTITIONS_IN_A_CHUNK:
        return _ChunkedFetch(ports, context, request, isolation).begin(_opened(opened))
    answers = list(read_all(ports, context, request, positions, isolation))
    if request.max_wait_ms <= 0 or _is_enough(request, answers):
        return _respond(ports, session, answers)
    response: Deferred[FetchResponse] = Deferred()

    def answer() -> None:
        response.resolve(_respond(ports, session, list(read_all(ports, context, request, positions, isolation))))

    waiting = _ParkedRead(ports, context, request, positions, isolation, answer, response.fail)
    fetch = ParkedFetch(context.channel, waiting.attempt)
    waiting.watch(fetch, answers)
    if not fetch.partitions:
        return _respond(ports, session, answers)
    ports.fetches.ends_at(fetch, ports.now_ms + request.max_wait_ms)
    if context.is_long:
        ports.long_requests.answered(context)
    return response


def _names_many(request: FetchRequest) -> bool:
    topics, forgotten = request.topics, request.forgotten_topics_data
    if len(topics) + len(forgotten) > PARTITIONS_IN_A_CHUNK:
        return True
    named = sum([len(topic.partitions) for topic in topics]) + sum([len(topic.partitions) for topic in forgotten])
    return named > PARTITIONS_IN_A_CHUNK


def _is_enough(request: FetchRequest, answers: Sequence[PartitionAnswer]) -> bool:
    """Whether the answers satisfy the fetch, or contain something to report at once."""
    size_bytes, at_once = 0, False
    for answer in answers:
        size_bytes += answer.size_bytes
        at_once = at_once or answer.at_once
    return at_once or size_bytes >= request.min_bytes


class _ParkedRead:
    """What a waiting fetch has read so far; when a partition advances, only that one is read again.

    :param answer: reads everything again and answers.
    """

    def __init__(
        self,
        ports: FetchPorts,
        context: RequestContext,
        request: FetchRequest,
        positions: dict[PartitionKey, FetchPosition],
        isolation: IsolationLevel,
        answer: Callable[[], None],
        fail: Callable[[Exception], None],
    ) -> None:
        self._ports = ports
        self._context = context
        self._request = request
        self._positions = positions
        self._isolation = isolation
        self._answer = answer
        self._fail = fail
        self._keys: dict[TopicPartition, PartitionKey] = {}
        self._sizes: dict[PartitionKey, int] = {}
        self._total = 0

    def watch(self, fetch: ParkedFetch, answers: Iterable[PartitionAnswer]) -> list[TopicPartition]:
        """Have ``fetch`` watch the partitions of ``answers``; returns those that have changed since they were read."""
        late: list[TopicPartition] = []
        watched: list[TopicPartition] = []
        for answer in answers:
            key, data, size_bytes, _ = answer
            partition = partition_of(self._ports, key)
            if partition is None or not may_read(self._ports, self._context, self._request, key, log=False):
                continue
            log, topic_partition = partition.log, partition.topic_partition
            watched.append(topic_partition)
            self._keys[topic_partition] = key
            self._sizes[key] = size_bytes
            self._total += size_bytes
            if log.high_watermark != data.high_watermark or log.last_stable_offset != data.last_stable_offset:
                late.append(topic_partition)
        if watched:
            self._ports.fetches.watch(fetch, watched)
        return late

    def attempt(self, woken: TopicPartition | None) -> bool:
        """See :class:`ParkedFetch`."""
        try:
            if woken is not None and not self.has_enough(woken):
                return False
            self._answer()
        except Exception as error:  # noqa: BLE001 - a producer's request may have woken this
            self._fail(error)
        return True

    def has_enough(self, woken: TopicPartition) -> bool:
        """Whether to answer the fetch now that ``woken`` has changed."""
        key = self._keys[woken]
        left = min(self._request.max_bytes, self._ports.config.fetch_max_bytes)
        answer = read_partition(
            self._ports,
            self._context,
            self._request,
            key,
            self._positions[key],
            self._isolation,
            left,
            at_least_one_batch=True,
        )
        self._total += answer.size_bytes - self._sizes[key]
        self._sizes[key] = answer.size_bytes
        failed = answer.data.error_code != Error.NONE  # its topic may have been deleted
        return failed or answer.at_once or self._total >= self._request.min_bytes


class _ChunkedFetch:
    """A fetch of many partitions, which are read in chunks, with other callbacks in between."""

    def __init__(
        self,
        ports: FetchPorts,
        context: RequestContext,
        request: FetchRequest,
        isolation: IsolationLevel,
    ) -> None:
        context.has_many_partitions = True
        self._response: Deferred[FetchResponse] = Deferred()
        self._ports = ports
        self._context = context
        self._request = request
        self._session: FetchSession | None = None
        self._positions: dict[PartitionKey, FetchPosition] = {}
        self._isolation = isolation

    def begin(self, opening: Work[_Opened | Error]) -> Deferred[FetchResponse]:
        """:param opening: determines what to read."""
        self._work(self._look(opening))
        return self._response

    def _work(self, work: Work[None]) -> None:
        done = self._ports.tasks.begin(work, self._context.channel, owner=self._context)
        done.then(lambda _: None, self._response.fail)

    def _look(self, opening: Work[_Opened | Error]) -> Work[None]:
        """Answer with what is available, or wait for more."""
        opened = yield from opening
        if isinstance(opened, Error):
            self._response.resolve(FetchResponse(error_code=opened))
            return
        self._session, self._positions = opened
        self._request.topics, self._request.forgotten_topics_data = [], []  # the wait may be long
        answers = yield from self._read()
        if self._request.max_wait_ms <= 0 or _is_enough(self._request, answers):
            yield from self._answer(answers)
            return
        waiting = _ParkedRead(
            self._ports,
            self._context,
            self._request,
            self._positions,
            self._isolation,
            lambda: self._work(self._answer_now()),
            self._response.fail,
        )
        late: deque[TopicPartition] = deque()
        is_waiting = is_final = False

        def attempt(woken: TopicPartition | None) -> bool:
            nonlocal is_final
            if is_waiting:
                return waiting.attempt(woken)
            if woken is not None:  # not all partitions have been read yet
                late.append(woken)
                return False
            is_final = True
            return True

        fetches, fetch = self._ports.fetches, ParkedFetch(self._context.channel, attempt)
        while answers:
            late += waiting.watch(fetch, answers[-PARTITIONS_IN_A_CHUNK:])
            del answers[-PARTITIONS_IN_A_CHUNK:]
            yield
        has_enough = is_final or not fetch.partitions
        while late and not has_enough:
            has_enough = any(waiting.has_enough(late.popleft()) for _ in range(min(len(late), PARTITIONS_IN_A_CHUNK)))
            if late:
                yield
        if has_enough or is_final:
            fetches.forget(fetch)
            yield from self._answer_now()
            return
        is_waiting = True
        fetches.ends_at(fetch, self._ports.now_ms + self._request.max_wait_ms)
        if self._context.is_long:
            self._ports.long_requests.answered(self._context)

    def _read(self) -> Work[list[PartitionAnswer]]:
        answers: list[PartitionAnswer] = []
        for answer in read_all(self._ports, self._context, self._request, self._positions, self._isolation):
            answers.append(answer)
            if len(answers) % PARTITIONS_IN_A_CHUNK == 0:
                yield
        return answers

    def _answer_now(self) -> Work[None]:
        yield from self._answer((yield from self._read()))

    def _answer(self, answers: list[PartitionAnswer]) -> Work[None]:
        self._response.resolve((yield from _responding(self._ports, self._session, answers)))


def _opened(opened: _Opened) -> Work[_Opened | Error]:
    """Return a result that is already known."""
    yield from ()
    return opened


def _positions(ports: FetchPorts, context: RequestContext, request: FetchRequest) -> Work[_Opened | Error]:
    """The session in use (None without one) and what to read, in serving order (``FetchManager.newContext``)."""
    by_id = context.api_version >= FIRST_WITH_TOPIC_IDS
    wanted: dict[PartitionKey, FetchPosition] = {}
    for chunk in groups_in_parts(request.topics, lambda topic: topic.partitions, PARTITIONS_IN_A_CHUNK):
        for topic, part in chunk:
            for asked in part:
                wanted[_key(ports, by_id, topic.topic, topic.topic_id, asked.partition)] = FetchPosition(
                    asked.fetch_offset,
                    asked.partition_max_bytes,
                    asked.current_leader_epoch,
                    asked.last_fetched_epoch,
                    asked.log_start_offset,
                )
        yield
    forgotten: dict[PartitionKey, None] = {}
    for left in groups_in_parts(request.forgotten_topics_data, lambda topic: topic.partitions, PARTITIONS_IN_A_CHUNK):
        for gone, indexes in left:
            for index in indexes:
                forgotten[_key(ports, by_id, gone.topic, gone.topic_id, index)] = None
        yield
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


def _key(ports: FetchPorts, by_id: bool, name: str, topic_id: bytes, partition: int) -> PartitionKey:
    """Name and id of a topic, whichever of them the request gave; an unknown id has an empty name."""
    if not by_id:
        return name, b"", partition
    info = ports.metadata.topic_by_id(topic_id)
    return (info.name if info else "", topic_id, partition)


def _respond(ports: FetchPorts, session: FetchSession | None, answers: list[PartitionAnswer]) -> FetchResponse:
    """All answers, or within a session only those with something new (``IncrementalFetchContext``)."""
    return finished(_responding(ports, session, answers))


def _responding(ports: FetchPorts, session: FetchSession | None, answers: list[PartitionAnswer]) -> Work[FetchResponse]:
    incremental = session is not None and session.epoch > INITIAL_EPOCH + 1
    response = FetchResponse(error_code=Error.NONE, session_id=session.session_id if session else NO_SESSION)
    for part in in_parts(answers, PARTITIONS_IN_A_CHUNK):
        news = [answer for answer in part if session is None or _is_news(session, answer, incremental)]
        _add_by_topic(response.responses, news)
        for answer in news:
            if not answer.size_bytes:
                continue
            partition = partition_of(ports, answer.key)
            if partition is not None:
                partition.bytes_out += answer.size_bytes
            if session is not None:
                session.serve_last(answer.key)
        if len(answers) > PARTITIONS_IN_A_CHUNK:
            yield
    return response


def _is_news(session: FetchSession, answer: PartitionAnswer, incremental: bool) -> bool:
    """Whether the answer must contain this partition; records what the fetcher is sent. A full answer contains every
    partition."""
    position = session.partitions.get(answer.key)
    data = answer.data
    if position is None:
        return True
    failed = data.error_code != Error.NONE
    news = (
        not incremental
        or answer.size_bytes > 0
        or failed
        or position.told_error
        or data.high_watermark != position.told_high_watermark
        or data.last_stable_offset != position.told_last_stable_offset
        or data.log_start_offset != position.told_log_start_offset
        or data.diverging_epoch.epoch >= 0
    )
    position.told_high_watermark = data.high_watermark
    position.told_last_stable_offset = data.last_stable_offset
    position.told_log_start_offset = data.log_start_offset
    position.told_error = failed
    return news


def _add_by_topic(topics: list[FetchableTopicResponse], answers: Iterable[PartitionAnswer]) -> None:
    """Group adjacent partitions of one topic into one entry; the order is kept."""
    last = (topics[-1].topic, topics[-1].topic_id) if topics else None
    for answer in answers:
        name, topic_id, _ = answer.key
        if (name, topic_id or ZERO_UUID) != last:
            topics.append(FetchableTopicResponse(topic=name))
            if topic_id:
                topics[-1].topic_id = topic_id
            last = (name, topic_id or ZERO_UUID)
        topics[-1].partitions.append(answer.data)
