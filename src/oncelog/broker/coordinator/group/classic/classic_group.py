"""The state of a group of the classic protocol: members, generation, leader, chosen protocol.

Plain data that a test can build: no timers, no parked requests, no clock. ``classic_rules`` decides on it,
``classic_protocol`` changes it, ``records`` stores and loads it. Invariants: a static member's instance id maps to the
id of a member; a protocol's count is the number of members that know it; pending ids belong to no member.
Source: Kafka's ``ClassicGroup`` and ``ClassicGroupMember``; KIP-345 (static members), KIP-394 (member id first).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from oncelog.broker.coordinator.group.states import CLASSIC_TRANSITIONS, ClassicState
from oncelog.broker.coordinator.group.subscription import PROTOCOL_TYPE, subscribed_topics
from oncelog.errors import InvariantError

MAX_METADATA_BYTES = 16 * 1024 * 1024
"""Limit on the metadata of a group's members, for all of their protocols. The metadata for the chosen protocol has to
fit into a record (``max.message.bytes``), or no rebalance would ever complete."""
MEMBER_BYTES = 1000
"""Estimated memory of a member besides its metadata and its ids, even if it has only received its id."""
Protocols = Mapping[str, bytes]
"""Protocols that a member supports, by name in its order of preference, with its metadata for each."""


@dataclass(slots=True)
class ClassicMember:
    """One member. ``awaiting_join`` and ``awaiting_sync`` say that one of its requests is parked."""

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
    """The member has joined but has not been answered: it cannot send heartbeats, because it does not know its id."""

    @property
    def waits(self) -> bool:
        """Whether a parked request proves that the member is alive; a new member's does not."""
        return not self.is_new and (self.awaiting_join or self.awaiting_sync)

    def vote(self, candidates: Iterable[str]) -> str:
        """The member's first choice among ``candidates``."""
        allowed = set(candidates)
        for name in self.protocols:
            if name in allowed:
                return name
        raise InvariantError(f"member {self.member_id} knows none of the protocols {sorted(allowed)}")

    def same_protocols(self, protocols: Protocols) -> bool:
        """Whether names, order and metadata are the same."""
        return list(self.protocols.items()) == list(protocols.items())


@dataclass(slots=True)
class ClassicGroup:
    """One group. ``state_timestamp_ms`` is when it entered its state, -1 if unknown (a record of an old version)."""

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
    """A member joined during the initial delay, which is therefore extended."""
    subscribed_topics: frozenset[str] | None = None
    """Topics that the members read; None if the coordinator cannot know them."""
    metadata_bytes: int = 0
    """Size of its members' metadata, for all of their protocols."""
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
        """The longest rebalance timeout of its members."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def reads(self, topic: str) -> bool:
        """Whether a member may read ``topic``; if the subscriptions cannot be read, every topic counts as read."""
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
        """Forget a member or a pending id; if the leader goes, the next member leads."""
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
        """Give the instance another member id: same subscription, assignment and leadership, no parked requests."""
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
        """Update a member from the request with which it joins again."""
        self._count(member.protocols, -1)
        self._count(protocols, 1)
        member.protocols = protocols
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms

    def supports(self, protocol_type: str, protocols: Iterable[str]) -> bool:
        """Whether a member with these protocols may join the group: all its members support one of them."""
        if self.state is ClassicState.EMPTY:
            return bool(protocol_type) and any(True for _ in protocols)
        return protocol_type == self.protocol_type and any(
            self._protocol_counts.get(name, 0) == len(self.members) for name in protocols
        )

    def choose_protocol(self) -> str:
        """Every member votes for its preferred protocol among those that all support; the first one voted for wins
        ties."""
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
        """Close the join phase: COMPLETING_REBALANCE, or EMPTY if nobody is left."""
        self.generation = self.generation + 1 if self.generation < 2**31 - 1 else 1
        self.pending_syncs.clear()
        self.protocol_name = self.choose_protocol() if self.members else None
        self.subscribed_topics = self.compute_subscribed_topics()
        self.enter(ClassicState.COMPLETING_REBALANCE if self.members else ClassicState.EMPTY, now_ms)

    def compute_subscribed_topics(self) -> frozenset[str] | None:
        """The topics in the members' subscriptions, if those are from Kafka's consumers and well formed."""
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
        """Estimated memory of its members, and of member ids that were given out."""
        ids = sum(len(member.member_id) + len(member.client_id) for member in self.members.values())
        expected = sum(map(len, self.pending_joins))
        return self.metadata_bytes + ids + expected + MEMBER_BYTES * (len(self.members) + len(self.pending_joins))

    def has_capacity(self, member_id: str, protocols: Protocols) -> bool:
        """Whether these protocols, new or instead of the member's current ones, keep the group within its limit."""
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
    """The size of names and metadata."""
    return sum(map(len, protocols)) + sum(map(len, protocols.values()))
