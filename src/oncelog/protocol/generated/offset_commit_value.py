# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, ZERO_UUID, Append, Buffer, Message, Uuid, bad_uuid, malformed, many_tags, null_value, overrun, read_uvarint, string_length, string_length_tail, tag_size, write_tags

_pack_U = _Struct(">16s").pack
_pack_q = _Struct(">q").pack
_pack_qh = _Struct(">qh").pack
_pack_qi = _Struct(">qi").pack
_pack_qiB = _Struct(">qiB").pack
_pack_qih = _Struct(">qih").pack
_pack_qq = _Struct(">qq").pack
_unpack_U = _Struct(">16s").unpack_from
_unpack_q = _Struct(">q").unpack_from
_unpack_qB = _Struct(">qB").unpack_from
_unpack_qh = _Struct(">qh").unpack_from
_unpack_qiB = _Struct(">qiB").unpack_from
_unpack_qih = _Struct(">qih").unpack_from
_unpack_qq = _Struct(">qq").unpack_from


class OffsetCommitValue(Message):
    API_KEY = 1
    MIN_VERSION = 0
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4
    __slots__ = ("offset", "leader_epoch", "metadata", "commit_timestamp", "expire_timestamp", "topic_id")

    def __init__(
        self,
        offset: int = 0,  # 0+
        leader_epoch: int = -1,  # 3+, ignorable
        metadata: str = "",  # 0+
        commit_timestamp: int = 0,  # 0+
        expire_timestamp: int = -1,  # 1, ignorable
        topic_id: Uuid = ZERO_UUID,  # 4+, tag 0, ignorable
    ) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
        self.expire_timestamp = expire_timestamp
        self.topic_id = topic_id


def _read_offset_commit_value_v0(data: bytes, pos: int, size: int) -> tuple[OffsetCommitValue, int]:
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
        raise malformed("OffsetCommitValue", at, pos, error) from None
    return OffsetCommitValue(offset, -1, metadata, commit_timestamp, -1, ZERO_UUID), pos


def _write_offset_commit_value_v0(w: Append, x: OffsetCommitValue) -> None:
    metadata = x.metadata
    metadata_bytes = metadata.encode()
    w(_pack_qh(x.offset, len(metadata_bytes)))
    w(metadata_bytes)
    w(_pack_q(x.commit_timestamp))


def _read_offset_commit_value_v1(data: bytes, pos: int, size: int) -> tuple[OffsetCommitValue, int]:
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
        commit_timestamp, expire_timestamp = _unpack_qq(data, pos)
        pos += 16
    except READ_ERRORS as error:
        raise malformed("OffsetCommitValue", at, pos, error) from None
    return OffsetCommitValue(offset, -1, metadata, commit_timestamp, expire_timestamp, ZERO_UUID), pos


def _write_offset_commit_value_v1(w: Append, x: OffsetCommitValue) -> None:
    metadata = x.metadata
    metadata_bytes = metadata.encode()
    w(_pack_qh(x.offset, len(metadata_bytes)))
    w(metadata_bytes)
    w(_pack_qq(x.commit_timestamp, x.expire_timestamp))


def _read_offset_commit_value_v3(data: bytes, pos: int, size: int) -> tuple[OffsetCommitValue, int]:
    at = "offset"
    try:
        offset, leader_epoch, count = _unpack_qih(data, pos)
        pos += 14
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
        raise malformed("OffsetCommitValue", at, pos, error) from None
    return OffsetCommitValue(offset, leader_epoch, metadata, commit_timestamp, -1, ZERO_UUID), pos


def _write_offset_commit_value_v3(w: Append, x: OffsetCommitValue) -> None:
    metadata = x.metadata
    metadata_bytes = metadata.encode()
    w(_pack_qih(x.offset, x.leader_epoch, len(metadata_bytes)))
    w(metadata_bytes)
    w(_pack_q(x.commit_timestamp))


def _read_offset_commit_value_v4(data: bytes, pos: int, size: int) -> tuple[OffsetCommitValue, int]:
    at = "offset"
    try:
        offset, leader_epoch, count = _unpack_qiB(data, pos)
        pos += 13
        at = "metadata"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        metadata = data[pos:end].decode()
        pos = end
        at = "commit_timestamp"
        commit_timestamp, tags = _unpack_qB(data, pos)
        pos += 9
        topic_id: Uuid = ZERO_UUID
        if tags:
            at = "tagged fields"
            if tags > 127:
                tags, pos = many_tags(data, pos, tags)
            for _ in range(tags):
                at = "tagged fields"
                tag, pos = read_uvarint(data, pos)
                length, pos = read_uvarint(data, pos)
                tag_end = pos + length
                if tag_end > size:
                    raise overrun(length, size - pos)
                if tag == 0:
                    at = "topic_id"
                    topic_id, = _unpack_U(data, pos)
                    pos += 16
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("OffsetCommitValue", at, pos, error) from None
    return OffsetCommitValue(offset, leader_epoch, metadata, commit_timestamp, -1, topic_id), pos


def _write_offset_commit_value_v4(w: Append, x: OffsetCommitValue) -> None:
    metadata = x.metadata
    metadata_bytes = metadata.encode()
    count = len(metadata_bytes) + 1
    w(_pack_qiB(x.offset, x.leader_epoch, count) if count < 128 else _pack_qi(x.offset, x.leader_epoch) + string_length(count))
    w(metadata_bytes)
    w(_pack_q(x.commit_timestamp))
    tagged: list[tuple[int, bytes]] = []
    if x.topic_id != ZERO_UUID:
        topic_id_part: list[Buffer] = []
        topic_id = x.topic_id
        if len(topic_id) != 16:
            raise bad_uuid("OffsetCommitValue", "topic_id", topic_id)
        topic_id_part.append(_pack_U(topic_id))
        tagged.append((0, b"".join(topic_id_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")
OffsetCommitValue._READERS = {
    0: _read_offset_commit_value_v0,
    1: _read_offset_commit_value_v1,
    2: _read_offset_commit_value_v0,
    3: _read_offset_commit_value_v3,
    4: _read_offset_commit_value_v4,
}
OffsetCommitValue._WRITERS = {
    0: _write_offset_commit_value_v0,
    1: _write_offset_commit_value_v1,
    2: _write_offset_commit_value_v0,
    3: _write_offset_commit_value_v3,
    4: _write_offset_commit_value_v4,
}
