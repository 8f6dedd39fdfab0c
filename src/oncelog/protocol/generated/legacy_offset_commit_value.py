# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, Message, malformed, null_value, overrun

_pack_q = _Struct(">q").pack
_pack_qh = _Struct(">qh").pack
_unpack_q = _Struct(">q").unpack_from
_unpack_qh = _Struct(">qh").unpack_from


class LegacyOffsetCommitValue(Message):
    API_KEY = 0
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 32767
    __slots__ = ("offset", "metadata", "commit_timestamp")

    def __init__(
        self,
        offset: int = 0,  # 0
        metadata: str = "",  # 0
        commit_timestamp: int = 0,  # 0
    ) -> None:
        self.offset = offset
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp


def _read_legacy_offset_commit_value_v0(data: bytes, pos: int, size: int) -> tuple[LegacyOffsetCommitValue, int]:
    at = "offset"
    try:
        offset, count = _unpack_qh(data, pos)
        pos += 10
        at = "metadata"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        metadata = data[pos:end].decode()
        pos = end
        at = "commit_timestamp"
        commit_timestamp, = _unpack_q(data, pos)
        pos += 8
    except READ_ERRORS as error:
        raise malformed("LegacyOffsetCommitValue", at, pos, error) from None
    return LegacyOffsetCommitValue(offset, metadata, commit_timestamp), pos


def _write_legacy_offset_commit_value_v0(w: Append, x: LegacyOffsetCommitValue) -> None:
    metadata = x.metadata
    metadata_bytes = metadata.encode()
    w(_pack_qh(x.offset, len(metadata_bytes)))
    w(metadata_bytes)
    w(_pack_q(x.commit_timestamp))
LegacyOffsetCommitValue._READERS = {
    0: _read_legacy_offset_commit_value_v0,
}
LegacyOffsetCommitValue._WRITERS = {
    0: _write_legacy_offset_commit_value_v0,
}
