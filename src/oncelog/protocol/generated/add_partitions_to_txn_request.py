# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_qh = _Struct(">qh").pack
_pack_qhB = _Struct(">qhB").pack
_pack_qhT = _Struct(">qh?").pack
_pack_qhTB = _Struct(">qh?B").pack
_pack_qhi = _Struct(">qhi").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_qhB = _Struct(">qhB").unpack_from
_unpack_qhTB = _Struct(">qh?B").unpack_from
_unpack_qhi = _Struct(">qhi").unpack_from


class AddPartitionsToTxnTopic(Struct):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",  # 0+
        partitions: list[int] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class AddPartitionsToTxnRequest(Message):
    API_KEY = 24
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3
    __slots__ = ("transactions", "v3_and_below_transactional_id", "v3_and_below_producer_id", "v3_and_below_producer_epoch", "v3_and_below_topics")

    def __init__(
        self,
        transactions: list[AddPartitionsToTxnTransaction] = EMPTY,  # 4+
        v3_and_below_transactional_id: str = "",  # 0-3
        v3_and_below_producer_id: int = 0,  # 0-3
        v3_and_below_producer_epoch: int = 0,  # 0-3
        v3_and_below_topics: list[AddPartitionsToTxnTopic] = EMPTY,  # 0-3
    ) -> None:
        self.transactions = [] if transactions is EMPTY else transactions
        self.v3_and_below_transactional_id = v3_and_below_transactional_id
        self.v3_and_below_producer_id = v3_and_below_producer_id
        self.v3_and_below_producer_epoch = v3_and_below_producer_epoch
        self.v3_and_below_topics = [] if v3_and_below_topics is EMPTY else v3_and_below_topics


class AddPartitionsToTxnTransaction(Struct):
    __slots__ = ("transactional_id", "producer_id", "producer_epoch", "verify_only", "topics")

    def __init__(
        self,
        transactional_id: str = "",  # 4+
        producer_id: int = 0,  # 4+
        producer_epoch: int = 0,  # 4+
        verify_only: bool = False,  # 4+
        topics: list[AddPartitionsToTxnTopic] = EMPTY,  # 4+
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.verify_only = verify_only
        self.topics = [] if topics is EMPTY else topics


def _read_add_partitions_to_txn_topic_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AddPartitionsToTxnTopic, int]:
    at = "name"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        name = data[pos:end].decode()
        pos = end
        at = "partitions"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        if limit is not None:
            limit.take(count)
        partitions: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
    except READ_ERRORS as error:
        raise malformed("AddPartitionsToTxnRequest.AddPartitionsToTxnTopic", at, pos, error) from None
    return AddPartitionsToTxnTopic(name, partitions), pos


def _write_add_partitions_to_txn_topic_v0(w: Append, x: AddPartitionsToTxnTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))


def _read_add_partitions_to_txn_topic_v3(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AddPartitionsToTxnTopic, int]:
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
        raise malformed("AddPartitionsToTxnRequest.AddPartitionsToTxnTopic", at, pos, error) from None
    return AddPartitionsToTxnTopic(name, partitions), pos


def _write_add_partitions_to_txn_topic_v3(w: Append, x: AddPartitionsToTxnTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))
    w(b"\0")


def _read_add_partitions_to_txn_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AddPartitionsToTxnRequest, int]:
    at = "v3_and_below_transactional_id"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        v3_and_below_transactional_id = data[pos:end].decode()
        pos = end
        at = "v3_and_below_producer_id"
        v3_and_below_producer_id, v3_and_below_producer_epoch, count = _unpack_qhi(data, pos)
        pos += 14
        at = "v3_and_below_topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        v3_and_below_topics: list[AddPartitionsToTxnTopic] = []
        for _ in range(count):
            v3_and_below_topics_item, pos = _read_add_partitions_to_txn_topic_v0(data, pos, size, limit)
            v3_and_below_topics.append(v3_and_below_topics_item)
    except READ_ERRORS as error:
        raise malformed("AddPartitionsToTxnRequest", at, pos, error) from None
    return AddPartitionsToTxnRequest(EMPTY, v3_and_below_transactional_id, v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics), pos


def _write_add_partitions_to_txn_request_v0(w: Append, x: AddPartitionsToTxnRequest) -> None:
    if x.transactions:
        raise unsupported_field("AddPartitionsToTxnRequest", "transactions", "0-2")
    v3_and_below_transactional_id = x.v3_and_below_transactional_id
    v3_and_below_transactional_id_bytes = v3_and_below_transactional_id.encode()
    w(_pack_h(len(v3_and_below_transactional_id_bytes)))
    w(v3_and_below_transactional_id_bytes)
    v3_and_below_topics = x.v3_and_below_topics
    w(_pack_qhi(x.v3_and_below_producer_id, x.v3_and_below_producer_epoch, len(v3_and_below_topics)))
    for v3_and_below_topics_item in v3_and_below_topics:
        _write_add_partitions_to_txn_topic_v0(w, v3_and_below_topics_item)


