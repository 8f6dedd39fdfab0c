"""The expectations about a partition: its topic's settings, and limits of its broker."""

from __future__ import annotations

from dataclasses import dataclass

from oncelog.types import INTERNAL_TOPICS, TopicPartition

PRODUCER_EXPIRATION_MS = 86_400_000
TRANSACTION_LIMIT_MS = 900_000


@dataclass(frozen=True)
class Expected:
    """Kafka's defaults, unless other values are given."""

    compacted: bool = False
    """Whether compaction may have removed records."""
    clean_to: int = 0
    """The cleaner has compacted everything below this offset; 0 if that is known only from gaps in the log."""
    unclean_elections: bool = False
    log_start: int = 0
    producer_expiration_ms: int = PRODUCER_EXPIRATION_MS
    transaction_limit_ms: int = TRANSACTION_LIMIT_MS
    """The longest time that any transaction may be open, whatever its own timeout is."""

    now_ms: int = 2**63 - 1
    """No record was appended after this time, whatever timestamps producers set."""

    @staticmethod
    def is_internal(where: TopicPartition) -> bool:
        """Whether coordinators write to the partition; their batches have no sequence numbers."""
        return where.topic in INTERNAL_TOPICS
