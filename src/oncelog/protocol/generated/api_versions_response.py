# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Buffer, Message, Struct, malformed, many_tags, null_value, overrun, read_uvarint, skip_tags, string_length, string_length_tail, tag_size, uvarint, uvarint_tail, write_tags

_pack_T = _Struct(">?").pack
_pack_h = _Struct(">h").pack
_pack_hB = _Struct(">hB").pack
_pack_hhh = _Struct(">hhh").pack
_pack_hhhx = _Struct(">hhhx").pack
_pack_hhx = _Struct(">hhx").pack
_pack_hi = _Struct(">hi").pack
_pack_i = _Struct(">i").pack
_pack_q = _Struct(">q").pack
_unpack_T = _Struct(">?").unpack_from
_unpack_hB = _Struct(">hB").unpack_from
_unpack_hhB = _Struct(">hhB").unpack_from
_unpack_hhh = _Struct(">hhh").unpack_from
_unpack_hhhB = _Struct(">hhhB").unpack_from
_unpack_hi = _Struct(">hi").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_q = _Struct(">q").unpack_from


class ApiVersion(Struct):
    __slots__ = ("api_key", "min_version", "max_version")

    def __init__(
        self,
        api_key: int = 0,  # 0+
        min_version: int = 0,  # 0+
        max_version: int = 0,  # 0+
    ) -> None:
        self.api_key = api_key
        self.min_version = min_version
        self.max_version = max_version


class SupportedFeatureKey(Struct):
    __slots__ = ("name", "min_version", "max_version")

    def __init__(
        self,
        name: str = "",  # 3+
        min_version: int = 0,  # 3+
        max_version: int = 0,  # 3+
    ) -> None:
        self.name = name
        self.min_version = min_version
        self.max_version = max_version


