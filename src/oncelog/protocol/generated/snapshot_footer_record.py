# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, Message, malformed, skip_tags

_pack_hx = _Struct(">hx").pack
_unpack_hB = _Struct(">hB").unpack_from


class SnapshotFooterRecord(Message):
    API_KEY = -1
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("version",)

    def __init__(
        self,
        version: int = 0,  # 0+
    ) -> None:
        self.version = version


def _read_snapshot_footer_record_v0(data: bytes, pos: int, size: int) -> tuple[SnapshotFooterRecord, int]:
    at = "version"
    try:
        version, tags = _unpack_hB(data, pos)
        pos += 3
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("SnapshotFooterRecord", at, pos, error) from None
    return SnapshotFooterRecord(version), pos


def _write_snapshot_footer_record_v0(w: Append, x: SnapshotFooterRecord) -> None:
    w(_pack_hx(x.version))
SnapshotFooterRecord._READERS = {
    0: _read_snapshot_footer_record_v0,
}
SnapshotFooterRecord._WRITERS = {
    0: _write_snapshot_footer_record_v0,
}
