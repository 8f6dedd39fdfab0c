# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, Message, malformed, skip_tags

_pack_hhx = _Struct(">hhx").pack
_unpack_hhB = _Struct(">hhB").unpack_from


class KRaftVersionRecord(Message):
    API_KEY = -1
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("version", "kraft_version")

    def __init__(
        self,
        version: int = 0,  # 0+
        kraft_version: int = 0,  # 0+
    ) -> None:
        self.version = version
        self.kraft_version = kraft_version


def _read_kraft_version_record_v0(data: bytes, pos: int, size: int) -> tuple[KRaftVersionRecord, int]:
    at = "version"
    try:
        version, kraft_version, tags = _unpack_hhB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("KRaftVersionRecord", at, pos, error) from None
    return KRaftVersionRecord(version, kraft_version), pos


def _write_kraft_version_record_v0(w: Append, x: KRaftVersionRecord) -> None:
    w(_pack_hhx(x.version, x.kraft_version))
KRaftVersionRecord._READERS = {
    0: _read_kraft_version_record_v0,
}
KRaftVersionRecord._WRITERS = {
    0: _write_kraft_version_record_v0,
}
