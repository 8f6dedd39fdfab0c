"""The transactional producer's steps and errors (KIP-98, KIP-360, KIP-447, KIP-890), without a network."""

from __future__ import annotations

import pytest

from oncelog.client.core.client_errors import AbortableTransactionError, IllegalStateError, ProducerFenced
from oncelog.client.core.connection.error_rules import ErrorAction, Step, action_for
from oncelog.client.core.connection.wire import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    FIND_COORDINATOR,
    INIT_PRODUCER_ID,
    PRODUCE,
    TXN_OFFSET_COMMIT,
)
from oncelog.client.core.structs import ConsumerGroupMetadata, OffsetAndMetadata
from oncelog.client.core.transactions.coordinator_requests import Result
from oncelog.client.core.transactions.transaction_states import (
    HINTS,
    MAY_FOLLOW,
    RULINGS,
    Call,
    CallRule,
    ClientTxnState,
)
from oncelog.errors import Error
from oncelog.protocol.generated.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from oncelog.protocol.generated.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from oncelog.protocol.generated.end_txn_response import EndTxnResponse
from oncelog.protocol.generated.init_producer_id_response import InitProducerIdResponse
from oncelog.protocol.generated.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from oncelog.types import ProducerIdAndEpoch
from tests.unit.client.core.producers import P0, TOPIC, ProducerCore, coordinator, refuse, sequence, stored
from tests.unit.client.core.wires import FakeWire


def v2() -> ProducerCore:
    return ProducerCore(FakeWire(2), transactional_id="x").start()


def v1() -> ProducerCore:
    return ProducerCore(FakeWire(1), transactional_id="x").start()


def added(error: Error = Error.NONE) -> AddPartitionsToTxnResponse:
    results = [AddPartitionsToTxnPartitionResult(0, error)]
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=[AddPartitionsToTxnTopicResult(TOPIC, results)])


def error_of(result: Result) -> Error:
    assert result.value is not None
    return result.value.error


def test_the_tables_have_an_entry_for_every_call_state_and_error() -> None:
    assert set(RULINGS) == set(Call)
    for call, row in RULINGS.items():
        assert set(row) == set(ClientTxnState), call
    assert set(MAY_FOLLOW) == set(ClientTxnState) == set(HINTS)
    for step in Step:
        for error in Error:
            assert isinstance(action_for(step, error), ErrorAction)


def test_a_fatal_error_of_a_producer_stays_fatal() -> None:
    for row in RULINGS.values():
        assert row[ClientTxnState.FATAL_ERROR] is CallRule.RAISE
    for target, sources in MAY_FOLLOW.items():
        assert (ClientTxnState.FATAL_ERROR in sources) == (target is ClientTxnState.FATAL_ERROR)


