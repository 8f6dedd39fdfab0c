# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field
from oncelog.protocol.wire import Message


class DescribeTransactionsRequest(Message):
    API_KEY = 65
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("transactional_ids",)
    FIELDS = (
        Field("transactional_ids", "string", "0+", is_array=True),
    )

    def __init__(
        self,
        transactional_ids: list[str] = EMPTY,
    ) -> None:
        self.transactional_ids = [] if transactional_ids is EMPTY else transactional_ids
