"""The share partitions that this broker leads: loads them, reads the log for them, writes their changes (KIP-932).

Called by ShareFetch and ShareAcknowledge, by the group coordinator when states change, and by timers when locks end.
Acquisitions are decided and applied here at once; acknowledgements and releases apply once the share coordinator has
written them. Source: Kafka's ``SharePartitionManager`` and ``SharePartition`` (4.4).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from oncelog.broker.coordinator.share.state_rules import (
    FINAL,
    UNINITIALIZED,
    RecordState,
    ShareKey,
    ShareState,
    StateBatch,
    WriteState,
)
from oncelog.broker.core.sharing.dead_letters import DeadLetterPorts, DeadLetters, GivenUp
from oncelog.broker.core.sharing.share_partition import (
    AckBatch,
    AckRefusal,
    Acquired,
    LogBatch,
    ShareLimits,
    SharePartition,
)
from oncelog.broker.core.sharing.share_sessions import SessionOwner, ShareSessions
from oncelog.broker.metadata.store import ResourceType
from oncelog.errors import NONE, CorruptLogError, Error, StorageError
from oncelog.records.batch import iter_headers
from oncelog.records.control import parse_control
from oncelog.runtime.deferred import Deferred
from oncelog.settings.kafka_properties import BY_DURATION, broker_properties, duration_ns, group_properties
from oncelog.types import IsolationLevel

if TYPE_CHECKING:
    from oncelog.broker.coordinator.share.share_coordinator import ShareCoordinator
    from oncelog.broker.core.fetching.purgatory import FetchPurgatory
    from oncelog.broker.core.requests.session import Channel
    from oncelog.broker.core.storage.partition import Partition
    from oncelog.runtime.timers import Timer

READ_AT_ONCE_BYTES: Final = 256 * 1024
ALWAYS_MS: Final = 2**63 - 1
SKIPPED_AT_ONCE: Final = 100
"""The maximum number of reads for one delivery; many reads in a row may find only markers and aborted records."""
GONE: Final = (
    Error.FENCED_STATE_EPOCH,
    Error.FENCED_LEADER_EPOCH,
    Error.INVALID_REQUEST,
    Error.NOT_COORDINATOR,
    Error.COORDINATOR_NOT_AVAILABLE,
)
"""Errors of the share coordinator after which the stored state must be read again."""
ANSWERS: Final[Mapping[Error, Error]] = {
    Error.FENCED_LEADER_EPOCH: Error.NOT_LEADER_OR_FOLLOWER,
    Error.NOT_COORDINATOR: Error.COORDINATOR_NOT_AVAILABLE,
    Error.COORDINATOR_LOAD_IN_PROGRESS: Error.COORDINATOR_NOT_AVAILABLE,
    Error.INVALID_REQUEST: Error.UNKNOWN_SERVER_ERROR,
}
"""The errors that members get for errors of the share coordinator (``SharePartition.fetchPersisterError``)."""


class SharingPorts(DeadLetterPorts, Protocol):
    """The interface that share partitions need from the broker."""

    fetches: FetchPurgatory

    @property
    def share_states(self) -> ShareCoordinator: ...


@dataclass(slots=True, eq=False)
class Held:
    """A share partition in use."""

    key: ShareKey
    partition: Partition
    state: SharePartition
    state_epoch: int
    leader_epoch: int
    timer: Timer | None = None
    expired_locks: int = 0
    """The number of records whose locks have expired since the share partition came into use."""


class Loading(NamedTuple):
    """A share partition whose stored state is being read."""

    partition: Partition
    leader_epoch: int
    state: Deferred[ShareState | Error]


class ShareDelivery(NamedTuple):
    """Whole batches for a member, and the offsets in them that the member has acquired."""

    records: bytes
    acquired: list[Acquired]


@dataclass(slots=True)
class ShareCounts:
    """Counts since the start, for metrics."""

    acknowledgements: Counter[int] = field(default_factory=Counter)
    """The number of acknowledged records, by type."""
    fetch_requests: int = 0
    failed_fetches: int = 0
    """The number of requests in which at least one partition got an error; likewise ``failed_acknowledgements``."""
    acknowledge_requests: int = 0
    failed_acknowledgements: int = 0
    lost_sessions: int = 0
    """The number of sessions that ended because their connection did."""


class SharePartitions:
    """The share partitions in use whose leader is this broker, and the sessions of their members."""

    def __init__(self, ports: SharingPorts) -> None:
        self._ports = ports
        self._held: dict[ShareKey, Held] = {}
        self._loading: dict[ShareKey, Loading] = {}
        self.sessions = ShareSessions()
        self.counts = ShareCounts()
        self.dead_letters = DeadLetters(ports, self._setting)

    # --- settings of a group

    def _setting(self, group_id: str, name: str) -> str:
        own = self._ports.metadata.dynamic_config(ResourceType.GROUP, group_id).get(name)
        if own is not None:
            return own
        of_brokers = f"group.{name}"
        known = of_brokers in broker_properties()
        return (self._ports.config.text(of_brokers) if known else group_properties()[name].default) or ""

    def limits(self, group_id: str) -> ShareLimits:
        return ShareLimits(
            int(self._setting(group_id, "share.delivery.count.limit")),
            int(self._setting(group_id, "share.partition.max.record.locks")),
            int(self._setting(group_id, "share.record.lock.duration.ms")),
            self._setting(group_id, "share.renew.acknowledge.enable").lower() == "true",
            self.dead_letters.wanted(group_id),
        )

    def isolation(self, group_id: str) -> IsolationLevel:
        is_committed = self._setting(group_id, "share.isolation.level").lower() == "read_committed"
        return IsolationLevel.READ_COMMITTED if is_committed else IsolationLevel.READ_UNCOMMITTED

    @property
    def max_sessions(self) -> int:
        return int(self._ports.config.text("group.share.max.share.sessions") or 0)

    # --- which partitions there are

    def __iter__(self) -> Iterator[Held]:
        return iter(list(self._held.values()))

    def held(self, key: ShareKey) -> Held | None:
        """A share partition, if it is in use and its state is current; else None."""
        held = self._held.get(key)
        return held if held is not None and self._is_current(held) else None

    def _is_current(self, held: Held) -> bool:
        partition = self._ports.partition(held.partition.topic_partition)
        if partition is held.partition and partition.leader_epoch == held.leader_epoch and not partition.failed:
            held.state.move_start(partition.log.log_start_offset)
            return True
        self._drop(held)
        return False

    def open(self, key: ShareKey, partition: Partition, now_ms: int) -> Held | Error | None:
        """A share partition, loaded from its stored state if it is not in use yet. None means that the state is being
        read; waiting fetches are woken afterwards."""
        held = self.held(key)
        if held is not None:
            return held
        if partition.failed:
            return Error.KAFKA_STORAGE_ERROR
        stored = self._load(key, partition, now_ms)
        if stored is None:
            return None
        if isinstance(stored, Error):
            return ANSWERS.get(stored, stored)
        try:
            start_offset = self._start_offset(key.group_id, stored, partition, now_ms)
        except (StorageError, CorruptLogError) as error:
            return partition.unreadable(error)
        state = SharePartition(start_offset, stored.batches)
        state.move_start(partition.log.log_start_offset)
        held = Held(key, partition, state, stored.state_epoch, partition.leader_epoch)
        self._held[key] = held
        self._bury(held, state.archiving(), now_ms)
        return held

    def _load(self, key: ShareKey, partition: Partition, now_ms: int) -> ShareState | Error | None:
        loading = self._loading.get(key)
        if loading is None or loading[:2] != (partition, partition.leader_epoch):
            state = self._ports.share_states.load(key, partition.leader_epoch, now_ms)
            loading = self._loading[key] = Loading(partition, partition.leader_epoch, state)
            if not state.done:
                state.then(lambda _: self._ports.fetches.wake(partition.topic_partition))
        if not loading.state.done:
            return None
        del self._loading[key]
        return loading.state.value

    def _start_offset(self, group_id: str, stored: ShareState, partition: Partition, now_ms: int) -> int:
        """The offset at which delivery begins: the stored one, or the one that ``share.auto.offset.reset``
        determines."""
        log = partition.log
        if stored.start_offset != UNINITIALIZED:
            return stored.start_offset
        reset = self._setting(group_id, "share.auto.offset.reset")
        if reset == "earliest":
            return log.log_start_offset
        duration = duration_ns(reset.removeprefix(BY_DURATION))
        if duration is not None:
            found = log.offset_for_timestamp(max(now_ms - duration // 1_000_000, 0))
            return log.high_watermark if found is None else min(found.offset, log.high_watermark)
        return log.high_watermark

    def _drop(self, held: Held) -> None:
        """Drop a share partition; its stored state is read again for the next request."""
        if held.timer is not None:
            held.timer.cancel()
        if self._held.get(held.key) is held:
            del self._held[held.key]
        self._ports.fetches.wake(held.partition.topic_partition)

    def states_changed(self, group_id: str) -> None:
        """Drop the share partitions of a group whose stored states were removed or replaced."""
        for held in [each for key, each in self._held.items() if key.group_id == group_id]:
            self._drop(held)
        for key in [key for key in self._loading if key.group_id == group_id]:
            del self._loading[key]

    # --- delivering

    def may_deliver(self, held: Held) -> bool:
        """Whether the limit on records in flight allows more deliveries."""
        return held.state.can_acquire(self.limits(held.key.group_id))

    def available_bytes(self, held: Held, limit: int) -> int:
        """The number of bytes that can be delivered now, at most ``limit``, or one batch."""
        if not self.may_deliver(held):
            return 0
        bound = held.partition.readable_to(self.isolation(held.key.group_id))
        read = held.partition.log.read(held.state.next_offset(), limit, bound, at_least_one_batch=True)
        return 0 if isinstance(read, Error) else read.size_bytes

    def deliver(
        self, held: Held, member_id: str, max_records: int, max_bytes: int, now_ms: int, *, is_strict: bool
    ) -> ShareDelivery | Error:
        """Acquire available records for a member and read them, as far as the isolation level allows."""
        limits, isolation = self.limits(held.key.group_id), self.isolation(held.key.group_id)
        partition, state = held.partition, held.state
        bound = partition.readable_to(isolation)
        parts: list[bytes] = []
        acquired: list[Acquired] = []
        for _ in range(SKIPPED_AT_ONCE):
            offset = state.next_offset()
            taken = sum(each.last - each.first + 1 for each in acquired)
            size = sum(map(len, parts))
            if offset >= bound or taken >= max_records or size >= max_bytes or not state.can_acquire(limits):
                break
            try:
                read = partition.log.read(
                    offset, min(max_bytes - size, READ_AT_ONCE_BYTES), bound, at_least_one_batch=not parts
                )
                if isinstance(read, Error):
                    return read
                if not read.size_bytes:
                    break
                data = b"".join([part.read_bytes() for part in read.slices])
            except (StorageError, CorruptLogError) as failure:
                return partition.unreadable(failure)
            aborted = (
                partition.log.aborted_transactions(offset, read.upper_bound_offset)
                if isolation is IsolationLevel.READ_COMMITTED
                else []
            )
            batches = _log_batches(data, aborted)
            got = state.acquire(
                member_id,
                [batch for _, batch in batches],
                max_records - taken,
                limits,
                now_ms,
                is_strict=is_strict,
            )
            acquired += got
            if got:
                parts.append(_cut(data, batches, got))
                if any(each.deliveries > 1 for each in got) or got[-1].last < batches[-1][1].last:
                    break
            elif state.next_offset() <= offset:
                break
        if acquired:
            self._watch_locks(held)
            partition.bytes_out += sum(map(len, parts))
        return ShareDelivery(b"".join(parts), acquired)

    # --- acknowledging

    def acknowledge(
        self, held: Held, member_id: str, batches: Sequence[AckBatch], now_ms: int
    ) -> Deferred[AckRefusal | None]:
        """Acknowledge all batches or none; resolves with None once the changes are written, else with the refusal."""
        changes = held.state.acknowledge(member_id, batches, self.limits(held.key.group_id), now_ms)
        if isinstance(changes, AckRefusal):
            return Deferred.of(changes)
        for batch in batches:
            if len(batch.types) == 1:
                self.counts.acknowledgements[batch.types[0]] += batch.last - batch.first + 1
            else:
                self.counts.acknowledgements.update(batch.types)
        self._watch_locks(held)
        return self._write(held, changes, now_ms, batches).map(_refusal)

    def release(self, held: Held, member_id: str, now_ms: int) -> Deferred[Error]:
        """Make the records available again that a member has acquired."""
        return self._write(held, held.state.release(member_id, self.limits(held.key.group_id)), now_ms)

    def _write(
        self, held: Held, changes: list[StateBatch], now_ms: int, batches: Sequence[AckBatch] = ()
    ) -> Deferred[Error]:
        """Write changes, and apply them once they are written.

        :param batches: the acknowledgements that cause the changes.
        """
        if not changes:
            return Deferred.of(NONE)
        state = held.state
        final = sum(each.last - each.first + 1 for each in changes if each.state in FINAL)

        def written(error: Error) -> Error:
            state.settle(changes, written=error is NONE)
            if error in GONE:
                self._drop(held)
            elif any(each.state is RecordState.AVAILABLE for each in changes) or error is NONE:
                self._ports.fetches.wake(held.partition.topic_partition)
            if error is NONE:
                self._bury(held, changes, now_ms, batches)
            self._watch_locks(held)
            return ANSWERS.get(error, error)

        return self._store(held, changes, state.final_count + final, now_ms).map(written)

    def _store(self, held: Held, changes: list[StateBatch], final_count: int, now_ms: int) -> Deferred[Error]:
        event = WriteState(held.state_epoch, held.leader_epoch, held.state.start_offset, final_count, changes)
        return self._ports.share_states.write(held.key, event, now_ms)

    def _store_applied(self, held: Held, changes: list[StateBatch], now_ms: int) -> Deferred[Error]:
        """Write changes that have already been applied."""
        stored = self._store(held, changes, held.state.final_count, now_ms)
        stored.then(lambda error: self._drop(held) if error in GONE else None)
        self._ports.fetches.wake(held.partition.topic_partition)
        return stored

    def _bury(
        self, held: Held, changes: Iterable[StateBatch], now_ms: int, batches: Sequence[AckBatch] | None = None
    ) -> None:
        """Write the dead letters of records that are given up; then archive the records, whether or not the dead
        letters could be written.

        :param batches: the acknowledgements that caused the changes, in ascending order; None after a restart, when
            they are not known.
        """
        given_up = [change for change in changes if change.state is RecordState.ARCHIVING]
        if not given_up:
            return
        limit = int(self._setting(held.key.group_id, "share.delivery.count.limit"))
        starts = [batch.first for batch in batches or ()]

        def is_rejected(change: StateBatch) -> bool:
            if batches is None:
                return change.deliveries < limit
            at = bisect_right(starts, change.first) - 1
            return at >= 0 and batches[at].is_rejected(change.first)

        together = GivenUp(held.key.group_id, held.partition, [(change, is_rejected(change)) for change in given_up])
        self.dead_letters.write(together, now_ms).then(partial(self._archive, held, given_up))

    def _archive(self, held: Held, given_up: Sequence[StateBatch], _: object) -> None:
        # if the state was released meanwhile, its next use writes the dead letters again
        if self._held.get(held.key) is held:
            self._store_applied(held, held.state.archive(given_up), self._ports.now_ms)

    # --- locks

    def _watch_locks(self, held: Held) -> None:
        """Set a timer for the first lock to expire."""
        at_ms = held.state.next_lock_ms()
        if at_ms is None or (held.timer is not None and held.timer.pending and held.timer.at_ms <= at_ms):
            return
        if held.timer is not None:
            held.timer.cancel()
        held.timer = self._ports.timers.schedule(at_ms, lambda now_ms: self._lock_ended(held, now_ms))

    def _lock_ended(self, held: Held, now_ms: int) -> None:
        if self._held.get(held.key) is held and self._is_current(held):
            self._end_locks(held, now_ms, now_ms)

    def expire_locks(self, group_id: str, now_ms: int) -> int:
        """End all locks of a group at once, for tests; returns the number of records that were locked."""
        mine = [held for held in self if held.key.group_id == group_id and self._is_current(held)]
        return sum(self._end_locks(held, ALWAYS_MS, now_ms) for held in mine)

    def _end_locks(self, held: Held, until_ms: int, now_ms: int) -> int:
        """End the locks that would expire by ``until_ms``; returns the number of records that were locked."""
        changes = held.state.expire(self.limits(held.key.group_id), until_ms)
        if changes:
            self._store_applied(held, changes, now_ms).then(lambda _: self._bury(held, changes, now_ms, ()))
        self._watch_locks(held)
        ended = sum(each.last - each.first + 1 for each in changes)
        held.expired_locks += ended
        return ended

    # --- members that are gone

    def close_session(self, member: SessionOwner, now_ms: int) -> list[tuple[Held, Deferred[Error]]]:
        """End a member's session, and release the records that it has acquired at this node."""
        self.sessions.close(member)
        mine = [
            held
            for key, held in self._held.items()
            if key.group_id == member.group_id and held.partition.led_by(member.node_id)
        ]
        return [(held, self.release(held, member.member_id, now_ms)) for held in mine if self._is_current(held)]

    def disconnected(self, channel: Channel, now_ms: int) -> None:
        for member in self.sessions.of_connection(channel.connection_id):
            self.counts.lost_sessions += 1
            self.close_session(member, now_ms)

    def stop(self) -> None:
        for held in self._held.values():
            if held.timer is not None:
                held.timer.cancel()


