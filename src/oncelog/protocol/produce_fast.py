"""A hand-written reader of Produce requests in the common case. Called by the server for every produced batch.

The common case is one partition of one topic, without tagged fields. Any other request, including malformed ones,
is left to the codec of messages.
Versions 3 to 13; from 9 on flexible, from 13 on with topic ids instead of names.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError
from typing import Final

from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.struct_fields import ZERO_UUID, uvarint_tail

_unpack_h = Struct(">h").unpack_from
_unpack_hiih = Struct(">hiih").unpack_from
_unpack_iii = Struct(">iii").unpack_from
_unpack_hiBB = Struct(">hiBB").unpack_from
_unpack_hiB16s = Struct(">hiB16s").unpack_from
_unpack_BiB = Struct(">BiB").unpack_from

_FLEXIBLE_FROM: Final = ProduceRequest.FLEXIBLE_FROM
_NO_TAGS: Final = b"\0\0\0"
"""The empty tag sections at the end of a request with one partition: of the partition, its topic and the request."""


def parse_one_partition(frame: memoryview, offset: int, version: int) -> ProduceRequest | None:
    """The request as ``ProduceRequest.decode_prefix`` would return it, if it has the common form; otherwise None.
    ``records`` are views of ``frame``."""
    parsed = _parse(frame, offset, version)
    return None if parsed is None else parsed[0]


def index_position(frame: memoryview, offset: int, version: int) -> int | None:
    """The position of the partition's index in a request of the common form; otherwise None."""
    parsed = _parse(frame, offset, version)
    return None if parsed is None else parsed[1]


def _parse(frame: memoryview, offset: int, version: int) -> tuple[ProduceRequest, int] | None:
    if not ProduceRequest.MIN_VERSION <= version <= ProduceRequest.MAX_VERSION:
        return None
    try:
        if version >= _FLEXIBLE_FROM:
            return _parse_flexible(frame, offset, version)
        return _parse_fixed(frame, offset)
    except (StructError, IndexError, ValueError):
        return None


def _parse_flexible(frame: memoryview, pos: int, version: int) -> tuple[ProduceRequest, int] | None:
    length = frame[pos]
    transactional_id = None
    if length > 127:
        return None
    if length:
        transactional_id = str(frame[pos + 1 : pos + length], "utf-8")
        pos += length
    else:
        pos += 1
    name, topic_id = "", ZERO_UUID
    if version >= 13:
        acks, timeout_ms, topics, topic_id = _unpack_hiB16s(frame, pos)
        end = pos + 23
    else:
        acks, timeout_ms, topics, length = _unpack_hiBB(frame, pos)
        if length > 127 or not length:
            return None
        end = pos + length + 7
        name = str(frame[pos + 8 : end], "utf-8")
    partitions, index, length = _unpack_BiB(frame, end)
    if topics != 2 or partitions != 2 or not length:
        return None
    index_at, pos = end + 1, end + 6
    if length > 127:
        length, pos = uvarint_tail(frame, pos, length)
    end = pos + length - 1
    if end + 3 != len(frame) or bytes(frame[end:]) != _NO_TAGS:
        return None
    partition = PartitionProduceData(index, frame[pos:end])
    topic_data = [TopicProduceData(name, topic_id, [partition])]
    return ProduceRequest(transactional_id, acks, timeout_ms, topic_data), index_at


def _parse_fixed(frame: memoryview, pos: int) -> tuple[ProduceRequest, int] | None:
    (length,) = _unpack_h(frame, pos)
    pos += 2
    transactional_id = None
    if length >= 0:
        transactional_id = str(frame[pos : pos + length], "utf-8")
        pos += length
    acks, timeout_ms, topics, length = _unpack_hiih(frame, pos)
    end = pos + 12 + length
    if topics != 1 or length < 0:
        return None
    name = str(frame[pos + 12 : end], "utf-8")
    partitions, index, length = _unpack_iii(frame, end)
    pos = end + 12
    if partitions != 1 or length < 0 or pos + length != len(frame):
        return None
    partition = PartitionProduceData(index, frame[pos:])
    topic_data = [TopicProduceData(name, ZERO_UUID, [partition])]
    return ProduceRequest(transactional_id, acks, timeout_ms, topic_data), end + 4
