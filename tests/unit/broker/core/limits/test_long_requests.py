"""Long requests: their memory is counted and bounded, and a request that arrived whole is carried out, even if its
client left.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest

from oncelog.broker.core.cluster.node import SimulatedNode
from oncelog.broker.core.registry import MAX_RECORDS
from oncelog.broker.core.requests.tasks import AT_A_TIME, Tasks
from oncelog.broker.core.requests.work import Work
from oncelog.broker.log.results import AppendResult
from oncelog.errors import Error
from oncelog.protocol.generated.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreateTopicsRequest
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.describe_groups_response import DescribeGroupsResponse
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from oncelog.protocol.generated.metadata_request import MetadataRequest
from oncelog.protocol.generated.metadata_response import MetadataResponse
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
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.generated.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from oncelog.protocol.struct_fields import uvarint
from oncelog.protocol.wire import Message
from oncelog.records.batch import encode_batch
from oncelog.records.record import Record
from oncelog.types import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, TopicPartition
from tests.support.frames import encode_request
from tests.support.work import Ticks, calls_of
from tests.unit.broker.core.conftest import NOW_MS, Admin, RecordingChannel

PARTITIONS = 1000
BATCH = bytes(encode_batch([Record(0, NOW_MS, b"k", b"v" * 20_000)]))


class Peer(RecordingChannel):
    """A connection of its own."""

    made = 100

    def __init__(self) -> None:
        super().__init__()
        Peer.made += 1
        self.connection_id = Peer.made
        self.holds = False

    def pause_requests(self) -> None:
        self.holds = True

    def resume_requests(self, slot: int) -> None:
        self.holds = False


SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "queued.max.request.bytes": "30000000",
    "socket.request.max.bytes": "5000000",
}


@pytest.fixture
def empty() -> Iterator[Admin]:
    made = Admin(work_clock=Ticks(), **SETTINGS)
    yield made
    made.broker.stop(NOW_MS)


@pytest.fixture
def admin(empty: Admin) -> Admin:
    empty.broker.topics.create("wide", PARTITIONS, {}, NOW_MS)
    empty.broker.topics.ensure_internal(CONSUMER_OFFSETS_TOPIC, NOW_MS)
    return empty


def send(admin: Admin, request: Message, version: int, node: int | None = None) -> Peer:
    peer = Peer()
    if node is not None:
        peer.session.node = SimulatedNode(node, "broker.example", 9092)
    sent = bytes(encode_request(request.API_KEY, version, 7, "test", request.encode(version)))[4:]
    admin.broker.receive(peer, 0, memoryview(sent), NOW_MS)
    return peer


def commit(offset: int = 5) -> OffsetCommitRequest:
    partitions = [OffsetCommitRequestPartition(index, offset, -1, "") for index in range(PARTITIONS)]
    return OffsetCommitRequest("g", topics=[OffsetCommitRequestTopic("wide", partitions=partitions)])


def committed(admin: Admin) -> set[int]:
    """The offsets of all partitions."""
    asked = OffsetFetchRequestTopics("wide", partition_indexes=list(range(PARTITIONS)))
    answer = admin.ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=[asked])]), 8)
    return {partition.committed_offset for topic in answer.groups[0].topics for partition in topic.partitions}


def test_a_commit_that_is_completely_received_is_processed_although_its_connection_ends(admin: Admin) -> None:
    """Its consumer may give up, reconnect and continue: a later commit must not be undone."""
    peer = send(admin, commit(), 8)
    assert len(peer.answers) == 1
    assert committed(admin) == {5}
    assert (admin.broker.request_memory.taken_bytes, len(admin.broker.long_requests)) == (0, 0)


def one(offset: int) -> OffsetCommitRequest:
    """Of the first partition alone."""
    topic = OffsetCommitRequestTopic("wide", partitions=[OffsetCommitRequestPartition(0, offset, -1, "")])
    return OffsetCommitRequest("g", topics=[topic])


def first_offset(admin: Admin) -> int:
    asked = OffsetFetchRequestTopics("wide", partition_indexes=[0])
    answer = admin.ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=[asked])]), 8)
    return int(answer.groups[0].topics[0].partitions[0].committed_offset)


def test_a_commit_does_not_wait_for_memory(admin: Admin) -> None:
    """A commit that waited could undo a later one of its group, whose consumer has reconnected."""
    admin.broker.request_memory.estimate(admin.broker.request_memory.limit_bytes)
    early, later = send(admin, commit(), 8), send(admin, one(6), 8)
    assert [len(peer.answers) for peer in (early, later)] == [1, 1]
    assert first_offset(admin) == 6
    admin.broker.request_memory.estimate(-admin.broker.request_memory.limit_bytes)


def test_transactional_commits_take_effect_in_the_order_in_which_they_were_sent(admin: Admin) -> None:
    admin.broker.topics.ensure_internal(TRANSACTION_STATE_TOPIC, NOW_MS)
    producer_id = admin.ask(InitProducerIdRequest("t", 60_000), 4).producer_id
    admin.ask(AddOffsetsToTxnRequest("t", producer_id, 0, "g"), 3)

    def in_transaction(count: int, offset: int) -> TxnOffsetCommitRequest:
        partitions = [TxnOffsetCommitRequestPartition(index, offset, -1, "") for index in range(count)]
        topics = [TxnOffsetCommitRequestTopic("wide", partitions=partitions)]
        return TxnOffsetCommitRequest("t", "g", producer_id, 0, topics=topics)

    for count, offset in ((PARTITIONS, 5), (1, 6)):
        send(admin, in_transaction(count, offset), 3)
    admin.ask(EndTxnRequest("t", producer_id, 0, committed=True), 3)
    assert first_offset(admin) == 6


def test_the_memory_of_a_change_whose_connection_ended_counts_until_the_change_is_made(admin: Admin) -> None:
    memory = admin.broker.request_memory
    topics = [CreatableTopic(f"new-{number:0200}", 1, 1) for number in range(100)]
    peer = send(admin, CreateTopicsRequest(topics, 1000), 7)
    counted = []
    admin.broker.disconnected(peer)
    while admin.broker.tasks:
        counted.append(memory.taken_bytes)
        admin.broker.tasks.step()
    assert len(counted) > 50
    assert min(counted) > 20_000
    assert (memory.taken_bytes, len(admin.broker.long_requests), peer.answers) == (0, 0, [])
    assert admin.broker.metadata.topic(topics[-1].name) is not None


@pytest.mark.parametrize("chunks", [0, 1, 5, 20])
def test_a_read_only_request_is_dropped_when_its_connection_ends(admin: Admin, chunks: int) -> None:
    peer = send(admin, DescribeGroupsRequest(groups=[f"g{number}" for number in range(5000)]), 5)
    for _ in range(chunks):
        admin.broker.tasks.step()
    admin.broker.disconnected(peer)
    assert not admin.broker.tasks
    assert (admin.broker.request_memory.taken_bytes, len(admin.broker.long_requests)) == (0, 0)


def test_a_list_of_all_topics_omits_topics_that_are_deleted_meanwhile(empty: Admin) -> None:
    """Nobody asked for it by name; Apache Kafka's answer shows one moment."""
    for number in range(45):
        empty.broker.topics.create(f"t{number:02}", 1, {}, NOW_MS)
    peer = send(empty, MetadataRequest(topics=None), 9)
    assert not peer.answers
    empty.broker.topics.delete("t44", NOW_MS)
    empty.broker.tasks.finish()
    expected = [f"t{number:02}" for number in range(44)]
    assert [topic.name for topic in MetadataResponse.decode(peer.answers[0], 9, 9).topics] == expected


