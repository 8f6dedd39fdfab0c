# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_ihx = _Struct(">ihx").pack
_pack_q = _Struct(">q").pack
_pack_qB = _Struct(">qB").pack
_unpack_ihB = _Struct(">ihB").unpack_from
_unpack_qB = _Struct(">qB").unpack_from


class WritableTxnMarkerPartitionResult(Struct):
    __slots__ = ("partition_index", "error_code")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        error_code: int = 0,  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


class WritableTxnMarkerTopicResult(Struct):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",  # 0+
        partitions: list[WritableTxnMarkerPartitionResult] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class WritableTxnMarkerResult(Struct):
    __slots__ = ("producer_id", "topics")

    def __init__(
        self,
        producer_id: int = 0,  # 0+
        topics: list[WritableTxnMarkerTopicResult] = EMPTY,  # 0+
    ) -> None:
        self.producer_id = producer_id
        self.topics = [] if topics is EMPTY else topics


class WriteTxnMarkersResponse(Message):
    API_KEY = 27
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 1
    __slots__ = ("markers",)

    def __init__(
        self,
        markers: list[WritableTxnMarkerResult] = EMPTY,  # 0+
    ) -> None:
        self.markers = [] if markers is EMPTY else markers


def _read_writable_txn_marker_partition_result_v1(data: bytes, pos: int, size: int) -> tuple[WritableTxnMarkerPartitionResult, int]:
    at = "partition_index"
    try:
        partition_index, error_code, tags = _unpack_ihB(data, pos)
        pos += 7
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult", at, pos, error) from None
    return WritableTxnMarkerPartitionResult(partition_index, error_code), pos


def _write_writable_txn_marker_partition_result_v1(w: Append, x: WritableTxnMarkerPartitionResult) -> None:
    w(_pack_ihx(x.partition_index, x.error_code))


def _read_writable_txn_marker_topic_result_v1(data: bytes, pos: int, size: int) -> tuple[WritableTxnMarkerTopicResult, int]:
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
        partitions: list[WritableTxnMarkerPartitionResult] = []
        for _ in range(count):
            partitions_item, pos = _read_writable_txn_marker_partition_result_v1(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("WriteTxnMarkersResponse.WritableTxnMarkerTopicResult", at, pos, error) from None
    return WritableTxnMarkerTopicResult(name, partitions), pos


def _write_writable_txn_marker_topic_result_v1(w: Append, x: WritableTxnMarkerTopicResult) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_writable_txn_marker_partition_result_v1(w, partitions_item)
    w(b"\0")


def _read_writable_txn_marker_result_v1(data: bytes, pos: int, size: int) -> tuple[WritableTxnMarkerResult, int]:
    at = "producer_id"
    try:
        producer_id, count = _unpack_qB(data, pos)
        pos += 9
        at = "topics"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[WritableTxnMarkerTopicResult] = []
        for _ in range(count):
            topics_item, pos = _read_writable_txn_marker_topic_result_v1(data, pos, size)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("WriteTxnMarkersResponse.WritableTxnMarkerResult", at, pos, error) from None
    return WritableTxnMarkerResult(producer_id, topics), pos


def _write_writable_txn_marker_result_v1(w: Append, x: WritableTxnMarkerResult) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(_pack_qB(x.producer_id, count) if count < 128 else _pack_q(x.producer_id) + uvarint(count))
    for topics_item in topics:
        _write_writable_txn_marker_topic_result_v1(w, topics_item)
    w(b"\0")


def _read_write_txn_markers_response_v1(data: bytes, pos: int, size: int) -> tuple[WriteTxnMarkersResponse, int]:
    at = "markers"
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
        markers: list[WritableTxnMarkerResult] = []
        for _ in range(count):
            markers_item, pos = _read_writable_txn_marker_result_v1(data, pos, size)
            markers.append(markers_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("WriteTxnMarkersResponse", at, pos, error) from None
    return WriteTxnMarkersResponse(markers), pos


def _write_write_txn_markers_response_v1(w: Append, x: WriteTxnMarkersResponse) -> None:
    markers = x.markers
    count = len(markers) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for markers_item in markers:
        _write_writable_txn_marker_result_v1(w, markers_item)
    w(b"\0")
WriteTxnMarkersResponse._READERS = {
    1: _read_write_txn_markers_response_v1,
    2: _read_write_txn_markers_response_v1,
}
WriteTxnMarkersResponse._WRITERS = {
    1: _write_write_txn_markers_response_v1,
    2: _write_write_txn_markers_response_v1,
}