def _read_add_partitions_to_txn_request_v3(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AddPartitionsToTxnRequest, int]:
    at = "v3_and_below_transactional_id"
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
        v3_and_below_transactional_id = data[pos:end].decode()
        pos = end
        at = "v3_and_below_producer_id"
        v3_and_below_producer_id, v3_and_below_producer_epoch, count = _unpack_qhB(data, pos)
        pos += 11
        at = "v3_and_below_topics"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        v3_and_below_topics: list[AddPartitionsToTxnTopic] = []
        for _ in range(count):
            v3_and_below_topics_item, pos = _read_add_partitions_to_txn_topic_v3(data, pos, size, limit)
            v3_and_below_topics.append(v3_and_below_topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AddPartitionsToTxnRequest", at, pos, error) from None
    return AddPartitionsToTxnRequest(EMPTY, v3_and_below_transactional_id, v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics), pos


def _write_add_partitions_to_txn_request_v3(w: Append, x: AddPartitionsToTxnRequest) -> None:
    if x.transactions:
        raise unsupported_field("AddPartitionsToTxnRequest", "transactions", "3")
    v3_and_below_transactional_id = x.v3_and_below_transactional_id
    v3_and_below_transactional_id_bytes = v3_and_below_transactional_id.encode()
    count = len(v3_and_below_transactional_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(v3_and_below_transactional_id_bytes)
    v3_and_below_topics = x.v3_and_below_topics
    count = len(v3_and_below_topics) + 1
    w(_pack_qhB(x.v3_and_below_producer_id, x.v3_and_below_producer_epoch, count) if count < 128 else _pack_qh(x.v3_and_below_producer_id, x.v3_and_below_producer_epoch) + uvarint(count))
    for v3_and_below_topics_item in v3_and_below_topics:
        _write_add_partitions_to_txn_topic_v3(w, v3_and_below_topics_item)
    w(b"\0")


def _read_add_partitions_to_txn_transaction_v4(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AddPartitionsToTxnTransaction, int]:
    at = "transactional_id"
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
        transactional_id = data[pos:end].decode()
        pos = end
        at = "producer_id"
        producer_id, producer_epoch, verify_only, count = _unpack_qhTB(data, pos)
        pos += 12
        at = "topics"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[AddPartitionsToTxnTopic] = []
        for _ in range(count):
            topics_item, pos = _read_add_partitions_to_txn_topic_v3(data, pos, size, limit)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction", at, pos, error) from None
    return AddPartitionsToTxnTransaction(transactional_id, producer_id, producer_epoch, verify_only, topics), pos


def _write_add_partitions_to_txn_transaction_v4(w: Append, x: AddPartitionsToTxnTransaction) -> None:
    transactional_id = x.transactional_id
    transactional_id_bytes = transactional_id.encode()
    count = len(transactional_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(transactional_id_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(_pack_qhTB(x.producer_id, x.producer_epoch, x.verify_only, count) if count < 128 else _pack_qhT(x.producer_id, x.producer_epoch, x.verify_only) + uvarint(count))
    for topics_item in topics:
        _write_add_partitions_to_txn_topic_v3(w, topics_item)
    w(b"\0")


def _read_add_partitions_to_txn_request_v4(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AddPartitionsToTxnRequest, int]:
    at = "transactions"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        transactions: list[AddPartitionsToTxnTransaction] = []
        for _ in range(count):
            transactions_item, pos = _read_add_partitions_to_txn_transaction_v4(data, pos, size, limit)
            transactions.append(transactions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AddPartitionsToTxnRequest", at, pos, error) from None
    return AddPartitionsToTxnRequest(transactions, "", 0, 0, EMPTY), pos


def _write_add_partitions_to_txn_request_v4(w: Append, x: AddPartitionsToTxnRequest) -> None:
    if x.v3_and_below_transactional_id != "":
        raise unsupported_field("AddPartitionsToTxnRequest", "v3_and_below_transactional_id", "4-5")
    if x.v3_and_below_producer_id != 0:
        raise unsupported_field("AddPartitionsToTxnRequest", "v3_and_below_producer_id", "4-5")
    if x.v3_and_below_producer_epoch != 0:
        raise unsupported_field("AddPartitionsToTxnRequest", "v3_and_below_producer_epoch", "4-5")
    if x.v3_and_below_topics:
        raise unsupported_field("AddPartitionsToTxnRequest", "v3_and_below_topics", "4-5")
    transactions = x.transactions
    count = len(transactions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for transactions_item in transactions:
        _write_add_partitions_to_txn_transaction_v4(w, transactions_item)
    w(b"\0")
AddPartitionsToTxnRequest._READERS = {
    0: _read_add_partitions_to_txn_request_v0,
    1: _read_add_partitions_to_txn_request_v0,
    2: _read_add_partitions_to_txn_request_v0,
    3: _read_add_partitions_to_txn_request_v3,
    4: _read_add_partitions_to_txn_request_v4,
    5: _read_add_partitions_to_txn_request_v4,
}
AddPartitionsToTxnRequest._WRITERS = {
    0: _write_add_partitions_to_txn_request_v0,
    1: _write_add_partitions_to_txn_request_v0,
    2: _write_add_partitions_to_txn_request_v0,
    3: _write_add_partitions_to_txn_request_v3,
    4: _write_add_partitions_to_txn_request_v4,
    5: _write_add_partitions_to_txn_request_v4,
}
