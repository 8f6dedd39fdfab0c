"""Makes Spark's tasks write the rows of a batch, and returns their reports to the driver.

Called by :mod:`oncelog.spark.tables.sink`. Only the reports of the job's last stage count: Spark accepts one per
partition, however often a task ran. If Spark has recomputed an earlier stage, the batch is computed again.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oncelog.spark.executors.scheduling import any_input_repeated, tagged
from oncelog.spark.private_apis import jobs
from oncelog.spark.python_worker import acknowledged
from oncelog.spark.sink.engine import SinkRefused
from oncelog.spark.tables.store import TableRefused, TaskWriter, WrittenPart
from oncelog.spark.versions import VersionChecked

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

logger = logging.getLogger(__name__)

REPORT = "part binary"
ATTEMPTS = 4


@dataclass(frozen=True, slots=True)
class PartReporter(VersionChecked):
    """The function for ``mapInArrow``, which writes rows and returns one row for each part.

    :param names: the names of the columns.
    """

    writer: TaskWriter
    names: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        named = (pa.RecordBatch.from_arrays(batch.columns, list(self.names)) for batch in acknowledged(batches))
        for part in self._parts(batch for batch in named if batch.num_rows):
            yield pa.RecordBatch.from_pydict({"part": pa.array([pickle.dumps(tuple(part))], pa.binary())})

    def _parts(self, batches: Iterator[pa.RecordBatch]) -> Iterator[WrittenPart]:
        """The parts that the writer makes. A refusal is returned as a part: another attempt would be refused again, so
        the task does not fail, and the driver reports the reason."""
        try:
            yield from self.writer(batches)
        except TableRefused as error:
            yield WrittenPart(0, 0, refused=str(error))


def write_parts(rows: DataFrame, writer: TaskWriter, max_inline_bytes: int) -> Sequence[WrittenPart]:
    """Run the tasks that write the rows; returns the parts that they made. Raises SinkRefused if too many bytes are
    left to the driver, and TableRefused if the table refuses a task's rows."""
    spark = rows.sparkSession
    context = spark.sparkContext
    # columns get plain names, because PySpark accepts no names with dots in this call
    plain = rows.toDF(*(f"c{number}" for number in range(len(rows.columns))))
    reporter = PartReporter(writer, tuple(rows.columns))
    for _ in range(ATTEMPTS):
        parts: list[WrittenPart] = []
        inline = 0
        executors = jobs.executors(context)
        with tagged(context) as tag:
            for row in plain.mapInArrow(reporter, REPORT).toLocalIterator(prefetchPartitions=True):
                part = WrittenPart(*pickle.loads(row.part))
                if part.refused:
                    raise TableRefused(part.refused)
                inline += len(part.inline or b"")
                if inline > max_inline_bytes:
                    raise SinkRefused(
                        f"The rows of a batch that go through the driver take more than maxBatchBytes "
                        f"({max_inline_bytes}), compressed: write less at a time (maxOffsetsPerTrigger), or raise it"
                    )
                parts.append(part)
            if not any_input_repeated(spark, tag, executors):
                return parts
        logger.warning(
            "A part of a batch was lost, with an executor or in a shuffle: the batch is computed and written again"
        )
    raise SinkRefused(
        f"Executors or their results were lost in each of {ATTEMPTS} attempts to write a batch, so nothing is "
        "written: Spark's logs say why"
    )
