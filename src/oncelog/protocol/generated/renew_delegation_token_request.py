# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import Field
from oncelog.protocol.wire import Message


class RenewDelegationTokenRequest(Message):
    API_KEY = 39
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    __slots__ = ("hmac", "renew_period_ms")
    FIELDS = (
        Field("hmac", "bytes", "0+"),
        Field("renew_period_ms", "int64", "0+"),
    )

    def __init__(
        self,
        hmac: bytes = b"",
        renew_period_ms: int = 0,
    ) -> None:
        self.hmac = hmac
        self.renew_period_ms = renew_period_ms
