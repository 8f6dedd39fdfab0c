# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import Field
from oncelog.protocol.wire import Message


class ExpireDelegationTokenRequest(Message):
    API_KEY = 40
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    __slots__ = ("hmac", "expiry_time_period_ms")
    FIELDS = (
        Field("hmac", "bytes", "0+"),
        Field("expiry_time_period_ms", "int64", "0+"),
    )

    def __init__(
        self,
        hmac: bytes = b"",
        expiry_time_period_ms: int = 0,
    ) -> None:
        self.hmac = hmac
        self.expiry_time_period_ms = expiry_time_period_ms
