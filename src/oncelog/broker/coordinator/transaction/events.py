"""Events for a transactional id: requests, and the coordinator's own events.

Created by ``transaction_coordinator`` and ``shard``, handled by ``rules``. Source: KIP-98, KIP-360, KIP-890, KIP-939.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from oncelog.types import NO_PRODUCER, NO_PRODUCER_ID, ProducerIdAndEpoch, TopicPartition

EPOCH_BUMP_VERSION: Final = 2
"""From this ``transaction.version`` on, the end of each transaction bumps the producer epoch (KIP-890 part 2)."""


@dataclass(frozen=True, slots=True)
class InitProducerId:
    """A producer starts, or continues after an error with its previous producer id and epoch (``expected``, KIP-360).

    ``transaction_version`` is the broker's level; ``fresh_producer_id`` is set once a rule has requested a new producer
    id. ``keep_prepared``: an open transaction is not aborted, and can then only be ended (KIP-939).
    """

    transactional_id: str
    timeout_ms: int
    expected: ProducerIdAndEpoch = NO_PRODUCER
    transaction_version: int = EPOCH_BUMP_VERSION
    fresh_producer_id: int = NO_PRODUCER_ID
    keep_prepared: bool = False


@dataclass(frozen=True, slots=True)
class AddPartitions:
    """A client, or a partition's leader on its behalf, adds partitions; ``transaction_version`` is the client's."""

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
    """EndTxn versions 0-4: the producer epoch stays the same."""

    producer: ProducerIdAndEpoch
    commit: bool


@dataclass(frozen=True, slots=True)
class EndTxnAndBump:
    """EndTxn version 5 (KIP-890 part 2): the answer contains the producer id and epoch for the next transaction."""

    producer: ProducerIdAndEpoch
    commit: bool
    fresh_producer_id: int = NO_PRODUCER_ID


@dataclass(frozen=True, slots=True)
class Timeout:
    """The periodic check for transactions past their timeout has reached the transactional id."""

    transaction_version: int = EPOCH_BUMP_VERSION
    fresh_producer_id: int = NO_PRODUCER_ID


@dataclass(frozen=True, slots=True)
class MarkersWritten:
    """All partitions of the transaction have their markers."""


@dataclass(frozen=True, slots=True)
class Expire:
    """The periodic check for idle transactional ids has reached this id; ``idle_ms`` is how long an id may be idle."""

    idle_ms: int


@dataclass(frozen=True, slots=True)
class ForgetProducer:
    """Partitions have newer data of the producer than the coordinator's state: a power failure lost the coordinator's
    last records."""


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
