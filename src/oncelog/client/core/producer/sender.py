"""Sends batches: decides which to send now, in which request, and what an answer means for each batch.

Called by the producer's I/O layer after every event. A repeated batch is unchanged; within a partition, with
idempotence, a repeat goes before anything newer, and newer batches wait for it. Source: Kafka's ``Sender``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping

from oncelog.client.core.backoff import backoff_ms
from oncelog.client.core.batches.accumulator import Accumulator, ProducerBatch
from oncelog.client.core.client_errors import KafkaTimeoutError, RecordTooLargeError, error_for, error_of
from oncelog.client.core.config import ProducerConfig
from oncelog.client.core.connection.error_rules import ErrorAction, Step, action_for
from oncelog.client.core.connection.metadata import NO_NODE, ClusterMetadata, TopicImage
from oncelog.client.core.connection.wire import NO_LIMIT, PRODUCE, Answer, RequestFailure, Wire
from oncelog.client.core.producer.producer_metrics import ProducerMetrics
from oncelog.client.core.structs import TopicPartition
from oncelog.client.core.transactions.coordinator_requests import FIRST_ADD_BACKOFF_MS
from oncelog.client.core.transactions.transaction_manager import TransactionManager
from oncelog.client.core.transactions.transaction_requests import TV1_HIGHEST_PRODUCE
from oncelog.client.core.waiting import TICK_MS, asked_for, retried, still_waiting
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.generated.produce_response import PartitionProduceResponse
from oncelog.runtime.timers import Timer

_NO_SUCH_TOPIC = frozenset({Error.UNKNOWN_TOPIC_OR_PARTITION, Error.UNKNOWN_TOPIC_ID})


PIPELINED = 2
"""While this many requests to a node are in flight, a batch that is not full waits, so that it can grow."""


class Sender:
    """Sends batches from the accumulator to the brokers, and gives them their outcomes."""

    def __init__(
        self,
        config: ProducerConfig,
        wire: Wire,
        metadata: ClusterMetadata,
        accumulator: Accumulator,
        transactions: TransactionManager | None,
        metrics: ProducerMetrics,
    ) -> None:
        self._config = config
        self._metrics = metrics
        self._wire = wire
        self._metadata = metadata
        self._accumulator = accumulator
        self._transactions = transactions
        self._in_flight: dict[int, int] = {}
        self._one_at_a_time = config.max_in_flight_requests_per_connection == 1
        self._muted: set[TopicPartition] = set()
        self._availability_timeout_ms = config.partitioner_availability_timeout_ms
        self._waiting_since: dict[int, int] = {}
        """Nodes that do not accept requests although batches for them are due, and the time since when."""
        self._timer: Timer | None = None
        self._flush_up_to = 0
        self._closed = False

    @property
    def idle(self) -> bool:
        return not self._accumulator.incomplete

    @property
    def in_flight(self) -> int:
        """The number of requests waiting for an answer."""
        return sum(self._in_flight.values())

    def flush(self) -> int:
        """Send everything that is queued now without lingering; returns the number of the newest of these batches."""
        self._flush_up_to = self._accumulator.last_number
        return self._flush_up_to

    def close(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def passed_over(self, topic: TopicImage) -> Collection[int]:
        """Partitions whose leader took nothing for ``partitioner.availability.timeout.ms`` (KIP-794)."""
        if not self._waiting_since:
            return ()
        latest = self._wire.now_ms() - self._availability_timeout_ms
        slow = {node for node, since_ms in self._waiting_since.items() if since_ms < latest}
        return {index for index, partition in enumerate(topic.partitions) if partition.leader in slow}

    # --- sending

    def poll(self, now_ms: int) -> None:
        """Send everything that may be sent now; cheap if there is nothing."""
        if self._closed:
            return
        if self._transactions is not None:
            self._transactions.poll(now_ms)
        self._expire(now_ms)
        by_node, wake_ms = self._sendable(now_ms)
        if self._availability_timeout_ms:
            self._note_waiting(by_node, now_ms)
        for node, queues in by_node.items():
            self._send_to(node, queues, now_ms)
        if self._accumulator.incomplete:
            oldest = next(iter(self._accumulator.incomplete))
            deadline = oldest.created_ms + self._config.delivery_timeout_ms
            if asked_for():
                deadline = min(deadline, self._tell(oldest, now_ms))
            wake_ms = deadline if wake_ms is None else min(wake_ms, deadline)
        if wake_ms is not None:
            self._wake(max(wake_ms, now_ms + 1))

    def _tell(self, oldest: ProducerBatch, now_ms: int) -> int:
        """Log that records wait for their acknowledgement, and why; returns the time of the next report."""
        if self._metadata.leader(oldest.partition) == NO_NODE:
            retried(Error.LEADER_NOT_AVAILABLE, f"{oldest.partition} has no leader")
        waited_s = (now_ms - oldest.created_ms) / 1000
        limit_s = self._config.delivery_timeout_ms / 1000
        still_waiting(self._config.bootstrap_servers, "records to be acknowledged", waited_s, limit_s)
        return now_ms + TICK_MS

    def _note_waiting(self, due: Collection[int], now_ms: int) -> None:
        """Record which of the ``due`` nodes do not accept requests, and since when."""
        limit = self._config.max_in_flight_requests_per_connection
        self._waiting_since = {
            node: self._waiting_since.get(node, now_ms)
            for node in due
            if not self._wire.ready(node) or self._in_flight.get(node, 0) >= limit
        }

    def _wake(self, at_ms: int) -> None:
        if self._timer is not None and self._timer.pending:
            if self._timer.at_ms <= at_ms:
                return
            self._timer.cancel()
        self._timer = self._wire.timers.schedule(at_ms, self.poll)

    def _sendable(self, now_ms: int) -> tuple[dict[int, list[tuple[TopicPartition, deque[ProducerBatch]]]], int | None]:
        """The queues whose first batch may be sent, by leader; and the time of the next check."""
        by_node: dict[int, list[tuple[TopicPartition, deque[ProducerBatch]]]] = {}
        wake_ms: int | None = None
        for partition, queue in self._accumulator.ready_queues():
            if partition in self._muted:
                continue
            batch = queue[0]
            due_ms = self._due(batch, len(queue))
            if due_ms > now_ms:
                wake_ms = due_ms if wake_ms is None else min(wake_ms, due_ms)
                continue
            leader = self._metadata.leader(partition)
            if leader == NO_NODE:
                self._metadata.want((partition.topic,))
                self._metadata.request_update()
                continue
            by_node.setdefault(leader, []).append((partition, queue))
        return by_node, wake_ms

    def _due(self, batch: ProducerBatch, queued: int) -> int:
        """The time from which a queue's first batch may be sent."""
        if batch.attempts:
            return batch.not_before_ms
        if batch.closed or queued > 1 or batch.number <= self._flush_up_to:
            return 0
        if (
            batch.size_bytes >= self._config.max_batch_size
            or self._accumulator.used_bytes * 2 > self._config.buffer_memory
        ):
            return 0
        return batch.created_ms + int(self._config.linger_ms)

    def _send_to(self, node: int, queues: list[tuple[TopicPartition, deque[ProducerBatch]]], now_ms: int) -> None:
        if not self._wire.ready(node):
            return
        limit = self._config.max_in_flight_requests_per_connection
        while (busy := self._in_flight.get(node, 0)) < limit:
            if busy >= PIPELINED:
                queues = [item for item in queues if self._full(item[1])]
            batches = self._drain(queues)
            if not batches:
                return
            self._send(node, batches, now_ms)
            queues = [item for item in queues if item[1] and not self._lingers(item[1], now_ms)]
            if not queues:
                return

    def _full(self, queue: deque[ProducerBatch]) -> bool:
        """Whether nothing would be gained by leaving the queue's first batch open for longer."""
        batch = queue[0]
        return batch.closed or batch.attempts > 0 or len(queue) > 1 or batch.number <= self._flush_up_to

    def _lingers(self, queue: deque[ProducerBatch], now_ms: int) -> bool:
        return self._due(queue[0], len(queue)) > now_ms

    def _drain(self, queues: list[tuple[TopicPartition, deque[ProducerBatch]]]) -> dict[TopicPartition, ProducerBatch]:
        """Take batches for one request: at most one of each partition, up to ``max.request.size`` in all."""
        batches: dict[TopicPartition, ProducerBatch] = {}
        size = 0
        transactions = self._transactions
        for partition, queue in queues:
            batch = queue[0]
            if partition in self._muted:
                continue
            size_bytes = batch.size_bytes if batch.payload is None else len(batch.payload)
            if batches and size + size_bytes > self._config.max_request_size:
                break
            if transactions is not None and not transactions.may_drain(batch):
                continue
            self._accumulator.take(partition)
            if self._one_at_a_time:
                self._muted.add(partition)
            fresh = batch.payload is None
            batch.seal(
                self._config.compression,
                self._config.compression_level,
                transactions is not None and transactions.transactional,
            )
            if fresh:
                self._accumulator.packed(batch)
            batch.attempts += 1
            batches[partition] = batch
            size += size_bytes
        return batches

    def _send(self, node: int, batches: dict[TopicPartition, ProducerBatch], now_ms: int) -> None:
        topics: dict[str, list[PartitionProduceData]] = {}
        for partition, batch in batches.items():
            topics.setdefault(partition.topic, []).append(PartitionProduceData(partition.partition, batch.view))
        transactions = self._transactions
        request = ProduceRequest(
            transaction_id_of(transactions),
            self._config.acks_number,
            self._config.request_timeout_ms,
            [TopicProduceData(name=name, partition_data=items) for name, items in topics.items()],
        )
        self._metrics.sent(batches, now_ms)
        in_transaction = transactions is not None and transactions.transactional
        tv1 = in_transaction and transactions is not None and not transactions.transaction_v2

        def answered(answer: Answer, version: int, then_ms: int) -> None:
            self._in_flight[node] -= 1
            self._answered(batches, answer, version, then_ms)
            self.poll(then_ms)

        self._in_flight[node] = self._in_flight.get(node, 0) + 1
        self._wire.send(
            node,
            PRODUCE,
            request,
            answered,
            highest=TV1_HIGHEST_PRODUCE if tv1 else NO_LIMIT,
            expect_answer=self._config.acks_number != 0,
        )

    # --- answers

    def _answered(
        self, batches: Mapping[TopicPartition, ProducerBatch], answer: Answer, version: int, now_ms: int
    ) -> None:
        if isinstance(answer, RequestFailure):
            self._metadata.request_update()
            for batch in batches.values():
                failed = PartitionProduceResponse(error_code=answer.error, error_message=answer.text)
                self._settle(batch, failed, now_ms)
            return
        if answer is None:  # acks=0: the request has been sent, and no answer follows
            for batch in batches.values():
                self._settle(batch, PartitionProduceResponse(base_offset=-1), now_ms)
            return
        if answer.throttle_time_ms:
            self._metrics.throttled(answer.throttle_time_ms)
        missing = dict(batches)
        for topic in answer.responses:
            for partition in topic.partition_responses:
                named = missing.pop(TopicPartition(topic.name, partition.index), None)
                if named is not None:
                    self._settle(named, partition, now_ms)
        for batch in missing.values():
            left_out = PartitionProduceResponse(error_code=Error.UNKNOWN_SERVER_ERROR, error_message="left out")
            self._settle(batch, left_out, now_ms)

    def _settle(self, batch: ProducerBatch, answer: PartitionProduceResponse, now_ms: int) -> None:
        """Report one batch's outcome, or queue it again."""
        self._muted.discard(batch.partition)
        error = error_of(answer.error_code)
        if error is Error.NONE or error is Error.DUPLICATE_SEQUENCE_NUMBER:
            batch.in_flight = False
            offset = answer.base_offset if error is Error.NONE else -1
            if self._transactions is not None:
                self._transactions.produced(batch, offset)
            self._accumulator.complete(batch, offset, answer.log_append_time_ms, answer.log_start_offset)
            return
        if error.refresh_metadata:
            self._learn_leader(batch.partition, answer)
        if batch.done:
            if self._transactions is not None:
                self._transactions.book.of(batch.partition).remove(batch)
            return
        if error is Error.MESSAGE_TOO_LARGE and batch.count > 1:
            self._split(batch)
            return
        action = self._action(batch, error, answer.log_start_offset)
        if action is ErrorAction.RETRY and batch.attempts <= self._config.retries:
            wait_ms = backoff_ms(batch.attempts, self._config.retry_backoff_ms, self._config.retry_backoff_max_ms)
            retried(error, answer.error_message or f"records for {batch.partition} were refused")
            if error is Error.CONCURRENT_TRANSACTIONS:
                wait_ms = min(wait_ms, FIRST_ADD_BACKOFF_MS)
            batch.not_before_ms = now_ms + wait_ms
            if batch.refused:
                self._accumulator.set_aside(batch)
            else:
                self._accumulator.put_back(batch)
            return
        batch.in_flight = False
        failure = self._explain(batch, error, answer)
        if self._transactions is not None:
            self._transactions.failed(batch, action, failure, attempted=True)
        self._accumulator.complete(batch, error=failure)

    def _learn_leader(self, partition: TopicPartition, answer: PartitionProduceResponse) -> None:
        leader = answer.current_leader
        if not self._metadata.leader_changed(partition, leader.leader_id, leader.leader_epoch):
            self._metadata.request_update()

    def _action(self, batch: ProducerBatch, error: Error, log_start_offset: int) -> ErrorAction:
        transactions = self._transactions
        if transactions is None:
            return ErrorAction.RETRY if error.retriable else ErrorAction.FAIL
        step = Step.PRODUCE_TRANSACTIONAL if transactions.transactional else Step.PRODUCE_IDEMPOTENT
        action = action_for(step, error)
        if action is ErrorAction.SEQUENCE:
            return transactions.verdict_on_sequence(batch, error, log_start_offset)
        return action

    def _split(self, batch: ProducerBatch) -> None:
        """Send a batch as two, because it is larger than the broker's ``max.message.bytes`` (KIP-126)."""
        self._metrics.split()
        batch.attempts -= 1
        halves = self._accumulator.split(batch)
        if self._transactions is not None:
            self._transactions.book.of(batch.partition).replace(batch, halves)

    def _explain(self, batch: ProducerBatch, error: Error, answer: PartitionProduceResponse) -> KafkaError:
        message = f": {answer.error_message}" if answer.error_message else ""
        if error is Error.MESSAGE_TOO_LARGE:
            return RecordTooLargeError(
                f"the broker refused a record of {batch.size_bytes} bytes for {batch.partition}: it is larger than the "
                f"topic's max.message.bytes{message}"
            )
        if error is Error.UNSUPPORTED_FOR_MESSAGE_FORMAT:
            message += (
                "; the topic's message.format.version is older than 0.11, which has no producer ids: raise it, or set "
                "enable.idempotence=false, with which retries may be stored twice"
            )
        return error_for(error, f"records for {batch.partition} were refused{message}")

    def _expire(self, now_ms: int) -> None:
        """Fail batches past ``delivery.timeout.ms``, in flight or not (KIP-91)."""
        oldest = now_ms - self._config.delivery_timeout_ms
        while self._accumulator.incomplete:
            batch = next(iter(self._accumulator.incomplete))
            if batch.created_ms > oldest:
                return
            error = KafkaTimeoutError(self._why_expired(batch))
            if self._transactions is not None:
                self._transactions.expired(batch, error)
            self._muted.discard(batch.partition)
            self._accumulator.complete(batch, error=error)

    def _why_expired(self, batch: ProducerBatch) -> str:
        text = (
            f"{batch.count} record(s) for {batch.partition} were not acknowledged within "
            f"delivery.timeout.ms={self._config.delivery_timeout_ms}"
        )
        known = self._metadata.errors.get(batch.partition.topic)
        if known in _NO_SUCH_TOPIC:
            return f"{text}: the topic does not exist"
        if self._metadata.leader(batch.partition) == NO_NODE:
            return f"{text}: the partition has no leader"
        return text


def transaction_id_of(transactions: TransactionManager | None) -> str | None:
    """The transactional id to put into a Produce request."""
    return None if transactions is None else transactions.transactional_id
