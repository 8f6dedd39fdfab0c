"""Checks after each change of leader that the log still holds the records up to a position (KIP-320).

Called by the fetcher before it fetches a partition. A leader elected uncleanly, or a broker that lost power, may have
fewer records than were already read, and other records in their place; continuing would silently skip those. The epoch
of the last batch read reveals this: the new leader answers where that epoch ended in its log. Source: Kafka's
``OffsetsForLeaderEpochUtils`` and ``SubscriptionState.maybeCompleteValidation``.
"""

from __future__ import annotations

from collections.abc import Callable

from oncelog.client.core.backoff import backoff_ms
from oncelog.client.core.client_errors import LogTruncationError, error_for, error_of
from oncelog.client.core.config import ConsumerConfig
from oncelog.client.core.connection.metadata import ClusterMetadata
from oncelog.client.core.connection.wire import OFFSET_FOR_LEADER_EPOCH, Answer, RequestFailure, Wire
from oncelog.client.core.consumer.subscription import PartitionState, Reset, Subscription
from oncelog.client.core.structs import TopicPartition
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from oncelog.protocol.generated.offset_for_leader_epoch_response import EpochEndOffset, OffsetForLeaderEpochResponse

CONSUMER = -1
"""The replica id of clients, which are not replicas."""
Asked = tuple[PartitionState, int, int]
"""A partition's state, and its version and leader epoch at the time of the request."""


class TruncationCheck:
    """Holds partitions back until their position is known to be in the leader's log.

    :param on_truncated: called when the log was cut below a partition's position; records fetched ahead must be
        dropped.
    :param on_error: called when reading a partition cannot continue.
    :param on_done: called when partitions may be fetched again.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        wire: Wire,
        metadata: ClusterMetadata,
        subscription: Subscription,
        *,
        on_truncated: Callable[[TopicPartition], None],
        on_error: Callable[[TopicPartition, PartitionState, KafkaError], None],
        on_done: Callable[[int], None],
    ) -> None:
        self._config = config
        self._wire = wire
        self._metadata = metadata
        self._subscription = subscription
        self._on_truncated = on_truncated
        self._on_error = on_error
        self._on_done = on_done
        self._busy: set[int] = set()
        self._failures = 0
        self._not_before_ms = 0

    def due(self, name: TopicPartition, state: PartitionState) -> bool:
        """Whether the leader has changed since the position was read or checked; if so, nothing may be fetched yet."""
        return state.last_fetched_epoch >= 0 and self._metadata.leader_epoch(name) > max(
            state.last_fetched_epoch, state.checked_epoch
        )

    def ask(self, node: int, partitions: dict[TopicPartition, PartitionState], now_ms: int) -> int | None:
        """Ask a leader to check the positions of these partitions; returns the time of the next attempt if the backoff
        is not over."""
        if node in self._busy or not self._wire.ready(node):
            return None
        if self._not_before_ms > now_ms:
            return self._not_before_ms
        topics: dict[str, list[OffsetForLeaderPartition]] = {}
        asked: dict[TopicPartition, Asked] = {}
        for name, state in partitions.items():
            epoch = self._metadata.leader_epoch(name)
            asked[name] = (state, state.version, epoch)
            topics.setdefault(name.topic, []).append(
                OffsetForLeaderPartition(name.partition, epoch, state.last_fetched_epoch)
            )
        request = OffsetForLeaderEpochRequest(
            CONSUMER, [OffsetForLeaderTopic(topic, items) for topic, items in topics.items()]
        )

        def answered(answer: Answer, version: int, then_ms: int) -> None:
            self._busy.discard(node)
            self._answered(asked, answer, then_ms)
            self._on_done(then_ms)

        self._busy.add(node)
        self._wire.send(node, OFFSET_FOR_LEADER_EPOCH, request, answered)
        return None

    def _answered(self, asked: dict[TopicPartition, Asked], answer: Answer, now_ms: int) -> None:
        if isinstance(answer, RequestFailure):
            if answer.error is Error.UNSUPPORTED_VERSION:  # a broker before 2.3 does not support the request
                for state, _, epoch in asked.values():
                    state.checked_epoch = epoch
                return
            self._back_off(now_ms)
            return
        response: OffsetForLeaderEpochResponse = answer
        for topic in response.topics:
            for found in topic.partitions:
                name = TopicPartition(topic.topic, found.partition)
                if name not in asked:
                    continue
                state, version, epoch = asked[name]
                if self._subscription.assigned.get(name) is state and state.version == version:
                    self._take(name, state, epoch, found, now_ms)

    def _take(
        self, name: TopicPartition, state: PartitionState, epoch: int, found: EpochEndOffset, now_ms: int
    ) -> None:
        error = error_of(found.error_code)
        if error is Error.TOPIC_AUTHORIZATION_FAILED:
            self._on_error(name, state, error_for(error, f"topic {name.topic!r} cannot be read"))
        elif error is not Error.NONE:
            self._back_off(now_ms)
        elif found.end_offset < 0 or found.leader_epoch < 0:
            self._truncated(name, state, None, -1)
        elif found.end_offset < state.fetch_position:
            self._truncated(name, state, found.end_offset, found.leader_epoch)
        else:
            self._failures = 0
            state.checked_epoch = epoch

    def _truncated(self, name: TopicPartition, state: PartitionState, end_offset: int | None, epoch: int) -> None:
        """Continue at the offset where the logs diverge, as ``auto.offset.reset`` allows; if the setting is ``none``,
        the program gets an error."""
        position, reset = state.position, self._subscription.default_reset
        if reset is Reset.NONE:
            self._on_error(name, state, LogTruncationError(name, state.fetch_position, end_offset))
            return
        self._on_truncated(name)
        if end_offset is None:
            state.need_reset(reset)
        else:
            state.seek(min(position, end_offset), epoch)

    def _back_off(self, now_ms: int) -> None:
        self._failures += 1
        self._not_before_ms = now_ms + backoff_ms(
            self._failures, self._config.retry_backoff_ms, self._config.retry_backoff_max_ms
        )
        self._metadata.request_update()
