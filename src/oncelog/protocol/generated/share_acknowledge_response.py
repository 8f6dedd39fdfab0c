# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, ZERO_UUID, Append, Message, Struct, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_U = _Struct(">16s").pack
_pack_UB = _Struct(">16sB").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ih = _Struct(">ih").pack
_pack_iix = _Struct(">iix").pack
_unpack_UB = _Struct(">16sB").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from
_unpack_iiB = _Struct(">iiB").unpack_from


class LeaderIdAndEpoch(Struct):
    __slots__ = ("leader_id", "leader_epoch")

    def __init__(
        self,
        leader_id: int = 0,  # 0+
        leader_epoch: int = 0,  # 0+
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


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
    __slots__ = ("partition_index", "error_code", "error_message", "current_leader")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        error_code: int = 0,  # 0+
        error_message: str | None = None,  # 0+
        current_leader: LeaderIdAndEpoch | None = None,  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.current_leader = LeaderIdAndEpoch() if current_leader is None else current_leader


class ShareAcknowledgeTopicResponse(Struct):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,  # 0+
        partitions: list[PartitionData] = EMPTY,  # 0+
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class ShareAcknowledgeResponse(Message):
    API_KEY = 79
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "acquisition_lock_timeout_ms", "responses", "node_endpoints")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        error_code: int = 0,  # 0+
        error_message: str | None = None,  # 0+
        acquisition_lock_timeout_ms: int = 0,  # 2+, ignorable
        responses: list[ShareAcknowledgeTopicResponse] = EMPTY,  # 0+
        node_endpoints: list[NodeEndpoint] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.acquisition_lock_timeout_ms = acquisition_lock_timeout_ms
        self.responses = [] if responses is EMPTY else responses
        self.node_endpoints = [] if node_endpoints is EMPTY else node_endpoints


def _read_leader_id_and_epoch_v1(data: bytes, pos: int, size: int) -> tuple[LeaderIdAndEpoch, int]:
    at = "leader_id"
    try:
        leader_id, leader_epoch, tags = _unpack_iiB(data, pos)
        pos += 9
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareAcknowledgeResponse.LeaderIdAndEpoch", at, pos, error) from None
    return LeaderIdAndEpoch(leader_id, leader_epoch), pos


def _write_leader_id_and_epoch_v1(w: Append, x: LeaderIdAndEpoch) -> None:
    w(_pack_iix(x.leader_id, x.leader_epoch))


def _read_node_endpoint_v1(data: bytes, pos: int, size: int) -> tuple[NodeEndpoint, int]:
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
        host = data[pos:end].decode()
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
            rack = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareAcknowledgeResponse.NodeEndpoint", at, pos, error) from None
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


def _read_partition_data_v1(data: bytes, pos: int, size: int) -> tuple[PartitionData, int]:
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
        at = "current_leader"
        current_leader, pos = _read_leader_id_and_epoch_v1(data, pos, size)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareAcknowledgeResponse.PartitionData", at, pos, error) from None
    return PartitionData(partition_index, error_code, error_message, current_leader), pos


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
    current_leader = x.current_leader
    _write_leader_id_and_epoch_v1(w, current_leader)
    w(b"\0")


def _read_share_acknowledge_topic_response_v1(data: bytes, pos: int, size: int) -> tuple[ShareAcknowledgeTopicResponse, int]:
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
        raise malformed("ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse", at, pos, error) from None
    return ShareAcknowledgeTopicResponse(topic_id, partitions), pos


def _write_share_acknowledge_topic_response_v1(w: Append, x: ShareAcknowledgeTopicResponse) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("ShareAcknowledgeResponse", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    for partitions_item in partitions:
        _write_partition_data_v1(w, partitions_item)
    w(b"\0")


def _read_share_acknowledge_response_v1(data: bytes, pos: int, size: int) -> tuple[ShareAcknowledgeResponse, int]:
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
            error_message = data[pos:end].decode()
            pos = end
        at = "responses"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        responses: list[ShareAcknowledgeTopicResponse] = []
        for _ in range(count):
            responses_item, pos = _read_share_acknowledge_topic_response_v1(data, pos, size)
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
        raise malformed("ShareAcknowledgeResponse", at, pos, error) from None
    return ShareAcknowledgeResponse(throttle_time_ms, error_code, error_message, 0, responses, node_endpoints), pos


def _write_share_acknowledge_response_v1(w: Append, x: ShareAcknowledgeResponse) -> None:
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
    w(VARINT[count] if count < 128 else uvarint(count))
    for responses_item in responses:
        _write_share_acknowledge_topic_response_v1(w, responses_item)
    node_endpoints = x.node_endpoints
    count = len(node_endpoints) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for node_endpoints_item in node_endpoints:
        _write_node_endpoint_v1(w, node_endpoints_item)
    w(b"\0")


def _read_share_acknowledge_response_v2(data: bytes, pos: int, size: int) -> tuple[ShareAcknowledgeResponse, int]:
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
            error_message = data[pos:end].decode()
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
        responses: list[ShareAcknowledgeTopicResponse] = []
        for _ in range(count):
            responses_item, pos = _read_share_acknowledge_topic_response_v1(data, pos, size)
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
        raise malformed("ShareAcknowledgeResponse", at, pos, error) from None
    return ShareAcknowledgeResponse(throttle_time_ms, error_code, error_message, acquisition_lock_timeout_ms, responses, node_endpoints), pos


def _write_share_acknowledge_response_v2(w: Append, x: ShareAcknowledgeResponse) -> None:
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
        _write_share_acknowledge_topic_response_v1(w, responses_item)
    node_endpoints = x.node_endpoints
    count = len(node_endpoints) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for node_endpoints_item in node_endpoints:
        _write_node_endpoint_v1(w, node_endpoints_item)
    w(b"\0")
ShareAcknowledgeResponse._READERS = {
    1: _read_share_acknowledge_response_v1,
    2: _read_share_acknowledge_response_v2,
}
ShareAcknowledgeResponse._WRITERS = {
    1: _write_share_acknowledge_response_v1,
    2: _write_share_acknowledge_response_v2,
}
