"""The interface between a consumer and its group membership, in both directions, and what both protocols share.

``group_member`` (classic) and ``consumer_group_member`` (KIP-848) implement a membership. Called by the consumer's I/O
layer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from oncelog.client.core.config import ConsumerConfig
from oncelog.client.core.connection.coordinator_lookup import CoordinatorFinder, CoordinatorType
from oncelog.client.core.connection.metadata import ClusterMetadata
from oncelog.client.core.connection.wire import Answer, Wire
from oncelog.client.core.consumer.subscription import Subscription
from oncelog.client.core.structs import ConsumerGroupMetadata, TopicPartition
from oncelog.errors import Error, KafkaError
from oncelog.runtime.deferred import Deferred

MEMBER_REFUSED = frozenset(
    {
        Error.ILLEGAL_GENERATION,
        Error.UNKNOWN_MEMBER_ID,
        Error.REBALANCE_IN_PROGRESS,
        Error.STALE_MEMBER_EPOCH,
        Error.FENCED_MEMBER_EPOCH,
        Error.FENCED_INSTANCE_ID,
    }
)
"""Errors with which a coordinator refuses a commit because the member or its generation is no longer current."""


class Host(Protocol):
    """The interface from a membership to its consumer. The deferreds resolve when the listener and the commits are
    done."""

    def revoke(self, partitions: list[TopicPartition], lost: bool) -> Deferred[None]:
        """Commit if ``enable_auto_commit`` is set and the partitions are not lost, then call the listener. An empty
        list means that a rebalance of the classic protocol begins in which the member gives nothing up."""
        ...

    def assigned(self, added: list[TopicPartition]) -> Deferred[None]:
        """Call the listener with the added partitions; the subscription already has the new assignment."""
        ...

    def group_failed(self, error: KafkaError) -> None:
        """The membership has failed for good: its partitions are lost, and every reading call must raise the error."""
        ...

    def reading(self) -> bool:
        """Whether the program waits for records, or has taken some since the last call of this method."""
        ...


class Membership(ABC):
    """One consumer's membership of a group.

    :param member_id: the id of a new member; empty under the classic protocol, where the coordinator chooses it.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        wire: Wire,
        metadata: ClusterMetadata,
        subscription: Subscription,
        host: Host,
        member_id: str = "",
    ) -> None:
        self._config = config
        self._group_id = config.group_id or ""
        self._wire = wire
        self._metadata = metadata
        self._subscription = subscription
        self._host = host
        self._member_id = member_id
        self._polled_ms = wire.now_ms()
        self.finder = CoordinatorFinder(
            wire,
            self._group_id,
            CoordinatorType.GROUP,
            retry_backoff_ms=config.retry_backoff_ms,
            retry_backoff_max_ms=config.retry_backoff_max_ms,
            on_found=self._coordinator_found,
            on_error=lambda error, now_ms: self._give_up(error),
        )

    @abstractmethod
    def poll(self, now_ms: int) -> None:
        """Do whatever is due: look up the coordinator, join, or send a heartbeat."""

    @abstractmethod
    def polled(self, now_ms: int) -> None:
        """Called when the program asks for records."""

    @abstractmethod
    def subscription_changed(self, reason: str) -> None:
        """Called when the topics have changed."""

    @abstractmethod
    def metadata_changed(self) -> None:
        """Called when there is new metadata."""

    @abstractmethod
    def leave(self) -> Deferred[None]:
        """Leave the group; static members of the classic protocol stay in it."""

    @property
    @abstractmethod
    def identity(self) -> ConsumerGroupMetadata:
        """The identity for commits: generation or member epoch, member id, instance id."""

    @property
    @abstractmethod
    def stable(self) -> bool:
        """Whether the assignment is in force."""

    def commit_refused(self, error: Error, identity: ConsumerGroupMetadata) -> None:
        """Called when a commit was refused because of the member. The membership reacts at once as to a heartbeat with
        this error, so that the consumer delivers no more records of lost partitions.

        :param identity: the member's identity in the commit; an error for an earlier identity is ignored.
        """
        if error in MEMBER_REFUSED and identity == self.identity and self.stable:
            self._refused(error, None, self._wire.now_ms())

    @abstractmethod
    def _refused(self, error: Error, answer: Answer, now_ms: int) -> None:
        """Called when the coordinator refused the member while its assignment was in force.

        :param answer: the answer to a heartbeat; None if another request was refused.
        """

    @abstractmethod
    def _give_up(self, error: KafkaError) -> None:
        """Called when the member can never join the group."""

    def _coordinator_found(self, now_ms: int) -> None:
        self.poll(now_ms)

    def _program_fetches(self, now_ms: int) -> bool:
        """Whether the program has asked for records within ``max.poll.interval.ms``."""
        if self._host.reading():
            self._polled_ms = now_ms
        return now_ms - self._polled_ms <= self._config.max_poll_interval_ms
