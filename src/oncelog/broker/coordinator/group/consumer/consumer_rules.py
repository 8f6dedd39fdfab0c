"""Which heartbeats, commits and fetches a group of the consumer protocol allows (KIP-848).

Pure decisions, called by ``consumer_protocol`` and ``offset_requests``. The verdict on a heartbeat depends on what the
member claims with its epoch and on its membership status; :data:`HEARTBEAT_RULES` has the verdict for each pair.
Source: Kafka's ``GroupCoordinatorService``, ``GroupMetadataManager`` and ``ConsumerGroup`` (4.4.0); KIP-1251 (commits
with an older epoch).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from oncelog.broker.coordinator.group.consumer.consumer_group import (
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerGroup,
    ConsumerMember,
    OwnedPartitions,
    TopicId,
)
from oncelog.broker.coordinator.group.consumer.reconcile import Reported
from oncelog.errors import Error
from oncelog.protocol.generated.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest

JOIN_EPOCH = 0
NO_GENERATION = -1
MEMBER_ID_FROM_CLIENT_FROM = 1
COMMIT_BY_EPOCH_FROM = 9
"""The first version of OffsetCommit that members of the consumer protocol may use."""


class MemberRefusal(NamedTuple):
    """An error for the client, with its message."""

    error: Error
    message: str


class EpochClaim(Enum):
    """What the member epoch in a heartbeat claims about the heartbeat's sender."""

    JOIN = "joins (epoch 0)"
    CURRENT = "is at the member's epoch"
    PREVIOUS = "is at the previous epoch, owning nothing that it has lost since"
    OLDER = "is at an older epoch"
    NEWER = "is at a newer epoch"


class MembershipStatus(Enum):
    """The relation of a heartbeat's sender to the group."""

    UNKNOWN = "not a member"
    MEMBER = "a member"
    STATIC = "a static member"
    RETURNING = "a static member that left temporarily, or used the classic protocol until now"
    HELD = "another process, of an instance that is in the group"
    RELEASED = "another process, of an instance that left temporarily, or that uses the classic protocol"


class MemberVerdict(Enum):
    """What to do with a heartbeat."""

    ADD = "add it"
    REPLACE = "let it replace the instance's former process"
    STAY = "keep it"
    UNKNOWN = Error.UNKNOWN_MEMBER_ID
    FENCED_EPOCH = Error.FENCED_MEMBER_EPOCH
    FENCED_INSTANCE = Error.FENCED_INSTANCE_ID
    UNRELEASED = Error.UNRELEASED_INSTANCE_ID


def _staying(join: MemberVerdict) -> Mapping[EpochClaim, MemberVerdict]:
    return {
        EpochClaim.JOIN: join,
        EpochClaim.CURRENT: MemberVerdict.STAY,
        EpochClaim.PREVIOUS: MemberVerdict.STAY,
        EpochClaim.OLDER: MemberVerdict.FENCED_EPOCH,
        EpochClaim.NEWER: MemberVerdict.FENCED_EPOCH,
    }


HEARTBEAT_RULES: Mapping[MembershipStatus, Mapping[EpochClaim, MemberVerdict]] = {
    MembershipStatus.UNKNOWN: dict.fromkeys(EpochClaim, MemberVerdict.UNKNOWN) | {EpochClaim.JOIN: MemberVerdict.ADD},
    MembershipStatus.MEMBER: _staying(MemberVerdict.STAY),
    MembershipStatus.STATIC: _staying(MemberVerdict.UNRELEASED),
    MembershipStatus.RETURNING: _staying(MemberVerdict.REPLACE),
    MembershipStatus.HELD: dict.fromkeys(EpochClaim, MemberVerdict.FENCED_INSTANCE)
    | {EpochClaim.JOIN: MemberVerdict.UNRELEASED},
    MembershipStatus.RELEASED: dict.fromkeys(EpochClaim, MemberVerdict.FENCED_INSTANCE)
    | {EpochClaim.JOIN: MemberVerdict.REPLACE},
}
"""The verdict for each claim of the sender, by its membership status."""


def membership_status(
    group: ConsumerGroup, member_id: str, instance_id: str | None
) -> tuple[MembershipStatus, ConsumerMember | None]:
    """The sender's status, and the member that the sender is, or that it wants to replace."""
    if instance_id is None:
        member = group.members.get(member_id)
        return (MembershipStatus.UNKNOWN if member is None else MembershipStatus.MEMBER), member
    member = group.static_member(instance_id)
    if member is None:
        return MembershipStatus.UNKNOWN, None
    released = member.epoch == STATIC_LEAVE_EPOCH or member.classic is not None
    if member.member_id != member_id:
        return (MembershipStatus.RELEASED if released else MembershipStatus.HELD), member
    return (MembershipStatus.RETURNING if released else MembershipStatus.STATIC), member


def claim(epoch: int, member: ConsumerMember | None, reported: Reported) -> EpochClaim:
    if epoch == JOIN_EPOCH:
        return EpochClaim.JOIN
    if member is None or epoch == member.epoch:
        return EpochClaim.CURRENT
    if epoch > member.epoch:
        return EpochClaim.NEWER
    confirmed = epoch == member.previous_epoch and reported is not None and _within(reported, member.assigned)
    return EpochClaim.PREVIOUS if confirmed else EpochClaim.OLDER


