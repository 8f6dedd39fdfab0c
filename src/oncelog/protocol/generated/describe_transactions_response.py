# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_hB = _Struct(">hB").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_iqqh = _Struct(">iqqh").pack
_pack_iqqhB = _Struct(">iqqhB").pack
_unpack_hB = _Struct(">hB").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_iqqhB = _Struct(">iqqhB").unpack_from


class TopicData(Struct):
    __slots__ = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",  # 0+
        partitions: list[int] = EMPTY,  # 0+
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is EMPTY else partitions


class TransactionState(Struct):
    __slots__ = ("error_code", "transactional_id", "transaction_state", "transaction_timeout_ms", "transaction_start_time_ms", "producer_id", "producer_epoch", "topics")

    def __init__(
        self,
        error_code: int = 0,  # 0+
        transactional_id: str = "",  # 0+
        transaction_state: str = "",  # 0+
        transaction_timeout_ms: int = 0,  # 0+
        transaction_start_time_ms: int = 0,  # 0+
        producer_id: int = 0,  # 0+
        producer_epoch: int = 0,  # 0+
        topics: list[TopicData] = EMPTY,  # 0+
    ) -> None:
        self.error_code = error_code
        self.transactional_id = transactional_id
        self.transaction_state = transaction_state
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_start_time_ms = transaction_start_time_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.topics = [] if topics is EMPTY else topics


class DescribeTransactionsResponse(Message):
    API_KEY = 65
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("throttle_time_ms", "transaction_states")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        transaction_states: list[TransactionState] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.transaction_states = [] if transaction_states is EMPTY else transaction_states


def _read_topic_data_v0(data: bytes, pos: int, size: int) -> tuple[TopicData, int]:
    at = "topic"
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
        topic = data[pos:end].decode()
        pos = end
        at = "partitions"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        partitions: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeTransactionsResponse.TopicData", at, pos, error) from None
    return TopicData(topic, partitions), pos


def _write_topic_data_v0(w: Append, x: TopicData) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    count = len(topic_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(topic_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))
    w(b"\0")


def _read_transaction_state_v0(data: bytes, pos: int, size: int) -> tuple[TransactionState, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hB(data, pos)
        pos += 3
        at = "transactional_id"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        transactional_id = data[pos:end].decode()
        pos = end
        at = "transaction_state"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        transaction_state = data[pos:end].decode()
        pos = end
        at = "transaction_timeout_ms"
        transaction_timeout_ms, transaction_start_time_ms, producer_id, producer_epoch, count = _unpack_iqqhB(data, pos)
        pos += 23
        at = "topics"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[TopicData] = []
        for _ in range(count):
            topics_item, pos = _read_topic_data_v0(data, pos, size)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeTransactionsResponse.TransactionState", at, pos, error) from None
    return TransactionState(error_code, transactional_id, transaction_state, transaction_timeout_ms, transaction_start_time_ms, producer_id, producer_epoch, topics), pos


def _write_transaction_state_v0(w: Append, x: TransactionState) -> None:
    transactional_id = x.transactional_id
    transactional_id_bytes = transactional_id.encode()
    count = len(transactional_id_bytes) + 1
    w(_pack_hB(x.error_code, count) if count < 128 else _pack_h(x.error_code) + string_length(count))
    w(transactional_id_bytes)
    transaction_state = x.transaction_state
    transaction_state_bytes = transaction_state.encode()
    count = len(transaction_state_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(transaction_state_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iqqhB(x.transaction_timeout_ms, x.transaction_start_time_ms, x.producer_id, x.producer_epoch, count) if count < 128 else _pack_iqqh(x.transaction_timeout_ms, x.transaction_start_time_ms, x.producer_id, x.producer_epoch) + uvarint(count))
    for topics_item in topics:
        _write_topic_data_v0(w, topics_item)
    w(b"\0")


def _read_describe_transactions_response_v0(data: bytes, pos: int, size: int) -> tuple[DescribeTransactionsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "transaction_states"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        transaction_states: list[TransactionState] = []
        for _ in range(count):
            transaction_states_item, pos = _read_transaction_state_v0(data, pos, size)
            transaction_states.append(transaction_states_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeTransactionsResponse", at, pos, error) from None
    return DescribeTransactionsResponse(throttle_time_ms, transaction_states), pos


def _write_describe_transactions_response_v0(w: Append, x: DescribeTransactionsResponse) -> None:
    transaction_states = x.transaction_states
    count = len(transaction_states) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for transaction_states_item in transaction_states:
        _write_transaction_state_v0(w, transaction_states_item)
    w(b"\0")
DescribeTransactionsResponse._READERS = {
    0: _read_describe_transactions_response_v0,
}
DescribeTransactionsResponse._WRITERS = {
    0: _write_describe_transactions_response_v0,
}
