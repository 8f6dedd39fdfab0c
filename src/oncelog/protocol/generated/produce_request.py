# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, ZERO_UUID, Append, ElementLimit, Message, Struct, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_U = _Struct(">16s").pack
_pack_UB = _Struct(">16sB").pack
_pack_h = _Struct(">h").pack
_pack_hi = _Struct(">hi").pack
_pack_hiB = _Struct(">hiB").pack
_pack_hii = _Struct(">hii").pack
_pack_i = _Struct(">i").pack
_pack_ii = _Struct(">ii").pack
_unpack_UB = _Struct(">16sB").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_hiB = _Struct(">hiB").unpack_from
_unpack_hii = _Struct(">hii").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ii = _Struct(">ii").unpack_from


class PartitionProduceData(Struct):
    __slots__ = ("index", "records")

    def __init__(
        self,
        index: int = 0,  # 0+
        records: bytes | memoryview | None = None,  # 0+
    ) -> None:
        self.index = index
        self.records = records


class TopicProduceData(Struct):
    __slots__ = ("name", "topic_id", "partition_data")

    def __init__(
        self,
        name: str = "",  # 0-12, ignorable
        topic_id: Uuid = ZERO_UUID,  # 13+, ignorable
        partition_data: list[PartitionProduceData] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_data = [] if partition_data is EMPTY else partition_data


class ProduceRequest(Message):
    API_KEY = 0
    MIN_VERSION = 3
    MAX_VERSION = 13
    FLEXIBLE_FROM = 9
    __slots__ = ("transactional_id", "acks", "timeout_ms", "topic_data")

    def __init__(
        self,
        transactional_id: str | None = None,  # 3+
        acks: int = 0,  # 0+
        timeout_ms: int = 0,  # 0+
        topic_data: list[TopicProduceData] = EMPTY,  # 0+
    ) -> None:
        self.transactional_id = transactional_id
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.topic_data = [] if topic_data is EMPTY else topic_data


def _read_partition_produce_data_v3(data: memoryview, pos: int, size: int) -> tuple[PartitionProduceData, int]:
    at = "index"
    try:
        index, count = _unpack_ii(data, pos)
        pos += 8
        at = "records"
        records: bytes | memoryview | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            records = data[pos:end]
            pos = end
    except READ_ERRORS as error:
        raise malformed("ProduceRequest.PartitionProduceData", at, pos, error) from None
    return PartitionProduceData(index, records), pos


def _write_partition_produce_data_v3(w: Append, x: PartitionProduceData) -> None:
    records = x.records
    records_bytes = b"" if records is None else records
    w(_pack_ii(x.index, -1 if records is None else len(records_bytes)))
    w(records_bytes)


def _read_partition_produce_data_v9(data: memoryview, pos: int, size: int) -> tuple[PartitionProduceData, int]:
    at = "index"
    try:
        index, count = _unpack_iB(data, pos)
        pos += 5
        at = "records"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        records: bytes | memoryview | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            records = data[pos:end]
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ProduceRequest.PartitionProduceData", at, pos, error) from None
    return PartitionProduceData(index, records), pos


def _write_partition_produce_data_v9(w: Append, x: PartitionProduceData) -> None:
    records = x.records
    w(_pack_i(x.index))
    if records is None:
        w(b"\0")
    else:
        count = len(records) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        w(records)
    w(b"\0")


def _read_topic_produce_data_v3(data: memoryview, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[TopicProduceData, int]:
    at = "name"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        name = str(data[pos:end], "utf-8")
        pos = end
        at = "partition_data"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        partition_data: list[PartitionProduceData] = []
        for _ in range(count):
            partition_data_item, pos = _read_partition_produce_data_v3(data, pos, size)
            partition_data.append(partition_data_item)
    except READ_ERRORS as error:
        raise malformed("ProduceRequest.TopicProduceData", at, pos, error) from None
    return TopicProduceData(name, ZERO_UUID, partition_data), pos


def _write_topic_produce_data_v3(w: Append, x: TopicProduceData) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    partition_data = x.partition_data
    w(_pack_i(len(partition_data)))
    for partition_data_item in partition_data:
        _write_partition_produce_data_v3(w, partition_data_item)


def _read_topic_produce_data_v9(data: memoryview, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[TopicProduceData, int]:
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
        name = str(data[pos:end], "utf-8")
        pos = end
        at = "partition_data"
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
        partition_data: list[PartitionProduceData] = []
        for _ in range(count):
            partition_data_item, pos = _read_partition_produce_data_v9(data, pos, size)
            partition_data.append(partition_data_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ProduceRequest.TopicProduceData", at, pos, error) from None
    return TopicProduceData(name, ZERO_UUID, partition_data), pos


def _write_topic_produce_data_v9(w: Append, x: TopicProduceData) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    partition_data = x.partition_data
    count = len(partition_data) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partition_data_item in partition_data:
        _write_partition_produce_data_v9(w, partition_data_item)
    w(b"\0")


def _read_topic_produce_data_v13(data: memoryview, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[TopicProduceData, int]:
    at = "topic_id"
    try:
        topic_id, count = _unpack_UB(data, pos)
        pos += 17
        at = "partition_data"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        partition_data: list[PartitionProduceData] = []
        for _ in range(count):
            partition_data_item, pos = _read_partition_produce_data_v9(data, pos, size)
            partition_data.append(partition_data_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ProduceRequest.TopicProduceData", at, pos, error) from None
    return TopicProduceData("", topic_id, partition_data), pos


def _write_topic_produce_data_v13(w: Append, x: TopicProduceData) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("ProduceRequest", "topic_id", topic_id)
    partition_data = x.partition_data
    count = len(partition_data) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    for partition_data_item in partition_data:
        _write_partition_produce_data_v9(w, partition_data_item)
    w(b"\0")


def _read_produce_request_v3(data: memoryview, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ProduceRequest, int]:
    at = "transactional_id"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        transactional_id: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            transactional_id = str(data[pos:end], "utf-8")
            pos = end
        at = "acks"
        acks, timeout_ms, count = _unpack_hii(data, pos)
        pos += 10
        at = "topic_data"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topic_data: list[TopicProduceData] = []
        for _ in range(count):
            topic_data_item, pos = _read_topic_produce_data_v3(data, pos, size, limit)
            topic_data.append(topic_data_item)
    except READ_ERRORS as error:
        raise malformed("ProduceRequest", at, pos, error) from None
    return ProduceRequest(transactional_id, acks, timeout_ms, topic_data), pos


def _write_produce_request_v3(w: Append, x: ProduceRequest) -> None:
    transactional_id = x.transactional_id
    transactional_id_bytes = b"" if transactional_id is None else transactional_id.encode()
    w(_pack_h(-1 if transactional_id is None else len(transactional_id_bytes)))
    w(transactional_id_bytes)
    topic_data = x.topic_data
    w(_pack_hii(x.acks, x.timeout_ms, len(topic_data)))
    for topic_data_item in topic_data:
        _write_topic_produce_data_v3(w, topic_data_item)


def _read_produce_request_v9(data: memoryview, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ProduceRequest, int]:
    at = "transactional_id"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        transactional_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            transactional_id = str(data[pos:end], "utf-8")
            pos = end
        at = "acks"
        acks, timeout_ms, count = _unpack_hiB(data, pos)
        pos += 7
        at = "topic_data"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topic_data: list[TopicProduceData] = []
        for _ in range(count):
            topic_data_item, pos = _read_topic_produce_data_v9(data, pos, size, limit)
            topic_data.append(topic_data_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ProduceRequest", at, pos, error) from None
    return ProduceRequest(transactional_id, acks, timeout_ms, topic_data), pos


def _write_produce_request_v9(w: Append, x: ProduceRequest) -> None:
    transactional_id = x.transactional_id
    if transactional_id is None:
        w(b"\0")
    else:
        transactional_id_bytes = transactional_id.encode()
        count = len(transactional_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(transactional_id_bytes)
    topic_data = x.topic_data
    count = len(topic_data) + 1
    w(_pack_hiB(x.acks, x.timeout_ms, count) if count < 128 else _pack_hi(x.acks, x.timeout_ms) + uvarint(count))
    for topic_data_item in topic_data:
        _write_topic_produce_data_v9(w, topic_data_item)
    w(b"\0")


def _read_produce_request_v13(data: memoryview, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ProduceRequest, int]:
    at = "transactional_id"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        transactional_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            transactional_id = str(data[pos:end], "utf-8")
            pos = end
        at = "acks"
        acks, timeout_ms, count = _unpack_hiB(data, pos)
        pos += 7
        at = "topic_data"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topic_data: list[TopicProduceData] = []
        for _ in range(count):
            topic_data_item, pos = _read_topic_produce_data_v13(data, pos, size, limit)
            topic_data.append(topic_data_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ProduceRequest", at, pos, error) from None
    return ProduceRequest(transactional_id, acks, timeout_ms, topic_data), pos


def _write_produce_request_v13(w: Append, x: ProduceRequest) -> None:
    transactional_id = x.transactional_id
    if transactional_id is None:
        w(b"\0")
    else:
        transactional_id_bytes = transactional_id.encode()
        count = len(transactional_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(transactional_id_bytes)
    topic_data = x.topic_data
    count = len(topic_data) + 1
    w(_pack_hiB(x.acks, x.timeout_ms, count) if count < 128 else _pack_hi(x.acks, x.timeout_ms) + uvarint(count))
    for topic_data_item in topic_data:
        _write_topic_produce_data_v13(w, topic_data_item)
    w(b"\0")
ProduceRequest._READERS = {
    3: _read_produce_request_v3,
    4: _read_produce_request_v3,
    5: _read_produce_request_v3,
    6: _read_produce_request_v3,
    7: _read_produce_request_v3,
    8: _read_produce_request_v3,
    9: _read_produce_request_v9,
    10: _read_produce_request_v9,
    11: _read_produce_request_v9,
    12: _read_produce_request_v9,
    13: _read_produce_request_v13,
}
ProduceRequest._WRITERS = {
    3: _write_produce_request_v3,
    4: _write_produce_request_v3,
    5: _write_produce_request_v3,
    6: _write_produce_request_v3,
    7: _write_produce_request_v3,
    8: _write_produce_request_v3,
    9: _write_produce_request_v9,
    10: _write_produce_request_v9,
    11: _write_produce_request_v9,
    12: _write_produce_request_v9,
    13: _write_produce_request_v13,
}
ProduceRequest._HAS_RECORDS = True
