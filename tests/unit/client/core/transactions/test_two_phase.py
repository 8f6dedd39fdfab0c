"""Two-phase commit in the producer (KIP-939), without a network."""

from __future__ import annotations

from typing import Any

import pytest

from oncelog.client.core.client_errors import (
    AbortableTransactionError,
    FatalProducerError,
    IllegalStateError,
    ProducerFenced,
)
from oncelog.client.core.connection.wire import END_TXN, FIND_COORDINATOR, INIT_TWO_PHASE, PRODUCE, TXN_OFFSET_COMMIT
from oncelog.client.core.structs import ConsumerGroupMetadata, OffsetAndMetadata
from oncelog.client.core.transactions.transaction_states import ClientTxnState
from oncelog.client.core.transactions.two_phase import TwoPhaseTransactions, producer_of, token_of
from oncelog.errors import ConfigError, Error
from oncelog.protocol.generated.end_txn_response import EndTxnResponse
from oncelog.protocol.generated.init_producer_id_response import InitProducerIdResponse
from oncelog.protocol.generated.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from oncelog.types import NO_PRODUCER, ProducerIdAndEpoch
from tests.unit.client.core.producers import P0, ProducerCore, coordinator, refuse, stored
from tests.unit.client.core.wires import FakeWire


def started(
    producer: tuple[int, int] = (7, 0), ongoing: tuple[int, int] = (-1, -1), error: Error = Error.NONE
) -> tuple[ProducerCore, TwoPhaseTransactions]:
    core = ProducerCore(FakeWire(2), transactional_id="x", two_phase_commit=True)
    txn = core.txn
    assert isinstance(txn, TwoPhaseTransactions)
    txn.initialize()
    core.poll()
    core.wire.take(FIND_COORDINATOR).answer(coordinator("x"))
    core.wire.take(INIT_TWO_PHASE).answer(
        InitProducerIdResponse(
            error_code=error,
            producer_id=producer[0],
            producer_epoch=producer[1],
            ongoing_txn_producer_id=ongoing[0],
            ongoing_txn_producer_epoch=ongoing[1],
        )
    )
    return core, txn


def with_a_record() -> tuple[ProducerCore, TwoPhaseTransactions]:
    core, txn = started()
    txn.begin()
    core.send(b"v")
    return core, txn


def ended(core: ProducerCore, commit: bool, producer: tuple[int, int]) -> None:
    sent = core.wire.take(END_TXN)
    assert (sent.message.committed, sent.version) == (commit, 5)
    sent.answer(EndTxnResponse(producer_id=producer[0], producer_epoch=producer[1]))


@pytest.mark.parametrize("producer", [ProducerIdAndEpoch(0, 0), ProducerIdAndEpoch(2**63 - 1, 32767), NO_PRODUCER])
def test_a_token_is_the_text_of_kafkas_prepared_transaction_state(producer: ProducerIdAndEpoch) -> None:
    assert producer_of(token_of(producer)) == producer
    assert token_of(ProducerIdAndEpoch(42, 100)) == "42:100"
    assert token_of(NO_PRODUCER) == ""


