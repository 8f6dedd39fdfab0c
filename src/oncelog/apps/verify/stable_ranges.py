"""Determines how far partitions can be read once all transactions that are open at the start have ended.

Called by :mod:`oncelog.apps.verify.pipeline` and :mod:`oncelog.apps.verify.copy.copied_topics`. Apache Kafka answers a
commit before it writes the markers, so right after a commit the last stable offset may still be the transaction's first
offset; this module waits until it has advanced.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.offset_lookups import EARLIEST, LATEST
from oncelog.runtime import real_asyncio as asyncio
from oncelog.types import TopicPartition

WAIT_S = 30.0
"""How long to wait for markers, in seconds; they follow a commit within milliseconds, on a busy cluster within
seconds."""
_PAUSE_S = 0.1


class StableRange(NamedTuple):
    """The range of a partition from the log's start to its last stable offset.

    ``first_seen_end`` is the high watermark when the wait began. The range is decided once the last stable offset has
    reached it.
    """

    start: int
    end: int
    first_seen_end: int

    @property
    def is_decided(self) -> bool:
        return self.end >= self.first_seen_end

    def __str__(self) -> str:
        return f"the last stable offset stays at {self.end}, and the partition ended at {self.first_seen_end}"


async def stable_ranges(
    admin: Admin, partitions: Iterable[TopicPartition], *, wait_s: float = WAIT_S, pause_s: float = _PAUSE_S
) -> dict[TopicPartition, StableRange]:
    """The range of each partition, as soon as all of them are decided, or the current ranges after ``wait_s``.

    :raises KafkaError: a partition does not exist or cannot be read.
    """
    names = list(partitions)
    first_seen = await admin.list_offsets(dict.fromkeys(names, LATEST))
    until_s = asyncio.get_running_loop().time() + wait_s
    while True:
        ends = await admin.list_offsets(dict.fromkeys(names, LATEST), read_committed=True)
        decided = all(ends[name].offset >= first_seen[name].offset for name in names)
        if decided or asyncio.get_running_loop().time() >= until_s:
            break
        await asyncio.sleep(pause_s)
    starts = await admin.list_offsets(dict.fromkeys(names, EARLIEST))
    return {name: StableRange(starts[name].offset, ends[name].offset, first_seen[name].offset) for name in names}
