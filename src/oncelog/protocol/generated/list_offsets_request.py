# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_ib = _Struct(">ib").pack
_pack_ibB = _Struct(">ibB").pack
_pack_ibi = _Struct(">ibi").pack
_pack_ii = _Struct(">ii").pack
_pack_iiq = _Struct(">iiq").pack
_pack_iiqx = _Struct(">iiqx").pack
_pack_iq = _Struct(">iq").pack
_pack_ix = _Struct(">ix").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ibB = _Struct(">ibB").unpack_from
_unpack_ibi = _Struct(">ibi").unpack_from
_unpack_ii = _Struct(">ii").unpack_from
_unpack_iiq = _Struct(">iiq").unpack_from
_unpack_iiqB = _Struct(">iiqB").unpack_from
_unpack_iq = _Struct(">iq").unpack_from


class ListOffsetsPartition(Struct):
    __slots__ = ("partition_index", "current_leader_epoch", "timestamp")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        current_leader_epoch: int = -1,  # 4+, ignorable
        timestamp: int = 0,  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.current_leader_epoch = current_leader_epoch
        self.timestamp = timestamp


class ListOffsetsTopic(Struct):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",  # 0+
        partitions: list[ListOffsetsPartition] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class ListOffsetsRequest(Message):
    API_KEY = 2
    MIN_VERSION = 1
    MAX_VERSION = 11
    FLEXIBLE_FROM = 6
    __slots__ = ("replica_id", "isolation_level", "topics", "timeout_ms")

    def __init__(
        self,
        replica_id: int = 0,  # 0+
        isolation_level: int = 0,  # 2+
        topics: list[ListOffsetsTopic] = EMPTY,  # 0+
        timeout_ms: int = 0,  # 10+, ignorable
    ) -> None:
        self.replica_id = replica_id
        self.isolation_level = isolation_level
        self.topics = [] if topics is EMPTY else topics
        self.timeout_ms = timeout_ms


def _read_list_offsets_partition_v1(data: bytes, pos: int, size: int) -> tuple[ListOffsetsPartition, int]:
    at = "partition_index"
    try:
        partition_index, timestamp = _unpack_iq(data, pos)
        pos += 12
    except READ_ERRORS as error:
        raise malformed("ListOffsetsRequest.ListOffsetsPartition", at, pos, error) from None
    return ListOffsetsPartition(partition_index, -1, timestamp), pos


def _write_list_offsets_partition_v1(w: Append, x: ListOffsetsPartition) -> None:
    w(_pack_iq(x.partition_index, x.timestamp))


def _read_list_offsets_partition_v4(data: bytes, pos: int, size: int) -> tuple[ListOffsetsPartition, int]:
    at = "partition_index"
    try:
        partition_index, current_leader_epoch, timestamp = _unpack_iiq(data, pos)
        pos += 16
    except READ_ERRORS as error:
        raise malformed("ListOffsetsRequest.ListOffsetsPartition", at, pos, error) from None
    return ListOffsetsPartition(partition_index, current_leader_epoch, timestamp), pos


def _write_list_offsets_partition_v4(w: Append, x: ListOffsetsPartition) -> None:
    w(_pack_iiq(x.partition_index, x.current_leader_epoch, x.timestamp))


def _read_list_offsets_partition_v6(data: bytes, pos: int, size: int) -> tuple[ListOffsetsPartition, int]:
    at = "partition_index"
    try:
        partition_index, current_leader_epoch, timestamp, tags = _unpack_iiqB(data, pos)
        pos += 17
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListOffsetsRequest.ListOffsetsPartition", at, pos, error) from None
    return ListOffsetsPartition(partition_index, current_leader_epoch, timestamp), pos


def _write_list_offsets_partition_v6(w: Append, x: ListOffsetsPartition) -> None:
    w(_pack_iiqx(x.partition_index, x.current_leader_epoch, x.timestamp))


