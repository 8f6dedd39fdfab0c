# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, ZERO_UUID, Append, Message, Struct, Uuid, bad_uuid, malformed, null_field, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_Uh = _Struct(">16sh").pack
_pack_h = _Struct(">h").pack
_pack_hx = _Struct(">hx").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ii = _Struct(">ii").pack
_unpack_UhB = _Struct(">16shB").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_hB = _Struct(">hB").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ii = _Struct(">ii").unpack_from


class DeletableTopicResult(Struct):
    __slots__ = ("name", "topic_id", "error_code", "error_message")

    def __init__(
        self,
        name: str | None = "",  # 0+
        topic_id: Uuid = ZERO_UUID,  # 6+, ignorable
        error_code: int = 0,  # 0+
        error_message: str | None = None,  # 5+, ignorable
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message


class DeleteTopicsResponse(Message):
    API_KEY = 20
    MIN_VERSION = 1
    MAX_VERSION = 6
    FLEXIBLE_FROM = 4
    __slots__ = ("throttle_time_ms", "responses")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 1+, ignorable
        responses: list[DeletableTopicResult] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = [] if responses is EMPTY else responses


def _read_deletable_topic_result_v1(data: bytes, pos: int, size: int) -> tuple[DeletableTopicResult, int]:
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
        error_code, = _unpack_h(data, pos)
        pos += 2
    except READ_ERRORS as error:
        raise malformed("DeleteTopicsResponse.DeletableTopicResult", at, pos, error) from None
    return DeletableTopicResult(name, ZERO_UUID, error_code, None), pos


def _write_deletable_topic_result_v1(w: Append, x: DeletableTopicResult) -> None:
    name = x.name
    if name is None:
        raise null_field("DeleteTopicsResponse.DeletableTopicResult", "name", "1-3")
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    w(_pack_h(x.error_code))


def _read_deletable_topic_result_v4(data: bytes, pos: int, size: int) -> tuple[DeletableTopicResult, int]:
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
        error_code, tags = _unpack_hB(data, pos)
        pos += 3
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DeleteTopicsResponse.DeletableTopicResult", at, pos, error) from None
    return DeletableTopicResult(name, ZERO_UUID, error_code, None), pos


def _write_deletable_topic_result_v4(w: Append, x: DeletableTopicResult) -> None:
    name = x.name
    if name is None:
        raise null_field("DeleteTopicsResponse.DeletableTopicResult", "name", "4")
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    w(_pack_hx(x.error_code))


def _read_deletable_topic_result_v5(data: bytes, pos: int, size: int) -> tuple[DeletableTopicResult, int]:
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
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DeleteTopicsResponse.DeletableTopicResult", at, pos, error) from None
    return DeletableTopicResult(name, ZERO_UUID, error_code, error_message), pos


def _write_deletable_topic_result_v5(w: Append, x: DeletableTopicResult) -> None:
    name = x.name
    if name is None:
        raise null_field("DeleteTopicsResponse.DeletableTopicResult", "name", "5")
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
    w(b"\0")


def _read_deletable_topic_result_v6(data: bytes, pos: int, size: int) -> tuple[DeletableTopicResult, int]:
    at = "name"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        name: str | None = None
        if count:
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
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DeleteTopicsResponse.DeletableTopicResult", at, pos, error) from None
    return DeletableTopicResult(name, topic_id, error_code, error_message), pos


def _write_deletable_topic_result_v6(w: Append, x: DeletableTopicResult) -> None:
    name = x.name
    if name is None:
        w(b"\0")
    else:
        name_bytes = name.encode()
        count = len(name_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(name_bytes)
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("DeleteTopicsResponse", "topic_id", topic_id)
    error_message = x.error_message
    w(_pack_Uh(topic_id, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    w(b"\0")


def _read_delete_topics_response_v1(data: bytes, pos: int, size: int) -> tuple[DeleteTopicsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "responses"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        responses: list[DeletableTopicResult] = []
        for _ in range(count):
            responses_item, pos = _read_deletable_topic_result_v1(data, pos, size)
            responses.append(responses_item)
    except READ_ERRORS as error:
        raise malformed("DeleteTopicsResponse", at, pos, error) from None
    return DeleteTopicsResponse(throttle_time_ms, responses), pos


def _write_delete_topics_response_v1(w: Append, x: DeleteTopicsResponse) -> None:
    responses = x.responses
    w(_pack_ii(x.throttle_time_ms, len(responses)))
    for responses_item in responses:
        _write_deletable_topic_result_v1(w, responses_item)


def _read_delete_topics_response_v4(data: bytes, pos: int, size: int) -> tuple[DeleteTopicsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "responses"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        responses: list[DeletableTopicResult] = []
        for _ in range(count):
            responses_item, pos = _read_deletable_topic_result_v4(data, pos, size)
            responses.append(responses_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DeleteTopicsResponse", at, pos, error) from None
    return DeleteTopicsResponse(throttle_time_ms, responses), pos


def _write_delete_topics_response_v4(w: Append, x: DeleteTopicsResponse) -> None:
    responses = x.responses
    count = len(responses) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for responses_item in responses:
        _write_deletable_topic_result_v4(w, responses_item)
    w(b"\0")


def _read_delete_topics_response_v5(data: bytes, pos: int, size: int) -> tuple[DeleteTopicsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "responses"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        responses: list[DeletableTopicResult] = []
        for _ in range(count):
            responses_item, pos = _read_deletable_topic_result_v5(data, pos, size)
            responses.append(responses_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DeleteTopicsResponse", at, pos, error) from None
    return DeleteTopicsResponse(throttle_time_ms, responses), pos


def _write_delete_topics_response_v5(w: Append, x: DeleteTopicsResponse) -> None:
    responses = x.responses
    count = len(responses) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for responses_item in responses:
        _write_deletable_topic_result_v5(w, responses_item)
    w(b"\0")


def _read_delete_topics_response_v6(data: bytes, pos: int, size: int) -> tuple[DeleteTopicsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "responses"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        responses: list[DeletableTopicResult] = []
        for _ in range(count):
            responses_item, pos = _read_deletable_topic_result_v6(data, pos, size)
            responses.append(responses_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DeleteTopicsResponse", at, pos, error) from None
    return DeleteTopicsResponse(throttle_time_ms, responses), pos


def _write_delete_topics_response_v6(w: Append, x: DeleteTopicsResponse) -> None:
    responses = x.responses
    count = len(responses) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for responses_item in responses:
        _write_deletable_topic_result_v6(w, responses_item)
    w(b"\0")
DeleteTopicsResponse._READERS = {
    1: _read_delete_topics_response_v1,
    2: _read_delete_topics_response_v1,
    3: _read_delete_topics_response_v1,
    4: _read_delete_topics_response_v4,
    5: _read_delete_topics_response_v5,
    6: _read_delete_topics_response_v6,
}
DeleteTopicsResponse._WRITERS = {
    1: _write_delete_topics_response_v1,
    2: _write_delete_topics_response_v1,
    3: _write_delete_topics_response_v1,
    4: _write_delete_topics_response_v4,
    5: _write_delete_topics_response_v5,
    6: _write_delete_topics_response_v6,
}
