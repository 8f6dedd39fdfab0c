# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, Buffer, Message, malformed, many_tags, overrun, read_uvarint, tag_size, write_tags

_pack_i = _Struct(">i").pack
_pack_q = _Struct(">q").pack
_unpack_iB = _Struct(">iB").unpack_from
_unpack_q = _Struct(">q").unpack_from


class ShareGroupTargetAssignmentMetadataValue(Message):
    API_KEY = 12
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("assignment_epoch", "assignment_timestamp")

    def __init__(
        self,
        assignment_epoch: int = 0,  # 0+
        assignment_timestamp: int = 0,  # 0+, tag 0, ignorable
    ) -> None:
        self.assignment_epoch = assignment_epoch
        self.assignment_timestamp = assignment_timestamp


def _read_share_group_target_assignment_metadata_value_v0(data: bytes, pos: int, size: int) -> tuple[ShareGroupTargetAssignmentMetadataValue, int]:
    at = "assignment_epoch"
    try:
        assignment_epoch, tags = _unpack_iB(data, pos)
        pos += 5
        assignment_timestamp: int = 0
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
                    at = "assignment_timestamp"
                    assignment_timestamp, = _unpack_q(data, pos)
                    pos += 8
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("ShareGroupTargetAssignmentMetadataValue", at, pos, error) from None
    return ShareGroupTargetAssignmentMetadataValue(assignment_epoch, assignment_timestamp), pos


def _write_share_group_target_assignment_metadata_value_v0(w: Append, x: ShareGroupTargetAssignmentMetadataValue) -> None:
    w(_pack_i(x.assignment_epoch))
    tagged: list[tuple[int, bytes]] = []
    if x.assignment_timestamp != 0:
        assignment_timestamp_part: list[Buffer] = []
        assignment_timestamp_part.append(_pack_q(x.assignment_timestamp))
        tagged.append((0, b"".join(assignment_timestamp_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")
ShareGroupTargetAssignmentMetadataValue._READERS = {
    0: _read_share_group_target_assignment_metadata_value_v0,
}
ShareGroupTargetAssignmentMetadataValue._WRITERS = {
    0: _write_share_group_target_assignment_metadata_value_v0,
}
