# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, Append, Message, Struct, malformed, null_value, overrun

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_ih = _Struct(">ih").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_ih = _Struct(">ih").unpack_from


class ConsumerProtocolSubscription(Message):
    API_KEY = -1
    MIN_VERSION = 0
    MAX_VERSION = 3
    FLEXIBLE_FROM = 32767
    __slots__ = ("topics", "user_data", "owned_partitions", "generation_id", "rack_id")

    def __init__(
        self,
        topics: list[str] = EMPTY,  # 0+
        user_data: bytes | None = None,  # 0+
        owned_partitions: list[TopicPartition] = EMPTY,  # 1+, ignorable
        generation_id: int = -1,  # 2+, ignorable
        rack_id: str | None = None,  # 3+, ignorable
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.user_data = user_data
        self.owned_partitions = [] if owned_partitions is EMPTY else owned_partitions
        self.generation_id = generation_id
        self.rack_id = rack_id


class TopicPartition(Struct):
    __slots__ = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",  # 1+
        partitions: list[int] = EMPTY,  # 1+
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is EMPTY else partitions


def _read_consumer_protocol_subscription_v0(data: bytes, pos: int, size: int) -> tuple[ConsumerProtocolSubscription, int]:
    at = "topics"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[str] = []
        for _ in range(count):
            count, = _unpack_h(data, pos)
            pos += 2
            if count < 0:
                raise null_value(count)
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            topics_item = data[pos:end].decode()
            pos = end
            topics.append(topics_item)
        at = "user_data"
        count, = _unpack_i(data, pos)
        pos += 4
        user_data: bytes | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            user_data = data[pos:end]
            pos = end
    except READ_ERRORS as error:
        raise malformed("ConsumerProtocolSubscription", at, pos, error) from None
    return ConsumerProtocolSubscription(topics, user_data, EMPTY, -1, None), pos


def _write_consumer_protocol_subscription_v0(w: Append, x: ConsumerProtocolSubscription) -> None:
    topics = x.topics
    w(_pack_i(len(topics)))
    for topics_item in topics:
        topics_item_bytes = topics_item.encode()
        w(_pack_h(len(topics_item_bytes)))
        w(topics_item_bytes)
    user_data = x.user_data
    user_data_bytes = b"" if user_data is None else user_data
    w(_pack_i(-1 if user_data is None else len(user_data_bytes)))
    w(user_data_bytes)


def _read_topic_partition_v1(data: bytes, pos: int, size: int) -> tuple[TopicPartition, int]:
    at = "topic"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        topic = data[pos:end].decode()
        pos = end
        at = "partitions"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        partitions: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
    except READ_ERRORS as error:
        raise malformed("ConsumerProtocolSubscription.TopicPartition", at, pos, error) from None
    return TopicPartition(topic, partitions), pos


def _write_topic_partition_v1(w: Append, x: TopicPartition) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    w(_pack_h(len(topic_bytes)))
    w(topic_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))


def _read_consumer_protocol_subscription_v1(data: bytes, pos: int, size: int) -> tuple[ConsumerProtocolSubscription, int]:
    at = "topics"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[str] = []
        for _ in range(count):
            count, = _unpack_h(data, pos)
            pos += 2
            if count < 0:
                raise null_value(count)
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            topics_item = data[pos:end].decode()
            pos = end
            topics.append(topics_item)
        at = "user_data"
        count, = _unpack_i(data, pos)
        pos += 4
        user_data: bytes | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            user_data = data[pos:end]
            pos = end
        at = "owned_partitions"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        owned_partitions: list[TopicPartition] = []
        for _ in range(count):
            owned_partitions_item, pos = _read_topic_partition_v1(data, pos, size)
            owned_partitions.append(owned_partitions_item)
    except READ_ERRORS as error:
        raise malformed("ConsumerProtocolSubscription", at, pos, error) from None
    return ConsumerProtocolSubscription(topics, user_data, owned_partitions, -1, None), pos


def _write_consumer_protocol_subscription_v1(w: Append, x: ConsumerProtocolSubscription) -> None:
    topics = x.topics
    w(_pack_i(len(topics)))
    for topics_item in topics:
        topics_item_bytes = topics_item.encode()
        w(_pack_h(len(topics_item_bytes)))
        w(topics_item_bytes)
    user_data = x.user_data
    user_data_bytes = b"" if user_data is None else user_data
    w(_pack_i(-1 if user_data is None else len(user_data_bytes)))
    w(user_data_bytes)
    owned_partitions = x.owned_partitions
    w(_pack_i(len(owned_partitions)))
    for owned_partitions_item in owned_partitions:
        _write_topic_partition_v1(w, owned_partitions_item)


