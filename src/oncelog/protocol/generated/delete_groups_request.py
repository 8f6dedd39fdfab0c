# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field
from oncelog.protocol.wire import Message


class DeleteGroupsRequest(Message):
    API_KEY = 42
    MIN_VERSION = 0
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    __slots__ = ("groups_names",)
    FIELDS = (
        Field("groups_names", "string", "0+", is_array=True),
    )

    def __init__(
        self,
        groups_names: list[str] = EMPTY,
    ) -> None:
        self.groups_names = [] if groups_names is EMPTY else groups_names
