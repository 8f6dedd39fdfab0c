# Generated from protocol/schemas by `python -m oncelog.protocol.generator`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_Hx = _Struct(">Hx").pack
_pack_b = _Struct(">b").pack
_pack_bB = _Struct(">bB").pack
_pack_i = _Struct(">i").pack
_pack_ih = _Struct(">ih").pack
_pack_iiii = _Struct(">iiii").pack
_unpack_HB = _Struct(">HB").unpack_from
_unpack_bB = _Struct(">bB").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from
_unpack_iiiiB = _Struct(">iiiiB").unpack_from


class Status(Struct):
    __slots__ = ("status_code", "status_detail")

    def __init__(
        self,
        status_code: int = 0,  # 0+
        status_detail: str = "",  # 0+
    ) -> None:
        self.status_code = status_code
        self.status_detail = status_detail


class TaskIds(Struct):
    __slots__ = ("subtopology_id", "partitions")

    def __init__(
        self,
        subtopology_id: str = "",  # 0+
        partitions: list[int] = EMPTY,  # 0+
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = [] if partitions is EMPTY else partitions


class Endpoint(Struct):
    __slots__ = ("host", "port")

    def __init__(
        self,
        host: str = "",  # 0+
        port: int = 0,  # 0+
    ) -> None:
        self.host = host
        self.port = port


class TopicPartition(Struct):
    __slots__ = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",  # 0+
        partitions: list[int] = EMPTY,  # 0+
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is EMPTY else partitions


class EndpointToPartitions(Struct):
    __slots__ = ("user_endpoint", "active_partitions", "standby_partitions")

    def __init__(
        self,
        user_endpoint: Endpoint | None = None,  # 0+
        active_partitions: list[TopicPartition] = EMPTY,  # 0+
        standby_partitions: list[TopicPartition] = EMPTY,  # 0+
    ) -> None:
        self.user_endpoint = Endpoint() if user_endpoint is None else user_endpoint
        self.active_partitions = [] if active_partitions is EMPTY else active_partitions
        self.standby_partitions = [] if standby_partitions is EMPTY else standby_partitions


class StreamsGroupHeartbeatResponse(Message):
    API_KEY = 88
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "member_id", "member_epoch", "heartbeat_interval_ms", "acceptable_recovery_lag", "task_offset_interval_ms", "status", "active_tasks", "standby_tasks", "warmup_tasks", "endpoint_information_epoch", "partitions_by_user_endpoint")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        error_code: int = 0,  # 0+
        error_message: str | None = None,  # 0+
        member_id: str = "",  # 0+
        member_epoch: int = 0,  # 0+
        heartbeat_interval_ms: int = 0,  # 0+
        acceptable_recovery_lag: int = 0,  # 0+
        task_offset_interval_ms: int = 0,  # 0+
        status: list[Status] | None = EMPTY,  # 0+
        active_tasks: list[TaskIds] | None = None,  # 0+
        standby_tasks: list[TaskIds] | None = None,  # 0+
        warmup_tasks: list[TaskIds] | None = None,  # 0+
        endpoint_information_epoch: int = 0,  # 0+
        partitions_by_user_endpoint: list[EndpointToPartitions] | None = None,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.acceptable_recovery_lag = acceptable_recovery_lag
        self.task_offset_interval_ms = task_offset_interval_ms
        self.status = [] if status is EMPTY else status
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.endpoint_information_epoch = endpoint_information_epoch
        self.partitions_by_user_endpoint = partitions_by_user_endpoint


def _read_status_v0(data: bytes, pos: int, size: int) -> tuple[Status, int]:
    at = "status_code"
    try:
        status_code, count = _unpack_bB(data, pos)
        pos += 2
        at = "status_detail"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        status_detail = data[pos:end].decode()
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("StreamsGroupHeartbeatResponse.Status", at, pos, error) from None
    return Status(status_code, status_detail), pos


def _write_status_v0(w: Append, x: Status) -> None:
    status_detail = x.status_detail
    status_detail_bytes = status_detail.encode()
    count = len(status_detail_bytes) + 1
    w(_pack_bB(x.status_code, count) if count < 128 else _pack_b(x.status_code) + string_length(count))
    w(status_detail_bytes)
    w(b"\0")


def _read_task_ids_v0(data: bytes, pos: int, size: int) -> tuple[TaskIds, int]:
    at = "subtopology_id"
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
        subtopology_id = data[pos:end].decode()
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
        raise malformed("StreamsGroupHeartbeatResponse.TaskIds", at, pos, error) from None
    return TaskIds(subtopology_id, partitions), pos


def _write_task_ids_v0(w: Append, x: TaskIds) -> None:
    subtopology_id = x.subtopology_id
    subtopology_id_bytes = subtopology_id.encode()
    count = len(subtopology_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(subtopology_id_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))
    w(b"\0")


def _read_endpoint_v0(data: bytes, pos: int, size: int) -> tuple[Endpoint, int]:
    at = "host"
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
        host = data[pos:end].decode()
        pos = end
        at = "port"
        port, tags = _unpack_HB(data, pos)
        pos += 3
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("StreamsGroupHeartbeatResponse.Endpoint", at, pos, error) from None
    return Endpoint(host, port), pos


