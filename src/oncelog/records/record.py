"""One record in Python, and the arithmetic of sequence numbers.

Used by the compiled and the pure record codec, so it is below both; callers import it from
:mod:`oncelog.records.batch`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from oncelog.types import MAX_SEQUENCE, NO_SEQUENCE

Header = tuple[str, bytes | None]
Headers = Sequence[Header]


class Record(NamedTuple):
    """A record with its absolute offset and its timestamp in ms.

    ``sequence`` is -1 for records of a non-idempotent producer. A header key that is not UTF-8 is read with
    replacement characters, as in Java.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    sequence: int = NO_SEQUENCE


def increment_sequence(sequence: int, increment: int) -> int:
    """The sequence ``increment`` records later; 2147483647 is followed by 0 (``DefaultRecordBatch``)."""
    return (sequence + increment) & MAX_SEQUENCE


def decrement_sequence(sequence: int, decrement: int) -> int:
    """The sequence ``decrement`` records earlier; 0 is preceded by 2147483647 (``DefaultRecordBatch``)."""
    return (sequence - decrement) & MAX_SEQUENCE
