# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, Message, malformed, skip_tags

_pack_hqx = _Struct(">hqx").pack
_unpack_hqB = _Struct(">hqB").unpack_from


class SnapshotHeaderRecord(Message):
    API_KEY = -1
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("version", "last_contained_log_timestamp")

    def __init__(
        self,
        version: int = 0,  # 0+
        last_contained_log_timestamp: int = 0,  # 0+
    ) -> None:
        self.version = version
        self.last_contained_log_timestamp = last_contained_log_timestamp


def _read_snapshot_header_record_v0(data: bytes, pos: int, size: int) -> tuple[SnapshotHeaderRecord, int]:
    at = "version"
    try:
        version, last_contained_log_timestamp, tags = _unpack_hqB(data, pos)
        pos += 11
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("SnapshotHeaderRecord", at, pos, error) from None
    return SnapshotHeaderRecord(version, last_contained_log_timestamp), pos


def _write_snapshot_header_record_v0(w: Append, x: SnapshotHeaderRecord) -> None:
    w(_pack_hqx(x.version, x.last_contained_log_timestamp))
SnapshotHeaderRecord._READERS = {
    0: _read_snapshot_header_record_v0,
}
SnapshotHeaderRecord._WRITERS = {
    0: _write_snapshot_header_record_v0,
}