class FinalizedFeatureKey(Struct):
    __slots__ = ("name", "max_version_level", "min_version_level")

    def __init__(
        self,
        name: str = "",  # 3+
        max_version_level: int = 0,  # 3+
        min_version_level: int = 0,  # 3+
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

    def __init__(
        self,
        error_code: int = 0,  # 0+
        api_keys: list[ApiVersion] = EMPTY,  # 0+
        throttle_time_ms: int = 0,  # 1+, ignorable
        supported_features: list[SupportedFeatureKey] = EMPTY,  # 3+, tag 0, ignorable
        finalized_features_epoch: int = -1,  # 3+, tag 1, ignorable
        finalized_features: list[FinalizedFeatureKey] = EMPTY,  # 3+, tag 2, ignorable
        zk_migration_ready: bool = False,  # 3+, tag 3, ignorable
    ) -> None:
        self.error_code = error_code
        self.api_keys = [] if api_keys is EMPTY else api_keys
        self.throttle_time_ms = throttle_time_ms
        self.supported_features = [] if supported_features is EMPTY else supported_features
        self.finalized_features_epoch = finalized_features_epoch
        self.finalized_features = [] if finalized_features is EMPTY else finalized_features
        self.zk_migration_ready = zk_migration_ready


def _read_api_version_v0(data: bytes, pos: int, size: int) -> tuple[ApiVersion, int]:
    at = "api_key"
    try:
        api_key, min_version, max_version = _unpack_hhh(data, pos)
        pos += 6
    except READ_ERRORS as error:
        raise malformed("ApiVersionsResponse.ApiVersion", at, pos, error) from None
    return ApiVersion(api_key, min_version, max_version), pos


def _write_api_version_v0(w: Append, x: ApiVersion) -> None:
    w(_pack_hhh(x.api_key, x.min_version, x.max_version))


def _read_api_version_v3(data: bytes, pos: int, size: int) -> tuple[ApiVersion, int]:
    at = "api_key"
    try:
        api_key, min_version, max_version, tags = _unpack_hhhB(data, pos)
        pos += 7
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ApiVersionsResponse.ApiVersion", at, pos, error) from None
    return ApiVersion(api_key, min_version, max_version), pos


def _write_api_version_v3(w: Append, x: ApiVersion) -> None:
    w(_pack_hhhx(x.api_key, x.min_version, x.max_version))


def _read_supported_feature_key_v3(data: bytes, pos: int, size: int) -> tuple[SupportedFeatureKey, int]:
    at = "name"
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
        name = data[pos:end].decode()
        pos = end
        at = "min_version"
        min_version, max_version, tags = _unpack_hhB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ApiVersionsResponse.SupportedFeatureKey", at, pos, error) from None
    return SupportedFeatureKey(name, min_version, max_version), pos


def _write_supported_feature_key_v3(w: Append, x: SupportedFeatureKey) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    w(_pack_hhx(x.min_version, x.max_version))


def _read_finalized_feature_key_v3(data: bytes, pos: int, size: int) -> tuple[FinalizedFeatureKey, int]:
    at = "name"
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
        name = data[pos:end].decode()
        pos = end
        at = "max_version_level"
        max_version_level, min_version_level, tags = _unpack_hhB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ApiVersionsResponse.FinalizedFeatureKey", at, pos, error) from None
    return FinalizedFeatureKey(name, max_version_level, min_version_level), pos


def _write_finalized_feature_key_v3(w: Append, x: FinalizedFeatureKey) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    w(_pack_hhx(x.max_version_level, x.min_version_level))


def _read_api_versions_response_v0(data: bytes, pos: int, size: int) -> tuple[ApiVersionsResponse, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hi(data, pos)
        pos += 6
        at = "api_keys"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        api_keys: list[ApiVersion] = []
        for _ in range(count):
            api_keys_item, pos = _read_api_version_v0(data, pos, size)
            api_keys.append(api_keys_item)
    except READ_ERRORS as error:
        raise malformed("ApiVersionsResponse", at, pos, error) from None
    return ApiVersionsResponse(error_code, api_keys, 0, EMPTY, -1, EMPTY, False), pos


def _write_api_versions_response_v0(w: Append, x: ApiVersionsResponse) -> None:
    api_keys = x.api_keys
    w(_pack_hi(x.error_code, len(api_keys)))
    for api_keys_item in api_keys:
        _write_api_version_v0(w, api_keys_item)


def _read_api_versions_response_v1(data: bytes, pos: int, size: int) -> tuple[ApiVersionsResponse, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hi(data, pos)
        pos += 6
        at = "api_keys"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        api_keys: list[ApiVersion] = []
        for _ in range(count):
            api_keys_item, pos = _read_api_version_v0(data, pos, size)
            api_keys.append(api_keys_item)
        at = "throttle_time_ms"
        throttle_time_ms, = _unpack_i(data, pos)
        pos += 4
    except READ_ERRORS as error:
        raise malformed("ApiVersionsResponse", at, pos, error) from None
    return ApiVersionsResponse(error_code, api_keys, throttle_time_ms, EMPTY, -1, EMPTY, False), pos


def _write_api_versions_response_v1(w: Append, x: ApiVersionsResponse) -> None:
    api_keys = x.api_keys
    w(_pack_hi(x.error_code, len(api_keys)))
    for api_keys_item in api_keys:
        _write_api_version_v0(w, api_keys_item)
    w(_pack_i(x.throttle_time_ms))


def _read_api_versions_response_v3(data: bytes, pos: int, size: int) -> tuple[ApiVersionsResponse, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hB(data, pos)
        pos += 3
        at = "api_keys"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        api_keys: list[ApiVersion] = []
        for _ in range(count):
            api_keys_item, pos = _read_api_version_v3(data, pos, size)
            api_keys.append(api_keys_item)
        at = "throttle_time_ms"
        throttle_time_ms, tags = _unpack_iB(data, pos)
        pos += 5
        supported_features: list[SupportedFeatureKey] = []
        finalized_features_epoch: int = -1
        finalized_features: list[FinalizedFeatureKey] = []
        zk_migration_ready: bool = False
        if tags:
            at = "tagged fields"
            if tags > 127:
                tags, pos = many_tags(data, pos, tags)
            for _ in range(tags):
                at = "tagged fields"
                tag, pos = read_uvarint(data, pos)
                length, pos = read_uvarint(data, pos)
                tag_end = pos + length
                if tag_end > size:
                    raise overrun(length, size - pos)
                if tag == 0:
                    at = "supported_features"
                    count = data[pos]
                    pos += 1
                    if count > 127:
                        count, pos = uvarint_tail(data, pos, count)
                    if not count:
                        raise null_value(count)
                    count -= 1
                    if count > size - pos:
                        raise overrun(count, size - pos)
                    supported_features = []
                    for _ in range(count):
                        supported_features_item, pos = _read_supported_feature_key_v3(data, pos, size)
                        supported_features.append(supported_features_item)
                elif tag == 1:
                    at = "finalized_features_epoch"
                    finalized_features_epoch, = _unpack_q(data, pos)
                    pos += 8
                elif tag == 2:
                    at = "finalized_features"
                    count = data[pos]
                    pos += 1
                    if count > 127:
                        count, pos = uvarint_tail(data, pos, count)
                    if not count:
                        raise null_value(count)
                    count -= 1
                    if count > size - pos:
                        raise overrun(count, size - pos)
                    finalized_features = []
                    for _ in range(count):
                        finalized_features_item, pos = _read_finalized_feature_key_v3(data, pos, size)
                        finalized_features.append(finalized_features_item)
                elif tag == 3:
                    at = "zk_migration_ready"
                    zk_migration_ready, = _unpack_T(data, pos)
                    pos += 1
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("ApiVersionsResponse", at, pos, error) from None
    return ApiVersionsResponse(error_code, api_keys, throttle_time_ms, supported_features, finalized_features_epoch, finalized_features, zk_migration_ready), pos


def _write_api_versions_response_v3(w: Append, x: ApiVersionsResponse) -> None:
    api_keys = x.api_keys
    count = len(api_keys) + 1
    w(_pack_hB(x.error_code, count) if count < 128 else _pack_h(x.error_code) + uvarint(count))
    for api_keys_item in api_keys:
        _write_api_version_v3(w, api_keys_item)
    w(_pack_i(x.throttle_time_ms))
    tagged: list[tuple[int, bytes]] = []
    if x.supported_features:
        supported_features_part: list[Buffer] = []
        supported_features = x.supported_features
        count = len(supported_features) + 1
        supported_features_part.append(VARINT[count] if count < 128 else uvarint(count))
        for supported_features_item in supported_features:
            _write_supported_feature_key_v3(supported_features_part.append, supported_features_item)
        tagged.append((0, b"".join(supported_features_part)))
    if x.finalized_features_epoch != -1:
        finalized_features_epoch_part: list[Buffer] = []
        finalized_features_epoch_part.append(_pack_q(x.finalized_features_epoch))
        tagged.append((1, b"".join(finalized_features_epoch_part)))
    if x.finalized_features:
        finalized_features_part: list[Buffer] = []
        finalized_features = x.finalized_features
        count = len(finalized_features) + 1
        finalized_features_part.append(VARINT[count] if count < 128 else uvarint(count))
        for finalized_features_item in finalized_features:
            _write_finalized_feature_key_v3(finalized_features_part.append, finalized_features_item)
        tagged.append((2, b"".join(finalized_features_part)))
    if x.zk_migration_ready:
        zk_migration_ready_part: list[Buffer] = []
        zk_migration_ready_part.append(_pack_T(x.zk_migration_ready))
        tagged.append((3, b"".join(zk_migration_ready_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")
ApiVersionsResponse._READERS = {
    0: _read_api_versions_response_v0,
    1: _read_api_versions_response_v1,
    2: _read_api_versions_response_v1,
    3: _read_api_versions_response_v3,
    4: _read_api_versions_response_v3,
    5: _read_api_versions_response_v3,
}
ApiVersionsResponse._WRITERS = {
    0: _write_api_versions_response_v0,
    1: _write_api_versions_response_v1,
    2: _write_api_versions_response_v1,
    3: _write_api_versions_response_v3,
    4: _write_api_versions_response_v3,
    5: _write_api_versions_response_v3,
}
