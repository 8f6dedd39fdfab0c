# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_unpack_hB = _Struct(">hB").unpack_from
_unpack_iB = _Struct(">iB").unpack_from


class AlterUserScramCredentialsResult(Struct):
    __slots__ = ("user", "error_code", "error_message")

    def __init__(
        self,
        user: str = "",  # 0+
        error_code: int = 0,  # 0+
        error_message: str | None = "",  # 0+
    ) -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message


class AlterUserScramCredentialsResponse(Message):
    API_KEY = 51
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("throttle_time_ms", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        results: list[AlterUserScramCredentialsResult] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is EMPTY else results


def _read_alter_user_scram_credentials_result_v0(data: bytes, pos: int, size: int) -> tuple[AlterUserScramCredentialsResult, int]:
    at = "user"
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
        user = data[pos:end].decode()
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
        raise malformed("AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult", at, pos, error) from None
    return AlterUserScramCredentialsResult(user, error_code, error_message), pos


def _write_alter_user_scram_credentials_result_v0(w: Append, x: AlterUserScramCredentialsResult) -> None:
    user = x.user
    user_bytes = user.encode()
    count = len(user_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(user_bytes)
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


def _read_alter_user_scram_credentials_response_v0(data: bytes, pos: int, size: int) -> tuple[AlterUserScramCredentialsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "results"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        results: list[AlterUserScramCredentialsResult] = []
        for _ in range(count):
            results_item, pos = _read_alter_user_scram_credentials_result_v0(data, pos, size)
            results.append(results_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterUserScramCredentialsResponse", at, pos, error) from None
    return AlterUserScramCredentialsResponse(throttle_time_ms, results), pos


def _write_alter_user_scram_credentials_response_v0(w: Append, x: AlterUserScramCredentialsResponse) -> None:
    results = x.results
    count = len(results) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for results_item in results:
        _write_alter_user_scram_credentials_result_v0(w, results_item)
    w(b"\0")
AlterUserScramCredentialsResponse._READERS = {
    0: _read_alter_user_scram_credentials_response_v0,
}
AlterUserScramCredentialsResponse._WRITERS = {
    0: _write_alter_user_scram_credentials_response_v0,
}
