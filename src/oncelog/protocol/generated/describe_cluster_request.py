# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, ElementLimit, Message, malformed, skip_tags, unsupported_field

_pack_TbTx = _Struct(">?b?x").pack
_pack_Tbx = _Struct(">?bx").pack
_pack_Tx = _Struct(">?x").pack
_unpack_TB = _Struct(">?B").unpack_from
_unpack_TbB = _Struct(">?bB").unpack_from
_unpack_TbTB = _Struct(">?b?B").unpack_from


class DescribeClusterRequest(Message):
    API_KEY = 60
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    __slots__ = ("include_cluster_authorized_operations", "endpoint_type", "include_fenced_brokers")

    def __init__(
        self,
        include_cluster_authorized_operations: bool = False,  # 0+
        endpoint_type: int = 1,  # 1+
        include_fenced_brokers: bool = False,  # 2+
    ) -> None:
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.endpoint_type = endpoint_type
        self.include_fenced_brokers = include_fenced_brokers


def _read_describe_cluster_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeClusterRequest, int]:
    at = "include_cluster_authorized_operations"
    try:
        include_cluster_authorized_operations, tags = _unpack_TB(data, pos)
        pos += 2
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeClusterRequest", at, pos, error) from None
    return DescribeClusterRequest(include_cluster_authorized_operations, 1, False), pos


def _write_describe_cluster_request_v0(w: Append, x: DescribeClusterRequest) -> None:
    if x.endpoint_type != 1:
        raise unsupported_field("DescribeClusterRequest", "endpoint_type", "0")
    if x.include_fenced_brokers:
        raise unsupported_field("DescribeClusterRequest", "include_fenced_brokers", "0")
    w(_pack_Tx(x.include_cluster_authorized_operations))


def _read_describe_cluster_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeClusterRequest, int]:
    at = "include_cluster_authorized_operations"
    try:
        include_cluster_authorized_operations, endpoint_type, tags = _unpack_TbB(data, pos)
        pos += 3
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeClusterRequest", at, pos, error) from None
    return DescribeClusterRequest(include_cluster_authorized_operations, endpoint_type, False), pos


def _write_describe_cluster_request_v1(w: Append, x: DescribeClusterRequest) -> None:
    if x.include_fenced_brokers:
        raise unsupported_field("DescribeClusterRequest", "include_fenced_brokers", "1")
    w(_pack_Tbx(x.include_cluster_authorized_operations, x.endpoint_type))


def _read_describe_cluster_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeClusterRequest, int]:
    at = "include_cluster_authorized_operations"
    try:
        include_cluster_authorized_operations, endpoint_type, include_fenced_brokers, tags = _unpack_TbTB(data, pos)
        pos += 4
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeClusterRequest", at, pos, error) from None
    return DescribeClusterRequest(include_cluster_authorized_operations, endpoint_type, include_fenced_brokers), pos


def _write_describe_cluster_request_v2(w: Append, x: DescribeClusterRequest) -> None:
    w(_pack_TbTx(x.include_cluster_authorized_operations, x.endpoint_type, x.include_fenced_brokers))
DescribeClusterRequest._READERS = {
    0: _read_describe_cluster_request_v0,
    1: _read_describe_cluster_request_v1,
    2: _read_describe_cluster_request_v2,
}
DescribeClusterRequest._WRITERS = {
    0: _write_describe_cluster_request_v0,
    1: _write_describe_cluster_request_v1,
    2: _write_describe_cluster_request_v2,
}
