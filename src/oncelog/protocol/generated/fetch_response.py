# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, ZERO_UUID, Append, Buffer, Message, Struct, Uuid, bad_uuid, malformed, many_tags, null_value, overrun, read_uvarint, skip_tags, string_length, string_length_tail, tag_size, unsupported_field, uvarint, uvarint_tail, write_tags

_pack_U = _Struct(">16s").pack
_pack_UB = _Struct(">16sB").pack
_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ihi = _Struct(">ihi").pack
_pack_ihiB = _Struct(">ihiB").pack
_pack_ihii = _Struct(">ihii").pack
_pack_ihqqi = _Struct(">ihqqi").pack
_pack_ihqqq = _Struct(">ihqqq").pack
_pack_ihqqqi = _Struct(">ihqqqi").pack
_pack_ii = _Struct(">ii").pack
_pack_iix = _Struct(">iix").pack
_pack_iqx = _Struct(">iqx").pack
_pack_qix = _Struct(">qix").pack
_pack_qq = _Struct(">qq").pack
_pack_qqx = _Struct(">qqx").pack
_unpack_UB = _Struct(">16sB").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ihiB = _Struct(">ihiB").unpack_from
_unpack_ihii = _Struct(">ihii").unpack_from
_unpack_ihqqi = _Struct(">ihqqi").unpack_from
_unpack_ihqqqB = _Struct(">ihqqqB").unpack_from
_unpack_ihqqqi = _Struct(">ihqqqi").unpack_from
_unpack_ii = _Struct(">ii").unpack_from
_unpack_iiB = _Struct(">iiB").unpack_from
_unpack_iqB = _Struct(">iqB").unpack_from
_unpack_qiB = _Struct(">qiB").unpack_from
_unpack_qq = _Struct(">qq").unpack_from
_unpack_qqB = _Struct(">qqB").unpack_from


class AbortedTransaction(Struct):
    __slots__ = ("producer_id", "first_offset")

    def __init__(
        self,
        producer_id: int = 0,  # 4+
        first_offset: int = 0,  # 4+
    ) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset


class EpochEndOffset(Struct):
    __slots__ = ("epoch", "end_offset")

    def __init__(
        self,
        epoch: int = -1,  # 12+
        end_offset: int = -1,  # 12+
    ) -> None:
        self.epoch = epoch
        self.end_offset = end_offset


