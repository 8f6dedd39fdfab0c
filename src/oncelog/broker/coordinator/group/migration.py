"""Changes the protocol of a live group: classic to consumer when the first member with the new protocol joins, back
when only members with the old one are left (KIP-848, ``group.consumer.migration.policy``).

Pure conversions between the two states; ``consumer_protocol`` writes them. Only groups of Kafka's consumers can change,
because only their subscriptions and assignments can be read. Source: Kafka's ``ConsumerGroup.fromClassicGroup``,
``ClassicGroup.fromConsumerGroup`` and ``GroupMetadataManager`` (4.4.0).
"""

from __future__ import annotations

from oncelog.broker.coordinator.group.classic.classic_group import ClassicGroup, ClassicMember
from oncelog.broker.coordinator.group.consumer.consumer_group import ClassicMembership, ConsumerGroup, ConsumerMember
from oncelog.broker.coordinator.group.environment import Environment
from oncelog.broker.coordinator.group.states import ClassicState, MemberState
from oncelog.broker.coordinator.group.subscription import (
    PROTOCOL_TYPE,
    decode_assignment,
    encode_assignment,
    parse_subscription,
    version_of,
)

UPGRADE_POLICIES = frozenset({"upgrade", "bidirectional"})
DOWNGRADE_POLICIES = frozenset({"downgrade", "bidirectional"})


def to_consumer_group(classic: ClassicGroup, env: Environment) -> ConsumerGroup | str:
    """The group of the consumer protocol with all members, whose epoch is the classic generation; or a message that
    says why the group cannot be converted."""
    prefix = f"Cannot upgrade classic group {classic.group_id} to consumer group because"
    if env.migration_policy not in UPGRADE_POLICIES:
        return f"{prefix} online upgrade is disabled."
    if not classic.consumer_type:
        return f"{prefix} the group does not use the consumer embedded protocol."
    if len(classic.members) > env.config.group_consumer_max_size:
        return f"{prefix} the group size exceeds the consumer group maximum size."
    epoch = classic.generation
    group = ConsumerGroup(classic.group_id, epoch=epoch, assignment_epoch=epoch)
    for member in classic.members.values():
        protocol = classic.protocol_name if classic.protocol_name in member.protocols else next(iter(member.protocols))
        subscription = parse_subscription(member.protocols[protocol or ""])
        assignment = decode_assignment(member.assignment)
        if subscription is None or assignment is None:
            return f"{prefix} the embedded consumer protocol is malformed."
        if assignment.user_data:
            return (
                f"{prefix} an unsupported custom assignor is in use. Please refer to the documentation or switch "
                "to a default assignor before re-attempting the upgrade."
            )
        assigned = {
            topic_id: frozenset(topic.partitions)
            for topic in assignment.assigned_partitions
            if (topic_id := env.host.topic_id(topic.topic)) is not None
        }
        group.targets[member.member_id] = assigned
        group.put_member(
            ConsumerMember(
                member.member_id,
                epoch,
                epoch,
                MemberState.STABLE,
                member.instance_id,
                subscription.rack_id or None,
                member.rebalance_timeout_ms,
                member.client_id,
                member.client_host,
                frozenset(subscription.topics),
                assigned={topic_id: dict.fromkeys(partitions, epoch) for topic_id, partitions in assigned.items()},
                classic=ClassicMembership(member.session_timeout_ms, dict(member.protocols)),
            )
        )
    return group


def may_downgrade(group: ConsumerGroup, env: Environment) -> bool:
    """Whether ``group``, with the changes to be made, has only members of the classic protocol and may be converted
    back."""
    return (
        0 < len(group.members) <= env.config.group_max_size
        and group.classic_members == len(group.members)
        and env.migration_policy in DOWNGRADE_POLICIES
    )


def to_classic_group(group: ConsumerGroup, env: Environment, now_ms: int) -> ClassicGroup | None:
    """A stable group with the group epoch as generation and each member's target; None if it cannot be converted.

    It cannot if damaged records contain members that cannot be in one group.
    """
    instance_ids = [member.instance_id for member in group.members.values() if member.instance_id is not None]
    if len(set(instance_ids)) < len(instance_ids):
        return None
    classic = ClassicGroup(group.group_id, ClassicState.STABLE, state_timestamp_ms=now_ms, generation=group.epoch)
    for member_id in sorted(group.members):
        member = group.members[member_id]
        if member.classic is None:
            return None
        classic.add(
            ClassicMember(
                member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                member.rebalance_timeout_ms,
                member.classic.session_timeout_ms,
                PROTOCOL_TYPE,
                member.classic.protocols,
            )
        )
    if not all(classic.supports(PROTOCOL_TYPE, member.protocols) for member in classic.members.values()):
        return None
    classic.protocol_name = classic.choose_protocol()
    classic.subscribed_topics = classic.compute_subscribed_topics()
    for classic_member in classic.members.values():
        version = version_of(classic_member.protocols[classic.protocol_name])
        if version is None:
            return None
        by_name = {
            name: sorted(partitions)
            for topic_id, partitions in group.target(classic_member.member_id).items()
            if (name := env.host.topic_name(topic_id)) is not None
        }
        classic_member.assignment = encode_assignment(by_name, version)
    return classic
