"""Events for a transactional id: requests, and the coordinator's own events.

Created by ``transaction_coordinator`` and ``shard``, handled by ``rules``. Source: KIP-98, KIP-360, KIP-890, KIP-939.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from oncelog.types import NO_PRODUCER, NO_PRODUCER_ID, ProducerIdAndEpoch, TopicPartition

EPOCH_BUMP_VERSION: Final = 2
"""From this transaction.version on, every end of a transaction bumps the epoch (KIP-890 part 2)."""


@dataclass(frozen=True, slots=True)
class InitProducerId:
    """A producer starts, or continues after an error with its previous producer id and epoch (``expected``, KIP-360).

    ``transaction_version`` is the broker's level; ``fresh_producer_id`` is filled in once a rule has asked for it.
    ``keep_prepared``: an open transaction stays, and only its end may follow (KIP-939).
    """

    transactional_id: str
    timeout_ms: int
    expected: ProducerIdAndEpoch = NO_PRODUCER
    transaction_version: int = EPOCH_BUMP_VERSION
    fresh_producer_id: int = NO_PRODUCER_ID
    keep_prepared: bool = False


@dataclass(frozen=True, slots=True)
class AddPartitions:
    """A client, or a partition's leader on its behalf, adds partitions; the version is the client's."""

    producer: ProducerIdAndEpoch
    partitions: frozenset[TopicPartition]
    transaction_version: int = 0


@dataclass(frozen=True, slots=True)
class VerifyPartitions:
    """A partition's leader asks whether partitions are in the transaction (KIP-890 part 1)."""

    producer: ProducerIdAndEpoch
    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class EndTxn:
    """EndTxn versions 0-4: the epoch stays."""

    producer: ProducerIdAndEpoch
    commit: bool


@dataclass(frozen=True, slots=True)
class EndTxnAndBump:
    """EndTxn version 5 (KIP-890 part 2): the answer carries the producer id and epoch of the next transaction."""

    producer: ProducerIdAndEpoch
    commit: bool
    fresh_producer_id: int = NO_PRODUCER_ID


@dataclass(frozen=True, slots=True)
class Timeout:
    """The sweep for transactions past their timeout has reached the id."""

    transaction_version: int = EPOCH_BUMP_VERSION
    fresh_producer_id: int = NO_PRODUCER_ID


@dataclass(frozen=True, slots=True)
class MarkersWritten:
    """The last partition of the transaction has got its marker."""


@dataclass(frozen=True, slots=True)
class Expire:
    """The sweep for idle ids has reached the id."""

    idle_ms: int


@dataclass(frozen=True, slots=True)
class ForgetProducer:
    """Partitions hold more of the producer than the coordinator knows: a power failure lost the coordinator's last
    records."""


Event = (
    InitProducerId
    | AddPartitions
    | VerifyPartitions
    | EndTxn
    | EndTxnAndBump
    | Timeout
    | MarkersWritten
    | Expire
    | ForgetProducer
)
