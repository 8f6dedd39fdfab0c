# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import Field
from oncelog.protocol.wire import Message


class SaslHandshakeRequest(Message):
    API_KEY = 17
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 32767
    __slots__ = ("mechanism",)
    FIELDS = (
        Field("mechanism", "string", "0+"),
    )

    def __init__(
        self,
        mechanism: str = "",
    ) -> None:
        self.mechanism = mechanism
