# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, Append, Buffer, Message, Struct, malformed, many_tags, null_value, overrun, read_uvarint, skip_tags, string_length, string_length_tail, tag_size, unsupported_field, uvarint, uvarint_tail, write_tags

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_q = _Struct(">q").pack
_pack_qhib = _Struct(">qhib").pack
_pack_qhibi = _Struct(">qhibi").pack
_pack_qq = _Struct(">qq").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_q = _Struct(">q").unpack_from
_unpack_qhibB = _Struct(">qhibB").unpack_from
_unpack_qhibi = _Struct(">qhibi").unpack_from
_unpack_qq = _Struct(">qq").unpack_from
_unpack_qqB = _Struct(">qqB").unpack_from


class PartitionsSchema(Struct):
    __slots__ = ("topic", "partition_ids")

    def __init__(
        self,
        topic: str = "",  # 0+
        partition_ids: list[int] = EMPTY,  # 0+
    ) -> None:
        self.topic = topic
        self.partition_ids = [] if partition_ids is EMPTY else partition_ids


class TransactionLogValue(Message):
    API_KEY = 0
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    __slots__ = ("producer_id", "previous_producer_id", "next_producer_id", "producer_epoch", "next_producer_epoch", "transaction_timeout_ms", "transaction_status", "transaction_partitions", "transaction_last_update_timestamp_ms", "transaction_start_timestamp_ms", "client_transaction_version")

    def __init__(
        self,
        producer_id: int = 0,  # 0+
        previous_producer_id: int = -1,  # 1+, tag 0
        next_producer_id: int = -1,  # 1+, tag 1
        producer_epoch: int = 0,  # 0+
        next_producer_epoch: int = -1,  # 1+, tag 3
        transaction_timeout_ms: int = 0,  # 0+
        transaction_status: int = 0,  # 0+
        transaction_partitions: list[PartitionsSchema] | None = EMPTY,  # 0+
        transaction_last_update_timestamp_ms: int = 0,  # 0+
        transaction_start_timestamp_ms: int = 0,  # 0+
        client_transaction_version: int = 0,  # 1+, tag 2
    ) -> None:
        self.producer_id = producer_id
        self.previous_producer_id = previous_producer_id
        self.next_producer_id = next_producer_id
        self.producer_epoch = producer_epoch
        self.next_producer_epoch = next_producer_epoch
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_status = transaction_status
        self.transaction_partitions = [] if transaction_partitions is EMPTY else transaction_partitions
        self.transaction_last_update_timestamp_ms = transaction_last_update_timestamp_ms
        self.transaction_start_timestamp_ms = transaction_start_timestamp_ms
        self.client_transaction_version = client_transaction_version


def _read_partitions_schema_v0(data: bytes, pos: int, size: int) -> tuple[PartitionsSchema, int]:
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
        at = "partition_ids"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        partition_ids: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
    except READ_ERRORS as error:
        raise malformed("TransactionLogValue.PartitionsSchema", at, pos, error) from None
    return PartitionsSchema(topic, partition_ids), pos


def _write_partitions_schema_v0(w: Append, x: PartitionsSchema) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    w(_pack_h(len(topic_bytes)))
    w(topic_bytes)
    partition_ids = x.partition_ids
    w(_pack_i(len(partition_ids)))
    w(PACK_INT32S[len(partition_ids)](*partition_ids) if len(partition_ids) < 8 else pack(f">{len(partition_ids)}i", *partition_ids))


def _read_partitions_schema_v1(data: bytes, pos: int, size: int) -> tuple[PartitionsSchema, int]:
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
        at = "partition_ids"
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
        partition_ids: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("TransactionLogValue.PartitionsSchema", at, pos, error) from None
    return PartitionsSchema(topic, partition_ids), pos


def _write_partitions_schema_v1(w: Append, x: PartitionsSchema) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    count = len(topic_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(topic_bytes)
    partition_ids = x.partition_ids
    count = len(partition_ids) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(partition_ids)](*partition_ids) if len(partition_ids) < 8 else pack(f">{len(partition_ids)}i", *partition_ids))
    w(b"\0")


def _read_transaction_log_value_v0(data: bytes, pos: int, size: int) -> tuple[TransactionLogValue, int]:
    at = "producer_id"
    try:
        producer_id, producer_epoch, transaction_timeout_ms, transaction_status, count = _unpack_qhibi(data, pos)
        pos += 19
        at = "transaction_partitions"
        transaction_partitions: list[PartitionsSchema] | None = None
        if count >= 0:
            if count > size - pos:
                raise overrun(count, size - pos)
            transaction_partitions = []
            for _ in range(count):
                transaction_partitions_item, pos = _read_partitions_schema_v0(data, pos, size)
                transaction_partitions.append(transaction_partitions_item)
        at = "transaction_last_update_timestamp_ms"
        transaction_last_update_timestamp_ms, transaction_start_timestamp_ms = _unpack_qq(data, pos)
        pos += 16
    except READ_ERRORS as error:
        raise malformed("TransactionLogValue", at, pos, error) from None
    return TransactionLogValue(producer_id, -1, -1, producer_epoch, -1, transaction_timeout_ms, transaction_status, transaction_partitions, transaction_last_update_timestamp_ms, transaction_start_timestamp_ms, 0), pos


