# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, ZERO_UUID, Append, Message, Struct, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_Hx = _Struct(">Hx").pack
_pack_h = _Struct(">h").pack
_pack_hB = _Struct(">hB").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_iUqqqx = _Struct(">i16sqqqx").pack
_pack_ih = _Struct(">ih").pack
_pack_ihiiq = _Struct(">ihiiq").pack
_pack_ihiiqB = _Struct(">ihiiqB").pack
_pack_iiq = _Struct(">iiq").pack
_pack_iiqB = _Struct(">iiqB").pack
_pack_iqqqx = _Struct(">iqqqx").pack
_pack_iqx = _Struct(">iqx").pack
_unpack_HB = _Struct(">HB").unpack_from
_unpack_hB = _Struct(">hB").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_iUqqqB = _Struct(">i16sqqqB").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from
_unpack_ihiiqB = _Struct(">ihiiqB").unpack_from
_unpack_iiqB = _Struct(">iiqB").unpack_from
_unpack_iqB = _Struct(">iqB").unpack_from
_unpack_iqqqB = _Struct(">iqqqB").unpack_from


class ReplicaState(Struct):
    __slots__ = ("replica_id", "replica_directory_id", "log_end_offset", "last_fetch_timestamp", "last_caught_up_timestamp")

    def __init__(
        self,
        replica_id: int = 0,  # 0+
        replica_directory_id: Uuid = ZERO_UUID,  # 2+
        log_end_offset: int = 0,  # 0+
        last_fetch_timestamp: int = -1,  # 1+, ignorable
        last_caught_up_timestamp: int = -1,  # 1+, ignorable
    ) -> None:
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.log_end_offset = log_end_offset
        self.last_fetch_timestamp = last_fetch_timestamp
        self.last_caught_up_timestamp = last_caught_up_timestamp


class Listener(Struct):
    __slots__ = ("name", "host", "port")

    def __init__(
        self,
        name: str = "",  # 2+
        host: str = "",  # 2+
        port: int = 0,  # 2+
    ) -> None:
        self.name = name
        self.host = host
        self.port = port


class PartitionData(Struct):
    __slots__ = ("partition_index", "error_code", "error_message", "leader_id", "leader_epoch", "high_watermark", "current_voters", "observers")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        error_code: int = 0,  # 0+
        error_message: str | None = "",  # 2+, ignorable
        leader_id: int = 0,  # 0+
        leader_epoch: int = 0,  # 0+
        high_watermark: int = 0,  # 0+
        current_voters: list[ReplicaState] = EMPTY,  # 0+
        observers: list[ReplicaState] = EMPTY,  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.high_watermark = high_watermark
        self.current_voters = [] if current_voters is EMPTY else current_voters
        self.observers = [] if observers is EMPTY else observers


class Node(Struct):
    __slots__ = ("node_id", "listeners")

    def __init__(
        self,
        node_id: int = 0,  # 2+
        listeners: list[Listener] = EMPTY,  # 2+
    ) -> None:
        self.node_id = node_id
        self.listeners = [] if listeners is EMPTY else listeners


class TopicData(Struct):
    __slots__ = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",  # 0+
        partitions: list[PartitionData] = EMPTY,  # 0+
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions


