# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, Append, Buffer, Message, Struct, malformed, many_tags, null_value, overrun, read_uvarint, skip_tags, tag_size, uvarint, uvarint_tail, write_tags

_pack_i = _Struct(">i").pack
_pack_iiiqqq = _Struct(">iiiqqq").pack
_pack_iiiqqqB = _Struct(">iiiqqqB").pack
_pack_qqbhx = _Struct(">qqbhx").pack
_unpack_i = _Struct(">i").unpack_from
_unpack_iiiqqqB = _Struct(">iiiqqqB").unpack_from
_unpack_qqbhB = _Struct(">qqbhB").unpack_from


class StateBatch(Struct):
    __slots__ = ("first_offset", "last_offset", "delivery_state", "delivery_count")

    def __init__(
        self,
        first_offset: int = 0,  # 0+
        last_offset: int = 0,  # 0+
        delivery_state: int = 0,  # 0+
        delivery_count: int = 0,  # 0+
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_state = delivery_state
        self.delivery_count = delivery_count


class ShareSnapshotValue(Message):
    API_KEY = 0
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("snapshot_epoch", "state_epoch", "leader_epoch", "start_offset", "delivery_complete_count", "create_timestamp", "write_timestamp", "state_batches")

    def __init__(
        self,
        snapshot_epoch: int = 0,  # 0+
        state_epoch: int = 0,  # 0+
        leader_epoch: int = 0,  # 0+
        start_offset: int = 0,  # 0+
        delivery_complete_count: int = -1,  # 0+, tag 0
        create_timestamp: int = 0,  # 0+
        write_timestamp: int = 0,  # 0+
        state_batches: list[StateBatch] = EMPTY,  # 0+
    ) -> None:
        self.snapshot_epoch = snapshot_epoch
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.create_timestamp = create_timestamp
        self.write_timestamp = write_timestamp
        self.state_batches = [] if state_batches is EMPTY else state_batches


def _read_state_batch_v0(data: bytes, pos: int, size: int) -> tuple[StateBatch, int]:
    at = "first_offset"
    try:
        first_offset, last_offset, delivery_state, delivery_count, tags = _unpack_qqbhB(data, pos)
        pos += 20
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareSnapshotValue.StateBatch", at, pos, error) from None
    return StateBatch(first_offset, last_offset, delivery_state, delivery_count), pos


def _write_state_batch_v0(w: Append, x: StateBatch) -> None:
    w(_pack_qqbhx(x.first_offset, x.last_offset, x.delivery_state, x.delivery_count))


def _read_share_snapshot_value_v0(data: bytes, pos: int, size: int) -> tuple[ShareSnapshotValue, int]:
    at = "snapshot_epoch"
    try:
        snapshot_epoch, state_epoch, leader_epoch, start_offset, create_timestamp, write_timestamp, count = _unpack_iiiqqqB(data, pos)
        pos += 37
        at = "state_batches"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        state_batches: list[StateBatch] = []
        for _ in range(count):
            state_batches_item, pos = _read_state_batch_v0(data, pos, size)
            state_batches.append(state_batches_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        delivery_complete_count: int = -1
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
                    at = "delivery_complete_count"
                    delivery_complete_count, = _unpack_i(data, pos)
                    pos += 4
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("ShareSnapshotValue", at, pos, error) from None
    return ShareSnapshotValue(snapshot_epoch, state_epoch, leader_epoch, start_offset, delivery_complete_count, create_timestamp, write_timestamp, state_batches), pos


def _write_share_snapshot_value_v0(w: Append, x: ShareSnapshotValue) -> None:
    state_batches = x.state_batches
    count = len(state_batches) + 1
    w(_pack_iiiqqqB(x.snapshot_epoch, x.state_epoch, x.leader_epoch, x.start_offset, x.create_timestamp, x.write_timestamp, count) if count < 128 else _pack_iiiqqq(x.snapshot_epoch, x.state_epoch, x.leader_epoch, x.start_offset, x.create_timestamp, x.write_timestamp) + uvarint(count))
    for state_batches_item in state_batches:
        _write_state_batch_v0(w, state_batches_item)
    tagged: list[tuple[int, bytes]] = []
    if x.delivery_complete_count != -1:
        delivery_complete_count_part: list[Buffer] = []
        delivery_complete_count_part.append(_pack_i(x.delivery_complete_count))
        tagged.append((0, b"".join(delivery_complete_count_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")
ShareSnapshotValue._READERS = {
    0: _read_share_snapshot_value_v0,
}
ShareSnapshotValue._WRITERS = {
    0: _write_share_snapshot_value_v0,
}
