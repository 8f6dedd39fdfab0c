"""The state of a group of the consumer protocol (KIP-848), which follows from the group's records.

Only :meth:`ConsumerGroup.put_member` and similar methods change it; ``shard`` calls them when it applies a record, new
or at load. ``consumer_protocol`` decides which records to write. Topics are identified by id. Invariants: a partition
is owned (assigned, or pending revocation) by at most one member; an instance id maps to one member. Source: Kafka's
``ModernGroup``, ``ConsumerGroup`` and ``ConsumerGroupMember`` (4.4.0).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from oncelog.broker.coordinator.group.states import ConsumerState, MemberState

LEAVE_EPOCH = -1
"""Member epoch with which a member leaves for good."""
STATIC_LEAVE_EPOCH = -2
"""Member epoch of a static member that will return: it keeps its assignment until its session ends."""

MEMBER_BYTES, NAME_BYTES, MATCH_BYTES = 1000, 200, 64
"""Estimated memory in bytes of a member, of each topic that it names (besides the name), and of each topic that its
expression matches."""

TopicId = bytes
Assignment = Mapping[TopicId, frozenset[int]]
"""The partitions assigned to a member, by topic id."""
OwnedPartitions = Mapping[TopicId, Mapping[int, int]]
"""The partitions that a member owns, by topic id, each with the epoch in which the member got it (KIP-1251)."""

NO_ASSIGNMENT: Assignment = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ClassicMembership:
    """Data of a member that uses the classic protocol in a consumer group, besides what all members have."""

    session_timeout_ms: int
    protocols: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class ConsumerMember:
    """A member of the group. It may read the partitions in ``assigned``. It must give up those in ``revoking``, and has
    not yet confirmed that it has."""

    member_id: str
    epoch: int = 0
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    topics: frozenset[str] = frozenset()
    regex: str | None = ""
    assignor: str | None = None
    assigned: OwnedPartitions = field(default_factory=dict)
    revoking: OwnedPartitions = field(default_factory=dict)
    classic: ClassicMembership | None = None

    def at_epoch(self, epoch: int) -> ConsumerMember:
        """The member with a new epoch; its current epoch becomes the previous one."""
        return replace(self, epoch=epoch, previous_epoch=self.epoch)

    def reconciled_to(self, assignment_epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.epoch == assignment_epoch


@dataclass(frozen=True, slots=True)
class ResolvedRegex:
    """The topics that a regular expression matched, and when it was matched."""

    topics: frozenset[str]
    version: int
    timestamp_ms: int


UNRESOLVED = ResolvedRegex(frozenset(), -1, -1)


@dataclass(slots=True)
class ConsumerGroup:
    """A group of the consumer protocol. A new group is at epoch 1, so that its first change begins epoch 2."""

    group_id: str
    epoch: int = 1
    metadata_hash: int = 0
    assignment_epoch: int = 1
    assignment_timestamp_ms: int = 0
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    targets: dict[str, Assignment] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    regexes: dict[str, ResolvedRegex] = field(default_factory=dict)
    has_partition_metadata: bool = False
    """Whether the log has a record of the subscribed partitions, which older versions wrote and which must be
    removed."""
    metadata_stale: bool = True
    """Whether topics may have changed since the metadata hash was last compared; compare it at the next heartbeat.
    Never stored."""
    classic_members: int = 0
    """The number of members that use the classic protocol."""
    names_bytes: int = 0
    """Estimated memory in bytes of the topics that the members name; the topics need not exist."""
    _owner_epochs: dict[tuple[TopicId, int], int] = field(default_factory=dict)
    _topics: dict[str, int] = field(default_factory=dict)
    _regexes: dict[str, int] = field(default_factory=dict)
    """How many members subscribe to each name and to each expression, so that a join need not examine all other
    members; plain dictionaries, which are copied 20 times as fast as a Counter."""

    @property
    def empty(self) -> bool:
        return not self.members

    @property
    def state(self) -> ConsumerState:
        if not self.members:
            return ConsumerState.EMPTY
        if self.epoch != self.assignment_epoch:
            return ConsumerState.ASSIGNING
        if all(member.reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return ConsumerState.STABLE
        return ConsumerState.RECONCILING

    @property
    def memory_bytes(self) -> int:
        """Estimated memory in bytes of the group's members and their subscriptions."""
        matches = sum([len(resolved.topics) for resolved in self.regexes.values()])
        return MEMBER_BYTES * len(self.members) + self.names_bytes + MATCH_BYTES * matches

    def owner_epoch(self, topic_id: TopicId, partition: int) -> int:
        """The epoch of the member that owns the partition, or -1 if no member owns it."""
        return self._owner_epochs.get((topic_id, partition), -1)

    def static_member(self, instance_id: str) -> ConsumerMember | None:
        member_id = self.static_members.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def has_room_for(self, member_id: str, instance_id: str | None, max_size: int) -> bool:
        """Whether the member may join: it is in the group, returns as a static member, or the group has fewer than
        ``max_size`` members."""
        returns = instance_id is not None and self.static_member(instance_id) is not None
        return returns or member_id in self.members or len(self.members) < max_size

    def target(self, member_id: str) -> Assignment:
        return self.targets.get(member_id, NO_ASSIGNMENT)

    def topics_of(self, member: ConsumerMember) -> frozenset[str]:
        """The topics to which the member subscribes by name and, once its regular expression is resolved, by
        expression."""
        resolved = self.regexes.get(member.regex) if member.regex else None
        return member.topics if resolved is None else member.topics | resolved.topics

    def reads(self, topic: str) -> bool:
        return topic in self._topics or any(topic in resolved.topics for resolved in self.regexes.values())

    @property
    def used_regexes(self) -> Set[str]:
        """The regular expressions with which members subscribe."""
        return self._regexes.keys()

    def topics_among(self, existing: Set[str]) -> Set[str]:
        """The ``existing`` topics that any member subscribes to; members may name thousands of others."""
        resolved = [self.regexes[regex].topics & existing for regex in self._regexes if regex in self.regexes]
        return (self._topics.keys() & existing).union(*resolved)

    def preferred_assignor(self, members: Iterable[ConsumerMember]) -> str | None:
        """The assignor that most of ``members`` request; None if none requests an assignor. A tie is decided as in
        Kafka."""
        votes = Counter(member.assignor for member in members if member.assignor is not None)
        return max(sorted(votes, reverse=True), key=votes.__getitem__) if votes else None

    def copy(self) -> ConsumerGroup:
        """A copy of the group on which changes can be tried."""
        return replace(
            self,
            members=dict(self.members),
            targets=dict(self.targets),
            static_members=dict(self.static_members),
            regexes=dict(self.regexes),
            _owner_epochs=dict(self._owner_epochs),
            _topics=self._topics.copy(),
            _regexes=self._regexes.copy(),
        )

    # --- changes, from records alone

    def put_member(self, member: ConsumerMember) -> None:
        old = self.members.get(member.member_id)
        self._release(old)
        self._count(old, member)
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        for owned in (member.assigned, member.revoking):
            for topic_id, partitions in owned.items():
                for partition in partitions:
                    key = (topic_id, partition)
                    self._owner_epochs[key] = max(member.epoch, self._owner_epochs.get(key, member.epoch))

    def remove_member(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        self._release(member)
        self._count(member, None)
        instance_id = None if member is None else member.instance_id
        if instance_id is not None and self.static_members.get(instance_id) == member_id:
            del self.static_members[instance_id]

    def _count(self, old: ConsumerMember | None, new: ConsumerMember | None) -> None:
        """Replace the member's old version by the new one in the counts of members, names and expressions."""
        self.classic_members += _is_classic(new) - _is_classic(old)
        if _names(old) is not _names(new):
            self.names_bytes += size_of_names(_names(new)) - size_of_names(_names(old))
        for counted, before, after in (
            (self._topics, _names(old), _names(new)),
            (self._regexes, _expressions(old), _expressions(new)),
        ):
            for name in after - before:
                counted[name] = counted.get(name, 0) + 1
            for name in before - after:
                counted[name] -= 1
                if not counted[name]:
                    del counted[name]

    def _release(self, member: ConsumerMember | None) -> None:
        """Free the partitions that the member owned, except those that another member has come to own at another
        epoch."""
        if member is None:
            return
        for owned in (member.assigned, member.revoking):
            for topic_id, partitions in owned.items():
                for partition in partitions:
                    if self._owner_epochs.get((topic_id, partition)) == member.epoch:
                        del self._owner_epochs[topic_id, partition]


def size_of_names(names: Collection[str]) -> int:
    """Estimated memory in bytes of the topics that a member names."""
    return NAME_BYTES * len(names) + sum(map(len, names))


def _is_classic(member: ConsumerMember | None) -> bool:
    return member is not None and member.classic is not None


def _names(member: ConsumerMember | None) -> frozenset[str]:
    return frozenset() if member is None else member.topics


def _expressions(member: ConsumerMember | None) -> frozenset[str]:
    return frozenset([member.regex]) if member is not None and member.regex else frozenset()
