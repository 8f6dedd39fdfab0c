# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field
from oncelog.protocol.wire import Message


class DescribeGroupsRequest(Message):
    API_KEY = 15
    MIN_VERSION = 0
    MAX_VERSION = 6
    FLEXIBLE_FROM = 5
    __slots__ = ("groups", "include_authorized_operations")
    FIELDS = (
        Field("groups", "string", "0+", is_array=True),
        Field("include_authorized_operations", "bool", "3+"),
    )

    def __init__(
        self,
        groups: list[str] = EMPTY,
        include_authorized_operations: bool = False,
    ) -> None:
        self.groups = [] if groups is EMPTY else groups
        self.include_authorized_operations = include_authorized_operations