@pytest.mark.parametrize(
    ("step", "error", "action"),
    [
        (Step.PRODUCE_TRANSACTIONAL, Error.INVALID_PRODUCER_EPOCH, ErrorAction.ABORTABLE),
        (Step.PRODUCE_TRANSACTIONAL, Error.PRODUCER_FENCED, ErrorAction.FENCED),
        (Step.PRODUCE_TRANSACTIONAL, Error.INVALID_TXN_STATE, ErrorAction.ABORTABLE),
        (Step.PRODUCE_TRANSACTIONAL, Error.TRANSACTION_ABORTABLE, ErrorAction.ABORTABLE),
        (Step.PRODUCE_TRANSACTIONAL, Error.NOT_ENOUGH_REPLICAS, ErrorAction.RETRY),
        (Step.PRODUCE_IDEMPOTENT, Error.INVALID_PRODUCER_EPOCH, ErrorAction.FAIL),
        (Step.PRODUCE_IDEMPOTENT, Error.CLUSTER_AUTHORIZATION_FAILED, ErrorAction.FATAL),
        (Step.INIT_PRODUCER_ID, Error.INVALID_PRODUCER_EPOCH, ErrorAction.FENCED),
        (Step.ADD_PARTITIONS, Error.INVALID_PRODUCER_EPOCH, ErrorAction.FENCED),
        (Step.ADD_PARTITIONS, Error.OPERATION_NOT_ATTEMPTED, ErrorAction.ABORTABLE),
        (Step.TXN_OFFSET_COMMIT, Error.INVALID_PRODUCER_EPOCH, ErrorAction.FENCED),
        (Step.TXN_OFFSET_COMMIT, Error.FENCED_INSTANCE_ID, ErrorAction.ABORTABLE),
        (Step.TXN_OFFSET_COMMIT, Error.ILLEGAL_GENERATION, ErrorAction.ABORTABLE),
        (Step.TXN_OFFSET_COMMIT, Error.UNKNOWN_MEMBER_ID, ErrorAction.ABORTABLE),
        (Step.END_TXN, Error.INVALID_TXN_STATE, ErrorAction.FATAL),
        (Step.END_TXN, Error.INVALID_PRODUCER_ID_MAPPING, ErrorAction.FATAL),
        (Step.END_TXN, Error.CONCURRENT_TRANSACTIONS, ErrorAction.RETRY),
        (Step.END_TXN, Error.NOT_COORDINATOR, ErrorAction.FIND_COORDINATOR),
        (Step.END_TXN, Error.COORDINATOR_LOAD_IN_PROGRESS, ErrorAction.RETRY),
        (Step.END_TXN, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ErrorAction.FATAL),
    ],
)
def test_each_error_has_the_effect_that_kafkas_table_says(step: Step, error: Error, action: ErrorAction) -> None:
    assert action_for(step, error) is action


def test_at_transaction_version_2_a_producer_adds_no_partitions_and_adopts_the_next_epoch() -> None:
    core = v2()
    core.txn.begin()
    core.send(b"v")
    sent = core.produced()
    assert sent.version == 12
    assert sequence(sent) == (7, 0, 0)
    result = core.txn.commit()
    assert core.wire.count(END_TXN) == 0, "a commit waits for the batches"
    stored(sent)
    end = core.wire.take(END_TXN)
    assert (end.version, end.message.committed, end.message.producer_epoch) == (5, True, 0)
    end.answer(EndTxnResponse(producer_id=7, producer_epoch=1))
    assert result.value is None
    core.txn.begin()
    core.send(b"v")
    assert sequence(core.produced()) == (7, 1, 0)
    assert core.wire.count(ADD_PARTITIONS_TO_TXN) == 0


def test_at_transaction_version_1_a_producer_adds_partitions_first_and_continues_its_sequences() -> None:
    core = v1()
    for round_ in range(2):
        core.txn.begin()
        core.send(b"v")
        assert core.wire.count(PRODUCE) == 0
        core.wire.take(ADD_PARTITIONS_TO_TXN).answer(added())
        sent = core.produced()
        assert (sent.version, sequence(sent)) == (11, (7, 0, round_))
        stored(sent)
        result = core.txn.commit()
        end = core.wire.take(END_TXN)
        assert end.version == 4
        end.answer(EndTxnResponse())
        assert result.value is None


def test_an_empty_transaction_ends_without_a_request() -> None:
    core = v2()
    core.txn.begin()
    assert core.txn.commit().value is None
    core.txn.begin()
    assert core.txn.abort().value is None
    assert core.wire.count(END_TXN) == 0


def test_end_txn_whose_answer_is_lost_is_repeated_with_the_same_epoch_until_it_is_answered() -> None:
    core = v2()
    core.txn.begin()
    core.send(b"v")
    stored(core.produced())
    result = core.txn.commit()
    for _ in range(3):
        end = core.wire.take(END_TXN)
        assert (end.message.producer_id, end.message.producer_epoch, end.message.committed) == (7, 0, True)
        end.lose()
        core.wire.pass_time(2000)
        core.wire.take(FIND_COORDINATOR).answer(coordinator("x"))
    assert not result.done
    assert core.txn.commit() is result
    with pytest.raises(IllegalStateError, match="repeat commit_transaction"):
        core.txn.abort()
    core.wire.take(END_TXN).answer(EndTxnResponse(producer_id=7, producer_epoch=1))
    assert result.value is None