class LeaderIdAndEpoch(Struct):
    __slots__ = ("leader_id", "leader_epoch")

    def __init__(
        self,
        leader_id: int = -1,  # 12+
        leader_epoch: int = -1,  # 12+
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


class SnapshotId(Struct):
    __slots__ = ("end_offset", "epoch")

    def __init__(
        self,
        end_offset: int = -1,  # 0+
        epoch: int = -1,  # 0+
    ) -> None:
        self.end_offset = end_offset
        self.epoch = epoch


class NodeEndpoint(Struct):
    __slots__ = ("node_id", "host", "port", "rack")

    def __init__(
        self,
        node_id: int = 0,  # 16+
        host: str = "",  # 16+
        port: int = 0,  # 16+
        rack: str | None = None,  # 16+
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack


class PartitionData(Struct):
    __slots__ = ("partition_index", "error_code", "high_watermark", "last_stable_offset", "log_start_offset", "diverging_epoch", "current_leader", "snapshot_id", "aborted_transactions", "preferred_read_replica", "records")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        error_code: int = 0,  # 0+
        high_watermark: int = 0,  # 0+
        last_stable_offset: int = -1,  # 4+, ignorable
        log_start_offset: int = -1,  # 5+, ignorable
        diverging_epoch: EpochEndOffset | None = None,  # 12+, tag 0
        current_leader: LeaderIdAndEpoch | None = None,  # 12+, tag 1
        snapshot_id: SnapshotId | None = None,  # 12+, tag 2
        aborted_transactions: list[AbortedTransaction] | None = EMPTY,  # 4+, ignorable
        preferred_read_replica: int = -1,  # 11+
        records: bytes | memoryview | None = None,  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.diverging_epoch = EpochEndOffset() if diverging_epoch is None else diverging_epoch
        self.current_leader = LeaderIdAndEpoch() if current_leader is None else current_leader
        self.snapshot_id = SnapshotId() if snapshot_id is None else snapshot_id
        self.aborted_transactions = [] if aborted_transactions is EMPTY else aborted_transactions
        self.preferred_read_replica = preferred_read_replica
        self.records = records


class FetchableTopicResponse(Struct):
    __slots__ = ("topic", "topic_id", "partitions")

    def __init__(
        self,
        topic: str = "",  # 0-12, ignorable
        topic_id: Uuid = ZERO_UUID,  # 13+, ignorable
        partitions: list[PartitionData] = EMPTY,  # 0+
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class FetchResponse(Message):
    API_KEY = 1
    MIN_VERSION = 4
    MAX_VERSION = 18
    FLEXIBLE_FROM = 12
    __slots__ = ("throttle_time_ms", "error_code", "session_id", "responses", "node_endpoints")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 1+, ignorable
        error_code: int = 0,  # 7+, ignorable
        session_id: int = 0,  # 7+
        responses: list[FetchableTopicResponse] = EMPTY,  # 0+
        node_endpoints: list[NodeEndpoint] = EMPTY,  # 16+, tag 0
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.session_id = session_id
        self.responses = [] if responses is EMPTY else responses
        self.node_endpoints = [] if node_endpoints is EMPTY else node_endpoints


def _read_aborted_transaction_v4(data: memoryview, pos: int, size: int) -> tuple[AbortedTransaction, int]:
    at = "producer_id"
    try:
        producer_id, first_offset = _unpack_qq(data, pos)
        pos += 16
    except READ_ERRORS as error:
        raise malformed("FetchResponse.AbortedTransaction", at, pos, error) from None
    return AbortedTransaction(producer_id, first_offset), pos


def _write_aborted_transaction_v4(w: Append, x: AbortedTransaction) -> None:
    w(_pack_qq(x.producer_id, x.first_offset))


def _read_epoch_end_offset_v12(data: memoryview, pos: int, size: int) -> tuple[EpochEndOffset, int]:
    at = "epoch"
    try:
        epoch, end_offset, tags = _unpack_iqB(data, pos)
        pos += 13
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("FetchResponse.EpochEndOffset", at, pos, error) from None
    return EpochEndOffset(epoch, end_offset), pos


def _write_epoch_end_offset_v12(w: Append, x: EpochEndOffset) -> None:
    w(_pack_iqx(x.epoch, x.end_offset))


def _read_leader_id_and_epoch_v12(data: memoryview, pos: int, size: int) -> tuple[LeaderIdAndEpoch, int]:
    at = "leader_id"
    try:
        leader_id, leader_epoch, tags = _unpack_iiB(data, pos)
        pos += 9
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("FetchResponse.LeaderIdAndEpoch", at, pos, error) from None
    return LeaderIdAndEpoch(leader_id, leader_epoch), pos


def _write_leader_id_and_epoch_v12(w: Append, x: LeaderIdAndEpoch) -> None:
    w(_pack_iix(x.leader_id, x.leader_epoch))


def _read_snapshot_id_v12(data: memoryview, pos: int, size: int) -> tuple[SnapshotId, int]:
    at = "end_offset"
    try:
        end_offset, epoch, tags = _unpack_qiB(data, pos)
        pos += 13
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("FetchResponse.SnapshotId", at, pos, error) from None
    return SnapshotId(end_offset, epoch), pos


def _write_snapshot_id_v12(w: Append, x: SnapshotId) -> None:
    w(_pack_qix(x.end_offset, x.epoch))


def _read_aborted_transaction_v12(data: memoryview, pos: int, size: int) -> tuple[AbortedTransaction, int]:
    at = "producer_id"
    try:
        producer_id, first_offset, tags = _unpack_qqB(data, pos)
        pos += 17
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("FetchResponse.AbortedTransaction", at, pos, error) from None
    return AbortedTransaction(producer_id, first_offset), pos


def _write_aborted_transaction_v12(w: Append, x: AbortedTransaction) -> None:
    w(_pack_qqx(x.producer_id, x.first_offset))


def _read_node_endpoint_v16(data: memoryview, pos: int, size: int) -> tuple[NodeEndpoint, int]:
    at = "node_id"
    try:
        node_id, count = _unpack_iB(data, pos)
        pos += 5
        at = "host"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        host = str(data[pos:end], "utf-8")
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
            rack = str(data[pos:end], "utf-8")
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("FetchResponse.NodeEndpoint", at, pos, error) from None
    return NodeEndpoint(node_id, host, port, rack), pos


def _write_node_endpoint_v16(w: Append, x: NodeEndpoint) -> None:
    host = x.host
    host_bytes = host.encode()
    count = len(host_bytes) + 1
    w(_pack_iB(x.node_id, count) if count < 128 else _pack_i(x.node_id) + string_length(count))
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


def _read_partition_data_v4(data: memoryview, pos: int, size: int) -> tuple[PartitionData, int]:
    at = "partition_index"
    try:
        partition_index, error_code, high_watermark, last_stable_offset, count = _unpack_ihqqi(data, pos)
        pos += 26
        at = "aborted_transactions"
        aborted_transactions: list[AbortedTransaction] | None = None
        if count >= 0:
            if count > size - pos:
                raise overrun(count, size - pos)
            aborted_transactions = []
            for _ in range(count):
                aborted_transactions_item, pos = _read_aborted_transaction_v4(data, pos, size)
                aborted_transactions.append(aborted_transactions_item)
        at = "records"
        count, = _unpack_i(data, pos)
        pos += 4
        records: bytes | memoryview | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            records = data[pos:end]
            pos = end
    except READ_ERRORS as error:
        raise malformed("FetchResponse.PartitionData", at, pos, error) from None
    return PartitionData(partition_index, error_code, high_watermark, last_stable_offset, -1, EpochEndOffset(), LeaderIdAndEpoch(), SnapshotId(), aborted_transactions, -1, records), pos


def _write_partition_data_v4(w: Append, x: PartitionData) -> None:
    if x.diverging_epoch.epoch != -1 or x.diverging_epoch.end_offset != -1:
        raise unsupported_field("FetchResponse.PartitionData", "diverging_epoch", "4")
    if x.current_leader.leader_id != -1 or x.current_leader.leader_epoch != -1:
        raise unsupported_field("FetchResponse.PartitionData", "current_leader", "4")
    if x.snapshot_id.end_offset != -1 or x.snapshot_id.epoch != -1:
        raise unsupported_field("FetchResponse.PartitionData", "snapshot_id", "4")
    if x.preferred_read_replica != -1:
        raise unsupported_field("FetchResponse.PartitionData", "preferred_read_replica", "4")
    aborted_transactions = x.aborted_transactions
    w(_pack_ihqqi(x.partition_index, x.error_code, x.high_watermark, x.last_stable_offset, -1 if aborted_transactions is None else len(aborted_transactions)))
    if aborted_transactions is not None:
        for aborted_transactions_item in aborted_transactions:
            _write_aborted_transaction_v4(w, aborted_transactions_item)
    records = x.records
    records_bytes = b"" if records is None else records
    w(_pack_i(-1 if records is None else len(records_bytes)))
    w(records_bytes)


def _read_partition_data_v5(data: memoryview, pos: int, size: int) -> tuple[PartitionData, int]:
    at = "partition_index"
    try:
        partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, count = _unpack_ihqqqi(data, pos)
        pos += 34
        at = "aborted_transactions"
        aborted_transactions: list[AbortedTransaction] | None = None
        if count >= 0:
            if count > size - pos:
                raise overrun(count, size - pos)
            aborted_transactions = []
            for _ in range(count):
                aborted_transactions_item, pos = _read_aborted_transaction_v4(data, pos, size)
                aborted_transactions.append(aborted_transactions_item)
        at = "records"
        count, = _unpack_i(data, pos)
        pos += 4
        records: bytes | memoryview | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            records = data[pos:end]
            pos = end
    except READ_ERRORS as error:
        raise malformed("FetchResponse.PartitionData", at, pos, error) from None
    return PartitionData(partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, EpochEndOffset(), LeaderIdAndEpoch(), SnapshotId(), aborted_transactions, -1, records), pos


def _write_partition_data_v5(w: Append, x: PartitionData) -> None:
    if x.diverging_epoch.epoch != -1 or x.diverging_epoch.end_offset != -1:
        raise unsupported_field("FetchResponse.PartitionData", "diverging_epoch", "5-10")
    if x.current_leader.leader_id != -1 or x.current_leader.leader_epoch != -1:
        raise unsupported_field("FetchResponse.PartitionData", "current_leader", "5-10")
    if x.snapshot_id.end_offset != -1 or x.snapshot_id.epoch != -1:
        raise unsupported_field("FetchResponse.PartitionData", "snapshot_id", "5-10")
    if x.preferred_read_replica != -1:
        raise unsupported_field("FetchResponse.PartitionData", "preferred_read_replica", "5-10")
    aborted_transactions = x.aborted_transactions
    w(_pack_ihqqqi(x.partition_index, x.error_code, x.high_watermark, x.last_stable_offset, x.log_start_offset, -1 if aborted_transactions is None else len(aborted_transactions)))
    if aborted_transactions is not None:
        for aborted_transactions_item in aborted_transactions:
            _write_aborted_transaction_v4(w, aborted_transactions_item)
    records = x.records
    records_bytes = b"" if records is None else records
    w(_pack_i(-1 if records is None else len(records_bytes)))
    w(records_bytes)


def _read_partition_data_v11(data: memoryview, pos: int, size: int) -> tuple[PartitionData, int]:
    at = "partition_index"
    try:
        partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, count = _unpack_ihqqqi(data, pos)
        pos += 34
        at = "aborted_transactions"
        aborted_transactions: list[AbortedTransaction] | None = None
        if count >= 0:
            if count > size - pos:
                raise overrun(count, size - pos)
            aborted_transactions = []
            for _ in range(count):
                aborted_transactions_item, pos = _read_aborted_transaction_v4(data, pos, size)
                aborted_transactions.append(aborted_transactions_item)
        at = "preferred_read_replica"
        preferred_read_replica, count = _unpack_ii(data, pos)
        pos += 8
        at = "records"
        records: bytes | memoryview | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            records = data[pos:end]
            pos = end
    except READ_ERRORS as error:
        raise malformed("FetchResponse.PartitionData", at, pos, error) from None
    return PartitionData(partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, EpochEndOffset(), LeaderIdAndEpoch(), SnapshotId(), aborted_transactions, preferred_read_replica, records), pos


def _write_partition_data_v11(w: Append, x: PartitionData) -> None:
    if x.diverging_epoch.epoch != -1 or x.diverging_epoch.end_offset != -1:
        raise unsupported_field("FetchResponse.PartitionData", "diverging_epoch", "11")
    if x.current_leader.leader_id != -1 or x.current_leader.leader_epoch != -1:
        raise unsupported_field("FetchResponse.PartitionData", "current_leader", "11")
    if x.snapshot_id.end_offset != -1 or x.snapshot_id.epoch != -1:
        raise unsupported_field("FetchResponse.PartitionData", "snapshot_id", "11")
    aborted_transactions = x.aborted_transactions
    w(_pack_ihqqqi(x.partition_index, x.error_code, x.high_watermark, x.last_stable_offset, x.log_start_offset, -1 if aborted_transactions is None else len(aborted_transactions)))
    if aborted_transactions is not None:
        for aborted_transactions_item in aborted_transactions:
            _write_aborted_transaction_v4(w, aborted_transactions_item)
    records = x.records
    records_bytes = b"" if records is None else records
    w(_pack_ii(x.preferred_read_replica, -1 if records is None else len(records_bytes)))
    w(records_bytes)


def _read_partition_data_v12(data: memoryview, pos: int, size: int) -> tuple[PartitionData, int]:
    at = "partition_index"
    try:
        partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, count = _unpack_ihqqqB(data, pos)
        pos += 31
        at = "aborted_transactions"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        aborted_transactions: list[AbortedTransaction] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            aborted_transactions = []
            for _ in range(count):
                aborted_transactions_item, pos = _read_aborted_transaction_v12(data, pos, size)
                aborted_transactions.append(aborted_transactions_item)
        at = "preferred_read_replica"
        preferred_read_replica, count = _unpack_iB(data, pos)
        pos += 5
        at = "records"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        records: bytes | memoryview | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            records = data[pos:end]
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        diverging_epoch: EpochEndOffset = EpochEndOffset()
        current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()
        snapshot_id: SnapshotId = SnapshotId()
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
                    at = "diverging_epoch"
                    diverging_epoch, pos = _read_epoch_end_offset_v12(data, pos, size)
                elif tag == 1:
                    at = "current_leader"
                    current_leader, pos = _read_leader_id_and_epoch_v12(data, pos, size)
                elif tag == 2:
                    at = "snapshot_id"
                    snapshot_id, pos = _read_snapshot_id_v12(data, pos, size)
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("FetchResponse.PartitionData", at, pos, error) from None
    return PartitionData(partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, diverging_epoch, current_leader, snapshot_id, aborted_transactions, preferred_read_replica, records), pos


def _write_partition_data_v12(w: Append, x: PartitionData) -> None:
    aborted_transactions = x.aborted_transactions
    w(_pack_ihqqq(x.partition_index, x.error_code, x.high_watermark, x.last_stable_offset, x.log_start_offset))
    if aborted_transactions is None:
        w(b"\0")
    else:
        count = len(aborted_transactions) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for aborted_transactions_item in aborted_transactions:
            _write_aborted_transaction_v12(w, aborted_transactions_item)
    records = x.records
    w(_pack_i(x.preferred_read_replica))
    if records is None:
        w(b"\0")
    else:
        count = len(records) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        w(records)
    tagged: list[tuple[int, bytes]] = []
    if x.diverging_epoch.epoch != -1 or x.diverging_epoch.end_offset != -1:
        diverging_epoch_part: list[Buffer] = []
        diverging_epoch = x.diverging_epoch
        _write_epoch_end_offset_v12(diverging_epoch_part.append, diverging_epoch)
        tagged.append((0, b"".join(diverging_epoch_part)))
    if x.current_leader.leader_id != -1 or x.current_leader.leader_epoch != -1:
        current_leader_part: list[Buffer] = []
        current_leader = x.current_leader
        _write_leader_id_and_epoch_v12(current_leader_part.append, current_leader)
        tagged.append((1, b"".join(current_leader_part)))
    if x.snapshot_id.end_offset != -1 or x.snapshot_id.epoch != -1:
        snapshot_id_part: list[Buffer] = []
        snapshot_id = x.snapshot_id
        _write_snapshot_id_v12(snapshot_id_part.append, snapshot_id)
        tagged.append((2, b"".join(snapshot_id_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")


def _read_fetchable_topic_response_v4(data: memoryview, pos: int, size: int) -> tuple[FetchableTopicResponse, int]:
    at = "topic"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        topic = str(data[pos:end], "utf-8")
        pos = end
        at = "partitions"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        partitions: list[PartitionData] = []
        for _ in range(count):
            partitions_item, pos = _read_partition_data_v4(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("FetchResponse.FetchableTopicResponse", at, pos, error) from None
    return FetchableTopicResponse(topic, ZERO_UUID, partitions), pos


def _write_fetchable_topic_response_v4(w: Append, x: FetchableTopicResponse) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    w(_pack_h(len(topic_bytes)))
    w(topic_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_partition_data_v4(w, partitions_item)


def _read_fetchable_topic_response_v5(data: memoryview, pos: int, size: int) -> tuple[FetchableTopicResponse, int]:
    at = "topic"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        topic = str(data[pos:end], "utf-8")
        pos = end
        at = "partitions"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        partitions: list[PartitionData] = []
        for _ in range(count):
            partitions_item, pos = _read_partition_data_v5(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("FetchResponse.FetchableTopicResponse", at, pos, error) from None
    return FetchableTopicResponse(topic, ZERO_UUID, partitions), pos


def _write_fetchable_topic_response_v5(w: Append, x: FetchableTopicResponse) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    w(_pack_h(len(topic_bytes)))
    w(topic_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_partition_data_v5(w, partitions_item)


def _read_fetchable_topic_response_v11(data: memoryview, pos: int, size: int) -> tuple[FetchableTopicResponse, int]:
    at = "topic"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        topic = str(data[pos:end], "utf-8")
        pos = end
        at = "partitions"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        partitions: list[PartitionData] = []
        for _ in range(count):
            partitions_item, pos = _read_partition_data_v11(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("FetchResponse.FetchableTopicResponse", at, pos, error) from None
    return FetchableTopicResponse(topic, ZERO_UUID, partitions), pos


def _write_fetchable_topic_response_v11(w: Append, x: FetchableTopicResponse) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    w(_pack_h(len(topic_bytes)))
    w(topic_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_partition_data_v11(w, partitions_item)


def _read_fetchable_topic_response_v12(data: memoryview, pos: int, size: int) -> tuple[FetchableTopicResponse, int]:
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
        topic = str(data[pos:end], "utf-8")
        pos = end
        at = "partitions"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        partitions: list[PartitionData] = []
        for _ in range(count):
            partitions_item, pos = _read_partition_data_v12(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("FetchResponse.FetchableTopicResponse", at, pos, error) from None
    return FetchableTopicResponse(topic, ZERO_UUID, partitions), pos


def _write_fetchable_topic_response_v12(w: Append, x: FetchableTopicResponse) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    count = len(topic_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(topic_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_partition_data_v12(w, partitions_item)
    w(b"\0")


def _read_fetchable_topic_response_v13(data: memoryview, pos: int, size: int) -> tuple[FetchableTopicResponse, int]:
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
        if count > size - pos:
            raise overrun(count, size - pos)
        partitions: list[PartitionData] = []
        for _ in range(count):
            partitions_item, pos = _read_partition_data_v12(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("FetchResponse.FetchableTopicResponse", at, pos, error) from None
    return FetchableTopicResponse("", topic_id, partitions), pos


def _write_fetchable_topic_response_v13(w: Append, x: FetchableTopicResponse) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("FetchResponse", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    for partitions_item in partitions:
        _write_partition_data_v12(w, partitions_item)
    w(b"\0")


def _read_fetch_response_v4(data: memoryview, pos: int, size: int) -> tuple[FetchResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "responses"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        responses: list[FetchableTopicResponse] = []
        for _ in range(count):
            responses_item, pos = _read_fetchable_topic_response_v4(data, pos, size)
            responses.append(responses_item)
    except READ_ERRORS as error:
        raise malformed("FetchResponse", at, pos, error) from None
    return FetchResponse(throttle_time_ms, 0, 0, responses, EMPTY), pos


def _write_fetch_response_v4(w: Append, x: FetchResponse) -> None:
    if x.session_id != 0:
        raise unsupported_field("FetchResponse", "session_id", "4")
    if x.node_endpoints:
        raise unsupported_field("FetchResponse", "node_endpoints", "4")
    responses = x.responses
    w(_pack_ii(x.throttle_time_ms, len(responses)))
    for responses_item in responses:
        _write_fetchable_topic_response_v4(w, responses_item)


def _read_fetch_response_v5(data: memoryview, pos: int, size: int) -> tuple[FetchResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "responses"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        responses: list[FetchableTopicResponse] = []
        for _ in range(count):
            responses_item, pos = _read_fetchable_topic_response_v5(data, pos, size)
            responses.append(responses_item)
    except READ_ERRORS as error:
        raise malformed("FetchResponse", at, pos, error) from None
    return FetchResponse(throttle_time_ms, 0, 0, responses, EMPTY), pos


def _write_fetch_response_v5(w: Append, x: FetchResponse) -> None:
    if x.session_id != 0:
        raise unsupported_field("FetchResponse", "session_id", "5-6")
    if x.node_endpoints:
        raise unsupported_field("FetchResponse", "node_endpoints", "5-6")
    responses = x.responses
    w(_pack_ii(x.throttle_time_ms, len(responses)))
    for responses_item in responses:
        _write_fetchable_topic_response_v5(w, responses_item)


def _read_fetch_response_v7(data: memoryview, pos: int, size: int) -> tuple[FetchResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, session_id, count = _unpack_ihii(data, pos)
        pos += 14
        at = "responses"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        responses: list[FetchableTopicResponse] = []
        for _ in range(count):
            responses_item, pos = _read_fetchable_topic_response_v5(data, pos, size)
            responses.append(responses_item)
    except READ_ERRORS as error:
        raise malformed("FetchResponse", at, pos, error) from None
    return FetchResponse(throttle_time_ms, error_code, session_id, responses, EMPTY), pos


def _write_fetch_response_v7(w: Append, x: FetchResponse) -> None:
    if x.node_endpoints:
        raise unsupported_field("FetchResponse", "node_endpoints", "7-10")
    responses = x.responses
    w(_pack_ihii(x.throttle_time_ms, x.error_code, x.session_id, len(responses)))
    for responses_item in responses:
        _write_fetchable_topic_response_v5(w, responses_item)


def _read_fetch_response_v11(data: memoryview, pos: int, size: int) -> tuple[FetchResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, session_id, count = _unpack_ihii(data, pos)
        pos += 14
        at = "responses"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        responses: list[FetchableTopicResponse] = []
        for _ in range(count):
            responses_item, pos = _read_fetchable_topic_response_v11(data, pos, size)
            responses.append(responses_item)
    except READ_ERRORS as error:
        raise malformed("FetchResponse", at, pos, error) from None
    return FetchResponse(throttle_time_ms, error_code, session_id, responses, EMPTY), pos


def _write_fetch_response_v11(w: Append, x: FetchResponse) -> None:
    if x.node_endpoints:
        raise unsupported_field("FetchResponse", "node_endpoints", "11")
    responses = x.responses
    w(_pack_ihii(x.throttle_time_ms, x.error_code, x.session_id, len(responses)))
    for responses_item in responses:
        _write_fetchable_topic_response_v11(w, responses_item)


def _read_fetch_response_v12(data: memoryview, pos: int, size: int) -> tuple[FetchResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, session_id, count = _unpack_ihiB(data, pos)
        pos += 11
        at = "responses"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        responses: list[FetchableTopicResponse] = []
        for _ in range(count):
            responses_item, pos = _read_fetchable_topic_response_v12(data, pos, size)
            responses.append(responses_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("FetchResponse", at, pos, error) from None
    return FetchResponse(throttle_time_ms, error_code, session_id, responses, EMPTY), pos


def _write_fetch_response_v12(w: Append, x: FetchResponse) -> None:
    if x.node_endpoints:
        raise unsupported_field("FetchResponse", "node_endpoints", "12")
    responses = x.responses
    count = len(responses) + 1
    w(_pack_ihiB(x.throttle_time_ms, x.error_code, x.session_id, count) if count < 128 else _pack_ihi(x.throttle_time_ms, x.error_code, x.session_id) + uvarint(count))
    for responses_item in responses:
        _write_fetchable_topic_response_v12(w, responses_item)
    w(b"\0")


def _read_fetch_response_v13(data: memoryview, pos: int, size: int) -> tuple[FetchResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, session_id, count = _unpack_ihiB(data, pos)
        pos += 11
        at = "responses"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        responses: list[FetchableTopicResponse] = []
        for _ in range(count):
            responses_item, pos = _read_fetchable_topic_response_v13(data, pos, size)
            responses.append(responses_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("FetchResponse", at, pos, error) from None
    return FetchResponse(throttle_time_ms, error_code, session_id, responses, EMPTY), pos


def _write_fetch_response_v13(w: Append, x: FetchResponse) -> None:
    if x.node_endpoints:
        raise unsupported_field("FetchResponse", "node_endpoints", "13-15")
    responses = x.responses
    count = len(responses) + 1
    w(_pack_ihiB(x.throttle_time_ms, x.error_code, x.session_id, count) if count < 128 else _pack_ihi(x.throttle_time_ms, x.error_code, x.session_id) + uvarint(count))
    for responses_item in responses:
        _write_fetchable_topic_response_v13(w, responses_item)
    w(b"\0")


def _read_fetch_response_v16(data: memoryview, pos: int, size: int) -> tuple[FetchResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, session_id, count = _unpack_ihiB(data, pos)
        pos += 11
        at = "responses"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        responses: list[FetchableTopicResponse] = []
        for _ in range(count):
            responses_item, pos = _read_fetchable_topic_response_v13(data, pos, size)
            responses.append(responses_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        node_endpoints: list[NodeEndpoint] = []
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
                    at = "node_endpoints"
                    count = data[pos]
                    pos += 1
                    if count > 127:
                        count, pos = uvarint_tail(data, pos, count)
                    if not count:
                        raise null_value(count)
                    count -= 1
                    if count > size - pos:
                        raise overrun(count, size - pos)
                    node_endpoints = []
                    for _ in range(count):
                        node_endpoints_item, pos = _read_node_endpoint_v16(data, pos, size)
                        node_endpoints.append(node_endpoints_item)
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("FetchResponse", at, pos, error) from None
    return FetchResponse(throttle_time_ms, error_code, session_id, responses, node_endpoints), pos


def _write_fetch_response_v16(w: Append, x: FetchResponse) -> None:
    responses = x.responses
    count = len(responses) + 1
    w(_pack_ihiB(x.throttle_time_ms, x.error_code, x.session_id, count) if count < 128 else _pack_ihi(x.throttle_time_ms, x.error_code, x.session_id) + uvarint(count))
    for responses_item in responses:
        _write_fetchable_topic_response_v13(w, responses_item)
    tagged: list[tuple[int, bytes]] = []
    if x.node_endpoints:
        node_endpoints_part: list[Buffer] = []
        node_endpoints = x.node_endpoints
        count = len(node_endpoints) + 1
        node_endpoints_part.append(VARINT[count] if count < 128 else uvarint(count))
        for node_endpoints_item in node_endpoints:
            _write_node_endpoint_v16(node_endpoints_part.append, node_endpoints_item)
        tagged.append((0, b"".join(node_endpoints_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")
FetchResponse._READERS = {
    4: _read_fetch_response_v4,
    5: _read_fetch_response_v5,
    6: _read_fetch_response_v5,
    7: _read_fetch_response_v7,
    8: _read_fetch_response_v7,
    9: _read_fetch_response_v7,
    10: _read_fetch_response_v7,
    11: _read_fetch_response_v11,
    12: _read_fetch_response_v12,
    13: _read_fetch_response_v13,
    14: _read_fetch_response_v13,
    15: _read_fetch_response_v13,
    16: _read_fetch_response_v16,
    17: _read_fetch_response_v16,
    18: _read_fetch_response_v16,
}
FetchResponse._WRITERS = {
    4: _write_fetch_response_v4,
    5: _write_fetch_response_v5,
    6: _write_fetch_response_v5,
    7: _write_fetch_response_v7,
    8: _write_fetch_response_v7,
    9: _write_fetch_response_v7,
    10: _write_fetch_response_v7,
    11: _write_fetch_response_v11,
    12: _write_fetch_response_v12,
    13: _write_fetch_response_v13,
    14: _write_fetch_response_v13,
    15: _write_fetch_response_v13,
    16: _write_fetch_response_v16,
    17: _write_fetch_response_v16,
    18: _write_fetch_response_v16,
}
FetchResponse._HAS_RECORDS = True
