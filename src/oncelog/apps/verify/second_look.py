"""Finds which records are still in a partition, because retention and compaction continue during a check.

Called by :mod:`oncelog.apps.verify.isolation` and :mod:`oncelog.apps.verify.log_topics` before they report a record
that may have been removed meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection

from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.admin.log_reader import fetch_stored
from oncelog.errors import Error, KafkaError
from oncelog.records.batch import decode_records, iter_headers
from oncelog.types import IsolationLevel, TopicPartition


async def still_there(admin: Admin, where: TopicPartition, offsets: Collection[int]) -> set[int]:
    """Those of the given offsets at which there is still a record."""
    found: set[int] = set()
    position = 0
    for wanted in sorted(offsets):
        if wanted >= position:
            seen, position = await _records_from(admin, where, wanted)
            found |= seen
    return found.intersection(offsets)


async def _records_from(admin: Admin, where: TopicPartition, offset: int) -> tuple[set[int], int]:
    """The offsets of the records in one fetch from ``offset`` on, and the offset after the part of the log that the
    fetch covers."""
    try:
        stored = await fetch_stored(admin, where, offset, IsolationLevel.READ_UNCOMMITTED)
    except KafkaError as error:
        if error.error is not Error.OFFSET_OUT_OF_RANGE:
            raise
        return set(), offset + 1
    seen: set[int] = set()
    position = offset + 1
    for at, header in iter_headers(stored.records):
        seen.update(record.offset for record in decode_records(stored.records, at))
        position = max(position, header.next_offset)
    return seen, position
