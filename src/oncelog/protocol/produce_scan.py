"""Reads several plain Produce requests in one buffer at once. Called by the broker for the bytes that a connection has
sent.

Most of a producer's requests differ from the previous one only in correlation id, partition and records. So the bytes
that stay the same are compared instead of parsed (:class:`ProduceShape`), and only the batch is validated. A scan
accepts only requests that the general path (``produce_fast``, ``records.validation``) would accept without an error
message and without changing the batch. It stops before the first request for which that is uncertain, and leaves this
request to the general path. A property test compares both.

:func:`scan` is the function of the compiled module, or, if that does not exist, :func:`scan_in_python`.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING, Final, NamedTuple

from oncelog.protocol.framing import is_flexible
from oncelog.protocol.generated.produce_request import ProduceRequest
from oncelog.protocol.produce_fast import index_position
from oncelog.protocol.struct_fields import uvarint_tail
from oncelog.records.batch import (
    ATTRIBUTES_AT,
    HEADER_SIZE_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    TRANSACTIONAL_BIT,
    BatchHeader,
)
from oncelog.records.crc import crc32c
from oncelog.records.native import compiled, walk
from oncelog.records.record_errors import CorruptBatch

MAX_REQUESTS: Final = 64
"""Maximum number of requests in one scan, because no other connection is served meanwhile."""

_FRAME: Final = Struct(">i4xi")
_INT32: Final = Struct(">i")
_INDEX: Final = Struct(">iB")
_HEADER: Final = Struct(">qiibIhiqqqhii")
_PREFIX_AT: Final = 12
"""The position in a request after its size, API key, version and correlation id."""
_NO_TAGS: Final = b"\0\0\0"
"""The empty tag sections at the end of a flexible request: of the partition, its topic and the request."""


class ProduceShape(NamedTuple):
    """The bytes that all plain Produce requests of a connection for one topic share.

    ``start``: API key and version. ``prefix``: from the client id to the number of partitions, which is one.
    """

    start: bytes
    prefix: bytes
    flexible: bool

    @classmethod
    def of(cls, frame: memoryview, body: int, version: int) -> ProduceShape | None:
        """The shape of a request frame (without its size) whose body starts at ``body``; None if the request is not
        plain."""
        end = index_position(frame, body, version)
        if end is None:
            return None
        return cls(bytes(frame[:4]), bytes(frame[8:end]), is_flexible(ProduceRequest.API_KEY, version))

    def fits(self, buffer: bytearray, position: int) -> bool:
        """Whether the request whose size field is at ``position`` has this shape up to the end of the prefix."""
        return buffer.startswith(self.start, position + 4) and buffer.startswith(self.prefix, position + _PREFIX_AT)


class PlainRun(NamedTuple):
    """One or more consecutive requests for one partition: the correlation id of each, its batch (a view of the buffer),
    the batch's header, and the position after the request."""

    partition: int
    correlation_ids: Sequence[int]
    batches: Sequence[memoryview]
    headers: Sequence[BatchHeader]
    ends: Sequence[int]


class Limits(NamedTuple):
    """The limits that the broker sets to a batch: its size in bytes, whether keys are required, the range of
    timestamps, and whether it may belong to a transaction."""

    max_batch_bytes: int
    require_keys: bool
    low: int
    high: int
    transactional: bool


def scan_in_python(
    buffer: bytearray, start: int, end: int, shape: ProduceShape, limits: Limits, most: int = MAX_REQUESTS
) -> PlainRun | None:
    """The plain requests that are complete at the start of ``buffer[start:end]`` and are for the same partition as the
    first of them; None if there is none.

    Their batches are uncompressed, valid, within ``limits``, and need no change except to offset and leader epoch.
    """
    found: list[_Plain] = []
    view = memoryview(buffer)
    while len(found) < most:
        request = _plain(buffer, view, start, end, shape, limits)
        if request is None or (found and request.partition != found[0].partition):
            break
        found.append(request)
        start = request.end
    if not found:
        return None
    partitions, correlation_ids, batches, headers, ends = zip(*found, strict=True)
    return PlainRun(partitions[0], list(correlation_ids), list(batches), list(headers), list(ends))


class _Plain(NamedTuple):
    partition: int
    correlation_id: int
    batch: memoryview
    header: BatchHeader
    end: int


def _plain(
    buffer: bytearray, view: memoryview, start: int, end: int, shape: ProduceShape, limits: Limits
) -> _Plain | None:
    try:
        size, correlation_id = _FRAME.unpack_from(buffer, start)
        position = start + _PREFIX_AT + len(shape.prefix)
        frame_end = start + 4 + size
        if frame_end > end or not shape.fits(buffer, start):
            return None
        index, length = _INDEX.unpack_from(buffer, position)
        if shape.flexible:
            position += 5
            if length > 127:
                length, position = uvarint_tail(view, position, length)
            batch_end = position + length - 1
            if batch_end + len(_NO_TAGS) != frame_end or not buffer.startswith(_NO_TAGS, batch_end):
                return None
        else:
            (length,) = _INT32.unpack_from(buffer, position + 4)
            position += 8
            batch_end = position + length
            if batch_end != frame_end:
                return None
        if not HEADER_SIZE_BYTES <= batch_end - position <= limits.max_batch_bytes:
            return None
        header = BatchHeader._make(_HEADER.unpack_from(buffer, position))
    except (StructError, IndexError, ValueError):
        return None
    if not _is_plain(view, position, batch_end, header, limits):
        return None
    return _Plain(index, correlation_id, view[position:batch_end], header, frame_end)


def _is_plain(view: memoryview, start: int, end: int, header: BatchHeader, limits: Limits) -> bool:
    attributes, count = header.attributes, header.records_count
    if (
        header.base_offset
        or header.batch_length + LOG_OVERHEAD_BYTES != end - start
        or header.magic != MAGIC
        or count <= 0
        or header.last_offset_delta + 1 != count
    ):
        return False
    if header.producer_id < 0:
        if attributes:
            return False
    elif attributes not in (0, TRANSACTIONAL_BIT if limits.transactional else 0) or header.base_sequence < 0:
        return False
    if header.crc != crc32c(view[start + ATTRIBUTES_AT : end]):
        return False
    try:
        largest, sequential, refused = walk(
            view[start + HEADER_SIZE_BYTES : end],
            count,
            header.base_timestamp,
            limits.require_keys,
            limits.low,
            limits.high,
        )
    except CorruptBatch:
        return False
    return sequential and not refused and largest == header.max_timestamp


if TYPE_CHECKING or compiled is None:
    scan = scan_in_python
else:
    compiled.set_produce_types(PlainRun, BatchHeader)
    scan = compiled.scan_produces
