# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, ZERO_UUID, Append, ElementLimit, Message, Struct, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_U = _Struct(">16s").pack
_pack_UB = _Struct(">16sB").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_iT = _Struct(">i?").pack
_pack_iTB = _Struct(">i?B").pack
_pack_qq = _Struct(">qq").pack
_pack_qqB = _Struct(">qqB").pack
_unpack_UB = _Struct(">16sB").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_iTB = _Struct(">i?B").unpack_from
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


class AcknowledgePartition(Struct):
    __slots__ = ("partition_index", "acknowledgement_batches")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        acknowledgement_batches: list[AcknowledgementBatch] = EMPTY,  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.acknowledgement_batches = [] if acknowledgement_batches is EMPTY else acknowledgement_batches


class AcknowledgeTopic(Struct):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,  # 0+
        partitions: list[AcknowledgePartition] = EMPTY,  # 0+
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class ShareAcknowledgeRequest(Message):
    API_KEY = 79
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    __slots__ = ("group_id", "member_id", "share_session_epoch", "is_renew_ack", "topics")

    def __init__(
        self,
        group_id: str | None = None,  # 0+
        member_id: str | None = "",  # 0+
        share_session_epoch: int = 0,  # 0+
        is_renew_ack: bool = False,  # 2+
        topics: list[AcknowledgeTopic] = EMPTY,  # 0+
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.share_session_epoch = share_session_epoch
        self.is_renew_ack = is_renew_ack
        self.topics = [] if topics is EMPTY else topics


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
        raise malformed("ShareAcknowledgeRequest.AcknowledgementBatch", at, pos, error) from None
    return AcknowledgementBatch(first_offset, last_offset, acknowledge_types), pos


def _write_acknowledgement_batch_v1(w: Append, x: AcknowledgementBatch) -> None:
    acknowledge_types = x.acknowledge_types
    count = len(acknowledge_types) + 1
    w(_pack_qqB(x.first_offset, x.last_offset, count) if count < 128 else _pack_qq(x.first_offset, x.last_offset) + uvarint(count))
    w(pack(f">{len(acknowledge_types)}b", *acknowledge_types))
    w(b"\0")


def _read_acknowledge_partition_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AcknowledgePartition, int]:
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
        raise malformed("ShareAcknowledgeRequest.AcknowledgePartition", at, pos, error) from None
    return AcknowledgePartition(partition_index, acknowledgement_batches), pos


def _write_acknowledge_partition_v1(w: Append, x: AcknowledgePartition) -> None:
    acknowledgement_batches = x.acknowledgement_batches
    count = len(acknowledgement_batches) + 1
    w(_pack_iB(x.partition_index, count) if count < 128 else _pack_i(x.partition_index) + uvarint(count))
    for acknowledgement_batches_item in acknowledgement_batches:
        _write_acknowledgement_batch_v1(w, acknowledgement_batches_item)
    w(b"\0")


def _read_acknowledge_topic_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AcknowledgeTopic, int]:
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
        partitions: list[AcknowledgePartition] = []
        for _ in range(count):
            partitions_item, pos = _read_acknowledge_partition_v1(data, pos, size, limit)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareAcknowledgeRequest.AcknowledgeTopic", at, pos, error) from None
    return AcknowledgeTopic(topic_id, partitions), pos


def _write_acknowledge_topic_v1(w: Append, x: AcknowledgeTopic) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("ShareAcknowledgeRequest", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    for partitions_item in partitions:
        _write_acknowledge_partition_v1(w, partitions_item)
    w(b"\0")


def _read_share_acknowledge_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ShareAcknowledgeRequest, int]:
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
        share_session_epoch, count = _unpack_iB(data, pos)
        pos += 5
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
        topics: list[AcknowledgeTopic] = []
        for _ in range(count):
            topics_item, pos = _read_acknowledge_topic_v1(data, pos, size, limit)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareAcknowledgeRequest", at, pos, error) from None
    return ShareAcknowledgeRequest(group_id, member_id, share_session_epoch, False, topics), pos


def _write_share_acknowledge_request_v1(w: Append, x: ShareAcknowledgeRequest) -> None:
    if x.is_renew_ack:
        raise unsupported_field("ShareAcknowledgeRequest", "is_renew_ack", "1")
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
    w(_pack_iB(x.share_session_epoch, count) if count < 128 else _pack_i(x.share_session_epoch) + uvarint(count))
    for topics_item in topics:
        _write_acknowledge_topic_v1(w, topics_item)
    w(b"\0")


def _read_share_acknowledge_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ShareAcknowledgeRequest, int]:
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
        share_session_epoch, is_renew_ack, count = _unpack_iTB(data, pos)
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
        topics: list[AcknowledgeTopic] = []
        for _ in range(count):
            topics_item, pos = _read_acknowledge_topic_v1(data, pos, size, limit)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareAcknowledgeRequest", at, pos, error) from None
    return ShareAcknowledgeRequest(group_id, member_id, share_session_epoch, is_renew_ack, topics), pos


def _write_share_acknowledge_request_v2(w: Append, x: ShareAcknowledgeRequest) -> None:
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
    w(_pack_iTB(x.share_session_epoch, x.is_renew_ack, count) if count < 128 else _pack_iT(x.share_session_epoch, x.is_renew_ack) + uvarint(count))
    for topics_item in topics:
        _write_acknowledge_topic_v1(w, topics_item)
    w(b"\0")
ShareAcknowledgeRequest._READERS = {
    1: _read_share_acknowledge_request_v1,
    2: _read_share_acknowledge_request_v2,
}
ShareAcknowledgeRequest._WRITERS = {
    1: _write_share_acknowledge_request_v1,
    2: _write_share_acknowledge_request_v2,
}
