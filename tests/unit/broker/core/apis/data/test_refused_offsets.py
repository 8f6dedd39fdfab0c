"""A TxnOffsetCommit that is refused after its transaction was verified leaves nothing behind."""

from __future__ import annotations

from oncelog.errors import Error
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.unit.broker.core.conftest import NOW_MS, Admin


def commit(producer_id: int, epoch: int, member_id: str) -> TxnOffsetCommitRequest:
    partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    return TxnOffsetCommitRequest(
        transactional_id="txn",
        group_id="group",
        producer_id=producer_id,
        producer_epoch=epoch,
        generation_id_or_member_epoch=7 if member_id else -1,
        member_id=member_id,
        topics=[TxnOffsetCommitRequestTopic(name="t", partitions=[partition])],
    )


def test_a_verification_guard_does_not_outlive_its_transaction() -> None:
    admin = Admin()
    admin.broker.topics.create("t", 1, {}, NOW_MS)
    for key_type in (0, 1):
        admin.ask(FindCoordinatorRequest(key_type=key_type, coordinator_keys=["txn"]), 4)
    begun = admin.ask(InitProducerIdRequest(transactional_id="txn", transaction_timeout_ms=60_000), 4)
    assert begun.error_code == Error.NONE
    refused = admin.ask(commit(begun.producer_id, begun.producer_epoch, "nobody"), 5)
    assert refused.topics[0].partitions[0].error_code == Error.ILLEGAL_GENERATION
    ended = admin.ask(EndTxnRequest("txn", begun.producer_id, begun.producer_epoch, False), 5)
    assert ended.error_code == Error.NONE
    taken = admin.ask(commit(ended.producer_id, ended.producer_epoch, ""), 5)
    assert taken.topics[0].partitions[0].error_code == Error.NONE
    admin.broker.stop(NOW_MS)
