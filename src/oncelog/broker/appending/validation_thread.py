"""Validates batches that take long to decompress or recompress on another thread, with other turns meanwhile.

Called by ``pipeline``. Codecs and CRC work without the interpreter's lock, so another core can do that; only the
decision about a validated batch, and its append, are left to the loop. Handing a batch over and back costs about 200 us
of both cores, so small batches, and those of fast codecs, are validated in their own turn, unless they may decompress
to much. gzip states the decompressed size at its end, rightly or wrongly: up to a limit it is tried in its own turn. So
are batches that arrive while much is waiting for validation: that slows down reading, but none waits long for the
thread.

Invariants
- Batches of a connection do not overtake each other: the request is parked until its batch has been validated.
- Validation is a pure function of the batch and of the topic's settings when it arrived: the other thread reads nothing
  of the broker's.
- The memory of a waiting request is counted. A request that was received completely is carried out even if its
  connection ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from oncelog.broker.parking import Park, ParkReason
from oncelog.deferred import Deferred
from oncelog.errors import Error, InvariantError
from oncelog.records.batch import CODEC_MASK, HEADER_SIZE_BYTES
from oncelog.records.compression import MOST_FOR_EACH_BYTE, Compression, gzip_claims, may_unpack_to_more
from oncelog.records.validation import Checked, InvalidBatch, unpacked_limit

if TYPE_CHECKING:
    from oncelog.broker.appending.batch import PendingBatch
    from oncelog.broker.request_memory import RequestMemory
    from oncelog.ports import Background

LONG_BYTES: Final = 8 * 1024
"""Least size of a batch to be recompressed that is worth handing over."""
LONG_GZIP_BYTES: Final = 2 * 1024
"""Least size of a gzip batch that is worth handing over: a smaller one decompresses to 2 MB at most, whatever it
claims."""
SHORT_UNPACKED_BYTES: Final = 128 * 1024
"""A gzip batch that claims to decompress to at most this is believed, and validated in its own turn."""
LONG_FOR_QUICK_CODECS_BYTES: Final = 128 * 1024
"""Least size of a snappy, lz4 or zstd batch worth handing over; also least decompressed size if it is recompressed."""
LONG_UNPACKED_BYTES: Final = 1024 * 1024
"""Any batch that may decompress to more than this is handed over."""
MAX_IN_VALIDATION_BYTES: Final = 1024 * 1024 * 1024
"""Limit on what is being validated at once, by the most it could decompress to: about a second's work. With the default
``max.message.bytes`` that is 63 batches stored as they are, or seven that are recompressed."""
PACKED_AGAIN: Final = 8
"""Compressing takes about this many times as long as decompressing."""


class ValidationThread:
    """The batches of one broker that another thread validates."""

    def __init__(self, memory: RequestMemory, work_clock: Callable[[], int]) -> None:
        """:param work_clock: nanoseconds of work of the thread that hands batches over."""
        self._memory = memory
        self._work_clock = work_clock
        self.worker: Background | None = None
        """Set by the server if it has a thread for this; without one batches are validated on the loop."""
        self._in_validation_bytes = 0

    def takes(self, batch: PendingBatch) -> bool:
        """Whether to hand the batch over: it is worth it, and not too much is being validated already."""
        if self.worker is None or not _takes_long(batch):
            return False
        in_validation = self._in_validation_bytes
        return not in_validation or in_validation + _max_unpacked_bytes(batch) <= MAX_IN_VALIDATION_BYTES

    @staticmethod
    def validate_briefly(batch: PendingBatch, now_ms: int) -> Checked | None:
        """Validate on the loop a batch that :meth:`takes` would hand over; None if that would take long."""
        log = batch.partition.log
        if batch.header.attributes & CODEC_MASK != Compression.GZIP or not log.keeps_codec(Compression.GZIP):
            return None
        if gzip_claims(batch.records) > SHORT_UNPACKED_BYTES:
            return None
        found = log.validation(batch.records, now_ms, SHORT_UNPACKED_BYTES)()
        is_longer = isinstance(found, InvalidBatch) and found.error_code is Error.MESSAGE_TOO_LARGE
        return None if is_longer else found

    def validate(self, batch: PendingBatch, now_ms: int) -> Park[Checked]:
        """The result of ``validate_append``, from the other thread."""
        worker = self.worker
        if worker is None:
            raise InvariantError("a batch was to be validated by a thread, and there is none")
        validate = batch.partition.log.validation(batch.records, now_ms)
        found: list[Checked] = []
        answer: Deferred[Checked] = Deferred()
        size_bytes, max_bytes, worked_ns = len(batch.records), _max_unpacked_bytes(batch), 0
        park = Park(batch.context, ParkReason.VALIDATION, answer)
        self._memory.estimate(size_bytes)
        self._in_validation_bytes += max_bytes

        def work() -> None:
            nonlocal worked_ns
            begun_ns = self._work_clock()
            found.append(validate())
            worked_ns = self._work_clock() - begun_ns

        def done(error: Exception | None) -> None:
            batch.context.work_ns += worked_ns
            self._memory.estimate(-size_bytes)
            self._in_validation_bytes -= max_bytes
            if error is not None:
                answer.fail(error)
            else:
                answer.resolve(found[0])

        worker.run(work, done)
        return park


def _takes_long(batch: PendingBatch) -> bool:
    partition, header, records = batch.partition, batch.header, batch.records
    codec, size_bytes = header.attributes & CODEC_MASK, header.size_bytes
    keeps_codec = partition.log.keeps_codec(codec)
    if codec == Compression.NONE:
        return not keeps_codec and size_bytes >= LONG_BYTES
    if codec == Compression.GZIP:
        return size_bytes >= LONG_GZIP_BYTES
    if codec not in MOST_FOR_EACH_BYTE:  # will be refused
        return False
    if size_bytes >= (LONG_FOR_QUICK_CODECS_BYTES if keeps_codec else LONG_BYTES):
        return True
    short_bytes = LONG_UNPACKED_BYTES if keeps_codec else LONG_FOR_QUICK_CODECS_BYTES
    return may_unpack_to_more(Compression(codec), records[HEADER_SIZE_BYTES:], short_bytes)


def _max_unpacked_bytes(batch: PendingBatch) -> int:
    """The work for a batch, in bytes to decompress."""
    header, log = batch.header, batch.partition.log
    codec = header.attributes & CODEC_MASK
    for_each_byte = MOST_FOR_EACH_BYTE[Compression(codec)] if codec in MOST_FOR_EACH_BYTE else 1
    most = min(header.size_bytes * for_each_byte, unpacked_limit(log.config.max_message_bytes))
    return most if log.keeps_codec(codec) else PACKED_AGAIN * most
