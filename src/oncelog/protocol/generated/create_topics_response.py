# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, ZERO_UUID, Append, Buffer, Message, Struct, Uuid, bad_uuid, malformed, many_tags, null_value, overrun, read_uvarint, skip_tags, string_length, string_length_tail, tag_size, uvarint, uvarint_tail, write_tags

_pack_TbTx = _Struct(">?b?x").pack
_pack_Uh = _Struct(">16sh").pack
_pack_h = _Struct(">h").pack
_pack_hh = _Struct(">hh").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ih = _Struct(">ih").pack
_pack_ii = _Struct(">ii").pack
_unpack_TbTB = _Struct(">?b?B").unpack_from
_unpack_UhB = _Struct(">16shB").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_hB = _Struct(">hB").unpack_from
_unpack_hh = _Struct(">hh").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from
_unpack_ii = _Struct(">ii").unpack_from


class CreatableTopicResult(Struct):
    __slots__ = ("name", "topic_id", "error_code", "error_message", "topic_config_error_code", "num_partitions", "replication_factor", "configs")

    def __init__(
        self,
        name: str = "",  # 0+
        topic_id: Uuid = ZERO_UUID,  # 7+, ignorable
        error_code: int = 0,  # 0+
        error_message: str | None = "",  # 1+, ignorable
        topic_config_error_code: int = 0,  # 5+, tag 0, ignorable
        num_partitions: int = -1,  # 5+, ignorable
        replication_factor: int = -1,  # 5+, ignorable
        configs: list[CreatableTopicConfigs] | None = EMPTY,  # 5+, ignorable
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message
        self.topic_config_error_code = topic_config_error_code
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.configs = [] if configs is EMPTY else configs


class CreatableTopicConfigs(Struct):
    __slots__ = ("name", "value", "read_only", "config_source", "is_sensitive")

    def __init__(
        self,
        name: str = "",  # 5+
        value: str | None = "",  # 5+
        read_only: bool = False,  # 5+
        config_source: int = -1,  # 5+, ignorable
        is_sensitive: bool = False,  # 5+
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive


class CreateTopicsResponse(Message):
    API_KEY = 19
    MIN_VERSION = 2
    MAX_VERSION = 7
    FLEXIBLE_FROM = 5
    __slots__ = ("throttle_time_ms", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 2+, ignorable
        topics: list[CreatableTopicResult] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics


def _read_creatable_topic_result_v2(data: bytes, pos: int, size: int) -> tuple[CreatableTopicResult, int]:
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
        at = "error_code"
        error_code, count = _unpack_hh(data, pos)
        pos += 4
        at = "error_message"
        error_message: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            error_message = data[pos:end].decode()
            pos = end
    except READ_ERRORS as error:
        raise malformed("CreateTopicsResponse.CreatableTopicResult", at, pos, error) from None
    return CreatableTopicResult(name, ZERO_UUID, error_code, error_message, 0, -1, -1, EMPTY), pos


def _write_creatable_topic_result_v2(w: Append, x: CreatableTopicResult) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    error_message = x.error_message
    error_message_bytes = b"" if error_message is None else error_message.encode()
    w(_pack_hh(x.error_code, -1 if error_message is None else len(error_message_bytes)))
    w(error_message_bytes)


def _read_creatable_topic_configs_v5(data: bytes, pos: int, size: int) -> tuple[CreatableTopicConfigs, int]:
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
        at = "value"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        value_: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            value_ = data[pos:end].decode()
            pos = end
        at = "read_only"
        read_only, config_source, is_sensitive, tags = _unpack_TbTB(data, pos)
        pos += 4
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("CreateTopicsResponse.CreatableTopicConfigs", at, pos, error) from None
    return CreatableTopicConfigs(name, value_, read_only, config_source, is_sensitive), pos


def _write_creatable_topic_configs_v5(w: Append, x: CreatableTopicConfigs) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    value_ = x.value
    if value_ is None:
        w(b"\0")
    else:
        value__bytes = value_.encode()
        count = len(value__bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(value__bytes)
    w(_pack_TbTx(x.read_only, x.config_source, x.is_sensitive))


def _read_create_topics_response_v2(data: bytes, pos: int, size: int) -> tuple[CreateTopicsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[CreatableTopicResult] = []
        for _ in range(count):
            topics_item, pos = _read_creatable_topic_result_v2(data, pos, size)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("CreateTopicsResponse", at, pos, error) from None
    return CreateTopicsResponse(throttle_time_ms, topics), pos


def _write_create_topics_response_v2(w: Append, x: CreateTopicsResponse) -> None:
    topics = x.topics
    w(_pack_ii(x.throttle_time_ms, len(topics)))
    for topics_item in topics:
        _write_creatable_topic_result_v2(w, topics_item)


def _read_creatable_topic_result_v5(data: bytes, pos: int, size: int) -> tuple[CreatableTopicResult, int]:
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
        at = "error_code"
        error_code, count = _unpack_hB(data, pos)
        pos += 3
        at = "error_message"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        error_message: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "num_partitions"
        num_partitions, replication_factor, count = _unpack_ihB(data, pos)
        pos += 7
        at = "configs"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        configs: list[CreatableTopicConfigs] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            configs = []
            for _ in range(count):
                configs_item, pos = _read_creatable_topic_configs_v5(data, pos, size)
                configs.append(configs_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        topic_config_error_code: int = 0
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
                    at = "topic_config_error_code"
                    topic_config_error_code, = _unpack_h(data, pos)
                    pos += 2
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("CreateTopicsResponse.CreatableTopicResult", at, pos, error) from None
    return CreatableTopicResult(name, ZERO_UUID, error_code, error_message, topic_config_error_code, num_partitions, replication_factor, configs), pos


def _write_creatable_topic_result_v5(w: Append, x: CreatableTopicResult) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    error_message = x.error_message
    w(_pack_h(x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    configs = x.configs
    w(_pack_ih(x.num_partitions, x.replication_factor))
    if configs is None:
        w(b"\0")
    else:
        count = len(configs) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for configs_item in configs:
            _write_creatable_topic_configs_v5(w, configs_item)
    tagged: list[tuple[int, bytes]] = []
    if x.topic_config_error_code != 0:
        topic_config_error_code_part: list[Buffer] = []
        topic_config_error_code_part.append(_pack_h(x.topic_config_error_code))
        tagged.append((0, b"".join(topic_config_error_code_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")


def _read_creatable_topic_result_v7(data: bytes, pos: int, size: int) -> tuple[CreatableTopicResult, int]:
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
        at = "topic_id"
        topic_id, error_code, count = _unpack_UhB(data, pos)
        pos += 19
        at = "error_message"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        error_message: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "num_partitions"
        num_partitions, replication_factor, count = _unpack_ihB(data, pos)
        pos += 7
        at = "configs"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        configs: list[CreatableTopicConfigs] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            configs = []
            for _ in range(count):
                configs_item, pos = _read_creatable_topic_configs_v5(data, pos, size)
                configs.append(configs_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        topic_config_error_code: int = 0
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
                    at = "topic_config_error_code"
                    topic_config_error_code, = _unpack_h(data, pos)
                    pos += 2
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("CreateTopicsResponse.CreatableTopicResult", at, pos, error) from None
    return CreatableTopicResult(name, topic_id, error_code, error_message, topic_config_error_code, num_partitions, replication_factor, configs), pos


def _write_creatable_topic_result_v7(w: Append, x: CreatableTopicResult) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("CreateTopicsResponse", "topic_id", topic_id)
    error_message = x.error_message
    w(_pack_Uh(topic_id, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    configs = x.configs
    w(_pack_ih(x.num_partitions, x.replication_factor))
    if configs is None:
        w(b"\0")
    else:
        count = len(configs) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for configs_item in configs:
            _write_creatable_topic_configs_v5(w, configs_item)
    tagged: list[tuple[int, bytes]] = []
    if x.topic_config_error_code != 0:
        topic_config_error_code_part: list[Buffer] = []
        topic_config_error_code_part.append(_pack_h(x.topic_config_error_code))
        tagged.append((0, b"".join(topic_config_error_code_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")


def _read_create_topics_response_v5(data: bytes, pos: int, size: int) -> tuple[CreateTopicsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "topics"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[CreatableTopicResult] = []
        for _ in range(count):
            topics_item, pos = _read_creatable_topic_result_v5(data, pos, size)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("CreateTopicsResponse", at, pos, error) from None
    return CreateTopicsResponse(throttle_time_ms, topics), pos


def _write_create_topics_response_v5(w: Append, x: CreateTopicsResponse) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for topics_item in topics:
        _write_creatable_topic_result_v5(w, topics_item)
    w(b"\0")


def _read_create_topics_response_v7(data: bytes, pos: int, size: int) -> tuple[CreateTopicsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "topics"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[CreatableTopicResult] = []
        for _ in range(count):
            topics_item, pos = _read_creatable_topic_result_v7(data, pos, size)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("CreateTopicsResponse", at, pos, error) from None
    return CreateTopicsResponse(throttle_time_ms, topics), pos


def _write_create_topics_response_v7(w: Append, x: CreateTopicsResponse) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for topics_item in topics:
        _write_creatable_topic_result_v7(w, topics_item)
    w(b"\0")
CreateTopicsResponse._READERS = {
    2: _read_create_topics_response_v2,
    3: _read_create_topics_response_v2,
    4: _read_create_topics_response_v2,
    5: _read_create_topics_response_v5,
    6: _read_create_topics_response_v5,
    7: _read_create_topics_response_v7,
}
CreateTopicsResponse._WRITERS = {
    2: _write_create_topics_response_v2,
    3: _write_create_topics_response_v2,
    4: _write_create_topics_response_v2,
    5: _write_create_topics_response_v5,
    6: _write_create_topics_response_v5,
    7: _write_create_topics_response_v7,
}