def _write_transaction_log_value_v0(w: Append, x: TransactionLogValue) -> None:
    if x.previous_producer_id != -1:
        raise unsupported_field("TransactionLogValue", "previous_producer_id", "0")
    if x.next_producer_id != -1:
        raise unsupported_field("TransactionLogValue", "next_producer_id", "0")
    if x.next_producer_epoch != -1:
        raise unsupported_field("TransactionLogValue", "next_producer_epoch", "0")
    if x.client_transaction_version != 0:
        raise unsupported_field("TransactionLogValue", "client_transaction_version", "0")
    transaction_partitions = x.transaction_partitions
    w(_pack_qhibi(x.producer_id, x.producer_epoch, x.transaction_timeout_ms, x.transaction_status, -1 if transaction_partitions is None else len(transaction_partitions)))
    if transaction_partitions is not None:
        for transaction_partitions_item in transaction_partitions:
            _write_partitions_schema_v0(w, transaction_partitions_item)
    w(_pack_qq(x.transaction_last_update_timestamp_ms, x.transaction_start_timestamp_ms))


def _read_transaction_log_value_v1(data: bytes, pos: int, size: int) -> tuple[TransactionLogValue, int]:
    at = "producer_id"
    try:
        producer_id, producer_epoch, transaction_timeout_ms, transaction_status, count = _unpack_qhibB(data, pos)
        pos += 16
        at = "transaction_partitions"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        transaction_partitions: list[PartitionsSchema] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            transaction_partitions = []
            for _ in range(count):
                transaction_partitions_item, pos = _read_partitions_schema_v1(data, pos, size)
                transaction_partitions.append(transaction_partitions_item)
        at = "transaction_last_update_timestamp_ms"
        transaction_last_update_timestamp_ms, transaction_start_timestamp_ms, tags = _unpack_qqB(data, pos)
        pos += 17
        previous_producer_id: int = -1
        next_producer_id: int = -1
        client_transaction_version: int = 0
        next_producer_epoch: int = -1
        if tags:
            at = "tagged fields"
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
                    at = "previous_producer_id"
                    previous_producer_id, = _unpack_q(data, pos)
                    pos += 8
                elif tag == 1:
                    at = "next_producer_id"
                    next_producer_id, = _unpack_q(data, pos)
                    pos += 8
                elif tag == 2:
                    at = "client_transaction_version"
                    client_transaction_version, = _unpack_h(data, pos)
                    pos += 2
                elif tag == 3:
                    at = "next_producer_epoch"
                    next_producer_epoch, = _unpack_h(data, pos)
                    pos += 2
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("TransactionLogValue", at, pos, error) from None
    return TransactionLogValue(producer_id, previous_producer_id, next_producer_id, producer_epoch, next_producer_epoch, transaction_timeout_ms, transaction_status, transaction_partitions, transaction_last_update_timestamp_ms, transaction_start_timestamp_ms, client_transaction_version), pos


def _write_transaction_log_value_v1(w: Append, x: TransactionLogValue) -> None:
    transaction_partitions = x.transaction_partitions
    w(_pack_qhib(x.producer_id, x.producer_epoch, x.transaction_timeout_ms, x.transaction_status))
    if transaction_partitions is None:
        w(b"\0")
    else:
        count = len(transaction_partitions) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for transaction_partitions_item in transaction_partitions:
            _write_partitions_schema_v1(w, transaction_partitions_item)
    w(_pack_qq(x.transaction_last_update_timestamp_ms, x.transaction_start_timestamp_ms))
    tagged: list[tuple[int, bytes]] = []
    if x.previous_producer_id != -1:
        previous_producer_id_part: list[Buffer] = []
        previous_producer_id_part.append(_pack_q(x.previous_producer_id))
        tagged.append((0, b"".join(previous_producer_id_part)))
    if x.next_producer_id != -1:
        next_producer_id_part: list[Buffer] = []
        next_producer_id_part.append(_pack_q(x.next_producer_id))
        tagged.append((1, b"".join(next_producer_id_part)))
    if x.client_transaction_version != 0:
        client_transaction_version_part: list[Buffer] = []
        client_transaction_version_part.append(_pack_h(x.client_transaction_version))
        tagged.append((2, b"".join(client_transaction_version_part)))
    if x.next_producer_epoch != -1:
        next_producer_epoch_part: list[Buffer] = []
        next_producer_epoch_part.append(_pack_h(x.next_producer_epoch))
        tagged.append((3, b"".join(next_producer_epoch_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")
TransactionLogValue._READERS = {
    0: _read_transaction_log_value_v0,
    1: _read_transaction_log_value_v1,
}
TransactionLogValue._WRITERS = {
    0: _write_transaction_log_value_v0,
    1: _write_transaction_log_value_v1,
}
