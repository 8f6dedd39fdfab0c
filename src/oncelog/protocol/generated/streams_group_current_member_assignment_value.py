# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, Append, Buffer, Message, Struct, malformed, many_tags, null_value, overrun, read_uvarint, skip_tags, string_length, string_length_tail, tag_size, uvarint, uvarint_tail, write_tags

_pack_iib = _Struct(">iib").pack
_pack_iibB = _Struct(">iibB").pack
_unpack_iibB = _Struct(">iibB").unpack_from


class TaskIds(Struct):
    __slots__ = ("subtopology_id", "partitions", "assignment_epochs")

    def __init__(
        self,
        subtopology_id: str = "",  # 0+
        partitions: list[int] = EMPTY,  # 0+
        assignment_epochs: list[int] | None = EMPTY,  # 0+, tag 0
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.assignment_epochs = [] if assignment_epochs is EMPTY else assignment_epochs


class StreamsGroupCurrentMemberAssignmentValue(Message):
    API_KEY = 22
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("member_epoch", "previous_member_epoch", "state", "active_tasks", "standby_tasks", "warmup_tasks", "active_tasks_pending_revocation", "standby_tasks_pending_revocation", "warmup_tasks_pending_revocation")

    def __init__(
        self,
        member_epoch: int = 0,  # 0+
        previous_member_epoch: int = 0,  # 0+
        state: int = 0,  # 0+
        active_tasks: list[TaskIds] = EMPTY,  # 0+
        standby_tasks: list[TaskIds] = EMPTY,  # 0+
        warmup_tasks: list[TaskIds] = EMPTY,  # 0+
        active_tasks_pending_revocation: list[TaskIds] = EMPTY,  # 0+
        standby_tasks_pending_revocation: list[TaskIds] = EMPTY,  # 0+
        warmup_tasks_pending_revocation: list[TaskIds] = EMPTY,  # 0+
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.active_tasks = [] if active_tasks is EMPTY else active_tasks
        self.standby_tasks = [] if standby_tasks is EMPTY else standby_tasks
        self.warmup_tasks = [] if warmup_tasks is EMPTY else warmup_tasks
        self.active_tasks_pending_revocation = [] if active_tasks_pending_revocation is EMPTY else active_tasks_pending_revocation
        self.standby_tasks_pending_revocation = [] if standby_tasks_pending_revocation is EMPTY else standby_tasks_pending_revocation
        self.warmup_tasks_pending_revocation = [] if warmup_tasks_pending_revocation is EMPTY else warmup_tasks_pending_revocation


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
        assignment_epochs: list[int] | None = []
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
                    at = "assignment_epochs"
                    count = data[pos]
                    pos += 1
                    if count > 127:
                        count, pos = uvarint_tail(data, pos, count)
                    assignment_epochs = None
                    if count:
                        count -= 1
                        end = pos + count * 4
                        if end > size:
                            raise overrun(count * 4, size - pos)
                        assignment_epochs = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
                        pos = end
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("StreamsGroupCurrentMemberAssignmentValue.TaskIds", at, pos, error) from None
    return TaskIds(subtopology_id, partitions, assignment_epochs), pos


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
    tagged: list[tuple[int, bytes]] = []
    if x.assignment_epochs is None or x.assignment_epochs:
        assignment_epochs_part: list[Buffer] = []
        assignment_epochs = x.assignment_epochs
        if assignment_epochs is None:
            assignment_epochs_part.append(b"\0")
        else:
            count = len(assignment_epochs) + 1
            assignment_epochs_part.append(VARINT[count] if count < 128 else uvarint(count))
            assignment_epochs_part.append(PACK_INT32S[len(assignment_epochs)](*assignment_epochs) if len(assignment_epochs) < 8 else pack(f">{len(assignment_epochs)}i", *assignment_epochs))
        tagged.append((0, b"".join(assignment_epochs_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")


def _read_streams_group_current_member_assignment_value_v0(data: bytes, pos: int, size: int) -> tuple[StreamsGroupCurrentMemberAssignmentValue, int]:
    at = "member_epoch"
    try:
        member_epoch, previous_member_epoch, state, count = _unpack_iibB(data, pos)
        pos += 10
        at = "active_tasks"
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
        at = "active_tasks_pending_revocation"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        active_tasks_pending_revocation: list[TaskIds] = []
        for _ in range(count):
            active_tasks_pending_revocation_item, pos = _read_task_ids_v0(data, pos, size)
            active_tasks_pending_revocation.append(active_tasks_pending_revocation_item)
        at = "standby_tasks_pending_revocation"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        standby_tasks_pending_revocation: list[TaskIds] = []
        for _ in range(count):
            standby_tasks_pending_revocation_item, pos = _read_task_ids_v0(data, pos, size)
            standby_tasks_pending_revocation.append(standby_tasks_pending_revocation_item)
        at = "warmup_tasks_pending_revocation"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        warmup_tasks_pending_revocation: list[TaskIds] = []
        for _ in range(count):
            warmup_tasks_pending_revocation_item, pos = _read_task_ids_v0(data, pos, size)
            warmup_tasks_pending_revocation.append(warmup_tasks_pending_revocation_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("StreamsGroupCurrentMemberAssignmentValue", at, pos, error) from None
    return StreamsGroupCurrentMemberAssignmentValue(member_epoch, previous_member_epoch, state, active_tasks, standby_tasks, warmup_tasks, active_tasks_pending_revocation, standby_tasks_pending_revocation, warmup_tasks_pending_revocation), pos


def _write_streams_group_current_member_assignment_value_v0(w: Append, x: StreamsGroupCurrentMemberAssignmentValue) -> None:
    active_tasks = x.active_tasks
    count = len(active_tasks) + 1
    w(_pack_iibB(x.member_epoch, x.previous_member_epoch, x.state, count) if count < 128 else _pack_iib(x.member_epoch, x.previous_member_epoch, x.state) + uvarint(count))
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
    active_tasks_pending_revocation = x.active_tasks_pending_revocation
    count = len(active_tasks_pending_revocation) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for active_tasks_pending_revocation_item in active_tasks_pending_revocation:
        _write_task_ids_v0(w, active_tasks_pending_revocation_item)
    standby_tasks_pending_revocation = x.standby_tasks_pending_revocation
    count = len(standby_tasks_pending_revocation) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for standby_tasks_pending_revocation_item in standby_tasks_pending_revocation:
        _write_task_ids_v0(w, standby_tasks_pending_revocation_item)
    warmup_tasks_pending_revocation = x.warmup_tasks_pending_revocation
    count = len(warmup_tasks_pending_revocation) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for warmup_tasks_pending_revocation_item in warmup_tasks_pending_revocation:
        _write_task_ids_v0(w, warmup_tasks_pending_revocation_item)
    w(b"\0")
StreamsGroupCurrentMemberAssignmentValue._READERS = {
    0: _read_streams_group_current_member_assignment_value_v0,
}
StreamsGroupCurrentMemberAssignmentValue._WRITERS = {
    0: _write_streams_group_current_member_assignment_value_v0,
}
