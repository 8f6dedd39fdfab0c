"""Fetch (key 1), versions 4-18: read batches as they lie in the log, within what the isolation level lets one see.

Version 7 brings incremental sessions (KIP-227), 9 the leader epoch check, 11 a rack, 12 the last fetched epoch
(flexible), 13 topic ids, 16 node endpoints. The answer waits in the purgatory until ``min_bytes`` are there or
``max_wait_ms`` is over.
Records leave as file slices: the shell sends them without copying. Sources: Kafka's ``KafkaApis.handleFetchRequest``,
``ReplicaManager.fetchMessages`` and ``FetchManager``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from oncelog.acls import Operation
from oncelog.broker.context import RequestContext
from oncelog.broker.fetch_sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    FetchPosition,
    FetchSession,
    PartitionKey,
)
from oncelog.broker.partition import Partition
from oncelog.broker.purgatory import ParkedFetch
from oncelog.broker.security.access import TOPIC, allows
from oncelog.broker.slices import Work, finished, groups_in_parts, in_parts
from oncelog.deferred import Deferred
from oncelog.errors import CorruptLogError, Error, StorageError
from oncelog.protocol.fetch_fast import set_slices
from oncelog.protocol.generated.fetch_request import FetchRequest
from oncelog.protocol.generated.fetch_response import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from oncelog.protocol.wire import ZERO_UUID
from oncelog.types import IsolationLevel, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

FIRST_WITH_TOPIC_IDS = 13
FIRST_WITH_LEADERS = 16
"""Who leads is told with NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH (KIP-951)."""
PARTITIONS_IN_A_PIECE = 100
_Opened = tuple[FetchSession | None, dict[PartitionKey, FetchPosition]]
"""The session in use, and what to read."""
ISOLATION_LEVELS = {int(level): level for level in IsolationLevel}


class _Answer(NamedTuple):
    """What one partition answers, and whether that is a reason not to wait."""

    key: PartitionKey
    data: PartitionData
    size_bytes: int
    at_once: bool


def handle(broker: Broker, context: RequestContext, request: FetchRequest) -> FetchResponse | Deferred[FetchResponse]:
    """Answers at once when there is enough, something to report, or nothing to wait for; else later."""
    isolation = ISOLATION_LEVELS.get(request.isolation_level)
    if isolation is None:
        return FetchResponse(error_code=Error.INVALID_REQUEST)
    if _names_many(request):
        return _WideFetch(broker, context, request, isolation).begin(_positions(broker, context, request))
    opened = finished(_positions(broker, context, request))
    if isinstance(opened, Error):
        return FetchResponse(error_code=opened)
    session, positions = opened
    if len(positions) > PARTITIONS_IN_A_PIECE:
        return _WideFetch(broker, context, request, isolation).begin(_opened(opened))
    answers = list(_read(broker, context, request, positions, isolation))
    if request.max_wait_ms <= 0 or _is_enough(request, answers):
        context.may_be_repeated = len(answers) == 1 and answers[0].size_bytes > 0
        return _respond(broker, session, answers)
    watched = tuple(
        partition.topic_partition
        for key in positions
        if (partition := _partition(broker, key)) is not None and _may_read(broker, context, key, log=False)
    )
    if not watched:
        return _respond(broker, session, answers)
    response: Deferred[FetchResponse] = Deferred()
    waiting = _Waiting(broker, context, request, positions, isolation, answers)

    def attempt(final: bool, woken: TopicPartition | None) -> bool:
        try:
            if woken is not None and not waiting.has_enough(woken):
                return False
            return look(final or woken is not None)
        except Exception as error:  # noqa: BLE001 - it may be the turn of whoever wrote to the partition
            response.fail(error)
            return True

    def look(final: bool) -> bool:
        answers = list(_read(broker, context, request, positions, isolation))
        if not (final or _is_enough(request, answers)):
            waiting.note(answers)
            return False
        response.resolve(_respond(broker, session, answers))
        return True

    broker.fetches.park(ParkedFetch(context.channel, watched, attempt), broker.now_ms + request.max_wait_ms)
    if context.is_long:
        broker.long_requests.answered(context)
    return response


def _names_many(request: FetchRequest) -> bool:
    topics, forgotten = request.topics, request.forgotten_topics_data
    if len(topics) + len(forgotten) > PARTITIONS_IN_A_PIECE:
        return True
    named = sum([len(topic.partitions) for topic in topics]) + sum([len(topic.partitions) for topic in forgotten])
    return named > PARTITIONS_IN_A_PIECE


def _is_enough(request: FetchRequest, answers: Sequence[_Answer]) -> bool:
    """Whether there is what the fetch asks for, or something to report at once."""
    size_bytes, at_once = 0, False
    for answer in answers:
        size_bytes += answer.size_bytes
        at_once = at_once or answer.at_once
    return at_once or size_bytes >= request.min_bytes


class _Waiting:
    """How much there is for a fetch that waits; a partition that advances costs a look at that one, not at all."""

    def __init__(
        self,
        broker: Broker,
        context: RequestContext,
        request: FetchRequest,
        positions: dict[PartitionKey, FetchPosition],
        isolation: IsolationLevel,
        answers: Iterable[_Answer],
    ) -> None:
        """:param answers: what the first look at all partitions found."""
        self._broker = broker
        self._context = context
        self._request = request
        self._positions = positions
        self._isolation = isolation
        self._keys: dict[TopicPartition, PartitionKey] = {}
        self.note(answers)

    def note(self, answers: Iterable[_Answer]) -> None:
        """What a look at all partitions found."""
        self._sizes = {answer.key: answer.size_bytes for answer in answers if answer.size_bytes}
        self.total = sum(self._sizes.values())

    def has_enough(self, woken: TopicPartition) -> bool:
        """Whether the fetch is to be answered now that ``woken`` is not what it was."""
        if not self._keys:
            self._keys = {TopicPartition(key[0], key[2]): key for key in self._positions}
        key = self._keys[woken]
        left = min(self._request.max_bytes, self._broker.config.fetch_max_bytes)
        answer = _read_partition(
            self._broker, self._context, key, self._positions[key], self._isolation, left, at_least_one_batch=True
        )
        self.total += answer.size_bytes - self._sizes.get(key, 0)
        self._sizes[key] = answer.size_bytes
        return answer.at_once or self.total >= self._request.min_bytes


class _WideFetch:
    """A fetch of many partitions, which are looked at in pieces, with others' turns between."""

    def __init__(
        self,
        broker: Broker,
        context: RequestContext,
        request: FetchRequest,
        isolation: IsolationLevel,
    ) -> None:
        context.is_wide = True
        self._response: Deferred[FetchResponse] = Deferred()
        self._broker = broker
        self._context = context
        self._request = request
        self._session: FetchSession | None = None
        self._positions: dict[PartitionKey, FetchPosition] = {}
        self._isolation = isolation

    def begin(self, opening: Work[_Opened | Error]) -> Deferred[FetchResponse]:
        """:param opening: finds out what is to be read."""
        self._work(self._look(opening))
        return self._response

    def _work(self, work: Work[None]) -> None:
        done = self._broker.slices.begin(work, self._context.channel, owner=self._context)
        done.then(lambda _: None, self._response.fail)

    def _look(self, opening: Work[_Opened | Error]) -> Work[None]:
        """Answer with what there is, or wait for more."""
        opened = yield from opening
        if isinstance(opened, Error):
            self._response.resolve(FetchResponse(error_code=opened))
            return
        self._session, self._positions = opened
        self._request.topics, self._request.forgotten_topics_data = [], []  # it may wait long
        answers = yield from self._read()
        if self._request.max_wait_ms <= 0 or _is_enough(self._request, answers):
            yield from self._answer(answers)
            return
        watched: list[tuple[Partition, PartitionData]] = []
        for part in in_parts(answers, PARTITIONS_IN_A_PIECE):
            watched += [
                (partition, answer.data)
                for answer in part
                if (partition := _partition(self._broker, answer.key)) is not None
                and _may_read(self._broker, self._context, answer.key, log=False)
            ]
            yield
        waiting = _Waiting(self._broker, self._context, self._request, self._positions, self._isolation, answers)
        # From here on in one go: what a partition got while the others were looked at woke nobody.
        late = [
            partition.topic_partition
            for partition, data in watched
            if partition.log.high_watermark != data.high_watermark
            or partition.log.last_stable_offset != data.last_stable_offset
        ]
        if not watched or any(waiting.has_enough(at) for at in late):
            yield from self._answer_now()
            return

        def attempt(_final: bool, woken: TopicPartition | None) -> bool:
            try:
                if woken is not None and not waiting.has_enough(woken):
                    return False
                self._work(self._answer_now())
            except Exception as error:  # noqa: BLE001 - it may be the turn of whoever wrote to the partition
                self._response.fail(error)
            return True

        fetch = ParkedFetch(
            self._context.channel, tuple(partition.topic_partition for partition, _ in watched), attempt
        )
        self._broker.fetches.park(fetch, self._broker.now_ms + self._request.max_wait_ms)
        if self._context.is_long:
            self._broker.long_requests.answered(self._context)

    def _read(self) -> Work[list[_Answer]]:
        answers: list[_Answer] = []
        for answer in _read(self._broker, self._context, self._request, self._positions, self._isolation):
            answers.append(answer)
            if len(answers) % PARTITIONS_IN_A_PIECE == 0:
                yield
        return answers

    def _answer_now(self) -> Work[None]:
        yield from self._answer((yield from self._read()))

    def _answer(self, answers: list[_Answer]) -> Work[None]:
        self._response.resolve((yield from _responding(self._broker, self._session, answers)))