def test_the_memory_of_long_requests_is_counted_until_they_are_answered(admin: Admin) -> None:
    memory = admin.broker.request_memory
    peer = send(admin, DescribeGroupsRequest(groups=[""] * 20_000), 5)
    counted = []
    while not peer.answers:
        counted.append(memory.taken_bytes)
        admin.broker.tasks.step()
    assert 20_000 * 200 <= min(counted) <= max(counted) <= 20_000 * 1000
    assert memory.taken_bytes == 0


def test_no_more_long_requests_are_read_at_once_than_memory_allows(admin: Admin) -> None:
    """Ten connections at once, each of which could take 10 MB: all are answered, one or two at a time."""
    memory = admin.broker.request_memory
    peers = [send(admin, DescribeGroupsRequest(groups=[""] * 20_000), 5) for _ in range(10)]
    most = 0
    while admin.broker.tasks:
        admin.broker.tasks.step()
        most = max(most, memory.taken_bytes)
    assert most <= memory.limit_bytes + 10_000_000
    assert [len(peer.answers) for peer in peers] == [1] * 10
    assert memory.taken_bytes == 0


def test_queued_long_requests_continue_when_the_current_client_disconnects(admin: Admin) -> None:
    peers = [send(admin, DescribeGroupsRequest(groups=[""] * 20_000), 5) for _ in range(5)]
    for peer in peers[:4]:
        admin.broker.tasks.step()
        admin.broker.disconnected(peer)
    admin.broker.tasks.finish()
    assert [len(peer.answers) for peer in peers] == [0, 0, 0, 0, 1]
    assert admin.broker.request_memory.taken_bytes == 0


