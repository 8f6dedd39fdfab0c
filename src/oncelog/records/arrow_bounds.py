"""Upper bounds on the row sizes of Arrow columns, from their offsets alone, without reading rows.

Called by the clients' ``send_arrow``. Like ``arrow`` it needs pyarrow and numpy, which are extras.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_MAX_HEADER_OVERHEAD_BYTES = 10
_NO_ROWS: npt.NDArray[np.int32] = np.zeros(1, np.int32)


def is_view(kind: pa.DataType) -> bool:
    """Whether the type is a binary or string view, whose rows refer to shared bytes. Its name is compared, because
    pyarrow before 16 has neither these types nor functions that test for them."""
    return str(kind) in ("binary_view", "string_view")


def longest_bytes(column: pa.Array | pa.ChunkedArray) -> int | None:
    """An upper bound on the bytes of each row of a binary or string column; None if its layout gives none."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    kind = column.type
    if pa.types.is_null(kind):
        return 0
    if pa.types.is_fixed_size_binary(kind):
        return int(kind.byte_width)
    if pa.types.is_dictionary(kind):
        words = [longest_bytes(chunk.dictionary) for chunk in chunks]
        return None if None in words else max((word or 0 for word in words), default=0)
    if is_view(kind):
        return max(map(_longest_view_bytes, chunks), default=0)
    wide = pa.types.is_large_binary(kind) or pa.types.is_large_string(kind)
    if not (wide or pa.types.is_binary(kind) or pa.types.is_string(kind)):
        return None
    number: type[np.signedinteger[Any]] = np.int64 if wide else np.int32
    longest = 0
    for chunk in chunks:
        offsets = chunk.buffers()[1]
        if len(chunk) and offsets is not None:
            ends = np.frombuffer(offsets, number, len(chunk) + 1, chunk.offset * np.dtype(number).itemsize)
            longest = max(longest, int(np.diff(ends).max()))
    return longest


def _longest_view_bytes(chunk: pa.Array) -> int:
    """The length of the longest row of a view column. Each row has a view of 16 bytes, of which the first four are the
    length."""
    if not len(chunk):
        return 0
    views = np.frombuffer(chunk.buffers()[1], np.int32, len(chunk) * 4, chunk.offset * 16)
    return int(views[::4].max(initial=0))


def longest_headers_bytes(column: pa.Array | pa.ChunkedArray) -> int | None:
    """An upper bound on the bytes of each row's headers in a record; None if the layout gives none."""
    longest = 0
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        if not pa.types.is_list(chunk.type) or not pa.types.is_struct(chunk.type.value_type):
            return None
        fields = [longest_bytes(chunk.values.field(n)) for n in range(chunk.type.value_type.num_fields)]
        if None in fields:
            return None
        ends = np.frombuffer(chunk.buffers()[1], np.int32, len(chunk) + 1, chunk.offset * 4) if len(chunk) else _NO_ROWS
        items = int(np.diff(ends).max(initial=0))
        longest = max(longest, items * (sum(field or 0 for field in fields) + _MAX_HEADER_OVERHEAD_BYTES))
    return longest


__all__ = ["is_view", "longest_bytes", "longest_headers_bytes"]
