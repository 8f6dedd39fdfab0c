"""Which open transactions no coordinator will end, and which ids lag their producer."""

from __future__ import annotations

import pytest

from oncelog.broker.coordinator.transaction.events import ForgetProducer, InitProducerId
from oncelog.broker.coordinator.transaction.orphans import PartitionProducer, find_orphans
from oncelog.broker.coordinator.transaction.rules import decide
from oncelog.broker.coordinator.transaction.states import TransactionState, Txn
from oncelog.types import MAX_EPOCH, ProducerIdAndEpoch, TopicPartition

S = TransactionState
HERE, ELSEWHERE = TopicPartition("t", 0), TopicPartition("t", 1)


def txn(state: TransactionState, epoch: int, *, version: int = 2) -> Txn:
    """An id of producer 7; in a state within a transaction, the transaction has the partition ``HERE``."""
    inside = state in (S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT)
    partitions = frozenset({HERE} if inside else ())
    return Txn("id", 7, epoch, 60_000, state, partitions, client_transaction_version=version)


@pytest.mark.parametrize(
    ("known", "epoch", "partition", "orphan"),
    [
        (None, 5, HERE, True),
        (txn(S.ONGOING, 5), 5, HERE, False),
        (txn(S.ONGOING, 5), 5, ELSEWHERE, True),
        (txn(S.ONGOING, 6), 5, HERE, True),
        (txn(S.PREPARE_COMMIT, 6), 5, HERE, False),
        (txn(S.PREPARE_COMMIT, 6), 6, HERE, True),
        (txn(S.PREPARE_COMMIT, 7), 5, HERE, True),
        (txn(S.PREPARE_ABORT, 6, version=0), 6, HERE, False),
        (txn(S.PREPARE_ABORT, 6, version=0), 5, HERE, False),
        (txn(S.COMPLETE_COMMIT, 5), 5, HERE, True),
        (txn(S.EMPTY, 4), 5, HERE, True),
    ],
)
def test_a_transaction_is_hanging_only_if_its_coordinator_does_not_know_it(
    known: Txn | None, epoch: int, partition: TopicPartition, orphan: bool
) -> None:
    held = PartitionProducer(partition, ProducerIdAndEpoch(7, epoch), 3, open=True)
    found = find_orphans([held], [known] if known is not None else [])
    assert found.transactions == ([held] if orphan else [])
    assert found.transactional_ids == (["id"] if orphan and known is not None else [])


@pytest.mark.parametrize(("epoch", "outrun"), [(4, False), (5, False), (6, True)])
def test_a_transactional_id_is_reported_if_a_partition_has_a_newer_producer_epoch(epoch: int, outrun: bool) -> None:
    held = PartitionProducer(HERE, ProducerIdAndEpoch(7, epoch), 3, open=False)
    assert find_orphans([held], [txn(S.COMPLETE_ABORT, 5)]) == ([], ["id"] if outrun else [])


@pytest.mark.parametrize(
    ("state", "after"),
    [
        (S.EMPTY, S.EMPTY),
        (S.COMPLETE_COMMIT, S.EMPTY),
        (S.COMPLETE_ABORT, S.EMPTY),
        (S.ONGOING, S.PREPARE_ABORT),
        (S.PREPARE_COMMIT, S.COMPLETE_COMMIT),
        (S.PREPARE_ABORT, S.COMPLETE_ABORT),
    ],
)
def test_a_transactional_id_that_lost_its_state_gets_the_last_producer_epoch(
    state: TransactionState, after: TransactionState
) -> None:
    value = decide(txn(state, 5), ForgetProducer(), 1000).value
    assert value is not None
    assert (value.state, value.producer_epoch) == (after, MAX_EPOCH)
    assert value.partitions == (frozenset({HERE}) if after is S.PREPARE_ABORT else frozenset())


def test_init_producer_id_of_a_transactional_id_that_lost_its_state_returns_a_new_producer_id() -> None:
    disowned = decide(txn(S.COMPLETE_COMMIT, 5), ForgetProducer(), 1000).value
    renewed = decide(disowned, InitProducerId("id", 60_000, fresh_producer_id=8), 1001)
    assert renewed.producer == ProducerIdAndEpoch(8, 0)