def test_a_request_that_cannot_be_decoded_releases_its_memory(admin: Admin) -> None:
    request = DescribeGroupsRequest(groups=["abc"] * 20_000)
    body = request.encode(5)[:-1000]
    peer = Peer()
    sent = bytes(encode_request(request.API_KEY, 5, 7, "test", body))[4:]
    admin.broker.receive(peer, 0, memoryview(sent), NOW_MS)
    admin.broker.tasks.finish()
    assert peer.closed is not None
    assert "DescribeGroupsRequest" in peer.closed
    admin.broker.disconnected(peer)
    assert (admin.broker.request_memory.taken_bytes, len(admin.broker.long_requests)) == (0, 0)


def test_a_request_that_cannot_be_read_takes_no_memory_until_its_connection_has_ended(empty: Admin) -> None:
    """Which may be never, if a fault handed the connection on after that."""
    request = DescribeGroupsRequest(groups=["abc"] * 20_000)
    peer = Peer()
    sent = bytes(encode_request(request.API_KEY, 5, 7, "test", request.encode(5)[:-1000]))[4:]
    empty.broker.receive(peer, 0, memoryview(sent), NOW_MS)
    empty.broker.tasks.finish()
    assert peer.closed is not None
    assert (empty.broker.request_memory.taken_bytes, len(empty.broker.long_requests)) == (0, 0)


def test_many_requests_waiting_for_memory_are_all_answered(empty: Admin) -> None:
    """Each is answered in the turn in which it is read, and so lets the next one continue."""
    first = send(empty, DescribeGroupsRequest(groups=[""] * 20_000), 5)
    waiting = [send(empty, FindCoordinatorRequest("k" * 20_000), 2) for _ in range(500)]
    assert not any(peer.answers for peer in waiting)
    empty.broker.tasks.finish()
    assert [len(peer.answers) for peer in [first, *waiting]] == [1] * 501
    assert (empty.broker.request_memory.taken_bytes, len(empty.broker.long_requests)) == (0, 0)


def test_a_waiting_fetch_with_long_names_holds_no_request_memory(empty: Admin) -> None:
    """It may wait for weeks, and everybody who waits for memory would wait with it."""
    names = [f"{number:0240}" for number in range(80)]
    for name in names:
        empty.broker.topics.create(name, 1, {}, NOW_MS)
    topics = [FetchTopic(name, partitions=[FetchPartition(0, fetch_offset=0)]) for name in names]
    peer = send(empty, FetchRequest(max_wait_ms=2**31 - 1, min_bytes=1, topics=topics), 12)
    empty.broker.tasks.finish()
    assert not peer.answers
    assert (empty.broker.request_memory.taken_bytes, len(empty.broker.long_requests)) == (0, 0)


def test_a_produce_read_at_once_does_not_block_later_requests_of_its_connection() -> None:
    """Otherwise a producer to several partitions waits for each sync before its next request begins."""
    admin = Admin()
    admin.broker.topics.create("t", 2, {}, NOW_MS)
    batches = [PartitionProduceData(index, BATCH) for index in range(2)]
    peer = send(admin, ProduceRequest(None, -1, 1000, [TopicProduceData("t", partition_data=batches)]), 9)
    assert not peer.holds
    admin.broker.stop(NOW_MS)


