# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, ZERO_UUID, Append, ElementLimit, Message, Struct, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_U = _Struct(">16s").pack
_pack_UB = _Struct(">16sB").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_iiiiii = _Struct(">iiiiii").pack
_pack_iiiiiiB = _Struct(">iiiiiiB").pack
_pack_iiiiiibT = _Struct(">iiiiiib?").pack
_pack_iiiiiibTB = _Struct(">iiiiiib?B").pack
_pack_qq = _Struct(">qq").pack
_pack_qqB = _Struct(">qqB").pack
_unpack_UB = _Struct(">16sB").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_iiiiiiB = _Struct(">iiiiiiB").unpack_from
_unpack_iiiiiibTB = _Struct(">iiiiiib?B").unpack_from
_unpack_qqB = _Struct(">qqB").unpack_from


class AcknowledgementBatch(Struct):
    __slots__ = ("first_offset", "last_offset", "acknowledge_types")

    def __init__(
        self,
        first_offset: int = 0,  # 0+
        last_offset: int = 0,  # 0+
        acknowledge_types: list[int] = EMPTY,  # 0+
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.acknowledge_types = [] if acknowledge_types is EMPTY else acknowledge_types


class ForgottenTopic(Struct):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,  # 0+
        partitions: list[int] = EMPTY,  # 0+
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class FetchPartition(Struct):
    __slots__ = ("partition_index", "partition_max_bytes", "acknowledgement_batches")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        partition_max_bytes: int = 0,  # 0
        acknowledgement_batches: list[AcknowledgementBatch] = EMPTY,  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.partition_max_bytes = partition_max_bytes
        self.acknowledgement_batches = [] if acknowledgement_batches is EMPTY else acknowledgement_batches


class FetchTopic(Struct):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,  # 0+
        partitions: list[FetchPartition] = EMPTY,  # 0+
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class ShareFetchRequest(Message):
    API_KEY = 78
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    __slots__ = ("group_id", "member_id", "share_session_epoch", "max_wait_ms", "min_bytes", "max_bytes", "max_records", "batch_size", "share_acquire_mode", "is_renew_ack", "topics", "forgotten_topics_data")

    def __init__(
        self,
        group_id: str | None = None,  # 0+
        member_id: str | None = "",  # 0+
        share_session_epoch: int = 0,  # 0+
        max_wait_ms: int = 0,  # 0+
        min_bytes: int = 0,  # 0+
        max_bytes: int = 2147483647,  # 0+
        max_records: int = 0,  # 1+
        batch_size: int = 0,  # 1+
        share_acquire_mode: int = 0,  # 2+, ignorable
        is_renew_ack: bool = False,  # 2+
        topics: list[FetchTopic] = EMPTY,  # 0+
        forgotten_topics_data: list[ForgottenTopic] = EMPTY,  # 0+
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.share_session_epoch = share_session_epoch
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.max_records = max_records
        self.batch_size = batch_size
        self.share_acquire_mode = share_acquire_mode
        self.is_renew_ack = is_renew_ack
        self.topics = [] if topics is EMPTY else topics
        self.forgotten_topics_data = [] if forgotten_topics_data is EMPTY else forgotten_topics_data


def _read_acknowledgement_batch_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AcknowledgementBatch, int]:
    at = "first_offset"
    try:
        first_offset, last_offset, count = _unpack_qqB(data, pos)
        pos += 17
        at = "acknowledge_types"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count
        if end > size:
            raise overrun(count * 1, size - pos)
        if limit is not None:
            limit.take(count)
        acknowledge_types: list[int] = list(unpack_from(f">{count}b", data, pos))
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareFetchRequest.AcknowledgementBatch", at, pos, error) from None
    return AcknowledgementBatch(first_offset, last_offset, acknowledge_types), pos


def _write_acknowledgement_batch_v1(w: Append, x: AcknowledgementBatch) -> None:
    acknowledge_types = x.acknowledge_types
    count = len(acknowledge_types) + 1
    w(_pack_qqB(x.first_offset, x.last_offset, count) if count < 128 else _pack_qq(x.first_offset, x.last_offset) + uvarint(count))
    w(pack(f">{len(acknowledge_types)}b", *acknowledge_types))
    w(b"\0")


def _read_forgotten_topic_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ForgottenTopic, int]:
    at = "topic_id"
    try:
        topic_id, count = _unpack_UB(data, pos)
        pos += 17
        at = "partitions"
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
        raise malformed("ShareFetchRequest.ForgottenTopic", at, pos, error) from None
    return ForgottenTopic(topic_id, partitions), pos


