# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, VARINT, Append, ElementLimit, Message, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_i = _Struct(">i").pack
_unpack_iB = _Struct(">iB").unpack_from


class ShareGroupHeartbeatRequest(Message):
    API_KEY = 76
    MIN_VERSION = 1
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    __slots__ = ("group_id", "member_id", "member_epoch", "rack_id", "subscribed_topic_names")

    def __init__(
        self,
        group_id: str = "",  # 0+
        member_id: str = "",  # 0+
        member_epoch: int = 0,  # 0+
        rack_id: str | None = None,  # 0+
        subscribed_topic_names: list[str] | None = None,  # 0+
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.rack_id = rack_id
        self.subscribed_topic_names = subscribed_topic_names


def _read_share_group_heartbeat_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ShareGroupHeartbeatRequest, int]:
    at = "group_id"
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
        group_id = data[pos:end].decode()
        pos = end
        at = "member_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        member_id = data[pos:end].decode()
        pos = end
        at = "member_epoch"
        member_epoch, count = _unpack_iB(data, pos)
        pos += 5
        at = "rack_id"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        rack_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            rack_id = data[pos:end].decode()
            pos = end
        at = "subscribed_topic_names"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        subscribed_topic_names: list[str] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            subscribed_topic_names = []
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
        raise malformed("ShareGroupHeartbeatRequest", at, pos, error) from None
    return ShareGroupHeartbeatRequest(group_id, member_id, member_epoch, rack_id, subscribed_topic_names), pos


def _write_share_group_heartbeat_request_v1(w: Append, x: ShareGroupHeartbeatRequest) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    count = len(member_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(member_id_bytes)
    rack_id = x.rack_id
    w(_pack_i(x.member_epoch))
    if rack_id is None:
        w(b"\0")
    else:
        rack_id_bytes = rack_id.encode()
        count = len(rack_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(rack_id_bytes)
    subscribed_topic_names = x.subscribed_topic_names
    if subscribed_topic_names is None:
        w(b"\0")
    else:
        count = len(subscribed_topic_names) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for subscribed_topic_names_item in subscribed_topic_names:
            subscribed_topic_names_item_bytes = subscribed_topic_names_item.encode()
            count = len(subscribed_topic_names_item_bytes) + 1
            w(VARINT[count] if count < 128 else string_length(count))
            w(subscribed_topic_names_item_bytes)
    w(b"\0")
ShareGroupHeartbeatRequest._READERS = {
    1: _read_share_group_heartbeat_request_v1,
}
ShareGroupHeartbeatRequest._WRITERS = {
    1: _write_share_group_heartbeat_request_v1,
}
