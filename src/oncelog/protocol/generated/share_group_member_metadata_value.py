# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations


from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail



class ShareGroupMemberMetadataValue(Message):
    API_KEY = 10
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("rack_id", "client_id", "client_host", "subscribed_topic_names")

    def __init__(
        self,
        rack_id: str | None = "",  # 0+
        client_id: str = "",  # 0+
        client_host: str = "",  # 0+
        subscribed_topic_names: list[str] = EMPTY,  # 0+
    ) -> None:
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is EMPTY else subscribed_topic_names


def _read_share_group_member_metadata_value_v0(data: bytes, pos: int, size: int) -> tuple[ShareGroupMemberMetadataValue, int]:
    at = "rack_id"
    try:
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
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareGroupMemberMetadataValue", at, pos, error) from None
    return ShareGroupMemberMetadataValue(rack_id, client_id, client_host, subscribed_topic_names), pos


def _write_share_group_member_metadata_value_v0(w: Append, x: ShareGroupMemberMetadataValue) -> None:
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
    w(b"\0")
ShareGroupMemberMetadataValue._READERS = {
    0: _read_share_group_member_metadata_value_v0,
}
ShareGroupMemberMetadataValue._WRITERS = {
    0: _write_share_group_member_metadata_value_v0,
}
