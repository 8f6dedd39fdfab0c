# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class FeatureUpdateKey(Struct):
    __slots__ = ("feature", "max_version_level", "allow_downgrade", "upgrade_type")
    FIELDS = (
        Field("feature", "string", "0+"),
        Field("max_version_level", "int16", "0+"),
        Field("allow_downgrade", "bool", "0"),
        Field("upgrade_type", "int8", "1+", default=1),
    )

    def __init__(
        self,
        feature: str = "",
        max_version_level: int = 0,
        allow_downgrade: bool = False,
        upgrade_type: int = 1,
    ) -> None:
        self.feature = feature
        self.max_version_level = max_version_level
        self.allow_downgrade = allow_downgrade
        self.upgrade_type = upgrade_type


class UpdateFeaturesRequest(Message):
    API_KEY = 57
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    __slots__ = ("timeout_ms", "feature_updates", "validate_only")
    FIELDS = (
        Field("timeout_ms", "int32", "0+", default=60000),
        Field("feature_updates", FeatureUpdateKey, "0+", is_array=True),
        Field("validate_only", "bool", "1+"),
    )

    def __init__(
        self,
        timeout_ms: int = 60000,
        feature_updates: list[FeatureUpdateKey] = EMPTY,
        validate_only: bool = False,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.feature_updates = [] if feature_updates is EMPTY else feature_updates
        self.validate_only = validate_only
