# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, VARINT, Append, ElementLimit, Message, malformed, null_value, overrun, skip_tags, string_length, string_length_tail

_pack_ix = _Struct(">ix").pack
_unpack_iB = _Struct(">iB").unpack_from


class ApiVersionsRequest(Message):
    API_KEY = 18
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3
    __slots__ = ("client_software_name", "client_software_version", "cluster_id", "node_id")

    def __init__(
        self,
        client_software_name: str = "",  # 3+, ignorable
        client_software_version: str = "",  # 3+, ignorable
        cluster_id: str | None = None,  # 5+, ignorable
        node_id: int = -1,  # 5+, ignorable
    ) -> None:
        self.client_software_name = client_software_name
        self.client_software_version = client_software_version
        self.cluster_id = cluster_id
        self.node_id = node_id


def _read_api_versions_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ApiVersionsRequest, int]:
    return ApiVersionsRequest("", "", None, -1), pos


def _write_api_versions_request_v0(w: Append, x: ApiVersionsRequest) -> None:
    pass


def _read_api_versions_request_v3(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ApiVersionsRequest, int]:
    at = "client_software_name"
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
        client_software_name = data[pos:end].decode()
        pos = end
        at = "client_software_version"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        client_software_version = data[pos:end].decode()
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ApiVersionsRequest", at, pos, error) from None
    return ApiVersionsRequest(client_software_name, client_software_version, None, -1), pos


def _write_api_versions_request_v3(w: Append, x: ApiVersionsRequest) -> None:
    client_software_name = x.client_software_name
    client_software_name_bytes = client_software_name.encode()
    count = len(client_software_name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(client_software_name_bytes)
    client_software_version = x.client_software_version
    client_software_version_bytes = client_software_version.encode()
    count = len(client_software_version_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(client_software_version_bytes)
    w(b"\0")


def _read_api_versions_request_v5(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ApiVersionsRequest, int]:
    at = "client_software_name"
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
        client_software_name = data[pos:end].decode()
        pos = end
        at = "client_software_version"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        client_software_version = data[pos:end].decode()
        pos = end
        at = "cluster_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        cluster_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            cluster_id = data[pos:end].decode()
            pos = end
        at = "node_id"
        node_id, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ApiVersionsRequest", at, pos, error) from None
    return ApiVersionsRequest(client_software_name, client_software_version, cluster_id, node_id), pos


def _write_api_versions_request_v5(w: Append, x: ApiVersionsRequest) -> None:
    client_software_name = x.client_software_name
    client_software_name_bytes = client_software_name.encode()
    count = len(client_software_name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(client_software_name_bytes)
    client_software_version = x.client_software_version
    client_software_version_bytes = client_software_version.encode()
    count = len(client_software_version_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(client_software_version_bytes)
    cluster_id = x.cluster_id
    if cluster_id is None:
        w(b"\0")
    else:
        cluster_id_bytes = cluster_id.encode()
        count = len(cluster_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(cluster_id_bytes)
    w(_pack_ix(x.node_id))
ApiVersionsRequest._READERS = {
    0: _read_api_versions_request_v0,
    1: _read_api_versions_request_v0,
    2: _read_api_versions_request_v0,
    3: _read_api_versions_request_v3,
    4: _read_api_versions_request_v3,
    5: _read_api_versions_request_v5,
}
ApiVersionsRequest._WRITERS = {
    0: _write_api_versions_request_v0,
    1: _write_api_versions_request_v0,
    2: _write_api_versions_request_v0,
    3: _write_api_versions_request_v3,
    4: _write_api_versions_request_v3,
    5: _write_api_versions_request_v5,
}
