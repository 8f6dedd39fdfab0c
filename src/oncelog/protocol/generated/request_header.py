# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import Field
from oncelog.protocol.wire import Message


class RequestHeader(Message):
    API_KEY = -1
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    __slots__ = ("request_api_key", "request_api_version", "correlation_id", "client_id")
    FIELDS = (
        Field("request_api_key", "int16", "0+"),
        Field("request_api_version", "int16", "0+"),
        Field("correlation_id", "int32", "0+"),
        Field("client_id", "string", "1+", nullable="1+", is_flexible=False),
    )

    def __init__(
        self,
        request_api_key: int = 0,
        request_api_version: int = 0,
        correlation_id: int = 0,
        client_id: str | None = "",
    ) -> None:
        self.request_api_key = request_api_key
        self.request_api_version = request_api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
