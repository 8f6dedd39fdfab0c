"""A consumer's subscribed topics, its assigned partitions, and its position in each.

Called by the consumer, the fetcher and the group member. Source: ``SubscriptionState``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from enum import Enum, auto
from typing import Any

from oncelog.client.core import arguments
from oncelog.client.core.client_errors import IllegalStateError, topic_error
from oncelog.client.core.connection.metadata import ClusterMetadata
from oncelog.client.core.structs import OffsetAndMetadata, TopicPartition
from oncelog.errors import Error, KafkaError
from oncelog.protocol.struct_fields import ZERO_UUID

TopicPattern = str | re.Pattern[str]
"""A regular expression as a string, or compiled with its own flags."""


class ConsumerRebalanceListener:
    """Methods that the consumer calls when partitions are assigned or revoked; they may be plain functions or
    coroutines.

    They are not called when the consumer itself stops or unsubscribes: commit before that.
    """

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> Any:
        """Called before these partitions go to other members: the last chance to commit their positions."""

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> Any:
        """Called when these partitions belong to this consumer; under the cooperative protocol only new partitions are
        named."""

    def on_partitions_lost(self, lost: Collection[TopicPartition]) -> Any:
        """Called when these partitions already belong to other members, so that commits for them would fail. By default
        it calls :meth:`on_partitions_revoked`."""
        return self.on_partitions_revoked(lost)


class Reset(Enum):
    """Where reading of a partition without a position begins."""

    COMMITTED = auto()
    """The group's committed offset."""
    EARLIEST = auto()
    LATEST = auto()
    NONE = auto()
    """No start is known: the program has to seek."""


class PartitionState:
    """The state of one assigned partition. ``position`` is the next offset to hand out, ``fetch_position`` the next to
    fetch."""

    __slots__ = (
        "began",
        "checked_epoch",
        "fetch_position",
        "fetched_at_ms",
        "high_watermark",
        "last_fetched_epoch",
        "last_stable_offset",
        "log_start_offset",
        "paused",
        "position",
        "position_epoch",
        "reported",
        "reset",
        "revoking",
        "stuck",
        "topic_id",
        "version",
    )

    def __init__(self, reset: Reset) -> None:
        self.reset: Reset | None = reset
        self.position = -1
        self.began = -1
        """The first position of this partition; -1 until it is known. Reading returns to it if nothing was
        committed."""
        self.fetch_position = -1
        self.position_epoch = -1
        """The leader epoch of the last record handed out; -1 if unknown. Commits include it (KIP-320)."""
        self.topic_id = ZERO_UUID
        """The topic id of the last record handed out; zeros if unknown. Transactions use it when they commit offsets
        (KIP-1319)."""
        self.last_fetched_epoch = -1
        self.checked_epoch = -1
        """The leader epoch under which the position was last known to be in the log."""
        self.paused = False
        self.revoking = False
        self.stuck: KafkaError | None = None
        """The error because of which reading the partition cannot continue; the program has to seek, or to call
        again."""
        self.reported = False
        """Whether the error in ``stuck`` has been raised to the program."""
        self.version = 0
        """A number that changes with every seek, so that responses for the old position are dropped."""
        self.fetched_at_ms: int | None = None
        """The time of the last response with a high watermark and last stable offset, by the client's clock."""
        self.high_watermark: int | None = None
        self.last_stable_offset: int | None = None
        self.log_start_offset: int | None = None

    @property
    def fetchable(self) -> bool:
        return self.reset is None and self.deliverable and self.stuck is None

    @property
    def deliverable(self) -> bool:
        """Whether fetched records may be handed out."""
        return not self.paused and not self.revoking

    def seek(self, offset: int, leader_epoch: int = -1) -> None:
        """Continue at ``offset``; drops the records fetched ahead."""
        self.reset = self.stuck = None
        if self.position == self.began or offset < self.began:
            self.began = offset
        self.position = self.fetch_position = offset
        self.last_fetched_epoch = self.position_epoch = leader_epoch
        self.topic_id = ZERO_UUID
        self.checked_epoch = -1
        self.version += 1

    def need_reset(self, reset: Reset) -> None:
        """Drop the position. The next lookup finds a new position by the rule ``reset``."""
        self.reset = reset
        self.stuck = None
        self.version += 1


