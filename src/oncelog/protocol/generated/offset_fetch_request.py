# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, ZERO_UUID, Append, ElementLimit, Message, Struct, Uuid, bad_uuid, malformed, null_field, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_Tx = _Struct(">?x").pack
_pack_U = _Struct(">16s").pack
_pack_UB = _Struct(">16sB").pack
_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_unpack_TB = _Struct(">?B").unpack_from
_unpack_UB = _Struct(">16sB").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from


class OffsetFetchRequestTopic(Struct):
    __slots__ = ("name", "partition_indexes")

    def __init__(
        self,
        name: str = "",  # 0-7
        partition_indexes: list[int] = EMPTY,  # 0-7
    ) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is EMPTY else partition_indexes


class OffsetFetchRequestTopics(Struct):
    __slots__ = ("name", "topic_id", "partition_indexes")

    def __init__(
        self,
        name: str = "",  # 8-9, ignorable
        topic_id: Uuid = ZERO_UUID,  # 10+, ignorable
        partition_indexes: list[int] = EMPTY,  # 8+
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_indexes = [] if partition_indexes is EMPTY else partition_indexes


class OffsetFetchRequest(Message):
    API_KEY = 9
    MIN_VERSION = 1
    MAX_VERSION = 10
    FLEXIBLE_FROM = 6
    __slots__ = ("group_id", "topics", "groups", "require_stable")

    def __init__(
        self,
        group_id: str = "",  # 0-7
        topics: list[OffsetFetchRequestTopic] | None = EMPTY,  # 0-7
        groups: list[OffsetFetchRequestGroup] = EMPTY,  # 8+
        require_stable: bool = False,  # 7+
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics
        self.groups = [] if groups is EMPTY else groups
        self.require_stable = require_stable


class OffsetFetchRequestGroup(Struct):
    __slots__ = ("group_id", "member_id", "member_epoch", "topics")

    def __init__(
        self,
        group_id: str = "",  # 8+
        member_id: str | None = None,  # 9+, ignorable
        member_epoch: int = -1,  # 9+, ignorable
        topics: list[OffsetFetchRequestTopics] | None = EMPTY,  # 8+
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.topics = [] if topics is EMPTY else topics


def _read_offset_fetch_request_topic_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetFetchRequestTopic, int]:
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
        at = "partition_indexes"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        if limit is not None:
            limit.take(count)
        partition_indexes: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
    except READ_ERRORS as error:
        raise malformed("OffsetFetchRequest.OffsetFetchRequestTopic", at, pos, error) from None
    return OffsetFetchRequestTopic(name, partition_indexes), pos


def _write_offset_fetch_request_topic_v1(w: Append, x: OffsetFetchRequestTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    partition_indexes = x.partition_indexes
    w(_pack_i(len(partition_indexes)))
    w(PACK_INT32S[len(partition_indexes)](*partition_indexes) if len(partition_indexes) < 8 else pack(f">{len(partition_indexes)}i", *partition_indexes))


def _read_offset_fetch_request_topic_v6(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetFetchRequestTopic, int]:
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
        raise malformed("OffsetFetchRequest.OffsetFetchRequestTopic", at, pos, error) from None
    return OffsetFetchRequestTopic(name, partition_indexes), pos


def _write_offset_fetch_request_topic_v6(w: Append, x: OffsetFetchRequestTopic) -> None:
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


def _read_offset_fetch_request_topics_v8(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetFetchRequestTopics, int]:
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
        raise malformed("OffsetFetchRequest.OffsetFetchRequestTopics", at, pos, error) from None
    return OffsetFetchRequestTopics(name, ZERO_UUID, partition_indexes), pos


def _write_offset_fetch_request_topics_v8(w: Append, x: OffsetFetchRequestTopics) -> None:
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


def _read_offset_fetch_request_topics_v10(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetFetchRequestTopics, int]:
    at = "topic_id"
    try:
        topic_id, count = _unpack_UB(data, pos)
        pos += 17
        at = "partition_indexes"
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
        raise malformed("OffsetFetchRequest.OffsetFetchRequestTopics", at, pos, error) from None
    return OffsetFetchRequestTopics("", topic_id, partition_indexes), pos


def _write_offset_fetch_request_topics_v10(w: Append, x: OffsetFetchRequestTopics) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("OffsetFetchRequest", "topic_id", topic_id)
    partition_indexes = x.partition_indexes
    count = len(partition_indexes) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    w(PACK_INT32S[len(partition_indexes)](*partition_indexes) if len(partition_indexes) < 8 else pack(f">{len(partition_indexes)}i", *partition_indexes))
    w(b"\0")


def _read_offset_fetch_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetFetchRequest, int]:
    at = "group_id"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        group_id = data[pos:end].decode()
        pos = end
        at = "topics"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[OffsetFetchRequestTopic] = []
        for _ in range(count):
            topics_item, pos = _read_offset_fetch_request_topic_v1(data, pos, size, limit)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("OffsetFetchRequest", at, pos, error) from None
    return OffsetFetchRequest(group_id, topics, EMPTY, False), pos


def _write_offset_fetch_request_v1(w: Append, x: OffsetFetchRequest) -> None:
    if x.groups:
        raise unsupported_field("OffsetFetchRequest", "groups", "1")
    if x.require_stable:
        raise unsupported_field("OffsetFetchRequest", "require_stable", "1")
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_h(len(group_id_bytes)))
    w(group_id_bytes)
    topics = x.topics
    if topics is None:
        raise null_field("OffsetFetchRequest", "topics", "1")
    w(_pack_i(len(topics)))
    for topics_item in topics:
        _write_offset_fetch_request_topic_v1(w, topics_item)


def _read_offset_fetch_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetFetchRequest, int]:
    at = "group_id"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        group_id = data[pos:end].decode()
        pos = end
        at = "topics"
        count, = _unpack_i(data, pos)
        pos += 4
        topics: list[OffsetFetchRequestTopic] | None = None
        if count >= 0:
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            topics = []
            for _ in range(count):
                topics_item, pos = _read_offset_fetch_request_topic_v1(data, pos, size, limit)
                topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("OffsetFetchRequest", at, pos, error) from None
    return OffsetFetchRequest(group_id, topics, EMPTY, False), pos


