# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_q = _Struct(">q").pack
_pack_qx = _Struct(">qx").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_q = _Struct(">q").unpack_from
_unpack_qB = _Struct(">qB").unpack_from


class CreatableRenewers(Struct):
    __slots__ = ("principal_type", "principal_name")

    def __init__(
        self,
        principal_type: str = "",  # 0+
        principal_name: str = "",  # 0+
    ) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name


class CreateDelegationTokenRequest(Message):
    API_KEY = 38
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    __slots__ = ("owner_principal_type", "owner_principal_name", "renewers", "max_lifetime_ms")

    def __init__(
        self,
        owner_principal_type: str | None = "",  # 3+
        owner_principal_name: str | None = "",  # 3+
        renewers: list[CreatableRenewers] = EMPTY,  # 0+
        max_lifetime_ms: int = 0,  # 0+
    ) -> None:
        self.owner_principal_type = owner_principal_type
        self.owner_principal_name = owner_principal_name
        self.renewers = [] if renewers is EMPTY else renewers
        self.max_lifetime_ms = max_lifetime_ms


def _read_creatable_renewers_v1(data: bytes, pos: int, size: int) -> tuple[CreatableRenewers, int]:
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
        raise malformed("CreateDelegationTokenRequest.CreatableRenewers", at, pos, error) from None
    return CreatableRenewers(principal_type, principal_name), pos


def _write_creatable_renewers_v1(w: Append, x: CreatableRenewers) -> None:
    principal_type = x.principal_type
    principal_type_bytes = principal_type.encode()
    w(_pack_h(len(principal_type_bytes)))
    w(principal_type_bytes)
    principal_name = x.principal_name
    principal_name_bytes = principal_name.encode()
    w(_pack_h(len(principal_name_bytes)))
    w(principal_name_bytes)


def _read_creatable_renewers_v2(data: bytes, pos: int, size: int) -> tuple[CreatableRenewers, int]:
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
        raise malformed("CreateDelegationTokenRequest.CreatableRenewers", at, pos, error) from None
    return CreatableRenewers(principal_type, principal_name), pos


def _write_creatable_renewers_v2(w: Append, x: CreatableRenewers) -> None:
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


def _read_create_delegation_token_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[CreateDelegationTokenRequest, int]:
    at = "renewers"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        renewers: list[CreatableRenewers] = []
        for _ in range(count):
            renewers_item, pos = _read_creatable_renewers_v1(data, pos, size)
            renewers.append(renewers_item)
        at = "max_lifetime_ms"
        max_lifetime_ms, = _unpack_q(data, pos)
        pos += 8
    except READ_ERRORS as error:
        raise malformed("CreateDelegationTokenRequest", at, pos, error) from None
    return CreateDelegationTokenRequest("", "", renewers, max_lifetime_ms), pos


def _write_create_delegation_token_request_v1(w: Append, x: CreateDelegationTokenRequest) -> None:
    if x.owner_principal_type != "":
        raise unsupported_field("CreateDelegationTokenRequest", "owner_principal_type", "1")
    if x.owner_principal_name != "":
        raise unsupported_field("CreateDelegationTokenRequest", "owner_principal_name", "1")
    renewers = x.renewers
    w(_pack_i(len(renewers)))
    for renewers_item in renewers:
        _write_creatable_renewers_v1(w, renewers_item)
    w(_pack_q(x.max_lifetime_ms))


def _read_create_delegation_token_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[CreateDelegationTokenRequest, int]:
    at = "renewers"
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
        renewers: list[CreatableRenewers] = []
        for _ in range(count):
            renewers_item, pos = _read_creatable_renewers_v2(data, pos, size)
            renewers.append(renewers_item)
        at = "max_lifetime_ms"
        max_lifetime_ms, tags = _unpack_qB(data, pos)
        pos += 9
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("CreateDelegationTokenRequest", at, pos, error) from None
    return CreateDelegationTokenRequest("", "", renewers, max_lifetime_ms), pos


def _write_create_delegation_token_request_v2(w: Append, x: CreateDelegationTokenRequest) -> None:
    if x.owner_principal_type != "":
        raise unsupported_field("CreateDelegationTokenRequest", "owner_principal_type", "2")
    if x.owner_principal_name != "":
        raise unsupported_field("CreateDelegationTokenRequest", "owner_principal_name", "2")
    renewers = x.renewers
    count = len(renewers) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for renewers_item in renewers:
        _write_creatable_renewers_v2(w, renewers_item)
    w(_pack_qx(x.max_lifetime_ms))


def _read_create_delegation_token_request_v3(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[CreateDelegationTokenRequest, int]:
    at = "owner_principal_type"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        owner_principal_type: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            owner_principal_type = data[pos:end].decode()
            pos = end
        at = "owner_principal_name"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        owner_principal_name: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            owner_principal_name = data[pos:end].decode()
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
        if limit is not None:
            limit.take(count)
        renewers: list[CreatableRenewers] = []
        for _ in range(count):
            renewers_item, pos = _read_creatable_renewers_v2(data, pos, size)
            renewers.append(renewers_item)
        at = "max_lifetime_ms"
        max_lifetime_ms, tags = _unpack_qB(data, pos)
        pos += 9
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("CreateDelegationTokenRequest", at, pos, error) from None
    return CreateDelegationTokenRequest(owner_principal_type, owner_principal_name, renewers, max_lifetime_ms), pos


def _write_create_delegation_token_request_v3(w: Append, x: CreateDelegationTokenRequest) -> None:
    owner_principal_type = x.owner_principal_type
    if owner_principal_type is None:
        w(b"\0")
    else:
        owner_principal_type_bytes = owner_principal_type.encode()
        count = len(owner_principal_type_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(owner_principal_type_bytes)
    owner_principal_name = x.owner_principal_name
    if owner_principal_name is None:
        w(b"\0")
    else:
        owner_principal_name_bytes = owner_principal_name.encode()
        count = len(owner_principal_name_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(owner_principal_name_bytes)
    renewers = x.renewers
    count = len(renewers) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for renewers_item in renewers:
        _write_creatable_renewers_v2(w, renewers_item)
    w(_pack_qx(x.max_lifetime_ms))
CreateDelegationTokenRequest._READERS = {
    1: _read_create_delegation_token_request_v1,
    2: _read_create_delegation_token_request_v2,
    3: _read_create_delegation_token_request_v3,
}
CreateDelegationTokenRequest._WRITERS = {
    1: _write_create_delegation_token_request_v1,
    2: _write_create_delegation_token_request_v2,
    3: _write_create_delegation_token_request_v3,
}
