# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import Field
from oncelog.protocol.wire import Message


class ConsumerGroupTargetAssignmentMemberKey(Message):
    API_KEY = 7
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 32767
    __slots__ = ("group_id", "member_id")
    FIELDS = (
        Field("group_id", "string", "0"),
        Field("member_id", "string", "0"),
    )

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
