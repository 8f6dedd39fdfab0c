"""Integers that Spark's hash partitioning assigns to given tasks. Called by :mod:`oncelog.spark.executors.shuffle`.

``DataFrame.repartitionById`` would not need them, but exists only from Spark 4.1 on, and using it there would be a
second code path to test. If a later Spark hashed otherwise, writers would share the partitions less evenly, and each
partition would still have one writer.
"""

from __future__ import annotations

_SEED = 42


def keys_of_ranks(ranks: int) -> tuple[int, ...]:
    """For each task of ``repartition(ranks, column)``, an integer whose rows go to this task."""
    found: dict[int, int] = {}
    candidate = 0
    while len(found) < ranks:
        found.setdefault(hash_of(candidate) % ranks, candidate)
        candidate += 1
    return tuple(found[rank] for rank in range(ranks))


def hash_of(value: int) -> int:
    """Spark's ``hash(value)`` of a column of type int that is not negative: Murmur3, 32 bits, signed."""
    mixed = _rotated(value * 0xCC9E2D51, 15) * 0x1B873593 & 0xFFFFFFFF
    state = _rotated(_SEED ^ mixed, 13) * 5 + 0xE6546B64 & 0xFFFFFFFF
    state ^= 4  # Murmur3 mixes in the key's length, 4 bytes
    state = (state ^ state >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    state = (state ^ state >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def _rotated(value: int, bits: int) -> int:
    value &= 0xFFFFFFFF
    return (value << bits | value >> 32 - bits) & 0xFFFFFFFF
