# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, Message, malformed, null_value, overrun

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from


class LegacyOffsetCommitKey(Message):
    API_KEY = 0
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 32767
    __slots__ = ("group", "topic", "partition")

    def __init__(
        self,
        group: str = "",  # 0
        topic: str = "",  # 0
        partition: int = 0,  # 0
    ) -> None:
        self.group = group
        self.topic = topic
        self.partition = partition


def _read_legacy_offset_commit_key_v0(data: bytes, pos: int, size: int) -> tuple[LegacyOffsetCommitKey, int]:
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
        at = "topic"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        topic = data[pos:end].decode()
        pos = end
        at = "partition"
        partition, = _unpack_i(data, pos)
        pos += 4
    except READ_ERRORS as error:
        raise malformed("LegacyOffsetCommitKey", at, pos, error) from None
    return LegacyOffsetCommitKey(group, topic, partition), pos


def _write_legacy_offset_commit_key_v0(w: Append, x: LegacyOffsetCommitKey) -> None:
    group = x.group
    group_bytes = group.encode()
    w(_pack_h(len(group_bytes)))
    w(group_bytes)
    topic = x.topic
    topic_bytes = topic.encode()
    w(_pack_h(len(topic_bytes)))
    w(topic_bytes)
    w(_pack_i(x.partition))
LegacyOffsetCommitKey._READERS = {
    0: _read_legacy_offset_commit_key_v0,
}
LegacyOffsetCommitKey._WRITERS = {
    0: _write_legacy_offset_commit_key_v0,
}
