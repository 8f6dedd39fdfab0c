"""What a request is about, for the faults that are restricted to it."""

from __future__ import annotations

from oncelog.broker.faults.targets import target_of
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

ID = bytes(range(16))


def test_offsets_of_a_transaction_concern_the_topic_whose_id_they_name() -> None:
    """KIP-1319: version 6 names topics by id only."""
    partitions = [TxnOffsetCommitRequestPartition(3, 5)]
    by_id = TxnOffsetCommitRequest("x", "g", 1, 0, topics=[TxnOffsetCommitRequestTopic("", ID, partitions)])
    by_name = TxnOffsetCommitRequest("x", "g", 1, 0, topics=[TxnOffsetCommitRequestTopic("t", partitions=partitions)])
    for request in by_id, by_name:
        found = target_of(ApiKey.TXN_OFFSET_COMMIT, request, {ID: "t"}.__getitem__)
        assert list(found.topics) == [("t", 3)]
