"""Every batch of a stretch of a ``.log`` file, one after the other, in large reads.

Called by ``log.segment_list`` (coordinators load), ``log.recovery``, ``log.compaction`` and ``log.dump``.
"""

from __future__ import annotations

from collections.abc import Iterator

from oncelog.ports import File
from oncelog.records.batch import HEADER_SIZE_BYTES, BatchHeader, CorruptBatch, read_header, verify_crc

_CHUNK_BYTES = 4 << 20


def read_batches(
    file: File, position: int, end: int, *, check_crc: bool = False
) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """Position, header and bytes of the batches in ``[position, end)``; reads large pieces.

    :raises CorruptBatch: at the first bytes that are no whole batch, or whose CRC differs.
    """
    while position < end:
        chunk = memoryview(file.read_at(position, min(_CHUNK_BYTES, end - position)))
        at = 0
        while len(chunk) - at >= HEADER_SIZE_BYTES:
            header = read_header(chunk, at)
            size = header.size_bytes
            if size > len(chunk) - at:
                break
            if check_crc and not verify_crc(chunk, at):
                raise CorruptBatch(f"{file.path}, position {position + at}: the CRC differs from that of the bytes")
            yield position + at, header, chunk[at : at + size]
            at += size
        if at:
            position += at
            continue
        header = read_header(chunk)
        if header.size_bytes > end - position:
            raise CorruptBatch(f"{file.path}, position {position}: a batch of {header.size_bytes} bytes is cut off")
        batch = memoryview(file.read_at(position, header.size_bytes))
        if check_crc and not verify_crc(batch):
            raise CorruptBatch(f"{file.path}, position {position}: the CRC differs from that of the bytes")
        yield position, header, batch
        position += header.size_bytes
