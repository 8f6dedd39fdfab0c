# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, Buffer, Message, malformed, many_tags, overrun, read_uvarint, tag_size, write_tags

_pack_i = _Struct(">i").pack
_pack_q = _Struct(">q").pack
_unpack_iB = _Struct(">iB").unpack_from
_unpack_q = _Struct(">q").unpack_from


class ConsumerGroupMetadataValue(Message):
    API_KEY = 3
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("epoch", "metadata_hash")

    def __init__(
        self,
        epoch: int = 0,  # 0+
        metadata_hash: int = 0,  # 0+, tag 0
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash


def _read_consumer_group_metadata_value_v0(data: bytes, pos: int, size: int) -> tuple[ConsumerGroupMetadataValue, int]:
    at = "epoch"
    try:
        epoch, tags = _unpack_iB(data, pos)
        pos += 5
        metadata_hash: int = 0
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
                    at = "metadata_hash"
                    metadata_hash, = _unpack_q(data, pos)
                    pos += 8
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("ConsumerGroupMetadataValue", at, pos, error) from None
    return ConsumerGroupMetadataValue(epoch, metadata_hash), pos


def _write_consumer_group_metadata_value_v0(w: Append, x: ConsumerGroupMetadataValue) -> None:
    w(_pack_i(x.epoch))
    tagged: list[tuple[int, bytes]] = []
    if x.metadata_hash != 0:
        metadata_hash_part: list[Buffer] = []
        metadata_hash_part.append(_pack_q(x.metadata_hash))
        tagged.append((0, b"".join(metadata_hash_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")
ConsumerGroupMetadataValue._READERS = {
    0: _read_consumer_group_metadata_value_v0,
}
ConsumerGroupMetadataValue._WRITERS = {
    0: _write_consumer_group_metadata_value_v0,
}
