# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class CreatableRenewers(Struct):
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


class CreateDelegationTokenRequest(Message):
    API_KEY = 38
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    __slots__ = ("owner_principal_type", "owner_principal_name", "renewers", "max_lifetime_ms")
    FIELDS = (
        Field("owner_principal_type", "string", "3+", nullable="3+"),
        Field("owner_principal_name", "string", "3+", nullable="3+"),
        Field("renewers", CreatableRenewers, "0+", is_array=True),
        Field("max_lifetime_ms", "int64", "0+"),
    )

    def __init__(
        self,
        owner_principal_type: str | None = "",
        owner_principal_name: str | None = "",
        renewers: list[CreatableRenewers] = EMPTY,
        max_lifetime_ms: int = 0,
    ) -> None:
        self.owner_principal_type = owner_principal_type
        self.owner_principal_name = owner_principal_name
        self.renewers = [] if renewers is EMPTY else renewers
        self.max_lifetime_ms = max_lifetime_ms
