"""The assignors with which the leader of a classic group divides partitions: range, roundrobin, sticky,
cooperative-sticky.

Called by the group member. Members of one group may run Java, so the names, the order of members and the user data are
Java's (``RangeAssignor``, ``RoundRobinAssignor``, ``StickyAssignor``, ``CooperativeStickyAssignor``; KIP-54, KIP-429).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from struct import Struct
from struct import error as StructError
from typing import NamedTuple

from oncelog.client.core.structs import TopicPartition

Assignment = dict[str, list[TopicPartition]]
_INT32 = Struct(">i")
_INT16 = Struct(">h")
NO_GENERATION = -1


class AssignedMember(NamedTuple):
    """A member as its JoinGroup request describes it. ``owned`` are the partitions that it had in ``generation``."""

    member_id: str
    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    generation: int = NO_GENERATION
    group_instance_id: str | None = None

    @property
    def rank(self) -> tuple[bool, str]:
        """Java's order: static members by instance id, then the others by member id."""
        if self.group_instance_id is not None:
            return False, self.group_instance_id
        return True, self.member_id


def assign_range(partitions: Mapping[str, int], members: list[AssignedMember]) -> Assignment:
    """Assign each topic separately: consecutive partitions to each member, and one more to the first members."""
    assignment: Assignment = {member.member_id: [] for member in members}
    for topic in sorted({topic for member in members for topic in member.topics}):
        count = partitions.get(topic, 0)
        readers = sorted((member for member in members if topic in member.topics), key=lambda item: item.rank)
        share, extra = divmod(count, len(readers))
        at = 0
        for index, member in enumerate(readers):
            size = share + (index < extra)
            assignment[member.member_id] += [TopicPartition(topic, number) for number in range(at, at + size)]
            at += size
    return assignment


def assign_roundrobin(partitions: Mapping[str, int], members: list[AssignedMember]) -> Assignment:
    """Assign all partitions in order, each to the next member that reads its topic."""
    assignment: Assignment = {member.member_id: [] for member in members}
    circle = sorted(members, key=lambda item: item.rank)
    position = 0
    for name in _all_partitions(partitions, members):
        while name.topic not in circle[position % len(circle)].topics:
            position += 1
        assignment[circle[position % len(circle)].member_id].append(name)
        position += 1
    return assignment


def assign_sticky(partitions: Mapping[str, int], members: list[AssignedMember]) -> Assignment:
    """Assign partitions as evenly as possible, and among such assignments with few moves."""
    order = sorted(members, key=lambda item: item.member_id)
    everything = _all_partitions(partitions, members)
    assignment, free = _kept(everything, order)
    eligible = {name: [m.member_id for m in order if name.topic in m.topics] for name in everything}
    if len({frozenset(member.topics) for member in order}) <= 1:
        free = _trim(assignment, free, len(everything))
    for name in free:
        least = min(eligible[name], key=lambda member_id: len(assignment[member_id]))
        assignment[least].append(name)
    _balance(assignment, eligible)
    return {member_id: sorted(names) for member_id, names in assignment.items()}


def _all_partitions(partitions: Mapping[str, int], members: list[AssignedMember]) -> list[TopicPartition]:
    read = {topic for member in members for topic in member.topics}
    return [TopicPartition(topic, n) for topic in sorted(read) for n in range(partitions.get(topic, 0))]


def _kept(everything: list[TopicPartition], members: list[AssignedMember]) -> tuple[Assignment, list[TopicPartition]]:
    """The owned partitions that each member may keep, and the partitions that nobody may keep."""
    owners = _owners(members)
    topics = {member.member_id: set(member.topics) for member in members}
    assignment: Assignment = {member.member_id: [] for member in members}
    free: list[TopicPartition] = []
    for name in everything:
        owner = owners.get(name)
        if owner is not None and name.topic in topics[owner]:
            assignment[owner].append(name)
        else:
            free.append(name)
    return assignment, free


def _owners(members: list[AssignedMember]) -> dict[TopicPartition, str | None]:
    """The owner of each partition. If several members claim it, the claim from the latest generation counts; None if
    two claims from the same generation conflict."""
    claims: dict[TopicPartition, tuple[int, str | None]] = {}
    for member in members:
        for name in member.owned:
            known = claims.get(name)
            if known is None or member.generation > known[0]:
                claims[name] = (member.generation, member.member_id)
            elif member.generation == known[0]:
                claims[name] = (member.generation, None)
    return {name: owner for name, (_, owner) in claims.items()}


