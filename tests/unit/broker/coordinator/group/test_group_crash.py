"""Loss of power at every point: what was confirmed holds, and the log describes the coordinator as it was.

A script of requests is stopped after each of its steps, with every length of the log between what was synced and what
was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.broker.coordinator.group.classic.classic_group import ClassicGroup
from oncelog.broker.coordinator.group.consumer.consumer_group import ConsumerGroup
from oncelog.broker.coordinator.group.states import ClassicState, ConsumerState
from oncelog.errors import Error
from oncelog.types import ProducerIdAndEpoch
from tests.support.group_host import GroupClient, MemoryGroupHost

A, B = ProducerIdAndEpoch(1, 0), ProducerIdAndEpoch(2, 0)


class Life:
    """A group of two classic members, its offsets, and those of two transactions, one step at a time."""

    def __init__(self) -> None:
        self.host = MemoryGroupHost({"t": 4})
        self.host.sync_at_once = False
        self.g = GroupClient(self.host)
        self.written: dict[int, list[int]] = {p: [-1] for p in range(4)}
        """Offsets that may be found for each partition, oldest first."""
        self.confirmed: dict[int, int] = dict.fromkeys(range(4), -1)
        """The least that must be found for each partition."""
        self.generation = 0
        self.ids: list[str] = []

    def steps(self) -> Iterator[Callable[[], None]]:
        yield self.join
        yield self.host.sync
        yield self.assign
        yield self.host.sync
        for offset, partition in ((10, 0), (11, 1), (20, 0)):
            yield partial(self.commit, offset, partition)
            yield self.host.sync
        for producer, commit, partition in ((A, True, 2), (B, False, 3)):
            yield partial(self.pend, producer, partition)
            yield self.host.sync
            yield partial(self.end, producer, commit, partition)
            yield self.host.sync
        yield self.leave
        yield self.host.sync

    def join(self) -> None:
        waiting = [self.g.joined() for _ in range(2)]
        self.host.pass_time(0)
        self.ids = [member_id for member_id, _ in waiting]
        self.generation = waiting[0][1].value.generation_id

    def assign(self) -> None:
        self.g.sync(self.ids[0], self.generation, {m: m.encode() for m in self.ids})
        self.g.sync(self.ids[1], self.generation)

    def commit(self, offset: int, partition: int) -> None:
        answer = self.g.commit(offset, partition=partition, member_id=self.ids[0], generation=self.generation)
        self.written[partition].append(offset)
        answer.then(lambda error: self._confirm(error, partition, offset))

    def pend(self, producer: ProducerIdAndEpoch, partition: int) -> None:
        self.g.commit_in_transaction(
            30, producer, partition=partition, member_id=self.ids[1], generation=self.generation
        )

    def end(self, producer: ProducerIdAndEpoch, commit: bool, partition: int) -> None:
        self.host.end_transaction("g", producer, commit=commit)
        if commit:
            self.written[partition].append(30)

    def leave(self) -> None:
        for member_id in self.ids:
            self.g.leave((member_id, None))

    def _confirm(self, error: Error, partition: int, offset: int) -> None:
        assert error is Error.NONE
        self.confirmed[partition] = offset


def run(count: int) -> Life:
    life = Life()
    for step, _ in zip(life.steps(), range(count), strict=False):
        step()
    return life


STEPS = sum(1 for _ in Life().steps())


@pytest.mark.parametrize("count", range(STEPS + 1))
def test_after_a_crash_every_confirmed_offset_exists_and_the_group_continues(count: int) -> None:
    for lost in range(4):
        life = run(count)
        confirmed = dict(life.confirmed)
        life.host.restart(lost)
        life.host.sync_at_once = True
        g = life.g
        for partition, written in life.written.items():
            offset = g.offset(partition=partition)
            assert isinstance(offset, int)
            assert offset in written
            assert written.index(offset) >= written.index(confirmed[partition])
        for producer in (A, B):
            life.host.end_transaction("g", producer, commit=False)
        assert g.offset(partition=3, stable=True) == -1
        group = life.host.shard("g").groups.get("g")
        if isinstance(group, ClassicGroup) and group.members:
            assert group.state is ClassicState.STABLE
            assert g.sync(life.ids[1], life.generation).value.assignment == life.ids[1].encode()
        members = g.stable(2) if group is None or group.empty else life.ids
        generation = life.host.shard("g").groups["g"]
        assert isinstance(generation, ClassicGroup)
        assert g.commit(99, member_id=members[0], generation=generation.generation).value == Error.NONE


def state(host: MemoryGroupHost) -> object:
    """Everything that the log must be able to restore."""
    shards = list(host.coordinator.runtime.shards())
    groups: dict[str, object] = {}
    for shard in shards:
        for group_id, group in shard.groups.items():
            if isinstance(group, ConsumerGroup):
                groups[group_id] = replace(group, metadata_stale=False)
            elif group.state in (ClassicState.EMPTY, ClassicState.STABLE):
                members = {m: (x.assignment, x.instance_id) for m, x in group.members.items()}
                groups[group_id] = (group.generation, group.protocol_type, group.leader_id, members)
    stores = [(s.offsets._committed, s.offsets._pending, s.offsets._open) for s in shards]
    return groups, stores


OPERATIONS = ("stable", "leave", "commit", "pend", "end", "abort", "beat", "join", "quit", "static", "grow", "delete")


@given(st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 2)), max_size=30))
@settings(max_examples=100, deadline=None)
def test_a_loaded_group_equals_the_stored_group(operations: list[tuple[str, int]]) -> None:
    host = MemoryGroupHost({"t": 3}, {"group.consumer.assignment.interval.ms": "0"})
    classic, consumer = GroupClient(host, "classic"), GroupClient(host, "consumer")
    members: list[str] = []
    for operation, n in operations:
        match operation:
            case "stable" if not members:
                members = classic.stable(n + 1, session_timeout_ms=600_000)
            case "leave" if members:
                for member_id in members:
                    classic.leave((member_id, None))
                members = []
            case "commit":
                consumer.commit(n, partition=n)
                classic.commit(n, partition=n)
            case "pend":
                classic.commit_in_transaction(n, (A, B)[n % 2], partition=n)
            case "end" | "abort":
                host.end_transaction("classic", (A, B)[n % 2], commit=operation == "end")
            case "join":
                consumer.beat("abc"[n], 0)
            case "static":
                consumer.beat(f"s{n}", 0, instance_id="i", regex="t.*")
                consumer.beat(f"s{n}", -2, instance_id="i")
            case "beat":
                group = host.shard("consumer").groups.get("consumer")
                if isinstance(group, ConsumerGroup) and "abc"[n] in group.members:
                    member = group.members["abc"[n]]
                    owned = {"t": sorted(member.assigned.get(host.id_of("t"), {}))}
                    consumer.beat(member.member_id, member.epoch, owned=owned)
            case "quit":
                consumer.beat("abc"[n], -1)
            case "grow":
                host.create_topic("t", (host.topic_partitions("t") or 0) + 1)
            case "delete":
                host.coordinator.delete_groups(["classic", "consumer"], host.now_ms, node_id=None)
            case _:
                pass
    before = state(host)
    host.restart(0)
    assert state(host) == before


@pytest.mark.parametrize("lost", range(8))
def test_a_consumer_group_that_lost_its_newest_records_recovers(lost: int) -> None:
    """Members that are ahead of the coordinator are fenced and join again; at the end all partitions are assigned."""
    host = MemoryGroupHost({"t": 4}, {"group.consumer.assignment.interval.ms": "0"})
    g = GroupClient(host)
    g.beat("a", 0)
    host.sync_at_once = False
    g.beat("b", 0)
    g.beat("a", 2, owned={"t": [0, 1]})
    host.restart(lost)
    host.sync_at_once = True
    epochs = {"a": 3, "b": 3}
    owned: dict[str, dict[str, list[int]]] = {"a": {"t": [0, 1]}, "b": {}}
    for _ in range(8):
        for member in "ab":
            answer = g.beat(member, epochs[member], owned=owned[member]).value
            if answer.error_code:
                assert answer.error_code in (Error.FENCED_MEMBER_EPOCH, Error.UNKNOWN_MEMBER_ID)
                epochs[member], owned[member] = 0, {}
                continue
            epochs[member] = answer.member_epoch
            owned[member] = g.assigned(answer) if answer.assignment is not None else owned[member]  # type: ignore[assignment]
    group = host.shard("g").groups["g"]
    assert group.state is ConsumerState.STABLE
    assert sorted(p for mine in owned.values() for p in mine.get("t", [])) == [0, 1, 2, 3]
