"""A share partition (KIP-932) as a model for the explorer: the shipped rules, with logs and members simplified.

Shipped: what the share coordinator stores (``state_rules.decide`` and ``apply``), its records' format
(``state_records``), and the deliveries at the partition's leader (``SharePartition``). Model: members that take
records, accept them, give them back or are gone; locks that end; a leader that dies or is left behind by the next one
and does not know; a coordinator that dies with what it has not committed; snapshots; offsets that are reset; a group
that is deleted. What is before the newest committed snapshot is removed from the log.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from oncelog.broker.coordinator.share import state_records
from oncelog.broker.coordinator.share.state_rules import (
    FINAL,
    UNINITIALIZED,
    Compact,
    Delete,
    Event,
    Initialize,
    Load,
    Record,
    RecordState,
    ShareKey,
    ShareState,
    StateBatch,
    StateRefusal,
    StateSnapshot,
    WriteState,
    apply,
    decide,
)
from oncelog.broker.core.sharing.share_partition import (
    AckBatch,
    AcknowledgeType,
    AckRefusal,
    LogBatch,
    ShareLimits,
    SharePartition,
)
from tests.simulation.exploration.explorer import Step

KEY: Final = ShareKey("group", b"topic-of-16-byte", 0)
MEMBERS: Final = ("a", "b")
ALWAYS_MS: Final = 2**63 - 1

AGAIN = "a record that was accepted is delivered again"
TWICE = "two members have one record at once"
TOO_OFTEN = "a record is delivered more often than the limit"
LOST = "a record is delivered no more that nobody has accepted"
FORGOTTEN = "an acknowledgement that was confirmed is not in the log"
REFUSED = "a member may not acknowledge what it has"


class Deliveries:
    """A ``SharePartition`` that can be hashed."""

    def __init__(self, partition: SharePartition) -> None:
        self._partition = partition
        self._key = partition.start_offset, tuple(partition)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Deliveries) and self._key == other._key

    def copy(self) -> SharePartition:
        copied = copy.copy(self._partition)
        copied._ranges = list(self._partition)
        return copied

    def held(self) -> Iterator[tuple[int, str]]:
        """What may be acknowledged: offset and member."""
        for each in self._partition:
            if each.state is RecordState.ACQUIRED and not each.changing:
                for offset in range(each.first, each.last + 1):
                    yield offset, each.member_id

    def final(self) -> frozenset[int]:
        found = set(range(self._partition.start_offset))
        for each in self._partition:
            found.update(range(each.first, each.last + 1) if each.state in FINAL else ())
        return frozenset(found)


class Writing(NamedTuple):
    """A change of the leader that is in the log, and not committed. ``accepted``: what its member will take as done."""

    position: int
    changes: tuple[StateBatch, ...]
    accepted: frozenset[int]


class Leader(NamedTuple):
    epoch: int
    state_epoch: int
    deliveries: Deliveries
    writing: tuple[Writing, ...] = ()


class World(NamedTuple):
    """``log``: the records since the last committed snapshot, of which ``committed`` are safe. ``zombie``: a leader
    that does not know of the next one. ``asked``: offsets whose acceptance somebody has sent; ``done``: confirmed ones.
    ``given``: how often each was delivered, by the count that members saw. The rest: so many may still happen."""

    log: tuple[Record, ...]
    committed: int
    leader: Leader | None
    zombie: Leader | None
    epoch: int
    state_epoch: int
    asked: frozenset[int]
    done: frozenset[int]
    given: tuple[int, ...]
    kills: int
    takeovers: int
    crashes: int
    expiries: int
    compactions: int
    resets: int
    deletions: int

    @property
    def state(self) -> ShareState | None:
        return _fold(self.log)


@dataclass(frozen=True)
class Bounds:
    """How much happens. ``updates``: as many updates follow a snapshot before the next one."""

    records: int = 2
    limit: int = 2
    updates: int = 1
    kills: int = 0
    takeovers: int = 0
    crashes: int = 0
    expiries: int = 0
    compactions: int = 0
    resets: int = 0
    deletions: int = 0


class SharedPartition:
    """The model for the explorer."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._limits = ShareLimits(delivery_count=bounds.limit, lock_ms=1)

    # --- Model

    def first(self) -> World:
        bounds = self._bounds
        return World(
            (), 0, None, None, 0, 1, frozenset(), frozenset(), (0,) * bounds.records,
            bounds.kills, bounds.takeovers, bounds.crashes, bounds.expiries, bounds.compactions, bounds.resets,
            bounds.deletions,
        )  # fmt: skip

    def steps(self, world: World) -> Iterator[Step[World]]:
        if world.committed < len(world.log):
            yield Step("what is written is committed", self._commit(world))
        elif world.leader is None:
            yield self._opened(world)
        for leader, who in ((world.leader, "the leader"), (world.zombie, "the old leader")):
            if leader is not None:
                yield from self._acknowledged(world, leader, who)
        if world.leader is not None:
            yield from self._acquired(world, world.leader)
            yield from self._left(world, world.leader)
        yield from self._disturbed(world)

    def broken(self, world: World) -> str:
        for stored in (_fold(world.log[: world.committed]), world.state):
            if stored is not None and self._lost(world, _final(stored)):
                return LOST
        safe = _fold(world.log[: world.committed])
        if world.done and (safe is None or not world.done <= _final(safe)):
            return FORGOTTEN
        if world.leader is not None and self._lost(world, world.leader.deliveries.final()):
            return LOST
        return ""

    def ended(self, world: World) -> bool:
        leader = world.leader
        return leader is not None and not leader.writing and len(leader.deliveries.final()) == self._bounds.records

    def mirrored(self, world: World) -> World:
        return world

    def _lost(self, world: World, final: frozenset[int]) -> bool:
        return any(world.given[offset] < self._bounds.limit for offset in final - world.asked)

    # --- the coordinator

    def _write(self, world: World, event: Event) -> World | StateRefusal:
        decision = decide(world.state, event, 0, self._bounds.updates)
        if isinstance(decision, StateRefusal):
            return decision
        if decision is None:
            return world
        logged = state_records.encoded(KEY, decision)
        decoded = state_records.decoded(logged.key, logged.value)
        assert decoded is not None
        return world._replace(log=(*world.log, decoded[1]))

    def _commit(self, world: World) -> World:
        """Confirm what is written to the leaders' members, and remove what is before the last snapshot."""
        log, done = world.log, world.done
        leaders: list[Leader | None] = []
        for leader in (world.leader, world.zombie):
            if leader is not None:
                partition = leader.deliveries.copy()
                for each in leader.writing:
                    partition.settle(each.changes, written=True)
                    done |= each.accepted
                leader = leader._replace(deliveries=Deliveries(partition), writing=())
            leaders.append(leader)
        snapshots = [at for at, record in enumerate(log) if isinstance(record, StateSnapshot)]
        log = log[snapshots[-1] if snapshots else 0 :]
        current, zombie = leaders
        return world._replace(log=log, committed=len(log), leader=current, zombie=zombie, done=done)

    def _opened(self, world: World) -> Step[World]:
        if world.state is None:
            begun = self._write(world, Initialize(world.state_epoch))
            assert isinstance(begun, World)
            return Step("the group begins to read", begun)
        repeated = self._write(world, Initialize(world.state_epoch))  # as a group does that remembers less
        assert isinstance(repeated, World)
        loaded = self._write(repeated, Load(world.epoch))
        if isinstance(loaded, StateRefusal):
            return Step(f"the leader may not begin: {loaded.message}", world, LOST)
        state = loaded.state
        assert state is not None
        start = 0 if state.start_offset == UNINITIALIZED else state.start_offset
        leader = Leader(world.epoch, state.state_epoch, Deliveries(SharePartition(start, state.batches)))
        return Step(f"leader {world.epoch} begins", loaded._replace(committed=len(loaded.log), leader=leader))

    # --- members

    def _acquired(self, world: World, leader: Leader) -> Iterator[Step[World]]:
        for member in MEMBERS:
            for most in range(1, self._bounds.records + 1):
                partition = leader.deliveries.copy()
                held = dict(leader.deliveries.held())
                last = self._bounds.records - 1
                if partition.next_offset() > last:
                    return
                got = partition.acquire(member, [LogBatch(0, last)], most, self._limits, 0, is_strict=True)
                offsets = {offset: each.deliveries for each in got for offset in range(each.first, each.last + 1)}
                if not offsets:
                    continue
                broken = ""
                if world.done & offsets.keys():
                    broken = AGAIN
                elif held.keys() & offsets.keys():
                    broken = TWICE
                elif max(offsets.values()) > self._bounds.limit:
                    broken = TOO_OFTEN
                given = tuple(max(count, offsets.get(at, 0)) for at, count in enumerate(world.given))
                after = world._replace(given=given, leader=leader._replace(deliveries=Deliveries(partition)))
                yield Step(f"{member} takes {sorted(offsets)}", after, broken)

    def _acknowledged(self, world: World, leader: Leader, who: str) -> Iterator[Step[World]]:
        for offset, member in leader.deliveries.held():
            for kind in (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE):
                partition = leader.deliveries.copy()
                changes = partition.acknowledge(member, [AckBatch(offset, offset, [kind])], self._limits, 0)
                label = f"{member} says {kind.name.lower()} of {offset} to {who}"
                if isinstance(changes, AckRefusal):
                    yield Step(label, world, REFUSED)
                    continue
                accepted = frozenset({offset} if kind is AcknowledgeType.ACCEPT else ())
                asked = world._replace(asked=world.asked | accepted)
                yield Step(label, self._changed(asked, leader, partition, changes, accepted))

    def _left(self, world: World, leader: Leader) -> Iterator[Step[World]]:
        for member in sorted({member for _, member in leader.deliveries.held()}):
            partition = leader.deliveries.copy()
            changes = partition.release(member, self._limits)
            yield Step(f"{member} is gone", self._changed(world, leader, partition, changes, frozenset()))

    def _changed(
        self,
        world: World,
        leader: Leader,
        partition: SharePartition,
        changes: Sequence[StateBatch],
        accepted: frozenset[int],
    ) -> World:
        """Write what the leader has changed; one that is refused knows that it leads no more."""
        final = sum(each.last - each.first + 1 for each in changes if each.state in FINAL)
        event = WriteState(
            leader.state_epoch, leader.epoch, partition.start_offset, partition.final_count + final, changes
        )
        written = self._write(world, event)
        if isinstance(written, StateRefusal):
            return _with(world, leader, None)
        writing = (*leader.writing, Writing(len(written.log), tuple(changes), accepted))
        return _with(written, leader, leader._replace(deliveries=Deliveries(partition), writing=writing))

    # --- disturbances

    def _disturbed(self, world: World) -> Iterator[Step[World]]:
        leader = world.leader
        if leader is not None and world.expiries and list(leader.deliveries.held()):
            yield Step("all locks end", self._expired(world._replace(expiries=world.expiries - 1), leader))
        if leader is not None and world.kills:
            gone = world._replace(leader=None, epoch=world.epoch + 1, kills=world.kills - 1)
            yield Step("the leader dies", gone)
        if leader is not None and world.takeovers:
            yield Step(
                "another leader is chosen",
                world._replace(leader=None, zombie=leader, epoch=world.epoch + 1, takeovers=world.takeovers - 1),
            )
        if world.crashes:
            crashed = world._replace(log=world.log[: world.committed], crashes=world.crashes - 1)
            yield Step("the coordinator dies", crashed._replace(leader=None, zombie=None))
            yield from self._unwritten(crashed)
        if world.compactions:
            compacted = self._write(world, Compact())
            assert isinstance(compacted, World)
            yield Step("the state is written as a whole", compacted._replace(compactions=world.compactions - 1))
        if world.resets and world.state is not None:
            yield Step("the offset is reset", self._reset(world))
        if world.deletions and world.state is not None:
            deleted = self._write(world, Delete())
            assert isinstance(deleted, World)
            fresh = _unread(deleted._replace(leader=None, zombie=None, deletions=world.deletions - 1))
            yield Step("the group is deleted", self._commit(fresh))

    def _unwritten(self, world: World) -> Iterator[Step[World]]:
        """The leader goes on, and so do its members: what they have acknowledged was refused."""
        leader = world.leader
        if leader is None or not leader.writing:
            return
        partition = leader.deliveries.copy()
        for each in leader.writing:
            partition.settle(each.changes, written=False)
        settled = leader._replace(deliveries=Deliveries(partition), writing=())
        held = {offset for offset, _ in settled.deliveries.held()}
        acknowledged = {at for each in leader.writing for one in each.changes for at in range(one.first, one.last + 1)}
        yield Step(
            "nothing can be written",
            world._replace(leader=settled, zombie=None),
            REFUSED if acknowledged - held else "",
        )

    def _expired(self, world: World, leader: Leader) -> World:
        partition = leader.deliveries.copy()
        changes = partition.expire(self._limits, ALWAYS_MS)
        event = WriteState(leader.state_epoch, leader.epoch, partition.start_offset, partition.final_count, changes)
        written = self._write(world, event)
        if isinstance(written, StateRefusal):
            return _with(world, leader, None)
        return _with(written, leader, leader._replace(deliveries=Deliveries(partition)))

    def _reset(self, world: World) -> World:
        """All is delivered again. The leader learns of it later: until then it is as good as left behind."""
        epoch = world.state_epoch + 1
        reset = self._write(world, Initialize(epoch, 0))
        assert isinstance(reset, World)
        zombie = None if world.leader is None else world.leader._replace(writing=())
        fresh = _unread(
            reset._replace(leader=None, zombie=zombie, state_epoch=epoch, resets=world.resets - 1),
        )
        return self._commit(fresh)


def _with(world: World, before: Leader, after: Leader | None) -> World:
    return world._replace(leader=after) if before is world.leader else world._replace(zombie=after)


def _unread(world: World) -> World:
    """Nothing counts as delivered any more."""
    return world._replace(asked=frozenset(), done=frozenset(), given=(0,) * len(world.given))


def _fold(log: Sequence[Record]) -> ShareState | None:
    """What a start makes of the log."""
    state: ShareState | None = None
    for record in log:
        state = apply(state, record, 0)
    return state


def _final(state: ShareState) -> frozenset[int]:
    found = set(range(max(state.start_offset, 0)))
    for batch in state.batches:
        found.update(range(batch.first, batch.last + 1) if batch.state in FINAL else ())
    return frozenset(found)
