"""Batches that take long to be unpacked or packed again are checked on another thread, with others' turns meanwhile.

Called by ``apis/produce``. Codecs and CRC work without the interpreter's lock, so that another core does that; what is
left to the loop is the decision about a batch that is checked, and its append. To hand a batch over and back costs some
200 us of both cores, so small ones, and those of codecs that are quick, are checked in their own turn, unless they may
unpack to much. What gzip packed tells its size at its end, truly or not: within that size it is tried in its own turn.
So are those that come while much waits to be checked: that slows the reading, and nobody waits long for the thread.

Invariants
- Batches of a connection do not overtake each other: the connection is held until the batch is checked and its way on
  has begun, and only then sends the next one. Nor do those of one request for the same partition.
- What is checked is a pure function of the batch and of the topic's settings as they were when it came: the other
  thread looks at nothing of the broker's.
- The memory of a request that waits is counted. One that came whole is carried out though its connection ends.
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
"""From so many on a batch that is packed again takes more time than to hand it over;"""
LONG_GZIP_BYTES: Final = 2 * 1024
"""one of gzip, from so many: below it unpacks to 2 MB at most, whatever length it claims;"""
SHORT_UNPACKED_BYTES: Final = 128 * 1024
"""one of gzip that says so of itself unpacks to at most this: it is taken at its word up to there;"""
LONG_FOR_QUICK_CODECS_BYTES: Final = 128 * 1024
"""one of snappy, lz4 or zstd, from so many, or where it is packed again and may unpack to more;"""
LONG_UNPACKED_BYTES: Final = 1024 * 1024
"""also where it may unpack to more than this."""
UNDER_CHECK_BYTES: Final = 1024 * 1024 * 1024
"""What may be under check at once, at the most that it could unpack to: a second's work, about. At
``max.message.bytes``' default 63 batches that are kept as they are, or seven that are packed again."""
OF_ONE_REQUEST: Final = 64
"""What of one request may be under check, or wait behind others of it for the same partition: a closure each."""
PACKED_AGAIN: Final = 8
"""To pack takes so many times as long as to unpack, about."""


class BatchChecks:
    """All of a broker's."""

    def __init__(self, memory: RequestMemory, work_clock: Callable[[], int]) -> None:
        """:param work_clock: nanoseconds that the thread which asks has worked."""
        self._memory = memory
        self._work_clock = work_clock
        self.elsewhere: Background | None = None
        """Set by the shell, where it has a thread for it; without one batches are checked in their own turn."""
        self._under_check_bytes = 0

    def takes(self, context: RequestContext, partition: Partition, header: BatchHeader, records: memoryview) -> bool:
        """Whether the batch is to be handed over: it is worth it and finds room, or is behind one that was."""
        if self.elsewhere is None:
            return False
        if context.checks and partition in context.checks:
            return True
        if not _takes_long(partition, header, records):
            return False
        under_check = self._under_check_bytes
        return not under_check or under_check + _most_unpacked(partition, header) <= UNDER_CHECK_BYTES

    @staticmethod
    def briefly(
        context: RequestContext, partition: Partition, header: BatchHeader, records: memoryview, now_ms: int
    ) -> Checked | None:
        """A batch that :meth:`takes` would hand over, as ``validate_append`` finds it; None if that does take long."""
        log = partition.log
        if header.attributes & CODEC_MASK != Compression.GZIP or not log.keeps_codec(Compression.GZIP):
            return None
        if (context.checks and partition in context.checks) or gzip_claims(records) > SHORT_UNPACKED_BYTES:
            return None
        found = log.validation(records, now_ms, SHORT_UNPACKED_BYTES)()
        is_longer = isinstance(found, InvalidBatch) and found.error_code is Error.MESSAGE_TOO_LARGE
        return None if is_longer else found

    def check(
        self, context: RequestContext, partition: Partition, header: BatchHeader, records: memoryview, now_ms: int
    ) -> Deferred[Checked]:
        """The batch as ``validate_append`` finds it; until then, and as long as others of the request are under way,
        its connection is held. Whoever is given the answer goes on with it at once, and then calls :meth:`went_on`."""
        elsewhere = self.elsewhere
        if elsewhere is None:
            raise InvariantError("a batch was to be checked elsewhere, and there is no such place")
        validate = partition.log.validation(records, now_ms)
        found: list[Checked] = []
        answer: Deferred[Checked] = Deferred()
        size_bytes, most_bytes, worked_ns = len(records), _most_unpacked(partition, header), 0
        context.under_check += 1
        context.channel.hold()
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
                self.went_on(context)
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
        """Pauses while as much of the request is under check as may be."""
        while context.under_check >= OF_ONE_REQUEST:
            context.room = Deferred()
            yield context.room

    @staticmethod
    def went_on(context: RequestContext) -> None:
        """A batch of the request that was checked has gone its way, and the next request may do so."""
        context.under_check -= 1
        if not context.under_check and not context.is_wide:
            context.channel.go_on()
        room, context.room = context.room, None
        if room is not None:
            room.resolve(None)


def _takes_long(partition: Partition, header: BatchHeader, records: memoryview) -> bool:
    codec, size_bytes = header.attributes & CODEC_MASK, header.size_bytes
    keeps_codec = partition.log.keeps_codec(codec)
    if codec == Compression.NONE:
        return not keeps_codec and size_bytes >= LONG_BYTES
    if codec == Compression.GZIP:
        return size_bytes >= LONG_GZIP_BYTES
    if codec not in MOST_FOR_EACH_BYTE:  # to be refused
        return False
    if size_bytes >= (LONG_FOR_QUICK_CODECS_BYTES if keeps_codec else LONG_BYTES):
        return True
    short_bytes = LONG_UNPACKED_BYTES if keeps_codec else LONG_FOR_QUICK_CODECS_BYTES
    return may_unpack_to_more(Compression(codec), records[HEADER_SIZE_BYTES:], short_bytes)


def _most_unpacked(partition: Partition, header: BatchHeader) -> int:
    """What there is to do for a batch, in bytes to unpack."""
    codec, log = header.attributes & CODEC_MASK, partition.log
    for_each_byte = MOST_FOR_EACH_BYTE[Compression(codec)] if codec in MOST_FOR_EACH_BYTE else 1
    most = min(header.size_bytes * for_each_byte, unpacked_limit(log.config.max_message_bytes))
    return most if log.keeps_codec(codec) else PACKED_AGAIN * most
