"""The rows that tasks leave to the driver, as parts in Arrow's stream format. Runs in tasks."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING

from oncelog.spark.tables.store import WrittenPart

if TYPE_CHECKING:
    import pyarrow as pa

INLINE_BYTES = 256 << 10
"""A task leaves its rows to the driver if they have at most this many bytes as Arrow; otherwise it writes them
itself."""
_PART_BYTES = 8 << 20


class InlineWriter:
    """A task's writer that leaves all rows to the driver."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[WrittenPart]:
        held: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            held.append(batch)
            size += batch.nbytes
            if size >= _PART_BYTES:
                yield inline_part(held)
                held, size = [], 0
        if held:
            yield inline_part(held)


def inline_part(batches: Sequence[pa.RecordBatch]) -> WrittenPart:
    """The batches as one part for the driver, compressed for sending and storing."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        for batch in batches:
            stream.write_batch(batch)
    data = sink.getvalue().to_pybytes()
    return WrittenPart(sum(batch.num_rows for batch in batches), len(data), inline=data)


def leave_few(batches: Iterator[pa.RecordBatch]) -> Generator[WrittenPart, None, Iterator[pa.RecordBatch] | None]:
    """Yield all rows as one part for the driver if they have at most :data:`INLINE_BYTES`; otherwise return the
    batches."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size > INLINE_BYTES:
            return _all_of(held, batches)
    if held:
        yield inline_part(held)
    return None


def _all_of(held: list[pa.RecordBatch], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from held
    held.clear()
    yield from batches
