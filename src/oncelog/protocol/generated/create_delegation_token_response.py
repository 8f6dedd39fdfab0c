# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, VARINT, Append, Message, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_hB = _Struct(">hB").pack
_pack_hh = _Struct(">hh").pack
_pack_i = _Struct(">i").pack
_pack_ix = _Struct(">ix").pack
_pack_qqq = _Struct(">qqq").pack
_pack_qqqB = _Struct(">qqqB").pack
_pack_qqqh = _Struct(">qqqh").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_hB = _Struct(">hB").unpack_from
_unpack_hh = _Struct(">hh").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_qqqB = _Struct(">qqqB").unpack_from
_unpack_qqqh = _Struct(">qqqh").unpack_from


class CreateDelegationTokenResponse(Message):
    API_KEY = 38
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    __slots__ = ("error_code", "principal_type", "principal_name", "token_requester_principal_type", "token_requester_principal_name", "issue_timestamp_ms", "expiry_timestamp_ms", "max_timestamp_ms", "token_id", "hmac", "throttle_time_ms")

    def __init__(
        self,
        error_code: int = 0,  # 0+
        principal_type: str = "",  # 0+
        principal_name: str = "",  # 0+
        token_requester_principal_type: str = "",  # 3+
        token_requester_principal_name: str = "",  # 3+
        issue_timestamp_ms: int = 0,  # 0+
        expiry_timestamp_ms: int = 0,  # 0+
        max_timestamp_ms: int = 0,  # 0+
        token_id: str = "",  # 0+
        hmac: bytes = b"",  # 0+
        throttle_time_ms: int = 0,  # 0+
    ) -> None:
        self.error_code = error_code
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.token_requester_principal_type = token_requester_principal_type
        self.token_requester_principal_name = token_requester_principal_name
        self.issue_timestamp_ms = issue_timestamp_ms
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.max_timestamp_ms = max_timestamp_ms
        self.token_id = token_id
        self.hmac = hmac
        self.throttle_time_ms = throttle_time_ms


