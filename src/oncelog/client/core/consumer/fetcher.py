"""Reads ahead: decides which partitions to fetch from which broker, and hands out the fetched records.

Called by the consumer. Each broker has at most one Fetch under way, in an incremental session (KIP-227). A partition is
fetched again as soon as its response has arrived, up to two responses ahead of the program. Positions move only when
records are handed out, and records made stale by a seek or a rebalance are dropped. Source: ``AbstractFetch``,
``CompletedFetch``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from oncelog.client.core.backoff import backoff_ms
from oncelog.client.core.client_errors import OffsetOutOfRangeError, error_for, error_of
from oncelog.client.core.config import ConsumerConfig
from oncelog.client.core.connection.metadata import NO_NODE, ClusterMetadata
from oncelog.client.core.connection.wire import FETCH, Answer, RequestFailure, Wire, error_in
from oncelog.client.core.consumer.completed_fetch import Chunk, CompletedFetch, Decoder, Deserializer
from oncelog.client.core.consumer.consumer_metrics import ConsumerMetrics
from oncelog.client.core.consumer.fetch_session import ClientFetchSession
from oncelog.client.core.consumer.preferred_replicas import PreferredReadReplicas
from oncelog.client.core.consumer.read_committed import filter_batches
from oncelog.client.core.consumer.subscription import PartitionState, Reset, Subscription
from oncelog.client.core.consumer.truncation import TruncationCheck
from oncelog.client.core.structs import ConsumerRecord, TopicPartition
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.fetch_response import FetchResponse, PartitionData
from oncelog.protocol.struct_fields import ZERO_UUID
from oncelog.records.batch import BatchHeader, CorruptBatch, OlderFormat, iter_headers
from oncelog.runtime.timers import Timer

AHEAD = 2
"""How many responses are kept for each partition in addition to the one being handed out."""


class Asked(NamedTuple):
    """The part of a Fetch request for one partition. Its response only counts if the position is still the same.

    :ivar topic_id: the id that identifies the topic in the request; zeros if the request uses names.
    """

    version: int
    position: int
    topic_id: bytes


class Fetcher:
    """Fetches for the assigned partitions and hands out their records.

    :param on_data: called when there may be records to hand out or an error to raise.
    :param on_reset: called when a partition has lost its position.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        wire: Wire,
        metadata: ClusterMetadata,
        subscription: Subscription,
        metrics: ConsumerMetrics,
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
        self._metrics = metrics
        self._decoder = Decoder(config.check_crcs, key_deserializer, value_deserializer, metrics.decoded)
        self.deserialize_nulls = self._decoder.deserialize_nulls
        self._on_data = on_data
        self._on_reset = on_reset
        self._truncation = TruncationCheck(
            config,
            wire,
            metadata,
            subscription,
            on_truncated=lambda name: self.drop({name}),
            on_error=self._stop,
            on_done=self._positions_checked,
        )
        self._preferred = PreferredReadReplicas(metadata, config.metadata_max_age_ms)
        self._sessions: dict[int, ClientFetchSession] = {}
        self._busy: set[int] = set()
        self._failures: dict[int, int] = {}
        self._not_before: dict[int, int] = {}
        self._ready: deque[CompletedFetch] = deque()
        self._buffered: dict[TopicPartition, int] = {}
        self._drain_first: set[TopicPartition] = set()
        """Partitions that are not fetched again until all their fetched records have been handed out."""
        self._error: KafkaError | None = None
        self._timer: Timer | None = None
        self._closed = False
        self.handed_out = False
        """Whether a fetched record has been handed out since this was last set to False."""

    # --- requests

    def poll(self, now_ms: int) -> None:
        """Send a Fetch to every broker that leads a partition of which more may be read."""
        if self._closed:
            return
        wanted: dict[int, dict[TopicPartition, PartitionState]] = {}
        unsure: dict[int, dict[TopicPartition, PartitionState]] = {}
        for name, state in self._subscription.assigned.items():
            ahead = self._buffered.get(name, 0)
            if not state.fetchable or ahead >= AHEAD or (ahead and name in self._drain_first):
                continue
            leader = self._metadata.leader(name)
            if leader == NO_NODE:
                self._metadata.want((name.topic,))
                self._metadata.request_update()
                continue
            if self._truncation.due(name, state):
                unsure.setdefault(leader, {})[name] = state
            else:
                wanted.setdefault(self._preferred.node_for(name, leader, now_ms), {})[name] = state
        for node, partitions in unsure.items():
            again_ms = self._truncation.ask(node, partitions, now_ms)
            if again_ms is not None:
                self._wake(again_ms)
        for node, partitions in wanted.items():
            if node in self._busy:
                continue
            not_before_ms = self._not_before.get(node, 0)
            if not_before_ms > now_ms:
                self._wake(not_before_ms)
            elif self._wire.ready(node) or self._preferred.asked_at(node, partitions):
                self._fetch(node, partitions)

    def close(self) -> None:
        self._closed = True
        self._ready.clear()
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
        session = self._sessions.setdefault(node, ClientFetchSession())
        ids = {name.topic: self._metadata.topic_id(name.topic) for name in partitions}
        by_id = all(topic_id != ZERO_UUID for topic_id in ids.values())
        positions = {
            name: Asked(state.version, state.fetch_position, ids[name.topic] if by_id else ZERO_UUID)
            for name, state in partitions.items()
        }
        wanted = {name: (state.fetch_position, self._metadata.leader_epoch(name)) for name, state in partitions.items()}
        request = session.request(self._config, wanted, ids)

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

    def _positions_checked(self, now_ms: int) -> None:
        """Look up lost positions again, and fetch from the valid ones; called when positions have been checked."""
        self._on_reset()
        self.poll(now_ms)

    # --- answers

    def _answered(
        self,
        node: int,
        session: ClientFetchSession,
        positions: dict[TopicPartition, Asked],
        answer: Answer,
        now_ms: int,
    ) -> None:
        error = error_in(answer)
        if error is not Error.NONE:
            session.reset()
            self._preferred.forget_all(positions)
            if error.refresh_metadata or isinstance(answer, RequestFailure):
                self._metadata.request_update()
            if not error.retriable:
                self._fail(error_for(error, "the broker refused the fetch"))
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
        size_bytes = 0
        for topic in response.responses:
            topic_name = topic.topic or self._metadata.names_by_id.get(topic.topic_id, "")
            for partition in topic.partitions:
                name = TopicPartition(topic_name, partition.partition_index)
                asked = positions.get(name)
                size_bytes += len(partition.records or b"")
                if asked is not None:
                    self._take(node, name, asked, partition, now_ms)

        self._metrics.fetched(size_bytes, response.throttle_time_ms)

    def _back_off(self, node: int, now_ms: int) -> None:
        failures = self._failures[node] = self._failures.get(node, 0) + 1
        config = self._config
        self._not_before[node] = now_ms + backoff_ms(failures, config.retry_backoff_ms, config.retry_backoff_max_ms)

    def _take(self, node: int, name: TopicPartition, asked: Asked, data: PartitionData, now_ms: int) -> None:
        state = self._subscription.assigned.get(name)
        if state is None or state.version != asked.version or state.fetch_position != asked.position:
            return
        error = error_of(data.error_code)
        if error is not Error.NONE:
            self._refused(node, name, state, error, data, now_ms)
            return
        self._drain_first.discard(name)
        self._preferred.named(name, data.preferred_read_replica, now_ms)
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
            self._keep(name, state, data, asked.topic_id)
        except OlderFormat as older:
            self._unreadable(name, state, Error.UNSUPPORTED_FOR_MESSAGE_FORMAT, f"{older}, or seek past them")
        except CorruptBatch as corrupt:
            self._damaged(name, state, str(corrupt))

    def _keep(self, name: TopicPartition, state: PartitionState, data: PartitionData, topic_id: bytes) -> None:
        """Queue the batches that may be delivered; positions skip the others."""
        buf = memoryview(data.records or b"")
        headers = list(iter_headers(buf))
        if not headers:
            raise CorruptBatch(f"a batch larger than the answer ({len(buf)} bytes)")
        aborted = None
        if self._config.read_committed:
            aborted = [(item.first_offset, item.producer_id) for item in data.aborted_transactions or ()]
        kept = deque(filter_batches(buf, headers, aborted))
        last: BatchHeader = headers[-1][1]
        answer = CompletedFetch(name, state, buf, kept, last.next_offset, last.partition_leader_epoch, topic_id)
        state.fetch_position, state.last_fetched_epoch = answer.next_offset, answer.last_epoch
        self._metrics.received(name, len(buf))
        if not kept and not self._buffered.get(name):
            answer.finish(state)
            self._on_data()
            return
        self._buffered[name] = self._buffered.get(name, 0) + 1
        self._ready.append(answer)
        self._on_data()

    def _refused(
        self, node: int, name: TopicPartition, state: PartitionState, error: Error, data: PartitionData, now_ms: int
    ) -> None:
        from_follower = self._preferred.forget(name)
        if error is Error.OFFSET_OUT_OF_RANGE and self._buffered.get(name):
            self._drain_first.add(name)  # return the buffered records first; a later request will get the same error
            return
        if error is Error.OFFSET_OUT_OF_RANGE and not from_follower:
            reset = self._subscription.default_reset
            if reset is Reset.NONE:
                text = (
                    f"offset {state.fetch_position} of {name} does not exist (any more) and auto.offset.reset is none; "
                    "seek to an existing offset"
                )
                self._stop(name, state, OffsetOutOfRangeError(error, text))
            else:
                self._drain_first.discard(name)
                self.drop({name})
                state.need_reset(reset)
                self._on_reset()
            return
        if error is Error.CORRUPT_MESSAGE:
            self._damaged(name, state, "the broker found the log damaged")
            return
        if error in (Error.TOPIC_AUTHORIZATION_FAILED, Error.UNSUPPORTED_COMPRESSION_TYPE):
            self._stop(name, state, error_for(error, f"topic {name.topic!r} cannot be read"))
            return
        leader = data.current_leader
        if not self._metadata.leader_changed(name, leader.leader_id, leader.leader_epoch):
            self._metadata.request_update()
        session = self._sessions.get(node)
        if session is not None:
            session.refused(name)
        self._back_off(node, now_ms)

    def _damaged(self, name: TopicPartition, state: PartitionState, why: str) -> None:
        self._unreadable(name, state, Error.CORRUPT_MESSAGE, f"{why}; seek past the batch to continue")

    def _unreadable(self, name: TopicPartition, state: PartitionState, error: Error, why: str) -> None:
        """Handle a batch at the fetch position that cannot be read: stop the partition once all records before the
        batch are handed out."""
        if self._buffered.get(name):
            # return the buffered records first: a seek past the bad batch must not skip them
            self._drain_first.add(name)
            return
        self._stop(name, state, error_for(error, f"{name} cannot be read from offset {state.fetch_position} on: {why}"))

    def _stop(self, name: TopicPartition, state: PartitionState, error: KafkaError) -> None:
        """Stop reading a partition because of an error."""
        self._subscription.stop(name, state, error)
        self._on_data()

    def _fail(self, error: KafkaError) -> None:
        self._error = error
        self._on_data()

    # --- handing out

    def take_one(self) -> ConsumerRecord[Any, Any] | None:
        """The next record if it is already decoded and its partition may be read; otherwise None."""
        if self._error is not None or not self._ready:
            return None
        item = self._ready[0]
        taken = item.taken
        if taken + 1 >= len(item.records):
            return None
        state = item.state
        current = self._subscription.assigned.get(item.partition) is state and item.version == state.version
        if not current or state.paused or state.revoking:
            return None
        self.handed_out = True
        item.taken = taken + 1
        record = item.records[taken]
        state.position = record.offset + 1
        return record

    def take(
        self, most: int, only: Collection[TopicPartition] = (), now_ms: int = 0
    ) -> dict[TopicPartition, list[ConsumerRecord[Any, Any]]]:
        """Up to ``most`` records by partition; positions move past them.

        :raises KafkaError: reading cannot continue without the program; raised once.
        """
        self._raise_unreported(only)
        result: dict[TopicPartition, list[ConsumerRecord[Any, Any]]] = {}
        skipped: list[CompletedFetch] = []
        try:
            while self._ready and most > 0:
                item = self._ready[0]
                name, state = item.partition, item.state
                if not item.belongs_to(self._subscription.assigned.get(name)):
                    self._ready.popleft()
                    self._release(name)
                    continue
                if (only and name not in only) or not state.deliverable:
                    skipped.append(self._ready.popleft())
                    continue
                try:
                    records = item.next_records(self._decoder, state, most)
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
                    item.finish(state)
                    self._ready.popleft()
                    self._release(name)
        finally:
            self._ready.extendleft(reversed(skipped))
        self.poll(now_ms)
        return result

    def _raise_unreported(self, only: Collection[TopicPartition]) -> None:
        """Raise the error that ends reading these partitions, unless it was raised to the program before."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        self._subscription.raise_unreported(only)

    def _release(self, name: TopicPartition) -> None:
        left = self._buffered.get(name, 0) - 1
        if left > 0:
            self._buffered[name] = left
        else:
            self._buffered.pop(name, None)

    def drop(self, partitions: Collection[TopicPartition]) -> None:
        """Drop the records fetched ahead for these partitions."""
        for item in [item for item in self._ready if item.partition in partitions]:
            self._ready.remove(item)
            self._release(item.partition)

    # --- handing out whole batches

    def take_batches(self, only: Collection[TopicPartition] = (), now_ms: int = 0) -> dict[TopicPartition, list[Chunk]]:
        """All fetched records as stored batches, by partition; positions move past them.

        :raises KafkaError: reading cannot continue without the program; raised once.
        """
        self._raise_unreported(only)
        result: dict[TopicPartition, list[Chunk]] = {}
        kept: deque[CompletedFetch] = deque()
        for item in self._ready:
            name = item.partition
            state = item.state
            if not item.belongs_to(self._subscription.assigned.get(name)):
                self._release(name)
            elif (only and name not in only) or not state.deliverable:
                kept.append(item)
            else:
                result.setdefault(name, []).append(chunk := item.chunk(state))
                self._metrics.decoded(name, chunk.records_count())
                item.finish(state)
                self._release(name)
        self._ready = kept
        self.poll(now_ms)
        return {name: chunks for name, chunks in result.items() if any(chunk.batches for chunk in chunks)}


__all__ = ["Fetcher"]
