"""The assignor ``simple``: gives every partition a reader and every member partitions, as evenly as possible (KIP-932).

Pure. With more members than partitions, several share one. Members keep their partitions as long as the result is even.
Source: Kafka's ``SimpleAssignor`` (4.4), for its aims; which member gets which partition is not promised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heapreplace

from oncelog.broker.coordinator.group.consumer.consumer_group import Assignment, TopicId

NAME = "simple"
Place = tuple[TopicId, int]


def assign(
    subscriptions: Mapping[str, frozenset[TopicId]],
    partitions: Mapping[TopicId, frozenset[int]],
    now: Mapping[str, Assignment],
) -> dict[str, Assignment]:
    """Compute the target of each member.

    :param subscriptions: the existing topics that each member subscribes to.
    :param now: the present targets.
    """
    readers: dict[TopicId, list[str]] = {}
    for member_id in sorted(subscriptions):
        for topic_id in subscriptions[member_id]:
            readers.setdefault(topic_id, []).append(member_id)
    places = [(topic_id, index) for topic_id in sorted(readers) for index in sorted(partitions.get(topic_id, ()))]
    loads = dict.fromkeys(sorted(subscriptions), 0)
    members_of: dict[Place, set[str]] = {place: set() for place in places}
    _keep(subscriptions, now, members_of, loads)
    _give([place for place in places if not members_of[place]], readers, members_of, loads)
    # give each member without a partition the partition with the fewest members
    for member_id in [member_id for member_id, load in sorted(loads.items()) if not load]:
        mine = [place for place in places if place[0] in subscriptions[member_id]]
        if mine:
            members_of[min(mine, key=lambda place: (len(members_of[place]), place))].add(member_id)
    return _targets(members_of, loads)


def _give(
    places: Iterable[Place],
    readers: Mapping[TopicId, list[str]],
    members_of: dict[Place, set[str]],
    loads: dict[str, int],
) -> None:
    """Give each partition its least loaded subscriber.

    Topics with the same subscribers share a heap of (load, member). Loads only grow, so an entry with an old load is
    corrected when it comes first.
    """
    heaps: dict[tuple[str, ...], list[tuple[int, str]]] = {}
    of_topic: dict[TopicId, list[tuple[int, str]]] = {}
    for topic_id, members in readers.items():
        key = tuple(members)
        if key not in heaps:
            heaps[key] = sorted((loads[member_id], member_id) for member_id in key)
        of_topic[topic_id] = heaps[key]
    for place in places:
        heap = of_topic[place[0]]
        while heap[0][0] != loads[heap[0][1]]:
            heapreplace(heap, (loads[heap[0][1]], heap[0][1]))
        load, chosen = heap[0]
        members_of[place].add(chosen)
        loads[chosen] = load + 1
        heapreplace(heap, (load + 1, chosen))


def _keep(
    subscriptions: Mapping[str, frozenset[TopicId]],
    now: Mapping[str, Assignment],
    members_of: dict[Place, set[str]],
    loads: dict[str, int],
) -> None:
    """Let members keep their partitions, up to an equal share."""
    most = -(-len(members_of) // max(1, len(loads)))
    shared_by = -(-len(loads) // max(1, len(members_of)))
    for member_id in loads:
        for topic_id, indexes in sorted(now.get(member_id, {}).items()):
            for index in sorted(indexes) if topic_id in subscriptions[member_id] else ():
                holders = members_of.get((topic_id, index))
                if holders is not None and loads[member_id] < most and len(holders) < shared_by:
                    holders.add(member_id)
                    loads[member_id] += 1


def _targets(members_of: Mapping[Place, set[str]], members: Iterable[str]) -> dict[str, Assignment]:
    targets: dict[str, dict[TopicId, set[int]]] = {member_id: {} for member_id in members}
    for (topic_id, index), holders in members_of.items():
        for member_id in holders:
            targets[member_id].setdefault(topic_id, set()).add(index)
    return {
        member_id: {topic_id: frozenset(indexes) for topic_id, indexes in target.items()}
        for member_id, target in targets.items()
    }
