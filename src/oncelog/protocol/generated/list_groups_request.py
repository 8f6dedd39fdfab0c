# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field
from oncelog.protocol.wire import Message


class ListGroupsRequest(Message):
    API_KEY = 16
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3
    __slots__ = ("states_filter", "types_filter")
    FIELDS = (
        Field("states_filter", "string", "4+", is_array=True),
        Field("types_filter", "string", "5+", is_array=True),
    )

    def __init__(
        self,
        states_filter: list[str] = EMPTY,
        types_filter: list[str] = EMPTY,
    ) -> None:
        self.states_filter = [] if states_filter is EMPTY else states_filter
        self.types_filter = [] if types_filter is EMPTY else types_filter
