# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field
from oncelog.protocol.wire import Message


class ListConfigResourcesRequest(Message):
    API_KEY = 74
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    __slots__ = ("resource_types",)
    FIELDS = (
        Field("resource_types", "int8", "1+", is_array=True),
    )

    def __init__(
        self,
        resource_types: list[int] = EMPTY,
    ) -> None:
        self.resource_types = [] if resource_types is EMPTY else resource_types
