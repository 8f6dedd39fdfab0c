# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, ZERO_UUID, Append, ElementLimit, Message, Struct, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_U = _Struct(">16s").pack
_pack_UB = _Struct(">16sB").pack
_pack_i = _Struct(">i").pack
_unpack_UB = _Struct(">16sB").unpack_from
_unpack_iB = _Struct(">iB").unpack_from


class TopicPartitions(Struct):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,  # 0+
        partitions: list[int] = EMPTY,  # 0+
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class ConsumerGroupHeartbeatRequest(Message):
    API_KEY = 68
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    __slots__ = ("group_id", "member_id", "member_epoch", "instance_id", "rack_id", "rebalance_timeout_ms", "subscribed_topic_names", "subscribed_topic_regex", "server_assignor", "topic_partitions")

    def __init__(
        self,
        group_id: str = "",  # 0+
        member_id: str = "",  # 0+
        member_epoch: int = 0,  # 0+
        instance_id: str | None = None,  # 0+
        rack_id: str | None = None,  # 0+
        rebalance_timeout_ms: int = -1,  # 0+
        subscribed_topic_names: list[str] | None = None,  # 0+
        subscribed_topic_regex: str | None = None,  # 1+
        server_assignor: str | None = None,  # 0+
        topic_partitions: list[TopicPartitions] | None = None,  # 0+
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.subscribed_topic_names = subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.server_assignor = server_assignor
        self.topic_partitions = topic_partitions


def _read_topic_partitions_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[TopicPartitions, int]:
    at = "topic_id"
    try:
        topic_id, count = _unpack_UB(data, pos)
        pos += 17
        at = "partitions"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        if limit is not None:
            limit.take(count)
        partitions: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ConsumerGroupHeartbeatRequest.TopicPartitions", at, pos, error) from None
    return TopicPartitions(topic_id, partitions), pos


def _write_topic_partitions_v0(w: Append, x: TopicPartitions) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("ConsumerGroupHeartbeatRequest", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))
    w(b"\0")


def _read_consumer_group_heartbeat_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ConsumerGroupHeartbeatRequest, int]:
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
        at = "instance_id"
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
        at = "rebalance_timeout_ms"
        rebalance_timeout_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "subscribed_topic_names"
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
        at = "server_assignor"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        server_assignor: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            server_assignor = data[pos:end].decode()
            pos = end
        at = "topic_partitions"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        topic_partitions: list[TopicPartitions] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            topic_partitions = []
            for _ in range(count):
                topic_partitions_item, pos = _read_topic_partitions_v0(data, pos, size, limit)
                topic_partitions.append(topic_partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ConsumerGroupHeartbeatRequest", at, pos, error) from None
    return ConsumerGroupHeartbeatRequest(group_id, member_id, member_epoch, instance_id, rack_id, rebalance_timeout_ms, subscribed_topic_names, None, server_assignor, topic_partitions), pos


def _write_consumer_group_heartbeat_request_v0(w: Append, x: ConsumerGroupHeartbeatRequest) -> None:
    if x.subscribed_topic_regex is not None:
        raise unsupported_field("ConsumerGroupHeartbeatRequest", "subscribed_topic_regex", "0")
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
    instance_id = x.instance_id
    w(_pack_i(x.member_epoch))
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
    subscribed_topic_names = x.subscribed_topic_names
    w(_pack_i(x.rebalance_timeout_ms))
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
    server_assignor = x.server_assignor
    if server_assignor is None:
        w(b"\0")
    else:
        server_assignor_bytes = server_assignor.encode()
        count = len(server_assignor_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(server_assignor_bytes)
    topic_partitions = x.topic_partitions
    if topic_partitions is None:
        w(b"\0")
    else:
        count = len(topic_partitions) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for topic_partitions_item in topic_partitions:
            _write_topic_partitions_v0(w, topic_partitions_item)
    w(b"\0")


def _read_consumer_group_heartbeat_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ConsumerGroupHeartbeatRequest, int]:
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
        at = "instance_id"
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
        at = "rebalance_timeout_ms"
        rebalance_timeout_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "subscribed_topic_names"
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
        at = "server_assignor"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        server_assignor: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            server_assignor = data[pos:end].decode()
            pos = end
        at = "topic_partitions"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        topic_partitions: list[TopicPartitions] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            topic_partitions = []
            for _ in range(count):
                topic_partitions_item, pos = _read_topic_partitions_v0(data, pos, size, limit)
                topic_partitions.append(topic_partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ConsumerGroupHeartbeatRequest", at, pos, error) from None
    return ConsumerGroupHeartbeatRequest(group_id, member_id, member_epoch, instance_id, rack_id, rebalance_timeout_ms, subscribed_topic_names, subscribed_topic_regex, server_assignor, topic_partitions), pos


def _write_consumer_group_heartbeat_request_v1(w: Append, x: ConsumerGroupHeartbeatRequest) -> None:
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
    instance_id = x.instance_id
    w(_pack_i(x.member_epoch))
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
    subscribed_topic_names = x.subscribed_topic_names
    w(_pack_i(x.rebalance_timeout_ms))
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
    subscribed_topic_regex = x.subscribed_topic_regex
    if subscribed_topic_regex is None:
        w(b"\0")
    else:
        subscribed_topic_regex_bytes = subscribed_topic_regex.encode()
        count = len(subscribed_topic_regex_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(subscribed_topic_regex_bytes)
    server_assignor = x.server_assignor
    if server_assignor is None:
        w(b"\0")
    else:
        server_assignor_bytes = server_assignor.encode()
        count = len(server_assignor_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(server_assignor_bytes)
    topic_partitions = x.topic_partitions
    if topic_partitions is None:
        w(b"\0")
    else:
        count = len(topic_partitions) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for topic_partitions_item in topic_partitions:
            _write_topic_partitions_v0(w, topic_partitions_item)
    w(b"\0")
ConsumerGroupHeartbeatRequest._READERS = {
    0: _read_consumer_group_heartbeat_request_v0,
    1: _read_consumer_group_heartbeat_request_v1,
}
ConsumerGroupHeartbeatRequest._WRITERS = {
    0: _write_consumer_group_heartbeat_request_v0,
    1: _write_consumer_group_heartbeat_request_v1,
}
