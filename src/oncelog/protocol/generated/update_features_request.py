# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_Tx = _Struct(">?x").pack
_pack_hTx = _Struct(">h?x").pack
_pack_hbx = _Struct(">hbx").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_unpack_TB = _Struct(">?B").unpack_from
_unpack_hTB = _Struct(">h?B").unpack_from
_unpack_hbB = _Struct(">hbB").unpack_from
_unpack_iB = _Struct(">iB").unpack_from


class FeatureUpdateKey(Struct):
    __slots__ = ("feature", "max_version_level", "allow_downgrade", "upgrade_type")

    def __init__(
        self,
        feature: str = "",  # 0+
        max_version_level: int = 0,  # 0+
        allow_downgrade: bool = False,  # 0
        upgrade_type: int = 1,  # 1+
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

    def __init__(
        self,
        timeout_ms: int = 60000,  # 0+
        feature_updates: list[FeatureUpdateKey] = EMPTY,  # 0+
        validate_only: bool = False,  # 1+
    ) -> None:
        self.timeout_ms = timeout_ms
        self.feature_updates = [] if feature_updates is EMPTY else feature_updates
        self.validate_only = validate_only


def _read_feature_update_key_v0(data: bytes, pos: int, size: int) -> tuple[FeatureUpdateKey, int]:
    at = "feature"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        feature = data[pos:end].decode()
        pos = end
        at = "max_version_level"
        max_version_level, allow_downgrade, tags = _unpack_hTB(data, pos)
        pos += 4
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("UpdateFeaturesRequest.FeatureUpdateKey", at, pos, error) from None
    return FeatureUpdateKey(feature, max_version_level, allow_downgrade, 1), pos


def _write_feature_update_key_v0(w: Append, x: FeatureUpdateKey) -> None:
    if x.upgrade_type != 1:
        raise unsupported_field("UpdateFeaturesRequest.FeatureUpdateKey", "upgrade_type", "0")
    feature = x.feature
    feature_bytes = feature.encode()
    count = len(feature_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(feature_bytes)
    w(_pack_hTx(x.max_version_level, x.allow_downgrade))


def _read_feature_update_key_v1(data: bytes, pos: int, size: int) -> tuple[FeatureUpdateKey, int]:
    at = "feature"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        feature = data[pos:end].decode()
        pos = end
        at = "max_version_level"
        max_version_level, upgrade_type, tags = _unpack_hbB(data, pos)
        pos += 4
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("UpdateFeaturesRequest.FeatureUpdateKey", at, pos, error) from None
    return FeatureUpdateKey(feature, max_version_level, False, upgrade_type), pos


def _write_feature_update_key_v1(w: Append, x: FeatureUpdateKey) -> None:
    if x.allow_downgrade:
        raise unsupported_field("UpdateFeaturesRequest.FeatureUpdateKey", "allow_downgrade", "1-2")
    feature = x.feature
    feature_bytes = feature.encode()
    count = len(feature_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(feature_bytes)
    w(_pack_hbx(x.max_version_level, x.upgrade_type))


def _read_update_features_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[UpdateFeaturesRequest, int]:
    at = "timeout_ms"
    try:
        timeout_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "feature_updates"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        feature_updates: list[FeatureUpdateKey] = []
        for _ in range(count):
            feature_updates_item, pos = _read_feature_update_key_v0(data, pos, size)
            feature_updates.append(feature_updates_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("UpdateFeaturesRequest", at, pos, error) from None
    return UpdateFeaturesRequest(timeout_ms, feature_updates, False), pos


def _write_update_features_request_v0(w: Append, x: UpdateFeaturesRequest) -> None:
    if x.validate_only:
        raise unsupported_field("UpdateFeaturesRequest", "validate_only", "0")
    feature_updates = x.feature_updates
    count = len(feature_updates) + 1
    w(_pack_iB(x.timeout_ms, count) if count < 128 else _pack_i(x.timeout_ms) + uvarint(count))
    for feature_updates_item in feature_updates:
        _write_feature_update_key_v0(w, feature_updates_item)
    w(b"\0")


def _read_update_features_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[UpdateFeaturesRequest, int]:
    at = "timeout_ms"
    try:
        timeout_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "feature_updates"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        feature_updates: list[FeatureUpdateKey] = []
        for _ in range(count):
            feature_updates_item, pos = _read_feature_update_key_v1(data, pos, size)
            feature_updates.append(feature_updates_item)
        at = "validate_only"
        validate_only, tags = _unpack_TB(data, pos)
        pos += 2
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("UpdateFeaturesRequest", at, pos, error) from None
    return UpdateFeaturesRequest(timeout_ms, feature_updates, validate_only), pos


def _write_update_features_request_v1(w: Append, x: UpdateFeaturesRequest) -> None:
    feature_updates = x.feature_updates
    count = len(feature_updates) + 1
    w(_pack_iB(x.timeout_ms, count) if count < 128 else _pack_i(x.timeout_ms) + uvarint(count))
    for feature_updates_item in feature_updates:
        _write_feature_update_key_v1(w, feature_updates_item)
    w(_pack_Tx(x.validate_only))
UpdateFeaturesRequest._READERS = {
    0: _read_update_features_request_v0,
    1: _read_update_features_request_v1,
    2: _read_update_features_request_v1,
}
UpdateFeaturesRequest._WRITERS = {
    0: _write_update_features_request_v0,
    1: _write_update_features_request_v1,
    2: _write_update_features_request_v1,
}
