# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from


class DescribeDelegationTokenOwner(Struct):
    __slots__ = ("principal_type", "principal_name")

    def __init__(
        self,
        principal_type: str = "",  # 0+
        principal_name: str = "",  # 0+
    ) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name


class DescribeDelegationTokenRequest(Message):
    API_KEY = 41
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    __slots__ = ("owners",)

    def __init__(
        self,
        owners: list[DescribeDelegationTokenOwner] | None = EMPTY,  # 0+
    ) -> None:
        self.owners = [] if owners is EMPTY else owners


def _read_describe_delegation_token_owner_v1(data: bytes, pos: int, size: int) -> tuple[DescribeDelegationTokenOwner, int]:
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
        raise malformed("DescribeDelegationTokenRequest.DescribeDelegationTokenOwner", at, pos, error) from None
    return DescribeDelegationTokenOwner(principal_type, principal_name), pos


def _write_describe_delegation_token_owner_v1(w: Append, x: DescribeDelegationTokenOwner) -> None:
    principal_type = x.principal_type
    principal_type_bytes = principal_type.encode()
    w(_pack_h(len(principal_type_bytes)))
    w(principal_type_bytes)
    principal_name = x.principal_name
    principal_name_bytes = principal_name.encode()
    w(_pack_h(len(principal_name_bytes)))
    w(principal_name_bytes)


def _read_describe_delegation_token_owner_v2(data: bytes, pos: int, size: int) -> tuple[DescribeDelegationTokenOwner, int]:
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
        raise malformed("DescribeDelegationTokenRequest.DescribeDelegationTokenOwner", at, pos, error) from None
    return DescribeDelegationTokenOwner(principal_type, principal_name), pos


def _write_describe_delegation_token_owner_v2(w: Append, x: DescribeDelegationTokenOwner) -> None:
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


def _read_describe_delegation_token_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeDelegationTokenRequest, int]:
    at = "owners"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        owners: list[DescribeDelegationTokenOwner] | None = None
        if count >= 0:
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            owners = []
            for _ in range(count):
                owners_item, pos = _read_describe_delegation_token_owner_v1(data, pos, size)
                owners.append(owners_item)
    except READ_ERRORS as error:
        raise malformed("DescribeDelegationTokenRequest", at, pos, error) from None
    return DescribeDelegationTokenRequest(owners), pos


def _write_describe_delegation_token_request_v1(w: Append, x: DescribeDelegationTokenRequest) -> None:
    owners = x.owners
    w(_pack_i(-1 if owners is None else len(owners)))
    if owners is not None:
        for owners_item in owners:
            _write_describe_delegation_token_owner_v1(w, owners_item)


def _read_describe_delegation_token_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeDelegationTokenRequest, int]:
    at = "owners"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        owners: list[DescribeDelegationTokenOwner] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            owners = []
            for _ in range(count):
                owners_item, pos = _read_describe_delegation_token_owner_v2(data, pos, size)
                owners.append(owners_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeDelegationTokenRequest", at, pos, error) from None
    return DescribeDelegationTokenRequest(owners), pos


def _write_describe_delegation_token_request_v2(w: Append, x: DescribeDelegationTokenRequest) -> None:
    owners = x.owners
    if owners is None:
        w(b"\0")
    else:
        count = len(owners) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for owners_item in owners:
            _write_describe_delegation_token_owner_v2(w, owners_item)
    w(b"\0")
DescribeDelegationTokenRequest._READERS = {
    1: _read_describe_delegation_token_request_v1,
    2: _read_describe_delegation_token_request_v2,
    3: _read_describe_delegation_token_request_v2,
}
DescribeDelegationTokenRequest._WRITERS = {
    1: _write_describe_delegation_token_request_v1,
    2: _write_describe_delegation_token_request_v2,
    3: _write_describe_delegation_token_request_v2,
}
