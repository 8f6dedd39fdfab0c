"""What may be expected of a partition: its topic's settings, and limits of its broker."""

from __future__ import annotations

from dataclasses import dataclass

from oncelog.types import INTERNAL_TOPICS, TopicPartition

PRODUCER_EXPIRATION_MS = 86_400_000
TRANSACTION_LIMIT_MS = 900_000


@dataclass(frozen=True)
class Expected:
    """Kafka's defaults, unless something else is given."""

    compacted: bool = False
    """Whether compaction may have removed records."""
    clean_to: int = 0
    """Below it the cleaner has been everywhere; 0 if only the gaps that it left show that."""
    unclean_elections: bool = False
    log_start: int = 0
    producer_expiration_ms: int = PRODUCER_EXPIRATION_MS
    transaction_limit_ms: int = TRANSACTION_LIMIT_MS
    """Nothing may be open for longer, whatever its own timeout is."""

    now_ms: int = 2**63 - 1
    """The time after which no record was appended, whatever timestamps producers set."""

    @staticmethod
    def is_internal(where: TopicPartition) -> bool:
        """Whether coordinators write there, whose batches have no sequence numbers."""
        return where.topic in INTERNAL_TOPICS