def judge(
    group: ConsumerGroup, member_id: str, instance_id: str | None, epoch: int, reported: Reported
) -> tuple[MemberVerdict, ConsumerMember | None]:
    """What to do with a heartbeat that does not leave, and the member that it concerns."""
    what, member = membership_status(group, member_id, instance_id)
    return HEARTBEAT_RULES[what][claim(epoch, member, reported)], member


def explain(verdict: MemberVerdict, group_id: str, member_id: str, instance_id: str | None) -> str:
    """The message for a refused heartbeat."""
    match verdict:
        case MemberVerdict.UNKNOWN if instance_id is not None:
            return f"Instance id {instance_id} is unknown."
        case MemberVerdict.UNKNOWN:
            return f"Member {member_id} is not a member of group {group_id}."
        case MemberVerdict.FENCED_EPOCH:
            return (
                f"The epoch of member {member_id} is not the one known to the coordinator of group {group_id}: "
                "the member must abandon all its partitions and rejoin."
            )
        case MemberVerdict.FENCED_INSTANCE:
            return f"Static member {member_id} with instance id {instance_id} was fenced by another member."
        case _:
            return (
                f"Static member {member_id} with instance id {instance_id} cannot join the group because the "
                "instance id is owned by another member."
            )


def invalid_heartbeat(
    request: ConsumerGroupHeartbeatRequest, api_version: int, assignors: Sequence[str]
) -> MemberRefusal | None:
    """The error of a malformed request, with Kafka's message; None if the request is valid."""
    epoch = request.member_epoch
    needs_id = api_version >= MEMBER_ID_FROM_CLIENT_FROM or epoch > JOIN_EPOCH or epoch == LEAVE_EPOCH
    empty = (
        ("MemberId", needs_id and not request.member_id.strip()),
        ("GroupId", not request.group_id.strip()),
        ("InstanceId", request.instance_id is not None and not request.instance_id.strip()),
        ("RackId", request.rack_id is not None and not request.rack_id.strip()),
    )
    for name, wrong in empty:
        if wrong:
            return MemberRefusal(Error.INVALID_REQUEST, f"{name} can't be empty.")
    message = None
    if epoch == JOIN_EPOCH:
        if request.rebalance_timeout_ms == -1:
            message = "RebalanceTimeoutMs must be provided in first request."
        elif request.topic_partitions is None or request.topic_partitions:
            message = "TopicPartitions must be empty when (re-)joining."
        elif request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
            message = "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
    elif epoch == STATIC_LEAVE_EPOCH and request.instance_id is None:
        message = "InstanceId can't be null."
    elif epoch < STATIC_LEAVE_EPOCH:
        message = "MemberEpoch is invalid."
    if message is not None:
        return MemberRefusal(Error.INVALID_REQUEST, message)
    if request.server_assignor is not None and request.server_assignor not in assignors:
        return MemberRefusal(
            Error.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: {', '.join(assignors)}.",
        )
    return None


# --- offsets

CommitCheck = Callable[[TopicId, int], Error]
"""Whether the caller may commit a partition: NONE, or the error that refuses the whole request."""


def any_partition(topic_id: TopicId, partition: int) -> Error:
    return Error.NONE


def may_commit(group: ConsumerGroup, member_id: str, epoch: int, api_version: int) -> CommitCheck | Error:
    """Check an OffsetCommit. With an older epoch a member may commit partitions that it has owned since then
    (KIP-1251)."""
    if epoch < 0 and not group.members:
        return any_partition
    member = group.members.get(member_id)
    if member is None:
        return Error.UNKNOWN_MEMBER_ID
    if member.classic is None and api_version < COMMIT_BY_EPOCH_FROM:
        return Error.UNSUPPORTED_VERSION
    return _by_epoch(member, epoch)


def may_commit_in_transaction(
    group: ConsumerGroup, member_id: str, instance_id: str | None, epoch: int
) -> CommitCheck | Error:
    """Check a TxnOffsetCommit, which may also come without a member."""
    if epoch < 0 and not group.members:
        return any_partition
    if epoch == NO_GENERATION and not member_id and instance_id is None:
        return any_partition
    member = group.members.get(member_id)
    if member is None:
        return Error.UNKNOWN_MEMBER_ID
    return _by_epoch(member, epoch)


def may_fetch(group: ConsumerGroup, member_id: str | None, epoch: int) -> Error:
    """Check an OffsetFetch: an administrator gives neither member id nor epoch, a member gives both (from version 9
    on)."""
    if member_id is None and epoch < 0:
        return Error.NONE
    member = group.members.get(member_id or "")
    if member is None:
        return Error.UNKNOWN_MEMBER_ID
    return Error.NONE if epoch == member.epoch else _stale(member)


def _stale(member: ConsumerMember) -> Error:
    return Error.STALE_MEMBER_EPOCH if member.classic is None else Error.ILLEGAL_GENERATION


def _by_epoch(member: ConsumerMember, epoch: int) -> CommitCheck | Error:
    if epoch == member.epoch:
        return any_partition
    stale = _stale(member)
    if epoch > member.epoch:
        return stale

    def check(topic_id: TopicId, partition: int) -> Error:
        since = member.assigned.get(topic_id, {}).get(partition)
        if since is None:
            since = member.revoking.get(topic_id, {}).get(partition)
        return Error.NONE if since is not None and epoch >= since else stale

    return check


def _within(reported: Mapping[TopicId, frozenset[int]], owned: OwnedPartitions) -> bool:
    return all(topic in owned and partitions <= owned[topic].keys() for topic, partitions in reported.items())
