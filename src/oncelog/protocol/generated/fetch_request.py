# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, ZERO_UUID, Append, Buffer, ElementLimit, Message, Struct, Uuid, bad_uuid, malformed, many_tags, null_value, overrun, read_uvarint, skip_tags, string_length, string_length_tail, tag_size, unsupported_field, uvarint, uvarint_tail, write_tags

_pack_U = _Struct(">16s").pack
_pack_UB = _Struct(">16sB").pack
_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_iiibii = _Struct(">iiibii").pack
_pack_iiibiiB = _Struct(">iiibiiB").pack
_pack_iiiibi = _Struct(">iiiibi").pack
_pack_iiiibii = _Struct(">iiiibii").pack
_pack_iiiibiiB = _Struct(">iiiibiiB").pack
_pack_iiiibiii = _Struct(">iiiibiii").pack
_pack_iiqiqi = _Struct(">iiqiqi").pack
_pack_iiqiqix = _Struct(">iiqiqix").pack
_pack_iiqqi = _Struct(">iiqqi").pack
_pack_iqi = _Struct(">iqi").pack
_pack_iqqi = _Struct(">iqqi").pack
_pack_iqx = _Struct(">iqx").pack
_pack_q = _Struct(">q").pack
_unpack_U = _Struct(">16s").unpack_from
_unpack_UB = _Struct(">16sB").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iiibiiB = _Struct(">iiibiiB").unpack_from
_unpack_iiiibi = _Struct(">iiiibi").unpack_from
_unpack_iiiibiiB = _Struct(">iiiibiiB").unpack_from
_unpack_iiiibiii = _Struct(">iiiibiii").unpack_from
_unpack_iiqiqiB = _Struct(">iiqiqiB").unpack_from
_unpack_iiqqi = _Struct(">iiqqi").unpack_from
_unpack_iqB = _Struct(">iqB").unpack_from
_unpack_iqi = _Struct(">iqi").unpack_from
_unpack_iqqi = _Struct(">iqqi").unpack_from
_unpack_q = _Struct(">q").unpack_from


