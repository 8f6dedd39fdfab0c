"""Validates batches that take long to decompress or recompress on another thread, with other turns meanwhile.

Called by ``apis/produce``. Codecs and CRC work without the interpreter's lock, so another core can do that; only the
decision about a validated batch, and its append, are left to the loop. Handing a batch over and back costs about 200 us
of both cores, so small batches, and those of fast codecs, are validated in their own turn, unless they may decompress
to much. gzip states the decompressed size at its end, rightly or wrongly: up to a limit it is tried in its own turn. So
are batches that arrive while much is waiting for validation: that slows down reading, but none waits long for the
thread.

Invariants
- Batches of a connection do not overtake each other: the connection is held until the batch has been validated and
  handed on, and only then sends the next one. Nor do those of one request for the same partition.
- Validation is a pure function of the batch and of the topic's settings when it arrived: the other thread reads nothing
  of the broker's.
- The memory of a waiting request is counted. A request that was received completely is carried out even if its
  connection ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from oncelog.deferred import Deferred
from oncelog.errors import Error, InvariantError
from oncelog.records.batch import CODEC_MASK, HEADER_SIZE_BYTES, BatchHeader
from oncelog.records.compression import MOST_FOR_EACH_BYTE, Compression, gzip_claims, may_unpack_to_more
from oncelog.records.validation import Checked, InvalidBatch, unpacked_limit

if TYPE_CHECKING:
    from oncelog.broker.context import RequestContext
    from oncelog.broker.partition import Partition
    from oncelog.broker.request_memory import RequestMemory
    from oncelog.broker.slices import Work
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
UNDER_CHECK_BYTES: Final = 1024 * 1024 * 1024
"""Limit on what is being validated at once, by the most it could decompress to: about a second's work. With the default
``max.message.bytes`` that is 63 batches stored as they are, or seven that are recompressed."""
OF_ONE_REQUEST: Final = 64
"""Batches of one request that may be under validation, or wait behind others for the same partition: a closure each."""
PACKED_AGAIN: Final = 8
"""Compressing takes about this many times as long as decompressing."""


class BatchChecks:
    """The batches of one broker."""

    def __init__(self, memory: RequestMemory, work_clock: Callable[[], int]) -> None:
        """:param work_clock: nanoseconds of work of the thread that hands batches over."""
        self._memory = memory
        self._work_clock = work_clock
        self.elsewhere: Background | None = None
        """Set by the server if it has a thread for this; without one batches are validated in their own turn."""
        self._under_check_bytes = 0

    def takes(self, context: RequestContext, partition: Partition, header: BatchHeader, records: memoryview) -> bool:
        """Whether to hand the batch over: it is worth it and there is room, or it is behind one that was handed
        over."""
        if self.elsewhere is None:
            return False
        if _is_behind(context, partition):
            return True
        if not _takes_long(partition, header, records):
            return False
        under_check = self._under_check_bytes
        return not under_check or under_check + _most_unpacked(partition, header) <= UNDER_CHECK_BYTES

    @staticmethod
    def briefly(
        context: RequestContext, partition: Partition, header: BatchHeader, records: memoryview, now_ms: int
    ) -> Checked | None:
        """Validate a batch that :meth:`takes` would hand over with ``validate_append``; None if that would take
        long."""
        log = partition.log
        if header.attributes & CODEC_MASK != Compression.GZIP or not log.keeps_codec(Compression.GZIP):
            return None
        if _is_behind(context, partition) or gzip_claims(records) > SHORT_UNPACKED_BYTES:
            return None
        found = log.validation(records, now_ms, SHORT_UNPACKED_BYTES)()
        is_longer = isinstance(found, InvalidBatch) and found.error_code is Error.MESSAGE_TOO_LARGE
        return None if is_longer else found

    def check(
        self, context: RequestContext, partition: Partition, header: BatchHeader, records: memoryview, now_ms: int
    ) -> Deferred[Checked]:
        """The result of ``validate_append``; its connection is held until then, and as long as other batches of the
        request are under way. The caller continues with the result at once, and then calls :meth:`handed_on`."""
        elsewhere = self.elsewhere
        if elsewhere is None:
            raise InvariantError("a batch was to be checked elsewhere, and there is no such place")
        validate = partition.log.validation(records, now_ms)
        found: list[Checked] = []
        answer: Deferred[Checked] = Deferred()
        size_bytes, most_bytes, worked_ns = len(records), _most_unpacked(partition, header), 0
        self.hold(context)
        self._memory.estimate(size_bytes)
        if context.checks is None:
            context.checks = {}
        checks = context.checks

        def work() -> None:
            nonlocal worked_ns
            begun_ns = self._work_clock()
            found.append(validate())
            worked_ns = self._work_clock() - begun_ns

        def done(error: Exception | None) -> None:
            context.work_ns += worked_ns
            self._memory.estimate(-size_bytes)
            self._under_check_bytes -= most_bytes
            if error is not None:
                answer.fail(error)
                self.handed_on(context)
            else:
                answer.resolve(found[0])
            if checks[partition]:
                checks[partition].popleft()()
            else:
                del checks[partition]

        def begin() -> None:
            self._under_check_bytes += most_bytes
            elsewhere.run(work, done)

        if partition in checks:
            checks[partition].append(begin)
        else:
            checks[partition] = deque()
            begin()
        return answer

    @staticmethod
    def room(context: RequestContext) -> Work[None]:
        """Pauses while the request has the most batches allowed under validation."""
        while context.under_check >= OF_ONE_REQUEST:
            context.room = Deferred()
            yield context.room

    @staticmethod
    def hold(context: RequestContext) -> None:
        """The request's connection starts nothing more until :meth:`handed_on` has been called as often as this."""
        context.under_check += 1
        context.channel.hold()

    @staticmethod
    def handed_on(context: RequestContext) -> None:
        """A validated batch of the request has been handed on, and the next request may continue."""
        context.under_check -= 1
        if not context.under_check and not context.is_wide:
            context.channel.go_on(context.slot)
        room, context.room = context.room, None
        if room is not None:
            room.resolve(None)


def _is_behind(context: RequestContext, partition: Partition) -> bool:
    """Whether an earlier batch of the request, for the same partition, is under check."""
    return context.checks is not None and partition in context.checks


def _takes_long(partition: Partition, header: BatchHeader, records: memoryview) -> bool:
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


def _most_unpacked(partition: Partition, header: BatchHeader) -> int:
    """The work for a batch, in bytes to decompress."""
    codec, log = header.attributes & CODEC_MASK, partition.log
    for_each_byte = MOST_FOR_EACH_BYTE[Compression(codec)] if codec in MOST_FOR_EACH_BYTE else 1
    most = min(header.size_bytes * for_each_byte, unpacked_limit(log.config.max_message_bytes))
    return most if log.keeps_codec(codec) else PACKED_AGAIN * most
