# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_Hx = _Struct(">Hx").pack
_pack_ii = _Struct(">ii").pack
_pack_iiB = _Struct(">iiB").pack
_unpack_HB = _Struct(">HB").unpack_from
_unpack_b = _Struct(">b").unpack_from
_unpack_iiB = _Struct(">iiB").unpack_from


class Endpoint(Struct):
    __slots__ = ("host", "port")

    def __init__(
        self,
        host: str = "",  # 0+
        port: int = 0,  # 0+
    ) -> None:
        self.host = host
        self.port = port


class KeyValue(Struct):
    __slots__ = ("key", "value")

    def __init__(
        self,
        key: str = "",  # 0+
        value: str = "",  # 0+
    ) -> None:
        self.key = key
        self.value = value


class StreamsGroupMemberMetadataValue(Message):
    API_KEY = 19
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("instance_id", "rack_id", "client_id", "client_host", "rebalance_timeout_ms", "topology_epoch", "process_id", "user_endpoint", "client_tags")

    def __init__(
        self,
        instance_id: str | None = "",  # 0+
        rack_id: str | None = "",  # 0+
        client_id: str = "",  # 0+
        client_host: str = "",  # 0+
        rebalance_timeout_ms: int = -1,  # 0+
        topology_epoch: int = 0,  # 0+
        process_id: str = "",  # 0+
        user_endpoint: Endpoint | None = None,  # 0+
        client_tags: list[KeyValue] = EMPTY,  # 0+
    ) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topology_epoch = topology_epoch
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = [] if client_tags is EMPTY else client_tags


def _read_endpoint_v0(data: bytes, pos: int, size: int) -> tuple[Endpoint, int]:
    at = "host"
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
        host = data[pos:end].decode()
        pos = end
        at = "port"
        port, tags = _unpack_HB(data, pos)
        pos += 3
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("StreamsGroupMemberMetadataValue.Endpoint", at, pos, error) from None
    return Endpoint(host, port), pos


def _write_endpoint_v0(w: Append, x: Endpoint) -> None:
    host = x.host
    host_bytes = host.encode()
    count = len(host_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(host_bytes)
    w(_pack_Hx(x.port))


def _read_key_value_v0(data: bytes, pos: int, size: int) -> tuple[KeyValue, int]:
    at = "key"
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
        key = data[pos:end].decode()
        pos = end
        at = "value"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        value_ = data[pos:end].decode()
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("StreamsGroupMemberMetadataValue.KeyValue", at, pos, error) from None
    return KeyValue(key, value_), pos


def _write_key_value_v0(w: Append, x: KeyValue) -> None:
    key = x.key
    key_bytes = key.encode()
    count = len(key_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(key_bytes)
    value_ = x.value
    value__bytes = value_.encode()
    count = len(value__bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(value__bytes)
    w(b"\0")


def _read_streams_group_member_metadata_value_v0(data: bytes, pos: int, size: int) -> tuple[StreamsGroupMemberMetadataValue, int]:
    at = "instance_id"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        instance_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            instance_id = data[pos:end].decode()
            pos = end
        at = "rack_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        rack_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            rack_id = data[pos:end].decode()
            pos = end
        at = "client_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        client_id = data[pos:end].decode()
        pos = end
        at = "client_host"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        client_host = data[pos:end].decode()
        pos = end
        at = "rebalance_timeout_ms"
        rebalance_timeout_ms, topology_epoch, count = _unpack_iiB(data, pos)
        pos += 9
        at = "process_id"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        process_id = data[pos:end].decode()
        pos = end
        at = "user_endpoint"
        present, = _unpack_b(data, pos)
        pos += 1
        user_endpoint: Endpoint | None = None
        if present >= 0:
            user_endpoint, pos = _read_endpoint_v0(data, pos, size)
        at = "client_tags"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        client_tags: list[KeyValue] = []
        for _ in range(count):
            client_tags_item, pos = _read_key_value_v0(data, pos, size)
            client_tags.append(client_tags_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("StreamsGroupMemberMetadataValue", at, pos, error) from None
    return StreamsGroupMemberMetadataValue(instance_id, rack_id, client_id, client_host, rebalance_timeout_ms, topology_epoch, process_id, user_endpoint, client_tags), pos


def _write_streams_group_member_metadata_value_v0(w: Append, x: StreamsGroupMemberMetadataValue) -> None:
    instance_id = x.instance_id
    if instance_id is None:
        w(b"\0")
    else:
        instance_id_bytes = instance_id.encode()
        count = len(instance_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(instance_id_bytes)
    rack_id = x.rack_id
    if rack_id is None:
        w(b"\0")
    else:
        rack_id_bytes = rack_id.encode()
        count = len(rack_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(rack_id_bytes)
    client_id = x.client_id
    client_id_bytes = client_id.encode()
    count = len(client_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(client_id_bytes)
    client_host = x.client_host
    client_host_bytes = client_host.encode()
    count = len(client_host_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(client_host_bytes)
    process_id = x.process_id
    process_id_bytes = process_id.encode()
    count = len(process_id_bytes) + 1
    w(_pack_iiB(x.rebalance_timeout_ms, x.topology_epoch, count) if count < 128 else _pack_ii(x.rebalance_timeout_ms, x.topology_epoch) + string_length(count))
    w(process_id_bytes)
    user_endpoint = x.user_endpoint
    if user_endpoint is None:
        w(b"\xff")
    else:
        w(b"\x01")
        _write_endpoint_v0(w, user_endpoint)
    client_tags = x.client_tags
    count = len(client_tags) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for client_tags_item in client_tags:
        _write_key_value_v0(w, client_tags_item)
    w(b"\0")
StreamsGroupMemberMetadataValue._READERS = {
    0: _read_streams_group_member_metadata_value_v0,
}
StreamsGroupMemberMetadataValue._WRITERS = {
    0: _write_streams_group_member_metadata_value_v0,
}
