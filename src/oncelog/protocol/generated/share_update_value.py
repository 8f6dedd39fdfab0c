# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, Append, Buffer, Message, Struct, malformed, many_tags, null_value, overrun, read_uvarint, skip_tags, tag_size, uvarint, uvarint_tail, write_tags

_pack_i = _Struct(">i").pack
_pack_iiq = _Struct(">iiq").pack
_pack_iiqB = _Struct(">iiqB").pack
_pack_qqbhx = _Struct(">qqbhx").pack
_unpack_i = _Struct(">i").unpack_from
_unpack_iiqB = _Struct(">iiqB").unpack_from
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


class ShareUpdateValue(Message):
    API_KEY = 1
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("snapshot_epoch", "leader_epoch", "start_offset", "delivery_complete_count", "state_batches")

    def __init__(
        self,
        snapshot_epoch: int = 0,  # 0+
        leader_epoch: int = 0,  # 0+
        start_offset: int = 0,  # 0+
        delivery_complete_count: int = -1,  # 0+, tag 0
        state_batches: list[StateBatch] = EMPTY,  # 0+
    ) -> None:
        self.snapshot_epoch = snapshot_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
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
        raise malformed("ShareUpdateValue.StateBatch", at, pos, error) from None
    return StateBatch(first_offset, last_offset, delivery_state, delivery_count), pos


def _write_state_batch_v0(w: Append, x: StateBatch) -> None:
    w(_pack_qqbhx(x.first_offset, x.last_offset, x.delivery_state, x.delivery_count))


def _read_share_update_value_v0(data: bytes, pos: int, size: int) -> tuple[ShareUpdateValue, int]:
    at = "snapshot_epoch"
    try:
        snapshot_epoch, leader_epoch, start_offset, count = _unpack_iiqB(data, pos)
        pos += 17
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
        raise malformed("ShareUpdateValue", at, pos, error) from None
    return ShareUpdateValue(snapshot_epoch, leader_epoch, start_offset, delivery_complete_count, state_batches), pos


def _write_share_update_value_v0(w: Append, x: ShareUpdateValue) -> None:
    state_batches = x.state_batches
    count = len(state_batches) + 1
    w(_pack_iiqB(x.snapshot_epoch, x.leader_epoch, x.start_offset, count) if count < 128 else _pack_iiq(x.snapshot_epoch, x.leader_epoch, x.start_offset) + uvarint(count))
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
ShareUpdateValue._READERS = {
    0: _read_share_update_value_v0,
}
ShareUpdateValue._WRITERS = {
    0: _write_share_update_value_v0,
}
