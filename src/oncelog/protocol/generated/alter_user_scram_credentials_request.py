# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_bi = _Struct(">bi").pack
_pack_biB = _Struct(">biB").pack
_pack_bx = _Struct(">bx").pack
_unpack_bB = _Struct(">bB").unpack_from
_unpack_biB = _Struct(">biB").unpack_from


class ScramCredentialDeletion(Struct):
    __slots__ = ("name", "mechanism")

    def __init__(
        self,
        name: str = "",  # 0+
        mechanism: int = 0,  # 0+
    ) -> None:
        self.name = name
        self.mechanism = mechanism


class ScramCredentialUpsertion(Struct):
    __slots__ = ("name", "mechanism", "iterations", "salt", "salted_password")

    def __init__(
        self,
        name: str = "",  # 0+
        mechanism: int = 0,  # 0+
        iterations: int = 0,  # 0+
        salt: bytes = b"",  # 0+
        salted_password: bytes = b"",  # 0+
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.iterations = iterations
        self.salt = salt
        self.salted_password = salted_password


class AlterUserScramCredentialsRequest(Message):
    API_KEY = 51
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("deletions", "upsertions")

    def __init__(
        self,
        deletions: list[ScramCredentialDeletion] = EMPTY,  # 0+
        upsertions: list[ScramCredentialUpsertion] = EMPTY,  # 0+
    ) -> None:
        self.deletions = [] if deletions is EMPTY else deletions
        self.upsertions = [] if upsertions is EMPTY else upsertions


def _read_scram_credential_deletion_v0(data: bytes, pos: int, size: int) -> tuple[ScramCredentialDeletion, int]:
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
        at = "mechanism"
        mechanism, tags = _unpack_bB(data, pos)
        pos += 2
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterUserScramCredentialsRequest.ScramCredentialDeletion", at, pos, error) from None
    return ScramCredentialDeletion(name, mechanism), pos


def _write_scram_credential_deletion_v0(w: Append, x: ScramCredentialDeletion) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    w(_pack_bx(x.mechanism))


def _read_scram_credential_upsertion_v0(data: bytes, pos: int, size: int) -> tuple[ScramCredentialUpsertion, int]:
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
        at = "mechanism"
        mechanism, iterations, count = _unpack_biB(data, pos)
        pos += 6
        at = "salt"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        salt = data[pos:end]
        pos = end
        at = "salted_password"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        salted_password = data[pos:end]
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterUserScramCredentialsRequest.ScramCredentialUpsertion", at, pos, error) from None
    return ScramCredentialUpsertion(name, mechanism, iterations, salt, salted_password), pos


def _write_scram_credential_upsertion_v0(w: Append, x: ScramCredentialUpsertion) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    salt = x.salt
    count = len(salt) + 1
    w(_pack_biB(x.mechanism, x.iterations, count) if count < 128 else _pack_bi(x.mechanism, x.iterations) + uvarint(count))
    w(salt)
    salted_password = x.salted_password
    count = len(salted_password) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(salted_password)
    w(b"\0")


def _read_alter_user_scram_credentials_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AlterUserScramCredentialsRequest, int]:
    at = "deletions"
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
        deletions: list[ScramCredentialDeletion] = []
        for _ in range(count):
            deletions_item, pos = _read_scram_credential_deletion_v0(data, pos, size)
            deletions.append(deletions_item)
        at = "upsertions"
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
        upsertions: list[ScramCredentialUpsertion] = []
        for _ in range(count):
            upsertions_item, pos = _read_scram_credential_upsertion_v0(data, pos, size)
            upsertions.append(upsertions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterUserScramCredentialsRequest", at, pos, error) from None
    return AlterUserScramCredentialsRequest(deletions, upsertions), pos


def _write_alter_user_scram_credentials_request_v0(w: Append, x: AlterUserScramCredentialsRequest) -> None:
    deletions = x.deletions
    count = len(deletions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for deletions_item in deletions:
        _write_scram_credential_deletion_v0(w, deletions_item)
    upsertions = x.upsertions
    count = len(upsertions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for upsertions_item in upsertions:
        _write_scram_credential_upsertion_v0(w, upsertions_item)
    w(b"\0")
AlterUserScramCredentialsRequest._READERS = {
    0: _read_alter_user_scram_credentials_request_v0,
}
AlterUserScramCredentialsRequest._WRITERS = {
    0: _write_alter_user_scram_credentials_request_v0,
}
