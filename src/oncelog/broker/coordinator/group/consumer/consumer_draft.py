"""A change to a group of the consumer protocol, prepared on a copy together with the records that make it.

``consumer_protocol`` and ``classic_members`` take a draft of a group, change it step by step and write its records in
one batch; applying these records turns the real group into the draft. Each method changes the copy exactly as its
record will change the group, so later steps see earlier ones. Source: Kafka's ``GroupMetadataManager`` and
``TargetAssignmentBuilder`` (4.4.0).
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import replace

from oncelog.broker.coordinator.group import records
from oncelog.broker.coordinator.group.consumer.assignors import ASSIGNORS, MemberSpec
from oncelog.broker.coordinator.group.consumer.consumer_group import (
    UNRESOLVED,
    Assignment,
    ConsumerGroup,
    ConsumerMember,
    ResolvedRegex,
    TopicId,
)
from oncelog.broker.coordinator.group.consumer.epoch_draft import EpochDraft
from oncelog.broker.coordinator.group.consumer.reconcile import ReconcileInput, Reported, reconcile
from oncelog.broker.coordinator.group.environment import Environment, everything
from oncelog.broker.coordinator.regex import InvalidRegex, LinearRegex
from oncelog.broker.coordinator.runtime import CoordinatorRecord

logger = logging.getLogger(__name__)


class GroupDraft(EpochDraft[ConsumerGroup]):
    """A change to a group. ``regex_waits``: an expression is left to be matched at the next heartbeat.
    ``may_describe``: which topics an expression may match, because the caller may describe them."""

    def __init__(self, env: Environment, group: ConsumerGroup, before: Iterable[CoordinatorRecord] = ()) -> None:
        """:param before: records to write first, because they create the group in its present state."""
        super().__init__(group.copy(), records.consumer_epoch, records.target_epoch)
        self.written += before
        self.regex_waits = False
        self.may_describe: Callable[[str], bool] = everything
        self._env = env
        self._topics: dict[str, tuple[TopicId, int] | None] = {}

    # --- members

    def subscribe(self, member: ConsumerMember) -> None:
        self.group.put_member(member)
        self.written.append(records.member_subscription(self.group.group_id, member))

    def assign(self, member: ConsumerMember) -> None:
        self.group.put_member(member)
        self.written.append(records.member_assignment(self.group.group_id, member))

    def remove(self, member: ConsumerMember) -> None:
        self.group.remove_member(member.member_id)
        self.group.targets.pop(member.member_id, None)
        self.written += records.member_tombstones(self.group.group_id, member.member_id)

    def replace_static(self, old: ConsumerMember, new_member_id: str) -> ConsumerMember:
        """Let a static member's new process take over the subscription, target and partitions of the old one."""
        new = replace(old, member_id=new_member_id, epoch=0, previous_epoch=0)
        target = self.group.target(old.member_id)
        self.remove(old)
        self.subscribe(new)
        self._set_target(new_member_id, target)
        self.assign(new)
        return new

    # --- subscriptions

    def resolve_regexes(self, look_again: bool, now_ms: int, *, not_yet: str | None = None) -> bool:
        """Match the members' regular expressions against the topics, and remove unused expressions; returns True if the
        topics of an expression changed.

        :param look_again: also match expressions that were matched before, because topics were created or deleted.
        :param not_yet: an expression to match later, unless it was matched before.
        """
        group, changed = self.group, False
        used = group.used_regexes
        for regex in sorted(group.regexes.keys() - used):
            changed = changed or bool(group.regexes[regex].topics)
            del group.regexes[regex]
            self.written.append(records.regex_tombstone(group.group_id, regex))
        for regex in sorted(used):
            known = group.regexes.get(regex, UNRESOLVED)
            if known is UNRESOLVED and regex == not_yet:
                self.regex_waits = True
                continue
            if known is not UNRESOLVED and not look_again:
                continue
            topics = self._matching(regex)
            if known is UNRESOLVED or topics != known.topics:
                changed = changed or topics != known.topics
                group.regexes[regex] = ResolvedRegex(topics, 0, now_ms)
                self.written.append(records.regex_resolution(group.group_id, regex, group.regexes[regex]))
        return changed

    def _matching(self, regex: str) -> frozenset[str]:
        """The topics that match an expression and that the caller may describe. No topic matches if matching takes too
        much work; no error is raised, because the heartbeat may come from another member.
        """
        matches = LinearRegex(regex).matches
        try:
            return frozenset(topic for topic in self._env.host.topics() if matches(topic) and self.may_describe(topic))
        except InvalidRegex as error:
            logger.warning(
                "a regular expression of group %s counts as matching no topic: %s", self.group.group_id, error
            )
            return frozenset()

    def forget_regexes(self) -> None:
        """Remove the regular expressions to which no member subscribes any more."""
        used = self.group.used_regexes
        for regex in sorted(self.group.regexes.keys() - used):
            del self.group.regexes[regex]
            self.written.append(records.regex_tombstone(self.group.group_id, regex))

    def bump_epoch(self, *, always: bool) -> None:
        """Begin a new group epoch if ``always``, or if the subscribed topics have changed."""
        group = self.group
        metadata_hash = self.metadata_hash()
        if always or metadata_hash != group.metadata_hash:
            self.begin_epoch(metadata_hash)
        if group.has_partition_metadata:
            group.has_partition_metadata = False
            self.written.append(records.partition_metadata_tombstone(group.group_id))

    def metadata_hash(self) -> int:
        """A hash that changes with the topics subscribed to, their ids and partition counts; 0 without topics."""
        names = sorted(self.group.topics_among(self._env.host.topics()))
        found = [(name, topic) for name in names if (topic := self._topic(name)) is not None]
        return hash_of_topics(found)

    # --- assignment

    def assignor(self) -> str:
        """The name of the assignor that most members request, or the default."""
        return (
            self.group.preferred_assignor(self.group.members.values()) or self._env.config.group_consumer_assignors[0]
        )

    def assign_targets(self, now_ms: int) -> None:
        """Compute a target assignment for the group's epoch, unless the last one is too recent."""
        group, env = self.group, self._env
        interval_ms = env.group_setting(group.group_id, "consumer.assignment.interval.ms")
        if group.assignment_epoch == group.epoch or self.was_assigned_within(interval_ms, now_ms):
            return
        counts: dict[TopicId, int] = {}
        members: dict[str, MemberSpec] = {}
        known: dict[frozenset[str], frozenset[TopicId]] = {}  # most members have the same subscription
        for member in group.members.values():
            names = group.topics_of(member)
            topics = known.get(names)
            if topics is None:
                existing = self._existing(names)
                counts |= existing
                topics = known[names] = frozenset(existing)
            members[member.member_id] = MemberSpec(topics, group.target(member.member_id), member.instance_id)
        targets = ASSIGNORS[self.assignor()](members, counts)
        for member_id in sorted(members):
            if targets[member_id] != group.targets.get(member_id):
                self._set_target(member_id, targets[member_id])
        self.end_assignment(now_ms)

    def reconcile(self, member: ConsumerMember, reported: Reported, subscription_changed: bool) -> ConsumerMember:
        """Take the member's next step towards its target; raises ``MustRejoin`` if its state is unknown."""
        goal = ReconcileInput(
            self.group.assignment_epoch,
            self.group.target(member.member_id),
            frozenset(self._existing(self.group.topics_of(member))),
            self.group.owner_epoch,
            reported,
            subscription_changed,
        )
        after = reconcile(member, goal)
        if after != member:
            self.assign(after)
        return after

    def _set_target(self, member_id: str, target: Assignment) -> None:
        self.group.targets[member_id] = target
        self.written.append(records.member_target(self.group.group_id, member_id, target))

    def _existing(self, names: Set[str]) -> dict[TopicId, int]:
        """Ids and partition counts of those topics in ``names`` that exist."""
        return dict(topic for name in self._env.host.topics() & names if (topic := self._topic(name)) is not None)

    def _topic(self, name: str) -> tuple[TopicId, int] | None:
        if name not in self._topics:
            topic_id, partitions = self._env.host.topic_id(name), self._env.host.topic_partitions(name)
            self._topics[name] = None if topic_id is None or partitions is None else (topic_id, partitions)
        return self._topics[name]


def hash_of_topics(found: Sequence[tuple[str, tuple[TopicId, int]]]) -> int:
    """A hash of topics, sorted by name, with their ids and partition counts; 0 without topics."""
    if not found:
        return 0
    digest = hashlib.blake2b(digest_size=8)
    for name, (topic_id, partitions) in found:
        digest.update(b"%b%d/%b\0" % (topic_id, partitions, name.encode()))
    return int.from_bytes(digest.digest(), "big", signed=True)