def _read_list_offsets_topic_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ListOffsetsTopic, int]:
    at = "name"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        name = data[pos:end].decode()
        pos = end
        at = "partitions"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        partitions: list[ListOffsetsPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_list_offsets_partition_v1(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("ListOffsetsRequest.ListOffsetsTopic", at, pos, error) from None
    return ListOffsetsTopic(name, partitions), pos


def _write_list_offsets_topic_v1(w: Append, x: ListOffsetsTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_list_offsets_partition_v1(w, partitions_item)


def _read_list_offsets_topic_v4(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ListOffsetsTopic, int]:
    at = "name"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        name = data[pos:end].decode()
        pos = end
        at = "partitions"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        partitions: list[ListOffsetsPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_list_offsets_partition_v4(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("ListOffsetsRequest.ListOffsetsTopic", at, pos, error) from None
    return ListOffsetsTopic(name, partitions), pos


def _write_list_offsets_topic_v4(w: Append, x: ListOffsetsTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_list_offsets_partition_v4(w, partitions_item)


def _read_list_offsets_topic_v6(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ListOffsetsTopic, int]:
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
        if limit is not None:
            limit.take(count)
        partitions: list[ListOffsetsPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_list_offsets_partition_v6(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListOffsetsRequest.ListOffsetsTopic", at, pos, error) from None
    return ListOffsetsTopic(name, partitions), pos


def _write_list_offsets_topic_v6(w: Append, x: ListOffsetsTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_list_offsets_partition_v6(w, partitions_item)
    w(b"\0")


def _read_list_offsets_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ListOffsetsRequest, int]:
    at = "replica_id"
    try:
        replica_id, count = _unpack_ii(data, pos)
        pos += 8
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[ListOffsetsTopic] = []
        for _ in range(count):
            topics_item, pos = _read_list_offsets_topic_v1(data, pos, size, limit)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("ListOffsetsRequest", at, pos, error) from None
    return ListOffsetsRequest(replica_id, 0, topics, 0), pos


def _write_list_offsets_request_v1(w: Append, x: ListOffsetsRequest) -> None:
    if x.isolation_level != 0:
        raise unsupported_field("ListOffsetsRequest", "isolation_level", "1")
    topics = x.topics
    w(_pack_ii(x.replica_id, len(topics)))
    for topics_item in topics:
        _write_list_offsets_topic_v1(w, topics_item)


def _read_list_offsets_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ListOffsetsRequest, int]:
    at = "replica_id"
    try:
        replica_id, isolation_level, count = _unpack_ibi(data, pos)
        pos += 9
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[ListOffsetsTopic] = []
        for _ in range(count):
            topics_item, pos = _read_list_offsets_topic_v1(data, pos, size, limit)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("ListOffsetsRequest", at, pos, error) from None
    return ListOffsetsRequest(replica_id, isolation_level, topics, 0), pos


def _write_list_offsets_request_v2(w: Append, x: ListOffsetsRequest) -> None:
    topics = x.topics
    w(_pack_ibi(x.replica_id, x.isolation_level, len(topics)))
    for topics_item in topics:
        _write_list_offsets_topic_v1(w, topics_item)


def _read_list_offsets_request_v4(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ListOffsetsRequest, int]:
    at = "replica_id"
    try:
        replica_id, isolation_level, count = _unpack_ibi(data, pos)
        pos += 9
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[ListOffsetsTopic] = []
        for _ in range(count):
            topics_item, pos = _read_list_offsets_topic_v4(data, pos, size, limit)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("ListOffsetsRequest", at, pos, error) from None
    return ListOffsetsRequest(replica_id, isolation_level, topics, 0), pos


def _write_list_offsets_request_v4(w: Append, x: ListOffsetsRequest) -> None:
    topics = x.topics
    w(_pack_ibi(x.replica_id, x.isolation_level, len(topics)))
    for topics_item in topics:
        _write_list_offsets_topic_v4(w, topics_item)


def _read_list_offsets_request_v6(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ListOffsetsRequest, int]:
    at = "replica_id"
    try:
        replica_id, isolation_level, count = _unpack_ibB(data, pos)
        pos += 6
        at = "topics"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[ListOffsetsTopic] = []
        for _ in range(count):
            topics_item, pos = _read_list_offsets_topic_v6(data, pos, size, limit)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListOffsetsRequest", at, pos, error) from None
    return ListOffsetsRequest(replica_id, isolation_level, topics, 0), pos


def _write_list_offsets_request_v6(w: Append, x: ListOffsetsRequest) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(_pack_ibB(x.replica_id, x.isolation_level, count) if count < 128 else _pack_ib(x.replica_id, x.isolation_level) + uvarint(count))
    for topics_item in topics:
        _write_list_offsets_topic_v6(w, topics_item)
    w(b"\0")


def _read_list_offsets_request_v10(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ListOffsetsRequest, int]:
    at = "replica_id"
    try:
        replica_id, isolation_level, count = _unpack_ibB(data, pos)
        pos += 6
        at = "topics"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[ListOffsetsTopic] = []
        for _ in range(count):
            topics_item, pos = _read_list_offsets_topic_v6(data, pos, size, limit)
            topics.append(topics_item)
        at = "timeout_ms"
        timeout_ms, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListOffsetsRequest", at, pos, error) from None
    return ListOffsetsRequest(replica_id, isolation_level, topics, timeout_ms), pos


def _write_list_offsets_request_v10(w: Append, x: ListOffsetsRequest) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(_pack_ibB(x.replica_id, x.isolation_level, count) if count < 128 else _pack_ib(x.replica_id, x.isolation_level) + uvarint(count))
    for topics_item in topics:
        _write_list_offsets_topic_v6(w, topics_item)
    w(_pack_ix(x.timeout_ms))
ListOffsetsRequest._READERS = {
    1: _read_list_offsets_request_v1,
    2: _read_list_offsets_request_v2,
    3: _read_list_offsets_request_v2,
    4: _read_list_offsets_request_v4,
    5: _read_list_offsets_request_v4,
    6: _read_list_offsets_request_v6,
    7: _read_list_offsets_request_v6,
    8: _read_list_offsets_request_v6,
    9: _read_list_offsets_request_v6,
    10: _read_list_offsets_request_v10,
    11: _read_list_offsets_request_v10,
}
ListOffsetsRequest._WRITERS = {
    1: _write_list_offsets_request_v1,
    2: _write_list_offsets_request_v2,
    3: _write_list_offsets_request_v2,
    4: _write_list_offsets_request_v4,
    5: _write_list_offsets_request_v4,
    6: _write_list_offsets_request_v6,
    7: _write_list_offsets_request_v6,
    8: _write_list_offsets_request_v6,
    9: _write_list_offsets_request_v6,
    10: _write_list_offsets_request_v10,
    11: _write_list_offsets_request_v10,
}
