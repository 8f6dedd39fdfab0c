"""Identifies mirrored records by the offset map that ``oncelog mirror`` keeps on its target.

Called by :mod:`oncelog.apps.verify.copy.copied_topics`.
"""

from __future__ import annotations

from bisect import bisect_right

from oncelog.apps.mirror.mirrored_topics import MAP_PREFIX
from oncelog.apps.mirror.offset_map import MirrorState, Run
from oncelog.apps.mirror.reading import committed_batches
from oncelog.apps.verify.copy.rows import RecordIdentity, by_place, value_and_headers
from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.offset_lookups import EARLIEST
from oncelog.errors import ConfigError
from oncelog.records.batch import decode_records
from oncelog.records.record import Headers
from oncelog.types import TopicPartition

_NOT_MAPPED = 1 << 62
"""A number that is added to the partition of records that no mirror wrote, so that their identity matches no record of
the source."""


async def by_mirror(dest: Admin, topic: str, name: str) -> RecordIdentity:
    """Read the offset map of the mirror ``name``.

    :raises ConfigError: the mirror has not written the topic.
    """
    where = TopicPartition(f"{MAP_PREFIX}{name}", 0)
    if where.topic not in await dest.list_topics(internal=True):
        raise ConfigError(f"--by mirror:{name}: the destination's cluster has no topic {where.topic} of such a mirror")
    first = (await dest.list_offsets({where: EARLIEST}))[where].offset
    end = (await dest.settled_ends([where]))[where].offset
    state = MirrorState()
    async for _, data in committed_batches(dest, where, first, end):
        for record in decode_records(data):
            state.apply(record.key, record.value)
    runs = {
        found.partition: sorted((run for chapter in one.chapters.values() for run in chapter), key=_target)
        for found, one in state.maps.items()
        if found.topic == topic
    }
    if not runs:
        raise ConfigError(f"--by mirror:{name}: this mirror has not written {topic}")
    return RecordIdentity(by_place, MirroredOffsets(runs).identify, value_and_headers)


def _target(run: Run) -> int:
    return run.target


class MirroredOffsets:
    """Identifies each record of the target by the partition and offset of the source record that it was copied from.

    :param runs: the runs of each partition, ordered by offsets of the target.
    """

    def __init__(self, runs: dict[int, list[Run]]) -> None:
        self._runs = runs

    def identify(self, partition: int, offset: int, key: bytes | None, value: bytes | None, headers: Headers) -> bytes:
        runs = self._runs.get(partition, [])
        at = bisect_right(runs, offset, key=_target) - 1
        if at >= 0 and offset < runs[at].target + runs[at].records:
            return by_place(partition, runs[at].source + offset - runs[at].target, key, value, headers)
        return by_place(_NOT_MAPPED + partition, offset, key, value, headers)
