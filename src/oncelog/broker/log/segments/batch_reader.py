"""Reads every batch in a range of a ``.log`` file, with large reads, one by one or through a scanner.

Called by ``segment_list`` (when coordinators load), ``broker.log.recovery`` and ``broker.log.compaction``; for files
that nobody writes by ``broker.metadata.adoption``, ``apps.promote.unfinished_transactions`` and
``apps.verify.log_folder``.
"""

from __future__ import annotations

from collections.abc import Iterator

from oncelog.records.batch import (
    HEADER_SIZE_BYTES,
    LOG_OVERHEAD_BYTES,
    BatchHeader,
    CorruptBatch,
    decode_records,
    iter_headers,
    read_header,
    verify_crc,
)
from oncelog.records.crc import crc32c
from oncelog.records.native import BatchScanner, Scanned
from oncelog.records.record import Record
from oncelog.runtime.ports import File

CRC_COVERS_FROM = 21
_CHUNK_BYTES = 4 << 20
_SCAN_BYTES = 1 << 20


def read_batches(
    file: File, position: int, end: int, *, check_crc: bool = False
) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """Position, header and bytes of the batches in ``[position, end)`` of a file, read in large chunks.

    :raises CorruptBatch: at the first bytes that are no complete batch, or whose CRC is wrong.
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


def scan_batches(file: File, scanner: BatchScanner, end: int, *, position: int = 0) -> Iterator[tuple[int, Scanned]]:
    """Pass the batches in ``[position, end)`` to ``scanner``; yields, after each read, the position up to which batches
    were read, and the scanner's results.

    :raises CorruptBatch: at the first bytes that the scanner refuses or that are incomplete; everything before them was
        yielded.
    """
    size = _SCAN_BYTES
    while position < end:
        size = min(size, end - position)
        found = scanner.scan(file.read_at(position, size), position)
        position += found.size_bytes
        yield position, found
        if scanner.refusal is not None:
            raise CorruptBatch(f"{file.path}, position {position}: {scanner.refusal}")
        if found.size_bytes:
            size = _SCAN_BYTES
        elif size == end - position:
            header = read_header(file.read_at(position, size))
            raise CorruptBatch(f"{file.path}, position {position}: a batch of {header.size_bytes} bytes is cut off")
        else:
            size = read_header(file.read_at(position, HEADER_SIZE_BYTES)).size_bytes


def records_at_rest(data: bytes) -> Iterator[Record]:
    """The records of a file that is no longer written; from the first wrong CRC on, the end of the file is incomplete
    and left out.

    :raises CorruptBatch: the file contains bytes that are no batch.
    """
    for position, header in iter_headers(data):
        if not verify_crc(data, position):
            return
        if not header.is_control:
            yield from decode_records(data, position, check_crc=False)
