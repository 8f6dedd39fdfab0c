"""What a request is about, for the faults that are restricted to it."""

from __future__ import annotations

from oncelog.broker.faults.targets import target_of
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated import describe_share_group_offsets_request, share_acknowledge_request
from oncelog.protocol.generated.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

ID = bytes(range(16))


def test_faults_of_a_topic_apply_to_transactional_commits_that_name_the_topic_by_id() -> None:
    """KIP-1319: version 6 names topics by id only."""
    partitions = [TxnOffsetCommitRequestPartition(3, 5)]
    by_id = TxnOffsetCommitRequest("x", "g", 1, 0, topics=[TxnOffsetCommitRequestTopic("", ID, partitions)])
    by_name = TxnOffsetCommitRequest("x", "g", 1, 0, topics=[TxnOffsetCommitRequestTopic("t", partitions=partitions)])
    for request in by_id, by_name:
        found = target_of(ApiKey.TXN_OFFSET_COMMIT, request, {ID: "t"}.__getitem__)
        assert list(found.topics) == [("t", 3)]


def test_faults_of_a_group_or_partition_apply_to_requests_of_share_groups() -> None:
    acknowledged = share_acknowledge_request.AcknowledgePartition(3, [])
    request = share_acknowledge_request.ShareAcknowledgeRequest(
        "g", "m", 1, False, [share_acknowledge_request.AcknowledgeTopic(ID, [acknowledged])]
    )
    found = target_of(ApiKey.SHARE_ACKNOWLEDGE, request, {ID: "t"}.__getitem__)
    assert (list(found.topics), found.groups) == ([("t", 3)], ("g",))
    topic = describe_share_group_offsets_request.DescribeShareGroupOffsetsRequestTopic("t", [0, 1])
    asked = [
        describe_share_group_offsets_request.DescribeShareGroupOffsetsRequestGroup(name, topics)
        for name, topics in (("g", [topic]), ("h", None))
    ]
    described = describe_share_group_offsets_request.DescribeShareGroupOffsetsRequest(asked)
    found = target_of(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, described, {ID: "t"}.__getitem__)
    assert (list(found.topics), found.groups) == ([("t", 0), ("t", 1)], ("g", "h"))