def _write_offset_fetch_request_v2(w: Append, x: OffsetFetchRequest) -> None:
    if x.groups:
        raise unsupported_field("OffsetFetchRequest", "groups", "2-5")
    if x.require_stable:
        raise unsupported_field("OffsetFetchRequest", "require_stable", "2-5")
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_h(len(group_id_bytes)))
    w(group_id_bytes)
    topics = x.topics
    w(_pack_i(-1 if topics is None else len(topics)))
    if topics is not None:
        for topics_item in topics:
            _write_offset_fetch_request_topic_v1(w, topics_item)


def _read_offset_fetch_request_v6(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetFetchRequest, int]:
    at = "group_id"
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
        group_id = data[pos:end].decode()
        pos = end
        at = "topics"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        topics: list[OffsetFetchRequestTopic] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            topics = []
            for _ in range(count):
                topics_item, pos = _read_offset_fetch_request_topic_v6(data, pos, size, limit)
                topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetFetchRequest", at, pos, error) from None
    return OffsetFetchRequest(group_id, topics, EMPTY, False), pos


def _write_offset_fetch_request_v6(w: Append, x: OffsetFetchRequest) -> None:
    if x.groups:
        raise unsupported_field("OffsetFetchRequest", "groups", "6")
    if x.require_stable:
        raise unsupported_field("OffsetFetchRequest", "require_stable", "6")
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    topics = x.topics
    if topics is None:
        w(b"\0")
    else:
        count = len(topics) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for topics_item in topics:
            _write_offset_fetch_request_topic_v6(w, topics_item)
    w(b"\0")


