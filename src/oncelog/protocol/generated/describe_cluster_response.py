# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_Tx = _Struct(">?x").pack
_pack_b = _Struct(">b").pack
_pack_bB = _Struct(">bB").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ih = _Struct(">ih").pack
_pack_ix = _Struct(">ix").pack
_unpack_TB = _Struct(">?B").unpack_from
_unpack_bB = _Struct(">bB").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from


class DescribeClusterBroker(Struct):
    __slots__ = ("broker_id", "host", "port", "rack", "is_fenced")

    def __init__(
        self,
        broker_id: int = 0,  # 0+
        host: str = "",  # 0+
        port: int = 0,  # 0+
        rack: str | None = None,  # 0+
        is_fenced: bool = False,  # 2+
    ) -> None:
        self.broker_id = broker_id
        self.host = host
        self.port = port
        self.rack = rack
        self.is_fenced = is_fenced


class DescribeClusterResponse(Message):
    API_KEY = 60
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "endpoint_type", "cluster_id", "controller_id", "brokers", "cluster_authorized_operations")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        error_code: int = 0,  # 0+
        error_message: str | None = None,  # 0+
        endpoint_type: int = 1,  # 1+
        cluster_id: str = "",  # 0+
        controller_id: int = -1,  # 0+
        brokers: list[DescribeClusterBroker] = EMPTY,  # 0+
        cluster_authorized_operations: int = -2147483648,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.endpoint_type = endpoint_type
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.brokers = [] if brokers is EMPTY else brokers
        self.cluster_authorized_operations = cluster_authorized_operations


def _read_describe_cluster_broker_v0(data: bytes, pos: int, size: int) -> tuple[DescribeClusterBroker, int]:
    at = "broker_id"
    try:
        broker_id, count = _unpack_iB(data, pos)
        pos += 5
        at = "host"
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
        port, count = _unpack_iB(data, pos)
        pos += 5
        at = "rack"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        rack: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            rack = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeClusterResponse.DescribeClusterBroker", at, pos, error) from None
    return DescribeClusterBroker(broker_id, host, port, rack, False), pos


