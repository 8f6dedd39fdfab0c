"""Answers that are much longer than their requests are bounded and counted, however often they repeat one name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from oncelog.broker.core.limits import answer_memory
from oncelog.broker.core.limits.answer_memory import AnswerMemory
from oncelog.broker.core.limits.request_memory import RequestMemory
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.tasks import Tasks
from oncelog.broker.core.requests.work import Work
from oncelog.broker.log.partition_log import PartitionLog
from oncelog.broker.log.producers.producer_entry import ProducerStateEntry
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from oncelog.protocol.generated.create_acls_request import AclCreation, CreateAclsRequest
from oncelog.protocol.generated.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from oncelog.protocol.generated.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.describe_producers_request import DescribeProducersRequest, TopicRequest
from oncelog.protocol.generated.describe_transactions_request import DescribeTransactionsRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
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
from tests.unit.broker.core.conftest import NOW_MS, Admin
from tests.unit.broker.core.limits.test_long_requests import Peer, send

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
    """A transaction, a group and offsets of 500 partitions each, and members with much to describe."""
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
    made.broker.tasks.finish()
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
def test_the_memory_of_an_answer_is_limited_like_that_of_all_requests(
    admin: Admin, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_memory, "MIN_BYTES", 0)
    make, version = AGAIN[name]
    memory = admin.broker.request_memory
    peer, most = send(admin, make(1000), version), 0
    while admin.broker.tasks:
        most = max(most, memory.taken_bytes)
        admin.broker.tasks.step()
    assert peer.closed is not None
    assert "queued.max.request.bytes" in peer.closed
    assert LIMIT_BYTES / 2 < most < 2 * LIMIT_BYTES
    assert (memory.taken_bytes, peer.answers) == (0, [])


def test_refusals_of_single_entries_of_a_request_count_towards_the_memory(
    admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request's byte or four become a sentence."""
    monkeypatch.setattr(answer_memory, "MIN_BYTES", 0)
    unknown = DescribeConfigsResource(0, "", None)
    peer = send(admin, DescribeConfigsRequest([unknown] * 11_000, True, True), 4)
    admin.broker.tasks.finish()
    assert peer.closed is not None
    assert "queued.max.request.bytes" in peer.closed
    assert (admin.broker.request_memory.taken_bytes, peer.answers) == (0, [])


def test_a_request_for_one_coordinator_does_not_wait_for_memory(admin: Admin) -> None:
    memory, other = admin.broker.request_memory, context_of(-1)
    memory.estimate(LIMIT_BYTES)
    assert list(admin.broker.answer_memory.grow(other, 1)) == []
    (found,) = admin.ask(FindCoordinatorRequest("", 0, ["group"]), 6).coordinators
    assert found.error_code == 0
    admin.broker.answer_memory.end(other.channel)
    memory.estimate(-LIMIT_BYTES)
    assert memory.taken_bytes == 0


@pytest.mark.parametrize("name", AGAIN)
def test_answers_wait_for_memory_and_all_are_sent(admin: Admin, name: str) -> None:
    make, version = AGAIN[name]
    memory = admin.broker.request_memory
    peers, most = [send(admin, make(8), version) for _ in range(20)], 0
    while admin.broker.tasks:
        most = max(most, memory.taken_bytes)
        admin.broker.tasks.step()
    assert [len(peer.answers) for peer in peers] == [1] * 20
    assert LIMIT_BYTES / 2 < most < 2 * LIMIT_BYTES
    assert memory.taken_bytes == 0


def test_an_answer_to_a_closed_connection_takes_no_memory(admin: Admin) -> None:
    peers = [send(admin, configs(15), 4) for _ in range(20)]
    for _ in range(100):
        admin.broker.tasks.step()
    for peer in peers:
        admin.broker.disconnected(peer)
    assert not admin.broker.tasks
    assert admin.broker.request_memory.taken_bytes == 0


