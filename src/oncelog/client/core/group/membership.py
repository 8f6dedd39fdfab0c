"""The interface between a consumer and its group membership, in both directions.

Implemented by ``group_member`` (classic) and ``consumer_group_member`` (KIP-848); called by the consumer's I/O layer.
"""

from __future__ import annotations

from typing import Protocol

from oncelog.client.core.connection.coordinator_lookup import CoordinatorFinder
from oncelog.client.core.structs import ConsumerGroupMetadata, TopicPartition
from oncelog.deferred import Deferred
from oncelog.errors import KafkaError


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


class Membership(Protocol):
    """Membership of a group."""

    finder: CoordinatorFinder

    def poll(self, now_ms: int) -> None:
        """Do whatever is due."""
        ...

    def polled(self, now_ms: int) -> None:
        """The program asked for records."""
        ...

    def subscription_changed(self, reason: str) -> None:
        """The topics have changed."""
        ...

    def metadata_changed(self) -> None:
        """There is new metadata."""
        ...

    def leave(self) -> Deferred[None]:
        """Leave the group; static members of the classic protocol stay in it."""
        ...

    @property
    def identity(self) -> ConsumerGroupMetadata:
        """The identity for commits: generation or member epoch, member id, instance id."""
        ...

    @property
    def stable(self) -> bool:
        """Whether the assignment is in force."""
        ...
