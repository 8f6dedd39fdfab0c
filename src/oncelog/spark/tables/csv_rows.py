"""Arrow batches as PostgreSQL's CSV: an empty field is NULL, an empty text is in quotes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def csv_of(batch: pa.RecordBatch, *numbers: int) -> bytes:
    """The rows; each with ``numbers`` behind its columns."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    columns = []
    for column in batch.columns:
        kind = column.type
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            hexed = [None if value is None else "\\x" + value.hex() for value in column.to_pylist()]
            column = pa.array(hexed, pa.string())
        elif pa.types.is_timestamp(kind) and kind.tz is not None:
            column = pc.cast(column.cast(pa.timestamp("us", "UTC")), pa.string())
        elif pa.types.is_decimal(kind) or pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            column = pc.cast(column, pa.string())
        columns.append(column)
    columns += [pa.array([number] * batch.num_rows, pa.int64()) for number in numbers]
    table = pa.Table.from_arrays(columns, names=[str(number) for number in range(len(columns))])
    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink, csv.WriteOptions(include_header=False, quoting_style="all_valid"))
    return bytes(sink.getvalue())
