# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, ZERO_UUID, Append, ElementLimit, Message, Struct, Uuid, bad_uuid, malformed, null_field, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_T = _Struct(">?").pack
_pack_TTT = _Struct(">???").pack
_pack_TTTx = _Struct(">???x").pack
_pack_TTx = _Struct(">??x").pack
_pack_U = _Struct(">16s").pack
_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_unpack_T = _Struct(">?").unpack_from
_unpack_TTB = _Struct(">??B").unpack_from
_unpack_TTT = _Struct(">???").unpack_from
_unpack_TTTB = _Struct(">???B").unpack_from
_unpack_UB = _Struct(">16sB").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from


class MetadataRequestTopic(Struct):
    __slots__ = ("topic_id", "name")

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,  # 10+, ignorable
        name: str | None = "",  # 0+
    ) -> None:
        self.topic_id = topic_id
        self.name = name


class MetadataRequest(Message):
    API_KEY = 3
    MIN_VERSION = 0
    MAX_VERSION = 13
    FLEXIBLE_FROM = 9
    __slots__ = ("topics", "allow_auto_topic_creation", "include_cluster_authorized_operations", "include_topic_authorized_operations")

    def __init__(
        self,
        topics: list[MetadataRequestTopic] | None = EMPTY,  # 0+
        allow_auto_topic_creation: bool = True,  # 4+
        include_cluster_authorized_operations: bool = False,  # 8-10
        include_topic_authorized_operations: bool = False,  # 8+
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.allow_auto_topic_creation = allow_auto_topic_creation
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.include_topic_authorized_operations = include_topic_authorized_operations


def _read_metadata_request_topic_v0(data: bytes, pos: int, size: int) -> tuple[MetadataRequestTopic, int]:
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
    except READ_ERRORS as error:
        raise malformed("MetadataRequest.MetadataRequestTopic", at, pos, error) from None
    return MetadataRequestTopic(ZERO_UUID, name), pos


def _write_metadata_request_topic_v0(w: Append, x: MetadataRequestTopic) -> None:
    name = x.name
    if name is None:
        raise null_field("MetadataRequest.MetadataRequestTopic", "name", "0-8")
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)


def _read_metadata_request_topic_v9(data: bytes, pos: int, size: int) -> tuple[MetadataRequestTopic, int]:
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
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("MetadataRequest.MetadataRequestTopic", at, pos, error) from None
    return MetadataRequestTopic(ZERO_UUID, name), pos


def _write_metadata_request_topic_v9(w: Append, x: MetadataRequestTopic) -> None:
    name = x.name
    if name is None:
        raise null_field("MetadataRequest.MetadataRequestTopic", "name", "9")
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    w(b"\0")


def _read_metadata_request_topic_v10(data: bytes, pos: int, size: int) -> tuple[MetadataRequestTopic, int]:
    at = "topic_id"
    try:
        topic_id, count = _unpack_UB(data, pos)
        pos += 17
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
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("MetadataRequest.MetadataRequestTopic", at, pos, error) from None
    return MetadataRequestTopic(topic_id, name), pos


