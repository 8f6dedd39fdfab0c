# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class ListedGroup(Struct):
    __slots__ = ("group_id", "protocol_type", "group_state", "group_type")
    FIELDS = (
        Field("group_id", "string", "0+"),
        Field("protocol_type", "string", "0+"),
        Field("group_state", "string", "4+", is_ignorable=True),
        Field("group_type", "string", "5+", is_ignorable=True),
    )

    def __init__(
        self,
        group_id: str = "",
        protocol_type: str = "",
        group_state: str = "",
        group_type: str = "",
    ) -> None:
        self.group_id = group_id
        self.protocol_type = protocol_type
        self.group_state = group_state
        self.group_type = group_type


class ListGroupsResponse(Message):
    API_KEY = 16
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3
    __slots__ = ("throttle_time_ms", "error_code", "groups")
    FIELDS = (
        Field("throttle_time_ms", "int32", "1+", is_ignorable=True),
        Field("error_code", "int16", "0+"),
        Field("groups", ListedGroup, "0+", is_array=True),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        groups: list[ListedGroup] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.groups = [] if groups is EMPTY else groups
