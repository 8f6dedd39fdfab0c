# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, ZERO_UUID, Append, Message, Uuid, bad_uuid, malformed, null_value, overrun

_pack_Ui = _Struct(">16si").pack
_pack_h = _Struct(">h").pack
_unpack_Ui = _Struct(">16si").unpack_from
_unpack_h = _Struct(">h").unpack_from


class ShareSnapshotKey(Message):
    API_KEY = 0
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 32767
    __slots__ = ("group_id", "topic_id", "partition")

    def __init__(
        self,
        group_id: str = "",  # 0
        topic_id: Uuid = ZERO_UUID,  # 0
        partition: int = 0,  # 0
    ) -> None:
        self.group_id = group_id
        self.topic_id = topic_id
        self.partition = partition


def _read_share_snapshot_key_v0(data: bytes, pos: int, size: int) -> tuple[ShareSnapshotKey, int]:
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
        at = "topic_id"
        topic_id, partition = _unpack_Ui(data, pos)
        pos += 20
    except READ_ERRORS as error:
        raise malformed("ShareSnapshotKey", at, pos, error) from None
    return ShareSnapshotKey(group_id, topic_id, partition), pos


def _write_share_snapshot_key_v0(w: Append, x: ShareSnapshotKey) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_h(len(group_id_bytes)))
    w(group_id_bytes)
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("ShareSnapshotKey", "topic_id", topic_id)
    w(_pack_Ui(topic_id, x.partition))
ShareSnapshotKey._READERS = {
    0: _read_share_snapshot_key_v0,
}
ShareSnapshotKey._WRITERS = {
    0: _write_share_snapshot_key_v0,
}
