# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class MemberIdentity(Struct):
    __slots__ = ("member_id", "group_instance_id", "reason")
    FIELDS = (
        Field("member_id", "string", "3+"),
        Field("group_instance_id", "string", "3+", nullable="3+", default=None),
        Field("reason", "string", "5+", nullable="5+", default=None, is_ignorable=True),
    )

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        reason: str | None = None,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.reason = reason


class LeaveGroupRequest(Message):
    API_KEY = 13
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 4
    __slots__ = ("group_id", "member_id", "members")
    FIELDS = (
        Field("group_id", "string", "0+"),
        Field("member_id", "string", "0-2"),
        Field("members", MemberIdentity, "3+", is_array=True),
    )

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        members: list[MemberIdentity] = EMPTY,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.members = [] if members is EMPTY else members
