"""Converts columns of integers to and from the big-endian rows of index files. Called by the index modules."""

from __future__ import annotations

import sys
from array import array
from struct import Struct, iter_unpack

_LITTLE = sys.byteorder == "little"


def pack_columns(columns: str, first: array[int], second: array[int]) -> bytes:
    """Encode rows of one value from each column; ``columns`` has the columns' type codes (``i`` 4 bytes, ``q`` 8
    bytes)."""
    if columns[0] == columns[1]:
        rows = array(columns[0], bytes(2 * len(first) * first.itemsize))
        rows[0::2], rows[1::2] = first, second
        if _LITTLE:
            rows.byteswap()
        return rows.tobytes()
    row = Struct(f">{columns}")
    return b"".join(map(row.pack, first, second))


def unpack_columns(columns: str, data: bytes) -> tuple[array[int], array[int]]:
    """Decode the two columns of the rows in ``data``, which must contain whole rows."""
    if columns[0] == columns[1]:
        rows = array(columns[0], data)
        if _LITTLE:
            rows.byteswap()
        return rows[0::2], rows[1::2]
    first, second = array(columns[0]), array(columns[1])
    for one, other in iter_unpack(f">{columns}", data):
        first.append(one)
        second.append(other)
    return first, second
