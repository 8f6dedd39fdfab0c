# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ih = _Struct(">ih").pack
_pack_qiiqiqx = _Struct(">qiiqiqx").pack
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from
_unpack_qiiqiqB = _Struct(">qiiqiqB").unpack_from


class ProducerState(Struct):
    __slots__ = ("producer_id", "producer_epoch", "last_sequence", "last_timestamp", "coordinator_epoch", "current_txn_start_offset")

    def __init__(
        self,
        producer_id: int = 0,  # 0+
        producer_epoch: int = 0,  # 0+
        last_sequence: int = -1,  # 0+
        last_timestamp: int = -1,  # 0+
        coordinator_epoch: int = 0,  # 0+
        current_txn_start_offset: int = -1,  # 0+
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.last_sequence = last_sequence
        self.last_timestamp = last_timestamp
        self.coordinator_epoch = coordinator_epoch
        self.current_txn_start_offset = current_txn_start_offset


class PartitionResponse(Struct):
    __slots__ = ("partition_index", "error_code", "error_message", "active_producers")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        error_code: int = 0,  # 0+
        error_message: str | None = None,  # 0+
        active_producers: list[ProducerState] = EMPTY,  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.active_producers = [] if active_producers is EMPTY else active_producers


class TopicResponse(Struct):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",  # 0+
        partitions: list[PartitionResponse] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class DescribeProducersResponse(Message):
    API_KEY = 61
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("throttle_time_ms", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        topics: list[TopicResponse] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics


def _read_producer_state_v0(data: bytes, pos: int, size: int) -> tuple[ProducerState, int]:
    at = "producer_id"
    try:
        producer_id, producer_epoch, last_sequence, last_timestamp, coordinator_epoch, current_txn_start_offset, tags = _unpack_qiiqiqB(data, pos)
        pos += 37
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeProducersResponse.ProducerState", at, pos, error) from None
    return ProducerState(producer_id, producer_epoch, last_sequence, last_timestamp, coordinator_epoch, current_txn_start_offset), pos


def _write_producer_state_v0(w: Append, x: ProducerState) -> None:
    w(_pack_qiiqiqx(x.producer_id, x.producer_epoch, x.last_sequence, x.last_timestamp, x.coordinator_epoch, x.current_txn_start_offset))


def _read_partition_response_v0(data: bytes, pos: int, size: int) -> tuple[PartitionResponse, int]:
    at = "partition_index"
    try:
        partition_index, error_code, count = _unpack_ihB(data, pos)
        pos += 7
        at = "error_message"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        error_message: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "active_producers"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        active_producers: list[ProducerState] = []
        for _ in range(count):
            active_producers_item, pos = _read_producer_state_v0(data, pos, size)
            active_producers.append(active_producers_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeProducersResponse.PartitionResponse", at, pos, error) from None
    return PartitionResponse(partition_index, error_code, error_message, active_producers), pos


def _write_partition_response_v0(w: Append, x: PartitionResponse) -> None:
    error_message = x.error_message
    w(_pack_ih(x.partition_index, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    active_producers = x.active_producers
    count = len(active_producers) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for active_producers_item in active_producers:
        _write_producer_state_v0(w, active_producers_item)
    w(b"\0")


def _read_topic_response_v0(data: bytes, pos: int, size: int) -> tuple[TopicResponse, int]:
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
        partitions: list[PartitionResponse] = []
        for _ in range(count):
            partitions_item, pos = _read_partition_response_v0(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeProducersResponse.TopicResponse", at, pos, error) from None
    return TopicResponse(name, partitions), pos


def _write_topic_response_v0(w: Append, x: TopicResponse) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_partition_response_v0(w, partitions_item)
    w(b"\0")


def _read_describe_producers_response_v0(data: bytes, pos: int, size: int) -> tuple[DescribeProducersResponse, int]:
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
        topics: list[TopicResponse] = []
        for _ in range(count):
            topics_item, pos = _read_topic_response_v0(data, pos, size)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeProducersResponse", at, pos, error) from None
    return DescribeProducersResponse(throttle_time_ms, topics), pos


def _write_describe_producers_response_v0(w: Append, x: DescribeProducersResponse) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for topics_item in topics:
        _write_topic_response_v0(w, topics_item)
    w(b"\0")
DescribeProducersResponse._READERS = {
    0: _read_describe_producers_response_v0,
}
DescribeProducersResponse._WRITERS = {
    0: _write_describe_producers_response_v0,
}