class DescribeQuorumResponse(Message):
    API_KEY = 55
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    __slots__ = ("error_code", "error_message", "topics", "nodes")

    def __init__(
        self,
        error_code: int = 0,  # 0+
        error_message: str | None = "",  # 2+, ignorable
        topics: list[TopicData] = EMPTY,  # 0+
        nodes: list[Node] = EMPTY,  # 2+
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.topics = [] if topics is EMPTY else topics
        self.nodes = [] if nodes is EMPTY else nodes


def _read_replica_state_v0(data: bytes, pos: int, size: int) -> tuple[ReplicaState, int]:
    at = "replica_id"
    try:
        replica_id, log_end_offset, tags = _unpack_iqB(data, pos)
        pos += 13
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeQuorumResponse.ReplicaState", at, pos, error) from None
    return ReplicaState(replica_id, ZERO_UUID, log_end_offset, -1, -1), pos


def _write_replica_state_v0(w: Append, x: ReplicaState) -> None:
    if x.replica_directory_id != ZERO_UUID:
        raise unsupported_field("DescribeQuorumResponse.ReplicaState", "replica_directory_id", "0")
    w(_pack_iqx(x.replica_id, x.log_end_offset))


def _read_replica_state_v1(data: bytes, pos: int, size: int) -> tuple[ReplicaState, int]:
    at = "replica_id"
    try:
        replica_id, log_end_offset, last_fetch_timestamp, last_caught_up_timestamp, tags = _unpack_iqqqB(data, pos)
        pos += 29
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeQuorumResponse.ReplicaState", at, pos, error) from None
    return ReplicaState(replica_id, ZERO_UUID, log_end_offset, last_fetch_timestamp, last_caught_up_timestamp), pos


def _write_replica_state_v1(w: Append, x: ReplicaState) -> None:
    if x.replica_directory_id != ZERO_UUID:
        raise unsupported_field("DescribeQuorumResponse.ReplicaState", "replica_directory_id", "1")
    w(_pack_iqqqx(x.replica_id, x.log_end_offset, x.last_fetch_timestamp, x.last_caught_up_timestamp))


def _read_replica_state_v2(data: bytes, pos: int, size: int) -> tuple[ReplicaState, int]:
    at = "replica_id"
    try:
        replica_id, replica_directory_id, log_end_offset, last_fetch_timestamp, last_caught_up_timestamp, tags = _unpack_iUqqqB(data, pos)
        pos += 45
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeQuorumResponse.ReplicaState", at, pos, error) from None
    return ReplicaState(replica_id, replica_directory_id, log_end_offset, last_fetch_timestamp, last_caught_up_timestamp), pos


def _write_replica_state_v2(w: Append, x: ReplicaState) -> None:
    replica_directory_id = x.replica_directory_id
    if len(replica_directory_id) != 16:
        raise bad_uuid("DescribeQuorumResponse", "replica_directory_id", replica_directory_id)
    w(_pack_iUqqqx(x.replica_id, replica_directory_id, x.log_end_offset, x.last_fetch_timestamp, x.last_caught_up_timestamp))


def _read_listener_v2(data: bytes, pos: int, size: int) -> tuple[Listener, int]:
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
        at = "host"
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
        raise malformed("DescribeQuorumResponse.Listener", at, pos, error) from None
    return Listener(name, host, port), pos


def _write_listener_v2(w: Append, x: Listener) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    host = x.host
    host_bytes = host.encode()
    count = len(host_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(host_bytes)
    w(_pack_Hx(x.port))


def _read_partition_data_v0(data: bytes, pos: int, size: int) -> tuple[PartitionData, int]:
    at = "partition_index"
    try:
        partition_index, error_code, leader_id, leader_epoch, high_watermark, count = _unpack_ihiiqB(data, pos)
        pos += 23
        at = "current_voters"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        current_voters: list[ReplicaState] = []
        for _ in range(count):
            current_voters_item, pos = _read_replica_state_v0(data, pos, size)
            current_voters.append(current_voters_item)
        at = "observers"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        observers: list[ReplicaState] = []
        for _ in range(count):
            observers_item, pos = _read_replica_state_v0(data, pos, size)
            observers.append(observers_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeQuorumResponse.PartitionData", at, pos, error) from None
    return PartitionData(partition_index, error_code, "", leader_id, leader_epoch, high_watermark, current_voters, observers), pos


def _write_partition_data_v0(w: Append, x: PartitionData) -> None:
    current_voters = x.current_voters
    count = len(current_voters) + 1
    w(_pack_ihiiqB(x.partition_index, x.error_code, x.leader_id, x.leader_epoch, x.high_watermark, count) if count < 128 else _pack_ihiiq(x.partition_index, x.error_code, x.leader_id, x.leader_epoch, x.high_watermark) + uvarint(count))
    for current_voters_item in current_voters:
        _write_replica_state_v0(w, current_voters_item)
    observers = x.observers
    count = len(observers) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for observers_item in observers:
        _write_replica_state_v0(w, observers_item)
    w(b"\0")


def _read_partition_data_v1(data: bytes, pos: int, size: int) -> tuple[PartitionData, int]:
    at = "partition_index"
    try:
        partition_index, error_code, leader_id, leader_epoch, high_watermark, count = _unpack_ihiiqB(data, pos)
        pos += 23
        at = "current_voters"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        current_voters: list[ReplicaState] = []
        for _ in range(count):
            current_voters_item, pos = _read_replica_state_v1(data, pos, size)
            current_voters.append(current_voters_item)
        at = "observers"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        observers: list[ReplicaState] = []
        for _ in range(count):
            observers_item, pos = _read_replica_state_v1(data, pos, size)
            observers.append(observers_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeQuorumResponse.PartitionData", at, pos, error) from None
    return PartitionData(partition_index, error_code, "", leader_id, leader_epoch, high_watermark, current_voters, observers), pos


def _write_partition_data_v1(w: Append, x: PartitionData) -> None:
    current_voters = x.current_voters
    count = len(current_voters) + 1
    w(_pack_ihiiqB(x.partition_index, x.error_code, x.leader_id, x.leader_epoch, x.high_watermark, count) if count < 128 else _pack_ihiiq(x.partition_index, x.error_code, x.leader_id, x.leader_epoch, x.high_watermark) + uvarint(count))
    for current_voters_item in current_voters:
        _write_replica_state_v1(w, current_voters_item)
    observers = x.observers
    count = len(observers) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for observers_item in observers:
        _write_replica_state_v1(w, observers_item)
    w(b"\0")


def _read_partition_data_v2(data: bytes, pos: int, size: int) -> tuple[PartitionData, int]:
    at = "partition_index"
    try:
        partition_index, error_code, count = _unpack_ihB(data, pos)
        pos += 7
        at = "error_message"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        error_message: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "leader_id"
        leader_id, leader_epoch, high_watermark, count = _unpack_iiqB(data, pos)
        pos += 17
        at = "current_voters"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        current_voters: list[ReplicaState] = []
        for _ in range(count):
            current_voters_item, pos = _read_replica_state_v2(data, pos, size)
            current_voters.append(current_voters_item)
        at = "observers"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        observers: list[ReplicaState] = []
        for _ in range(count):
            observers_item, pos = _read_replica_state_v2(data, pos, size)
            observers.append(observers_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeQuorumResponse.PartitionData", at, pos, error) from None
    return PartitionData(partition_index, error_code, error_message, leader_id, leader_epoch, high_watermark, current_voters, observers), pos


def _write_partition_data_v2(w: Append, x: PartitionData) -> None:
    error_message = x.error_message
    w(_pack_ih(x.partition_index, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    current_voters = x.current_voters
    count = len(current_voters) + 1
    w(_pack_iiqB(x.leader_id, x.leader_epoch, x.high_watermark, count) if count < 128 else _pack_iiq(x.leader_id, x.leader_epoch, x.high_watermark) + uvarint(count))
    for current_voters_item in current_voters:
        _write_replica_state_v2(w, current_voters_item)
    observers = x.observers
    count = len(observers) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for observers_item in observers:
        _write_replica_state_v2(w, observers_item)
    w(b"\0")


def _read_node_v2(data: bytes, pos: int, size: int) -> tuple[Node, int]:
    at = "node_id"
    try:
        node_id, count = _unpack_iB(data, pos)
        pos += 5
        at = "listeners"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        listeners: list[Listener] = []
        for _ in range(count):
            listeners_item, pos = _read_listener_v2(data, pos, size)
            listeners.append(listeners_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeQuorumResponse.Node", at, pos, error) from None
    return Node(node_id, listeners), pos


def _write_node_v2(w: Append, x: Node) -> None:
    listeners = x.listeners
    count = len(listeners) + 1
    w(_pack_iB(x.node_id, count) if count < 128 else _pack_i(x.node_id) + uvarint(count))
    for listeners_item in listeners:
        _write_listener_v2(w, listeners_item)
    w(b"\0")


def _read_topic_data_v0(data: bytes, pos: int, size: int) -> tuple[TopicData, int]:
    at = "topic_name"
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
        topic_name = data[pos:end].decode()
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
            partitions_item, pos = _read_partition_data_v0(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeQuorumResponse.TopicData", at, pos, error) from None
    return TopicData(topic_name, partitions), pos


def _write_topic_data_v0(w: Append, x: TopicData) -> None:
    topic_name = x.topic_name
    topic_name_bytes = topic_name.encode()
    count = len(topic_name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(topic_name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_partition_data_v0(w, partitions_item)
    w(b"\0")


def _read_topic_data_v1(data: bytes, pos: int, size: int) -> tuple[TopicData, int]:
    at = "topic_name"
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
        topic_name = data[pos:end].decode()
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
            partitions_item, pos = _read_partition_data_v1(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeQuorumResponse.TopicData", at, pos, error) from None
    return TopicData(topic_name, partitions), pos


def _write_topic_data_v1(w: Append, x: TopicData) -> None:
    topic_name = x.topic_name
    topic_name_bytes = topic_name.encode()
    count = len(topic_name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(topic_name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_partition_data_v1(w, partitions_item)
    w(b"\0")


def _read_topic_data_v2(data: bytes, pos: int, size: int) -> tuple[TopicData, int]:
    at = "topic_name"
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
        topic_name = data[pos:end].decode()
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
            partitions_item, pos = _read_partition_data_v2(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeQuorumResponse.TopicData", at, pos, error) from None
    return TopicData(topic_name, partitions), pos


def _write_topic_data_v2(w: Append, x: TopicData) -> None:
    topic_name = x.topic_name
    topic_name_bytes = topic_name.encode()
    count = len(topic_name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(topic_name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_partition_data_v2(w, partitions_item)
    w(b"\0")


def _read_describe_quorum_response_v0(data: bytes, pos: int, size: int) -> tuple[DescribeQuorumResponse, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hB(data, pos)
        pos += 3
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
        raise malformed("DescribeQuorumResponse", at, pos, error) from None
    return DescribeQuorumResponse(error_code, "", topics, EMPTY), pos


def _write_describe_quorum_response_v0(w: Append, x: DescribeQuorumResponse) -> None:
    if x.nodes:
        raise unsupported_field("DescribeQuorumResponse", "nodes", "0")
    topics = x.topics
    count = len(topics) + 1
    w(_pack_hB(x.error_code, count) if count < 128 else _pack_h(x.error_code) + uvarint(count))
    for topics_item in topics:
        _write_topic_data_v0(w, topics_item)
    w(b"\0")


def _read_describe_quorum_response_v1(data: bytes, pos: int, size: int) -> tuple[DescribeQuorumResponse, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hB(data, pos)
        pos += 3
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
            topics_item, pos = _read_topic_data_v1(data, pos, size)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeQuorumResponse", at, pos, error) from None
    return DescribeQuorumResponse(error_code, "", topics, EMPTY), pos


def _write_describe_quorum_response_v1(w: Append, x: DescribeQuorumResponse) -> None:
    if x.nodes:
        raise unsupported_field("DescribeQuorumResponse", "nodes", "1")
    topics = x.topics
    count = len(topics) + 1
    w(_pack_hB(x.error_code, count) if count < 128 else _pack_h(x.error_code) + uvarint(count))
    for topics_item in topics:
        _write_topic_data_v1(w, topics_item)
    w(b"\0")


def _read_describe_quorum_response_v2(data: bytes, pos: int, size: int) -> tuple[DescribeQuorumResponse, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hB(data, pos)
        pos += 3
        at = "error_message"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        error_message: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "topics"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[TopicData] = []
        for _ in range(count):
            topics_item, pos = _read_topic_data_v2(data, pos, size)
            topics.append(topics_item)
        at = "nodes"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        nodes: list[Node] = []
        for _ in range(count):
            nodes_item, pos = _read_node_v2(data, pos, size)
            nodes.append(nodes_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeQuorumResponse", at, pos, error) from None
    return DescribeQuorumResponse(error_code, error_message, topics, nodes), pos


def _write_describe_quorum_response_v2(w: Append, x: DescribeQuorumResponse) -> None:
    error_message = x.error_message
    w(_pack_h(x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        _write_topic_data_v2(w, topics_item)
    nodes = x.nodes
    count = len(nodes) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for nodes_item in nodes:
        _write_node_v2(w, nodes_item)
    w(b"\0")
DescribeQuorumResponse._READERS = {
    0: _read_describe_quorum_response_v0,
    1: _read_describe_quorum_response_v1,
    2: _read_describe_quorum_response_v2,
}
DescribeQuorumResponse._WRITERS = {
    0: _write_describe_quorum_response_v0,
    1: _write_describe_quorum_response_v1,
    2: _write_describe_quorum_response_v2,
}
