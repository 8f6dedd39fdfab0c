# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_ibx = _Struct(">ibx").pack
_pack_ix = _Struct(">ix").pack
_pack_qhT = _Struct(">qh?").pack
_pack_qhTB = _Struct(">qh?B").pack
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ibB = _Struct(">ibB").unpack_from
_unpack_qhTB = _Struct(">qh?B").unpack_from


class WritableTxnMarkerTopic(Struct):
    __slots__ = ("name", "partition_indexes")

    def __init__(
        self,
        name: str = "",  # 0+
        partition_indexes: list[int] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is EMPTY else partition_indexes


class WritableTxnMarker(Struct):
    __slots__ = ("producer_id", "producer_epoch", "transaction_result", "topics", "coordinator_epoch", "transaction_version")

    def __init__(
        self,
        producer_id: int = 0,  # 0+
        producer_epoch: int = 0,  # 0+
        transaction_result: bool = False,  # 0+
        topics: list[WritableTxnMarkerTopic] = EMPTY,  # 0+
        coordinator_epoch: int = 0,  # 0+
        transaction_version: int = 0,  # 2+, ignorable
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.transaction_result = transaction_result
        self.topics = [] if topics is EMPTY else topics
        self.coordinator_epoch = coordinator_epoch
        self.transaction_version = transaction_version


class WriteTxnMarkersRequest(Message):
    API_KEY = 27
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 1
    __slots__ = ("markers",)

    def __init__(
        self,
        markers: list[WritableTxnMarker] = EMPTY,  # 0+
    ) -> None:
        self.markers = [] if markers is EMPTY else markers


def _read_writable_txn_marker_topic_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[WritableTxnMarkerTopic, int]:
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
        at = "partition_indexes"
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
        partition_indexes: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("WriteTxnMarkersRequest.WritableTxnMarkerTopic", at, pos, error) from None
    return WritableTxnMarkerTopic(name, partition_indexes), pos


def _write_writable_txn_marker_topic_v1(w: Append, x: WritableTxnMarkerTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    partition_indexes = x.partition_indexes
    count = len(partition_indexes) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(partition_indexes)](*partition_indexes) if len(partition_indexes) < 8 else pack(f">{len(partition_indexes)}i", *partition_indexes))
    w(b"\0")


def _read_writable_txn_marker_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[WritableTxnMarker, int]:
    at = "producer_id"
    try:
        producer_id, producer_epoch, transaction_result, count = _unpack_qhTB(data, pos)
        pos += 12
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
        topics: list[WritableTxnMarkerTopic] = []
        for _ in range(count):
            topics_item, pos = _read_writable_txn_marker_topic_v1(data, pos, size, limit)
            topics.append(topics_item)
        at = "coordinator_epoch"
        coordinator_epoch, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("WriteTxnMarkersRequest.WritableTxnMarker", at, pos, error) from None
    return WritableTxnMarker(producer_id, producer_epoch, transaction_result, topics, coordinator_epoch, 0), pos


def _write_writable_txn_marker_v1(w: Append, x: WritableTxnMarker) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(_pack_qhTB(x.producer_id, x.producer_epoch, x.transaction_result, count) if count < 128 else _pack_qhT(x.producer_id, x.producer_epoch, x.transaction_result) + uvarint(count))
    for topics_item in topics:
        _write_writable_txn_marker_topic_v1(w, topics_item)
    w(_pack_ix(x.coordinator_epoch))


def _read_writable_txn_marker_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[WritableTxnMarker, int]:
    at = "producer_id"
    try:
        producer_id, producer_epoch, transaction_result, count = _unpack_qhTB(data, pos)
        pos += 12
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
        topics: list[WritableTxnMarkerTopic] = []
        for _ in range(count):
            topics_item, pos = _read_writable_txn_marker_topic_v1(data, pos, size, limit)
            topics.append(topics_item)
        at = "coordinator_epoch"
        coordinator_epoch, transaction_version, tags = _unpack_ibB(data, pos)
        pos += 6
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("WriteTxnMarkersRequest.WritableTxnMarker", at, pos, error) from None
    return WritableTxnMarker(producer_id, producer_epoch, transaction_result, topics, coordinator_epoch, transaction_version), pos


def _write_writable_txn_marker_v2(w: Append, x: WritableTxnMarker) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(_pack_qhTB(x.producer_id, x.producer_epoch, x.transaction_result, count) if count < 128 else _pack_qhT(x.producer_id, x.producer_epoch, x.transaction_result) + uvarint(count))
    for topics_item in topics:
        _write_writable_txn_marker_topic_v1(w, topics_item)
    w(_pack_ibx(x.coordinator_epoch, x.transaction_version))


def _read_write_txn_markers_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[WriteTxnMarkersRequest, int]:
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
        if limit is not None:
            limit.take(count)
        markers: list[WritableTxnMarker] = []
        for _ in range(count):
            markers_item, pos = _read_writable_txn_marker_v1(data, pos, size, limit)
            markers.append(markers_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("WriteTxnMarkersRequest", at, pos, error) from None
    return WriteTxnMarkersRequest(markers), pos


def _write_write_txn_markers_request_v1(w: Append, x: WriteTxnMarkersRequest) -> None:
    markers = x.markers
    count = len(markers) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for markers_item in markers:
        _write_writable_txn_marker_v1(w, markers_item)
    w(b"\0")


def _read_write_txn_markers_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[WriteTxnMarkersRequest, int]:
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
        if limit is not None:
            limit.take(count)
        markers: list[WritableTxnMarker] = []
        for _ in range(count):
            markers_item, pos = _read_writable_txn_marker_v2(data, pos, size, limit)
            markers.append(markers_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("WriteTxnMarkersRequest", at, pos, error) from None
    return WriteTxnMarkersRequest(markers), pos


def _write_write_txn_markers_request_v2(w: Append, x: WriteTxnMarkersRequest) -> None:
    markers = x.markers
    count = len(markers) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for markers_item in markers:
        _write_writable_txn_marker_v2(w, markers_item)
    w(b"\0")
WriteTxnMarkersRequest._READERS = {
    1: _read_write_txn_markers_request_v1,
    2: _read_write_txn_markers_request_v2,
}
WriteTxnMarkersRequest._WRITERS = {
    1: _write_write_txn_markers_request_v1,
    2: _write_write_txn_markers_request_v2,
}
