# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, ZERO_UUID, Append, Message, Struct, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_UT = _Struct(">16s?").pack
_pack_UTB = _Struct(">16s?B").pack
_pack_h = _Struct(">h").pack
_pack_hiii = _Struct(">hiii").pack
_pack_hiiiB = _Struct(">hiiiB").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ix = _Struct(">ix").pack
_unpack_UTB = _Struct(">16s?B").unpack_from
_unpack_b = _Struct(">b").unpack_from
_unpack_hB = _Struct(">hB").unpack_from
_unpack_hiiiB = _Struct(">hiiiB").unpack_from
_unpack_iB = _Struct(">iB").unpack_from


class DescribeTopicPartitionsResponsePartition(Struct):
    __slots__ = ("error_code", "partition_index", "leader_id", "leader_epoch", "replica_nodes", "isr_nodes", "eligible_leader_replicas", "last_known_elr", "offline_replicas")

    def __init__(
        self,
        error_code: int = 0,  # 0+
        partition_index: int = 0,  # 0+
        leader_id: int = 0,  # 0+
        leader_epoch: int = -1,  # 0+, ignorable
        replica_nodes: list[int] = EMPTY,  # 0+
        isr_nodes: list[int] = EMPTY,  # 0+
        eligible_leader_replicas: list[int] | None = None,  # 0+
        last_known_elr: list[int] | None = None,  # 0+
        offline_replicas: list[int] = EMPTY,  # 0+, ignorable
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = [] if replica_nodes is EMPTY else replica_nodes
        self.isr_nodes = [] if isr_nodes is EMPTY else isr_nodes
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.offline_replicas = [] if offline_replicas is EMPTY else offline_replicas


class Cursor(Struct):
    __slots__ = ("topic_name", "partition_index")

    def __init__(
        self,
        topic_name: str = "",  # 0+
        partition_index: int = 0,  # 0+
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index


class DescribeTopicPartitionsResponseTopic(Struct):
    __slots__ = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")

    def __init__(
        self,
        error_code: int = 0,  # 0+
        name: str | None = "",  # 0+
        topic_id: Uuid = ZERO_UUID,  # 0+, ignorable
        is_internal: bool = False,  # 0+, ignorable
        partitions: list[DescribeTopicPartitionsResponsePartition] = EMPTY,  # 0+
        topic_authorized_operations: int = -2147483648,  # 0+
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = [] if partitions is EMPTY else partitions
        self.topic_authorized_operations = topic_authorized_operations


class DescribeTopicPartitionsResponse(Message):
    API_KEY = 75
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("throttle_time_ms", "topics", "next_cursor")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+, ignorable
        topics: list[DescribeTopicPartitionsResponseTopic] = EMPTY,  # 0+
        next_cursor: Cursor | None = None,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics
        self.next_cursor = next_cursor


def _read_describe_topic_partitions_response_partition_v0(data: bytes, pos: int, size: int) -> tuple[DescribeTopicPartitionsResponsePartition, int]:
    at = "error_code"
    try:
        error_code, partition_index, leader_id, leader_epoch, count = _unpack_hiiiB(data, pos)
        pos += 15
        at = "replica_nodes"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        replica_nodes: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "isr_nodes"
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
        isr_nodes: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "eligible_leader_replicas"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        eligible_leader_replicas: list[int] | None = None
        if count:
            count -= 1
            end = pos + count * 4
            if end > size:
                raise overrun(count * 4, size - pos)
            eligible_leader_replicas = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
            pos = end
        at = "last_known_elr"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        last_known_elr: list[int] | None = None
        if count:
            count -= 1
            end = pos + count * 4
            if end > size:
                raise overrun(count * 4, size - pos)
            last_known_elr = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
            pos = end
        at = "offline_replicas"
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
        offline_replicas: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition", at, pos, error) from None
    return DescribeTopicPartitionsResponsePartition(error_code, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, eligible_leader_replicas, last_known_elr, offline_replicas), pos


def _write_describe_topic_partitions_response_partition_v0(w: Append, x: DescribeTopicPartitionsResponsePartition) -> None:
    replica_nodes = x.replica_nodes
    count = len(replica_nodes) + 1
    w(_pack_hiiiB(x.error_code, x.partition_index, x.leader_id, x.leader_epoch, count) if count < 128 else _pack_hiii(x.error_code, x.partition_index, x.leader_id, x.leader_epoch) + uvarint(count))
    w(PACK_INT32S[len(replica_nodes)](*replica_nodes) if len(replica_nodes) < 8 else pack(f">{len(replica_nodes)}i", *replica_nodes))
    isr_nodes = x.isr_nodes
    count = len(isr_nodes) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(isr_nodes)](*isr_nodes) if len(isr_nodes) < 8 else pack(f">{len(isr_nodes)}i", *isr_nodes))
    eligible_leader_replicas = x.eligible_leader_replicas
    if eligible_leader_replicas is None:
        w(b"\0")
    else:
        count = len(eligible_leader_replicas) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        w(PACK_INT32S[len(eligible_leader_replicas)](*eligible_leader_replicas) if len(eligible_leader_replicas) < 8 else pack(f">{len(eligible_leader_replicas)}i", *eligible_leader_replicas))
    last_known_elr = x.last_known_elr
    if last_known_elr is None:
        w(b"\0")
    else:
        count = len(last_known_elr) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        w(PACK_INT32S[len(last_known_elr)](*last_known_elr) if len(last_known_elr) < 8 else pack(f">{len(last_known_elr)}i", *last_known_elr))
    offline_replicas = x.offline_replicas
    count = len(offline_replicas) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(offline_replicas)](*offline_replicas) if len(offline_replicas) < 8 else pack(f">{len(offline_replicas)}i", *offline_replicas))
    w(b"\0")