def test_an_abort_drops_unsent_batches_and_waits_for_sent_batches() -> None:
    core = v2()
    core.txn.begin()
    core.send(b"sent")
    sent = core.produced()
    core.append(b"queued")
    result = core.txn.abort()
    assert [outcome.handles for outcome in core.outcomes] == [(b"queued",)]
    assert core.wire.count(END_TXN) == 0
    stored(sent)
    end = core.wire.take(END_TXN)
    assert end.message.committed is False
    end.answer(EndTxnResponse(producer_id=7, producer_epoch=1))
    assert result.value is None


def test_after_a_failed_record_only_an_abort_is_possible() -> None:
    core = v2()
    core.txn.begin()
    core.send(b"v")
    refuse(core.produced(), Error.INVALID_RECORD)
    for call in (core.txn.check_send, core.txn.commit, core.txn.begin):
        with pytest.raises(AbortableTransactionError, match="abort_transaction"):
            call()
    result = core.txn.abort()
    core.wire.take(END_TXN).answer(EndTxnResponse(producer_id=7, producer_epoch=1))
    assert result.value is None
    core.txn.begin()


def test_an_abort_does_not_wait_for_a_batch_behind_the_failed_batch() -> None:
    core = v2()
    core.txn.begin()
    core.meet()
    core.send(b"fails")
    core.send(b"behind it")
    first, second = core.produced(), core.produced()
    refuse(first, Error.INVALID_RECORD)
    result = core.txn.abort()
    refuse(second, Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
    end = core.wire.take(END_TXN)
    assert end.message.committed is False
    end.answer(EndTxnResponse(producer_id=7, producer_epoch=1))
    assert result.value is None


def test_at_transaction_version_1_a_producer_gets_a_new_epoch_after_a_failed_transaction() -> None:
    core = v1()
    core.txn.begin()
    core.send(b"v")
    core.wire.take(ADD_PARTITIONS_TO_TXN).answer(added())
    refuse(core.produced(), Error.INVALID_RECORD)
    result = core.txn.abort()
    core.wire.take(END_TXN).answer(EndTxnResponse())
    assert not result.done
    asked = core.wire.take(INIT_PRODUCER_ID)
    assert (asked.message.producer_id, asked.message.producer_epoch) == (7, 0)
    asked.answer(InitProducerIdResponse(producer_id=7, producer_epoch=1))
    assert result.value is None
    core.txn.begin()
    core.send(b"v")
    core.wire.take(ADD_PARTITIONS_TO_TXN).answer(added())
    assert sequence(core.produced()) == (7, 1, 0)


def test_at_transaction_version_1_a_record_that_fails_during_an_abort_leads_to_a_new_epoch() -> None:
    """Its sequence is missing in the log: every later batch would be out of order until delivery.timeout.ms."""
    core = v1()
    core.txn.begin()
    core.send(b"first")
    core.wire.take(ADD_PARTITIONS_TO_TXN).answer(added())
    stored(core.produced())
    core.send(b"too large")
    result = core.txn.abort()
    refuse(core.produced(), Error.MESSAGE_TOO_LARGE)
    core.wire.take(END_TXN).answer(EndTxnResponse())
    core.wire.take(INIT_PRODUCER_ID).answer(InitProducerIdResponse(producer_id=7, producer_epoch=1))
    assert result.value is None
    core.txn.begin()
    core.send(b"next")
    core.wire.take(ADD_PARTITIONS_TO_TXN).answer(added())
    assert sequence(core.produced()) == (7, 1, 0)


def test_every_call_of_a_fenced_producer_raises_the_error() -> None:
    core = v2()
    core.txn.begin()
    core.send(b"v")
    stored(core.produced())
    core.append(b"queued")
    result = core.txn.commit()
    core.poll()
    stored(core.produced())
    core.wire.take(END_TXN).answer(EndTxnResponse(error_code=Error.PRODUCER_FENCED))
    assert isinstance(result.value, ProducerFenced)
    for call in (core.txn.begin, core.txn.check_send, core.txn.commit, core.txn.abort, core.txn.initialize):
        with pytest.raises(ProducerFenced, match="'x'"):
            call()


def test_concurrent_transactions_is_retried_every_20_ms() -> None:
    core = v1()
    core.txn.begin()
    core.send(b"v")
    core.wire.take(ADD_PARTITIONS_TO_TXN).answer(added(Error.CONCURRENT_TRANSACTIONS))
    core.wire.pass_time(19)
    assert core.wire.count(ADD_PARTITIONS_TO_TXN) == 0
    core.wire.pass_time(1)
    assert core.wire.count(ADD_PARTITIONS_TO_TXN) == 1


@pytest.mark.parametrize("make", [v1, v2])
def test_offsets_are_committed_at_the_groups_coordinator(make: object) -> None:
    core = v1() if make is v1 else v2()
    core.txn.begin()
    group = ConsumerGroupMetadata("g", 3, "member", "instance")
    result = core.txn.send_offsets({P0: OffsetAndMetadata(5, "note")}, group)
    if make is v1:
        core.wire.take(ADD_OFFSETS_TO_TXN).answer(AddOffsetsToTxnResponse())
    else:
        assert core.wire.count(ADD_OFFSETS_TO_TXN) == 0
    asked = core.wire.take(FIND_COORDINATOR)
    assert asked.message.coordinator_keys == ["g"]
    asked.answer(coordinator("g", 1))
    commit = core.wire.take(TXN_OFFSET_COMMIT)
    assert (commit.node, commit.version) == (1, 4 if make is v1 else 5)
    message = commit.message
    assert (message.generation_id_or_member_epoch, message.member_id, message.group_instance_id) == (
        3,
        "member",
        "instance",
    )
    taken = [TxnOffsetCommitResponseTopic(TOPIC, partitions=[TxnOffsetCommitResponsePartition(0, 0)])]
    commit.answer(TxnOffsetCommitResponse(topics=taken))
    assert result.value is None
    end = core.txn.commit()
    core.wire.take(END_TXN).answer(EndTxnResponse(producer_id=7, producer_epoch=1))
    assert end.value is None


def test_an_offset_commit_of_a_stale_member_fails_with_an_abortable_error() -> None:
    core = v2()
    core.txn.begin()
    result = core.txn.send_offsets({P0: OffsetAndMetadata(5)}, ConsumerGroupMetadata("g", 3, "m"))
    core.wire.take(FIND_COORDINATOR).answer(coordinator("g", 1))
    refused = [
        TxnOffsetCommitResponseTopic(TOPIC, partitions=[TxnOffsetCommitResponsePartition(0, Error.ILLEGAL_GENERATION)]),
    ]
    core.wire.take(TXN_OFFSET_COMMIT).answer(TxnOffsetCommitResponse(topics=refused))
    assert error_of(result) is Error.ILLEGAL_GENERATION
    assert core.txn.state is ClientTxnState.ABORTABLE_ERROR


@pytest.mark.parametrize(
    "error", [Error.ILLEGAL_GENERATION, Error.GROUP_AUTHORIZATION_FAILED, Error.NOT_COORDINATOR, Error.NONE]
)
def test_an_offset_commit_in_progress_does_not_block_an_abort(error: Error) -> None:
    core = v2()
    core.txn.begin()
    offsets = core.txn.send_offsets({P0: OffsetAndMetadata(5)}, ConsumerGroupMetadata("g", 3, "m"))
    core.wire.take(FIND_COORDINATOR).answer(coordinator("g", 1))
    result = core.txn.abort()
    answer = [TxnOffsetCommitResponseTopic(TOPIC, partitions=[TxnOffsetCommitResponsePartition(0, error)])]
    core.wire.take(TXN_OFFSET_COMMIT).answer(TxnOffsetCommitResponse(topics=answer))
    assert offsets.done
    assert (offsets.value is None) == (error is Error.NONE)
    core.wire.take(END_TXN).answer(EndTxnResponse(producer_id=7, producer_epoch=1))
    assert result.value is None
    core.txn.begin()


@pytest.mark.parametrize("error", [Error.NONE, Error.NOT_COORDINATOR, Error.GROUP_AUTHORIZATION_FAILED])
def test_an_offset_commit_in_progress_is_reported_if_the_producer_fails_meanwhile(error: Error) -> None:
    """Otherwise the sender waits for max.block.ms, and is told to call again."""
    core = v2()
    core.txn.begin()
    core.send(b"v")
    offsets = core.txn.send_offsets({P0: OffsetAndMetadata(5)}, ConsumerGroupMetadata("g", 3, "m"))
    core.wire.take(FIND_COORDINATOR).answer(coordinator("g", 1))
    commit = core.wire.take(TXN_OFFSET_COMMIT)
    refuse(core.produced(), Error.PRODUCER_FENCED)
    assert core.txn.state is ClientTxnState.FATAL_ERROR
    commit.answer(
        TxnOffsetCommitResponse(
            0, [TxnOffsetCommitResponseTopic(TOPIC, partitions=[TxnOffsetCommitResponsePartition(0, error)])]
        )
    )
    assert error_of(offsets) is Error.PRODUCER_FENCED


def test_init_producer_id_is_repeated_while_the_last_transaction_ends() -> None:
    core = ProducerCore(FakeWire(2), transactional_id="x")
    result = core.txn.initialize()
    core.wire.take(FIND_COORDINATOR).answer(coordinator("x"))
    core.wire.take(INIT_PRODUCER_ID).answer(InitProducerIdResponse(error_code=Error.CONCURRENT_TRANSACTIONS))
    core.wire.pass_time(100)
    core.wire.take(INIT_PRODUCER_ID).answer(InitProducerIdResponse(producer_id=3, producer_epoch=4))
    assert result.value is None
    assert core.txn.producer == ProducerIdAndEpoch(3, 4)


def test_init_producer_id_may_be_repeated_after_a_refusal() -> None:
    core = ProducerCore(FakeWire(2), transactional_id="x")
    result = core.txn.initialize()
    core.wire.take(FIND_COORDINATOR).answer(coordinator("x"))
    core.wire.take(INIT_PRODUCER_ID).answer(InitProducerIdResponse(error_code=Error.INVALID_TRANSACTION_TIMEOUT))
    assert error_of(result) is Error.INVALID_TRANSACTION_TIMEOUT
    again = core.txn.initialize()
    core.wire.take(INIT_PRODUCER_ID).answer(InitProducerIdResponse(producer_id=3, producer_epoch=0))
    assert again.value is None


def test_an_upgrade_to_transaction_version_2_takes_effect_after_the_open_transaction() -> None:
    core = v1()
    core.wire.level = 2
    core.txn.begin()
    core.send(b"v")
    core.wire.take(ADD_PARTITIONS_TO_TXN).answer(added())
    sent = core.produced()
    assert sent.version == 11
    stored(sent)
    result = core.txn.commit()
    end = core.wire.take(END_TXN)
    assert end.version == 4
    end.answer(EndTxnResponse())
    core.wire.take(INIT_PRODUCER_ID).answer(InitProducerIdResponse(producer_id=7, producer_epoch=1))
    assert result.value is None
    core.txn.begin()
    core.send(b"v")
    sent = core.produced()
    assert (sent.version, sequence(sent)) == (12, (7, 1, 0))
