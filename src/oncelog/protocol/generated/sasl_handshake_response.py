# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field
from oncelog.protocol.wire import Message


class SaslHandshakeResponse(Message):
    API_KEY = 17
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 32767
    __slots__ = ("error_code", "mechanisms")
    FIELDS = (
        Field("error_code", "int16", "0+"),
        Field("mechanisms", "string", "0+", is_array=True),
    )

    def __init__(
        self,
        error_code: int = 0,
        mechanisms: list[str] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.mechanisms = [] if mechanisms is EMPTY else mechanisms
