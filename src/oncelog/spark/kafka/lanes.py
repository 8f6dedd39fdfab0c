"""Sends record batches to a cluster in lanes: while one batch of a lane waits for its acknowledgement, the next is
prepared.

Called by :mod:`oncelog.spark.kafka.kafka_transaction`. A partition belongs to one lane, and a lane sends its next
batches once all earlier ones are acknowledged, so a retry never overtakes another batch of the same partition. A lane
is a connection of its own, as Apache Kafka works on one request of a connection at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import NamedTuple, TypeAlias

from oncelog.client.aio.transactions.batch_transaction import ReadyBatch
from oncelog.spark.kafka.interface import PartitionBatch, final
from oncelog.types import TopicPartition

LANES = 2
WINDOW = 64
"""The maximum number of batches that are held back so that one request can have a batch for each of several
partitions."""
WINDOW_BYTES = 32 << 20
"""The maximum number of bytes that are read from the source after the oldest batch that is held back: each batch keeps
its source buffer alive.
"""
SMALL_BYTES = 1 << 20
"""If all batches together have at most this size and are fewer than :data:`WINDOW`, one lane sends them, because the
coordinator adds the partitions of one request at a time to a transaction.
"""

Submit: TypeAlias = Callable[[int, Mapping[TopicPartition, ReadyBatch]], Future[object]]
"""Begins to append one batch for each of several partitions, in the lane of this number."""


class _Held(NamedTuple):
    """A batch in the queue, and how many bytes were read from the source before it."""

    at: int
    batch: ReadyBatch


class _Window:
    """Batches of a source, by lane and partition, until they are sent."""

    def __init__(self, batches: Iterable[PartitionBatch]) -> None:
        self._source = iter(batches)
        self._lanes: list[dict[TopicPartition, deque[_Held]]] = [{} for _ in range(LANES)]
        self._chosen: dict[TopicPartition, int] = {}
        self._count = self._taken_bytes = 0
        self._has_sent = False

    def fill(self) -> None:
        """Read as many batches from the source as the limits allow, and at least one if the window is empty."""
        oldest = min((queue[0].at for lane in self._lanes for queue in lane.values() if queue), default=None)
        until = WINDOW_BYTES + (self._taken_bytes if oldest is None else oldest)
        while self._count < WINDOW and self._taken_bytes < until:
            found = next(self._source, None)
            if found is None:
                if not self._has_sent and self._taken_bytes <= SMALL_BYTES:
                    self._use_one_lane()
                return
            name = TopicPartition(found.topic, found.partition)
            number = self._chosen.setdefault(name, len(self._chosen) % LANES)
            held = _Held(self._taken_bytes, ReadyBatch(found.records, found.data))
            self._lanes[number].setdefault(name, deque()).append(held)
            self._count += 1
            self._taken_bytes += len(found.data)

    def _use_one_lane(self) -> None:
        first, *others = self._lanes
        for lane in others:
            first.update(lane)
            lane.clear()

    def next_of(self, lane: int) -> dict[TopicPartition, ReadyBatch]:
        """Remove and return the oldest batch of each partition of a lane."""
        queues = self._lanes[lane]
        found = {partition: queue.popleft().batch for partition, queue in queues.items() if queue}
        self._has_sent = self._has_sent or bool(found)
        self._count -= len(found)
        return found


def send_in_lanes(batches: Iterable[PartitionBatch], submit: Submit) -> None:
    """Send all ``batches``, those of each partition in the given order.

    Raises the first error once no request is open. If several lanes fail, a fatal error takes precedence over a
    retriable one.
    """
    window = _Window(batches)
    under_way: dict[Future[object], int] = {}
    failures: list[BaseException] = []

    def begin() -> None:
        """Send held batches through lanes without an open request."""
        for number in sorted(set(range(LANES)) - set(under_way.values())):
            waiting = window.next_of(number)
            if waiting:
                under_way[submit(number, waiting)] = number

    def settle(done: Iterable[Future[object]]) -> None:
        for future in done:
            del under_way[future]
            failure = future.exception()
            if failure is not None:
                failures.append(failure)

    try:
        while not failures:
            begin()  # writes begin before the next read of the source, which may take long
            window.fill()
            begin()
            if not under_way:
                return
            settle(wait(under_way, return_when=FIRST_COMPLETED).done)
    except (KeyboardInterrupt, SystemExit):  # a signal handler raises SystemExit
        for future in under_way:
            future.cancel()
        raise
    finally:
        wait(under_way)
    settle(list(under_way))
    raise min(failures, key=lambda failure: not final(failure))
