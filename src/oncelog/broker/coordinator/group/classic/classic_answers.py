"""Answers of the classic protocol that report a group as it is now; ``classic_protocol`` decides when they are sent."""

from __future__ import annotations

from oncelog.broker.coordinator.group.classic.classic_group import ClassicGroup, ClassicMember
from oncelog.errors import Error
from oncelog.protocol.generated.join_group_response import JoinGroupResponse, JoinGroupResponseMember
from oncelog.protocol.generated.sync_group_response import SyncGroupResponse


def join_error(error: Error, member_id: str) -> JoinGroupResponse:
    return JoinGroupResponse(error_code=error, member_id=member_id, protocol_name=None)


def current_generation(group: ClassicGroup, member_id: str) -> JoinGroupResponse:
    """The JoinGroup answer for the current generation; only the leader's has the list of members."""
    members: list[JoinGroupResponseMember] = []
    if group.leader_id == member_id and group.protocol_name is not None:
        members = [
            JoinGroupResponseMember(m.member_id, m.instance_id, m.protocols[group.protocol_name])
            for m in group.members.values()
        ]
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader_id or "",
        member_id=member_id,
        members=members,
    )


def current_assignment(group: ClassicGroup, member: ClassicMember) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment
    )
