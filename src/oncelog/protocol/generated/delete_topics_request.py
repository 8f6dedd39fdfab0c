# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, ZERO_UUID, Append, ElementLimit, Message, Struct, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_Ux = _Struct(">16sx").pack
_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_ix = _Struct(">ix").pack
_unpack_UB = _Struct(">16sB").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from


class DeleteTopicsRequest(Message):
    API_KEY = 20
    MIN_VERSION = 1
    MAX_VERSION = 6
    FLEXIBLE_FROM = 4
    __slots__ = ("topics", "topic_names", "timeout_ms")

    def __init__(
        self,
        topics: list[DeleteTopicState] = EMPTY,  # 6+
        topic_names: list[str] = EMPTY,  # 0-5, ignorable
        timeout_ms: int = 0,  # 0+
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.topic_names = [] if topic_names is EMPTY else topic_names
        self.timeout_ms = timeout_ms


class DeleteTopicState(Struct):
    __slots__ = ("name", "topic_id")

    def __init__(
        self,
        name: str | None = None,  # 6+
        topic_id: Uuid = ZERO_UUID,  # 6+
    ) -> None:
        self.name = name
        self.topic_id = topic_id


def _read_delete_topics_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DeleteTopicsRequest, int]:
    at = "topic_names"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topic_names: list[str] = []
        for _ in range(count):
            count, = _unpack_h(data, pos)
            pos += 2
            if count < 0:
                raise null_value(count)
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            topic_names_item = data[pos:end].decode()
            pos = end
            topic_names.append(topic_names_item)
        at = "timeout_ms"
        timeout_ms, = _unpack_i(data, pos)
        pos += 4
    except READ_ERRORS as error:
        raise malformed("DeleteTopicsRequest", at, pos, error) from None
    return DeleteTopicsRequest(EMPTY, topic_names, timeout_ms), pos


def _write_delete_topics_request_v1(w: Append, x: DeleteTopicsRequest) -> None:
    if x.topics:
        raise unsupported_field("DeleteTopicsRequest", "topics", "1-3")
    topic_names = x.topic_names
    w(_pack_i(len(topic_names)))
    for topic_names_item in topic_names:
        topic_names_item_bytes = topic_names_item.encode()
        w(_pack_h(len(topic_names_item_bytes)))
        w(topic_names_item_bytes)
    w(_pack_i(x.timeout_ms))


def _read_delete_topics_request_v4(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DeleteTopicsRequest, int]:
    at = "topic_names"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topic_names: list[str] = []
        for _ in range(count):
            count = data[pos]
            pos += 1
            if count > 127:
                count, pos = string_length_tail(data, pos, count)
            if not count:
                raise null_value(count)
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            topic_names_item = data[pos:end].decode()
            pos = end
            topic_names.append(topic_names_item)
        at = "timeout_ms"
        timeout_ms, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DeleteTopicsRequest", at, pos, error) from None
    return DeleteTopicsRequest(EMPTY, topic_names, timeout_ms), pos


def _write_delete_topics_request_v4(w: Append, x: DeleteTopicsRequest) -> None:
    if x.topics:
        raise unsupported_field("DeleteTopicsRequest", "topics", "4-5")
    topic_names = x.topic_names
    count = len(topic_names) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topic_names_item in topic_names:
        topic_names_item_bytes = topic_names_item.encode()
        count = len(topic_names_item_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(topic_names_item_bytes)
    w(_pack_ix(x.timeout_ms))


def _read_delete_topic_state_v6(data: bytes, pos: int, size: int) -> tuple[DeleteTopicState, int]:
    at = "name"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        name: str | None = None
        if count:
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
        raise malformed("DeleteTopicsRequest.DeleteTopicState", at, pos, error) from None
    return DeleteTopicState(name, topic_id), pos


def _write_delete_topic_state_v6(w: Append, x: DeleteTopicState) -> None:
    name = x.name
    if name is None:
        w(b"\0")
    else:
        name_bytes = name.encode()
        count = len(name_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(name_bytes)
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("DeleteTopicsRequest", "topic_id", topic_id)
    w(_pack_Ux(topic_id))


def _read_delete_topics_request_v6(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DeleteTopicsRequest, int]:
    at = "topics"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[DeleteTopicState] = []
        for _ in range(count):
            topics_item, pos = _read_delete_topic_state_v6(data, pos, size)
            topics.append(topics_item)
        at = "timeout_ms"
        timeout_ms, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DeleteTopicsRequest", at, pos, error) from None
    return DeleteTopicsRequest(topics, EMPTY, timeout_ms), pos


def _write_delete_topics_request_v6(w: Append, x: DeleteTopicsRequest) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        _write_delete_topic_state_v6(w, topics_item)
    w(_pack_ix(x.timeout_ms))
DeleteTopicsRequest._READERS = {
    1: _read_delete_topics_request_v1,
    2: _read_delete_topics_request_v1,
    3: _read_delete_topics_request_v1,
    4: _read_delete_topics_request_v4,
    5: _read_delete_topics_request_v4,
    6: _read_delete_topics_request_v6,
}
DeleteTopicsRequest._WRITERS = {
    1: _write_delete_topics_request_v1,
    2: _write_delete_topics_request_v1,
    3: _write_delete_topics_request_v1,
    4: _write_delete_topics_request_v4,
    5: _write_delete_topics_request_v4,
    6: _write_delete_topics_request_v6,
}
