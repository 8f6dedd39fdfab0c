"""Decides which batches of a Fetch response a reader may see.

Called by the consumer's fetcher and the Spark source. Control batches are never delivered; with ``read_committed``
neither are batches of transactions that the response lists as aborted. Source: ``CompletedFetch`` (KIP-98).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence

from oncelog.records.batch import BatchHeader, Buffer, decode_records
from oncelog.records.control import ControlType

Aborted = tuple[int, int]
"""First offset and producer id of an aborted transaction."""


class AbortedFilter:
    """Decides, batch by batch in offset order, which batches of one response belong to aborted transactions."""

    def __init__(self, aborted: Iterable[Aborted]) -> None:
        self._pending = list(aborted)
        heapq.heapify(self._pending)
        self._producers: set[int] = set()

    def keeps(self, header: BatchHeader, control_type: ControlType | None) -> bool:
        """Whether the records of the next batch may be delivered.

        :param control_type: the type of a control batch; None for a data batch.
        """
        while self._pending and self._pending[0][0] <= header.last_offset:
            self._producers.add(heapq.heappop(self._pending)[1])
        if header.is_control:
            if control_type is ControlType.ABORT:
                self._producers.discard(header.producer_id)
            return False
        return not (header.is_transactional and header.producer_id in self._producers)


def control_type_of(buf: Buffer, position: int) -> ControlType:
    """The type of the control batch at ``position``; UNKNOWN for a type newer than this client."""
    records = decode_records(buf, position, check_crc=False)
    key = records[0].key if records else None
    if key is None or len(key) < 4:
        return ControlType.UNKNOWN
    code = int.from_bytes(key[2:4], "big", signed=True)
    return ControlType(code) if code in ControlType._value2member_map_ else ControlType.UNKNOWN


def filter_batches(
    buf: Buffer, batches: Iterable[tuple[int, BatchHeader]], aborted: Sequence[Aborted] | None
) -> Iterator[tuple[int, BatchHeader]]:
    """The batches of ``buf`` whose records may be delivered.

    :param batches: the position and header of each batch, from ``iter_headers``.
    :param aborted: the response's list of aborted transactions; None to deliver uncommitted records too.
    """
    committed = None if aborted is None else AbortedFilter(aborted)
    for position, header in batches:
        if committed is None:
            if not header.is_control:
                yield position, header
            continue
        kind = control_type_of(buf, position) if header.is_control else None
        if committed.keeps(header, kind):
            yield position, header
