"""What a checker excuses, and nothing more; the mutants show that checkers find what they should."""

from __future__ import annotations

import pytest

from oncelog.broker.log.producers.producer_state import ProducerStateManager
from oncelog.records.batch import iter_headers
from oncelog.types import TopicPartition
from tests.simulation.checkers import breaches, clients
from tests.simulation.forgotten import noted_expiry
from tests.simulation.history import History, Sent, Transaction
from tests.unit.broker.log.batches import batch

WHERE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)
STORED_AT, AGAIN_AT, PRODUCER_ID = 21, 26, 7


def _history(*forgotten: tuple[TopicPartition, int, int], transaction: int | None = None) -> History:
    """A record that one producer stored twice."""
    return History(
        transactions={} if transaction is None else {transaction: Transaction(transaction, "plain.1")},
        sent=[Sent(b"a", WHERE, "plain.1", transaction, 0)],
        uncommitted={WHERE: [(STORED_AT, b"a"), (22, b"b"), (AGAIN_AT, b"a")]},
        producers=[(b"a", PRODUCER_ID), (b"b", PRODUCER_ID), (b"a", PRODUCER_ID)],
        forgotten=list(forgotten),
    )


@pytest.mark.parametrize("end_offset", [STORED_AT + 1, AGAIN_AT])
def test_a_record_may_be_stored_twice_if_its_producer_was_forgotten_in_between(end_offset: int) -> None:
    assert list(clients.breaches(_history((WHERE, PRODUCER_ID, end_offset)))) == []


@pytest.mark.parametrize(
    "history",
    [
        _history(),
        _history((WHERE, PRODUCER_ID, STORED_AT)),
        _history((WHERE, PRODUCER_ID, AGAIN_AT + 1)),
        _history((WHERE, PRODUCER_ID + 1, AGAIN_AT)),
        _history((OTHER, PRODUCER_ID, AGAIN_AT)),
        _history((WHERE, PRODUCER_ID, AGAIN_AT), transaction=1),
    ],
    ids=["never", "before", "after", "another", "elsewhere", "in a transaction"],
)
def test_a_record_is_not_stored_again_while_its_producer_is_known(history: History) -> None:
    assert [str(breach) for breach in clients.breaches(history, waived=("torn",))] == [
        f"doubled: b'a' was sent 1 times and is stored at offset {STORED_AT} of t-0, offset {AGAIN_AT} of t-0"
    ]


def test_a_producer_forgotten_too_early_is_reported() -> None:
    history = History()
    ((_, header),) = iter_headers(batch(pid=PRODUCER_ID, seq=0, timestamp=5000))
    for expiration_ms in (1000, 2000):
        state = ProducerStateManager(WHERE, expiration_ms)
        state.apply_data(header, STORED_AT)
        with noted_expiry(history, 2000):
            state.expire(5000 + expiration_ms)
        assert PRODUCER_ID not in state.entries
    assert history.forgotten == [(WHERE, PRODUCER_ID, STORED_AT + 1)]


def test_torn_transactions_in_logs_are_reported_unless_the_scene_waives_them() -> None:
    history = History()
    history.log_findings = ["torn-transaction at 20 of t-1", "bad-crc at 3 of t-0"]
    assert breaches(history) == [f"logs_verified: {finding}" for finding in history.log_findings]
    assert breaches(history, ("torn-transaction",)) == ["logs_verified: bad-crc at 3 of t-0"]
