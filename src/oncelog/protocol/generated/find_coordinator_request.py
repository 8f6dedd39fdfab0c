# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field
from oncelog.protocol.wire import Message


class FindCoordinatorRequest(Message):
    API_KEY = 10
    MIN_VERSION = 0
    MAX_VERSION = 6
    FLEXIBLE_FROM = 3
    __slots__ = ("key", "key_type", "coordinator_keys")
    FIELDS = (
        Field("key", "string", "0-3"),
        Field("key_type", "int8", "1+"),
        Field("coordinator_keys", "string", "4+", is_array=True),
    )

    def __init__(
        self,
        key: str = "",
        key_type: int = 0,
        coordinator_keys: list[str] = EMPTY,
    ) -> None:
        self.key = key
        self.key_type = key_type
        self.coordinator_keys = [] if coordinator_keys is EMPTY else coordinator_keys