def _read_offset_fetch_request_v7(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetFetchRequest, int]:
    at = "group_id"
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
        group_id = data[pos:end].decode()
        pos = end
        at = "topics"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        topics: list[OffsetFetchRequestTopic] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            topics = []
            for _ in range(count):
                topics_item, pos = _read_offset_fetch_request_topic_v6(data, pos, size, limit)
                topics.append(topics_item)
        at = "require_stable"
        require_stable, tags = _unpack_TB(data, pos)
        pos += 2
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetFetchRequest", at, pos, error) from None
    return OffsetFetchRequest(group_id, topics, EMPTY, require_stable), pos


def _write_offset_fetch_request_v7(w: Append, x: OffsetFetchRequest) -> None:
    if x.groups:
        raise unsupported_field("OffsetFetchRequest", "groups", "7")
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    topics = x.topics
    if topics is None:
        w(b"\0")
    else:
        count = len(topics) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for topics_item in topics:
            _write_offset_fetch_request_topic_v6(w, topics_item)
    w(_pack_Tx(x.require_stable))


def _read_offset_fetch_request_group_v8(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetFetchRequestGroup, int]:
    at = "group_id"
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
        group_id = data[pos:end].decode()
        pos = end
        at = "topics"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        topics: list[OffsetFetchRequestTopics] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            topics = []
            for _ in range(count):
                topics_item, pos = _read_offset_fetch_request_topics_v8(data, pos, size, limit)
                topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetFetchRequest.OffsetFetchRequestGroup", at, pos, error) from None
    return OffsetFetchRequestGroup(group_id, None, -1, topics), pos


def _write_offset_fetch_request_group_v8(w: Append, x: OffsetFetchRequestGroup) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    topics = x.topics
    if topics is None:
        w(b"\0")
    else:
        count = len(topics) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for topics_item in topics:
            _write_offset_fetch_request_topics_v8(w, topics_item)
    w(b"\0")


def _read_offset_fetch_request_group_v9(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetFetchRequestGroup, int]:
    at = "group_id"
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
        at = "member_epoch"
        member_epoch, count = _unpack_iB(data, pos)
        pos += 5
        at = "topics"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        topics: list[OffsetFetchRequestTopics] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            topics = []
            for _ in range(count):
                topics_item, pos = _read_offset_fetch_request_topics_v8(data, pos, size, limit)
                topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetFetchRequest.OffsetFetchRequestGroup", at, pos, error) from None
    return OffsetFetchRequestGroup(group_id, member_id, member_epoch, topics), pos


def _write_offset_fetch_request_group_v9(w: Append, x: OffsetFetchRequestGroup) -> None:
    group_id = x.group_id
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
    w(_pack_i(x.member_epoch))
    if topics is None:
        w(b"\0")
    else:
        count = len(topics) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for topics_item in topics:
            _write_offset_fetch_request_topics_v8(w, topics_item)
    w(b"\0")


def _read_offset_fetch_request_group_v10(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetFetchRequestGroup, int]:
    at = "group_id"
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
        at = "member_epoch"
        member_epoch, count = _unpack_iB(data, pos)
        pos += 5
        at = "topics"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        topics: list[OffsetFetchRequestTopics] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            topics = []
            for _ in range(count):
                topics_item, pos = _read_offset_fetch_request_topics_v10(data, pos, size, limit)
                topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetFetchRequest.OffsetFetchRequestGroup", at, pos, error) from None
    return OffsetFetchRequestGroup(group_id, member_id, member_epoch, topics), pos


def _write_offset_fetch_request_group_v10(w: Append, x: OffsetFetchRequestGroup) -> None:
    group_id = x.group_id
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
    w(_pack_i(x.member_epoch))
    if topics is None:
        w(b"\0")
    else:
        count = len(topics) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for topics_item in topics:
            _write_offset_fetch_request_topics_v10(w, topics_item)
    w(b"\0")


