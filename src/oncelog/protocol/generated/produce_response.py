# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, ZERO_UUID, Append, Buffer, Message, Struct, Uuid, bad_uuid, malformed, many_tags, null_value, overrun, read_uvarint, skip_tags, string_length, string_length_tail, tag_size, unsupported_field, uvarint, uvarint_tail, write_tags

_pack_U = _Struct(">16s").pack
_pack_UB = _Struct(">16sB").pack
_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ih = _Struct(">ih").pack
_pack_ihqq = _Struct(">ihqq").pack
_pack_ihqqq = _Struct(">ihqqq").pack
_pack_ihqqqB = _Struct(">ihqqqB").pack
_pack_ihqqqi = _Struct(">ihqqqi").pack
_pack_iix = _Struct(">iix").pack
_pack_ix = _Struct(">ix").pack
_unpack_UB = _Struct(">16sB").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ih = _Struct(">ih").unpack_from
_unpack_ihqq = _Struct(">ihqq").unpack_from
_unpack_ihqqq = _Struct(">ihqqq").unpack_from
_unpack_ihqqqB = _Struct(">ihqqqB").unpack_from
_unpack_ihqqqi = _Struct(">ihqqqi").unpack_from
_unpack_iiB = _Struct(">iiB").unpack_from


class PartitionProduceResponse(Struct):
    __slots__ = ("index", "error_code", "base_offset", "log_append_time_ms", "log_start_offset", "record_errors", "error_message", "current_leader")

    def __init__(
        self,
        index: int = 0,  # 0+
        error_code: int = 0,  # 0+
        base_offset: int = 0,  # 0+
        log_append_time_ms: int = -1,  # 2+, ignorable
        log_start_offset: int = -1,  # 5+, ignorable
        record_errors: list[BatchIndexAndErrorMessage] = EMPTY,  # 8+, ignorable
        error_message: str | None = None,  # 8+, ignorable
        current_leader: LeaderIdAndEpoch | None = None,  # 10+, tag 0
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.record_errors = [] if record_errors is EMPTY else record_errors
        self.error_message = error_message
        self.current_leader = LeaderIdAndEpoch() if current_leader is None else current_leader


class BatchIndexAndErrorMessage(Struct):
    __slots__ = ("batch_index", "batch_index_error_message")

    def __init__(
        self,
        batch_index: int = 0,  # 8+
        batch_index_error_message: str | None = None,  # 8+
    ) -> None:
        self.batch_index = batch_index
        self.batch_index_error_message = batch_index_error_message


class LeaderIdAndEpoch(Struct):
    __slots__ = ("leader_id", "leader_epoch")

    def __init__(
        self,
        leader_id: int = -1,  # 10+
        leader_epoch: int = -1,  # 10+
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


class NodeEndpoint(Struct):
    __slots__ = ("node_id", "host", "port", "rack")

    def __init__(
        self,
        node_id: int = 0,  # 10+
        host: str = "",  # 10+
        port: int = 0,  # 10+
        rack: str | None = None,  # 10+
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack


class TopicProduceResponse(Struct):
    __slots__ = ("name", "topic_id", "partition_responses")

    def __init__(
        self,
        name: str = "",  # 0-12, ignorable
        topic_id: Uuid = ZERO_UUID,  # 13+, ignorable
        partition_responses: list[PartitionProduceResponse] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_responses = [] if partition_responses is EMPTY else partition_responses


class ProduceResponse(Message):
    API_KEY = 0
    MIN_VERSION = 3
    MAX_VERSION = 13
    FLEXIBLE_FROM = 9
    __slots__ = ("responses", "throttle_time_ms", "node_endpoints")

    def __init__(
        self,
        responses: list[TopicProduceResponse] = EMPTY,  # 0+
        throttle_time_ms: int = 0,  # 1+, ignorable
        node_endpoints: list[NodeEndpoint] = EMPTY,  # 10+, tag 0
    ) -> None:
        self.responses = [] if responses is EMPTY else responses
        self.throttle_time_ms = throttle_time_ms
        self.node_endpoints = [] if node_endpoints is EMPTY else node_endpoints


def _read_partition_produce_response_v3(data: bytes, pos: int, size: int) -> tuple[PartitionProduceResponse, int]:
    at = "index"
    try:
        index, error_code, base_offset, log_append_time_ms = _unpack_ihqq(data, pos)
        pos += 22
    except READ_ERRORS as error:
        raise malformed("ProduceResponse.PartitionProduceResponse", at, pos, error) from None
    return PartitionProduceResponse(index, error_code, base_offset, log_append_time_ms, -1, EMPTY, None, LeaderIdAndEpoch()), pos


def _write_partition_produce_response_v3(w: Append, x: PartitionProduceResponse) -> None:
    if x.current_leader.leader_id != -1 or x.current_leader.leader_epoch != -1:
        raise unsupported_field("ProduceResponse.PartitionProduceResponse", "current_leader", "3-4")
    w(_pack_ihqq(x.index, x.error_code, x.base_offset, x.log_append_time_ms))


def _read_partition_produce_response_v5(data: bytes, pos: int, size: int) -> tuple[PartitionProduceResponse, int]:
    at = "index"
    try:
        index, error_code, base_offset, log_append_time_ms, log_start_offset = _unpack_ihqqq(data, pos)
        pos += 30
    except READ_ERRORS as error:
        raise malformed("ProduceResponse.PartitionProduceResponse", at, pos, error) from None
    return PartitionProduceResponse(index, error_code, base_offset, log_append_time_ms, log_start_offset, EMPTY, None, LeaderIdAndEpoch()), pos


def _write_partition_produce_response_v5(w: Append, x: PartitionProduceResponse) -> None:
    if x.current_leader.leader_id != -1 or x.current_leader.leader_epoch != -1:
        raise unsupported_field("ProduceResponse.PartitionProduceResponse", "current_leader", "5-7")
    w(_pack_ihqqq(x.index, x.error_code, x.base_offset, x.log_append_time_ms, x.log_start_offset))


def _read_batch_index_and_error_message_v8(data: bytes, pos: int, size: int) -> tuple[BatchIndexAndErrorMessage, int]:
    at = "batch_index"
    try:
        batch_index, count = _unpack_ih(data, pos)
        pos += 6
        at = "batch_index_error_message"
        batch_index_error_message: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            batch_index_error_message = data[pos:end].decode()
            pos = end
    except READ_ERRORS as error:
        raise malformed("ProduceResponse.BatchIndexAndErrorMessage", at, pos, error) from None
    return BatchIndexAndErrorMessage(batch_index, batch_index_error_message), pos


def _write_batch_index_and_error_message_v8(w: Append, x: BatchIndexAndErrorMessage) -> None:
    batch_index_error_message = x.batch_index_error_message
    batch_index_error_message_bytes = b"" if batch_index_error_message is None else batch_index_error_message.encode()
    w(_pack_ih(x.batch_index, -1 if batch_index_error_message is None else len(batch_index_error_message_bytes)))
    w(batch_index_error_message_bytes)


def _read_batch_index_and_error_message_v9(data: bytes, pos: int, size: int) -> tuple[BatchIndexAndErrorMessage, int]:
    at = "batch_index"
    try:
        batch_index, count = _unpack_iB(data, pos)
        pos += 5
        at = "batch_index_error_message"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        batch_index_error_message: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            batch_index_error_message = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ProduceResponse.BatchIndexAndErrorMessage", at, pos, error) from None
    return BatchIndexAndErrorMessage(batch_index, batch_index_error_message), pos


def _write_batch_index_and_error_message_v9(w: Append, x: BatchIndexAndErrorMessage) -> None:
    batch_index_error_message = x.batch_index_error_message
    w(_pack_i(x.batch_index))
    if batch_index_error_message is None:
        w(b"\0")
    else:
        batch_index_error_message_bytes = batch_index_error_message.encode()
        count = len(batch_index_error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(batch_index_error_message_bytes)
    w(b"\0")


def _read_leader_id_and_epoch_v10(data: bytes, pos: int, size: int) -> tuple[LeaderIdAndEpoch, int]:
    at = "leader_id"
    try:
        leader_id, leader_epoch, tags = _unpack_iiB(data, pos)
        pos += 9
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ProduceResponse.LeaderIdAndEpoch", at, pos, error) from None
    return LeaderIdAndEpoch(leader_id, leader_epoch), pos


def _write_leader_id_and_epoch_v10(w: Append, x: LeaderIdAndEpoch) -> None:
    w(_pack_iix(x.leader_id, x.leader_epoch))


def _read_node_endpoint_v10(data: bytes, pos: int, size: int) -> tuple[NodeEndpoint, int]:
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
        raise malformed("ProduceResponse.NodeEndpoint", at, pos, error) from None
    return NodeEndpoint(node_id, host, port, rack), pos


def _write_node_endpoint_v10(w: Append, x: NodeEndpoint) -> None:
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


def _read_topic_produce_response_v3(data: bytes, pos: int, size: int) -> tuple[TopicProduceResponse, int]:
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
        at = "partition_responses"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        partition_responses: list[PartitionProduceResponse] = []
        for _ in range(count):
            partition_responses_item, pos = _read_partition_produce_response_v3(data, pos, size)
            partition_responses.append(partition_responses_item)
    except READ_ERRORS as error:
        raise malformed("ProduceResponse.TopicProduceResponse", at, pos, error) from None
    return TopicProduceResponse(name, ZERO_UUID, partition_responses), pos


def _write_topic_produce_response_v3(w: Append, x: TopicProduceResponse) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    partition_responses = x.partition_responses
    w(_pack_i(len(partition_responses)))
    for partition_responses_item in partition_responses:
        _write_partition_produce_response_v3(w, partition_responses_item)


def _read_topic_produce_response_v5(data: bytes, pos: int, size: int) -> tuple[TopicProduceResponse, int]:
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
        at = "partition_responses"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        partition_responses: list[PartitionProduceResponse] = []
        for _ in range(count):
            partition_responses_item, pos = _read_partition_produce_response_v5(data, pos, size)
            partition_responses.append(partition_responses_item)
    except READ_ERRORS as error:
        raise malformed("ProduceResponse.TopicProduceResponse", at, pos, error) from None
    return TopicProduceResponse(name, ZERO_UUID, partition_responses), pos


def _write_topic_produce_response_v5(w: Append, x: TopicProduceResponse) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    partition_responses = x.partition_responses
    w(_pack_i(len(partition_responses)))
    for partition_responses_item in partition_responses:
        _write_partition_produce_response_v5(w, partition_responses_item)


def _read_partition_produce_response_v8(data: bytes, pos: int, size: int) -> tuple[PartitionProduceResponse, int]:
    at = "index"
    try:
        index, error_code, base_offset, log_append_time_ms, log_start_offset, count = _unpack_ihqqqi(data, pos)
        pos += 34
        at = "record_errors"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        record_errors: list[BatchIndexAndErrorMessage] = []
        for _ in range(count):
            record_errors_item, pos = _read_batch_index_and_error_message_v8(data, pos, size)
            record_errors.append(record_errors_item)
        at = "error_message"
        count, = _unpack_h(data, pos)
        pos += 2
        error_message: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            error_message = data[pos:end].decode()
            pos = end
    except READ_ERRORS as error:
        raise malformed("ProduceResponse.PartitionProduceResponse", at, pos, error) from None
    return PartitionProduceResponse(index, error_code, base_offset, log_append_time_ms, log_start_offset, record_errors, error_message, LeaderIdAndEpoch()), pos


def _write_partition_produce_response_v8(w: Append, x: PartitionProduceResponse) -> None:
    if x.current_leader.leader_id != -1 or x.current_leader.leader_epoch != -1:
        raise unsupported_field("ProduceResponse.PartitionProduceResponse", "current_leader", "8")
    record_errors = x.record_errors
    w(_pack_ihqqqi(x.index, x.error_code, x.base_offset, x.log_append_time_ms, x.log_start_offset, len(record_errors)))
    for record_errors_item in record_errors:
        _write_batch_index_and_error_message_v8(w, record_errors_item)
    error_message = x.error_message
    error_message_bytes = b"" if error_message is None else error_message.encode()
    w(_pack_h(-1 if error_message is None else len(error_message_bytes)))
    w(error_message_bytes)


def _read_partition_produce_response_v9(data: bytes, pos: int, size: int) -> tuple[PartitionProduceResponse, int]:
    at = "index"
    try:
        index, error_code, base_offset, log_append_time_ms, log_start_offset, count = _unpack_ihqqqB(data, pos)
        pos += 31
        at = "record_errors"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        record_errors: list[BatchIndexAndErrorMessage] = []
        for _ in range(count):
            record_errors_item, pos = _read_batch_index_and_error_message_v9(data, pos, size)
            record_errors.append(record_errors_item)
        at = "error_message"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        error_message: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ProduceResponse.PartitionProduceResponse", at, pos, error) from None
    return PartitionProduceResponse(index, error_code, base_offset, log_append_time_ms, log_start_offset, record_errors, error_message, LeaderIdAndEpoch()), pos


def _write_partition_produce_response_v9(w: Append, x: PartitionProduceResponse) -> None:
    if x.current_leader.leader_id != -1 or x.current_leader.leader_epoch != -1:
        raise unsupported_field("ProduceResponse.PartitionProduceResponse", "current_leader", "9")
    record_errors = x.record_errors
    count = len(record_errors) + 1
    w(_pack_ihqqqB(x.index, x.error_code, x.base_offset, x.log_append_time_ms, x.log_start_offset, count) if count < 128 else _pack_ihqqq(x.index, x.error_code, x.base_offset, x.log_append_time_ms, x.log_start_offset) + uvarint(count))
    for record_errors_item in record_errors:
        _write_batch_index_and_error_message_v9(w, record_errors_item)
    error_message = x.error_message
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    w(b"\0")


def _read_partition_produce_response_v10(data: bytes, pos: int, size: int) -> tuple[PartitionProduceResponse, int]:
    at = "index"
    try:
        index, error_code, base_offset, log_append_time_ms, log_start_offset, count = _unpack_ihqqqB(data, pos)
        pos += 31
        at = "record_errors"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        record_errors: list[BatchIndexAndErrorMessage] = []
        for _ in range(count):
            record_errors_item, pos = _read_batch_index_and_error_message_v9(data, pos, size)
            record_errors.append(record_errors_item)
        at = "error_message"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        error_message: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()
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
                    at = "current_leader"
                    current_leader, pos = _read_leader_id_and_epoch_v10(data, pos, size)
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("ProduceResponse.PartitionProduceResponse", at, pos, error) from None
    return PartitionProduceResponse(index, error_code, base_offset, log_append_time_ms, log_start_offset, record_errors, error_message, current_leader), pos


def _write_partition_produce_response_v10(w: Append, x: PartitionProduceResponse) -> None:
    record_errors = x.record_errors
    count = len(record_errors) + 1
    w(_pack_ihqqqB(x.index, x.error_code, x.base_offset, x.log_append_time_ms, x.log_start_offset, count) if count < 128 else _pack_ihqqq(x.index, x.error_code, x.base_offset, x.log_append_time_ms, x.log_start_offset) + uvarint(count))
    for record_errors_item in record_errors:
        _write_batch_index_and_error_message_v9(w, record_errors_item)
    error_message = x.error_message
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    tagged: list[tuple[int, bytes]] = []
    if x.current_leader.leader_id != -1 or x.current_leader.leader_epoch != -1:
        current_leader_part: list[Buffer] = []
        current_leader = x.current_leader
        _write_leader_id_and_epoch_v10(current_leader_part.append, current_leader)
        tagged.append((0, b"".join(current_leader_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")


def _read_produce_response_v3(data: bytes, pos: int, size: int) -> tuple[ProduceResponse, int]:
    at = "responses"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        responses: list[TopicProduceResponse] = []
        for _ in range(count):
            responses_item, pos = _read_topic_produce_response_v3(data, pos, size)
            responses.append(responses_item)
        at = "throttle_time_ms"
        throttle_time_ms, = _unpack_i(data, pos)
        pos += 4
    except READ_ERRORS as error:
        raise malformed("ProduceResponse", at, pos, error) from None
    return ProduceResponse(responses, throttle_time_ms, EMPTY), pos


def _write_produce_response_v3(w: Append, x: ProduceResponse) -> None:
    if x.node_endpoints:
        raise unsupported_field("ProduceResponse", "node_endpoints", "3-4")
    responses = x.responses
    w(_pack_i(len(responses)))
    for responses_item in responses:
        _write_topic_produce_response_v3(w, responses_item)
    w(_pack_i(x.throttle_time_ms))


def _read_produce_response_v5(data: bytes, pos: int, size: int) -> tuple[ProduceResponse, int]:
    at = "responses"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        responses: list[TopicProduceResponse] = []
        for _ in range(count):
            responses_item, pos = _read_topic_produce_response_v5(data, pos, size)
            responses.append(responses_item)
        at = "throttle_time_ms"
        throttle_time_ms, = _unpack_i(data, pos)
        pos += 4
    except READ_ERRORS as error:
        raise malformed("ProduceResponse", at, pos, error) from None
    return ProduceResponse(responses, throttle_time_ms, EMPTY), pos


def _write_produce_response_v5(w: Append, x: ProduceResponse) -> None:
    if x.node_endpoints:
        raise unsupported_field("ProduceResponse", "node_endpoints", "5-7")
    responses = x.responses
    w(_pack_i(len(responses)))
    for responses_item in responses:
        _write_topic_produce_response_v5(w, responses_item)
    w(_pack_i(x.throttle_time_ms))


def _read_topic_produce_response_v8(data: bytes, pos: int, size: int) -> tuple[TopicProduceResponse, int]:
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
        at = "partition_responses"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        partition_responses: list[PartitionProduceResponse] = []
        for _ in range(count):
            partition_responses_item, pos = _read_partition_produce_response_v8(data, pos, size)
            partition_responses.append(partition_responses_item)
    except READ_ERRORS as error:
        raise malformed("ProduceResponse.TopicProduceResponse", at, pos, error) from None
    return TopicProduceResponse(name, ZERO_UUID, partition_responses), pos


def _write_topic_produce_response_v8(w: Append, x: TopicProduceResponse) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    partition_responses = x.partition_responses
    w(_pack_i(len(partition_responses)))
    for partition_responses_item in partition_responses:
        _write_partition_produce_response_v8(w, partition_responses_item)


def _read_topic_produce_response_v9(data: bytes, pos: int, size: int) -> tuple[TopicProduceResponse, int]:
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
        at = "partition_responses"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        partition_responses: list[PartitionProduceResponse] = []
        for _ in range(count):
            partition_responses_item, pos = _read_partition_produce_response_v9(data, pos, size)
            partition_responses.append(partition_responses_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ProduceResponse.TopicProduceResponse", at, pos, error) from None
    return TopicProduceResponse(name, ZERO_UUID, partition_responses), pos


def _write_topic_produce_response_v9(w: Append, x: TopicProduceResponse) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    partition_responses = x.partition_responses
    count = len(partition_responses) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partition_responses_item in partition_responses:
        _write_partition_produce_response_v9(w, partition_responses_item)
    w(b"\0")


def _read_topic_produce_response_v10(data: bytes, pos: int, size: int) -> tuple[TopicProduceResponse, int]:
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
        at = "partition_responses"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        partition_responses: list[PartitionProduceResponse] = []
        for _ in range(count):
            partition_responses_item, pos = _read_partition_produce_response_v10(data, pos, size)
            partition_responses.append(partition_responses_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ProduceResponse.TopicProduceResponse", at, pos, error) from None
    return TopicProduceResponse(name, ZERO_UUID, partition_responses), pos


def _write_topic_produce_response_v10(w: Append, x: TopicProduceResponse) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    partition_responses = x.partition_responses
    count = len(partition_responses) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partition_responses_item in partition_responses:
        _write_partition_produce_response_v10(w, partition_responses_item)
    w(b"\0")


def _read_topic_produce_response_v13(data: bytes, pos: int, size: int) -> tuple[TopicProduceResponse, int]:
    at = "topic_id"
    try:
        topic_id, count = _unpack_UB(data, pos)
        pos += 17
        at = "partition_responses"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        partition_responses: list[PartitionProduceResponse] = []
        for _ in range(count):
            partition_responses_item, pos = _read_partition_produce_response_v10(data, pos, size)
            partition_responses.append(partition_responses_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ProduceResponse.TopicProduceResponse", at, pos, error) from None
    return TopicProduceResponse("", topic_id, partition_responses), pos


def _write_topic_produce_response_v13(w: Append, x: TopicProduceResponse) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("ProduceResponse", "topic_id", topic_id)
    partition_responses = x.partition_responses
    count = len(partition_responses) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    for partition_responses_item in partition_responses:
        _write_partition_produce_response_v10(w, partition_responses_item)
    w(b"\0")


def _read_produce_response_v8(data: bytes, pos: int, size: int) -> tuple[ProduceResponse, int]:
    at = "responses"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        responses: list[TopicProduceResponse] = []
        for _ in range(count):
            responses_item, pos = _read_topic_produce_response_v8(data, pos, size)
            responses.append(responses_item)
        at = "throttle_time_ms"
        throttle_time_ms, = _unpack_i(data, pos)
        pos += 4
    except READ_ERRORS as error:
        raise malformed("ProduceResponse", at, pos, error) from None
    return ProduceResponse(responses, throttle_time_ms, EMPTY), pos


def _write_produce_response_v8(w: Append, x: ProduceResponse) -> None:
    if x.node_endpoints:
        raise unsupported_field("ProduceResponse", "node_endpoints", "8")
    responses = x.responses
    w(_pack_i(len(responses)))
    for responses_item in responses:
        _write_topic_produce_response_v8(w, responses_item)
    w(_pack_i(x.throttle_time_ms))


def _read_produce_response_v9(data: bytes, pos: int, size: int) -> tuple[ProduceResponse, int]:
    at = "responses"
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
        responses: list[TopicProduceResponse] = []
        for _ in range(count):
            responses_item, pos = _read_topic_produce_response_v9(data, pos, size)
            responses.append(responses_item)
        at = "throttle_time_ms"
        throttle_time_ms, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ProduceResponse", at, pos, error) from None
    return ProduceResponse(responses, throttle_time_ms, EMPTY), pos


def _write_produce_response_v9(w: Append, x: ProduceResponse) -> None:
    if x.node_endpoints:
        raise unsupported_field("ProduceResponse", "node_endpoints", "9")
    responses = x.responses
    count = len(responses) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for responses_item in responses:
        _write_topic_produce_response_v9(w, responses_item)
    w(_pack_ix(x.throttle_time_ms))


def _read_produce_response_v10(data: bytes, pos: int, size: int) -> tuple[ProduceResponse, int]:
    at = "responses"
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
        responses: list[TopicProduceResponse] = []
        for _ in range(count):
            responses_item, pos = _read_topic_produce_response_v10(data, pos, size)
            responses.append(responses_item)
        at = "throttle_time_ms"
        throttle_time_ms, tags = _unpack_iB(data, pos)
        pos += 5
        node_endpoints: list[NodeEndpoint] = []
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
                        node_endpoints_item, pos = _read_node_endpoint_v10(data, pos, size)
                        node_endpoints.append(node_endpoints_item)
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("ProduceResponse", at, pos, error) from None
    return ProduceResponse(responses, throttle_time_ms, node_endpoints), pos


def _write_produce_response_v10(w: Append, x: ProduceResponse) -> None:
    responses = x.responses
    count = len(responses) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for responses_item in responses:
        _write_topic_produce_response_v10(w, responses_item)
    w(_pack_i(x.throttle_time_ms))
    tagged: list[tuple[int, bytes]] = []
    if x.node_endpoints:
        node_endpoints_part: list[Buffer] = []
        node_endpoints = x.node_endpoints
        count = len(node_endpoints) + 1
        node_endpoints_part.append(VARINT[count] if count < 128 else uvarint(count))
        for node_endpoints_item in node_endpoints:
            _write_node_endpoint_v10(node_endpoints_part.append, node_endpoints_item)
        tagged.append((0, b"".join(node_endpoints_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")


def _read_produce_response_v13(data: bytes, pos: int, size: int) -> tuple[ProduceResponse, int]:
    at = "responses"
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
        responses: list[TopicProduceResponse] = []
        for _ in range(count):
            responses_item, pos = _read_topic_produce_response_v13(data, pos, size)
            responses.append(responses_item)
        at = "throttle_time_ms"
        throttle_time_ms, tags = _unpack_iB(data, pos)
        pos += 5
        node_endpoints: list[NodeEndpoint] = []
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
                        node_endpoints_item, pos = _read_node_endpoint_v10(data, pos, size)
                        node_endpoints.append(node_endpoints_item)
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("ProduceResponse", at, pos, error) from None
    return ProduceResponse(responses, throttle_time_ms, node_endpoints), pos


def _write_produce_response_v13(w: Append, x: ProduceResponse) -> None:
    responses = x.responses
    count = len(responses) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for responses_item in responses:
        _write_topic_produce_response_v13(w, responses_item)
    w(_pack_i(x.throttle_time_ms))
    tagged: list[tuple[int, bytes]] = []
    if x.node_endpoints:
        node_endpoints_part: list[Buffer] = []
        node_endpoints = x.node_endpoints
        count = len(node_endpoints) + 1
        node_endpoints_part.append(VARINT[count] if count < 128 else uvarint(count))
        for node_endpoints_item in node_endpoints:
            _write_node_endpoint_v10(node_endpoints_part.append, node_endpoints_item)
        tagged.append((0, b"".join(node_endpoints_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")
ProduceResponse._READERS = {
    3: _read_produce_response_v3,
    4: _read_produce_response_v3,
    5: _read_produce_response_v5,
    6: _read_produce_response_v5,
    7: _read_produce_response_v5,
    8: _read_produce_response_v8,
    9: _read_produce_response_v9,
    10: _read_produce_response_v10,
    11: _read_produce_response_v10,
    12: _read_produce_response_v10,
    13: _read_produce_response_v13,
}
ProduceResponse._WRITERS = {
    3: _write_produce_response_v3,
    4: _write_produce_response_v3,
    5: _write_produce_response_v5,
    6: _write_produce_response_v5,
    7: _write_produce_response_v5,
    8: _write_produce_response_v8,
    9: _write_produce_response_v9,
    10: _write_produce_response_v10,
    11: _write_produce_response_v10,
    12: _write_produce_response_v10,
    13: _write_produce_response_v13,
}