def _opened(opened: _Opened) -> Work[_Opened | Error]:
    """What was found out before."""
    yield from ()
    return opened


def _positions(broker: Broker, context: RequestContext, request: FetchRequest) -> Work[_Opened | Error]:
    """The session in use (None without) and what to read, in serving order (``FetchManager.newContext``)."""
    by_id = context.api_version >= FIRST_WITH_TOPIC_IDS
    wanted: dict[PartitionKey, FetchPosition] = {}
    for piece in groups_in_parts(request.topics, lambda topic: topic.partitions, PARTITIONS_IN_A_PIECE):
        for topic, part in piece:
            for asked in part:
                wanted[_key(broker, by_id, topic.topic, topic.topic_id, asked.partition)] = FetchPosition(
                    asked.fetch_offset,
                    asked.partition_max_bytes,
                    asked.current_leader_epoch,
                    asked.last_fetched_epoch,
                    asked.log_start_offset,
                )
        yield
    forgotten: dict[PartitionKey, None] = {}
    for left in groups_in_parts(request.forgotten_topics_data, lambda topic: topic.partitions, PARTITIONS_IN_A_PIECE):
        for gone, indexes in left:
            for index in indexes:
                forgotten[_key(broker, by_id, gone.topic, gone.topic_id, index)] = None
        yield
    sessions = broker.fetch_sessions
    if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
        if request.session_id != NO_SESSION:
            sessions.close(request.session_id)
        if request.session_epoch == FINAL_EPOCH or context.api_version < 7:
            return None, wanted
        return sessions.open(wanted, by_id, broker.now_ms), wanted
    session = sessions.resume(request.session_id, request.session_epoch, by_id, broker.now_ms)
    if isinstance(session, Error):
        return session
    if not sessions.update(session, wanted, forgotten):
        return Error.FETCH_SESSION_ID_NOT_FOUND
    return session, dict(session.partitions)


