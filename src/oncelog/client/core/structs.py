"""The values that users of the client see, shaped as in aiokafka 0.14 so that its users change an import.

Called by everything in the client and by the Spark source; nothing here has behaviour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from oncelog.types import TopicPartition

__all__ = [
    "Columns",
    "ConsumerGroupMetadata",
    "ConsumerRecord",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "RecordMetadata",
    "TopicPartition",
]


class RecordMetadata(NamedTuple):
    """Where a record was stored. ``offset`` is -1 where the broker did not say (``acks=0``, a repeat of a lost answer).

    ``timestamp`` in ms; ``timestamp_type`` 0 is the producer's clock, 1 the broker's.
    """

    topic: str
    partition: int
    topic_partition: TopicPartition
    offset: int
    timestamp: int | None
    timestamp_type: int
    log_start_offset: int | None


class ConsumerRecord(NamedTuple):
    """One record read. Sizes are those before deserialization, -1 for null; ``checksum`` is always None (format v2)."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: Any
    value: Any
    checksum: int | None
    serialized_key_size: int
    serialized_value_size: int
    headers: Sequence[tuple[str, bytes | None]]


class Columns(NamedTuple):
    """Records of one partition as columns: the n-th of each list belong together. Timestamps are in ms."""

    offsets: list[int]
    timestamps: list[int]
    keys: list[bytes | None]
    values: list[bytes | None]
    headers: list[tuple[tuple[str, bytes | None], ...]]


class OffsetAndMetadata(NamedTuple):
    """A committed position: the next offset to read, and a text stored with it."""

    offset: int
    metadata: str = ""
    leader_epoch: int = -1


class OffsetAndTimestamp(NamedTuple):
    """Answer of ``offsets_for_times``: the first record that is not older than the time asked for."""

    offset: int
    timestamp: int | None


class ConsumerGroupMetadata(NamedTuple):
    """Who commits offsets, so that a transaction of a zombie member is refused (KIP-447)."""

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
