# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, VARINT, Append, Message, malformed, null_value, overrun, skip_tags, string_length, string_length_tail

_pack_hx = _Struct(">hx").pack
_unpack_hB = _Struct(">hB").unpack_from


class FeatureLevelRecord(Message):
    API_KEY = 12
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("name", "feature_level")

    def __init__(
        self,
        name: str = "",  # 0+
        feature_level: int = 0,  # 0+
    ) -> None:
        self.name = name
        self.feature_level = feature_level


def _read_feature_level_record_v0(data: bytes, pos: int, size: int) -> tuple[FeatureLevelRecord, int]:
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
        at = "feature_level"
        feature_level, tags = _unpack_hB(data, pos)
        pos += 3
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("FeatureLevelRecord", at, pos, error) from None
    return FeatureLevelRecord(name, feature_level), pos


def _write_feature_level_record_v0(w: Append, x: FeatureLevelRecord) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    w(_pack_hx(x.feature_level))
FeatureLevelRecord._READERS = {
    0: _read_feature_level_record_v0,
}
FeatureLevelRecord._WRITERS = {
    0: _write_feature_level_record_v0,
}