def test_a_request_that_waited_for_memory_is_answered_by_the_node_that_was_asked() -> None:
    """It continues in the turn of another request, which asked another node or none."""
    admin = Admin(nodes=(1, 2, 3), **SETTINGS)
    broker = admin.broker
    assert broker.cluster is not None
    broker.topics.ensure_internal(CONSUMER_OFFSETS_TOPIC, NOW_MS)
    broker.topics.create("t", 2, {}, NOW_MS, [[1, 2], [1, 2]])
    broker.cluster.hold_back(2)
    leader = broker.cluster.replicas(TopicPartition(CONSUMER_OFFSETS_TOPIC, 0)).leader
    batches = [PartitionProduceData(index, BATCH) for index in range(2)]
    written = send(admin, ProduceRequest(None, -1, 1000, [TopicProduceData("t", partition_data=batches)]), 9, node=1)
    groups = DescribeGroupsRequest(groups=[""] * 20_000 + ["g"])
    peers = {node_id: send(admin, groups, 5, node=node_id) for node_id in (1, 2, 3)}
    assert not any(peer.answers for peer in [written, *peers.values()])
    broker.cluster.let_go(2)
    broker.tasks.finish()
    errors = {
        node_id: DescribeGroupsResponse.decode(peer.answers[0], 5, 9).groups[-1].error_code
        for node_id, peer in peers.items()
    }
    assert errors == {node_id: Error.NONE if node_id == leader else Error.NOT_COORDINATOR for node_id in (1, 2, 3)}
    broker.stop(NOW_MS)


def test_requests_of_very_many_elements_are_refused(admin: Admin) -> None:
    protocols = [JoinGroupRequestProtocol("", b"")] * (MAX_RECORDS + 1000)
    peer = send(admin, JoinGroupRequest("g", 10_000, 10_000, "", None, "consumer", protocols), 5)
    admin.broker.tasks.finish()
    assert peer.closed is not None
    assert f"at most {MAX_RECORDS} are accepted" in peer.closed


@pytest.mark.parametrize("api_key", [0, 3])
def test_a_header_of_very_many_tags_is_refused_at_once(admin: Admin, api_key: int) -> None:
    """They are read in one go: 50 million of them took 10 s, and a Produce request can be that long."""
    count = 100_000
    frame = struct.pack(">hhih", api_key, 9, 7, -1) + uvarint(count) + b"\x63\x00" * count + b"\0" * 20
    peer = Peer()
    calls = calls_of(lambda: admin.broker.receive(peer, 0, memoryview(frame), NOW_MS))
    assert peer.closed is not None
    assert "tagged fields" in peer.closed
    assert calls < 1000


def test_a_topic_of_many_partitions_is_deleted_in_chunks_and_recreated_at_once(admin: Admin) -> None:
    peer = send(admin, DeleteTopicsRequest(topics=[DeleteTopicState("wide")], timeout_ms=1000), 6)
    while admin.broker.metadata.topic("wide") is not None:
        admin.broker.tasks.step()
    assert not peer.answers
    made = send(admin, CreateTopicsRequest([CreatableTopic("wide", PARTITIONS, 1)], 1000), 7)
    admin.broker.tasks.finish()
    assert len(peer.answers) == len(made.answers) == 1
    admin.ask(commit(3), 8)
    assert committed(admin) == {3}
    assert sum(topic_partition.topic == "wide" for topic_partition in admin.broker.partitions()) == PARTITIONS


def test_a_coordinator_builds_no_batch_that_cannot_fit_into_the_log(admin: Admin) -> None:
    """A commit may name one partition 200,000 times."""
    partition = admin.broker.topics.partitions[TopicPartition(CONSUMER_OFFSETS_TOPIC, 0)]
    pairs: list[tuple[bytes, bytes | None]] = [(b"key of one", None)] * 100_000
    results: list[AppendResult] = []
    assert calls_of(lambda: results.append(partition.append_coordinator(pairs, NOW_MS))) < 100
    assert [result.error for result in results] == [Error.MESSAGE_TOO_LARGE]


def test_only_a_limited_number_of_tasks_run_concurrently() -> None:
    tasks, begun = Tasks(Ticks()), set[int]()

    def work(number: int) -> Work[int]:
        for _ in range(3):
            yield
        for _ in range(10):
            begun.add(number)
            yield
        return number

    results = [tasks.begin(work(number)) for number in range(3 * AT_A_TIME)]
    for _ in range(5 * AT_A_TIME):
        tasks.step()
    assert len(begun) <= AT_A_TIME + 1
    tasks.finish()
    assert [result.value for result in results] == list(range(3 * AT_A_TIME))


def test_a_task_that_waits_for_a_later_task_does_not_wait_forever() -> None:
    tasks, done = Tasks(Ticks()), list[bool]()

    def waiting() -> Work[None]:
        while not done:
            yield

    def later() -> Work[None]:
        yield
        yield
        yield
        done.append(True)

    waiters = [tasks.begin(waiting()) for _ in range(AT_A_TIME)]
    tasks.begin(later())
    for _ in range(200 * AT_A_TIME):
        if tasks:
            tasks.step()
    assert all(waiter.done for waiter in waiters)
