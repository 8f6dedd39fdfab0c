# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_hB = _Struct(">hB").pack
_pack_hi = _Struct(">hi").pack
_pack_i = _Struct(">i").pack
_pack_ix = _Struct(">ix").pack
_pack_qqq = _Struct(">qqq").pack
_pack_qqqB = _Struct(">qqqB").pack
_pack_qqqh = _Struct(">qqqh").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_hB = _Struct(">hB").unpack_from
_unpack_hi = _Struct(">hi").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_qqqB = _Struct(">qqqB").unpack_from
_unpack_qqqh = _Struct(">qqqh").unpack_from


class DescribedDelegationTokenRenewer(Struct):
    __slots__ = ("principal_type", "principal_name")

    def __init__(
        self,
        principal_type: str = "",  # 0+
        principal_name: str = "",  # 0+
    ) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name


class DescribedDelegationToken(Struct):
    __slots__ = ("principal_type", "principal_name", "token_requester_principal_type", "token_requester_principal_name", "issue_timestamp", "expiry_timestamp", "max_timestamp", "token_id", "hmac", "renewers")

    def __init__(
        self,
        principal_type: str = "",  # 0+
        principal_name: str = "",  # 0+
        token_requester_principal_type: str = "",  # 3+
        token_requester_principal_name: str = "",  # 3+
        issue_timestamp: int = 0,  # 0+
        expiry_timestamp: int = 0,  # 0+
        max_timestamp: int = 0,  # 0+
        token_id: str = "",  # 0+
        hmac: bytes = b"",  # 0+
        renewers: list[DescribedDelegationTokenRenewer] = EMPTY,  # 0+
    ) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.token_requester_principal_type = token_requester_principal_type
        self.token_requester_principal_name = token_requester_principal_name
        self.issue_timestamp = issue_timestamp
        self.expiry_timestamp = expiry_timestamp
        self.max_timestamp = max_timestamp
        self.token_id = token_id
        self.hmac = hmac
        self.renewers = [] if renewers is EMPTY else renewers


class DescribeDelegationTokenResponse(Message):
    API_KEY = 41
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    __slots__ = ("error_code", "tokens", "throttle_time_ms")

    def __init__(
        self,
        error_code: int = 0,  # 0+
        tokens: list[DescribedDelegationToken] = EMPTY,  # 0+
        throttle_time_ms: int = 0,  # 0+
    ) -> None:
        self.error_code = error_code
        self.tokens = [] if tokens is EMPTY else tokens
        self.throttle_time_ms = throttle_time_ms


def _read_described_delegation_token_renewer_v1(data: bytes, pos: int, size: int) -> tuple[DescribedDelegationTokenRenewer, int]:
    at = "principal_type"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
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
    except READ_ERRORS as error:
        raise malformed("DescribeDelegationTokenResponse.DescribedDelegationTokenRenewer", at, pos, error) from None
    return DescribedDelegationTokenRenewer(principal_type, principal_name), pos


def _write_described_delegation_token_renewer_v1(w: Append, x: DescribedDelegationTokenRenewer) -> None:
    principal_type = x.principal_type
    principal_type_bytes = principal_type.encode()
    w(_pack_h(len(principal_type_bytes)))
    w(principal_type_bytes)
    principal_name = x.principal_name
    principal_name_bytes = principal_name.encode()
    w(_pack_h(len(principal_name_bytes)))
    w(principal_name_bytes)


def _read_described_delegation_token_renewer_v2(data: bytes, pos: int, size: int) -> tuple[DescribedDelegationTokenRenewer, int]:
    at = "principal_type"
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
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeDelegationTokenResponse.DescribedDelegationTokenRenewer", at, pos, error) from None
    return DescribedDelegationTokenRenewer(principal_type, principal_name), pos


