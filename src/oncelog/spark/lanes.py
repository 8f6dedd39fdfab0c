"""Record batches on their way to a cluster, in lanes: while one waits for its acknowledgements, the next is stamped.

Called by :mod:`oncelog.spark.kafka_transaction`. A partition belongs to one lane, and a lane sends its next batches
when all before are acknowledged: so the order in a partition stays, and a repeat never passes another batch of it. A
lane is a connection of its own, as Apache Kafka works on one request of a connection at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from itertools import islice
from typing import TypeAlias

from oncelog.client.aio.batch_transaction import ReadyBatch
from oncelog.spark.sink_protocol import PartitionBatch
from oncelog.types import TopicPartition

LANES = 2
WINDOW = 64
"""Batches held at a time, to fill one request with a batch for each of several partitions."""

Submit: TypeAlias = Callable[[int, Mapping[TopicPartition, ReadyBatch]], Future[object]]
"""Begins to append one batch for each of several partitions, in the lane of this number."""


def send_in_lanes(batches: Iterable[PartitionBatch], submit: Submit) -> None:
    """All of ``batches``, each partition's in the given order. Raises what went wrong when nothing is under way."""
    source = iter(batches)
    lanes: list[dict[TopicPartition, deque[ReadyBatch]]] = [{} for _ in range(LANES)]
    chosen: dict[TopicPartition, int] = {}
    under_way: dict[Future[object], int] = {}
    held = 0

    def begin() -> None:
        """What waits in lanes that are free."""
        nonlocal held
        for number in sorted(set(range(LANES)) - set(under_way.values())):
            waiting = {partition: queue.popleft() for partition, queue in lanes[number].items() if queue}
            if waiting:
                under_way[submit(number, waiting)] = number
                held -= len(waiting)

    try:
        while True:
            begin()  # before the source is asked, which may take its time
            for topic, partition, records, data in islice(source, WINDOW - held):
                name = TopicPartition(topic, partition)
                number = chosen.setdefault(name, len(chosen) % LANES)
                lanes[number].setdefault(name, deque()).append(ReadyBatch(records, data))
                held += 1
            begin()
            if not under_way:
                return
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                del under_way[future]
                future.result()
    except (KeyboardInterrupt, SystemExit):  # the latter from a handler of signals
        for future in under_way:
            future.cancel()
        raise
    finally:
        wait(under_way)
