# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_hiiq = _Struct(">hiiq").pack
_pack_hiiqx = _Struct(">hiiqx").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ii = _Struct(">ii").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_hiiq = _Struct(">hiiq").unpack_from
_unpack_hiiqB = _Struct(">hiiqB").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ii = _Struct(">ii").unpack_from


class EpochEndOffset(Struct):
    __slots__ = ("error_code", "partition", "leader_epoch", "end_offset")

    def __init__(
        self,
        error_code: int = 0,  # 0+
        partition: int = 0,  # 0+
        leader_epoch: int = -1,  # 1+, ignorable
        end_offset: int = -1,  # 0+
    ) -> None:
        self.error_code = error_code
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.end_offset = end_offset


class OffsetForLeaderTopicResult(Struct):
    __slots__ = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",  # 0+
        partitions: list[EpochEndOffset] = EMPTY,  # 0+
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is EMPTY else partitions


class OffsetForLeaderEpochResponse(Message):
    API_KEY = 23
    MIN_VERSION = 2
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4
    __slots__ = ("throttle_time_ms", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 2+, ignorable
        topics: list[OffsetForLeaderTopicResult] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics


def _read_epoch_end_offset_v2(data: bytes, pos: int, size: int) -> tuple[EpochEndOffset, int]:
    at = "error_code"
    try:
        error_code, partition, leader_epoch, end_offset = _unpack_hiiq(data, pos)
        pos += 18
    except READ_ERRORS as error:
        raise malformed("OffsetForLeaderEpochResponse.EpochEndOffset", at, pos, error) from None
    return EpochEndOffset(error_code, partition, leader_epoch, end_offset), pos


def _write_epoch_end_offset_v2(w: Append, x: EpochEndOffset) -> None:
    w(_pack_hiiq(x.error_code, x.partition, x.leader_epoch, x.end_offset))


def _read_epoch_end_offset_v4(data: bytes, pos: int, size: int) -> tuple[EpochEndOffset, int]:
    at = "error_code"
    try:
        error_code, partition, leader_epoch, end_offset, tags = _unpack_hiiqB(data, pos)
        pos += 19
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetForLeaderEpochResponse.EpochEndOffset", at, pos, error) from None
    return EpochEndOffset(error_code, partition, leader_epoch, end_offset), pos


def _write_epoch_end_offset_v4(w: Append, x: EpochEndOffset) -> None:
    w(_pack_hiiqx(x.error_code, x.partition, x.leader_epoch, x.end_offset))


def _read_offset_for_leader_topic_result_v2(data: bytes, pos: int, size: int) -> tuple[OffsetForLeaderTopicResult, int]:
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
        if count > size - pos:
            raise overrun(count, size - pos)
        partitions: list[EpochEndOffset] = []
        for _ in range(count):
            partitions_item, pos = _read_epoch_end_offset_v2(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult", at, pos, error) from None
    return OffsetForLeaderTopicResult(topic, partitions), pos


def _write_offset_for_leader_topic_result_v2(w: Append, x: OffsetForLeaderTopicResult) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    w(_pack_h(len(topic_bytes)))
    w(topic_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_epoch_end_offset_v2(w, partitions_item)


def _read_offset_for_leader_topic_result_v4(data: bytes, pos: int, size: int) -> tuple[OffsetForLeaderTopicResult, int]:
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
        if count > size - pos:
            raise overrun(count, size - pos)
        partitions: list[EpochEndOffset] = []
        for _ in range(count):
            partitions_item, pos = _read_epoch_end_offset_v4(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult", at, pos, error) from None
    return OffsetForLeaderTopicResult(topic, partitions), pos


def _write_offset_for_leader_topic_result_v4(w: Append, x: OffsetForLeaderTopicResult) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    count = len(topic_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(topic_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_epoch_end_offset_v4(w, partitions_item)
    w(b"\0")


def _read_offset_for_leader_epoch_response_v2(data: bytes, pos: int, size: int) -> tuple[OffsetForLeaderEpochResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[OffsetForLeaderTopicResult] = []
        for _ in range(count):
            topics_item, pos = _read_offset_for_leader_topic_result_v2(data, pos, size)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("OffsetForLeaderEpochResponse", at, pos, error) from None
    return OffsetForLeaderEpochResponse(throttle_time_ms, topics), pos


def _write_offset_for_leader_epoch_response_v2(w: Append, x: OffsetForLeaderEpochResponse) -> None:
    topics = x.topics
    w(_pack_ii(x.throttle_time_ms, len(topics)))
    for topics_item in topics:
        _write_offset_for_leader_topic_result_v2(w, topics_item)


def _read_offset_for_leader_epoch_response_v4(data: bytes, pos: int, size: int) -> tuple[OffsetForLeaderEpochResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "topics"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[OffsetForLeaderTopicResult] = []
        for _ in range(count):
            topics_item, pos = _read_offset_for_leader_topic_result_v4(data, pos, size)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetForLeaderEpochResponse", at, pos, error) from None
    return OffsetForLeaderEpochResponse(throttle_time_ms, topics), pos


def _write_offset_for_leader_epoch_response_v4(w: Append, x: OffsetForLeaderEpochResponse) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for topics_item in topics:
        _write_offset_for_leader_topic_result_v4(w, topics_item)
    w(b"\0")
OffsetForLeaderEpochResponse._READERS = {
    2: _read_offset_for_leader_epoch_response_v2,
    3: _read_offset_for_leader_epoch_response_v2,
    4: _read_offset_for_leader_epoch_response_v4,
}
OffsetForLeaderEpochResponse._WRITERS = {
    2: _write_offset_for_leader_epoch_response_v2,
    3: _write_offset_for_leader_epoch_response_v2,
    4: _write_offset_for_leader_epoch_response_v4,
}
