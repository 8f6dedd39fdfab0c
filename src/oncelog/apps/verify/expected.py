"""What the checks of a partition assume about it: its topic's settings, and limits of its broker."""

from __future__ import annotations

from dataclasses import dataclass

from oncelog.types import INTERNAL_TOPICS, TopicPartition

PRODUCER_EXPIRATION_MS = 86_400_000
TRANSACTION_LIMIT_MS = 900_000


@dataclass(frozen=True)
class Expected:
    """The settings and limits of one partition; Kafka's defaults, unless other values are given."""

    compacted: bool = False
    """Whether compaction may have removed records."""
    clean_to: int = 0
    """The offset up to which the cleaner is known to have compacted; 0 if only gaps in the log show that."""
    unclean_elections: bool = False
    log_start: int = 0
    producer_expiration_ms: int = PRODUCER_EXPIRATION_MS
    transaction_limit_ms: int = TRANSACTION_LIMIT_MS
    """The longest time that any transaction may be open, whatever its own timeout is, in milliseconds."""

    now_ms: int = 2**63 - 1
    """The present time; no record was appended later, whatever timestamps producers set."""

    @staticmethod
    def is_internal(where: TopicPartition) -> bool:
        """Whether the partition belongs to a topic that coordinators write; their batches have no sequence numbers."""
        return where.topic in INTERNAL_TOPICS
