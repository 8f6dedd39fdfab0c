# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, Message, malformed, null_value, overrun

_pack_h = _Struct(">h").pack
_unpack_h = _Struct(">h").unpack_from


class ShareGroupMemberMetadataKey(Message):
    API_KEY = 10
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 32767
    __slots__ = ("group_id", "member_id")

    def __init__(
        self,
        group_id: str = "",  # 0
        member_id: str = "",  # 0
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id


def _read_share_group_member_metadata_key_v0(data: bytes, pos: int, size: int) -> tuple[ShareGroupMemberMetadataKey, int]:
    at = "group_id"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        group_id = data[pos:end].decode()
        pos = end
        at = "member_id"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        member_id = data[pos:end].decode()
        pos = end
    except READ_ERRORS as error:
        raise malformed("ShareGroupMemberMetadataKey", at, pos, error) from None
    return ShareGroupMemberMetadataKey(group_id, member_id), pos


def _write_share_group_member_metadata_key_v0(w: Append, x: ShareGroupMemberMetadataKey) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_h(len(group_id_bytes)))
    w(group_id_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    w(_pack_h(len(member_id_bytes)))
    w(member_id_bytes)
ShareGroupMemberMetadataKey._READERS = {
    0: _read_share_group_member_metadata_key_v0,
}
ShareGroupMemberMetadataKey._WRITERS = {
    0: _write_share_group_member_metadata_key_v0,
}