class FetchPartition(Struct):
    __slots__ = ("partition", "current_leader_epoch", "fetch_offset", "last_fetched_epoch", "log_start_offset", "partition_max_bytes", "replica_directory_id", "high_watermark")

    def __init__(
        self,
        partition: int = 0,  # 0+
        current_leader_epoch: int = -1,  # 9+, ignorable
        fetch_offset: int = 0,  # 0+
        last_fetched_epoch: int = -1,  # 12+
        log_start_offset: int = -1,  # 5+, ignorable
        partition_max_bytes: int = 0,  # 0+
        replica_directory_id: Uuid = ZERO_UUID,  # 17+, tag 0, ignorable
        high_watermark: int = 9223372036854775807,  # 18+, tag 1, ignorable
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.fetch_offset = fetch_offset
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        self.partition_max_bytes = partition_max_bytes
        self.replica_directory_id = replica_directory_id
        self.high_watermark = high_watermark


class ForgottenTopic(Struct):
    __slots__ = ("topic", "topic_id", "partitions")

    def __init__(
        self,
        topic: str = "",  # 7-12, ignorable
        topic_id: Uuid = ZERO_UUID,  # 13+, ignorable
        partitions: list[int] = EMPTY,  # 7+
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class ReplicaState(Struct):
    __slots__ = ("replica_id", "replica_epoch")

    def __init__(
        self,
        replica_id: int = -1,  # 15+
        replica_epoch: int = -1,  # 15+
    ) -> None:
        self.replica_id = replica_id
        self.replica_epoch = replica_epoch


class FetchTopic(Struct):
    __slots__ = ("topic", "topic_id", "partitions")

    def __init__(
        self,
        topic: str = "",  # 0-12, ignorable
        topic_id: Uuid = ZERO_UUID,  # 13+, ignorable
        partitions: list[FetchPartition] = EMPTY,  # 0+
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class FetchRequest(Message):
    API_KEY = 1
    MIN_VERSION = 4
    MAX_VERSION = 18
    FLEXIBLE_FROM = 12
    __slots__ = ("cluster_id", "replica_id", "replica_state", "max_wait_ms", "min_bytes", "max_bytes", "isolation_level", "session_id", "session_epoch", "topics", "forgotten_topics_data", "rack_id")

    def __init__(
        self,
        cluster_id: str | None = None,  # 12+, tag 0, ignorable
        replica_id: int = -1,  # 0-14
        replica_state: ReplicaState | None = None,  # 15+, tag 1
        max_wait_ms: int = 0,  # 0+
        min_bytes: int = 0,  # 0+
        max_bytes: int = 2147483647,  # 3+, ignorable
        isolation_level: int = 0,  # 4+, ignorable
        session_id: int = 0,  # 7+, ignorable
        session_epoch: int = -1,  # 7+, ignorable
        topics: list[FetchTopic] = EMPTY,  # 0+
        forgotten_topics_data: list[ForgottenTopic] = EMPTY,  # 7+
        rack_id: str = "",  # 11+, ignorable
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.replica_state = ReplicaState() if replica_state is None else replica_state
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation_level = isolation_level
        self.session_id = session_id
        self.session_epoch = session_epoch
        self.topics = [] if topics is EMPTY else topics
        self.forgotten_topics_data = [] if forgotten_topics_data is EMPTY else forgotten_topics_data
        self.rack_id = rack_id


def _read_fetch_partition_v4(data: bytes, pos: int, size: int) -> tuple[FetchPartition, int]:
    at = "partition"
    try:
        partition, fetch_offset, partition_max_bytes = _unpack_iqi(data, pos)
        pos += 16
    except READ_ERRORS as error:
        raise malformed("FetchRequest.FetchPartition", at, pos, error) from None
    return FetchPartition(partition, -1, fetch_offset, -1, -1, partition_max_bytes, ZERO_UUID, 9223372036854775807), pos


def _write_fetch_partition_v4(w: Append, x: FetchPartition) -> None:
    if x.last_fetched_epoch != -1:
        raise unsupported_field("FetchRequest.FetchPartition", "last_fetched_epoch", "4")
    w(_pack_iqi(x.partition, x.fetch_offset, x.partition_max_bytes))


def _read_fetch_partition_v5(data: bytes, pos: int, size: int) -> tuple[FetchPartition, int]:
    at = "partition"
    try:
        partition, fetch_offset, log_start_offset, partition_max_bytes = _unpack_iqqi(data, pos)
        pos += 24
    except READ_ERRORS as error:
        raise malformed("FetchRequest.FetchPartition", at, pos, error) from None
    return FetchPartition(partition, -1, fetch_offset, -1, log_start_offset, partition_max_bytes, ZERO_UUID, 9223372036854775807), pos


def _write_fetch_partition_v5(w: Append, x: FetchPartition) -> None:
    if x.last_fetched_epoch != -1:
        raise unsupported_field("FetchRequest.FetchPartition", "last_fetched_epoch", "5-8")
    w(_pack_iqqi(x.partition, x.fetch_offset, x.log_start_offset, x.partition_max_bytes))


def _read_forgotten_topic_v7(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ForgottenTopic, int]:
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
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        if limit is not None:
            limit.take(count)
        partitions: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
    except READ_ERRORS as error:
        raise malformed("FetchRequest.ForgottenTopic", at, pos, error) from None
    return ForgottenTopic(topic, ZERO_UUID, partitions), pos


def _write_forgotten_topic_v7(w: Append, x: ForgottenTopic) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    w(_pack_h(len(topic_bytes)))
    w(topic_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))


def _read_fetch_partition_v9(data: bytes, pos: int, size: int) -> tuple[FetchPartition, int]:
    at = "partition"
    try:
        partition, current_leader_epoch, fetch_offset, log_start_offset, partition_max_bytes = _unpack_iiqqi(data, pos)
        pos += 28
    except READ_ERRORS as error:
        raise malformed("FetchRequest.FetchPartition", at, pos, error) from None
    return FetchPartition(partition, current_leader_epoch, fetch_offset, -1, log_start_offset, partition_max_bytes, ZERO_UUID, 9223372036854775807), pos


def _write_fetch_partition_v9(w: Append, x: FetchPartition) -> None:
    if x.last_fetched_epoch != -1:
        raise unsupported_field("FetchRequest.FetchPartition", "last_fetched_epoch", "9-11")
    w(_pack_iiqqi(x.partition, x.current_leader_epoch, x.fetch_offset, x.log_start_offset, x.partition_max_bytes))


def _read_fetch_partition_v12(data: bytes, pos: int, size: int) -> tuple[FetchPartition, int]:
    at = "partition"
    try:
        partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes, tags = _unpack_iiqiqiB(data, pos)
        pos += 33
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("FetchRequest.FetchPartition", at, pos, error) from None
    return FetchPartition(partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes, ZERO_UUID, 9223372036854775807), pos


def _write_fetch_partition_v12(w: Append, x: FetchPartition) -> None:
    w(_pack_iiqiqix(x.partition, x.current_leader_epoch, x.fetch_offset, x.last_fetched_epoch, x.log_start_offset, x.partition_max_bytes))


def _read_forgotten_topic_v12(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ForgottenTopic, int]:
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
        raise malformed("FetchRequest.ForgottenTopic", at, pos, error) from None
    return ForgottenTopic(topic, ZERO_UUID, partitions), pos


def _write_forgotten_topic_v12(w: Append, x: ForgottenTopic) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    count = len(topic_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(topic_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))
    w(b"\0")


def _read_forgotten_topic_v13(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ForgottenTopic, int]:
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
        raise malformed("FetchRequest.ForgottenTopic", at, pos, error) from None
    return ForgottenTopic("", topic_id, partitions), pos


def _write_forgotten_topic_v13(w: Append, x: ForgottenTopic) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("FetchRequest", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))
    w(b"\0")


def _read_replica_state_v15(data: bytes, pos: int, size: int) -> tuple[ReplicaState, int]:
    at = "replica_id"
    try:
        replica_id, replica_epoch, tags = _unpack_iqB(data, pos)
        pos += 13
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("FetchRequest.ReplicaState", at, pos, error) from None
    return ReplicaState(replica_id, replica_epoch), pos


def _write_replica_state_v15(w: Append, x: ReplicaState) -> None:
    w(_pack_iqx(x.replica_id, x.replica_epoch))


def _read_fetch_partition_v17(data: bytes, pos: int, size: int) -> tuple[FetchPartition, int]:
    at = "partition"
    try:
        partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes, tags = _unpack_iiqiqiB(data, pos)
        pos += 33
        replica_directory_id: Uuid = ZERO_UUID
        if tags:
            at = "tagged fields"
            if tags > 127:
                tags, pos = many_tags(data, pos, tags)
            for _ in range(tags):
                at = "tagged fields"
                tag, pos = read_uvarint(data, pos)
                length, pos = read_uvarint(data, pos)
                tag_end = pos + length
                if tag_end > size:
                    raise overrun(length, size - pos)
                if tag == 0:
                    at = "replica_directory_id"
                    replica_directory_id, = _unpack_U(data, pos)
                    pos += 16
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("FetchRequest.FetchPartition", at, pos, error) from None
    return FetchPartition(partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes, replica_directory_id, 9223372036854775807), pos


def _write_fetch_partition_v17(w: Append, x: FetchPartition) -> None:
    w(_pack_iiqiqi(x.partition, x.current_leader_epoch, x.fetch_offset, x.last_fetched_epoch, x.log_start_offset, x.partition_max_bytes))
    tagged: list[tuple[int, bytes]] = []
    if x.replica_directory_id != ZERO_UUID:
        replica_directory_id_part: list[Buffer] = []
        replica_directory_id = x.replica_directory_id
        if len(replica_directory_id) != 16:
            raise bad_uuid("FetchRequest", "replica_directory_id", replica_directory_id)
        replica_directory_id_part.append(_pack_U(replica_directory_id))
        tagged.append((0, b"".join(replica_directory_id_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")


def _read_fetch_partition_v18(data: bytes, pos: int, size: int) -> tuple[FetchPartition, int]:
    at = "partition"
    try:
        partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes, tags = _unpack_iiqiqiB(data, pos)
        pos += 33
        replica_directory_id: Uuid = ZERO_UUID
        high_watermark: int = 9223372036854775807
        if tags:
            at = "tagged fields"
            if tags > 127:
                tags, pos = many_tags(data, pos, tags)
            for _ in range(tags):
                at = "tagged fields"
                tag, pos = read_uvarint(data, pos)
                length, pos = read_uvarint(data, pos)
                tag_end = pos + length
                if tag_end > size:
                    raise overrun(length, size - pos)
                if tag == 0:
                    at = "replica_directory_id"
                    replica_directory_id, = _unpack_U(data, pos)
                    pos += 16
                elif tag == 1:
                    at = "high_watermark"
                    high_watermark, = _unpack_q(data, pos)
                    pos += 8
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("FetchRequest.FetchPartition", at, pos, error) from None
    return FetchPartition(partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes, replica_directory_id, high_watermark), pos


def _write_fetch_partition_v18(w: Append, x: FetchPartition) -> None:
    w(_pack_iiqiqi(x.partition, x.current_leader_epoch, x.fetch_offset, x.last_fetched_epoch, x.log_start_offset, x.partition_max_bytes))
    tagged: list[tuple[int, bytes]] = []
    if x.replica_directory_id != ZERO_UUID:
        replica_directory_id_part: list[Buffer] = []
        replica_directory_id = x.replica_directory_id
        if len(replica_directory_id) != 16:
            raise bad_uuid("FetchRequest", "replica_directory_id", replica_directory_id)
        replica_directory_id_part.append(_pack_U(replica_directory_id))
        tagged.append((0, b"".join(replica_directory_id_part)))
    if x.high_watermark != 9223372036854775807:
        high_watermark_part: list[Buffer] = []
        high_watermark_part.append(_pack_q(x.high_watermark))
        tagged.append((1, b"".join(high_watermark_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")


def _read_fetch_topic_v4(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[FetchTopic, int]:
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
        if limit is not None:
            limit.take(count)
        partitions: list[FetchPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_fetch_partition_v4(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("FetchRequest.FetchTopic", at, pos, error) from None
    return FetchTopic(topic, ZERO_UUID, partitions), pos


def _write_fetch_topic_v4(w: Append, x: FetchTopic) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    w(_pack_h(len(topic_bytes)))
    w(topic_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_fetch_partition_v4(w, partitions_item)


def _read_fetch_topic_v5(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[FetchTopic, int]:
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
        if limit is not None:
            limit.take(count)
        partitions: list[FetchPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_fetch_partition_v5(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("FetchRequest.FetchTopic", at, pos, error) from None
    return FetchTopic(topic, ZERO_UUID, partitions), pos


def _write_fetch_topic_v5(w: Append, x: FetchTopic) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    w(_pack_h(len(topic_bytes)))
    w(topic_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_fetch_partition_v5(w, partitions_item)


def _read_fetch_topic_v9(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[FetchTopic, int]:
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
        if limit is not None:
            limit.take(count)
        partitions: list[FetchPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_fetch_partition_v9(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("FetchRequest.FetchTopic", at, pos, error) from None
    return FetchTopic(topic, ZERO_UUID, partitions), pos


def _write_fetch_topic_v9(w: Append, x: FetchTopic) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    w(_pack_h(len(topic_bytes)))
    w(topic_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_fetch_partition_v9(w, partitions_item)


def _read_fetch_topic_v12(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[FetchTopic, int]:
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
        if limit is not None:
            limit.take(count)
        partitions: list[FetchPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_fetch_partition_v12(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("FetchRequest.FetchTopic", at, pos, error) from None
    return FetchTopic(topic, ZERO_UUID, partitions), pos


def _write_fetch_topic_v12(w: Append, x: FetchTopic) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    count = len(topic_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(topic_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_fetch_partition_v12(w, partitions_item)
    w(b"\0")


def _read_fetch_topic_v13(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[FetchTopic, int]:
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
            partitions_item, pos = _read_fetch_partition_v12(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("FetchRequest.FetchTopic", at, pos, error) from None
    return FetchTopic("", topic_id, partitions), pos


def _write_fetch_topic_v13(w: Append, x: FetchTopic) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("FetchRequest", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    for partitions_item in partitions:
        _write_fetch_partition_v12(w, partitions_item)
    w(b"\0")


def _read_fetch_topic_v17(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[FetchTopic, int]:
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
            partitions_item, pos = _read_fetch_partition_v17(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("FetchRequest.FetchTopic", at, pos, error) from None
    return FetchTopic("", topic_id, partitions), pos


def _write_fetch_topic_v17(w: Append, x: FetchTopic) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("FetchRequest", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    for partitions_item in partitions:
        _write_fetch_partition_v17(w, partitions_item)
    w(b"\0")


def _read_fetch_topic_v18(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[FetchTopic, int]:
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
            partitions_item, pos = _read_fetch_partition_v18(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("FetchRequest.FetchTopic", at, pos, error) from None
    return FetchTopic("", topic_id, partitions), pos


def _write_fetch_topic_v18(w: Append, x: FetchTopic) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("FetchRequest", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    for partitions_item in partitions:
        _write_fetch_partition_v18(w, partitions_item)
    w(b"\0")


def _read_fetch_request_v4(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[FetchRequest, int]:
    at = "replica_id"
    try:
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, count = _unpack_iiiibi(data, pos)
        pos += 21
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[FetchTopic] = []
        for _ in range(count):
            topics_item, pos = _read_fetch_topic_v4(data, pos, size, limit)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("FetchRequest", at, pos, error) from None
    return FetchRequest(None, replica_id, ReplicaState(), max_wait_ms, min_bytes, max_bytes, isolation_level, 0, -1, topics, EMPTY, ""), pos


def _write_fetch_request_v4(w: Append, x: FetchRequest) -> None:
    if x.replica_state.replica_id != -1 or x.replica_state.replica_epoch != -1:
        raise unsupported_field("FetchRequest", "replica_state", "4")
    if x.forgotten_topics_data:
        raise unsupported_field("FetchRequest", "forgotten_topics_data", "4")
    topics = x.topics
    w(_pack_iiiibi(x.replica_id, x.max_wait_ms, x.min_bytes, x.max_bytes, x.isolation_level, len(topics)))
    for topics_item in topics:
        _write_fetch_topic_v4(w, topics_item)


def _read_fetch_request_v5(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[FetchRequest, int]:
    at = "replica_id"
    try:
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, count = _unpack_iiiibi(data, pos)
        pos += 21
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[FetchTopic] = []
        for _ in range(count):
            topics_item, pos = _read_fetch_topic_v5(data, pos, size, limit)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("FetchRequest", at, pos, error) from None
    return FetchRequest(None, replica_id, ReplicaState(), max_wait_ms, min_bytes, max_bytes, isolation_level, 0, -1, topics, EMPTY, ""), pos


def _write_fetch_request_v5(w: Append, x: FetchRequest) -> None:
    if x.replica_state.replica_id != -1 or x.replica_state.replica_epoch != -1:
        raise unsupported_field("FetchRequest", "replica_state", "5-6")
    if x.forgotten_topics_data:
        raise unsupported_field("FetchRequest", "forgotten_topics_data", "5-6")
    topics = x.topics
    w(_pack_iiiibi(x.replica_id, x.max_wait_ms, x.min_bytes, x.max_bytes, x.isolation_level, len(topics)))
    for topics_item in topics:
        _write_fetch_topic_v5(w, topics_item)


def _read_fetch_request_v7(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[FetchRequest, int]:
    at = "replica_id"
    try:
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, count = _unpack_iiiibiii(data, pos)
        pos += 29
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[FetchTopic] = []
        for _ in range(count):
            topics_item, pos = _read_fetch_topic_v5(data, pos, size, limit)
            topics.append(topics_item)
        at = "forgotten_topics_data"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        forgotten_topics_data: list[ForgottenTopic] = []
        for _ in range(count):
            forgotten_topics_data_item, pos = _read_forgotten_topic_v7(data, pos, size, limit)
            forgotten_topics_data.append(forgotten_topics_data_item)
    except READ_ERRORS as error:
        raise malformed("FetchRequest", at, pos, error) from None
    return FetchRequest(None, replica_id, ReplicaState(), max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, ""), pos


def _write_fetch_request_v7(w: Append, x: FetchRequest) -> None:
    if x.replica_state.replica_id != -1 or x.replica_state.replica_epoch != -1:
        raise unsupported_field("FetchRequest", "replica_state", "7-8")
    topics = x.topics
    w(_pack_iiiibiii(x.replica_id, x.max_wait_ms, x.min_bytes, x.max_bytes, x.isolation_level, x.session_id, x.session_epoch, len(topics)))
    for topics_item in topics:
        _write_fetch_topic_v5(w, topics_item)
    forgotten_topics_data = x.forgotten_topics_data
    w(_pack_i(len(forgotten_topics_data)))
    for forgotten_topics_data_item in forgotten_topics_data:
        _write_forgotten_topic_v7(w, forgotten_topics_data_item)


def _read_fetch_request_v9(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[FetchRequest, int]:
    at = "replica_id"
    try:
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, count = _unpack_iiiibiii(data, pos)
        pos += 29
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[FetchTopic] = []
        for _ in range(count):
            topics_item, pos = _read_fetch_topic_v9(data, pos, size, limit)
            topics.append(topics_item)
        at = "forgotten_topics_data"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        forgotten_topics_data: list[ForgottenTopic] = []
        for _ in range(count):
            forgotten_topics_data_item, pos = _read_forgotten_topic_v7(data, pos, size, limit)
            forgotten_topics_data.append(forgotten_topics_data_item)
    except READ_ERRORS as error:
        raise malformed("FetchRequest", at, pos, error) from None
    return FetchRequest(None, replica_id, ReplicaState(), max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, ""), pos


def _write_fetch_request_v9(w: Append, x: FetchRequest) -> None:
    if x.replica_state.replica_id != -1 or x.replica_state.replica_epoch != -1:
        raise unsupported_field("FetchRequest", "replica_state", "9-10")
    topics = x.topics
    w(_pack_iiiibiii(x.replica_id, x.max_wait_ms, x.min_bytes, x.max_bytes, x.isolation_level, x.session_id, x.session_epoch, len(topics)))
    for topics_item in topics:
        _write_fetch_topic_v9(w, topics_item)
    forgotten_topics_data = x.forgotten_topics_data
    w(_pack_i(len(forgotten_topics_data)))
    for forgotten_topics_data_item in forgotten_topics_data:
        _write_forgotten_topic_v7(w, forgotten_topics_data_item)


def _read_fetch_request_v11(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[FetchRequest, int]:
    at = "replica_id"
    try:
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, count = _unpack_iiiibiii(data, pos)
        pos += 29
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[FetchTopic] = []
        for _ in range(count):
            topics_item, pos = _read_fetch_topic_v9(data, pos, size, limit)
            topics.append(topics_item)
        at = "forgotten_topics_data"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        forgotten_topics_data: list[ForgottenTopic] = []
        for _ in range(count):
            forgotten_topics_data_item, pos = _read_forgotten_topic_v7(data, pos, size, limit)
            forgotten_topics_data.append(forgotten_topics_data_item)
        at = "rack_id"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        rack_id = data[pos:end].decode()
        pos = end
    except READ_ERRORS as error:
        raise malformed("FetchRequest", at, pos, error) from None
    return FetchRequest(None, replica_id, ReplicaState(), max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id), pos


def _write_fetch_request_v11(w: Append, x: FetchRequest) -> None:
    if x.replica_state.replica_id != -1 or x.replica_state.replica_epoch != -1:
        raise unsupported_field("FetchRequest", "replica_state", "11")
    topics = x.topics
    w(_pack_iiiibiii(x.replica_id, x.max_wait_ms, x.min_bytes, x.max_bytes, x.isolation_level, x.session_id, x.session_epoch, len(topics)))
    for topics_item in topics:
        _write_fetch_topic_v9(w, topics_item)
    forgotten_topics_data = x.forgotten_topics_data
    w(_pack_i(len(forgotten_topics_data)))
    for forgotten_topics_data_item in forgotten_topics_data:
        _write_forgotten_topic_v7(w, forgotten_topics_data_item)
    rack_id = x.rack_id
    rack_id_bytes = rack_id.encode()
    w(_pack_h(len(rack_id_bytes)))
    w(rack_id_bytes)


def _read_fetch_request_v12(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[FetchRequest, int]:
    at = "replica_id"
    try:
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, count = _unpack_iiiibiiB(data, pos)
        pos += 26
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
            topics_item, pos = _read_fetch_topic_v12(data, pos, size, limit)
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
            forgotten_topics_data_item, pos = _read_forgotten_topic_v12(data, pos, size, limit)
            forgotten_topics_data.append(forgotten_topics_data_item)
        at = "rack_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        rack_id = data[pos:end].decode()
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        cluster_id: str | None = None
        if tags:
            if tags > 127:
                tags, pos = many_tags(data, pos, tags)
            for _ in range(tags):
                at = "tagged fields"
                tag, pos = read_uvarint(data, pos)
                length, pos = read_uvarint(data, pos)
                tag_end = pos + length
                if tag_end > size:
                    raise overrun(length, size - pos)
                if tag == 0:
                    at = "cluster_id"
                    count = data[pos]
                    pos += 1
                    if count > 127:
                        count, pos = string_length_tail(data, pos, count)
                    cluster_id = None
                    if count:
                        end = pos + count - 1
                        if end > size:
                            raise overrun(count - 1, size - pos)
                        cluster_id = data[pos:end].decode()
                        pos = end
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("FetchRequest", at, pos, error) from None
    return FetchRequest(cluster_id, replica_id, ReplicaState(), max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id), pos


def _write_fetch_request_v12(w: Append, x: FetchRequest) -> None:
    if x.replica_state.replica_id != -1 or x.replica_state.replica_epoch != -1:
        raise unsupported_field("FetchRequest", "replica_state", "12")
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iiiibiiB(x.replica_id, x.max_wait_ms, x.min_bytes, x.max_bytes, x.isolation_level, x.session_id, x.session_epoch, count) if count < 128 else _pack_iiiibii(x.replica_id, x.max_wait_ms, x.min_bytes, x.max_bytes, x.isolation_level, x.session_id, x.session_epoch) + uvarint(count))
    for topics_item in topics:
        _write_fetch_topic_v12(w, topics_item)
    forgotten_topics_data = x.forgotten_topics_data
    count = len(forgotten_topics_data) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for forgotten_topics_data_item in forgotten_topics_data:
        _write_forgotten_topic_v12(w, forgotten_topics_data_item)
    rack_id = x.rack_id
    rack_id_bytes = rack_id.encode()
    count = len(rack_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(rack_id_bytes)
    tagged: list[tuple[int, bytes]] = []
    if x.cluster_id is not None:
        cluster_id_part: list[Buffer] = []
        cluster_id = x.cluster_id
        cluster_id_bytes = cluster_id.encode()
        count = len(cluster_id_bytes) + 1
        cluster_id_part.append(VARINT[count] if count < 128 else string_length(count))
        cluster_id_part.append(cluster_id_bytes)
        tagged.append((0, b"".join(cluster_id_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")


def _read_fetch_request_v13(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[FetchRequest, int]:
    at = "replica_id"
    try:
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, count = _unpack_iiiibiiB(data, pos)
        pos += 26
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
            topics_item, pos = _read_fetch_topic_v13(data, pos, size, limit)
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
            forgotten_topics_data_item, pos = _read_forgotten_topic_v13(data, pos, size, limit)
            forgotten_topics_data.append(forgotten_topics_data_item)
        at = "rack_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        rack_id = data[pos:end].decode()
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        cluster_id: str | None = None
        if tags:
            if tags > 127:
                tags, pos = many_tags(data, pos, tags)
            for _ in range(tags):
                at = "tagged fields"
                tag, pos = read_uvarint(data, pos)
                length, pos = read_uvarint(data, pos)
                tag_end = pos + length
                if tag_end > size:
                    raise overrun(length, size - pos)
                if tag == 0:
                    at = "cluster_id"
                    count = data[pos]
                    pos += 1
                    if count > 127:
                        count, pos = string_length_tail(data, pos, count)
                    cluster_id = None
                    if count:
                        end = pos + count - 1
                        if end > size:
                            raise overrun(count - 1, size - pos)
                        cluster_id = data[pos:end].decode()
                        pos = end
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("FetchRequest", at, pos, error) from None
    return FetchRequest(cluster_id, replica_id, ReplicaState(), max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id), pos


def _write_fetch_request_v13(w: Append, x: FetchRequest) -> None:
    if x.replica_state.replica_id != -1 or x.replica_state.replica_epoch != -1:
        raise unsupported_field("FetchRequest", "replica_state", "13-14")
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iiiibiiB(x.replica_id, x.max_wait_ms, x.min_bytes, x.max_bytes, x.isolation_level, x.session_id, x.session_epoch, count) if count < 128 else _pack_iiiibii(x.replica_id, x.max_wait_ms, x.min_bytes, x.max_bytes, x.isolation_level, x.session_id, x.session_epoch) + uvarint(count))
    for topics_item in topics:
        _write_fetch_topic_v13(w, topics_item)
    forgotten_topics_data = x.forgotten_topics_data
    count = len(forgotten_topics_data) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for forgotten_topics_data_item in forgotten_topics_data:
        _write_forgotten_topic_v13(w, forgotten_topics_data_item)
    rack_id = x.rack_id
    rack_id_bytes = rack_id.encode()
    count = len(rack_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(rack_id_bytes)
    tagged: list[tuple[int, bytes]] = []
    if x.cluster_id is not None:
        cluster_id_part: list[Buffer] = []
        cluster_id = x.cluster_id
        cluster_id_bytes = cluster_id.encode()
        count = len(cluster_id_bytes) + 1
        cluster_id_part.append(VARINT[count] if count < 128 else string_length(count))
        cluster_id_part.append(cluster_id_bytes)
        tagged.append((0, b"".join(cluster_id_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")


def _read_fetch_request_v15(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[FetchRequest, int]:
    at = "max_wait_ms"
    try:
        max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, count = _unpack_iiibiiB(data, pos)
        pos += 22
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
            topics_item, pos = _read_fetch_topic_v13(data, pos, size, limit)
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
            forgotten_topics_data_item, pos = _read_forgotten_topic_v13(data, pos, size, limit)
            forgotten_topics_data.append(forgotten_topics_data_item)
        at = "rack_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        rack_id = data[pos:end].decode()
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        cluster_id: str | None = None
        replica_state: ReplicaState = ReplicaState()
        if tags:
            if tags > 127:
                tags, pos = many_tags(data, pos, tags)
            for _ in range(tags):
                at = "tagged fields"
                tag, pos = read_uvarint(data, pos)
                length, pos = read_uvarint(data, pos)
                tag_end = pos + length
                if tag_end > size:
                    raise overrun(length, size - pos)
                if tag == 0:
                    at = "cluster_id"
                    count = data[pos]
                    pos += 1
                    if count > 127:
                        count, pos = string_length_tail(data, pos, count)
                    cluster_id = None
                    if count:
                        end = pos + count - 1
                        if end > size:
                            raise overrun(count - 1, size - pos)
                        cluster_id = data[pos:end].decode()
                        pos = end
                elif tag == 1:
                    at = "replica_state"
                    replica_state, pos = _read_replica_state_v15(data, pos, size)
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("FetchRequest", at, pos, error) from None
    return FetchRequest(cluster_id, -1, replica_state, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id), pos


def _write_fetch_request_v15(w: Append, x: FetchRequest) -> None:
    if x.replica_id != -1:
        raise unsupported_field("FetchRequest", "replica_id", "15-16")
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iiibiiB(x.max_wait_ms, x.min_bytes, x.max_bytes, x.isolation_level, x.session_id, x.session_epoch, count) if count < 128 else _pack_iiibii(x.max_wait_ms, x.min_bytes, x.max_bytes, x.isolation_level, x.session_id, x.session_epoch) + uvarint(count))
    for topics_item in topics:
        _write_fetch_topic_v13(w, topics_item)
    forgotten_topics_data = x.forgotten_topics_data
    count = len(forgotten_topics_data) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for forgotten_topics_data_item in forgotten_topics_data:
        _write_forgotten_topic_v13(w, forgotten_topics_data_item)
    rack_id = x.rack_id
    rack_id_bytes = rack_id.encode()
    count = len(rack_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(rack_id_bytes)
    tagged: list[tuple[int, bytes]] = []
    if x.cluster_id is not None:
        cluster_id_part: list[Buffer] = []
        cluster_id = x.cluster_id
        cluster_id_bytes = cluster_id.encode()
        count = len(cluster_id_bytes) + 1
        cluster_id_part.append(VARINT[count] if count < 128 else string_length(count))
        cluster_id_part.append(cluster_id_bytes)
        tagged.append((0, b"".join(cluster_id_part)))
    if x.replica_state.replica_id != -1 or x.replica_state.replica_epoch != -1:
        replica_state_part: list[Buffer] = []
        replica_state = x.replica_state
        _write_replica_state_v15(replica_state_part.append, replica_state)
        tagged.append((1, b"".join(replica_state_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")


def _read_fetch_request_v17(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[FetchRequest, int]:
    at = "max_wait_ms"
    try:
        max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, count = _unpack_iiibiiB(data, pos)
        pos += 22
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
            topics_item, pos = _read_fetch_topic_v17(data, pos, size, limit)
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
            forgotten_topics_data_item, pos = _read_forgotten_topic_v13(data, pos, size, limit)
            forgotten_topics_data.append(forgotten_topics_data_item)
        at = "rack_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        rack_id = data[pos:end].decode()
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        cluster_id: str | None = None
        replica_state: ReplicaState = ReplicaState()
        if tags:
            if tags > 127:
                tags, pos = many_tags(data, pos, tags)
            for _ in range(tags):
                at = "tagged fields"
                tag, pos = read_uvarint(data, pos)
                length, pos = read_uvarint(data, pos)
                tag_end = pos + length
                if tag_end > size:
                    raise overrun(length, size - pos)
                if tag == 0:
                    at = "cluster_id"
                    count = data[pos]
                    pos += 1
                    if count > 127:
                        count, pos = string_length_tail(data, pos, count)
                    cluster_id = None
                    if count:
                        end = pos + count - 1
                        if end > size:
                            raise overrun(count - 1, size - pos)
                        cluster_id = data[pos:end].decode()
                        pos = end
                elif tag == 1:
                    at = "replica_state"
                    replica_state, pos = _read_replica_state_v15(data, pos, size)
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("FetchRequest", at, pos, error) from None
    return FetchRequest(cluster_id, -1, replica_state, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id), pos


def _write_fetch_request_v17(w: Append, x: FetchRequest) -> None:
    if x.replica_id != -1:
        raise unsupported_field("FetchRequest", "replica_id", "17")
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iiibiiB(x.max_wait_ms, x.min_bytes, x.max_bytes, x.isolation_level, x.session_id, x.session_epoch, count) if count < 128 else _pack_iiibii(x.max_wait_ms, x.min_bytes, x.max_bytes, x.isolation_level, x.session_id, x.session_epoch) + uvarint(count))
    for topics_item in topics:
        _write_fetch_topic_v17(w, topics_item)
    forgotten_topics_data = x.forgotten_topics_data
    count = len(forgotten_topics_data) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for forgotten_topics_data_item in forgotten_topics_data:
        _write_forgotten_topic_v13(w, forgotten_topics_data_item)
    rack_id = x.rack_id
    rack_id_bytes = rack_id.encode()
    count = len(rack_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(rack_id_bytes)
    tagged: list[tuple[int, bytes]] = []
    if x.cluster_id is not None:
        cluster_id_part: list[Buffer] = []
        cluster_id = x.cluster_id
        cluster_id_bytes = cluster_id.encode()
        count = len(cluster_id_bytes) + 1
        cluster_id_part.append(VARINT[count] if count < 128 else string_length(count))
        cluster_id_part.append(cluster_id_bytes)
        tagged.append((0, b"".join(cluster_id_part)))
    if x.replica_state.replica_id != -1 or x.replica_state.replica_epoch != -1:
        replica_state_part: list[Buffer] = []
        replica_state = x.replica_state
        _write_replica_state_v15(replica_state_part.append, replica_state)
        tagged.append((1, b"".join(replica_state_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")


def _read_fetch_request_v18(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[FetchRequest, int]:
    at = "max_wait_ms"
    try:
        max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, count = _unpack_iiibiiB(data, pos)
        pos += 22
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
            topics_item, pos = _read_fetch_topic_v18(data, pos, size, limit)
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
            forgotten_topics_data_item, pos = _read_forgotten_topic_v13(data, pos, size, limit)
            forgotten_topics_data.append(forgotten_topics_data_item)
        at = "rack_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        rack_id = data[pos:end].decode()
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        cluster_id: str | None = None
        replica_state: ReplicaState = ReplicaState()
        if tags:
            if tags > 127:
                tags, pos = many_tags(data, pos, tags)
            for _ in range(tags):
                at = "tagged fields"
                tag, pos = read_uvarint(data, pos)
                length, pos = read_uvarint(data, pos)
                tag_end = pos + length
                if tag_end > size:
                    raise overrun(length, size - pos)
                if tag == 0:
                    at = "cluster_id"
                    count = data[pos]
                    pos += 1
                    if count > 127:
                        count, pos = string_length_tail(data, pos, count)
                    cluster_id = None
                    if count:
                        end = pos + count - 1
                        if end > size:
                            raise overrun(count - 1, size - pos)
                        cluster_id = data[pos:end].decode()
                        pos = end
                elif tag == 1:
                    at = "replica_state"
                    replica_state, pos = _read_replica_state_v15(data, pos, size)
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("FetchRequest", at, pos, error) from None
    return FetchRequest(cluster_id, -1, replica_state, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id), pos


def _write_fetch_request_v18(w: Append, x: FetchRequest) -> None:
    if x.replica_id != -1:
        raise unsupported_field("FetchRequest", "replica_id", "18")
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iiibiiB(x.max_wait_ms, x.min_bytes, x.max_bytes, x.isolation_level, x.session_id, x.session_epoch, count) if count < 128 else _pack_iiibii(x.max_wait_ms, x.min_bytes, x.max_bytes, x.isolation_level, x.session_id, x.session_epoch) + uvarint(count))
    for topics_item in topics:
        _write_fetch_topic_v18(w, topics_item)
    forgotten_topics_data = x.forgotten_topics_data
    count = len(forgotten_topics_data) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for forgotten_topics_data_item in forgotten_topics_data:
        _write_forgotten_topic_v13(w, forgotten_topics_data_item)
    rack_id = x.rack_id
    rack_id_bytes = rack_id.encode()
    count = len(rack_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(rack_id_bytes)
    tagged: list[tuple[int, bytes]] = []
    if x.cluster_id is not None:
        cluster_id_part: list[Buffer] = []
        cluster_id = x.cluster_id
        cluster_id_bytes = cluster_id.encode()
        count = len(cluster_id_bytes) + 1
        cluster_id_part.append(VARINT[count] if count < 128 else string_length(count))
        cluster_id_part.append(cluster_id_bytes)
        tagged.append((0, b"".join(cluster_id_part)))
    if x.replica_state.replica_id != -1 or x.replica_state.replica_epoch != -1:
        replica_state_part: list[Buffer] = []
        replica_state = x.replica_state
        _write_replica_state_v15(replica_state_part.append, replica_state)
        tagged.append((1, b"".join(replica_state_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")
FetchRequest._READERS = {
    4: _read_fetch_request_v4,
    5: _read_fetch_request_v5,
    6: _read_fetch_request_v5,
    7: _read_fetch_request_v7,
    8: _read_fetch_request_v7,
    9: _read_fetch_request_v9,
    10: _read_fetch_request_v9,
    11: _read_fetch_request_v11,
    12: _read_fetch_request_v12,
    13: _read_fetch_request_v13,
    14: _read_fetch_request_v13,
    15: _read_fetch_request_v15,
    16: _read_fetch_request_v15,
    17: _read_fetch_request_v17,
    18: _read_fetch_request_v18,
}
FetchRequest._WRITERS = {
    4: _write_fetch_request_v4,
    5: _write_fetch_request_v5,
    6: _write_fetch_request_v5,
    7: _write_fetch_request_v7,
    8: _write_fetch_request_v7,
    9: _write_fetch_request_v9,
    10: _write_fetch_request_v9,
    11: _write_fetch_request_v11,
    12: _write_fetch_request_v12,
    13: _write_fetch_request_v13,
    14: _write_fetch_request_v13,
    15: _write_fetch_request_v15,
    16: _write_fetch_request_v15,
    17: _write_fetch_request_v17,
    18: _write_fetch_request_v18,
}
