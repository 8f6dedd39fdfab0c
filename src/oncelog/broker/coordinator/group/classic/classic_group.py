"""The state of a group of the classic protocol: members, generation, leader, chosen protocol.

Plain data that a test can build: no timers, no parked requests, no clock. ``classic_rules`` decides on it,
``classic_protocol`` changes it, ``records`` stores and loads it. Invariants: a static member's instance id maps to the
id of a member; a protocol's count is the number of members that support it; a pending id belongs to no member. Source:
Kafka's ``ClassicGroup`` and ``ClassicGroupMember``; KIP-345 (static members), KIP-394 (member id first).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from oncelog.broker.coordinator.group.states import CLASSIC_TRANSITIONS, ClassicState
from oncelog.broker.coordinator.group.subscription import PROTOCOL_TYPE, subscribed_topics
from oncelog.errors import InvariantError

MAX_METADATA_BYTES = 16 * 1024 * 1024
"""Limit in bytes on the metadata of a group's members, for all of their protocols. The metadata for the chosen protocol
has to fit into one record (``max.message.bytes``); if it did not, no rebalance would ever complete."""
MEMBER_BYTES = 1000
"""Estimated memory in bytes of a member without its metadata and ids; also counted for an id whose member has not
joined yet."""
Protocols = Mapping[str, bytes]
"""Protocols that a member supports, by name in its order of preference, with its metadata for each."""


@dataclass(slots=True)
class ClassicMember:
    """A member of a classic group. ``awaiting_join`` and ``awaiting_sync``: a JoinGroup or SyncGroup request of the
    member is parked."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    assignment: bytes = b""
    awaiting_join: bool = False
    awaiting_sync: bool = False
    is_new: bool = False
    """Whether the member has joined but has not been answered: it does not know its id yet, and so cannot send
    heartbeats."""

    @property
    def waits(self) -> bool:
        """Whether a request of the member is parked, which proves that the member is alive; a new member's request does
        not."""
        return not self.is_new and (self.awaiting_join or self.awaiting_sync)

    def vote(self, candidates: Iterable[str]) -> str:
        """The first of the member's protocols that is in ``candidates``."""
        allowed = set(candidates)
        for name in self.protocols:
            if name in allowed:
                return name
        raise InvariantError(f"member {self.member_id} knows none of the protocols {sorted(allowed)}")

    def same_protocols(self, protocols: Protocols) -> bool:
        """Whether ``protocols`` equal the member's in names, order and metadata."""
        return list(self.protocols.items()) == list(protocols.items())


