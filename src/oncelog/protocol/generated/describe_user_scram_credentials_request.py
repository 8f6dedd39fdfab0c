# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class UserName(Struct):
    __slots__ = ("name",)
    FIELDS = (
        Field("name", "string", "0+"),
    )

    def __init__(
        self,
        name: str = "",
    ) -> None:
        self.name = name


class DescribeUserScramCredentialsRequest(Message):
    API_KEY = 50
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("users",)
    FIELDS = (
        Field("users", UserName, "0+", nullable="0+", is_array=True),
    )

    def __init__(
        self,
        users: list[UserName] | None = EMPTY,
    ) -> None:
        self.users = [] if users is EMPTY else users
