# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, Message, malformed, null_value, overrun

_pack_h = _Struct(">h").pack
_unpack_h = _Struct(">h").unpack_from


class GroupMetadataKey(Message):
    API_KEY = 2
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 32767
    __slots__ = ("group",)

    def __init__(
        self,
        group: str = "",  # 0
    ) -> None:
        self.group = group


def _read_group_metadata_key_v0(data: bytes, pos: int, size: int) -> tuple[GroupMetadataKey, int]:
    at = "group"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        group = data[pos:end].decode()
        pos = end
    except READ_ERRORS as error:
        raise malformed("GroupMetadataKey", at, pos, error) from None
    return GroupMetadataKey(group), pos


def _write_group_metadata_key_v0(w: Append, x: GroupMetadataKey) -> None:
    group = x.group
    group_bytes = group.encode()
    w(_pack_h(len(group_bytes)))
    w(group_bytes)
GroupMetadataKey._READERS = {
    0: _read_group_metadata_key_v0,
}
GroupMetadataKey._WRITERS = {
    0: _write_group_metadata_key_v0,
}