def _write_describe_cluster_broker_v0(w: Append, x: DescribeClusterBroker) -> None:
    if x.is_fenced:
        raise unsupported_field("DescribeClusterResponse.DescribeClusterBroker", "is_fenced", "0-1")
    host = x.host
    host_bytes = host.encode()
    count = len(host_bytes) + 1
    w(_pack_iB(x.broker_id, count) if count < 128 else _pack_i(x.broker_id) + string_length(count))
    w(host_bytes)
    rack = x.rack
    w(_pack_i(x.port))
    if rack is None:
        w(b"\0")
    else:
        rack_bytes = rack.encode()
        count = len(rack_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(rack_bytes)
    w(b"\0")


def _read_describe_cluster_broker_v2(data: bytes, pos: int, size: int) -> tuple[DescribeClusterBroker, int]:
    at = "broker_id"
    try:
        broker_id, count = _unpack_iB(data, pos)
        pos += 5
        at = "host"
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
        port, count = _unpack_iB(data, pos)
        pos += 5
        at = "rack"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        rack: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            rack = data[pos:end].decode()
            pos = end
        at = "is_fenced"
        is_fenced, tags = _unpack_TB(data, pos)
        pos += 2
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeClusterResponse.DescribeClusterBroker", at, pos, error) from None
    return DescribeClusterBroker(broker_id, host, port, rack, is_fenced), pos


def _write_describe_cluster_broker_v2(w: Append, x: DescribeClusterBroker) -> None:
    host = x.host
    host_bytes = host.encode()
    count = len(host_bytes) + 1
    w(_pack_iB(x.broker_id, count) if count < 128 else _pack_i(x.broker_id) + string_length(count))
    w(host_bytes)
    rack = x.rack
    w(_pack_i(x.port))
    if rack is None:
        w(b"\0")
    else:
        rack_bytes = rack.encode()
        count = len(rack_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(rack_bytes)
    w(_pack_Tx(x.is_fenced))


def _read_describe_cluster_response_v0(data: bytes, pos: int, size: int) -> tuple[DescribeClusterResponse, int]:
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
        at = "cluster_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        cluster_id = data[pos:end].decode()
        pos = end
        at = "controller_id"
        controller_id, count = _unpack_iB(data, pos)
        pos += 5
        at = "brokers"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        brokers: list[DescribeClusterBroker] = []
        for _ in range(count):
            brokers_item, pos = _read_describe_cluster_broker_v0(data, pos, size)
            brokers.append(brokers_item)
        at = "cluster_authorized_operations"
        cluster_authorized_operations, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeClusterResponse", at, pos, error) from None
    return DescribeClusterResponse(throttle_time_ms, error_code, error_message, 1, cluster_id, controller_id, brokers, cluster_authorized_operations), pos


def _write_describe_cluster_response_v0(w: Append, x: DescribeClusterResponse) -> None:
    if x.endpoint_type != 1:
        raise unsupported_field("DescribeClusterResponse", "endpoint_type", "0")
    error_message = x.error_message
    w(_pack_ih(x.throttle_time_ms, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    cluster_id = x.cluster_id
    cluster_id_bytes = cluster_id.encode()
    count = len(cluster_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(cluster_id_bytes)
    brokers = x.brokers
    count = len(brokers) + 1
    w(_pack_iB(x.controller_id, count) if count < 128 else _pack_i(x.controller_id) + uvarint(count))
    for brokers_item in brokers:
        _write_describe_cluster_broker_v0(w, brokers_item)
    w(_pack_ix(x.cluster_authorized_operations))


def _read_describe_cluster_response_v1(data: bytes, pos: int, size: int) -> tuple[DescribeClusterResponse, int]:
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
        at = "endpoint_type"
        endpoint_type, count = _unpack_bB(data, pos)
        pos += 2
        at = "cluster_id"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        cluster_id = data[pos:end].decode()
        pos = end
        at = "controller_id"
        controller_id, count = _unpack_iB(data, pos)
        pos += 5
        at = "brokers"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        brokers: list[DescribeClusterBroker] = []
        for _ in range(count):
            brokers_item, pos = _read_describe_cluster_broker_v0(data, pos, size)
            brokers.append(brokers_item)
        at = "cluster_authorized_operations"
        cluster_authorized_operations, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeClusterResponse", at, pos, error) from None
    return DescribeClusterResponse(throttle_time_ms, error_code, error_message, endpoint_type, cluster_id, controller_id, brokers, cluster_authorized_operations), pos


def _write_describe_cluster_response_v1(w: Append, x: DescribeClusterResponse) -> None:
    error_message = x.error_message
    w(_pack_ih(x.throttle_time_ms, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    cluster_id = x.cluster_id
    cluster_id_bytes = cluster_id.encode()
    count = len(cluster_id_bytes) + 1
    w(_pack_bB(x.endpoint_type, count) if count < 128 else _pack_b(x.endpoint_type) + string_length(count))
    w(cluster_id_bytes)
    brokers = x.brokers
    count = len(brokers) + 1
    w(_pack_iB(x.controller_id, count) if count < 128 else _pack_i(x.controller_id) + uvarint(count))
    for brokers_item in brokers:
        _write_describe_cluster_broker_v0(w, brokers_item)
    w(_pack_ix(x.cluster_authorized_operations))


def _read_describe_cluster_response_v2(data: bytes, pos: int, size: int) -> tuple[DescribeClusterResponse, int]:
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
        at = "endpoint_type"
        endpoint_type, count = _unpack_bB(data, pos)
        pos += 2
        at = "cluster_id"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        cluster_id = data[pos:end].decode()
        pos = end
        at = "controller_id"
        controller_id, count = _unpack_iB(data, pos)
        pos += 5
        at = "brokers"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        brokers: list[DescribeClusterBroker] = []
        for _ in range(count):
            brokers_item, pos = _read_describe_cluster_broker_v2(data, pos, size)
            brokers.append(brokers_item)
        at = "cluster_authorized_operations"
        cluster_authorized_operations, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeClusterResponse", at, pos, error) from None
    return DescribeClusterResponse(throttle_time_ms, error_code, error_message, endpoint_type, cluster_id, controller_id, brokers, cluster_authorized_operations), pos


def _write_describe_cluster_response_v2(w: Append, x: DescribeClusterResponse) -> None:
    error_message = x.error_message
    w(_pack_ih(x.throttle_time_ms, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    cluster_id = x.cluster_id
    cluster_id_bytes = cluster_id.encode()
    count = len(cluster_id_bytes) + 1
    w(_pack_bB(x.endpoint_type, count) if count < 128 else _pack_b(x.endpoint_type) + string_length(count))
    w(cluster_id_bytes)
    brokers = x.brokers
    count = len(brokers) + 1
    w(_pack_iB(x.controller_id, count) if count < 128 else _pack_i(x.controller_id) + uvarint(count))
    for brokers_item in brokers:
        _write_describe_cluster_broker_v2(w, brokers_item)
    w(_pack_ix(x.cluster_authorized_operations))
DescribeClusterResponse._READERS = {
    0: _read_describe_cluster_response_v0,
    1: _read_describe_cluster_response_v1,
    2: _read_describe_cluster_response_v2,
}
DescribeClusterResponse._WRITERS = {
    0: _write_describe_cluster_response_v0,
    1: _write_describe_cluster_response_v1,
    2: _write_describe_cluster_response_v2,
}
