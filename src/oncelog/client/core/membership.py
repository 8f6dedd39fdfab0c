"""What both group protocols need of the consumer, and what the consumer needs of them.

Implemented by ``group_member`` (classic) and ``consumer_group_member`` (KIP-848); called by the consumer's shell.
"""

from __future__ import annotations

from typing import Protocol

from oncelog.client.core.coordinator import CoordinatorFinder
from oncelog.client.core.structs import ConsumerGroupMetadata, TopicPartition
from oncelog.deferred import Deferred
from oncelog.errors import KafkaError


class Host(Protocol):
    """The consumer, as its membership sees it. The deferreds resolve when listener and commits are done."""

    def revoke(self, partitions: list[TopicPartition], lost: bool) -> Deferred[None]:
        """Commit if that is automatic and they are not lost, then tell the listener. None means that the classic
        protocol begins a round in which the member has nothing to give up."""
        ...

    def assigned(self, added: list[TopicPartition]) -> Deferred[None]:
        """The subscription holds the new assignment; tell the listener what is new."""
        ...

    def group_failed(self, error: KafkaError) -> None:
        """The membership cannot go on: the partitions are lost, and every call that reads is told why."""
        ...

    def reading(self) -> bool:
        """Whether the program waits for records at this moment, or has taken some since it was last asked for."""
        ...


class Membership(Protocol):
    """A place in a group."""

    finder: CoordinatorFinder

    def poll(self, now_ms: int) -> None:
        """Go on with whatever is due."""
        ...

    def polled(self, now_ms: int) -> None:
        """The program asked for records."""
        ...

    def subscription_changed(self, reason: str) -> None:
        """The topics have changed."""
        ...

    def metadata_changed(self) -> None:
        """There is a new picture of the cluster."""
        ...

    def leave(self) -> Deferred[None]:
        """Give up the place; static members of the classic protocol keep it."""
        ...

    @property
    def identity(self) -> ConsumerGroupMetadata:
        """For commits: generation or member epoch, member id, instance id."""
        ...

    @property
    def stable(self) -> bool:
        """Whether the assignment is in force."""
        ...
