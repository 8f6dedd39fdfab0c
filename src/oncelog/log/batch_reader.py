"""Every batch of a stretch of a ``.log`` file, one after the other, in large reads.

Called by ``log.segment_list`` (coordinators load), ``log.recovery``, ``log.compaction`` and ``log.dump``.
"""

from __future__ import annotations

from collections.abc import Iterator

from oncelog.ports import File
from oncelog.records.batch import HEADER_SIZE_BYTES, LOG_OVERHEAD_BYTES, BatchHeader, CorruptBatch, read_header
from oncelog.records.crc import crc32c

CRC_COVERS_FROM = 21
_CHUNK_BYTES = 4 << 20


def read_batches(
    file: File, position: int, end: int, *, check_crc: bool = False
) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """Position, header and bytes of the batches in ``[position, end)``; reads large pieces.

    :raises CorruptBatch: at the first bytes that are no whole batch, or whose CRC differs.
    """
    while position < end:
        chunk = memoryview(file.read_at(position, min(_CHUNK_BYTES, end - position)))
        at, length = 0, len(chunk)
        while length - at >= HEADER_SIZE_BYTES:
            header = read_header(chunk, at)
            size = header.batch_length + LOG_OVERHEAD_BYTES
            if size > length - at:
                break
            batch = chunk[at : at + size]
            if check_crc and crc32c(batch[CRC_COVERS_FROM:]) != header.crc:
                raise CorruptBatch(f"{file.path}, position {position + at}: the CRC differs from that of the bytes")
            yield position + at, header, batch
            at += size
        if at:
            position += at
            continue
        header = read_header(chunk)
        if header.size_bytes > end - position:
            raise CorruptBatch(f"{file.path}, position {position}: a batch of {header.size_bytes} bytes is cut off")
        batch = memoryview(file.read_at(position, header.size_bytes))
        if check_crc and crc32c(batch[CRC_COVERS_FROM:]) != header.crc:
            raise CorruptBatch(f"{file.path}, position {position}: the CRC differs from that of the bytes")
        yield position, header, batch
        position += header.size_bytes
