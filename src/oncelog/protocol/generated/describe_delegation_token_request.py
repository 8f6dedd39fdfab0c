# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class DescribeDelegationTokenOwner(Struct):
    __slots__ = ("principal_type", "principal_name")
    FIELDS = (
        Field("principal_type", "string", "0+"),
        Field("principal_name", "string", "0+"),
    )

    def __init__(
        self,
        principal_type: str = "",
        principal_name: str = "",
    ) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name


class DescribeDelegationTokenRequest(Message):
    API_KEY = 41
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    __slots__ = ("owners",)
    FIELDS = (
        Field("owners", DescribeDelegationTokenOwner, "0+", nullable="0+", is_array=True),
    )

    def __init__(
        self,
        owners: list[DescribeDelegationTokenOwner] | None = EMPTY,
    ) -> None:
        self.owners = [] if owners is EMPTY else owners