def lag_of(state: ShareState, partition: Partition) -> int | None:
    """The number of records from the start offset on whose state is not final (KIP-1226); None if no member has fetched
    yet."""
    if state.start_offset == UNINITIALIZED:
        return None
    start = max(state.start_offset, partition.log.log_start_offset)
    final_count = state.final_count if start == state.start_offset else 0
    return max(0, partition.log.high_watermark - start - final_count)


def _refusal(error: Error) -> AckRefusal | None:
    return None if error is NONE else AckRefusal(error, "")


Placed = tuple[int, LogBatch]
"""A batch, and its position in the bytes that were read."""


def _log_batches(data: bytes, aborted: Sequence[tuple[int, int]]) -> list[Placed]:
    """The batches in bytes that were read; markers, and batches of aborted transactions, are marked as ``skipped``.

    :param aborted: producer id and first offset of the aborted transactions with records in these bytes.
    """
    begins = sorted(aborted, key=lambda entry: entry[1])
    open_now: set[int] = set()
    found: list[Placed] = []
    for position, header in iter_headers(data):
        last = header.base_offset + header.last_offset_delta
        while begins and begins[0][1] <= last:
            open_now.add(begins.pop(0)[0])
        skipped = header.is_control or not header.records_count
        if header.is_control:
            marker = parse_control(data[position : position + header.size_bytes]) if open_now else None
            if marker is not None and not marker.commit:
                open_now.discard(header.producer_id)
        elif header.is_transactional and header.producer_id in open_now:
            skipped = True
        found.append((position, LogBatch(header.base_offset, last, skipped)))
    return found


def _cut(data: bytes, batches: Sequence[Placed], acquired: Sequence[Acquired]) -> bytes:
    """The bytes of the batches from the first acquired record to the last."""
    first, last = acquired[0].first, acquired[-1].last
    begin = next(position for position, batch in batches if batch.last >= first)
    end = next((position for position, batch in batches if batch.base > last), len(data))
    return data if not begin and end == len(data) else data[begin:end]