def _write_described_delegation_token_renewer_v2(w: Append, x: DescribedDelegationTokenRenewer) -> None:
    principal_type = x.principal_type
    principal_type_bytes = principal_type.encode()
    count = len(principal_type_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(principal_type_bytes)
    principal_name = x.principal_name
    principal_name_bytes = principal_name.encode()
    count = len(principal_name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(principal_name_bytes)
    w(b"\0")


def _read_described_delegation_token_v1(data: bytes, pos: int, size: int) -> tuple[DescribedDelegationToken, int]:
    at = "principal_type"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
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
        at = "issue_timestamp"
        issue_timestamp, expiry_timestamp, max_timestamp, count = _unpack_qqqh(data, pos)
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
        at = "renewers"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        renewers: list[DescribedDelegationTokenRenewer] = []
        for _ in range(count):
            renewers_item, pos = _read_described_delegation_token_renewer_v1(data, pos, size)
            renewers.append(renewers_item)
    except READ_ERRORS as error:
        raise malformed("DescribeDelegationTokenResponse.DescribedDelegationToken", at, pos, error) from None
    return DescribedDelegationToken(principal_type, principal_name, "", "", issue_timestamp, expiry_timestamp, max_timestamp, token_id, hmac, renewers), pos


def _write_described_delegation_token_v1(w: Append, x: DescribedDelegationToken) -> None:
    if x.token_requester_principal_type != "":
        raise unsupported_field("DescribeDelegationTokenResponse.DescribedDelegationToken", "token_requester_principal_type", "1")
    if x.token_requester_principal_name != "":
        raise unsupported_field("DescribeDelegationTokenResponse.DescribedDelegationToken", "token_requester_principal_name", "1")
    principal_type = x.principal_type
    principal_type_bytes = principal_type.encode()
    w(_pack_h(len(principal_type_bytes)))
    w(principal_type_bytes)
    principal_name = x.principal_name
    principal_name_bytes = principal_name.encode()
    w(_pack_h(len(principal_name_bytes)))
    w(principal_name_bytes)
    token_id = x.token_id
    token_id_bytes = token_id.encode()
    w(_pack_qqqh(x.issue_timestamp, x.expiry_timestamp, x.max_timestamp, len(token_id_bytes)))
    w(token_id_bytes)
    hmac = x.hmac
    w(_pack_i(len(hmac)))
    w(hmac)
    renewers = x.renewers
    w(_pack_i(len(renewers)))
    for renewers_item in renewers:
        _write_described_delegation_token_renewer_v1(w, renewers_item)


def _read_described_delegation_token_v2(data: bytes, pos: int, size: int) -> tuple[DescribedDelegationToken, int]:
    at = "principal_type"
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
        at = "issue_timestamp"
        issue_timestamp, expiry_timestamp, max_timestamp, count = _unpack_qqqB(data, pos)
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
        at = "renewers"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        renewers: list[DescribedDelegationTokenRenewer] = []
        for _ in range(count):
            renewers_item, pos = _read_described_delegation_token_renewer_v2(data, pos, size)
            renewers.append(renewers_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeDelegationTokenResponse.DescribedDelegationToken", at, pos, error) from None
    return DescribedDelegationToken(principal_type, principal_name, "", "", issue_timestamp, expiry_timestamp, max_timestamp, token_id, hmac, renewers), pos


def _write_described_delegation_token_v2(w: Append, x: DescribedDelegationToken) -> None:
    if x.token_requester_principal_type != "":
        raise unsupported_field("DescribeDelegationTokenResponse.DescribedDelegationToken", "token_requester_principal_type", "2")
    if x.token_requester_principal_name != "":
        raise unsupported_field("DescribeDelegationTokenResponse.DescribedDelegationToken", "token_requester_principal_name", "2")
    principal_type = x.principal_type
    principal_type_bytes = principal_type.encode()
    count = len(principal_type_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(principal_type_bytes)
    principal_name = x.principal_name
    principal_name_bytes = principal_name.encode()
    count = len(principal_name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(principal_name_bytes)
    token_id = x.token_id
    token_id_bytes = token_id.encode()
    count = len(token_id_bytes) + 1
    w(_pack_qqqB(x.issue_timestamp, x.expiry_timestamp, x.max_timestamp, count) if count < 128 else _pack_qqq(x.issue_timestamp, x.expiry_timestamp, x.max_timestamp) + string_length(count))
    w(token_id_bytes)
    hmac = x.hmac
    count = len(hmac) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(hmac)
    renewers = x.renewers
    count = len(renewers) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for renewers_item in renewers:
        _write_described_delegation_token_renewer_v2(w, renewers_item)
    w(b"\0")


def _read_described_delegation_token_v3(data: bytes, pos: int, size: int) -> tuple[DescribedDelegationToken, int]:
    at = "principal_type"
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
        at = "issue_timestamp"
        issue_timestamp, expiry_timestamp, max_timestamp, count = _unpack_qqqB(data, pos)
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
        at = "renewers"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        renewers: list[DescribedDelegationTokenRenewer] = []
        for _ in range(count):
            renewers_item, pos = _read_described_delegation_token_renewer_v2(data, pos, size)
            renewers.append(renewers_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeDelegationTokenResponse.DescribedDelegationToken", at, pos, error) from None
    return DescribedDelegationToken(principal_type, principal_name, token_requester_principal_type, token_requester_principal_name, issue_timestamp, expiry_timestamp, max_timestamp, token_id, hmac, renewers), pos


def _write_described_delegation_token_v3(w: Append, x: DescribedDelegationToken) -> None:
    principal_type = x.principal_type
    principal_type_bytes = principal_type.encode()
    count = len(principal_type_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
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
    w(_pack_qqqB(x.issue_timestamp, x.expiry_timestamp, x.max_timestamp, count) if count < 128 else _pack_qqq(x.issue_timestamp, x.expiry_timestamp, x.max_timestamp) + string_length(count))
    w(token_id_bytes)
    hmac = x.hmac
    count = len(hmac) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(hmac)
    renewers = x.renewers
    count = len(renewers) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for renewers_item in renewers:
        _write_described_delegation_token_renewer_v2(w, renewers_item)
    w(b"\0")


def _read_describe_delegation_token_response_v1(data: bytes, pos: int, size: int) -> tuple[DescribeDelegationTokenResponse, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hi(data, pos)
        pos += 6
        at = "tokens"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        tokens: list[DescribedDelegationToken] = []
        for _ in range(count):
            tokens_item, pos = _read_described_delegation_token_v1(data, pos, size)
            tokens.append(tokens_item)
        at = "throttle_time_ms"
        throttle_time_ms, = _unpack_i(data, pos)
        pos += 4
    except READ_ERRORS as error:
        raise malformed("DescribeDelegationTokenResponse", at, pos, error) from None
    return DescribeDelegationTokenResponse(error_code, tokens, throttle_time_ms), pos


def _write_describe_delegation_token_response_v1(w: Append, x: DescribeDelegationTokenResponse) -> None:
    tokens = x.tokens
    w(_pack_hi(x.error_code, len(tokens)))
    for tokens_item in tokens:
        _write_described_delegation_token_v1(w, tokens_item)
    w(_pack_i(x.throttle_time_ms))


def _read_describe_delegation_token_response_v2(data: bytes, pos: int, size: int) -> tuple[DescribeDelegationTokenResponse, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hB(data, pos)
        pos += 3
        at = "tokens"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        tokens: list[DescribedDelegationToken] = []
        for _ in range(count):
            tokens_item, pos = _read_described_delegation_token_v2(data, pos, size)
            tokens.append(tokens_item)
        at = "throttle_time_ms"
        throttle_time_ms, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeDelegationTokenResponse", at, pos, error) from None
    return DescribeDelegationTokenResponse(error_code, tokens, throttle_time_ms), pos


def _write_describe_delegation_token_response_v2(w: Append, x: DescribeDelegationTokenResponse) -> None:
    tokens = x.tokens
    count = len(tokens) + 1
    w(_pack_hB(x.error_code, count) if count < 128 else _pack_h(x.error_code) + uvarint(count))
    for tokens_item in tokens:
        _write_described_delegation_token_v2(w, tokens_item)
    w(_pack_ix(x.throttle_time_ms))


def _read_describe_delegation_token_response_v3(data: bytes, pos: int, size: int) -> tuple[DescribeDelegationTokenResponse, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hB(data, pos)
        pos += 3
        at = "tokens"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        tokens: list[DescribedDelegationToken] = []
        for _ in range(count):
            tokens_item, pos = _read_described_delegation_token_v3(data, pos, size)
            tokens.append(tokens_item)
        at = "throttle_time_ms"
        throttle_time_ms, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeDelegationTokenResponse", at, pos, error) from None
    return DescribeDelegationTokenResponse(error_code, tokens, throttle_time_ms), pos


def _write_describe_delegation_token_response_v3(w: Append, x: DescribeDelegationTokenResponse) -> None:
    tokens = x.tokens
    count = len(tokens) + 1
    w(_pack_hB(x.error_code, count) if count < 128 else _pack_h(x.error_code) + uvarint(count))
    for tokens_item in tokens:
        _write_described_delegation_token_v3(w, tokens_item)
    w(_pack_ix(x.throttle_time_ms))
DescribeDelegationTokenResponse._READERS = {
    1: _read_describe_delegation_token_response_v1,
    2: _read_describe_delegation_token_response_v2,
    3: _read_describe_delegation_token_response_v3,
}
DescribeDelegationTokenResponse._WRITERS = {
    1: _write_describe_delegation_token_response_v1,
    2: _write_describe_delegation_token_response_v2,
    3: _write_describe_delegation_token_response_v3,
}
