# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations


from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail



class DeleteShareGroupOffsetsRequestTopic(Struct):
    __slots__ = ("topic_name",)

    def __init__(
        self,
        topic_name: str = "",  # 0+
    ) -> None:
        self.topic_name = topic_name


class DeleteShareGroupOffsetsRequest(Message):
    API_KEY = 92
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("group_id", "topics")

    def __init__(
        self,
        group_id: str = "",  # 0+
        topics: list[DeleteShareGroupOffsetsRequestTopic] = EMPTY,  # 0+
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics


def _read_delete_share_group_offsets_request_topic_v0(data: bytes, pos: int, size: int) -> tuple[DeleteShareGroupOffsetsRequestTopic, int]:
    at = "topic_name"
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
        topic_name = data[pos:end].decode()
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic", at, pos, error) from None
    return DeleteShareGroupOffsetsRequestTopic(topic_name), pos


def _write_delete_share_group_offsets_request_topic_v0(w: Append, x: DeleteShareGroupOffsetsRequestTopic) -> None:
    topic_name = x.topic_name
    topic_name_bytes = topic_name.encode()
    count = len(topic_name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(topic_name_bytes)
    w(b"\0")


def _read_delete_share_group_offsets_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DeleteShareGroupOffsetsRequest, int]:
    at = "group_id"
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
        group_id = data[pos:end].decode()
        pos = end
        at = "topics"
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
        topics: list[DeleteShareGroupOffsetsRequestTopic] = []
        for _ in range(count):
            topics_item, pos = _read_delete_share_group_offsets_request_topic_v0(data, pos, size)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DeleteShareGroupOffsetsRequest", at, pos, error) from None
    return DeleteShareGroupOffsetsRequest(group_id, topics), pos


def _write_delete_share_group_offsets_request_v0(w: Append, x: DeleteShareGroupOffsetsRequest) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        _write_delete_share_group_offsets_request_topic_v0(w, topics_item)
    w(b"\0")
DeleteShareGroupOffsetsRequest._READERS = {
    0: _read_delete_share_group_offsets_request_v0,
}
DeleteShareGroupOffsetsRequest._WRITERS = {
    0: _write_delete_share_group_offsets_request_v0,
}
