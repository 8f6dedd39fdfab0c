# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, ZERO_UUID, Append, Message, Struct, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_Hx = _Struct(">Hx").pack
_pack_h = _Struct(">h").pack
_pack_hB = _Struct(">hB").pack
_pack_hhx = _Struct(">hhx").pack
_pack_iU = _Struct(">i16s").pack
_pack_iUB = _Struct(">i16sB").pack
_unpack_HB = _Struct(">HB").unpack_from
_unpack_hB = _Struct(">hB").unpack_from
_unpack_hhB = _Struct(">hhB").unpack_from
_unpack_iUB = _Struct(">i16sB").unpack_from


class Endpoint(Struct):
    __slots__ = ("name", "host", "port")

    def __init__(
        self,
        name: str = "",  # 0+
        host: str = "",  # 0+
        port: int = 0,  # 0+
    ) -> None:
        self.name = name
        self.host = host
        self.port = port


class KRaftVersionFeature(Struct):
    __slots__ = ("min_supported_version", "max_supported_version")

    def __init__(
        self,
        min_supported_version: int = 0,  # 0+
        max_supported_version: int = 0,  # 0+
    ) -> None:
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version


class Voter(Struct):
    __slots__ = ("voter_id", "voter_directory_id", "endpoints", "kraft_version_feature")

    def __init__(
        self,
        voter_id: int = 0,  # 0+
        voter_directory_id: Uuid = ZERO_UUID,  # 0+
        endpoints: list[Endpoint] = EMPTY,  # 0+
        kraft_version_feature: KRaftVersionFeature | None = None,  # 0+
    ) -> None:
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.endpoints = [] if endpoints is EMPTY else endpoints
        self.kraft_version_feature = KRaftVersionFeature() if kraft_version_feature is None else kraft_version_feature


class VotersRecord(Message):
    API_KEY = -1
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("version", "voters")

    def __init__(
        self,
        version: int = 0,  # 0+
        voters: list[Voter] = EMPTY,  # 0+
    ) -> None:
        self.version = version
        self.voters = [] if voters is EMPTY else voters


def _read_endpoint_v0(data: bytes, pos: int, size: int) -> tuple[Endpoint, int]:
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
        at = "host"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        host = data[pos:end].decode()
        pos = end
        at = "port"
        port, tags = _unpack_HB(data, pos)
        pos += 3
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("VotersRecord.Endpoint", at, pos, error) from None
    return Endpoint(name, host, port), pos


def _write_endpoint_v0(w: Append, x: Endpoint) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    host = x.host
    host_bytes = host.encode()
    count = len(host_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(host_bytes)
    w(_pack_Hx(x.port))


def _read_kraft_version_feature_v0(data: bytes, pos: int, size: int) -> tuple[KRaftVersionFeature, int]:
    at = "min_supported_version"
    try:
        min_supported_version, max_supported_version, tags = _unpack_hhB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("VotersRecord.KRaftVersionFeature", at, pos, error) from None
    return KRaftVersionFeature(min_supported_version, max_supported_version), pos


def _write_kraft_version_feature_v0(w: Append, x: KRaftVersionFeature) -> None:
    w(_pack_hhx(x.min_supported_version, x.max_supported_version))


def _read_voter_v0(data: bytes, pos: int, size: int) -> tuple[Voter, int]:
    at = "voter_id"
    try:
        voter_id, voter_directory_id, count = _unpack_iUB(data, pos)
        pos += 21
        at = "endpoints"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        endpoints: list[Endpoint] = []
        for _ in range(count):
            endpoints_item, pos = _read_endpoint_v0(data, pos, size)
            endpoints.append(endpoints_item)
        at = "kraft_version_feature"
        kraft_version_feature, pos = _read_kraft_version_feature_v0(data, pos, size)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("VotersRecord.Voter", at, pos, error) from None
    return Voter(voter_id, voter_directory_id, endpoints, kraft_version_feature), pos


def _write_voter_v0(w: Append, x: Voter) -> None:
    voter_directory_id = x.voter_directory_id
    if len(voter_directory_id) != 16:
        raise bad_uuid("VotersRecord", "voter_directory_id", voter_directory_id)
    endpoints = x.endpoints
    count = len(endpoints) + 1
    w(_pack_iUB(x.voter_id, voter_directory_id, count) if count < 128 else _pack_iU(x.voter_id, voter_directory_id) + uvarint(count))
    for endpoints_item in endpoints:
        _write_endpoint_v0(w, endpoints_item)
    kraft_version_feature = x.kraft_version_feature
    _write_kraft_version_feature_v0(w, kraft_version_feature)
    w(b"\0")


def _read_voters_record_v0(data: bytes, pos: int, size: int) -> tuple[VotersRecord, int]:
    at = "version"
    try:
        version, count = _unpack_hB(data, pos)
        pos += 3
        at = "voters"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        voters: list[Voter] = []
        for _ in range(count):
            voters_item, pos = _read_voter_v0(data, pos, size)
            voters.append(voters_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("VotersRecord", at, pos, error) from None
    return VotersRecord(version, voters), pos


def _write_voters_record_v0(w: Append, x: VotersRecord) -> None:
    voters = x.voters
    count = len(voters) + 1
    w(_pack_hB(x.version, count) if count < 128 else _pack_h(x.version) + uvarint(count))
    for voters_item in voters:
        _write_voter_v0(w, voters_item)
    w(b"\0")
VotersRecord._READERS = {
    0: _read_voters_record_v0,
}
VotersRecord._WRITERS = {
    0: _write_voters_record_v0,
}
