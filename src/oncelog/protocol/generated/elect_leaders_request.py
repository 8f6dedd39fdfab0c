# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_b = _Struct(">b").pack
_pack_bi = _Struct(">bi").pack
_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_ix = _Struct(">ix").pack
_unpack_bB = _Struct(">bB").unpack_from
_unpack_bi = _Struct(">bi").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from


class TopicPartitions(Struct):
    __slots__ = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",  # 0+
        partitions: list[int] = EMPTY,  # 0+
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is EMPTY else partitions


class ElectLeadersRequest(Message):
    API_KEY = 43
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    __slots__ = ("election_type", "topic_partitions", "timeout_ms")

    def __init__(
        self,
        election_type: int = 0,  # 1+
        topic_partitions: list[TopicPartitions] | None = EMPTY,  # 0+
        timeout_ms: int = 60000,  # 0+
    ) -> None:
        self.election_type = election_type
        self.topic_partitions = [] if topic_partitions is EMPTY else topic_partitions
        self.timeout_ms = timeout_ms


def _read_topic_partitions_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[TopicPartitions, int]:
    at = "topic"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        topic = data[pos:end].decode()
        pos = end
        at = "partitions"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        if limit is not None:
            limit.take(count)
        partitions: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
    except READ_ERRORS as error:
        raise malformed("ElectLeadersRequest.TopicPartitions", at, pos, error) from None
    return TopicPartitions(topic, partitions), pos


def _write_topic_partitions_v0(w: Append, x: TopicPartitions) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    w(_pack_h(len(topic_bytes)))
    w(topic_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))


def _read_topic_partitions_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[TopicPartitions, int]:
    at = "topic"
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
        topic = data[pos:end].decode()
        pos = end
        at = "partitions"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        if limit is not None:
            limit.take(count)
        partitions: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ElectLeadersRequest.TopicPartitions", at, pos, error) from None
    return TopicPartitions(topic, partitions), pos


def _write_topic_partitions_v2(w: Append, x: TopicPartitions) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    count = len(topic_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(topic_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))
    w(b"\0")


def _read_elect_leaders_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ElectLeadersRequest, int]:
    at = "topic_partitions"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        topic_partitions: list[TopicPartitions] | None = None
        if count >= 0:
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            topic_partitions = []
            for _ in range(count):
                topic_partitions_item, pos = _read_topic_partitions_v0(data, pos, size, limit)
                topic_partitions.append(topic_partitions_item)
        at = "timeout_ms"
        timeout_ms, = _unpack_i(data, pos)
        pos += 4
    except READ_ERRORS as error:
        raise malformed("ElectLeadersRequest", at, pos, error) from None
    return ElectLeadersRequest(0, topic_partitions, timeout_ms), pos


def _write_elect_leaders_request_v0(w: Append, x: ElectLeadersRequest) -> None:
    if x.election_type != 0:
        raise unsupported_field("ElectLeadersRequest", "election_type", "0")
    topic_partitions = x.topic_partitions
    w(_pack_i(-1 if topic_partitions is None else len(topic_partitions)))
    if topic_partitions is not None:
        for topic_partitions_item in topic_partitions:
            _write_topic_partitions_v0(w, topic_partitions_item)
    w(_pack_i(x.timeout_ms))


def _read_elect_leaders_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ElectLeadersRequest, int]:
    at = "election_type"
    try:
        election_type, count = _unpack_bi(data, pos)
        pos += 5
        at = "topic_partitions"
        topic_partitions: list[TopicPartitions] | None = None
        if count >= 0:
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            topic_partitions = []
            for _ in range(count):
                topic_partitions_item, pos = _read_topic_partitions_v0(data, pos, size, limit)
                topic_partitions.append(topic_partitions_item)
        at = "timeout_ms"
        timeout_ms, = _unpack_i(data, pos)
        pos += 4
    except READ_ERRORS as error:
        raise malformed("ElectLeadersRequest", at, pos, error) from None
    return ElectLeadersRequest(election_type, topic_partitions, timeout_ms), pos


def _write_elect_leaders_request_v1(w: Append, x: ElectLeadersRequest) -> None:
    topic_partitions = x.topic_partitions
    w(_pack_bi(x.election_type, -1 if topic_partitions is None else len(topic_partitions)))
    if topic_partitions is not None:
        for topic_partitions_item in topic_partitions:
            _write_topic_partitions_v0(w, topic_partitions_item)
    w(_pack_i(x.timeout_ms))


def _read_elect_leaders_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ElectLeadersRequest, int]:
    at = "election_type"
    try:
        election_type, count = _unpack_bB(data, pos)
        pos += 2
        at = "topic_partitions"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        topic_partitions: list[TopicPartitions] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            topic_partitions = []
            for _ in range(count):
                topic_partitions_item, pos = _read_topic_partitions_v2(data, pos, size, limit)
                topic_partitions.append(topic_partitions_item)
        at = "timeout_ms"
        timeout_ms, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ElectLeadersRequest", at, pos, error) from None
    return ElectLeadersRequest(election_type, topic_partitions, timeout_ms), pos


def _write_elect_leaders_request_v2(w: Append, x: ElectLeadersRequest) -> None:
    topic_partitions = x.topic_partitions
    w(_pack_b(x.election_type))
    if topic_partitions is None:
        w(b"\0")
    else:
        count = len(topic_partitions) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for topic_partitions_item in topic_partitions:
            _write_topic_partitions_v2(w, topic_partitions_item)
    w(_pack_ix(x.timeout_ms))
ElectLeadersRequest._READERS = {
    0: _read_elect_leaders_request_v0,
    1: _read_elect_leaders_request_v1,
    2: _read_elect_leaders_request_v2,
}
ElectLeadersRequest._WRITERS = {
    0: _write_elect_leaders_request_v0,
    1: _write_elect_leaders_request_v1,
    2: _write_elect_leaders_request_v2,
}
