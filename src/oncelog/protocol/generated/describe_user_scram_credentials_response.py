# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_bix = _Struct(">bix").pack
_pack_h = _Struct(">h").pack
_pack_ih = _Struct(">ih").pack
_unpack_biB = _Struct(">biB").unpack_from
_unpack_hB = _Struct(">hB").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from


class CredentialInfo(Struct):
    __slots__ = ("mechanism", "iterations")

    def __init__(
        self,
        mechanism: int = 0,  # 0+
        iterations: int = 0,  # 0+
    ) -> None:
        self.mechanism = mechanism
        self.iterations = iterations


class DescribeUserScramCredentialsResult(Struct):
    __slots__ = ("user", "error_code", "error_message", "credential_infos")

    def __init__(
        self,
        user: str = "",  # 0+
        error_code: int = 0,  # 0+
        error_message: str | None = "",  # 0+
        credential_infos: list[CredentialInfo] = EMPTY,  # 0+
    ) -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message
        self.credential_infos = [] if credential_infos is EMPTY else credential_infos


class DescribeUserScramCredentialsResponse(Message):
    API_KEY = 50
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        error_code: int = 0,  # 0+
        error_message: str | None = "",  # 0+
        results: list[DescribeUserScramCredentialsResult] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results = [] if results is EMPTY else results


def _read_credential_info_v0(data: bytes, pos: int, size: int) -> tuple[CredentialInfo, int]:
    at = "mechanism"
    try:
        mechanism, iterations, tags = _unpack_biB(data, pos)
        pos += 6
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeUserScramCredentialsResponse.CredentialInfo", at, pos, error) from None
    return CredentialInfo(mechanism, iterations), pos


def _write_credential_info_v0(w: Append, x: CredentialInfo) -> None:
    w(_pack_bix(x.mechanism, x.iterations))


def _read_describe_user_scram_credentials_result_v0(data: bytes, pos: int, size: int) -> tuple[DescribeUserScramCredentialsResult, int]:
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
        at = "credential_infos"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        credential_infos: list[CredentialInfo] = []
        for _ in range(count):
            credential_infos_item, pos = _read_credential_info_v0(data, pos, size)
            credential_infos.append(credential_infos_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult", at, pos, error) from None
    return DescribeUserScramCredentialsResult(user, error_code, error_message, credential_infos), pos


def _write_describe_user_scram_credentials_result_v0(w: Append, x: DescribeUserScramCredentialsResult) -> None:
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
    credential_infos = x.credential_infos
    count = len(credential_infos) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for credential_infos_item in credential_infos:
        _write_credential_info_v0(w, credential_infos_item)
    w(b"\0")


def _read_describe_user_scram_credentials_response_v0(data: bytes, pos: int, size: int) -> tuple[DescribeUserScramCredentialsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihB(data, pos)
        pos += 7
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
        at = "results"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        results: list[DescribeUserScramCredentialsResult] = []
        for _ in range(count):
            results_item, pos = _read_describe_user_scram_credentials_result_v0(data, pos, size)
            results.append(results_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeUserScramCredentialsResponse", at, pos, error) from None
    return DescribeUserScramCredentialsResponse(throttle_time_ms, error_code, error_message, results), pos


def _write_describe_user_scram_credentials_response_v0(w: Append, x: DescribeUserScramCredentialsResponse) -> None:
    error_message = x.error_message
    w(_pack_ih(x.throttle_time_ms, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    results = x.results
    count = len(results) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for results_item in results:
        _write_describe_user_scram_credentials_result_v0(w, results_item)
    w(b"\0")
DescribeUserScramCredentialsResponse._READERS = {
    0: _read_describe_user_scram_credentials_response_v0,
}
DescribeUserScramCredentialsResponse._WRITERS = {
    0: _write_describe_user_scram_credentials_response_v0,
}