def _read_consumer_protocol_subscription_v2(data: bytes, pos: int, size: int) -> tuple[ConsumerProtocolSubscription, int]:
    at = "topics"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[str] = []
        for _ in range(count):
            count, = _unpack_h(data, pos)
            pos += 2
            if count < 0:
                raise null_value(count)
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            topics_item = data[pos:end].decode()
            pos = end
            topics.append(topics_item)
        at = "user_data"
        count, = _unpack_i(data, pos)
        pos += 4
        user_data: bytes | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            user_data = data[pos:end]
            pos = end
        at = "owned_partitions"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        owned_partitions: list[TopicPartition] = []
        for _ in range(count):
            owned_partitions_item, pos = _read_topic_partition_v1(data, pos, size)
            owned_partitions.append(owned_partitions_item)
        at = "generation_id"
        generation_id, = _unpack_i(data, pos)
        pos += 4
    except READ_ERRORS as error:
        raise malformed("ConsumerProtocolSubscription", at, pos, error) from None
    return ConsumerProtocolSubscription(topics, user_data, owned_partitions, generation_id, None), pos


def _write_consumer_protocol_subscription_v2(w: Append, x: ConsumerProtocolSubscription) -> None:
    topics = x.topics
    w(_pack_i(len(topics)))
    for topics_item in topics:
        topics_item_bytes = topics_item.encode()
        w(_pack_h(len(topics_item_bytes)))
        w(topics_item_bytes)
    user_data = x.user_data
    user_data_bytes = b"" if user_data is None else user_data
    w(_pack_i(-1 if user_data is None else len(user_data_bytes)))
    w(user_data_bytes)
    owned_partitions = x.owned_partitions
    w(_pack_i(len(owned_partitions)))
    for owned_partitions_item in owned_partitions:
        _write_topic_partition_v1(w, owned_partitions_item)
    w(_pack_i(x.generation_id))


def _read_consumer_protocol_subscription_v3(data: bytes, pos: int, size: int) -> tuple[ConsumerProtocolSubscription, int]:
    at = "topics"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[str] = []
        for _ in range(count):
            count, = _unpack_h(data, pos)
            pos += 2
            if count < 0:
                raise null_value(count)
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            topics_item = data[pos:end].decode()
            pos = end
            topics.append(topics_item)
        at = "user_data"
        count, = _unpack_i(data, pos)
        pos += 4
        user_data: bytes | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            user_data = data[pos:end]
            pos = end
        at = "owned_partitions"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        owned_partitions: list[TopicPartition] = []
        for _ in range(count):
            owned_partitions_item, pos = _read_topic_partition_v1(data, pos, size)
            owned_partitions.append(owned_partitions_item)
        at = "generation_id"
        generation_id, count = _unpack_ih(data, pos)
        pos += 6
        at = "rack_id"
        rack_id: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            rack_id = data[pos:end].decode()
            pos = end
    except READ_ERRORS as error:
        raise malformed("ConsumerProtocolSubscription", at, pos, error) from None
    return ConsumerProtocolSubscription(topics, user_data, owned_partitions, generation_id, rack_id), pos


def _write_consumer_protocol_subscription_v3(w: Append, x: ConsumerProtocolSubscription) -> None:
    topics = x.topics
    w(_pack_i(len(topics)))
    for topics_item in topics:
        topics_item_bytes = topics_item.encode()
        w(_pack_h(len(topics_item_bytes)))
        w(topics_item_bytes)
    user_data = x.user_data
    user_data_bytes = b"" if user_data is None else user_data
    w(_pack_i(-1 if user_data is None else len(user_data_bytes)))
    w(user_data_bytes)
    owned_partitions = x.owned_partitions
    w(_pack_i(len(owned_partitions)))
    for owned_partitions_item in owned_partitions:
        _write_topic_partition_v1(w, owned_partitions_item)
    rack_id = x.rack_id
    rack_id_bytes = b"" if rack_id is None else rack_id.encode()
    w(_pack_ih(x.generation_id, -1 if rack_id is None else len(rack_id_bytes)))
    w(rack_id_bytes)
ConsumerProtocolSubscription._READERS = {
    0: _read_consumer_protocol_subscription_v0,
    1: _read_consumer_protocol_subscription_v1,
    2: _read_consumer_protocol_subscription_v2,
    3: _read_consumer_protocol_subscription_v3,
}
ConsumerProtocolSubscription._WRITERS = {
    0: _write_consumer_protocol_subscription_v0,
    1: _write_consumer_protocol_subscription_v1,
    2: _write_consumer_protocol_subscription_v2,
    3: _write_consumer_protocol_subscription_v3,
}
