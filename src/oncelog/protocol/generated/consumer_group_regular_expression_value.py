# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_qqx = _Struct(">qqx").pack
_unpack_qqB = _Struct(">qqB").unpack_from


class ConsumerGroupRegularExpressionValue(Message):
    API_KEY = 16
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("topics", "version", "timestamp")

    def __init__(
        self,
        topics: list[str] = EMPTY,  # 0+
        version: int = 0,  # 0+
        timestamp: int = 0,  # 0+
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.version = version
        self.timestamp = timestamp


def _read_consumer_group_regular_expression_value_v0(data: bytes, pos: int, size: int) -> tuple[ConsumerGroupRegularExpressionValue, int]:
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
        topics: list[str] = []
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
            topics_item = data[pos:end].decode()
            pos = end
            topics.append(topics_item)
        at = "version"
        version, timestamp, tags = _unpack_qqB(data, pos)
        pos += 17
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ConsumerGroupRegularExpressionValue", at, pos, error) from None
    return ConsumerGroupRegularExpressionValue(topics, version, timestamp), pos


def _write_consumer_group_regular_expression_value_v0(w: Append, x: ConsumerGroupRegularExpressionValue) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        topics_item_bytes = topics_item.encode()
        count = len(topics_item_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(topics_item_bytes)
    w(_pack_qqx(x.version, x.timestamp))
ConsumerGroupRegularExpressionValue._READERS = {
    0: _read_consumer_group_regular_expression_value_v0,
}
ConsumerGroupRegularExpressionValue._WRITERS = {
    0: _write_consumer_group_regular_expression_value_v0,
}