def _trim(assignment: Assignment, free: list[TopicPartition], count: int) -> list[TopicPartition]:
    """Take partitions from members that have more than the even share; for groups whose members all read the same
    topics. Returns the free partitions."""
    share, extra = divmod(count, len(assignment))
    released: list[TopicPartition] = []
    for names in sorted(assignment.values(), key=len, reverse=True):
        most = share
        if extra and len(names) > share:
            most, extra = share + 1, extra - 1
        released += names[most:]
        del names[most:]
    return sorted([*free, *released])


def _balance(assignment: Assignment, eligible: Mapping[TopicPartition, list[str]]) -> None:
    """Move partitions from members to eligible members that have at least two fewer, until no such move is left."""
    moved = True
    while moved:
        moved = False
        for member_id in sorted(assignment, key=lambda item: (-len(assignment[item]), item)):
            for name in list(assignment[member_id]):
                least = min(eligible[name], key=lambda item: (len(assignment[item]), item))
                if len(assignment[member_id]) - len(assignment[least]) >= 2:
                    assignment[member_id].remove(name)
                    assignment[least].append(name)
                    moved = True


def assign_cooperative(partitions: Mapping[str, int], members: list[AssignedMember]) -> Assignment:
    """Assign like sticky, but leave a partition that changes hands unassigned until its owner has given it up
    (KIP-429).

    The owner is the member with the claim from the latest generation; if two members have such a claim, both give the
    partition up.
    """
    assignment = assign_sticky(partitions, members)
    owners = _owners(members)
    return {
        member_id: [name for name in names if owners.get(name, member_id) == member_id]
        for member_id, names in assignment.items()
    }


Assign = Callable[[Mapping[str, int], list[AssignedMember]], Assignment]

ASSIGNORS: Mapping[str, Assign] = {
    "range": assign_range,
    "roundrobin": assign_roundrobin,
    "sticky": assign_sticky,
    "cooperative-sticky": assign_cooperative,
}


def encode_user_data(name: str, owned: list[TopicPartition], generation: int) -> bytes | None:
    """The user data that Java's assignor of this name puts into a subscription; None if it has none."""
    if name == "cooperative-sticky":
        return _INT32.pack(generation)
    if name != "sticky":
        return None
    topics: dict[str, list[int]] = defaultdict(list)
    for topic, partition in owned:
        topics[topic].append(partition)
    out = bytearray(_INT32.pack(len(topics)))
    for topic, numbers in topics.items():
        encoded = topic.encode()
        out += _INT16.pack(len(encoded)) + encoded + _INT32.pack(len(numbers))
        for number in numbers:
            out += _INT32.pack(number)
    return bytes(out + _INT32.pack(generation))


def decode_user_data(name: str, data: bytes | None) -> tuple[tuple[TopicPartition, ...], int]:
    """The owned partitions and the generation in user data; empty if the data is missing or not as Java writes it."""
    if not data:
        return (), NO_GENERATION
    try:
        if name == "cooperative-sticky":
            return (), int(_INT32.unpack_from(data, 0)[0])
        return _decode_sticky(data) if name == "sticky" else ((), NO_GENERATION)
    except (StructError, UnicodeDecodeError):
        return (), NO_GENERATION


def _decode_sticky(data: bytes) -> tuple[tuple[TopicPartition, ...], int]:
    owned: list[TopicPartition] = []
    (topics,) = _INT32.unpack_from(data, 0)
    at = 4
    for _ in range(topics):
        (length,) = _INT16.unpack_from(data, at)
        topic = data[at + 2 : at + 2 + length].decode()
        at += 2 + length
        (count,) = _INT32.unpack_from(data, at)
        at += 4
        for _ in range(count):
            owned.append(TopicPartition(topic, _INT32.unpack_from(data, at)[0]))
            at += 4
    generation = _INT32.unpack_from(data, at)[0] if len(data) >= at + 4 else NO_GENERATION
    return tuple(owned), int(generation)