def test_described_members_are_counted_with_the_data_they_sent(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it is written, an answer refers to what members sent: 100 KB for a name of a few bytes."""
    monkeypatch.setattr(answer_memory, "MIN_BYTES", 0)
    few, many = (send(admin, DescribeGroupsRequest(["group"] * count), 5) for count in (20, 500))
    admin.broker.tasks.finish()
    assert len(few.answers[0]) > 2_000_000
    assert many.closed is not None
    assert admin.broker.request_memory.taken_bytes == 0


def test_answers_with_lists_of_all_resources_wait_for_memory_that_others_use(admin: Admin) -> None:
    peers = [send(admin, MetadataRequest(topics=None), 12) for _ in range(50)]
    most = 0
    while admin.broker.tasks:
        most = max(most, admin.broker.request_memory.taken_bytes)
        admin.broker.tasks.step()
    assert [len(each.answers) for each in peers] == [1] * 50
    assert LIMIT_BYTES / 2 < most < 2 * LIMIT_BYTES


def test_a_partition_named_many_times_is_counted_each_time(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_memory, "MIN_BYTES", 0)
    monkeypatch.setattr(PartitionLog, "active_producers", lambda _: [ProducerStateEntry(1, 0)])
    peer: Peer = send(admin, DescribeProducersRequest([TopicRequest("one", [0] * 20_000)]), 0)
    admin.broker.tasks.finish()
    assert peer.closed is not None
    assert admin.broker.request_memory.taken_bytes == 0


def test_a_short_offset_request_does_not_wait_for_memory(admin: Admin) -> None:
    """It is answered in its own iteration, in which nobody else could free anything."""
    memory = admin.broker.request_memory
    memory.estimate(LIMIT_BYTES)
    others = [send(admin, configs(8), 4) for _ in range(2)]
    asked = [OffsetFetchRequestTopics("wide", partition_indexes=[0])]
    peer = send(admin, OffsetFetchRequest(groups=[OffsetFetchRequestGroup("offsets", topics=asked)]), 8)
    assert len(peer.answers) == 1
    memory.estimate(-LIMIT_BYTES)
    admin.broker.tasks.finish()
    assert [len(other.answers) for other in others] == [1, 1]
    assert memory.taken_bytes == 0


def test_a_stop_ends_although_answers_wait_for_a_sync() -> None:
    made = Admin(**SETTINGS, **{"oncelog.flush.policy": "commit"})
    made.broker.topics.create("wide", PARTITIONS, {}, NOW_MS)
    made.broker.topics.ensure_internal(CONSUMER_OFFSETS_TOPIC, NOW_MS)
    commit = OffsetCommitRequestTopic("wide", partitions=[OffsetCommitRequestPartition(0, 1, -1, "")])
    waiting = [send(made, OffsetCommitRequest("offsets", topics=[commit]), 8), send(made, offsets(8), 8)]
    assert [peer.answers for peer in waiting] == [[], []]
    made.broker.request_memory.estimate(LIMIT_BYTES)
    waiting.append(send(made, configs(8), 4))
    assert waiting[2].answers == []
    made.broker.stop(NOW_MS)
    assert [len(peer.answers) for peer in waiting] == [1, 1, 1]


def context_of(connection_id: int) -> RequestContext:
    peer = Peer()
    peer.connection_id = connection_id
    return RequestContext(peer, 0, 3, 12, 0, "", NOW_MS)


def test_a_task_that_waits_for_memory_is_not_scheduled() -> None:
    """Turns in which nothing could be done used to cost as much as others: they kept a core busy."""
    memory = RequestMemory(1_000_000, 1000)
    answers, tasks, wanted = AnswerMemory(memory), Tasks(read_only=[ApiKey.METADATA]), list[int]()
    tasks.wanted = lambda: wanted.append(1)
    first, *others = contexts = [context_of(number) for number in range(4)]
    done: list[int] = []

    def work(context: RequestContext) -> Work[int]:
        yield from answers.grow(context, 2000)
        return context.channel.connection_id

    for context in contexts:
        tasks.begin(work(context), context).then(done.append)
    assert (done, len(tasks), wanted) == ([0], 0, [])
    assert memory.missing_bytes == 3 * 800_000 + 800_000 - 1_000_000
    tasks.drop(others[1].channel)
    answers.end(others[1].channel)
    answers.end(first.channel)
    assert wanted
    tasks.finish()
    assert done == [0, 1]
    answers.end(others[0].channel)
    tasks.finish()
    assert done == [0, 1, 3]
    answers.end(others[2].channel)
    assert (memory.taken_bytes, memory.missing_bytes) == (0, -memory.limit_bytes)


def test_released_memory_and_a_stop_wake_waiting_answers() -> None:
    memory = RequestMemory(1_000_000, 1000)
    answers = AnswerMemory(memory)
    memory.count(900_000)
    first, second, third = (context_of(number) for number in range(3))
    assert list(answers.grow(first, 1)) == []
    (waits,) = (turn for turn in [next(answers.grow(second, 1000))] if turn is not None)
    assert not waits.done
    memory.release(900_000)
    assert waits.succeeded
    memory.count(900_000)
    last = next(answers.grow(third, 1000))
    assert last is not None
    assert not last.done
    answers.stop()
    assert last.succeeded


def test_lists_of_the_brokers_state_are_answered_with_any_memory_limit() -> None:
    """Apache Kafka's ``queued.max.request.bytes`` does not limit answers."""
    made = Admin(
        work_clock=Ticks(), **SETTINGS | {"queued.max.request.bytes": "100000", "socket.request.max.bytes": "100000"}
    )
    made.broker.topics.create("wide", PARTITIONS, {}, NOW_MS)
    peers = [send(made, MetadataRequest(topics=None), 12) for _ in range(3)]
    made.broker.tasks.finish()
    assert [len(peer.answers) for peer in peers] == [1, 1, 1]
    assert [peer.closed for peer in peers] == [None] * 3
    made.broker.stop(NOW_MS)


@pytest.mark.parametrize("waits", [False, True])
def test_a_change_continues_although_its_connection_ends_and_its_memory_is_released_afterwards(waits: bool) -> None:
    memory = RequestMemory(1_000_000, 1000)
    answers, tasks, done = AnswerMemory(memory), Tasks(), list[int]()
    first, second = context_of(0), context_of(1)
    assert list(answers.grow(first, 1000)) == []

    def change() -> Work[int]:
        yield from answers.grow(second, 500)
        for _ in range(100):
            yield
        yield from answers.grow(second, 2000 if waits else 500)
        return 1

    tasks.begin(change()).then(done.append)
    if waits:
        tasks.finish()
    tasks.drop(second.channel)
    answers.end(second.channel)
    tasks.finish()
    assert done == ([] if waits else [1])
    answers.end(first.channel)
    tasks.finish()
    assert done == [1]
    assert memory.taken_bytes == (800_000 if waits else 200_000)
    answers.end(second.channel)
    assert (memory.taken_bytes, memory.wanted_by_answers) == (0, 0)


@pytest.mark.parametrize("filters", [2, 500])
@pytest.mark.parametrize("chunks", [0, 30])
def test_a_deletion_of_acls_continues_although_its_connection_ends(filters: int, chunks: int) -> None:
    """The connection ends while the request waits for others' answers, or before that; also a long request's."""
    acls = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    made = Admin(work_clock=Ticks(), **SETTINGS | acls)
    creations = [AclCreation(2, f"topic-{number}", 3, "User:alice", "*", 3, 3) for number in range(10)]
    made.ask(CreateAclsRequest(creations), 3)
    memory, other = made.broker.request_memory, context_of(-1)
    assert list(made.broker.answer_memory.grow(other, 1)) == []
    memory.estimate(LIMIT_BYTES)
    everything = DeleteAclsFilter(1, "*" * 50, 1, None, None, 1, 1), DeleteAclsFilter(1, None, 1, None, None, 1, 1)
    peer = send(made, DeleteAclsRequest([everything[0]] * (filters - 1) + [everything[1]]), 3)
    for _ in range(chunks):
        if made.broker.tasks:
            made.broker.tasks.step()
    made.broker.disconnected(peer)
    made.broker.tasks.finish()
    memory.estimate(-LIMIT_BYTES)
    made.broker.answer_memory.end(other.channel)
    made.broker.tasks.finish()
    assert list(made.broker.metadata.acls()) == []
    assert (memory.taken_bytes, memory.wanted_by_answers, len(made.broker.long_requests)) == (0, 0, 0)
    late = context_of(-2)
    memory.estimate(LIMIT_BYTES)
    assert list(made.broker.answer_memory.grow(late, 1)) == [], "the first in line goes on in any case"
    memory.estimate(-LIMIT_BYTES)
    made.broker.stop(NOW_MS)