def _key(broker: Broker, by_id: bool, name: str, topic_id: bytes, partition: int) -> PartitionKey:
    """Name and id of a topic, whichever the request gave; an unknown id has an empty name."""
    if not by_id:
        return name, b"", partition
    info = broker.metadata.topic_by_id(topic_id)
    return (info.name if info else "", topic_id, partition)


def _partition(broker: Broker, key: PartitionKey) -> Partition | None:
    name, topic_id, index = key
    partition = broker.partition(TopicPartition(name, index))
    if partition is not None and topic_id and partition.topic_id != topic_id:
        return None
    return partition


def _may_read(broker: Broker, context: RequestContext, key: PartitionKey, *, log: bool = True) -> bool:
    name = key[0]
    return broker.authorizer is None or not name or allows(broker, context, Operation.READ, TOPIC, name, log=log)


def _read(
    broker: Broker,
    context: RequestContext,
    request: FetchRequest,
    positions: dict[PartitionKey, FetchPosition],
    isolation: IsolationLevel,
) -> Iterator[_Answer]:
    """Every partition's answer; the byte limits are spent in serving order, but for one batch that always fits."""
    left = min(request.max_bytes, broker.config.fetch_max_bytes)
    at_least_one_batch = True
    for key, position in positions.items():
        answer = _read_partition(broker, context, key, position, isolation, left, at_least_one_batch)
        if answer.size_bytes:
            at_least_one_batch = False
            left = max(0, left - answer.size_bytes)
        yield answer