@pytest.mark.parametrize("text", ["42", "42:", ":1", "42:-1", "42:32768", f"{2**63}:1", " 42:1", "42:1\n", "٤٢:1"])
def test_an_invalid_token_is_refused(text: str) -> None:
    with pytest.raises(TypeError, match="a token is a string"):
        producer_of(text.encode())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="is not a token of prepare"):
        producer_of(text)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"two_phase_commit": True}, "transactional.id"),
        ({"two_phase_commit": True, "transactional_id": "x", "transaction_timeout_ms": 1000}, "transaction.timeout.ms"),
    ],
)
def test_settings_that_contradict_two_phase_commit_are_refused(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        ProducerCore(**settings)


def test_a_start_for_two_phase_commit_sends_both_fields_and_no_older_version() -> None:
    core = ProducerCore(FakeWire(2), transactional_id="x", two_phase_commit=True)
    core.txn.initialize()
    core.poll()
    core.wire.take(FIND_COORDINATOR).answer(coordinator("x"))
    sent = core.wire.take(INIT_TWO_PHASE)
    assert (sent.message.enable_2pc, sent.message.keep_prepared_txn) == (True, True)
    assert INIT_TWO_PHASE.lowest == 6, "an older version would abort what is prepared"


def test_prepare_waits_for_sent_records_and_accepts_no_more() -> None:
    core, txn = with_a_record()
    result = txn.prepare()
    assert not result.done
    with pytest.raises(IllegalStateError, match=r"complete\(token\)"):
        txn.check_send()
    stored(core.produced())
    assert result.value is None
    assert (txn.state, token_of(txn.prepared)) == (ClientTxnState.PREPARED, "7:0")
    assert txn.prepare().value is None


def test_prepare_waits_for_offset_commits() -> None:
    core, txn = started()
    txn.begin()
    txn.send_offsets({P0: OffsetAndMetadata(5)}, ConsumerGroupMetadata("g"))
    core.wire.take(FIND_COORDINATOR).answer(coordinator("g"))
    result = txn.prepare()
    assert not result.done
    done = TxnOffsetCommitResponseTopic(P0.topic, partitions=[TxnOffsetCommitResponsePartition(P0.partition)])
    core.wire.take(TXN_OFFSET_COMMIT).answer(TxnOffsetCommitResponse(topics=[done]))
    assert result.value is None
    assert token_of(txn.prepared) == "7:0"


def test_prepare_fails_if_a_record_fails() -> None:
    core, txn = with_a_record()
    result = txn.prepare()
    refuse(core.produced(), Error.MESSAGE_TOO_LARGE)
    assert isinstance(result.value, AbortableTransactionError)
    assert txn.state is ClientTxnState.ABORTABLE_ERROR


def test_an_empty_transaction_has_no_token_because_the_next_one_has_the_same_epoch() -> None:
    core, txn = started()
    txn.begin()
    assert txn.prepare().value is None
    assert token_of(txn.prepared) == ""
    assert txn.complete("").value is None
    assert (txn.state, txn.producer) == (ClientTxnState.READY, (7, 0))
    assert core.wire.count(END_TXN) == 0


@pytest.mark.parametrize(("token", "commit"), [("7:0", True), ("", False), ("6:32000", False)])
def test_the_token_stored_in_the_database_decides_between_commit_and_abort(token: str, commit: bool) -> None:
    core, txn = with_a_record()
    txn.prepare()
    stored(core.produced())
    result = txn.complete(token)
    assert not result.done
    assert txn.complete(token) is result, "asked again, it is the same end"
    ended(core, commit, (7, 1))
    assert result.value is None
    assert (txn.state, txn.producer) == (ClientTxnState.READY, (7, 1))
    assert txn.complete(token).value is None, "nothing is prepared any more"


@pytest.mark.parametrize(("token", "commit"), [("42:100", True), ("42:99", False), ("", False)])
def test_a_prepared_transaction_is_found_and_completed_after_a_restart(token: str, commit: bool) -> None:
    core, txn = started((42, 103), ongoing=(42, 100))
    assert (txn.state, token_of(txn.prepared)) == (ClientTxnState.PREPARED, "42:100")
    for call in (txn.begin, txn.check_send):
        with pytest.raises(IllegalStateError, match=r"complete\(token\)"):
            call()
    txn.complete(token)
    ended(core, commit, (42, 104))
    assert (txn.state, txn.producer) == (ClientTxnState.READY, (42, 104))
    txn.begin()
    core.send(b"v")
    assert core.wire.count(PRODUCE) == 1


@pytest.mark.parametrize("token", ["42:101", "43:0"])
def test_a_token_of_another_producer_completes_no_transaction(token: str) -> None:
    core, txn = started((42, 103), ongoing=(42, 100))
    with pytest.raises(IllegalStateError, match="nothing was ended"):
        txn.complete(token)
    assert (txn.state, core.wire.count(END_TXN)) == (ClientTxnState.PREPARED, 0)


def test_an_old_token_is_ignored_without_a_prepared_transaction() -> None:
    _, txn = started((42, 103))
    assert txn.complete("42:100").value is None
    with pytest.raises(IllegalStateError, match="nothing was ended"):
        txn.complete("42:104")


def test_an_open_transaction_is_not_completed() -> None:
    _, txn = with_a_record()
    for token in ("", "7:0"):
        with pytest.raises(IllegalStateError, match="a transaction is open"):
            txn.complete(token)


def test_a_transaction_taken_over_by_another_producer_is_not_completed() -> None:
    core, txn = started((42, 103), ongoing=(42, 100))
    result = txn.complete("42:100")
    core.wire.take(END_TXN).answer(EndTxnResponse(error_code=Error.PRODUCER_FENCED))
    assert isinstance(result.value, ProducerFenced)


def test_prepare_fails_if_another_call_ends_the_transaction_meanwhile() -> None:
    core, txn = with_a_record()
    preparing = txn.prepare()
    txn.abort()
    assert isinstance(preparing.value, AbortableTransactionError)
    stored(core.produced())
    ended(core, False, (7, 1))
    assert txn.state is ClientTxnState.READY


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "transaction.two.phase.commit.enable=true on the broker"),
        (Error.UNSUPPORTED_VERSION, "this cluster cannot keep prepared transactions"),
    ],
)
def test_a_refused_start_names_the_next_step(error: Error, hint: str) -> None:
    core = ProducerCore(FakeWire(2), transactional_id="x", two_phase_commit=True)
    result = core.txn.initialize()
    core.poll()
    core.wire.take(FIND_COORDINATOR).answer(coordinator("x"))
    core.wire.take(INIT_TWO_PHASE).answer(InitProducerIdResponse(error_code=error))
    assert isinstance(result.value, FatalProducerError)
    assert hint in str(result.value)
