# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail



class TaskIds(Struct):
    __slots__ = ("subtopology_id", "partitions")

    def __init__(
        self,
        subtopology_id: str = "",  # 0+
        partitions: list[int] = EMPTY,  # 0+
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = [] if partitions is EMPTY else partitions


class StreamsGroupTargetAssignmentMemberValue(Message):
    API_KEY = 21
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("active_tasks", "standby_tasks", "warmup_tasks")

    def __init__(
        self,
        active_tasks: list[TaskIds] = EMPTY,  # 0+
        standby_tasks: list[TaskIds] = EMPTY,  # 0+
        warmup_tasks: list[TaskIds] = EMPTY,  # 0+
    ) -> None:
        self.active_tasks = [] if active_tasks is EMPTY else active_tasks
        self.standby_tasks = [] if standby_tasks is EMPTY else standby_tasks
        self.warmup_tasks = [] if warmup_tasks is EMPTY else warmup_tasks


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
        raise malformed("StreamsGroupTargetAssignmentMemberValue.TaskIds", at, pos, error) from None
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


def _read_streams_group_target_assignment_member_value_v0(data: bytes, pos: int, size: int) -> tuple[StreamsGroupTargetAssignmentMemberValue, int]:
    at = "active_tasks"
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
        active_tasks: list[TaskIds] = []
        for _ in range(count):
            active_tasks_item, pos = _read_task_ids_v0(data, pos, size)
            active_tasks.append(active_tasks_item)
        at = "standby_tasks"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        standby_tasks: list[TaskIds] = []
        for _ in range(count):
            standby_tasks_item, pos = _read_task_ids_v0(data, pos, size)
            standby_tasks.append(standby_tasks_item)
        at = "warmup_tasks"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        warmup_tasks: list[TaskIds] = []
        for _ in range(count):
            warmup_tasks_item, pos = _read_task_ids_v0(data, pos, size)
            warmup_tasks.append(warmup_tasks_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("StreamsGroupTargetAssignmentMemberValue", at, pos, error) from None
    return StreamsGroupTargetAssignmentMemberValue(active_tasks, standby_tasks, warmup_tasks), pos


def _write_streams_group_target_assignment_member_value_v0(w: Append, x: StreamsGroupTargetAssignmentMemberValue) -> None:
    active_tasks = x.active_tasks
    count = len(active_tasks) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for active_tasks_item in active_tasks:
        _write_task_ids_v0(w, active_tasks_item)
    standby_tasks = x.standby_tasks
    count = len(standby_tasks) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for standby_tasks_item in standby_tasks:
        _write_task_ids_v0(w, standby_tasks_item)
    warmup_tasks = x.warmup_tasks
    count = len(warmup_tasks) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for warmup_tasks_item in warmup_tasks:
        _write_task_ids_v0(w, warmup_tasks_item)
    w(b"\0")
StreamsGroupTargetAssignmentMemberValue._READERS = {
    0: _read_streams_group_target_assignment_member_value_v0,
}
StreamsGroupTargetAssignmentMemberValue._WRITERS = {
    0: _write_streams_group_target_assignment_member_value_v0,
}
