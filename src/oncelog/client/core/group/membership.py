"""The interface between a consumer and its group membership, in both directions, and what both protocols share.

``group_member`` (classic) and ``consumer_group_member`` (KIP-848) are memberships; called by the consumer's I/O layer.
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
"""Errors of a commit by which the coordinator says that the member, or its generation, is no longer current."""


class Host(Protocol):
    """The membership's interface to its consumer. The deferreds resolve when listener and commits are done."""

    def revoke(self, partitions: list[TopicPartition], lost: bool) -> Deferred[None]:
        """Commit if that is automatic and the partitions are not lost, then call the listener. An empty list means that
        the classic protocol begins a rebalance in which the member has nothing to give up."""
        ...

    def assigned(self, added: list[TopicPartition]) -> Deferred[None]:
        """The subscription holds the new assignment; call the listener with what is new."""
        ...

    def group_failed(self, error: KafkaError) -> None:
        """The membership has failed: the partitions are lost, and every reading call raises the error."""
        ...

    def reading(self) -> bool:
        """Whether the program is waiting for records, or has taken some since this was last read."""
        ...


class Membership(ABC):
    """One consumer's membership of a group.

    :param member_id: empty until the coordinator gives one, which is how the classic protocol begins.
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
        """Do whatever is due."""

    @abstractmethod
    def polled(self, now_ms: int) -> None:
        """The program asked for records."""

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
        """Called when a commit was refused because of the member: react as to the next heartbeat, which would get the
        same error, so that the consumer delivers no more records of lost partitions.

        :param identity: the member's identity in the commit; an error for an earlier identity is ignored.
        """
        if error in MEMBER_REFUSED and identity == self.identity and self.stable:
            self._refused(error, None, self._wire.now_ms())

    @abstractmethod
    def _refused(self, error: Error, answer: Answer, now_ms: int) -> None:
        """Called when the coordinator refused the member while its assignment was in force.

        :param answer: the heartbeat's; None for that of another request.
        """

    @abstractmethod
    def _give_up(self, error: KafkaError) -> None:
        """Called when the group cannot be joined, for good."""

    def _coordinator_found(self, now_ms: int) -> None:
        self.poll(now_ms)

    def _program_fetches(self, now_ms: int) -> bool:
        """Whether the program has fetched recently enough."""
        if self._host.reading():
            self._polled_ms = now_ms
        return now_ms - self._polled_ms <= self._config.max_poll_interval_ms
