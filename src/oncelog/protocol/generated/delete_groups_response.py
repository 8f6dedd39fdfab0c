# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class DeletableGroupResult(Struct):
    __slots__ = ("group_id", "error_code", "error_message")
    FIELDS = (
        Field("group_id", "string", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "3+", nullable="3+", default=None, is_ignorable=True),
    )

    def __init__(
        self,
        group_id: str = "",
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.error_code = error_code
        self.error_message = error_message


class DeleteGroupsResponse(Message):
    API_KEY = 42
    MIN_VERSION = 0
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    __slots__ = ("throttle_time_ms", "results")
    FIELDS = (
        Field("throttle_time_ms", "int32", "0+"),
        Field("results", DeletableGroupResult, "0+", is_array=True),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[DeletableGroupResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is EMPTY else results
