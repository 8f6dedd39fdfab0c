# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, ZERO_UUID, Field, Struct, Uuid
from oncelog.protocol.wire import Message


class DeletableTopicResult(Struct):
    __slots__ = ("name", "topic_id", "error_code", "error_message")
    FIELDS = (
        Field("name", "string", "0+", nullable="6+"),
        Field("topic_id", "uuid", "6+", is_ignorable=True),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "5+", nullable="5+", default=None, is_ignorable=True),
    )

    def __init__(
        self,
        name: str | None = "",
        topic_id: Uuid = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message


class DeleteTopicsResponse(Message):
    API_KEY = 20
    MIN_VERSION = 1
    MAX_VERSION = 6
    FLEXIBLE_FROM = 4
    __slots__ = ("throttle_time_ms", "responses")
    FIELDS = (
        Field("throttle_time_ms", "int32", "1+", is_ignorable=True),
        Field("responses", DeletableTopicResult, "0+", is_array=True),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        responses: list[DeletableTopicResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = [] if responses is EMPTY else responses
