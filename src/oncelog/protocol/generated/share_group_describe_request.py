# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field
from oncelog.protocol.wire import Message


class ShareGroupDescribeRequest(Message):
    API_KEY = 77
    MIN_VERSION = 1
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    __slots__ = ("group_ids", "include_authorized_operations")
    FIELDS = (
        Field("group_ids", "string", "0+", is_array=True),
        Field("include_authorized_operations", "bool", "0+"),
    )

    def __init__(
        self,
        group_ids: list[str] = EMPTY,
        include_authorized_operations: bool = False,
    ) -> None:
        self.group_ids = [] if group_ids is EMPTY else group_ids
        self.include_authorized_operations = include_authorized_operations
