# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import Field
from oncelog.protocol.wire import Message


class GroupMetadataKey(Message):
    API_KEY = 2
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 32767
    __slots__ = ("group",)
    FIELDS = (
        Field("group", "string", "0"),
    )

    def __init__(
        self,
        group: str = "",
    ) -> None:
        self.group = group
