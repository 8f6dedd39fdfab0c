# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, Message, malformed, skip_tags

_pack_iqx = _Struct(">iqx").pack
_unpack_iqB = _Struct(">iqB").unpack_from


class ShareGroupMetadataValue(Message):
    API_KEY = 11
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("epoch", "metadata_hash")

    def __init__(
        self,
        epoch: int = 0,  # 0+
        metadata_hash: int = 0,  # 0+
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash


def _read_share_group_metadata_value_v0(data: bytes, pos: int, size: int) -> tuple[ShareGroupMetadataValue, int]:
    at = "epoch"
    try:
        epoch, metadata_hash, tags = _unpack_iqB(data, pos)
        pos += 13
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareGroupMetadataValue", at, pos, error) from None
    return ShareGroupMetadataValue(epoch, metadata_hash), pos


def _write_share_group_metadata_value_v0(w: Append, x: ShareGroupMetadataValue) -> None:
    w(_pack_iqx(x.epoch, x.metadata_hash))
ShareGroupMetadataValue._READERS = {
    0: _read_share_group_metadata_value_v0,
}
ShareGroupMetadataValue._WRITERS = {
    0: _write_share_group_metadata_value_v0,
}
