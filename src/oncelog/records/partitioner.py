"""Which partition a key belongs to, computed as in Kafka's Java producer (``BuiltInPartitioner``).

Called by the producer's partitioner and the Spark sink, so that records of one key go to one partition whichever client
wrote them.
"""

from __future__ import annotations

from oncelog.records.crc import Buffer
from oncelog.records.native import murmur2

__all__ = ["murmur2", "partition_for_key"]


def partition_for_key(key: Buffer, partitions: int) -> int:
    """The partition of ``key`` among ``partitions``: murmur2 without its sign bit, modulo."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
