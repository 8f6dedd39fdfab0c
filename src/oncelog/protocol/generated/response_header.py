# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import Field
from oncelog.protocol.wire import Message


class ResponseHeader(Message):
    API_KEY = -1
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    __slots__ = ("correlation_id",)
    FIELDS = (
        Field("correlation_id", "int32", "0+"),
    )

    def __init__(
        self,
        correlation_id: int = 0,
    ) -> None:
        self.correlation_id = correlation_id
