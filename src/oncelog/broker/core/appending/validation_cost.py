"""Estimates the cost of validating a batch, and so decides whether a worker thread validates it. Called by
``pipeline``.

Passing a batch to the thread and back costs about 200 us on both cores, so small batches, and batches of fast codecs,
are validated on the event loop, unless their decompressed size may be large. gzip data end with the decompressed size,
which may be wrong: if the size is below a limit, the loop tries to validate the batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from oncelog.errors import Error
from oncelog.records.batch import CODEC_MASK, HEADER_SIZE_BYTES
from oncelog.records.compression import MAX_FOR_EACH_BYTE, Compression, gzip_claims, may_unpack_to_more
from oncelog.records.validation import Checked, InvalidBatch, unpacked_limit

if TYPE_CHECKING:
    from oncelog.broker.core.appending.batch import PendingBatch

LONG_BYTES: Final = 8 * 1024
"""A batch of at least this size in bytes is validated in a thread if the log recompresses it."""
LONG_GZIP_BYTES: Final = 2 * 1024
"""A gzip batch of at least this size in bytes is validated in a thread: a smaller one decompresses to 2 MB at most,
whatever size it states."""
SHORT_UNPACKED_BYTES: Final = 128 * 1024
"""A gzip batch that states a decompressed size of at most this many bytes is validated on the event loop."""
LONG_FOR_QUICK_CODECS_BYTES: Final = 128 * 1024
"""A snappy, lz4 or zstd batch of at least this size in bytes is validated in a thread; if the log recompresses it, the
decompressed size counts as well."""
LONG_UNPACKED_BYTES: Final = 1024 * 1024
"""Any batch that may decompress to more than this many bytes is validated in a thread."""
PACKED_AGAIN: Final = 8
"""Compressing takes about this many times as long as decompressing."""


def validate_briefly(batch: PendingBatch, now_ms: int) -> Checked | None:
    """Try to validate on the event loop a batch for which :func:`takes_long` is true; returns None if the batch is too
    large for that."""
    log = batch.partition.log
    if batch.header.attributes & CODEC_MASK != Compression.GZIP or not log.keeps_codec(Compression.GZIP):
        return None
    if gzip_claims(batch.records) > SHORT_UNPACKED_BYTES:
        return None
    found = log.validation(batch.records, now_ms, SHORT_UNPACKED_BYTES)()
    is_longer = isinstance(found, InvalidBatch) and found.error_code is Error.MESSAGE_TOO_LARGE
    return None if is_longer else found


def takes_long(batch: PendingBatch) -> bool:
    """Whether a worker thread should validate the batch."""
    partition, header, records = batch.partition, batch.header, batch.records
    codec, size_bytes = header.attributes & CODEC_MASK, header.size_bytes
    keeps_codec = partition.log.keeps_codec(codec)
    if codec == Compression.NONE:
        return not keeps_codec and size_bytes >= LONG_BYTES
    if codec == Compression.GZIP:
        return size_bytes >= LONG_GZIP_BYTES
    if codec not in MAX_FOR_EACH_BYTE:  # will be refused
        return False
    if size_bytes >= (LONG_FOR_QUICK_CODECS_BYTES if keeps_codec else LONG_BYTES):
        return True
    short_bytes = LONG_UNPACKED_BYTES if keeps_codec else LONG_FOR_QUICK_CODECS_BYTES
    return may_unpack_to_more(Compression(codec), records[HEADER_SIZE_BYTES:], short_bytes)


def max_unpacked_bytes(batch: PendingBatch) -> int:
    """The cost of validating a batch, as a number of bytes to decompress."""
    header, log = batch.header, batch.partition.log
    codec = header.attributes & CODEC_MASK
    for_each_byte = MAX_FOR_EACH_BYTE[Compression(codec)] if codec in MAX_FOR_EACH_BYTE else 1
    most = min(header.size_bytes * for_each_byte, unpacked_limit(log.config.max_message_bytes))
    return most if log.keeps_codec(codec) else PACKED_AGAIN * most
