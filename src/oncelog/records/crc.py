"""CRC-32C (Castagnoli), the checksum of record batches. Called by :mod:`oncelog.records.batch` and by the log's
files.
"""

from __future__ import annotations

import crc32c as _crc32c

Buffer = bytes | bytearray | memoryview


def crc32c(data: Buffer, value: int = 0) -> int:
    """Checksum of ``data``, going on from ``value``, the checksum of what came before it."""
    return _crc32c.crc32c(data, value)