def _read_cursor_v0(data: bytes, pos: int, size: int) -> tuple[Cursor, int]:
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
        at = "partition_index"
        partition_index, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeTopicPartitionsResponse.Cursor", at, pos, error) from None
    return Cursor(topic_name, partition_index), pos


def _write_cursor_v0(w: Append, x: Cursor) -> None:
    topic_name = x.topic_name
    topic_name_bytes = topic_name.encode()
    count = len(topic_name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(topic_name_bytes)
    w(_pack_ix(x.partition_index))


def _read_describe_topic_partitions_response_topic_v0(data: bytes, pos: int, size: int) -> tuple[DescribeTopicPartitionsResponseTopic, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hB(data, pos)
        pos += 3
        at = "name"
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
        topic_id, is_internal, count = _unpack_UTB(data, pos)
        pos += 18
        at = "partitions"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        partitions: list[DescribeTopicPartitionsResponsePartition] = []
        for _ in range(count):
            partitions_item, pos = _read_describe_topic_partitions_response_partition_v0(data, pos, size)
            partitions.append(partitions_item)
        at = "topic_authorized_operations"
        topic_authorized_operations, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic", at, pos, error) from None
    return DescribeTopicPartitionsResponseTopic(error_code, name, topic_id, is_internal, partitions, topic_authorized_operations), pos


def _write_describe_topic_partitions_response_topic_v0(w: Append, x: DescribeTopicPartitionsResponseTopic) -> None:
    name = x.name
    w(_pack_h(x.error_code))
    if name is None:
        w(b"\0")
    else:
        name_bytes = name.encode()
        count = len(name_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(name_bytes)
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("DescribeTopicPartitionsResponse", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UTB(topic_id, x.is_internal, count) if count < 128 else _pack_UT(topic_id, x.is_internal) + uvarint(count))
    for partitions_item in partitions:
        _write_describe_topic_partitions_response_partition_v0(w, partitions_item)
    w(_pack_ix(x.topic_authorized_operations))


def _read_describe_topic_partitions_response_v0(data: bytes, pos: int, size: int) -> tuple[DescribeTopicPartitionsResponse, int]:
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
        topics: list[DescribeTopicPartitionsResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_describe_topic_partitions_response_topic_v0(data, pos, size)
            topics.append(topics_item)
        at = "next_cursor"
        present, = _unpack_b(data, pos)
        pos += 1
        next_cursor: Cursor | None = None
        if present >= 0:
            next_cursor, pos = _read_cursor_v0(data, pos, size)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeTopicPartitionsResponse", at, pos, error) from None
    return DescribeTopicPartitionsResponse(throttle_time_ms, topics, next_cursor), pos


def _write_describe_topic_partitions_response_v0(w: Append, x: DescribeTopicPartitionsResponse) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for topics_item in topics:
        _write_describe_topic_partitions_response_topic_v0(w, topics_item)
    next_cursor = x.next_cursor
    if next_cursor is None:
        w(b"\xff")
    else:
        w(b"\x01")
        _write_cursor_v0(w, next_cursor)
    w(b"\0")
DescribeTopicPartitionsResponse._READERS = {
    0: _read_describe_topic_partitions_response_v0,
}
DescribeTopicPartitionsResponse._WRITERS = {
    0: _write_describe_topic_partitions_response_v0,
}
