# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, VARINT, Append, Message, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_b = _Struct(">b").pack
_pack_bB = _Struct(">bB").pack
_pack_ix = _Struct(">ix").pack
_unpack_bB = _Struct(">bB").unpack_from
_unpack_iB = _Struct(">iB").unpack_from


class UserScramCredentialRecord(Message):
    API_KEY = 11
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("name", "mechanism", "salt", "stored_key", "server_key", "iterations")

    def __init__(
        self,
        name: str = "",  # 0+
        mechanism: int = 0,  # 0+
        salt: bytes = b"",  # 0+
        stored_key: bytes = b"",  # 0+
        server_key: bytes = b"",  # 0+
        iterations: int = 0,  # 0+
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.salt = salt
        self.stored_key = stored_key
        self.server_key = server_key
        self.iterations = iterations


def _read_user_scram_credential_record_v0(data: bytes, pos: int, size: int) -> tuple[UserScramCredentialRecord, int]:
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
        mechanism, count = _unpack_bB(data, pos)
        pos += 2
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
        at = "stored_key"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        stored_key = data[pos:end]
        pos = end
        at = "server_key"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        server_key = data[pos:end]
        pos = end
        at = "iterations"
        iterations, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("UserScramCredentialRecord", at, pos, error) from None
    return UserScramCredentialRecord(name, mechanism, salt, stored_key, server_key, iterations), pos


def _write_user_scram_credential_record_v0(w: Append, x: UserScramCredentialRecord) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    salt = x.salt
    count = len(salt) + 1
    w(_pack_bB(x.mechanism, count) if count < 128 else _pack_b(x.mechanism) + uvarint(count))
    w(salt)
    stored_key = x.stored_key
    count = len(stored_key) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(stored_key)
    server_key = x.server_key
    count = len(server_key) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(server_key)
    w(_pack_ix(x.iterations))
UserScramCredentialRecord._READERS = {
    0: _read_user_scram_credential_record_v0,
}
UserScramCredentialRecord._WRITERS = {
    0: _write_user_scram_credential_record_v0,
}
