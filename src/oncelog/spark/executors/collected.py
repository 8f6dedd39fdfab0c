"""Small batches: the driver collects the rows, in one job without Python workers, and encodes them itself.

Called by :mod:`oncelog.spark.executors.write`. The size of a batch is not known before its rows are computed. A batch
is therefore expected to be as small as the last batch of the same sink, which limits what each task may return. If a
task has more, the result is dropped, and the batch is computed again and shuffled. The first batch of a run is
shuffled.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from oncelog.spark.executors.barrier import BatchSize
from oncelog.spark.executors.scheduling import any_input_repeated, tagged
from oncelog.spark.executors.shuffle import Repeated
from oncelog.spark.private_apis import bounds, jobs, plans
from oncelog.spark.private_apis.bounds import Bound
from oncelog.spark.process import this_process
from oncelog.spark.sink.driver_carrier import DriverCarrier
from oncelog.spark.sink.planning import now_ms
from oncelog.spark.sink.rows import Encoding, TaskEncoder, quoted_name

logger = logging.getLogger(__name__)

EXPECTED_BYTES = 4 << 20
"""A batch is expected to be small if its sink's last batch had at most this many encoded bytes."""
ALL_BYTES = 64 << 20
"""The approximate maximum of the bytes that all tasks may return, if their rows are as large as those of the last
batch."""
MAX_ROWS = 1 << 17
LARGER = 16
"""A key or value may be this many times as large as the average row of the last batch."""
SMALL_ROW_BYTES = 1024
"""The number of bytes that a key or value may always have."""

_ROW_BITS = 33
"""How many low bits of ``monotonically_increasing_id`` contain a row's number in its partition."""
_ROW_MASK = (1 << _ROW_BITS) - 1
_SIZED = ("key", "value")


class Share(NamedTuple):
    """The limits of one task of a small batch: the number of rows, and the bytes of a key or value."""

    rows: int
    row_bytes: int


class LastSizes:
    """The size of each sink's last batch, by transactional id; kept by the process."""

    MAX_SINKS = 10_000

    def __init__(self) -> None:
        self._sizes: dict[str, BatchSize] = {}

    def take_share(self, transactional_id: str) -> Share | None:
        """The limits of each task, if the next batch is expected to be small; else None.

        This forgets the size, so a failed batch is shuffled when it is repeated.
        """
        size = self._sizes.pop(transactional_id, None)
        if size is None or size.size_bytes > EXPECTED_BYTES:
            return None
        mean = _power_of_two(size.row_bytes // max(size.rows, 1))
        rows = min(ALL_BYTES // (_power_of_two(size.tasks) * mean), MAX_ROWS)
        return Share(max(rows, 1), max(LARGER * mean, SMALL_ROW_BYTES))

    def note(self, transactional_id: str, size: BatchSize) -> None:
        self._sizes[transactional_id] = size
        if len(self._sizes) > self.MAX_SINKS:
            del self._sizes[next(iter(self._sizes))]

    def close(self) -> None:
        self._sizes.clear()


def last_sizes() -> LastSizes:
    """The batch sizes that this process remembers."""
    return this_process().part(LastSizes)


def _power_of_two(number: int) -> int:
    """Round ``number`` up to a power of two. Limits of batches with similar sizes are then equal, and Spark need not
    compile the query again.
    """
    return 1 << max(number - 1, 0).bit_length()


class CollectedBatch(NamedTuple):
    """A small batch that was encoded in this process."""

    carrier: DriverCarrier
    size: BatchSize


def collect_rows(
    rows: DataFrame,
    positions: Mapping[str, int],
    encoding: Callable[[], Encoding],
    share: Share,
    batch_id: int | None,
    sink: str,
) -> CollectedBatch | None:
    """Run the job that returns ``rows``; returns None if a task has more than its share.

    Raises Repeated if a stage before it ran again, and BadRow for a row that cannot become a record.

    :param positions: of the columns to write, whose names are all different.
    :param encoding: called when the rows have arrived.
    :param sink: the transactional id; batches of one sink are similar.
    """
    spark = rows.sparkSession
    executors = jobs.executors(spark.sparkContext)
    with tagged(spark.sparkContext) as tag:
        table = plans.to_arrow(_bounded(rows, positions, share, sink))
        if any_input_repeated(spark, tag, executors):
            raise Repeated
    numbers = np.asarray(table.column("row"))
    if len(numbers) and ((numbers & _ROW_MASK).max() >= share.rows or _largest(table) > share.row_bytes):
        return None
    encoder = TaskEncoder(encoding(), seed=batch_id or 0, now_ms=now_ms())
    batches = list(encoder.encode(table.select([name for name in table.column_names if name != "row"]).to_batches()))
    size_bytes = sum(len(batch.data) for batch in batches)
    size = BatchSize(len(np.unique(numbers >> _ROW_BITS)), encoder.rows, encoder.row_bytes, size_bytes)
    return CollectedBatch(DriverCarrier(batches, encoder.rows, len(batches)), size)


def _bounded(rows: DataFrame, positions: Mapping[str, int], share: Share, sink: str) -> DataFrame:
    """Limit the rows to one more than each task's share, and each key or value to one byte or character more than its
    limit.

    It uses as few expressions as possible, because Spark plans and compiles them again for each batch.
    """
    columns = []
    for name, number in positions.items():
        column = quoted_name(rows.columns[number])
        expression = f"substring({column}, 1, {share.row_bytes + 1})" if name in _SIZED else column
        columns.append(f"{expression} as {name}")
    columns.append("monotonically_increasing_id() as row")
    return bounds.bounded(rows, Bound(tuple(columns), f"(row & {_ROW_MASK}) <= {share.rows}"), sink)


def _largest(table: pa.Table) -> int:
    """The size in bytes of the largest key or value."""
    sizes = [pc.max(pc.binary_length(table.column(name))).as_py() for name in _SIZED if name in table.column_names]
    return max(size or 0 for size in sizes)