def _read_partition(
    broker: Broker,
    context: RequestContext,
    key: PartitionKey,
    position: FetchPosition,
    isolation: IsolationLevel,
    left: int,
    at_least_one_batch: bool,
) -> _Answer:
    if not _may_read(broker, context, key):
        return _not_asked(key, Error.TOPIC_AUTHORIZATION_FAILED)
    partition = _partition(broker, key)
    if (
        partition is not None
        and partition.replicas is not None
        and partition.replicas.leader != context.session.node_id
    ):
        leader = LeaderIdAndEpoch(partition.replicas.leader, partition.leader_epoch)
        return _error(key, Error.NOT_LEADER_OR_FOLLOWER, leader if context.api_version >= FIRST_WITH_LEADERS else None)
    if partition is None:
        unknown_id = key[1] and not key[0]
        error = Error.UNKNOWN_TOPIC_ID if unknown_id else Error.UNKNOWN_TOPIC_OR_PARTITION
        return _not_asked(key, error)
    log = partition.log
    partition.reads += 1
    if partition.failed:
        partition.failed_reads += 1
        return _error(key, Error.KAFKA_STORAGE_ERROR)
    error = partition.check_leader_epoch(max(position.current_leader_epoch, -1))  # what is negative asks for no check
    if error is not Error.NONE:
        leader = LeaderIdAndEpoch(context.session.node_id or broker.node.node_id, partition.leader_epoch)
        is_told = error is Error.FENCED_LEADER_EPOCH and context.api_version >= FIRST_WITH_LEADERS
        return _error(key, error, leader if is_told else None)
    data = PartitionData(
        partition_index=key[2],
        error_code=Error.NONE,
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset,
        log_start_offset=log.log_start_offset,
        aborted_transactions=[] if isolation is IsolationLevel.READ_COMMITTED else None,
        preferred_read_replica=-1,
        records=b"",
    )
    if position.last_fetched_epoch >= 0:
        epoch, end_offset = log.end_offset_for_epoch(position.last_fetched_epoch)
        if end_offset < 0:
            return _error(key, Error.OFFSET_OUT_OF_RANGE)
        if epoch < position.last_fetched_epoch or end_offset < position.fetch_offset:
            data.diverging_epoch = EpochEndOffset(epoch, end_offset)
            return _Answer(key, data, 0, at_once=True)
    bound = partition.readable_to(isolation)
    if not log.log_start_offset <= position.fetch_offset <= log.log_end_offset:
        return _error(key, Error.OFFSET_OUT_OF_RANGE)
    limit = min(left, position.max_bytes)
    try:
        read = log.read(position.fetch_offset, limit, bound, at_least_one_batch=at_least_one_batch)
        if isinstance(read, Error):
            return _error(key, read)
        if read.size_bytes:
            set_slices(data, read.slices)
            if isolation is IsolationLevel.READ_COMMITTED:
                aborted = log.aborted_transactions(position.fetch_offset, read.upper_bound_offset)
                data.aborted_transactions = [AbortedTransaction(*entry) for entry in aborted]
    except (StorageError, CorruptLogError) as failure:
        return _error(key, partition.unreadable(failure))
    return _Answer(key, data, read.size_bytes, at_once=False)


def _not_asked(key: PartitionKey, error: Error) -> _Answer:
    """No partition was asked: that is no news for the others, which wait as if they were alone."""
    answer = _error(key, error)
    answer.data.aborted_transactions = []
    return answer._replace(at_once=False)


def _error(key: PartitionKey, error: Error, current_leader: LeaderIdAndEpoch | None = None) -> _Answer:
    data = PartitionData(
        partition_index=key[2],
        error_code=error,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        aborted_transactions=None,
        preferred_read_replica=-1,
        records=b"",
    )
    if current_leader is not None:
        data.current_leader = current_leader
    return _Answer(key, data, 0, at_once=True)


def _respond(broker: Broker, session: FetchSession | None, answers: list[_Answer]) -> FetchResponse:
    """All answers, or within a session only those that say something new (``IncrementalFetchContext``)."""
    return finished(_responding(broker, session, answers))


def _responding(broker: Broker, session: FetchSession | None, answers: list[_Answer]) -> Work[FetchResponse]:
    incremental = session is not None and session.epoch > INITIAL_EPOCH + 1
    response = FetchResponse(error_code=Error.NONE, session_id=session.session_id if session else NO_SESSION)
    for part in in_parts(answers, PARTITIONS_IN_A_PIECE):
        told = [answer for answer in part if session is None or _is_news(session, answer, incremental)]
        _add_by_topic(response.responses, told)
        for answer in told:
            if not answer.size_bytes:
                continue
            partition = _partition(broker, answer.key)
            if partition is not None:
                partition.bytes_out += answer.size_bytes
            if session is not None:
                session.serve_last(answer.key)
        if len(answers) > PARTITIONS_IN_A_PIECE:
            yield
    return response


def _is_news(session: FetchSession, answer: _Answer, incremental: bool) -> bool:
    """Whether the fetcher must be told; notes what it was told. A full answer tells everything."""
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


def _add_by_topic(topics: list[FetchableTopicResponse], answers: Iterable[_Answer]) -> None:
    """Neighbours of one topic share an entry; the serving order stays."""
    last = (topics[-1].topic, topics[-1].topic_id) if topics else None
    for answer in answers:
        name, topic_id, _ = answer.key
        if (name, topic_id or ZERO_UUID) != last:
            topics.append(FetchableTopicResponse(topic=name))
            if topic_id:
                topics[-1].topic_id = topic_id
            last = (name, topic_id or ZERO_UUID)
        topics[-1].partitions.append(answer.data)
