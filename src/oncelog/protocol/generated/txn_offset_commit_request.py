# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, ZERO_UUID, Append, ElementLimit, Message, Struct, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_U = _Struct(">16s").pack
_pack_UB = _Struct(">16sB").pack
_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_iqh = _Struct(">iqh").pack
_pack_iqi = _Struct(">iqi").pack
_pack_iqih = _Struct(">iqih").pack
_pack_qhi = _Struct(">qhi").pack
_pack_qhiB = _Struct(">qhiB").pack
_unpack_UB = _Struct(">16sB").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iqh = _Struct(">iqh").unpack_from
_unpack_iqiB = _Struct(">iqiB").unpack_from
_unpack_iqih = _Struct(">iqih").unpack_from
_unpack_qhi = _Struct(">qhi").unpack_from
_unpack_qhiB = _Struct(">qhiB").unpack_from


class TxnOffsetCommitRequestPartition(Struct):
    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "committed_metadata")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        committed_offset: int = 0,  # 0+
        committed_leader_epoch: int = -1,  # 2+, ignorable
        committed_metadata: str | None = "",  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.committed_metadata = committed_metadata


class TxnOffsetCommitRequestTopic(Struct):
    __slots__ = ("name", "topic_id", "partitions")

    def __init__(
        self,
        name: str = "",  # 0-5, ignorable
        topic_id: Uuid = ZERO_UUID,  # 6+, ignorable
        partitions: list[TxnOffsetCommitRequestPartition] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class TxnOffsetCommitRequest(Message):
    API_KEY = 28
    MIN_VERSION = 0
    MAX_VERSION = 6
    FLEXIBLE_FROM = 3
    __slots__ = ("transactional_id", "group_id", "producer_id", "producer_epoch", "generation_id_or_member_epoch", "member_id", "group_instance_id", "topics")

    def __init__(
        self,
        transactional_id: str = "",  # 0+
        group_id: str = "",  # 0+
        producer_id: int = 0,  # 0+
        producer_epoch: int = 0,  # 0+
        generation_id_or_member_epoch: int = -1,  # 3+
        member_id: str = "",  # 3+
        group_instance_id: str | None = None,  # 3+
        topics: list[TxnOffsetCommitRequestTopic] = EMPTY,  # 0+
    ) -> None:
        self.transactional_id = transactional_id
        self.group_id = group_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.generation_id_or_member_epoch = generation_id_or_member_epoch
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.topics = [] if topics is EMPTY else topics


def _read_txn_offset_commit_request_partition_v0(data: bytes, pos: int, size: int) -> tuple[TxnOffsetCommitRequestPartition, int]:
    at = "partition_index"
    try:
        partition_index, committed_offset, count = _unpack_iqh(data, pos)
        pos += 14
        at = "committed_metadata"
        committed_metadata: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            committed_metadata = data[pos:end].decode()
            pos = end
    except READ_ERRORS as error:
        raise malformed("TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition", at, pos, error) from None
    return TxnOffsetCommitRequestPartition(partition_index, committed_offset, -1, committed_metadata), pos


def _write_txn_offset_commit_request_partition_v0(w: Append, x: TxnOffsetCommitRequestPartition) -> None:
    committed_metadata = x.committed_metadata
    committed_metadata_bytes = b"" if committed_metadata is None else committed_metadata.encode()
    w(_pack_iqh(x.partition_index, x.committed_offset, -1 if committed_metadata is None else len(committed_metadata_bytes)))
    w(committed_metadata_bytes)


def _read_txn_offset_commit_request_partition_v2(data: bytes, pos: int, size: int) -> tuple[TxnOffsetCommitRequestPartition, int]:
    at = "partition_index"
    try:
        partition_index, committed_offset, committed_leader_epoch, count = _unpack_iqih(data, pos)
        pos += 18
        at = "committed_metadata"
        committed_metadata: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            committed_metadata = data[pos:end].decode()
            pos = end
    except READ_ERRORS as error:
        raise malformed("TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition", at, pos, error) from None
    return TxnOffsetCommitRequestPartition(partition_index, committed_offset, committed_leader_epoch, committed_metadata), pos


def _write_txn_offset_commit_request_partition_v2(w: Append, x: TxnOffsetCommitRequestPartition) -> None:
    committed_metadata = x.committed_metadata
    committed_metadata_bytes = b"" if committed_metadata is None else committed_metadata.encode()
    w(_pack_iqih(x.partition_index, x.committed_offset, x.committed_leader_epoch, -1 if committed_metadata is None else len(committed_metadata_bytes)))
    w(committed_metadata_bytes)


def _read_txn_offset_commit_request_partition_v3(data: bytes, pos: int, size: int) -> tuple[TxnOffsetCommitRequestPartition, int]:
    at = "partition_index"
    try:
        partition_index, committed_offset, committed_leader_epoch, count = _unpack_iqiB(data, pos)
        pos += 17
        at = "committed_metadata"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        committed_metadata: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            committed_metadata = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition", at, pos, error) from None
    return TxnOffsetCommitRequestPartition(partition_index, committed_offset, committed_leader_epoch, committed_metadata), pos


def _write_txn_offset_commit_request_partition_v3(w: Append, x: TxnOffsetCommitRequestPartition) -> None:
    committed_metadata = x.committed_metadata
    w(_pack_iqi(x.partition_index, x.committed_offset, x.committed_leader_epoch))
    if committed_metadata is None:
        w(b"\0")
    else:
        committed_metadata_bytes = committed_metadata.encode()
        count = len(committed_metadata_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(committed_metadata_bytes)
    w(b"\0")


def _read_txn_offset_commit_request_topic_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[TxnOffsetCommitRequestTopic, int]:
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
        partitions: list[TxnOffsetCommitRequestPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_txn_offset_commit_request_partition_v0(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic", at, pos, error) from None
    return TxnOffsetCommitRequestTopic(name, ZERO_UUID, partitions), pos


def _write_txn_offset_commit_request_topic_v0(w: Append, x: TxnOffsetCommitRequestTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_txn_offset_commit_request_partition_v0(w, partitions_item)


def _read_txn_offset_commit_request_topic_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[TxnOffsetCommitRequestTopic, int]:
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
        partitions: list[TxnOffsetCommitRequestPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_txn_offset_commit_request_partition_v2(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic", at, pos, error) from None
    return TxnOffsetCommitRequestTopic(name, ZERO_UUID, partitions), pos


def _write_txn_offset_commit_request_topic_v2(w: Append, x: TxnOffsetCommitRequestTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_txn_offset_commit_request_partition_v2(w, partitions_item)


def _read_txn_offset_commit_request_topic_v3(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[TxnOffsetCommitRequestTopic, int]:
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
        partitions: list[TxnOffsetCommitRequestPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_txn_offset_commit_request_partition_v3(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic", at, pos, error) from None
    return TxnOffsetCommitRequestTopic(name, ZERO_UUID, partitions), pos


def _write_txn_offset_commit_request_topic_v3(w: Append, x: TxnOffsetCommitRequestTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_txn_offset_commit_request_partition_v3(w, partitions_item)
    w(b"\0")


def _read_txn_offset_commit_request_topic_v6(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[TxnOffsetCommitRequestTopic, int]:
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
        partitions: list[TxnOffsetCommitRequestPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_txn_offset_commit_request_partition_v3(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic", at, pos, error) from None
    return TxnOffsetCommitRequestTopic("", topic_id, partitions), pos


def _write_txn_offset_commit_request_topic_v6(w: Append, x: TxnOffsetCommitRequestTopic) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("TxnOffsetCommitRequest", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    for partitions_item in partitions:
        _write_txn_offset_commit_request_partition_v3(w, partitions_item)
    w(b"\0")


def _read_txn_offset_commit_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[TxnOffsetCommitRequest, int]:
    at = "transactional_id"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        transactional_id = data[pos:end].decode()
        pos = end
        at = "group_id"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        group_id = data[pos:end].decode()
        pos = end
        at = "producer_id"
        producer_id, producer_epoch, count = _unpack_qhi(data, pos)
        pos += 14
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[TxnOffsetCommitRequestTopic] = []
        for _ in range(count):
            topics_item, pos = _read_txn_offset_commit_request_topic_v0(data, pos, size, limit)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("TxnOffsetCommitRequest", at, pos, error) from None
    return TxnOffsetCommitRequest(transactional_id, group_id, producer_id, producer_epoch, -1, "", None, topics), pos


def _write_txn_offset_commit_request_v0(w: Append, x: TxnOffsetCommitRequest) -> None:
    if x.generation_id_or_member_epoch != -1:
        raise unsupported_field("TxnOffsetCommitRequest", "generation_id_or_member_epoch", "0-1")
    if x.member_id != "":
        raise unsupported_field("TxnOffsetCommitRequest", "member_id", "0-1")
    if x.group_instance_id is not None:
        raise unsupported_field("TxnOffsetCommitRequest", "group_instance_id", "0-1")
    transactional_id = x.transactional_id
    transactional_id_bytes = transactional_id.encode()
    w(_pack_h(len(transactional_id_bytes)))
    w(transactional_id_bytes)
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_h(len(group_id_bytes)))
    w(group_id_bytes)
    topics = x.topics
    w(_pack_qhi(x.producer_id, x.producer_epoch, len(topics)))
    for topics_item in topics:
        _write_txn_offset_commit_request_topic_v0(w, topics_item)


def _read_txn_offset_commit_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[TxnOffsetCommitRequest, int]:
    at = "transactional_id"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        transactional_id = data[pos:end].decode()
        pos = end
        at = "group_id"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        group_id = data[pos:end].decode()
        pos = end
        at = "producer_id"
        producer_id, producer_epoch, count = _unpack_qhi(data, pos)
        pos += 14
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[TxnOffsetCommitRequestTopic] = []
        for _ in range(count):
            topics_item, pos = _read_txn_offset_commit_request_topic_v2(data, pos, size, limit)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("TxnOffsetCommitRequest", at, pos, error) from None
    return TxnOffsetCommitRequest(transactional_id, group_id, producer_id, producer_epoch, -1, "", None, topics), pos


def _write_txn_offset_commit_request_v2(w: Append, x: TxnOffsetCommitRequest) -> None:
    if x.generation_id_or_member_epoch != -1:
        raise unsupported_field("TxnOffsetCommitRequest", "generation_id_or_member_epoch", "2")
    if x.member_id != "":
        raise unsupported_field("TxnOffsetCommitRequest", "member_id", "2")
    if x.group_instance_id is not None:
        raise unsupported_field("TxnOffsetCommitRequest", "group_instance_id", "2")
    transactional_id = x.transactional_id
    transactional_id_bytes = transactional_id.encode()
    w(_pack_h(len(transactional_id_bytes)))
    w(transactional_id_bytes)
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_h(len(group_id_bytes)))
    w(group_id_bytes)
    topics = x.topics
    w(_pack_qhi(x.producer_id, x.producer_epoch, len(topics)))
    for topics_item in topics:
        _write_txn_offset_commit_request_topic_v2(w, topics_item)


def _read_txn_offset_commit_request_v3(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[TxnOffsetCommitRequest, int]:
    at = "transactional_id"
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
        transactional_id = data[pos:end].decode()
        pos = end
        at = "group_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        group_id = data[pos:end].decode()
        pos = end
        at = "producer_id"
        producer_id, producer_epoch, generation_id_or_member_epoch, count = _unpack_qhiB(data, pos)
        pos += 15
        at = "member_id"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        member_id = data[pos:end].decode()
        pos = end
        at = "group_instance_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        group_instance_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            group_instance_id = data[pos:end].decode()
            pos = end
        at = "topics"
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
        topics: list[TxnOffsetCommitRequestTopic] = []
        for _ in range(count):
            topics_item, pos = _read_txn_offset_commit_request_topic_v3(data, pos, size, limit)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("TxnOffsetCommitRequest", at, pos, error) from None
    return TxnOffsetCommitRequest(transactional_id, group_id, producer_id, producer_epoch, generation_id_or_member_epoch, member_id, group_instance_id, topics), pos


def _write_txn_offset_commit_request_v3(w: Append, x: TxnOffsetCommitRequest) -> None:
    transactional_id = x.transactional_id
    transactional_id_bytes = transactional_id.encode()
    count = len(transactional_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(transactional_id_bytes)
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    count = len(member_id_bytes) + 1
    w(_pack_qhiB(x.producer_id, x.producer_epoch, x.generation_id_or_member_epoch, count) if count < 128 else _pack_qhi(x.producer_id, x.producer_epoch, x.generation_id_or_member_epoch) + string_length(count))
    w(member_id_bytes)
    group_instance_id = x.group_instance_id
    if group_instance_id is None:
        w(b"\0")
    else:
        group_instance_id_bytes = group_instance_id.encode()
        count = len(group_instance_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(group_instance_id_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        _write_txn_offset_commit_request_topic_v3(w, topics_item)
    w(b"\0")


def _read_txn_offset_commit_request_v6(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[TxnOffsetCommitRequest, int]:
    at = "transactional_id"
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
        transactional_id = data[pos:end].decode()
        pos = end
        at = "group_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        group_id = data[pos:end].decode()
        pos = end
        at = "producer_id"
        producer_id, producer_epoch, generation_id_or_member_epoch, count = _unpack_qhiB(data, pos)
        pos += 15
        at = "member_id"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        member_id = data[pos:end].decode()
        pos = end
        at = "group_instance_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        group_instance_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            group_instance_id = data[pos:end].decode()
            pos = end
        at = "topics"
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
        topics: list[TxnOffsetCommitRequestTopic] = []
        for _ in range(count):
            topics_item, pos = _read_txn_offset_commit_request_topic_v6(data, pos, size, limit)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("TxnOffsetCommitRequest", at, pos, error) from None
    return TxnOffsetCommitRequest(transactional_id, group_id, producer_id, producer_epoch, generation_id_or_member_epoch, member_id, group_instance_id, topics), pos


def _write_txn_offset_commit_request_v6(w: Append, x: TxnOffsetCommitRequest) -> None:
    transactional_id = x.transactional_id
    transactional_id_bytes = transactional_id.encode()
    count = len(transactional_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(transactional_id_bytes)
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    count = len(member_id_bytes) + 1
    w(_pack_qhiB(x.producer_id, x.producer_epoch, x.generation_id_or_member_epoch, count) if count < 128 else _pack_qhi(x.producer_id, x.producer_epoch, x.generation_id_or_member_epoch) + string_length(count))
    w(member_id_bytes)
    group_instance_id = x.group_instance_id
    if group_instance_id is None:
        w(b"\0")
    else:
        group_instance_id_bytes = group_instance_id.encode()
        count = len(group_instance_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(group_instance_id_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        _write_txn_offset_commit_request_topic_v6(w, topics_item)
    w(b"\0")
TxnOffsetCommitRequest._READERS = {
    0: _read_txn_offset_commit_request_v0,
    1: _read_txn_offset_commit_request_v0,
    2: _read_txn_offset_commit_request_v2,
    3: _read_txn_offset_commit_request_v3,
    4: _read_txn_offset_commit_request_v3,
    5: _read_txn_offset_commit_request_v3,
    6: _read_txn_offset_commit_request_v6,
}
TxnOffsetCommitRequest._WRITERS = {
    0: _write_txn_offset_commit_request_v0,
    1: _write_txn_offset_commit_request_v0,
    2: _write_txn_offset_commit_request_v2,
    3: _write_txn_offset_commit_request_v3,
    4: _write_txn_offset_commit_request_v3,
    5: _write_txn_offset_commit_request_v3,
    6: _write_txn_offset_commit_request_v6,
}