@dataclass(slots=True)
class ClassicGroup:
    """A group of the classic protocol. ``state_timestamp_ms``: when the group entered its state, -1 if a record of an
    old version does not say."""

    group_id: str
    state: ClassicState = ClassicState.EMPTY
    previous_state: ClassicState = ClassicState.DEAD
    state_timestamp_ms: int = -1
    generation: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str | None = None
    members: dict[str, ClassicMember] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    pending_joins: set[str] = field(default_factory=set)
    """Member ids returned with MEMBER_ID_REQUIRED whose members have not joined yet."""
    pending_syncs: set[str] = field(default_factory=set)
    """Members that got the generation's JoinGroup answer and have not sent SyncGroup yet."""
    new_member_added: bool = False
    """Whether a member joined during the initial delay, which is then extended."""
    subscribed_topics: frozenset[str] | None = None
    """Topics that the members read; None if the coordinator cannot know them."""
    metadata_bytes: int = 0
    """Size in bytes of the members' metadata, for all of their protocols."""
    _protocol_counts: dict[str, int] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        return self.state is ClassicState.EMPTY

    @property
    def consumer_type(self) -> bool:
        return self.protocol_type == PROTOCOL_TYPE

    @property
    def awaiting_joins(self) -> int:
        return sum(member.awaiting_join for member in self.members.values())

    @property
    def all_joined(self) -> bool:
        return not self.pending_joins and all(member.awaiting_join for member in self.members.values())

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of the group's members; 0 without members."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def reads(self, topic: str) -> bool:
        """Whether a member may read ``topic``; in a group of consumers whose subscriptions cannot be read, every topic
        counts as read."""
        if self.subscribed_topics is None:
            return self.consumer_type
        return topic in self.subscribed_topics

    def enter(self, state: ClassicState, now_ms: int) -> None:
        if state not in CLASSIC_TRANSITIONS[self.state]:
            raise InvariantError(f"group {self.group_id} cannot go from {self.state.value} to {state.value}")
        self.previous_state, self.state, self.state_timestamp_ms = self.state, state, now_ms

    def add(self, member: ClassicMember) -> None:
        """Add a member; the first one determines the protocol type and becomes the leader."""
        if member.instance_id is not None:
            if member.instance_id in self.static_members:
                raise InvariantError(f"group {self.group_id} has two members with instance id {member.instance_id}")
            self.static_members[member.instance_id] = member.member_id
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._count(member.protocols, 1)
        self.pending_joins.discard(member.member_id)

    def remove(self, member_id: str) -> ClassicMember | None:
        """Remove a member or a pending member id; if the leader is removed, the first remaining member becomes the
        leader."""
        self.pending_joins.discard(member_id)
        self.pending_syncs.discard(member_id)
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count(member.protocols, -1)
            if member.instance_id is not None:
                del self.static_members[member.instance_id]
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        return member

    def replace_static(self, instance_id: str, new_member_id: str) -> ClassicMember:
        """Give a static member a new member id: it keeps its subscription, assignment and leadership, and none of its
        requests is parked."""
        old_member_id = self.static_members[instance_id]
        member = self.members.pop(old_member_id)
        member.member_id = new_member_id
        member.awaiting_join = member.awaiting_sync = member.is_new = False
        self.members[new_member_id] = member
        self.static_members[instance_id] = new_member_id
        if self.leader_id == old_member_id:
            self.leader_id = new_member_id
        return member

    def update(
        self, member: ClassicMember, protocols: Protocols, rebalance_timeout_ms: int, session_timeout_ms: int
    ) -> None:
        """Update a member from the JoinGroup request with which it rejoins."""
        self._count(member.protocols, -1)
        self._count(protocols, 1)
        member.protocols = protocols
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms

    def supports(self, protocol_type: str, protocols: Iterable[str]) -> bool:
        """Whether a member with these protocols may join: all members of the group support at least one of them."""
        if self.state is ClassicState.EMPTY:
            return bool(protocol_type) and any(True for _ in protocols)
        return protocol_type == self.protocol_type and any(
            self._protocol_counts.get(name, 0) == len(self.members) for name in protocols
        )

    def choose_protocol(self) -> str:
        """The protocol with the most votes: each member votes for its first choice among the protocols that all members
        support; in a tie the protocol voted for first wins."""
        candidates = [name for name, count in self._protocol_counts.items() if count == len(self.members)]
        votes: dict[str, int] = {}
        for member in self.members.values():
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=votes.__getitem__)

    def elect_joined_leader(self) -> bool:
        """Keep the leader if it joined, else make the first joined member the leader; returns False if no member
        joined.
        """
        if self.leader_id is not None and self.members[self.leader_id].awaiting_join:
            return True
        for member in self.members.values():
            if member.awaiting_join:
                self.leader_id = member.member_id
                return True
        return False

    def next_generation(self, now_ms: int) -> None:
        """End the join phase and begin a new generation, in state COMPLETING_REBALANCE, or EMPTY if no member is
        left."""
        self.generation = self.generation + 1 if self.generation < 2**31 - 1 else 1
        self.pending_syncs.clear()
        self.protocol_name = self.choose_protocol() if self.members else None
        self.subscribed_topics = self.compute_subscribed_topics()
        self.enter(ClassicState.COMPLETING_REBALANCE if self.members else ClassicState.EMPTY, now_ms)

    def compute_subscribed_topics(self) -> frozenset[str] | None:
        """The topics in the members' subscriptions; None if the members are not consumers, or if a subscription is
        malformed."""
        if not self.consumer_type:
            return None
        if not self.members:
            return frozenset()
        if self.protocol_name is None:
            return None
        topics: set[str] = set()
        for member in self.members.values():
            subscribed: Sequence[str] | None = subscribed_topics(member.protocols.get(self.protocol_name, b""))
            if subscribed is None:
                return None
            topics.update(subscribed)
        return frozenset(topics)

    @property
    def memory_bytes(self) -> int:
        """Estimated memory in bytes of the group's members, and of member ids whose members have not joined yet."""
        ids = sum(len(member.member_id) + len(member.client_id) for member in self.members.values())
        expected = sum(map(len, self.pending_joins))
        return self.metadata_bytes + ids + expected + MEMBER_BYTES * (len(self.members) + len(self.pending_joins))

    def has_capacity(self, member_id: str, protocols: Protocols) -> bool:
        """Whether the group's metadata stay within the limit if the member has these protocols, instead of its current
        ones if it has any."""
        known = self.members.get(member_id)
        more = size_of(protocols) - (0 if known is None else size_of(known.protocols))
        return more <= 0 or self.metadata_bytes + more <= MAX_METADATA_BYTES

    def _count(self, protocols: Protocols, change: int) -> None:
        self.metadata_bytes += change * size_of(protocols)
        for name in protocols:
            count = self._protocol_counts.get(name, 0) + change
            if count:
                self._protocol_counts[name] = count
            else:
                self._protocol_counts.pop(name, None)


def size_of(protocols: Protocols) -> int:
    """The size of the protocols: the length of their names plus the length of their metadata."""
    return sum(map(len, protocols)) + sum(map(len, protocols.values()))
