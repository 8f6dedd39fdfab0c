"""Rows that tasks leave to the driver: pieces of Arrow's stream format. Runs in tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from oncelog.spark.tables.store import Part

if TYPE_CHECKING:
    import pyarrow as pa

INLINE_BYTES = 256 << 10
"""Up to this much, as Arrow, a task leaves to the driver rather than write it itself."""
_PIECE_BYTES = 8 << 20


class InlineWriter:
    """Leaves all rows to the driver."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Part]:
        held: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            held.append(batch)
            size += batch.nbytes
            if size >= _PIECE_BYTES:
                yield piece(held)
                held, size = [], 0
        if held:
            yield piece(held)


def piece(batches: Sequence[pa.RecordBatch]) -> Part:
    """The batches as one part for the driver; compressed, as it is sent and kept."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        for batch in batches:
            stream.write_batch(batch)
    data = sink.getvalue().to_pybytes()
    return Part(sum(batch.num_rows for batch in batches), len(data), inline=data)


def first_rows(batches: Iterator[pa.RecordBatch], limit: int = INLINE_BYTES) -> tuple[list[pa.RecordBatch], bool]:
    """The first batches, up to a few more bytes than the limit, and whether they are all."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size > limit:
            return held, False
    return held, True