def _write_endpoint_v0(w: Append, x: Endpoint) -> None:
    host = x.host
    host_bytes = host.encode()
    count = len(host_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(host_bytes)
    w(_pack_Hx(x.port))


def _read_topic_partition_v0(data: bytes, pos: int, size: int) -> tuple[TopicPartition, int]:
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
        raise malformed("StreamsGroupHeartbeatResponse.TopicPartition", at, pos, error) from None
    return TopicPartition(topic, partitions), pos


def _write_topic_partition_v0(w: Append, x: TopicPartition) -> None:
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


def _read_endpoint_to_partitions_v0(data: bytes, pos: int, size: int) -> tuple[EndpointToPartitions, int]:
    at = "user_endpoint"
    try:
        user_endpoint, pos = _read_endpoint_v0(data, pos, size)
        at = "active_partitions"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        active_partitions: list[TopicPartition] = []
        for _ in range(count):
            active_partitions_item, pos = _read_topic_partition_v0(data, pos, size)
            active_partitions.append(active_partitions_item)
        at = "standby_partitions"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        standby_partitions: list[TopicPartition] = []
        for _ in range(count):
            standby_partitions_item, pos = _read_topic_partition_v0(data, pos, size)
            standby_partitions.append(standby_partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("StreamsGroupHeartbeatResponse.EndpointToPartitions", at, pos, error) from None
    return EndpointToPartitions(user_endpoint, active_partitions, standby_partitions), pos


def _write_endpoint_to_partitions_v0(w: Append, x: EndpointToPartitions) -> None:
    user_endpoint = x.user_endpoint
    _write_endpoint_v0(w, user_endpoint)
    active_partitions = x.active_partitions
    count = len(active_partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for active_partitions_item in active_partitions:
        _write_topic_partition_v0(w, active_partitions_item)
    standby_partitions = x.standby_partitions
    count = len(standby_partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for standby_partitions_item in standby_partitions:
        _write_topic_partition_v0(w, standby_partitions_item)
    w(b"\0")


def _read_streams_group_heartbeat_response_v0(data: bytes, pos: int, size: int) -> tuple[StreamsGroupHeartbeatResponse, int]:
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
        member_epoch, heartbeat_interval_ms, acceptable_recovery_lag, task_offset_interval_ms, count = _unpack_iiiiB(data, pos)
        pos += 17
        at = "status"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        status: list[Status] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            status = []
            for _ in range(count):
                status_item, pos = _read_status_v0(data, pos, size)
                status.append(status_item)
        at = "active_tasks"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        active_tasks: list[TaskIds] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            active_tasks = []
            for _ in range(count):
                active_tasks_item, pos = _read_task_ids_v0(data, pos, size)
                active_tasks.append(active_tasks_item)
        at = "standby_tasks"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        standby_tasks: list[TaskIds] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            standby_tasks = []
            for _ in range(count):
                standby_tasks_item, pos = _read_task_ids_v0(data, pos, size)
                standby_tasks.append(standby_tasks_item)
        at = "warmup_tasks"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        warmup_tasks: list[TaskIds] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            warmup_tasks = []
            for _ in range(count):
                warmup_tasks_item, pos = _read_task_ids_v0(data, pos, size)
                warmup_tasks.append(warmup_tasks_item)
        at = "endpoint_information_epoch"
        endpoint_information_epoch, count = _unpack_iB(data, pos)
        pos += 5
        at = "partitions_by_user_endpoint"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        partitions_by_user_endpoint: list[EndpointToPartitions] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            partitions_by_user_endpoint = []
            for _ in range(count):
                partitions_by_user_endpoint_item, pos = _read_endpoint_to_partitions_v0(data, pos, size)
                partitions_by_user_endpoint.append(partitions_by_user_endpoint_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("StreamsGroupHeartbeatResponse", at, pos, error) from None
    return StreamsGroupHeartbeatResponse(throttle_time_ms, error_code, error_message, member_id, member_epoch, heartbeat_interval_ms, acceptable_recovery_lag, task_offset_interval_ms, status, active_tasks, standby_tasks, warmup_tasks, endpoint_information_epoch, partitions_by_user_endpoint), pos


def _write_streams_group_heartbeat_response_v0(w: Append, x: StreamsGroupHeartbeatResponse) -> None:
    error_message = x.error_message
    w(_pack_ih(x.throttle_time_ms, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    count = len(member_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(member_id_bytes)
    status = x.status
    w(_pack_iiii(x.member_epoch, x.heartbeat_interval_ms, x.acceptable_recovery_lag, x.task_offset_interval_ms))
    if status is None:
        w(b"\0")
    else:
        count = len(status) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for status_item in status:
            _write_status_v0(w, status_item)
    active_tasks = x.active_tasks
    if active_tasks is None:
        w(b"\0")
    else:
        count = len(active_tasks) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for active_tasks_item in active_tasks:
            _write_task_ids_v0(w, active_tasks_item)
    standby_tasks = x.standby_tasks
    if standby_tasks is None:
        w(b"\0")
    else:
        count = len(standby_tasks) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for standby_tasks_item in standby_tasks:
            _write_task_ids_v0(w, standby_tasks_item)
    warmup_tasks = x.warmup_tasks
    if warmup_tasks is None:
        w(b"\0")
    else:
        count = len(warmup_tasks) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for warmup_tasks_item in warmup_tasks:
            _write_task_ids_v0(w, warmup_tasks_item)
    partitions_by_user_endpoint = x.partitions_by_user_endpoint
    w(_pack_i(x.endpoint_information_epoch))
    if partitions_by_user_endpoint is None:
        w(b"\0")
    else:
        count = len(partitions_by_user_endpoint) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for partitions_by_user_endpoint_item in partitions_by_user_endpoint:
            _write_endpoint_to_partitions_v0(w, partitions_by_user_endpoint_item)
    w(b"\0")
StreamsGroupHeartbeatResponse._READERS = {
    0: _read_streams_group_heartbeat_response_v0,
}
StreamsGroupHeartbeatResponse._WRITERS = {
    0: _write_streams_group_heartbeat_response_v0,
}
