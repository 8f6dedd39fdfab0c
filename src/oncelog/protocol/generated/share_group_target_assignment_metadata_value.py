# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import Field
from oncelog.protocol.wire import Message


class ShareGroupTargetAssignmentMetadataValue(Message):
    API_KEY = 12
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("assignment_epoch", "assignment_timestamp")
    FIELDS = (
        Field("assignment_epoch", "int32", "0+"),
        Field("assignment_timestamp", "int64", "0+", tag=0, tagged="0+", is_ignorable=True),
    )

    def __init__(
        self,
        assignment_epoch: int = 0,
        assignment_timestamp: int = 0,
    ) -> None:
        self.assignment_epoch = assignment_epoch
        self.assignment_timestamp = assignment_timestamp