class Subscription:
    """Topics or a pattern (partitions come from the group), or partitions assigned by hand."""

    def __init__(self, default_reset: Reset) -> None:
        self.default_reset = default_reset
        self.topics: tuple[str, ...] = ()
        self.pattern: re.Pattern[str] | None = None
        self.listener: ConsumerRebalanceListener | None = None
        self.by_hand = False
        self.assigned: dict[TopicPartition, PartitionState] = {}
        self._unreported: set[TopicPartition] = set()
        """Partitions that may have an error in ``stuck`` that was not raised to the program yet."""

    @property
    def by_group(self) -> bool:
        return bool(self.topics) or self.pattern is not None

    def subscribe(
        self, topics: Iterable[str], pattern: TopicPattern | None, listener: ConsumerRebalanceListener | None
    ) -> None:
        """Replace the subscription."""
        names = tuple(arguments.names(topics, "topics"))
        if pattern is not None:
            arguments.text(pattern.pattern if isinstance(pattern, re.Pattern) else pattern, "pattern")
        if listener is not None and not isinstance(listener, ConsumerRebalanceListener):
            raise TypeError(
                arguments.misfit(
                    ConsumerRebalanceListener, listener, "the listener must be derived from {wanted}, not {given}"
                )
            )
        if self.by_hand:
            raise IllegalStateError("partitions were assigned by hand; call unsubscribe() before subscribe()")
        if bool(names) == (pattern is not None):
            raise IllegalStateError("subscribe() takes either topics or a pattern")
        try:
            self.pattern = None if pattern is None else re.compile(pattern)
        except re.error as error:
            raise IllegalStateError(f"the pattern {pattern!r} is not a regular expression: {error}") from None
        self.topics = tuple(dict.fromkeys(names))
        self.listener = listener

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions, chosen by the program and not by a group."""
        if self.by_group:
            raise IllegalStateError("topics were subscribed to; call unsubscribe() before assign()")
        self.by_hand = True
        self.take(TopicPartition(*partition) for partition in partitions)

    def unsubscribe(self) -> None:
        """Read nothing."""
        self.topics, self.pattern, self.listener, self.by_hand = (), None, None, False
        self.assigned = {}

    def match(self, metadata: ClusterMetadata, exclude_internal: bool) -> bool:
        """Match the pattern against all topics again; returns whether the matched topics have changed."""
        if self.pattern is None:
            return False
        matched = tuple(
            name
            for name in sorted(metadata.topics)
            if self.pattern.match(name) and not (exclude_internal and metadata.topics[name].internal)
        )
        changed = matched != self.topics
        self.topics = matched
        return changed

    def refused(self, metadata: ClusterMetadata) -> KafkaError | None:
        """The error of a topic that was subscribed to by name and cannot be read; None if there is none. The program
        gets it, as in Java's consumer."""
        named = () if self.pattern is not None else self.topics or [name.topic for name in self.assigned]
        for name in named:
            error = metadata.errors.get(name)
            if error in (Error.INVALID_TOPIC_EXCEPTION, Error.TOPIC_AUTHORIZATION_FAILED):
                return topic_error(error, name)
        return None

    def take(self, partitions: Iterable[TopicPartition]) -> None:
        """Assign these partitions; those that were assigned before keep their position."""
        old = self.assigned
        self.assigned = {name: old.get(name) or PartitionState(Reset.COMMITTED) for name in dict.fromkeys(partitions)}

    def topic_ids(self) -> tuple[tuple[TopicPartition, bytes], ...]:
        """The id of the topic from which records of each assigned partition were handed out."""
        return tuple((name, state.topic_id) for name, state in self.assigned.items() if state.topic_id != ZERO_UUID)

    def state(self, partition: TopicPartition) -> PartitionState:
        """The state of an assigned partition."""
        known = self.assigned.get(partition)
        if known is None:
            raise IllegalStateError(f"partition {partition} is not assigned to this consumer")
        return known

    def rewind(
        self, states: Mapping[TopicPartition, PartitionState], committed: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> list[TopicPartition]:
        """Return to the committed offsets, or without a committed offset to the first position; returns the moved
        positions.

        :param states: as they were when the offsets were requested; partitions lost since then are left alone.
        """
        moved = []
        for name, state in states.items():
            found = committed.get(name)
            if self.assigned.get(name) is not state or (found is None and state.began < 0):
                continue
            if found is not None:
                state.seek(found.offset, found.leader_epoch)
            else:
                state.seek(state.began)
            moved.append(name)
        return moved

    def without_position(self) -> Mapping[TopicPartition, Reset]:
        """Partitions that wait for a position, and where each of them is to start."""
        return {
            name: state.reset
            for name, state in self.assigned.items()
            if state.reset is not None and state.stuck is None
        }

    def raise_if_nothing_to_read(self) -> None:
        """Raise if nothing is subscribed or assigned, because no record can ever arrive."""
        if not self.by_group and not self.assigned:
            raise IllegalStateError("the consumer reads nothing; call subscribe() or assign() first")

    def stop(self, name: TopicPartition, state: PartitionState, error: KafkaError) -> None:
        """Stop reading a partition because of an error, which the next call that reads the partition raises."""
        state.stuck, state.reported = error, False
        self._unreported.add(name)

    def raise_unreported(self, partitions: Collection[TopicPartition]) -> None:
        """Raise the error of one of these partitions (of any, if none is named) that cannot be read, unless the error
        was raised before."""
        if not self._unreported:
            return
        for name in sorted(self._unreported):
            state = self.assigned.get(name)
            if state is None or state.stuck is None or state.reported:
                self._unreported.discard(name)
            elif not partitions or name in partitions:
                state.reported = True
                raise state.stuck

    def raise_if_stuck(self, partitions: Collection[TopicPartition]) -> None:
        """Raise an error if none of these partitions (of all, if none is named) can be read; the next call tries them
        again."""
        states = [state for name in partitions or self.assigned if (state := self.assigned.get(name)) is not None]
        errors = [state.stuck for state in states if state.stuck is not None]
        if errors and len(errors) == len(states):
            for state in states:
                state.stuck = None
            raise errors[0]
