# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, ZERO_UUID, Append, Message, Struct, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_U = _Struct(">16s").pack
_pack_UB = _Struct(">16sB").pack
_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ih = _Struct(">ih").pack
_pack_iix = _Struct(">iix").pack
_pack_qqhx = _Struct(">qqhx").pack
_unpack_UB = _Struct(">16sB").unpack_from
_unpack_hB = _Struct(">hB").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from
_unpack_iiB = _Struct(">iiB").unpack_from
_unpack_qqhB = _Struct(">qqhB").unpack_from


class LeaderIdAndEpoch(Struct):
    __slots__ = ("leader_id", "leader_epoch")

    def __init__(
        self,
        leader_id: int = 0,  # 0+
        leader_epoch: int = 0,  # 0+
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


class AcquiredRecords(Struct):
    __slots__ = ("first_offset", "last_offset", "delivery_count")

    def __init__(
        self,
        first_offset: int = 0,  # 0+
        last_offset: int = 0,  # 0+
        delivery_count: int = 0,  # 0+
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_count = delivery_count


class NodeEndpoint(Struct):
    __slots__ = ("node_id", "host", "port", "rack")

    def __init__(
        self,
        node_id: int = 0,  # 0+
        host: str = "",  # 0+
        port: int = 0,  # 0+
        rack: str | None = None,  # 0+
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack


class PartitionData(Struct):
    __slots__ = ("partition_index", "error_code", "error_message", "acknowledge_error_code", "acknowledge_error_message", "current_leader", "records", "acquired_records")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        error_code: int = 0,  # 0+
        error_message: str | None = None,  # 0+
        acknowledge_error_code: int = 0,  # 0+
        acknowledge_error_message: str | None = None,  # 0+
        current_leader: LeaderIdAndEpoch | None = None,  # 0+
        records: bytes | memoryview | None = None,  # 0+
        acquired_records: list[AcquiredRecords] = EMPTY,  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.acknowledge_error_code = acknowledge_error_code
        self.acknowledge_error_message = acknowledge_error_message
        self.current_leader = LeaderIdAndEpoch() if current_leader is None else current_leader
        self.records = records
        self.acquired_records = [] if acquired_records is EMPTY else acquired_records


class ShareFetchableTopicResponse(Struct):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,  # 0+
        partitions: list[PartitionData] = EMPTY,  # 0+
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class ShareFetchResponse(Message):
    API_KEY = 78
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "acquisition_lock_timeout_ms", "responses", "node_endpoints")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        error_code: int = 0,  # 0+
        error_message: str | None = None,  # 0+
        acquisition_lock_timeout_ms: int = 0,  # 1+
        responses: list[ShareFetchableTopicResponse] = EMPTY,  # 0+
        node_endpoints: list[NodeEndpoint] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.acquisition_lock_timeout_ms = acquisition_lock_timeout_ms
        self.responses = [] if responses is EMPTY else responses
        self.node_endpoints = [] if node_endpoints is EMPTY else node_endpoints


def _read_leader_id_and_epoch_v1(data: memoryview, pos: int, size: int) -> tuple[LeaderIdAndEpoch, int]:
    at = "leader_id"
    try:
        leader_id, leader_epoch, tags = _unpack_iiB(data, pos)
        pos += 9
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareFetchResponse.LeaderIdAndEpoch", at, pos, error) from None
    return LeaderIdAndEpoch(leader_id, leader_epoch), pos


def _write_leader_id_and_epoch_v1(w: Append, x: LeaderIdAndEpoch) -> None:
    w(_pack_iix(x.leader_id, x.leader_epoch))


def _read_acquired_records_v1(data: memoryview, pos: int, size: int) -> tuple[AcquiredRecords, int]:
    at = "first_offset"
    try:
        first_offset, last_offset, delivery_count, tags = _unpack_qqhB(data, pos)
        pos += 19
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareFetchResponse.AcquiredRecords", at, pos, error) from None
    return AcquiredRecords(first_offset, last_offset, delivery_count), pos


def _write_acquired_records_v1(w: Append, x: AcquiredRecords) -> None:
    w(_pack_qqhx(x.first_offset, x.last_offset, x.delivery_count))


def _read_node_endpoint_v1(data: memoryview, pos: int, size: int) -> tuple[NodeEndpoint, int]:
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
        raise malformed("ShareFetchResponse.NodeEndpoint", at, pos, error) from None
    return NodeEndpoint(node_id, host, port, rack), pos


def _write_node_endpoint_v1(w: Append, x: NodeEndpoint) -> None:
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


def _read_partition_data_v1(data: memoryview, pos: int, size: int) -> tuple[PartitionData, int]:
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
            error_message = str(data[pos:end], "utf-8")
            pos = end
        at = "acknowledge_error_code"
        acknowledge_error_code, count = _unpack_hB(data, pos)
        pos += 3
        at = "acknowledge_error_message"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        acknowledge_error_message: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            acknowledge_error_message = str(data[pos:end], "utf-8")
            pos = end
        at = "current_leader"
        current_leader, pos = _read_leader_id_and_epoch_v1(data, pos, size)
        at = "records"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        records: bytes | memoryview | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            records = data[pos:end]
            pos = end
        at = "acquired_records"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        acquired_records: list[AcquiredRecords] = []
        for _ in range(count):
            acquired_records_item, pos = _read_acquired_records_v1(data, pos, size)
            acquired_records.append(acquired_records_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareFetchResponse.PartitionData", at, pos, error) from None
    return PartitionData(partition_index, error_code, error_message, acknowledge_error_code, acknowledge_error_message, current_leader, records, acquired_records), pos


def _write_partition_data_v1(w: Append, x: PartitionData) -> None:
    error_message = x.error_message
    w(_pack_ih(x.partition_index, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    acknowledge_error_message = x.acknowledge_error_message
    w(_pack_h(x.acknowledge_error_code))
    if acknowledge_error_message is None:
        w(b"\0")
    else:
        acknowledge_error_message_bytes = acknowledge_error_message.encode()
        count = len(acknowledge_error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(acknowledge_error_message_bytes)
    current_leader = x.current_leader
    _write_leader_id_and_epoch_v1(w, current_leader)
    records = x.records
    if records is None:
        w(b"\0")
    else:
        count = len(records) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        w(records)
    acquired_records = x.acquired_records
    count = len(acquired_records) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for acquired_records_item in acquired_records:
        _write_acquired_records_v1(w, acquired_records_item)
    w(b"\0")


def _read_share_fetchable_topic_response_v1(data: memoryview, pos: int, size: int) -> tuple[ShareFetchableTopicResponse, int]:
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
            partitions_item, pos = _read_partition_data_v1(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareFetchResponse.ShareFetchableTopicResponse", at, pos, error) from None
    return ShareFetchableTopicResponse(topic_id, partitions), pos


def _write_share_fetchable_topic_response_v1(w: Append, x: ShareFetchableTopicResponse) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("ShareFetchResponse", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    for partitions_item in partitions:
        _write_partition_data_v1(w, partitions_item)
    w(b"\0")


def _read_share_fetch_response_v1(data: memoryview, pos: int, size: int) -> tuple[ShareFetchResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihB(data, pos)
        pos += 7
        at = "error_message"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        error_message: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            error_message = str(data[pos:end], "utf-8")
            pos = end
        at = "acquisition_lock_timeout_ms"
        acquisition_lock_timeout_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "responses"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        responses: list[ShareFetchableTopicResponse] = []
        for _ in range(count):
            responses_item, pos = _read_share_fetchable_topic_response_v1(data, pos, size)
            responses.append(responses_item)
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
        node_endpoints: list[NodeEndpoint] = []
        for _ in range(count):
            node_endpoints_item, pos = _read_node_endpoint_v1(data, pos, size)
            node_endpoints.append(node_endpoints_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareFetchResponse", at, pos, error) from None
    return ShareFetchResponse(throttle_time_ms, error_code, error_message, acquisition_lock_timeout_ms, responses, node_endpoints), pos


def _write_share_fetch_response_v1(w: Append, x: ShareFetchResponse) -> None:
    error_message = x.error_message
    w(_pack_ih(x.throttle_time_ms, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    responses = x.responses
    count = len(responses) + 1
    w(_pack_iB(x.acquisition_lock_timeout_ms, count) if count < 128 else _pack_i(x.acquisition_lock_timeout_ms) + uvarint(count))
    for responses_item in responses:
        _write_share_fetchable_topic_response_v1(w, responses_item)
    node_endpoints = x.node_endpoints
    count = len(node_endpoints) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for node_endpoints_item in node_endpoints:
        _write_node_endpoint_v1(w, node_endpoints_item)
    w(b"\0")
ShareFetchResponse._READERS = {
    1: _read_share_fetch_response_v1,
    2: _read_share_fetch_response_v1,
}
ShareFetchResponse._WRITERS = {
    1: _write_share_fetch_response_v1,
    2: _write_share_fetch_response_v1,
}
ShareFetchResponse._HAS_RECORDS = True
