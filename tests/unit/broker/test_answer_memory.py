"""Answers that are much longer than their requests are bounded and counted, however often they name one thing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from oncelog.broker.answer_memory import AnswerMemory
from oncelog.broker.context import RequestContext
from oncelog.broker.request_memory import RequestMemory
from oncelog.protocol.generated.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from oncelog.protocol.generated.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.describe_producers_request import DescribeProducersRequest, TopicRequest
from oncelog.protocol.generated.describe_transactions_request import DescribeTransactionsRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from oncelog.protocol.generated.join_group_response import JoinGroupResponse
from oncelog.protocol.generated.metadata_request import MetadataRequest
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.protocol.generated.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from oncelog.protocol.generated.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from oncelog.protocol.wire import Message
from oncelog.types import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from tests.support.work import Ticks
from tests.unit.broker.apis_admin.conftest import NOW_MS, Admin
from tests.unit.broker.test_long_requests import Peer, send

PARTITIONS = 500
LIMIT_BYTES = 4_000_000
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "queued.max.request.bytes": str(LIMIT_BYTES),
    "socket.request.max.bytes": "1000000",
}


@pytest.fixture(scope="module")
def admin() -> Iterator[Admin]:
    """A transaction, a group and offsets of 500 partitions each, and members with much to tell."""
    made = Admin(work_clock=Ticks(), **SETTINGS)
    made.broker.topics.create("wide", PARTITIONS, {}, NOW_MS)
    for name in (CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC):
        made.broker.topics.ensure_internal(name, NOW_MS)
    offsets = [OffsetCommitRequestPartition(index, 1, -1, "") for index in range(PARTITIONS)]
    topics = [OffsetCommitRequestTopic("wide", partitions=offsets)]
    assert not made.ask(OffsetCommitRequest("offsets", topics=topics), 8).topics[0].partitions[0].error_code
    producer_id = made.ask(InitProducerIdRequest("id", 60_000), 4).producer_id
    partitions = [AddPartitionsToTxnTopic("wide", list(range(PARTITIONS)))]
    made.ask(AddPartitionsToTxnRequest([], "id", producer_id, 0, partitions), 3)
    made.broker.topics.create("one", 1, {}, NOW_MS)
    protocols = [JoinGroupRequestProtocol("range", bytes(100_000))]
    joining = send(made, JoinGroupRequest("group", 60_000, 60_000, "", None, "consumer", protocols), 3)
    made.broker.advance(NOW_MS + 1)
    member = JoinGroupResponse.decode(joining.answers[0], 3, 8).member_id
    assigned = [SyncGroupRequestAssignment(member, b"assignment")]
    assert made.ask(SyncGroupRequest("group", 1, member, assignments=assigned), 3).assignment == b"assignment"
    yield made
    made.broker.stop(NOW_MS)


def configs(count: int) -> DescribeConfigsRequest:
    return DescribeConfigsRequest([DescribeConfigsResource(4, "1", None)] * count, True, True)


def offsets(count: int) -> OffsetFetchRequest:
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup("offsets", topics=None)] * count)


AGAIN: dict[str, tuple[Callable[[int], Message], int]] = {
    "DescribeConfigs": (configs, 4),
    "DescribeTransactions": (lambda count: DescribeTransactionsRequest(["id"] * count), 0),
    "OffsetFetch": (offsets, 8),
}


@pytest.mark.parametrize("name", AGAIN)
def test_an_answer_takes_no_more_than_all_requests_may(admin: Admin, name: str) -> None:
    make, version = AGAIN[name]
    memory = admin.broker.request_memory
    peer, most = send(admin, make(1000), version), 0
    while admin.broker.slices:
        most = max(most, memory.taken_bytes)
        admin.broker.slices.step()
    assert peer.closed is not None
    assert "queued.max.request.bytes" in peer.closed
    assert LIMIT_BYTES / 2 < most < 2 * LIMIT_BYTES
    assert (memory.taken_bytes, peer.answers) == (0, [])


@pytest.mark.parametrize("name", AGAIN)
def test_answers_wait_for_each_other_and_all_come(admin: Admin, name: str) -> None:
    make, version = AGAIN[name]
    memory = admin.broker.request_memory
    peers, most = [send(admin, make(8), version) for _ in range(20)], 0
    while admin.broker.slices:
        most = max(most, memory.taken_bytes)
        admin.broker.slices.step()
    assert [len(peer.answers) for peer in peers] == [1] * 20
    assert LIMIT_BYTES / 2 < most < 2 * LIMIT_BYTES
    assert memory.taken_bytes == 0


def test_an_answer_that_nobody_waits_for_takes_nothing(admin: Admin) -> None:
    peers = [send(admin, configs(15), 4) for _ in range(20)]
    for _ in range(100):
        admin.broker.slices.step()
    for peer in peers:
        admin.broker.disconnected(peer)
    assert not admin.broker.slices
    assert admin.broker.request_memory.taken_bytes == 0


def test_members_are_counted_with_what_they_sent(admin: Admin) -> None:
    """A reference until it is written: 100 KB for a name of a few bytes."""
    few, many = (send(admin, DescribeGroupsRequest(["group"] * count), 5) for count in (20, 500))
    admin.broker.slices.finish()
    assert len(few.answers[0]) > 2_000_000
    assert many.closed is not None
    assert admin.broker.request_memory.taken_bytes == 0


def test_lists_of_all_there_is_wait_for_each_other(admin: Admin) -> None:
    peers = [send(admin, MetadataRequest(topics=None), 12) for _ in range(50)]
    most = 0
    while admin.broker.slices:
        most = max(most, admin.broker.request_memory.taken_bytes)
        admin.broker.slices.step()
    assert [len(each.answers) for each in peers] == [1] * 50
    assert LIMIT_BYTES / 2 < most < 2 * LIMIT_BYTES


def test_a_partition_that_is_named_again_and_again(admin: Admin) -> None:
    peer: Peer = send(admin, DescribeProducersRequest([TopicRequest("one", [0] * 20_000)]), 0)
    admin.broker.slices.finish()
    assert peer.closed is not None
    assert admin.broker.request_memory.taken_bytes == 0


def test_a_short_look_at_offsets_waits_for_nobody(admin: Admin) -> None:
    """It is answered in its own turn, in which nobody else would give anything back."""
    memory = admin.broker.request_memory
    memory.estimate(LIMIT_BYTES)
    others = [send(admin, configs(8), 4) for _ in range(2)]
    asked = [OffsetFetchRequestTopics("wide", partition_indexes=[0])]
    peer = send(admin, OffsetFetchRequest(groups=[OffsetFetchRequestGroup("offsets", topics=asked)]), 8)
    assert len(peer.answers) == 1
    memory.estimate(-LIMIT_BYTES)
    admin.broker.slices.finish()
    assert [len(other.answers) for other in others] == [1, 1]
    assert memory.taken_bytes == 0


def test_a_stop_ends_though_answers_wait_for_one_that_waits_for_a_sync() -> None:
    made = Admin(**SETTINGS, **{"oncelog.flush.policy": "commit"})
    made.broker.topics.create("wide", PARTITIONS, {}, NOW_MS)
    made.broker.topics.ensure_internal(CONSUMER_OFFSETS_TOPIC, NOW_MS)
    commit = OffsetCommitRequestTopic("wide", partitions=[OffsetCommitRequestPartition(0, 1, -1, "")])
    waiting = [send(made, OffsetCommitRequest("offsets", topics=[commit]), 8), send(made, offsets(8), 8)]
    assert [peer.answers for peer in waiting] == [[], []]
    made.broker.request_memory.estimate(LIMIT_BYTES)
    waiting.append(send(made, configs(8), 4))
    assert made.broker.slices
    made.broker.stop(NOW_MS)
    assert [len(peer.answers) for peer in waiting] == [1, 1, 1]


def test_an_answer_that_is_made_in_one_turn_waits_for_no_other() -> None:
    """With several nodes in one process: nobody else would go on meanwhile."""
    memory = RequestMemory(1_000_000, 1000)
    answers = AnswerMemory(memory, all_at_once=True)
    contexts = [RequestContext(Peer(), 0, 3, 12, 0, "", NOW_MS) for _ in range(2)]
    for context in contexts:
        assert list(answers.grow(context, 2000)) == []
    assert memory.taken_bytes > memory.limit_bytes
    for context in contexts:
        answers.end(context.channel)
    assert memory.taken_bytes == 0
