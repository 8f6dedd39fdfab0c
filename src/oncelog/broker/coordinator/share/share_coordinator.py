"""The share coordinator: the stored states of share partitions, in ``__share_group_state`` (KIP-932).

Called by the group coordinator (a group begins to read a partition, alters its offset, or is deleted) and by the
partitions' leaders (``core.sharing``), in process: the requests between Apache Kafka's brokers
(InitializeShareGroupState and the like) are method calls here. A change is answered when it is committed. From time to
time unchanged states are written again, so that everything before the oldest snapshot can be removed from the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final, Protocol

from oncelog.broker.coordinator.runtime import (
    CoordinatorHost,
    CoordinatorRuntime,
    LoggedMarker,
    LoggedRecord,
    client_error,
)
from oncelog.broker.coordinator.share import state_records, state_rules
from oncelog.broker.coordinator.share.state_rules import (
    Compact,
    Delete,
    Event,
    Initialize,
    Load,
    ShareKey,
    ShareState,
    StateRefusal,
    WriteState,
)
from oncelog.errors import NONE, Error
from oncelog.runtime.deferred import Deferred
from oncelog.runtime.timers import RepeatedTimer
from oncelog.settings.config import BrokerConfig
from oncelog.types import SHARE_GROUP_STATE_TOPIC, TopicPartition, encode_uuid

COMPACTED_AT_ONCE: Final = 500
WRITTEN_AT_ONCE: Final = 16
"""The maximum number of states in one batch: even with group ids of 32 KB, the batch fits ``max.message.bytes``."""
TOO_LARGE: Final = (Error.MESSAGE_TOO_LARGE, Error.RECORD_LIST_TOO_LARGE)
"""The errors with which the log refuses a snapshot of some 50,000 ranges. The state is then stored as updates, until it
is smaller."""


class ShareStateHost(CoordinatorHost, Protocol):
    """The interface that the share coordinator needs from its broker besides a log."""

    def delete_records_before(self, partition: TopicPartition, offset: int) -> None:
        """Remove the records before ``offset`` from an internal partition."""
        ...


def coordinator_key(key: ShareKey) -> str:
    """The text whose hash decides which partition of the topic owns a share partition (Kafka's
    ``SharePartitionKey``)."""
    return f"{_beginning(key.group_id, key.topic_id)}{key.partition}"


@lru_cache(maxsize=1024)
def _beginning(group_id: str, topic_id: bytes) -> str:
    """What the coordinator keys of all partitions of a topic begin with."""
    return f"{group_id}:{encode_uuid(topic_id)}:"


class StateShard:
    """The states of share partitions in one partition of ``__share_group_state``."""

    def __init__(
        self,
        host: ShareStateHost,
        settings: Callable[[], BrokerConfig],
        partition: TopicPartition,
        runtime: CoordinatorRuntime[StateShard],
    ) -> None:
        self.states: dict[ShareKey, ShareState] = {}
        self._snapshots: dict[ShareKey, int] = {}
        """The offset of each state's latest snapshot in the log."""
        self._host = host
        self._settings = settings
        self._partition = partition
        self._runtime = runtime
        self._pruning: RepeatedTimer | None = None
        self._end_offset = 0
        self._pruned_to = 0
        self._last_write: Deferred[Error] = Deferred.of(NONE)

    def replay(self, record: LoggedRecord) -> None:
        self._end_offset = record.offset + 1
        decoded = state_records.decoded(record.key, record.value)
        if decoded is not None:
            self._apply(*decoded, record.offset, record.timestamp_ms)

    def _apply(self, key: ShareKey, change: state_rules.Record, offset: int, timestamp_ms: int) -> None:
        state = state_rules.apply(self.states.get(key), change, timestamp_ms)
        if state is None:
            self.states.pop(key, None)
            self._snapshots.pop(key, None)
        else:
            self.states[key] = state
            if isinstance(change, state_rules.StateSnapshot):
                self._snapshots[key] = offset

    def replay_marker(self, marker: LoggedMarker) -> None:
        self._end_offset = marker.offset + 1

    def loaded(self, now_ms: int) -> None:
        def interval_ms() -> int:
            return int(self._settings().text("share.coordinator.state.topic.prune.interval.ms") or 300_000)

        self._pruning = self._host.timers.repeat(now_ms + interval_ms(), interval_ms, self.prune, self._is_pruned)

    def unloaded(self) -> None:
        if self._pruning is not None:
            self._pruning.cancel()
            self._pruning = None

    def handle(
        self, events: Sequence[tuple[ShareKey, Event]], now_ms: int, *, may_snapshot: bool = True
    ) -> Deferred[Error]:
        """Write the changes of several events as one batch, each event for a different share partition; resolves with
        NONE once these and all earlier changes are committed. If an event is refused, nothing is written and the
        refusal is returned."""
        setting = self._settings().text("share.coordinator.snapshot.update.records.per.snapshot")
        max_updates = int(setting or 0) if may_snapshot else state_rules.NO_SNAPSHOT
        changes: list[tuple[ShareKey, state_rules.Record]] = []
        for key, event in events:
            decision = state_rules.decide(self.states.get(key), event, now_ms, max_updates)
            if isinstance(decision, StateRefusal):
                return Deferred.of(decision.error)
            if decision is not None:
                changes.append((key, decision))
        if not changes:
            return self._last_write

        def apply(base_offset: int) -> None:
            self._end_offset = base_offset + len(changes)
            for offset, (key, change) in enumerate(changes, base_offset):
                self._apply(key, change, offset, now_ms)

        records = [state_records.encoded(key, change) for key, change in changes]
        written = self._runtime.write(self._partition, records, now_ms, apply=apply)
        if not written.done or written.has_value(NONE):
            self._last_write = written
        return written

    def _is_pruned(self, at_ms: int) -> bool:
        return self._end_offset - self._pruned_to <= len(self.states)

    def prune(self, now_ms: int) -> None:
        """Write the oldest states again if many records have followed their snapshots; once these records are
        committed, remove the log before the oldest snapshot."""
        if self._is_pruned(now_ms):
            return
        limit = self._end_offset - 2 * len(self.states)
        old = [key for key, offset in self._snapshots.items() if offset < limit]
        for key in sorted(old, key=lambda each: self._snapshots[each])[:COMPACTED_AT_ONCE]:
            self.handle([(key, Compact())], now_ms)
        oldest = self._pruned_to = min(self._snapshots.values(), default=self._end_offset)

        def committed(error: Error) -> None:
            if error is NONE:
                self._host.delete_records_before(self._partition, oldest)

        self._last_write.then(committed)