def _write_metadata_request_topic_v10(w: Append, x: MetadataRequestTopic) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("MetadataRequest", "topic_id", topic_id)
    name = x.name
    w(_pack_U(topic_id))
    if name is None:
        w(b"\0")
    else:
        name_bytes = name.encode()
        count = len(name_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(name_bytes)
    w(b"\0")


def _read_metadata_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[MetadataRequest, int]:
    at = "topics"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[MetadataRequestTopic] = []
        for _ in range(count):
            topics_item, pos = _read_metadata_request_topic_v0(data, pos, size)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("MetadataRequest", at, pos, error) from None
    return MetadataRequest(topics, True, False, False), pos


def _write_metadata_request_v0(w: Append, x: MetadataRequest) -> None:
    if not x.allow_auto_topic_creation:
        raise unsupported_field("MetadataRequest", "allow_auto_topic_creation", "0")
    if x.include_cluster_authorized_operations:
        raise unsupported_field("MetadataRequest", "include_cluster_authorized_operations", "0")
    if x.include_topic_authorized_operations:
        raise unsupported_field("MetadataRequest", "include_topic_authorized_operations", "0")
    topics = x.topics
    if topics is None:
        raise null_field("MetadataRequest", "topics", "0")
    w(_pack_i(len(topics)))
    for topics_item in topics:
        _write_metadata_request_topic_v0(w, topics_item)


def _read_metadata_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[MetadataRequest, int]:
    at = "topics"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        topics: list[MetadataRequestTopic] | None = None
        if count >= 0:
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            topics = []
            for _ in range(count):
                topics_item, pos = _read_metadata_request_topic_v0(data, pos, size)
                topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("MetadataRequest", at, pos, error) from None
    return MetadataRequest(topics, True, False, False), pos


def _write_metadata_request_v1(w: Append, x: MetadataRequest) -> None:
    if not x.allow_auto_topic_creation:
        raise unsupported_field("MetadataRequest", "allow_auto_topic_creation", "1-3")
    if x.include_cluster_authorized_operations:
        raise unsupported_field("MetadataRequest", "include_cluster_authorized_operations", "1-3")
    if x.include_topic_authorized_operations:
        raise unsupported_field("MetadataRequest", "include_topic_authorized_operations", "1-3")
    topics = x.topics
    w(_pack_i(-1 if topics is None else len(topics)))
    if topics is not None:
        for topics_item in topics:
            _write_metadata_request_topic_v0(w, topics_item)


def _read_metadata_request_v4(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[MetadataRequest, int]:
    at = "topics"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        topics: list[MetadataRequestTopic] | None = None
        if count >= 0:
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            topics = []
            for _ in range(count):
                topics_item, pos = _read_metadata_request_topic_v0(data, pos, size)
                topics.append(topics_item)
        at = "allow_auto_topic_creation"
        allow_auto_topic_creation, = _unpack_T(data, pos)
        pos += 1
    except READ_ERRORS as error:
        raise malformed("MetadataRequest", at, pos, error) from None
    return MetadataRequest(topics, allow_auto_topic_creation, False, False), pos


def _write_metadata_request_v4(w: Append, x: MetadataRequest) -> None:
    if x.include_cluster_authorized_operations:
        raise unsupported_field("MetadataRequest", "include_cluster_authorized_operations", "4-7")
    if x.include_topic_authorized_operations:
        raise unsupported_field("MetadataRequest", "include_topic_authorized_operations", "4-7")
    topics = x.topics
    w(_pack_i(-1 if topics is None else len(topics)))
    if topics is not None:
        for topics_item in topics:
            _write_metadata_request_topic_v0(w, topics_item)
    w(_pack_T(x.allow_auto_topic_creation))


def _read_metadata_request_v8(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[MetadataRequest, int]:
    at = "topics"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        topics: list[MetadataRequestTopic] | None = None
        if count >= 0:
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            topics = []
            for _ in range(count):
                topics_item, pos = _read_metadata_request_topic_v0(data, pos, size)
                topics.append(topics_item)
        at = "allow_auto_topic_creation"
        allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations = _unpack_TTT(data, pos)
        pos += 3
    except READ_ERRORS as error:
        raise malformed("MetadataRequest", at, pos, error) from None
    return MetadataRequest(topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations), pos


def _write_metadata_request_v8(w: Append, x: MetadataRequest) -> None:
    topics = x.topics
    w(_pack_i(-1 if topics is None else len(topics)))
    if topics is not None:
        for topics_item in topics:
            _write_metadata_request_topic_v0(w, topics_item)
    w(_pack_TTT(x.allow_auto_topic_creation, x.include_cluster_authorized_operations, x.include_topic_authorized_operations))


def _read_metadata_request_v9(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[MetadataRequest, int]:
    at = "topics"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        topics: list[MetadataRequestTopic] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            topics = []
            for _ in range(count):
                topics_item, pos = _read_metadata_request_topic_v9(data, pos, size)
                topics.append(topics_item)
        at = "allow_auto_topic_creation"
        allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations, tags = _unpack_TTTB(data, pos)
        pos += 4
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("MetadataRequest", at, pos, error) from None
    return MetadataRequest(topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations), pos


def _write_metadata_request_v9(w: Append, x: MetadataRequest) -> None:
    topics = x.topics
    if topics is None:
        w(b"\0")
    else:
        count = len(topics) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for topics_item in topics:
            _write_metadata_request_topic_v9(w, topics_item)
    w(_pack_TTTx(x.allow_auto_topic_creation, x.include_cluster_authorized_operations, x.include_topic_authorized_operations))


def _read_metadata_request_v10(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[MetadataRequest, int]:
    at = "topics"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        topics: list[MetadataRequestTopic] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            topics = []
            for _ in range(count):
                topics_item, pos = _read_metadata_request_topic_v10(data, pos, size)
                topics.append(topics_item)
        at = "allow_auto_topic_creation"
        allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations, tags = _unpack_TTTB(data, pos)
        pos += 4
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("MetadataRequest", at, pos, error) from None
    return MetadataRequest(topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations), pos


def _write_metadata_request_v10(w: Append, x: MetadataRequest) -> None:
    topics = x.topics
    if topics is None:
        w(b"\0")
    else:
        count = len(topics) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for topics_item in topics:
            _write_metadata_request_topic_v10(w, topics_item)
    w(_pack_TTTx(x.allow_auto_topic_creation, x.include_cluster_authorized_operations, x.include_topic_authorized_operations))


def _read_metadata_request_v11(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[MetadataRequest, int]:
    at = "topics"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        topics: list[MetadataRequestTopic] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            topics = []
            for _ in range(count):
                topics_item, pos = _read_metadata_request_topic_v10(data, pos, size)
                topics.append(topics_item)
        at = "allow_auto_topic_creation"
        allow_auto_topic_creation, include_topic_authorized_operations, tags = _unpack_TTB(data, pos)
        pos += 3
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("MetadataRequest", at, pos, error) from None
    return MetadataRequest(topics, allow_auto_topic_creation, False, include_topic_authorized_operations), pos


def _write_metadata_request_v11(w: Append, x: MetadataRequest) -> None:
    if x.include_cluster_authorized_operations:
        raise unsupported_field("MetadataRequest", "include_cluster_authorized_operations", "11-13")
    topics = x.topics
    if topics is None:
        w(b"\0")
    else:
        count = len(topics) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for topics_item in topics:
            _write_metadata_request_topic_v10(w, topics_item)
    w(_pack_TTx(x.allow_auto_topic_creation, x.include_topic_authorized_operations))
MetadataRequest._READERS = {
    0: _read_metadata_request_v0,
    1: _read_metadata_request_v1,
    2: _read_metadata_request_v1,
    3: _read_metadata_request_v1,
    4: _read_metadata_request_v4,
    5: _read_metadata_request_v4,
    6: _read_metadata_request_v4,
    7: _read_metadata_request_v4,
    8: _read_metadata_request_v8,
    9: _read_metadata_request_v9,
    10: _read_metadata_request_v10,
    11: _read_metadata_request_v11,
    12: _read_metadata_request_v11,
    13: _read_metadata_request_v11,
}
MetadataRequest._WRITERS = {
    0: _write_metadata_request_v0,
    1: _write_metadata_request_v1,
    2: _write_metadata_request_v1,
    3: _write_metadata_request_v1,
    4: _write_metadata_request_v4,
    5: _write_metadata_request_v4,
    6: _write_metadata_request_v4,
    7: _write_metadata_request_v4,
    8: _write_metadata_request_v8,
    9: _write_metadata_request_v9,
    10: _write_metadata_request_v10,
    11: _write_metadata_request_v11,
    12: _write_metadata_request_v11,
    13: _write_metadata_request_v11,
}
