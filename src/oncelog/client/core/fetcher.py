"""Reads ahead: which partitions to ask for, in which request, and the records of the answers.

Called by the consumer. Each broker has at most one Fetch under way, in an incremental session (KIP-227). A partition is
asked for again as soon as its answer has arrived, up to two answers ahead of the program. Positions move only when
records are handed out, and records that a seek or a rebalance has overtaken are dropped. Source: ``AbstractFetch``,
``CompletedFetch``, ``FetchSessionHandler``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

from oncelog.client.core.backoff import backoff_ms
from oncelog.client.core.config import ConsumerConfig
from oncelog.client.core.errors import OffsetOutOfRangeError, RecordDeserializationError, error_for, error_of
from oncelog.client.core.metadata import NO_NODE, ClusterMetadata
from oncelog.client.core.read_committed import filter_batches
from oncelog.client.core.structs import Columns, ConsumerRecord, TopicPartition
from oncelog.client.core.subscription import PartitionState, Reset, Subscription
from oncelog.client.core.truncation import TruncationCheck
from oncelog.client.core.wire import FETCH, Answer, Failure, Wire
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from oncelog.protocol.generated.fetch_response import FetchResponse, PartitionData
from oncelog.protocol.wire import ZERO_UUID
from oncelog.records.batch import CorruptBatch, consumer_records, iter_headers, record_columns
from oncelog.timers import Timer

AHEAD = 2
"""Answers kept for a partition beyond the one being handed out."""
Deserializer = Callable[[bytes], Any]
_new_record = partial(tuple.__new__, ConsumerRecord)


class _Session:
    """An incremental fetch session with one broker: what it believes we want (KIP-227)."""

    __slots__ = ("epoch", "id", "known")

    def __init__(self) -> None:
        self.id = 0
        self.epoch = 0
        self.known: dict[TopicPartition, tuple[bytes, int, int]] = {}
        """Topic id, fetch offset and leader epoch last told."""

    def reset(self) -> None:
        self.id = self.epoch = 0
        self.known = {}

    def next(self) -> None:
        self.epoch = 1 if self.epoch == 0x7FFFFFFF else self.epoch + 1


class _Fetched:
    """One answer for one partition, decoded batch by batch as it is handed out."""

    __slots__ = ("batches", "buf", "decoded", "next_offset", "partition", "records", "taken", "version")

    def __init__(
        self,
        partition: TopicPartition,
        version: int,
        buf: memoryview,
        batches: deque[tuple[int, Any]],
        next_offset: int,
    ) -> None:
        self.partition = partition
        self.version = version
        self.buf = buf
        self.batches = batches
        self.next_offset = next_offset
        self.records: list[ConsumerRecord] = []
        self.decoded: tuple[int, Any] | None = None
        """The batch that ``records`` came from."""
        self.taken = 0


class Chunk(NamedTuple):
    """Batches of one answer, as stored: position in ``data`` and header of each. Records before ``first_offset`` are
    not meant."""

    data: memoryview
    batches: list[tuple[int, Any]]
    first_offset: int


class Fetcher:
    """Fetches for the assigned partitions and hands out their records.

    :param on_data: there may be something to hand out (records, or an error to raise).
    :param on_reset: a partition has lost its position.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        wire: Wire,
        metadata: ClusterMetadata,
        subscription: Subscription,
        *,
        key_deserializer: Deserializer | None,
        value_deserializer: Deserializer | None,
        on_data: Callable[[], None],
        on_reset: Callable[[], None],
    ) -> None:
        self._config = config
        self._wire = wire
        self._metadata = metadata
        self._subscription = subscription
        self._key_deserializer = key_deserializer
        self._value_deserializer = value_deserializer
        self._on_data = on_data
        self._on_reset = on_reset
        self._truncation = TruncationCheck(
            config,
            wire,
            metadata,
            subscription,
            on_truncated=lambda name: self.drop({name}),
            on_error=self._fail,
            on_done=self._looked,
        )
        self._sessions: dict[int, _Session] = {}
        self._busy: set[int] = set()
        self._failures: dict[int, int] = {}
        self._not_before: dict[int, int] = {}
        self._ready: deque[_Fetched] = deque()
        self._buffered: dict[TopicPartition, int] = {}
        self._error: KafkaError | None = None
        self._timer: Timer | None = None
        self._closed = False

    # --- asking

    def poll(self, now_ms: int) -> None:
        """Ask every broker that leads a partition which may be read further."""
        if self._closed:
            return
        wanted: dict[int, dict[TopicPartition, PartitionState]] = {}
        unsure: dict[int, dict[TopicPartition, PartitionState]] = {}
        for name, state in self._subscription.assigned.items():
            if not state.fetchable or self._buffered.get(name, 0) >= AHEAD:
                continue
            leader = self._metadata.leader(name)
            if leader == NO_NODE:
                self._metadata.want((name.topic,))
                self._metadata.request_update()
                continue
            groups = unsure if self._truncation.due(name, state) else wanted
            groups.setdefault(leader, {})[name] = state
        for node, partitions in unsure.items():
            again_ms = self._truncation.ask(node, partitions, now_ms)
            if again_ms is not None:
                self._wake(again_ms)
        for node, partitions in wanted.items():
            if node in self._busy:
                continue
            wait = self._not_before.get(node, 0)
            if wait > now_ms:
                self._wake(wait)
            elif self._wire.ready(node):
                self._fetch(node, partitions)

    def close(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _wake(self, at_ms: int) -> None:
        if self._timer is not None and self._timer.pending and self._timer.at_ms <= at_ms:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._wire.timers.schedule(at_ms, self.poll)

    def _fetch(self, node: int, partitions: dict[TopicPartition, PartitionState]) -> None:
        self._busy.add(node)
        session = self._sessions.setdefault(node, _Session())
        ids = {name.topic: self._metadata.topic_id(name.topic) for name in partitions}
        by_id = all(topic_id != ZERO_UUID for topic_id in ids.values())
        positions = {name: (state.version, state.fetch_position) for name, state in partitions.items()}
        request = self._request(session, partitions, ids)

        def answered(answer: Answer, version: int, now_ms: int) -> None:
            self._busy.discard(node)
            self._answered(node, session, positions, answer, now_ms)
            self.poll(now_ms)

        self._wire.send(
            node,
            FETCH,
            request,
            answered,
            timeout_ms=self._config.request_timeout_ms + self._config.fetch_max_wait_ms,
            highest=FETCH.highest if by_id else 12,
        )

    def _request(
        self, session: _Session, partitions: dict[TopicPartition, PartitionState], ids: dict[str, bytes]
    ) -> FetchRequest:
        full = session.epoch == 0
        told: dict[TopicPartition, tuple[bytes, int, int]] = {}
        topics: dict[str, list[FetchPartition]] = {}
        for name, state in partitions.items():
            epoch = self._metadata.leader_epoch(name)
            told[name] = (ids[name.topic], state.fetch_position, epoch)
            if not full and session.known.get(name) == told[name]:
                continue
            topics.setdefault(name.topic, []).append(
                FetchPartition(
                    partition=name.partition,
                    current_leader_epoch=epoch,
                    fetch_offset=state.fetch_position,
                    partition_max_bytes=self._config.max_partition_fetch_bytes,
                )
            )
        forgotten: dict[tuple[str, bytes], list[int]] = {}
        if not full:
            for name, (topic_id, _, _) in session.known.items():
                if name not in told or told[name][0] != topic_id:
                    forgotten.setdefault((name.topic, topic_id), []).append(name.partition)
        session.known = told
        return FetchRequest(
            max_wait_ms=self._config.fetch_max_wait_ms,
            min_bytes=self._config.fetch_min_bytes,
            max_bytes=self._config.fetch_max_bytes,
            isolation_level=int(self._config.read_committed),
            session_id=session.id,
            session_epoch=session.epoch,
            topics=[FetchTopic(topic=topic, topic_id=ids[topic], partitions=items) for topic, items in topics.items()],
            forgotten_topics_data=[
                ForgottenTopic(topic=topic, topic_id=topic_id, partitions=numbers)
                for (topic, topic_id), numbers in forgotten.items()
            ],
            rack_id=self._config.client_rack,
        )

    def _looked(self, now_ms: int) -> None:
        """Positions were looked at: on with those that stand, and somebody must find those that do not."""
        self._on_reset()
        self.poll(now_ms)

    # --- answers

    def _answered(
        self,
        node: int,
        session: _Session,
        positions: dict[TopicPartition, tuple[int, int]],
        answer: Answer,
        now_ms: int,
    ) -> None:
        error = answer.error if isinstance(answer, Failure) else error_of(answer.error_code)
        if error is not Error.NONE:
            session.reset()
            if error.refresh_metadata or isinstance(answer, Failure):
                self._metadata.request_update()
            if not error.retriable:
                self._fail(error_for(error, "the broker refused to be read from"))
            if error not in (Error.FETCH_SESSION_ID_NOT_FOUND, Error.INVALID_FETCH_SESSION_EPOCH):
                self._back_off(node, now_ms)
            return
        self._failures.pop(node, None)
        response: FetchResponse = answer
        if response.session_id:
            session.id = response.session_id
            session.next()
        else:
            session.reset()
        for topic in response.responses:
            topic_name = topic.topic or self._metadata.names_by_id.get(topic.topic_id, "")
            for partition in topic.partitions:
                name = TopicPartition(topic_name, partition.partition_index)
                asked = positions.get(name)
                if asked is not None:
                    self._take(node, name, asked, partition, now_ms)

    def _back_off(self, node: int, now_ms: int) -> None:
        failures = self._failures[node] = self._failures.get(node, 0) + 1
        config = self._config
        self._not_before[node] = now_ms + backoff_ms(failures, config.retry_backoff_ms, config.retry_backoff_max_ms)

    def _take(self, node: int, name: TopicPartition, asked: tuple[int, int], data: PartitionData, now_ms: int) -> None:
        state = self._subscription.assigned.get(name)
        if state is None or state.version != asked[0] or state.fetch_position != asked[1]:
            return
        error = error_of(data.error_code)
        if error is not Error.NONE:
            self._refused(node, name, state, error, data, now_ms)
            return
        state.fetched_at_ms = now_ms
        if data.high_watermark >= 0:
            state.high_watermark = data.high_watermark
        if data.last_stable_offset >= 0:
            state.last_stable_offset = data.last_stable_offset
        if data.log_start_offset >= 0:
            state.log_start_offset = data.log_start_offset
        if not data.records:
            return
        try:
            self._keep(name, state, data)
        except CorruptBatch as corrupt:
            self._fail(KafkaError(Error.CORRUPT_MESSAGE, f"{name} at offset {asked[1]}: {corrupt}"))

    def _keep(self, name: TopicPartition, state: PartitionState, data: PartitionData) -> None:
        """Queue the batches that may be delivered; positions pass over the others."""
        buf = memoryview(data.records or b"")
        headers = list(iter_headers(buf))
        if not headers:
            raise CorruptBatch(f"a batch larger than the answer ({len(buf)} bytes)")
        aborted = None
        if self._config.read_committed:
            aborted = [(item.first_offset, item.producer_id) for item in data.aborted_transactions or ()]
        kept = deque(filter_batches(buf, headers, aborted))
        next_offset = headers[-1][1].next_offset
        state.fetch_position = next_offset
        state.last_fetched_epoch = headers[-1][1].partition_leader_epoch
        if not kept and not self._buffered.get(name):
            state.position = next_offset
            self._on_data()
            return
        self._buffered[name] = self._buffered.get(name, 0) + 1
        self._ready.append(_Fetched(name, state.version, buf, kept, next_offset))
        self._on_data()

    def _refused(
        self, node: int, name: TopicPartition, state: PartitionState, error: Error, data: PartitionData, now_ms: int
    ) -> None:
        if error is Error.OFFSET_OUT_OF_RANGE:
            reset = self._subscription.default_reset
            if reset is Reset.NONE:
                self._fail(
                    OffsetOutOfRangeError(
                        error,
                        f"offset {state.fetch_position} of {name} does not exist (any more) and auto.offset.reset is "
                        "none; seek to an offset that does",
                    )
                )
                state.paused = True
            else:
                self.drop({name})
                state.need_reset(reset)
                self._on_reset()
            return
        if error in (Error.TOPIC_AUTHORIZATION_FAILED, Error.UNSUPPORTED_COMPRESSION_TYPE):
            self._fail(error_for(error, f"topic {name.topic!r} cannot be read"))
            state.paused = True
            return
        told = data.current_leader
        if not self._metadata.leader_changed(name, told.leader_id, told.leader_epoch):
            self._metadata.request_update()
        session = self._sessions.get(node)
        if session is not None:
            session.known.pop(name, None)
        self._back_off(node, now_ms)

    def _fail(self, error: KafkaError) -> None:
        self._error = error
        self._on_data()

    # --- handing out

    @property
    def has_data(self) -> bool:
        """Whether records or an error may be handed out now. May be wrong about records, never about none."""
        if self._error is not None:
            return True
        return any(self._deliverable(item) for item in self._ready)

    def _deliverable(self, item: _Fetched) -> bool:
        state = self._subscription.assigned.get(item.partition)
        return state is not None and not state.paused and not state.revoking

    def take_one(self) -> ConsumerRecord | None:
        """The next record where it is at hand, without looking further; else None."""
        if self._error is not None or not self._ready:
            return None
        item = self._ready[0]
        taken = item.taken
        if taken + 1 >= len(item.records):
            return None
        state = self._subscription.assigned.get(item.partition)
        if state is None or item.version != state.version or state.paused or state.revoking:
            return None
        item.taken = taken + 1
        record = item.records[taken]
        state.position = record.offset + 1
        return record

    def take(
        self, most: int, only: Collection[TopicPartition] = (), now_ms: int = 0
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Up to ``most`` records by partition; positions move behind them.

        :raises KafkaError: something that reading cannot get over by itself; told once.
        """
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        result: dict[TopicPartition, list[ConsumerRecord]] = {}
        skipped: list[_Fetched] = []
        while self._ready and most > 0:
            item = self._ready[0]
            name = item.partition
            state = self._subscription.assigned.get(name)
            if state is None or item.version != state.version:
                self._ready.popleft()
                self._release(name)
                continue
            if (only and name not in only) or not self._deliverable(item):
                skipped.append(self._ready.popleft())
                continue
            try:
                records = self._next_records(item, state, most)
            except KafkaError as error:
                if not result:
                    raise
                self._error = error
                break
            if records:
                most -= len(records)
                known = result.get(name)
                if known is None:
                    result[name] = records
                else:
                    known.extend(records)
            if item.taken >= len(item.records) and not item.batches:
                state.position = item.next_offset
                self._ready.popleft()
                self._release(name)
        self._ready.extendleft(reversed(skipped))
        self.poll(now_ms)
        return result

    def _release(self, name: TopicPartition) -> None:
        left = self._buffered.get(name, 0) - 1
        if left > 0:
            self._buffered[name] = left
        else:
            self._buffered.pop(name, None)

    def drop(self, partitions: Collection[TopicPartition]) -> None:
        """Forget what was fetched ahead for these."""
        for item in [item for item in self._ready if item.partition in partitions]:
            self._ready.remove(item)
            self._release(item.partition)

    def _next_records(self, item: _Fetched, state: PartitionState, most: int) -> list[ConsumerRecord]:
        while item.taken >= len(item.records):
            if not item.batches:
                return []
            self._decode(item, state)
        if item.taken == 0 and len(item.records) <= most:
            records = item.records
            item.taken = len(records)
        else:
            records = item.records[item.taken : item.taken + most]
            item.taken += len(records)
        state.position = records[-1].offset + 1
        return records

    def _decode(self, item: _Fetched, state: PartitionState) -> None:
        """Turn the next batch into records, without those before the position."""
        position, header = item.decoded = item.batches[0]
        item.taken = 0
        item.records = []
        try:
            if self._key_deserializer is None and self._value_deserializer is None:
                topic, partition = item.partition
                item.records = consumer_records(
                    item.buf,
                    position,
                    ConsumerRecord,
                    topic,
                    partition,
                    first_offset=state.position,
                    check_crc=self._config.check_crcs,
                )
                item.batches.popleft()
                return
            decoded = self._columns(item.buf, position, state.position)
        except CorruptBatch as corrupt:
            raise self._corrupt(item, state, header, corrupt) from None
        item.records = self._deserialized(item.partition, int(header.timestamp_type), decoded)
        if len(item.records) == len(decoded.offsets):
            item.batches.popleft()

    def _columns(self, buf: memoryview, position: int, first_offset: int) -> Columns:
        found = record_columns(buf, position, first_offset=first_offset, check_crc=self._config.check_crcs)
        return Columns(*found)

    def _corrupt(self, item: _Fetched, state: PartitionState, header: Any, corrupt: CorruptBatch) -> KafkaError:
        item.batches.clear()
        state.paused = True
        return KafkaError(
            Error.CORRUPT_MESSAGE,
            f"{item.partition} cannot be read from offset {header.base_offset} on: {corrupt}; "
            "seek past the batch to go on",
        )

    def _deserialized(self, name: TopicPartition, timestamp_type: int, found: Columns) -> list[ConsumerRecord]:
        """Records as the program sees them: all, or those before the first that a deserializer refuses."""
        if not found.offsets:
            return []
        topic, partition = name
        keys: Sequence[Any] = found.keys
        values: Sequence[Any] = found.values
        if self._key_deserializer is not None:
            keys = _deserialized(self._key_deserializer, found.keys, name, found.offsets)
        if self._value_deserializer is not None and keys:
            values = _deserialized(self._value_deserializer, found.values, name, found.offsets)
        columns = zip(
            repeat(topic),
            repeat(partition),
            found.offsets,
            found.timestamps,
            repeat(timestamp_type),
            keys,
            values,
            repeat(None),
            (-1 if key is None else len(key) for key in found.keys),
            (-1 if value is None else len(value) for value in found.values),
            found.headers,
            strict=False,
        )
        return list(map(_new_record, columns))

    # --- handing out whole batches

    def take_batches(self, only: Collection[TopicPartition] = (), now_ms: int = 0) -> dict[TopicPartition, list[Chunk]]:
        """Everything at hand, as the batches that it came in; positions move behind them.

        :raises KafkaError: something that reading cannot get over by itself; told once.
        """
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        result: dict[TopicPartition, list[Chunk]] = {}
        kept: deque[_Fetched] = deque()
        for item in self._ready:
            name = item.partition
            state = self._subscription.assigned.get(name)
            if state is None or item.version != state.version:
                self._release(name)
            elif (only and name not in only) or not self._deliverable(item):
                kept.append(item)
            else:
                result.setdefault(name, []).append(self._chunk(item, state))
                state.position = item.next_offset
                self._release(name)
        self._ready = kept
        self.poll(now_ms)
        return {name: chunks for name, chunks in result.items() if any(chunk.batches for chunk in chunks)}

    def _chunk(self, item: _Fetched, state: PartitionState) -> Chunk:
        """What is left of an answer; the batch that was begun one by one is gone on with from the position."""
        begun = item.taken < len(item.records)
        first = item.records[item.taken].offset if begun else state.position
        batches = list(item.batches)
        if begun and item.decoded is not None and (not batches or batches[0] is not item.decoded):
            batches.insert(0, item.decoded)
        return Chunk(item.buf, batches, first)


def _deserialized(
    function: Deserializer, values: Sequence[bytes | None], name: TopicPartition, offsets: Sequence[int]
) -> tuple[Any, ...]:
    """The values up to the first that ``function`` refuses; its exception where that is the very first."""
    done: list[Any] = []
    try:
        for value in values:
            done.append(None if value is None else function(value))
    except Exception as error:
        if not done:
            raise RecordDeserializationError(
                Error.INVALID_RECORD,
                f"the record at offset {offsets[0]} of {name} cannot be deserialized: {error!r}; seek past it to go on",
            ) from error
    return tuple(done)
