"""Server-side assignors of the consumer protocol: which member reads which partition (KIP-848).

Pure functions from members, their subscriptions and their current target to a new target; called by
``consumer_draft``. Every partition of a subscribed topic is assigned, to exactly one subscriber.
Members and topics are processed in a fixed order, so the same input gives the same target. The goals are those of
Kafka's ``RangeAssignor`` and ``UniformAssignor``; among equally good targets the choice may differ from Kafka's.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from oncelog.broker.coordinator.group.consumer.consumer_group import Assignment, TopicId

PartitionCounts = Mapping[TopicId, int]
Owned = dict[TopicId, set[int]]

BALANCE_ROUNDS = 16
"""How often the uniform assignor goes over the topics to balance members with different subscriptions."""


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """What an assignor knows about a member: the existing topics to which it subscribes, and its current target."""

    topics: frozenset[TopicId]
    current: Assignment
    instance_id: str | None = None


Members = Mapping[str, MemberSpec]
Assignor = Callable[[Members, PartitionCounts], dict[str, Assignment]]


def range_assignor(members: Members, counts: PartitionCounts) -> dict[str, Assignment]:
    """Give each subscriber of a topic a run of consecutive partitions; if the number does not divide evenly, the first
    subscribers get one more.

    Members keep their order from topic to topic (static ones first, by instance id), so that equally partitioned topics
    are co-partitioned: a member gets the same partition numbers of each.
    """

    def order(member_id: str) -> tuple[bool, str]:
        instance_id = members[member_id].instance_id
        return (instance_id is None, member_id if instance_id is None else instance_id)

    ordered = sorted(members, key=order)
    target: dict[str, dict[TopicId, frozenset[int]]] = {member_id: {} for member_id in ordered}
    for topic in sorted(_subscribed(members)):
        subscribers = [member_id for member_id in ordered if topic in members[member_id].topics]
        quota, extra = divmod(counts[topic], len(subscribers))
        start = 0
        for rank, member_id in enumerate(subscribers):
            end = start + quota + (rank < extra)
            if end > start:
                target[member_id][topic] = frozenset(range(start, end))
            start = end
    return dict(target)


def uniform_assignor(members: Members, counts: PartitionCounts) -> dict[str, Assignment]:
    """Assign partitions as evenly as the subscriptions allow, with as few moves as possible.

    Members with equal subscriptions get counts that differ by at most one, and lose a partition only if they have too
    many. With different subscriptions the least loaded subscriber gets free partitions, then partitions move from more
    to less loaded subscribers of the same topic.
    """
    kept = _kept(members, counts)
    if len({spec.topics for spec in members.values()}) <= 1:
        _fill_equal(members, counts, kept)
    else:
        _fill_by_load(members, counts, kept)
        _balance(members, kept)
    return {
        member_id: {topic: frozenset(partitions) for topic, partitions in owned.items() if partitions}
        for member_id, owned in kept.items()
    }


ASSIGNORS: Mapping[str, Assignor] = {"uniform": uniform_assignor, "range": range_assignor}


def _subscribed(members: Members) -> set[TopicId]:
    return {topic for spec in members.values() for topic in spec.topics}


def _kept(members: Members, counts: PartitionCounts) -> dict[str, Owned]:
    """The partitions that each member keeps: those in its current target that exist, are still subscribed to, and are
    not kept by another member."""
    taken: set[tuple[TopicId, int]] = set()
    kept: dict[str, Owned] = {}
    for member_id in sorted(members):
        owned: Owned = {}
        for topic, partitions in members[member_id].current.items():
            if topic in members[member_id].topics:
                mine = {p for p in partitions if p < counts[topic] and (topic, p) not in taken}
                taken.update((topic, p) for p in mine)
                if mine:
                    owned[topic] = mine
        kept[member_id] = owned
    return kept


def _free(members: Members, counts: PartitionCounts, kept: Mapping[str, Owned]) -> dict[TopicId, list[int]]:
    """Partitions without an owner, by topic; topics are in order of their ids."""
    free = {topic: set(range(counts[topic])) for topic in sorted(_subscribed(members))}
    for owned in kept.values():
        for topic, partitions in owned.items():
            free[topic] -= partitions
    return {topic: sorted(partitions) for topic, partitions in free.items() if partitions}


def _load(owned: Owned) -> int:
    return sum(len(partitions) for partitions in owned.values())


def _fill_equal(members: Members, counts: PartitionCounts, kept: dict[str, Owned]) -> None:
    """Assign free partitions to members with equal subscriptions: each gets the same quota, some get one more,
    preferably those that already have one more."""
    total = sum(counts[topic] for topic in _subscribed(members))
    quota, extra = divmod(total, len(members))
    quotas: dict[str, int] = {}
    for member_id in sorted(kept, key=lambda m: (_load(kept[m]) <= quota, m)):
        quotas[member_id] = quota + (extra > 0)
        extra -= extra > 0
    for member_id, owned in kept.items():
        surplus = _load(owned) - quotas[member_id]
        for topic in sorted(owned, reverse=True):
            for partition in sorted(owned[topic], reverse=True)[: max(surplus, 0)]:
                owned[topic].discard(partition)
                surplus -= 1
    free = iter([(topic, p) for topic, partitions in _free(members, counts, kept).items() for p in partitions])
    for member_id in sorted(kept):
        for _ in range(quotas[member_id] - _load(kept[member_id])):
            topic, partition = next(free)
            kept[member_id].setdefault(topic, set()).add(partition)


def _fill_by_load(members: Members, counts: PartitionCounts, kept: dict[str, Owned]) -> None:
    """Assign free partitions to members with different subscriptions: topics with the most partitions per subscriber
    first, each partition to the least loaded subscriber."""
    subscribers = _subscribers(members)
    free = _free(members, counts, kept)
    loads = {member_id: _load(owned) for member_id, owned in kept.items()}

    def order(topic: TopicId) -> tuple[float, int, TopicId]:
        return (-counts[topic] / len(subscribers[topic]), len(subscribers[topic]), topic)

    for topic in sorted(free, key=order):
        heap = [(loads[member_id], member_id) for member_id in subscribers[topic]]
        heapq.heapify(heap)
        for partition in free[topic]:
            load, member_id = heap[0]
            heapq.heapreplace(heap, (load + 1, member_id))
            loads[member_id] = load + 1
            kept[member_id].setdefault(topic, set()).add(partition)


def _balance(members: Members, kept: dict[str, Owned]) -> None:
    """Move partitions from the most loaded owner of a topic to its least loaded subscriber, while their loads differ by
    two or more."""
    loads = {member_id: _load(owned) for member_id, owned in kept.items()}
    topics = {topic: ids for topic, ids in sorted(_subscribers(members).items()) if len(ids) > 1}
    for _ in range(BALANCE_ROUNDS):
        moved = False
        for topic, subscribers in topics.items():
            moved = _even_out(topic, subscribers, kept, loads) or moved
        if not moved:
            return


def _even_out(topic: TopicId, subscribers: Sequence[str], kept: dict[str, Owned], loads: dict[str, int]) -> bool:
    """Move partitions of one topic; returns whether any were moved. Among equally loaded members the last one gives,
    the first one takes. Both heaps may contain outdated loads of a member: only the current load counts."""
    givers = [(-loads[member_id], -n) for n, member_id in enumerate(subscribers) if kept[member_id].get(topic)]
    takers = [(loads[member_id], n) for n, member_id in enumerate(subscribers)]
    heapq.heapify(givers)
    heapq.heapify(takers)
    moved = False
    while givers:
        giver_load, giver = -givers[0][0], -givers[0][1]
        owned = kept[subscribers[giver]].get(topic)
        if giver_load != loads[subscribers[giver]] or not owned:
            heapq.heappop(givers)
            continue
        taker_load, taker = takers[0]
        if taker_load != loads[subscribers[taker]]:
            heapq.heappop(takers)
            continue
        if giver_load - taker_load <= 1:
            return moved
        partition = max(owned)
        owned.discard(partition)
        kept[subscribers[taker]].setdefault(topic, set()).add(partition)
        for number, change in ((giver, -1), (taker, 1)):
            loads[subscribers[number]] += change
            heapq.heappush(givers, (-loads[subscribers[number]], -number))
            heapq.heappush(takers, (loads[subscribers[number]], number))
        moved = True
    return moved


def _subscribers(members: Members) -> dict[TopicId, list[str]]:
    subscribers: dict[TopicId, list[str]] = {}
    for member_id in sorted(members):
        for topic in members[member_id].topics:
            subscribers.setdefault(topic, []).append(member_id)
    return subscribers
