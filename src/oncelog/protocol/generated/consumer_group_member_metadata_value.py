# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, UNSET, VARINT, Append, Buffer, Message, Struct, malformed, many_tags, null_value, overrun, read_uvarint, skip_tags, string_length, string_length_tail, tag_size, uvarint, uvarint_tail, write_tags

_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_unpack_iB = _Struct(">iB").unpack_from


class ClassicProtocol(Struct):
    __slots__ = ("name", "metadata")

    def __init__(
        self,
        name: str = "",  # 0+
        metadata: bytes = b"",  # 0+
    ) -> None:
        self.name = name
        self.metadata = metadata


class ClassicMemberMetadata(Struct):
    __slots__ = ("session_timeout_ms", "supported_protocols")

    def __init__(
        self,
        session_timeout_ms: int = 0,  # 0+
        supported_protocols: list[ClassicProtocol] = EMPTY,  # 0+
    ) -> None:
        self.session_timeout_ms = session_timeout_ms
        self.supported_protocols = [] if supported_protocols is EMPTY else supported_protocols


class ConsumerGroupMemberMetadataValue(Message):
    API_KEY = 5
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("instance_id", "rack_id", "client_id", "client_host", "subscribed_topic_names", "subscribed_topic_regex", "rebalance_timeout_ms", "server_assignor", "classic_member_metadata")

    def __init__(
        self,
        instance_id: str | None = "",  # 0+
        rack_id: str | None = "",  # 0+
        client_id: str = "",  # 0+
        client_host: str = "",  # 0+
        subscribed_topic_names: list[str] = EMPTY,  # 0+
        subscribed_topic_regex: str | None = "",  # 0+
        rebalance_timeout_ms: int = -1,  # 0+
        server_assignor: str | None = "",  # 0+
        classic_member_metadata: ClassicMemberMetadata | None = UNSET,  # 0+, tag 0
    ) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is EMPTY else subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.server_assignor = server_assignor
        self.classic_member_metadata = ClassicMemberMetadata() if classic_member_metadata is UNSET else classic_member_metadata


def _read_classic_protocol_v0(data: bytes, pos: int, size: int) -> tuple[ClassicProtocol, int]:
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
        at = "metadata"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        metadata = data[pos:end]
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ConsumerGroupMemberMetadataValue.ClassicProtocol", at, pos, error) from None
    return ClassicProtocol(name, metadata), pos


def _write_classic_protocol_v0(w: Append, x: ClassicProtocol) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    metadata = x.metadata
    count = len(metadata) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(metadata)
    w(b"\0")


def _read_classic_member_metadata_v0(data: bytes, pos: int, size: int) -> tuple[ClassicMemberMetadata, int]:
    at = "session_timeout_ms"
    try:
        session_timeout_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "supported_protocols"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        supported_protocols: list[ClassicProtocol] = []
        for _ in range(count):
            supported_protocols_item, pos = _read_classic_protocol_v0(data, pos, size)
            supported_protocols.append(supported_protocols_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ConsumerGroupMemberMetadataValue.ClassicMemberMetadata", at, pos, error) from None
    return ClassicMemberMetadata(session_timeout_ms, supported_protocols), pos


def _write_classic_member_metadata_v0(w: Append, x: ClassicMemberMetadata) -> None:
    supported_protocols = x.supported_protocols
    count = len(supported_protocols) + 1
    w(_pack_iB(x.session_timeout_ms, count) if count < 128 else _pack_i(x.session_timeout_ms) + uvarint(count))
    for supported_protocols_item in supported_protocols:
        _write_classic_protocol_v0(w, supported_protocols_item)
    w(b"\0")


def _read_consumer_group_member_metadata_value_v0(data: bytes, pos: int, size: int) -> tuple[ConsumerGroupMemberMetadataValue, int]:
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
        at = "subscribed_topic_names"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        subscribed_topic_names: list[str] = []
        for _ in range(count):
            count = data[pos]
            pos += 1
            if count > 127:
                count, pos = string_length_tail(data, pos, count)
            if not count:
                raise null_value(count)
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            subscribed_topic_names_item = data[pos:end].decode()
            pos = end
            subscribed_topic_names.append(subscribed_topic_names_item)
        at = "subscribed_topic_regex"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        subscribed_topic_regex: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            subscribed_topic_regex = data[pos:end].decode()
            pos = end
        at = "rebalance_timeout_ms"
        rebalance_timeout_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "server_assignor"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        server_assignor: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            server_assignor = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        classic_member_metadata: ClassicMemberMetadata | None = ClassicMemberMetadata()
        if tags:
            if tags > 127:
                tags, pos = many_tags(data, pos, tags)
            for _ in range(tags):
                at = "tagged fields"
                tag, pos = read_uvarint(data, pos)
                length, pos = read_uvarint(data, pos)
                tag_end = pos + length
                if tag_end > size:
                    raise overrun(length, size - pos)
                if tag == 0:
                    present, pos = read_uvarint(data, pos)
                    classic_member_metadata = None
                    if present:
                        classic_member_metadata, pos = _read_classic_member_metadata_v0(data, pos, size)
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("ConsumerGroupMemberMetadataValue", at, pos, error) from None
    return ConsumerGroupMemberMetadataValue(instance_id, rack_id, client_id, client_host, subscribed_topic_names, subscribed_topic_regex, rebalance_timeout_ms, server_assignor, classic_member_metadata), pos


def _write_consumer_group_member_metadata_value_v0(w: Append, x: ConsumerGroupMemberMetadataValue) -> None:
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
    subscribed_topic_names = x.subscribed_topic_names
    count = len(subscribed_topic_names) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for subscribed_topic_names_item in subscribed_topic_names:
        subscribed_topic_names_item_bytes = subscribed_topic_names_item.encode()
        count = len(subscribed_topic_names_item_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(subscribed_topic_names_item_bytes)
    subscribed_topic_regex = x.subscribed_topic_regex
    if subscribed_topic_regex is None:
        w(b"\0")
    else:
        subscribed_topic_regex_bytes = subscribed_topic_regex.encode()
        count = len(subscribed_topic_regex_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(subscribed_topic_regex_bytes)
    server_assignor = x.server_assignor
    w(_pack_i(x.rebalance_timeout_ms))
    if server_assignor is None:
        w(b"\0")
    else:
        server_assignor_bytes = server_assignor.encode()
        count = len(server_assignor_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(server_assignor_bytes)
    tagged: list[tuple[int, bytes]] = []
    if x.classic_member_metadata is None or x.classic_member_metadata.session_timeout_ms != 0 or x.classic_member_metadata.supported_protocols:
        classic_member_metadata_part: list[Buffer] = []
        classic_member_metadata = x.classic_member_metadata
        if classic_member_metadata is None:
            classic_member_metadata_part.append(b"\0")
        else:
            classic_member_metadata_part.append(b"\x01")
            _write_classic_member_metadata_v0(classic_member_metadata_part.append, classic_member_metadata)
        tagged.append((0, b"".join(classic_member_metadata_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")
ConsumerGroupMemberMetadataValue._READERS = {
    0: _read_consumer_group_member_metadata_value_v0,
}
ConsumerGroupMemberMetadataValue._WRITERS = {
    0: _write_consumer_group_member_metadata_value_v0,
}
