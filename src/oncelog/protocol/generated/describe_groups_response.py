# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class DescribedGroupMember(Struct):
    __slots__ = ("member_id", "group_instance_id", "client_id", "client_host", "member_metadata", "member_assignment")
    FIELDS = (
        Field("member_id", "string", "0+"),
        Field("group_instance_id", "string", "4+", nullable="4+", default=None, is_ignorable=True),
        Field("client_id", "string", "0+"),
        Field("client_host", "string", "0+"),
        Field("member_metadata", "bytes", "0+"),
        Field("member_assignment", "bytes", "0+"),
    )

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        member_metadata: bytes = b"",
        member_assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.member_metadata = member_metadata
        self.member_assignment = member_assignment


class DescribedGroup(Struct):
    __slots__ = ("error_code", "error_message", "group_id", "group_state", "protocol_type", "protocol_data", "members", "authorized_operations")
    FIELDS = (
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "6+", nullable="6+", default=None),
        Field("group_id", "string", "0+"),
        Field("group_state", "string", "0+"),
        Field("protocol_type", "string", "0+"),
        Field("protocol_data", "string", "0+"),
        Field("members", DescribedGroupMember, "0+", is_array=True),
        Field("authorized_operations", "int32", "3+", default=-2147483648),
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        protocol_type: str = "",
        protocol_data: str = "",
        members: list[DescribedGroupMember] = EMPTY,
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.protocol_type = protocol_type
        self.protocol_data = protocol_data
        self.members = [] if members is EMPTY else members
        self.authorized_operations = authorized_operations


class DescribeGroupsResponse(Message):
    API_KEY = 15
    MIN_VERSION = 0
    MAX_VERSION = 6
    FLEXIBLE_FROM = 5
    __slots__ = ("throttle_time_ms", "groups")
    FIELDS = (
        Field("throttle_time_ms", "int32", "1+", is_ignorable=True),
        Field("groups", DescribedGroup, "0+", is_array=True),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribedGroup] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is EMPTY else groups
