# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class ApiVersion(Struct):
    __slots__ = ("api_key", "min_version", "max_version")
    FIELDS = (
        Field("api_key", "int16", "0+"),
        Field("min_version", "int16", "0+"),
        Field("max_version", "int16", "0+"),
    )

    def __init__(
        self,
        api_key: int = 0,
        min_version: int = 0,
        max_version: int = 0,
    ) -> None:
        self.api_key = api_key
        self.min_version = min_version
        self.max_version = max_version


class SupportedFeatureKey(Struct):
    __slots__ = ("name", "min_version", "max_version")
    FIELDS = (
        Field("name", "string", "3+"),
        Field("min_version", "int16", "3+"),
        Field("max_version", "int16", "3+"),
    )

    def __init__(
        self,
        name: str = "",
        min_version: int = 0,
        max_version: int = 0,
    ) -> None:
        self.name = name
        self.min_version = min_version
        self.max_version = max_version


class FinalizedFeatureKey(Struct):
    __slots__ = ("name", "max_version_level", "min_version_level")
    FIELDS = (
        Field("name", "string", "3+"),
        Field("max_version_level", "int16", "3+"),
        Field("min_version_level", "int16", "3+"),
    )

    def __init__(
        self,
        name: str = "",
        max_version_level: int = 0,
        min_version_level: int = 0,
    ) -> None:
        self.name = name
        self.max_version_level = max_version_level
        self.min_version_level = min_version_level


class ApiVersionsResponse(Message):
    API_KEY = 18
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3
    __slots__ = ("error_code", "api_keys", "throttle_time_ms", "supported_features", "finalized_features_epoch", "finalized_features", "zk_migration_ready")
    FIELDS = (
        Field("error_code", "int16", "0+"),
        Field("api_keys", ApiVersion, "0+", is_array=True),
        Field("throttle_time_ms", "int32", "1+", is_ignorable=True),
        Field("supported_features", SupportedFeatureKey, "3+", tag=0, tagged="3+", is_array=True, is_ignorable=True),
        Field("finalized_features_epoch", "int64", "3+", tag=1, tagged="3+", default=-1, is_ignorable=True),
        Field("finalized_features", FinalizedFeatureKey, "3+", tag=2, tagged="3+", is_array=True, is_ignorable=True),
        Field("zk_migration_ready", "bool", "3+", tag=3, tagged="3+", is_ignorable=True),
    )

    def __init__(
        self,
        error_code: int = 0,
        api_keys: list[ApiVersion] = EMPTY,
        throttle_time_ms: int = 0,
        supported_features: list[SupportedFeatureKey] = EMPTY,
        finalized_features_epoch: int = -1,
        finalized_features: list[FinalizedFeatureKey] = EMPTY,
        zk_migration_ready: bool = False,
    ) -> None:
        self.error_code = error_code
        self.api_keys = [] if api_keys is EMPTY else api_keys
        self.throttle_time_ms = throttle_time_ms
        self.supported_features = [] if supported_features is EMPTY else supported_features
        self.finalized_features_epoch = finalized_features_epoch
        self.finalized_features = [] if finalized_features is EMPTY else finalized_features
        self.zk_migration_ready = zk_migration_ready