class ShareCoordinator:
    """The coordinator of all share partitions whose states this broker owns."""

    def __init__(
        self, host: ShareStateHost, settings: Callable[[], BrokerConfig], partitions: int | None = None
    ) -> None:
        """:param partitions: the number of partitions of the topic; None: the topic does not exist yet."""
        self._host = host
        self._settings = settings
        configured = int(settings().text("share.coordinator.state.topic.num.partitions") or 0)
        self.runtime: CoordinatorRuntime[StateShard] = CoordinatorRuntime(
            host, SHARE_GROUP_STATE_TOPIC, partitions or configured, self._new_shard
        )

    def _new_shard(self, partition: TopicPartition, epoch: int) -> StateShard:
        return StateShard(self._host, self._settings, partition, self.runtime)

    def _shard(self, key: ShareKey) -> StateShard | Error:
        return self.runtime.shard_for(str(key.partition), None, _beginning(key.group_id, key.topic_id))

    def initialize(self, events: Iterable[tuple[ShareKey, Initialize]], now_ms: int) -> list[Deferred[Error]]:
        """Initialize states: a group begins to read partitions, or reads them from other offsets."""
        return self._handle(events, now_ms)

    def delete(self, keys: Iterable[ShareKey], now_ms: int) -> list[Deferred[Error]]:
        """Remove states; NONE also for states that do not exist."""
        return self._handle(((key, Delete()) for key in keys), now_ms)

    def _handle(self, events: Iterable[tuple[ShareKey, Event]], now_ms: int) -> list[Deferred[Error]]:
        """Pass events, each for a different share partition, to the shards that own them, several events at once."""
        handled: list[Deferred[Error]] = []
        of_shards: dict[StateShard, list[tuple[ShareKey, Event]]] = {}
        for key, event in events:
            shard = self._shard(key)
            if isinstance(shard, Error):
                handled.append(Deferred.of(shard))
            else:
                of_shards.setdefault(shard, []).append((key, event))
        for shard, found in of_shards.items():
            for begin in range(0, len(found), WRITTEN_AT_ONCE):
                handled.append(shard.handle(found[begin : begin + WRITTEN_AT_ONCE], now_ms))
        return [each.map(client_error) for each in handled]

    def load(self, key: ShareKey, leader_epoch: int, now_ms: int) -> Deferred[ShareState | Error]:
        """The state with which the leader of a share partition begins, once that state is committed: an uncommitted
        state might still be lost."""
        shard = self._shard(key)
        if isinstance(shard, Error):
            return Deferred.of(shard)
        taken = shard.handle([(key, Load(leader_epoch))], now_ms)
        state = shard.states.get(key)
        return taken.map(lambda error: state if state is not None and error is NONE else client_error(error))

    def write(self, key: ShareKey, event: WriteState, now_ms: int) -> Deferred[Error]:
        shard = self._shard(key)
        if isinstance(shard, Error):
            return Deferred.of(shard)
        written = shard.handle([(key, event)], now_ms)
        if written.done and written.value in TOO_LARGE:
            written = shard.handle([(key, event)], now_ms, may_snapshot=False)
        return written.map(client_error)

    def lacks(self, key: ShareKey) -> bool:
        """Whether no state is stored: the share partition was never initialized, or its topic has been deleted."""
        shard = self._shard(key)
        return not isinstance(shard, Error) and key not in shard.states

    def state(self, key: ShareKey) -> ShareState | None:
        """The stored state of a share partition, for callers that only inspect it."""
        shard = self._shard(key)
        return None if isinstance(shard, Error) else shard.states.get(key)
