# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_ih = _Struct(">ih").pack
_unpack_hB = _Struct(">hB").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from


class UpdatableFeatureResult(Struct):
    __slots__ = ("feature", "error_code", "error_message")

    def __init__(
        self,
        feature: str = "",  # 0+
        error_code: int = 0,  # 0+
        error_message: str | None = "",  # 0+
    ) -> None:
        self.feature = feature
        self.error_code = error_code
        self.error_message = error_message


class UpdateFeaturesResponse(Message):
    API_KEY = 57
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        error_code: int = 0,  # 0+
        error_message: str | None = "",  # 0+
        results: list[UpdatableFeatureResult] = EMPTY,  # 0-1, ignorable
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results = [] if results is EMPTY else results


def _read_updatable_feature_result_v0(data: bytes, pos: int, size: int) -> tuple[UpdatableFeatureResult, int]:
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
        at = "error_code"
        error_code, count = _unpack_hB(data, pos)
        pos += 3
        at = "error_message"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        error_message: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("UpdateFeaturesResponse.UpdatableFeatureResult", at, pos, error) from None
    return UpdatableFeatureResult(feature, error_code, error_message), pos


def _write_updatable_feature_result_v0(w: Append, x: UpdatableFeatureResult) -> None:
    feature = x.feature
    feature_bytes = feature.encode()
    count = len(feature_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(feature_bytes)
    error_message = x.error_message
    w(_pack_h(x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    w(b"\0")


def _read_update_features_response_v2(data: bytes, pos: int, size: int) -> tuple[UpdateFeaturesResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihB(data, pos)
        pos += 7
        at = "error_message"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        error_message: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("UpdateFeaturesResponse", at, pos, error) from None
    return UpdateFeaturesResponse(throttle_time_ms, error_code, error_message, EMPTY), pos


def _write_update_features_response_v2(w: Append, x: UpdateFeaturesResponse) -> None:
    error_message = x.error_message
    w(_pack_ih(x.throttle_time_ms, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    w(b"\0")


def _read_update_features_response_v0(data: bytes, pos: int, size: int) -> tuple[UpdateFeaturesResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihB(data, pos)
        pos += 7
        at = "error_message"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        error_message: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "results"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        results: list[UpdatableFeatureResult] = []
        for _ in range(count):
            results_item, pos = _read_updatable_feature_result_v0(data, pos, size)
            results.append(results_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("UpdateFeaturesResponse", at, pos, error) from None
    return UpdateFeaturesResponse(throttle_time_ms, error_code, error_message, results), pos


def _write_update_features_response_v0(w: Append, x: UpdateFeaturesResponse) -> None:
    error_message = x.error_message
    w(_pack_ih(x.throttle_time_ms, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    results = x.results
    count = len(results) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for results_item in results:
        _write_updatable_feature_result_v0(w, results_item)
    w(b"\0")
UpdateFeaturesResponse._READERS = {
    0: _read_update_features_response_v0,
    1: _read_update_features_response_v0,
    2: _read_update_features_response_v2,
}
UpdateFeaturesResponse._WRITERS = {
    0: _write_update_features_response_v0,
    1: _write_update_features_response_v0,
    2: _write_update_features_response_v2,
}