def _write_forgotten_topic_v1(w: Append, x: ForgottenTopic) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("ShareFetchRequest", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))
    w(b"\0")


def _read_fetch_partition_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[FetchPartition, int]:
    at = "partition_index"
    try:
        partition_index, count = _unpack_iB(data, pos)
        pos += 5
        at = "acknowledgement_batches"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        acknowledgement_batches: list[AcknowledgementBatch] = []
        for _ in range(count):
            acknowledgement_batches_item, pos = _read_acknowledgement_batch_v1(data, pos, size, limit)
            acknowledgement_batches.append(acknowledgement_batches_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareFetchRequest.FetchPartition", at, pos, error) from None
    return FetchPartition(partition_index, 0, acknowledgement_batches), pos


def _write_fetch_partition_v1(w: Append, x: FetchPartition) -> None:
    if x.partition_max_bytes != 0:
        raise unsupported_field("ShareFetchRequest.FetchPartition", "partition_max_bytes", "1-2")
    acknowledgement_batches = x.acknowledgement_batches
    count = len(acknowledgement_batches) + 1
    w(_pack_iB(x.partition_index, count) if count < 128 else _pack_i(x.partition_index) + uvarint(count))
    for acknowledgement_batches_item in acknowledgement_batches:
        _write_acknowledgement_batch_v1(w, acknowledgement_batches_item)
    w(b"\0")


def _read_fetch_topic_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[FetchTopic, int]:
    at = "topic_id"
    try:
        topic_id, count = _unpack_UB(data, pos)
        pos += 17
        at = "partitions"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        partitions: list[FetchPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_fetch_partition_v1(data, pos, size, limit)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareFetchRequest.FetchTopic", at, pos, error) from None
    return FetchTopic(topic_id, partitions), pos


def _write_fetch_topic_v1(w: Append, x: FetchTopic) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("ShareFetchRequest", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    for partitions_item in partitions:
        _write_fetch_partition_v1(w, partitions_item)
    w(b"\0")


def _read_share_fetch_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ShareFetchRequest, int]:
    at = "group_id"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        group_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            group_id = data[pos:end].decode()
            pos = end
        at = "member_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        member_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            member_id = data[pos:end].decode()
            pos = end
        at = "share_session_epoch"
        share_session_epoch, max_wait_ms, min_bytes, max_bytes, max_records, batch_size, count = _unpack_iiiiiiB(data, pos)
        pos += 25
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
        topics: list[FetchTopic] = []
        for _ in range(count):
            topics_item, pos = _read_fetch_topic_v1(data, pos, size, limit)
            topics.append(topics_item)
        at = "forgotten_topics_data"
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
        forgotten_topics_data: list[ForgottenTopic] = []
        for _ in range(count):
            forgotten_topics_data_item, pos = _read_forgotten_topic_v1(data, pos, size, limit)
            forgotten_topics_data.append(forgotten_topics_data_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareFetchRequest", at, pos, error) from None
    return ShareFetchRequest(group_id, member_id, share_session_epoch, max_wait_ms, min_bytes, max_bytes, max_records, batch_size, 0, False, topics, forgotten_topics_data), pos


def _write_share_fetch_request_v1(w: Append, x: ShareFetchRequest) -> None:
    if x.is_renew_ack:
        raise unsupported_field("ShareFetchRequest", "is_renew_ack", "1")
    group_id = x.group_id
    if group_id is None:
        w(b"\0")
    else:
        group_id_bytes = group_id.encode()
        count = len(group_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(group_id_bytes)
    member_id = x.member_id
    if member_id is None:
        w(b"\0")
    else:
        member_id_bytes = member_id.encode()
        count = len(member_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(member_id_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iiiiiiB(x.share_session_epoch, x.max_wait_ms, x.min_bytes, x.max_bytes, x.max_records, x.batch_size, count) if count < 128 else _pack_iiiiii(x.share_session_epoch, x.max_wait_ms, x.min_bytes, x.max_bytes, x.max_records, x.batch_size) + uvarint(count))
    for topics_item in topics:
        _write_fetch_topic_v1(w, topics_item)
    forgotten_topics_data = x.forgotten_topics_data
    count = len(forgotten_topics_data) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for forgotten_topics_data_item in forgotten_topics_data:
        _write_forgotten_topic_v1(w, forgotten_topics_data_item)
    w(b"\0")


def _read_share_fetch_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ShareFetchRequest, int]:
    at = "group_id"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        group_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            group_id = data[pos:end].decode()
            pos = end
        at = "member_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        member_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            member_id = data[pos:end].decode()
            pos = end
        at = "share_session_epoch"
        share_session_epoch, max_wait_ms, min_bytes, max_bytes, max_records, batch_size, share_acquire_mode, is_renew_ack, count = _unpack_iiiiiibTB(data, pos)
        pos += 27
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
        topics: list[FetchTopic] = []
        for _ in range(count):
            topics_item, pos = _read_fetch_topic_v1(data, pos, size, limit)
            topics.append(topics_item)
        at = "forgotten_topics_data"
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
        forgotten_topics_data: list[ForgottenTopic] = []
        for _ in range(count):
            forgotten_topics_data_item, pos = _read_forgotten_topic_v1(data, pos, size, limit)
            forgotten_topics_data.append(forgotten_topics_data_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareFetchRequest", at, pos, error) from None
    return ShareFetchRequest(group_id, member_id, share_session_epoch, max_wait_ms, min_bytes, max_bytes, max_records, batch_size, share_acquire_mode, is_renew_ack, topics, forgotten_topics_data), pos


def _write_share_fetch_request_v2(w: Append, x: ShareFetchRequest) -> None:
    group_id = x.group_id
    if group_id is None:
        w(b"\0")
    else:
        group_id_bytes = group_id.encode()
        count = len(group_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(group_id_bytes)
    member_id = x.member_id
    if member_id is None:
        w(b"\0")
    else:
        member_id_bytes = member_id.encode()
        count = len(member_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(member_id_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iiiiiibTB(x.share_session_epoch, x.max_wait_ms, x.min_bytes, x.max_bytes, x.max_records, x.batch_size, x.share_acquire_mode, x.is_renew_ack, count) if count < 128 else _pack_iiiiiibT(x.share_session_epoch, x.max_wait_ms, x.min_bytes, x.max_bytes, x.max_records, x.batch_size, x.share_acquire_mode, x.is_renew_ack) + uvarint(count))
    for topics_item in topics:
        _write_fetch_topic_v1(w, topics_item)
    forgotten_topics_data = x.forgotten_topics_data
    count = len(forgotten_topics_data) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for forgotten_topics_data_item in forgotten_topics_data:
        _write_forgotten_topic_v1(w, forgotten_topics_data_item)
    w(b"\0")
ShareFetchRequest._READERS = {
    1: _read_share_fetch_request_v1,
    2: _read_share_fetch_request_v2,
}
ShareFetchRequest._WRITERS = {
    1: _write_share_fetch_request_v1,
    2: _write_share_fetch_request_v2,
}
