# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import Field
from oncelog.protocol.wire import Message


class UserScramCredentialRecord(Message):
    API_KEY = 11
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("name", "mechanism", "salt", "stored_key", "server_key", "iterations")
    FIELDS = (
        Field("name", "string", "0+"),
        Field("mechanism", "int8", "0+"),
        Field("salt", "bytes", "0+"),
        Field("stored_key", "bytes", "0+"),
        Field("server_key", "bytes", "0+"),
        Field("iterations", "int32", "0+"),
    )

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
        salt: bytes = b"",
        stored_key: bytes = b"",
        server_key: bytes = b"",
        iterations: int = 0,
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.salt = salt
        self.stored_key = stored_key
        self.server_key = server_key
        self.iterations = iterations