def _read_create_delegation_token_response_v1(data: bytes, pos: int, size: int) -> tuple[CreateDelegationTokenResponse, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hh(data, pos)
        pos += 4
        at = "principal_type"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        principal_type = data[pos:end].decode()
        pos = end
        at = "principal_name"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        principal_name = data[pos:end].decode()
        pos = end
        at = "issue_timestamp_ms"
        issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms, count = _unpack_qqqh(data, pos)
        pos += 26
        at = "token_id"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        token_id = data[pos:end].decode()
        pos = end
        at = "hmac"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        hmac = data[pos:end]
        pos = end
        at = "throttle_time_ms"
        throttle_time_ms, = _unpack_i(data, pos)
        pos += 4
    except READ_ERRORS as error:
        raise malformed("CreateDelegationTokenResponse", at, pos, error) from None
    return CreateDelegationTokenResponse(error_code, principal_type, principal_name, "", "", issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms, token_id, hmac, throttle_time_ms), pos


def _write_create_delegation_token_response_v1(w: Append, x: CreateDelegationTokenResponse) -> None:
    if x.token_requester_principal_type != "":
        raise unsupported_field("CreateDelegationTokenResponse", "token_requester_principal_type", "1")
    if x.token_requester_principal_name != "":
        raise unsupported_field("CreateDelegationTokenResponse", "token_requester_principal_name", "1")
    principal_type = x.principal_type
    principal_type_bytes = principal_type.encode()
    w(_pack_hh(x.error_code, len(principal_type_bytes)))
    w(principal_type_bytes)
    principal_name = x.principal_name
    principal_name_bytes = principal_name.encode()
    w(_pack_h(len(principal_name_bytes)))
    w(principal_name_bytes)
    token_id = x.token_id
    token_id_bytes = token_id.encode()
    w(_pack_qqqh(x.issue_timestamp_ms, x.expiry_timestamp_ms, x.max_timestamp_ms, len(token_id_bytes)))
    w(token_id_bytes)
    hmac = x.hmac
    w(_pack_i(len(hmac)))
    w(hmac)
    w(_pack_i(x.throttle_time_ms))


def _read_create_delegation_token_response_v2(data: bytes, pos: int, size: int) -> tuple[CreateDelegationTokenResponse, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hB(data, pos)
        pos += 3
        at = "principal_type"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        principal_type = data[pos:end].decode()
        pos = end
        at = "principal_name"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        principal_name = data[pos:end].decode()
        pos = end
        at = "issue_timestamp_ms"
        issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms, count = _unpack_qqqB(data, pos)
        pos += 25
        at = "token_id"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        token_id = data[pos:end].decode()
        pos = end
        at = "hmac"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        hmac = data[pos:end]
        pos = end
        at = "throttle_time_ms"
        throttle_time_ms, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("CreateDelegationTokenResponse", at, pos, error) from None
    return CreateDelegationTokenResponse(error_code, principal_type, principal_name, "", "", issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms, token_id, hmac, throttle_time_ms), pos


def _write_create_delegation_token_response_v2(w: Append, x: CreateDelegationTokenResponse) -> None:
    if x.token_requester_principal_type != "":
        raise unsupported_field("CreateDelegationTokenResponse", "token_requester_principal_type", "2")
    if x.token_requester_principal_name != "":
        raise unsupported_field("CreateDelegationTokenResponse", "token_requester_principal_name", "2")
    principal_type = x.principal_type
    principal_type_bytes = principal_type.encode()
    count = len(principal_type_bytes) + 1
    w(_pack_hB(x.error_code, count) if count < 128 else _pack_h(x.error_code) + string_length(count))
    w(principal_type_bytes)
    principal_name = x.principal_name
    principal_name_bytes = principal_name.encode()
    count = len(principal_name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(principal_name_bytes)
    token_id = x.token_id
    token_id_bytes = token_id.encode()
    count = len(token_id_bytes) + 1
    w(_pack_qqqB(x.issue_timestamp_ms, x.expiry_timestamp_ms, x.max_timestamp_ms, count) if count < 128 else _pack_qqq(x.issue_timestamp_ms, x.expiry_timestamp_ms, x.max_timestamp_ms) + string_length(count))
    w(token_id_bytes)
    hmac = x.hmac
    count = len(hmac) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(hmac)
    w(_pack_ix(x.throttle_time_ms))


def _read_create_delegation_token_response_v3(data: bytes, pos: int, size: int) -> tuple[CreateDelegationTokenResponse, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hB(data, pos)
        pos += 3
        at = "principal_type"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        principal_type = data[pos:end].decode()
        pos = end
        at = "principal_name"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        principal_name = data[pos:end].decode()
        pos = end
        at = "token_requester_principal_type"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        token_requester_principal_type = data[pos:end].decode()
        pos = end
        at = "token_requester_principal_name"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        token_requester_principal_name = data[pos:end].decode()
        pos = end
        at = "issue_timestamp_ms"
        issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms, count = _unpack_qqqB(data, pos)
        pos += 25
        at = "token_id"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        token_id = data[pos:end].decode()
        pos = end
        at = "hmac"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        hmac = data[pos:end]
        pos = end
        at = "throttle_time_ms"
        throttle_time_ms, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("CreateDelegationTokenResponse", at, pos, error) from None
    return CreateDelegationTokenResponse(error_code, principal_type, principal_name, token_requester_principal_type, token_requester_principal_name, issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms, token_id, hmac, throttle_time_ms), pos


def _write_create_delegation_token_response_v3(w: Append, x: CreateDelegationTokenResponse) -> None:
    principal_type = x.principal_type
    principal_type_bytes = principal_type.encode()
    count = len(principal_type_bytes) + 1
    w(_pack_hB(x.error_code, count) if count < 128 else _pack_h(x.error_code) + string_length(count))
    w(principal_type_bytes)
    principal_name = x.principal_name
    principal_name_bytes = principal_name.encode()
    count = len(principal_name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(principal_name_bytes)
    token_requester_principal_type = x.token_requester_principal_type
    token_requester_principal_type_bytes = token_requester_principal_type.encode()
    count = len(token_requester_principal_type_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(token_requester_principal_type_bytes)
    token_requester_principal_name = x.token_requester_principal_name
    token_requester_principal_name_bytes = token_requester_principal_name.encode()
    count = len(token_requester_principal_name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(token_requester_principal_name_bytes)
    token_id = x.token_id
    token_id_bytes = token_id.encode()
    count = len(token_id_bytes) + 1
    w(_pack_qqqB(x.issue_timestamp_ms, x.expiry_timestamp_ms, x.max_timestamp_ms, count) if count < 128 else _pack_qqq(x.issue_timestamp_ms, x.expiry_timestamp_ms, x.max_timestamp_ms) + string_length(count))
    w(token_id_bytes)
    hmac = x.hmac
    count = len(hmac) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(hmac)
    w(_pack_ix(x.throttle_time_ms))
CreateDelegationTokenResponse._READERS = {
    1: _read_create_delegation_token_response_v1,
    2: _read_create_delegation_token_response_v2,
    3: _read_create_delegation_token_response_v3,
}
CreateDelegationTokenResponse._WRITERS = {
    1: _write_create_delegation_token_response_v1,
    2: _write_create_delegation_token_response_v2,
    3: _write_create_delegation_token_response_v3,
}