def _read_offset_fetch_request_v8(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetFetchRequest, int]:
    at = "groups"
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
        groups: list[OffsetFetchRequestGroup] = []
        for _ in range(count):
            groups_item, pos = _read_offset_fetch_request_group_v8(data, pos, size, limit)
            groups.append(groups_item)
        at = "require_stable"
        require_stable, tags = _unpack_TB(data, pos)
        pos += 2
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetFetchRequest", at, pos, error) from None
    return OffsetFetchRequest("", EMPTY, groups, require_stable), pos


def _write_offset_fetch_request_v8(w: Append, x: OffsetFetchRequest) -> None:
    if x.group_id != "":
        raise unsupported_field("OffsetFetchRequest", "group_id", "8")
    if x.topics is None or x.topics:
        raise unsupported_field("OffsetFetchRequest", "topics", "8")
    groups = x.groups
    count = len(groups) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for groups_item in groups:
        _write_offset_fetch_request_group_v8(w, groups_item)
    w(_pack_Tx(x.require_stable))


def _read_offset_fetch_request_v9(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetFetchRequest, int]:
    at = "groups"
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
        groups: list[OffsetFetchRequestGroup] = []
        for _ in range(count):
            groups_item, pos = _read_offset_fetch_request_group_v9(data, pos, size, limit)
            groups.append(groups_item)
        at = "require_stable"
        require_stable, tags = _unpack_TB(data, pos)
        pos += 2
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetFetchRequest", at, pos, error) from None
    return OffsetFetchRequest("", EMPTY, groups, require_stable), pos


def _write_offset_fetch_request_v9(w: Append, x: OffsetFetchRequest) -> None:
    if x.group_id != "":
        raise unsupported_field("OffsetFetchRequest", "group_id", "9")
    if x.topics is None or x.topics:
        raise unsupported_field("OffsetFetchRequest", "topics", "9")
    groups = x.groups
    count = len(groups) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for groups_item in groups:
        _write_offset_fetch_request_group_v9(w, groups_item)
    w(_pack_Tx(x.require_stable))


def _read_offset_fetch_request_v10(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetFetchRequest, int]:
    at = "groups"
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
        groups: list[OffsetFetchRequestGroup] = []
        for _ in range(count):
            groups_item, pos = _read_offset_fetch_request_group_v10(data, pos, size, limit)
            groups.append(groups_item)
        at = "require_stable"
        require_stable, tags = _unpack_TB(data, pos)
        pos += 2
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetFetchRequest", at, pos, error) from None
    return OffsetFetchRequest("", EMPTY, groups, require_stable), pos


def _write_offset_fetch_request_v10(w: Append, x: OffsetFetchRequest) -> None:
    if x.group_id != "":
        raise unsupported_field("OffsetFetchRequest", "group_id", "10")
    if x.topics is None or x.topics:
        raise unsupported_field("OffsetFetchRequest", "topics", "10")
    groups = x.groups
    count = len(groups) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for groups_item in groups:
        _write_offset_fetch_request_group_v10(w, groups_item)
    w(_pack_Tx(x.require_stable))
OffsetFetchRequest._READERS = {
    1: _read_offset_fetch_request_v1,
    2: _read_offset_fetch_request_v2,
    3: _read_offset_fetch_request_v2,
    4: _read_offset_fetch_request_v2,
    5: _read_offset_fetch_request_v2,
    6: _read_offset_fetch_request_v6,
    7: _read_offset_fetch_request_v7,
    8: _read_offset_fetch_request_v8,
    9: _read_offset_fetch_request_v9,
    10: _read_offset_fetch_request_v10,
}
OffsetFetchRequest._WRITERS = {
    1: _write_offset_fetch_request_v1,
    2: _write_offset_fetch_request_v2,
    3: _write_offset_fetch_request_v2,
    4: _write_offset_fetch_request_v2,
    5: _write_offset_fetch_request_v2,
    6: _write_offset_fetch_request_v6,
    7: _write_offset_fetch_request_v7,
    8: _write_offset_fetch_request_v8,
    9: _write_offset_fetch_request_v9,
    10: _write_offset_fetch_request_v10,
}
