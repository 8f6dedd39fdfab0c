# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class ScramCredentialDeletion(Struct):
    __slots__ = ("name", "mechanism")
    FIELDS = (
        Field("name", "string", "0+"),
        Field("mechanism", "int8", "0+"),
    )

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
    ) -> None:
        self.name = name
        self.mechanism = mechanism


class ScramCredentialUpsertion(Struct):
    __slots__ = ("name", "mechanism", "iterations", "salt", "salted_password")
    FIELDS = (
        Field("name", "string", "0+"),
        Field("mechanism", "int8", "0+"),
        Field("iterations", "int32", "0+"),
        Field("salt", "bytes", "0+"),
        Field("salted_password", "bytes", "0+"),
    )

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
        iterations: int = 0,
        salt: bytes = b"",
        salted_password: bytes = b"",
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.iterations = iterations
        self.salt = salt
        self.salted_password = salted_password


class AlterUserScramCredentialsRequest(Message):
    API_KEY = 51
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("deletions", "upsertions")
    FIELDS = (
        Field("deletions", ScramCredentialDeletion, "0+", is_array=True),
        Field("upsertions", ScramCredentialUpsertion, "0+", is_array=True),
    )

    def __init__(
        self,
        deletions: list[ScramCredentialDeletion] = EMPTY,
        upsertions: list[ScramCredentialUpsertion] = EMPTY,
    ) -> None:
        self.deletions = [] if deletions is EMPTY else deletions
        self.upsertions = [] if upsertions is EMPTY else upsertions
