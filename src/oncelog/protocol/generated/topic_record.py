# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, VARINT, ZERO_UUID, Append, Message, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, string_length, string_length_tail

_pack_Ux = _Struct(">16sx").pack
_unpack_UB = _Struct(">16sB").unpack_from


class TopicRecord(Message):
    API_KEY = 2
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("name", "topic_id")

    def __init__(
        self,
        name: str = "",  # 0+
        topic_id: Uuid = ZERO_UUID,  # 0+
    ) -> None:
        self.name = name
        self.topic_id = topic_id


def _read_topic_record_v0(data: bytes, pos: int, size: int) -> tuple[TopicRecord, int]:
    at = "name"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        name = data[pos:end].decode()
        pos = end
        at = "topic_id"
        topic_id, tags = _unpack_UB(data, pos)
        pos += 17
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("TopicRecord", at, pos, error) from None
    return TopicRecord(name, topic_id), pos


def _write_topic_record_v0(w: Append, x: TopicRecord) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("TopicRecord", "topic_id", topic_id)
    w(_pack_Ux(topic_id))
TopicRecord._READERS = {
    0: _read_topic_record_v0,
}
TopicRecord._WRITERS = {
    0: _write_topic_record_v0,
}
