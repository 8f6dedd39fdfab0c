# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, ZERO_UUID, Field, Struct, Uuid
from oncelog.protocol.wire import Message


class Endpoint(Struct):
    __slots__ = ("name", "host", "port")
    FIELDS = (
        Field("name", "string", "0+"),
        Field("host", "string", "0+"),
        Field("port", "uint16", "0+"),
    )

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port


class KRaftVersionFeature(Struct):
    __slots__ = ("min_supported_version", "max_supported_version")
    FIELDS = (
        Field("min_supported_version", "int16", "0+"),
        Field("max_supported_version", "int16", "0+"),
    )

    def __init__(
        self,
        min_supported_version: int = 0,
        max_supported_version: int = 0,
    ) -> None:
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version


class Voter(Struct):
    __slots__ = ("voter_id", "voter_directory_id", "endpoints", "kraft_version_feature")
    FIELDS = (
        Field("voter_id", "int32", "0+"),
        Field("voter_directory_id", "uuid", "0+"),
        Field("endpoints", Endpoint, "0+", is_array=True),
        Field("kraft_version_feature", KRaftVersionFeature, "0+"),
    )

    def __init__(
        self,
        voter_id: int = 0,
        voter_directory_id: Uuid = ZERO_UUID,
        endpoints: list[Endpoint] = EMPTY,
        kraft_version_feature: KRaftVersionFeature | None = None,
    ) -> None:
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.endpoints = [] if endpoints is EMPTY else endpoints
        self.kraft_version_feature = KRaftVersionFeature() if kraft_version_feature is None else kraft_version_feature


class VotersRecord(Message):
    API_KEY = -1
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("version", "voters")
    FIELDS = (
        Field("version", "int16", "0+"),
        Field("voters", Voter, "0+", is_array=True),
    )

    def __init__(
        self,
        version: int = 0,
        voters: list[Voter] = EMPTY,
    ) -> None:
        self.version = version
        self.voters = [] if voters is EMPTY else voters
