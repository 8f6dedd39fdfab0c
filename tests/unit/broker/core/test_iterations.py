"""The cost of each element of a request, and the longest turn of work on the state of a broker.

Work is counted in function calls. ``python -m benchmarks.iterations`` measures the same requests in time.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from oncelog.broker.core.apis.topics import metadata
from oncelog.broker.core.broker import Broker
from oncelog.broker.core.limits import answer_memory
from oncelog.broker.core.limits.answer_memory import AnswerMemory
from oncelog.broker.core.limits.request_memory import RequestMemory
from oncelog.broker.core.registry import SERVED
from oncelog.protocol.generated import (
    alter_configs_request,
    describe_topic_partitions_request,
    incremental_alter_configs_request,
)
from oncelog.protocol.generated.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from oncelog.protocol.generated.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from oncelog.protocol.generated.alter_configs_request import AlterableConfig, AlterConfigsRequest
from oncelog.protocol.generated.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from oncelog.protocol.generated.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from oncelog.protocol.generated.consumer_group_describe_request import ConsumerGroupDescribeRequest
from oncelog.protocol.generated.create_acls_request import AclCreation, CreateAclsRequest
from oncelog.protocol.generated.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from oncelog.protocol.generated.delete_groups_request import DeleteGroupsRequest
from oncelog.protocol.generated.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from oncelog.protocol.generated.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.describe_producers_request import DescribeProducersRequest, TopicRequest
from oncelog.protocol.generated.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from oncelog.protocol.generated.describe_transactions_request import DescribeTransactionsRequest
from oncelog.protocol.generated.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.list_groups_request import ListGroupsRequest
from oncelog.protocol.generated.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from oncelog.protocol.generated.list_transactions_request import ListTransactionsRequest
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
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
from oncelog.protocol.generated.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.struct_fields import ElementLimit
from oncelog.protocol.wire import Message
from oncelog.types import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from tests.support.frames import encode_request
from tests.support.work import calls_of
from tests.unit.broker.core.conftest import NOW_MS, Admin, RecordingChannel

PARTITIONS = 2000
NAMES = [f"name-{number:06}" for number in range(5000)]
MAX_CALLS = 50_000
"""For one iteration of work that grows with the broker's state: some milliseconds."""
CALLS_OF_AN_ELEMENT = 40
"""For a request's own elements, in one iteration: the largest request allowed takes less than 400 ms."""


def fetch(wait_ms: int) -> FetchRequest:
    partitions = [FetchPartition(partition=index, partition_max_bytes=1000) for index in range(PARTITIONS)]
    topics = [FetchTopic(topic="wide", partitions=partitions)]
    return FetchRequest(max_wait_ms=wait_ms, min_bytes=1, max_bytes=1_000_000, session_epoch=-1, topics=topics)


def list_offsets() -> ListOffsetsRequest:
    asked = [ListOffsetsPartition(index, -1, -1) for index in range(PARTITIONS)]
    return ListOffsetsRequest(-1, 0, [ListOffsetsTopic("wide", asked)])


def fetch_of_one_again_and_again() -> FetchRequest:
    partitions = [FetchPartition(partition=0, partition_max_bytes=1000)] * 5000
    return FetchRequest(max_wait_ms=0, session_epoch=-1, topics=[FetchTopic(topic="wide", partitions=partitions)])


def fetch_of_no_partitions() -> FetchRequest:
    return FetchRequest(max_wait_ms=0, session_epoch=-1, topics=[FetchTopic(topic="wide", partitions=[])] * 20_000)


def empty_list_offsets() -> ListOffsetsRequest:
    return ListOffsetsRequest(-1, 0, [ListOffsetsTopic("wide", [])] * 20_000)


def describe_no_producers() -> DescribeProducersRequest:
    return DescribeProducersRequest([TopicRequest("wide", [])] * 20_000)


def alter_quotas() -> AlterClientQuotasRequest:
    ops = [OpData("producer_byte_rate", 1000.0, False)]
    return AlterClientQuotasRequest([EntryData([EntityData("client-id", name)], ops) for name in NAMES], True)


def describe_configs() -> DescribeConfigsRequest:
    return DescribeConfigsRequest([DescribeConfigsResource(2, "wide", None)] * 200, True, False)


def describe_configs_of_the_broker() -> DescribeConfigsRequest:
    """Some 300 settings, each with every place that it could come from."""
    return DescribeConfigsRequest([DescribeConfigsResource(4, "1", None)] * 5, True, True)


def offset_fetch() -> OffsetFetchRequest:
    topics = [OffsetFetchRequestTopics("wide", partition_indexes=list(range(20_000)))]
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup("committing", topics=topics)])


def add_to_transaction() -> AddPartitionsToTxnRequest:
    topics = [AddPartitionsToTxnTopic("wide", list(range(20_000)))]
    return AddPartitionsToTxnRequest([], "nobody", 1, 0, topics)


def refused_commit() -> OffsetCommitRequest:
    """The member's generation does not exist."""
    asked = [OffsetCommitRequestPartition(index % PARTITIONS, 1, -1, "") for index in range(20_000)]
    topics = [OffsetCommitRequestTopic("wide", partitions=asked)]
    return OffsetCommitRequest("committing", 7, "member", topics=topics)


def produce_to_no_partitions() -> ProduceRequest:
    return ProduceRequest(None, -1, 30_000, [TopicProduceData("wide", partition_data=[])] * 20_000)


def produce_nothing() -> ProduceRequest:
    nothing = [PartitionProduceData(index, b"") for index in range(20_000)]
    return ProduceRequest(None, -1, 30_000, [TopicProduceData("wide", partition_data=nothing)])


def delete_records() -> DeleteRecordsRequest:
    asked = [DeleteRecordsPartition(index % PARTITIONS, 0) for index in range(20_000)]
    return DeleteRecordsRequest([DeleteRecordsTopic("wide", asked)], 1000)


def leader_epochs() -> OffsetForLeaderEpochRequest:
    asked = [OffsetForLeaderPartition(index % PARTITIONS, 0, 0) for index in range(20_000)]
    return OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic("wide", asked)])


def elect_leaders() -> ElectLeadersRequest:
    return ElectLeadersRequest(0, [TopicPartitions("wide", [index % PARTITIONS for index in range(20_000)])], 1000)


def move_replicas() -> AlterReplicaLogDirsRequest:
    topics = [AlterReplicaLogDirTopic("wide", [index % PARTITIONS for index in range(20_000)])]
    return AlterReplicaLogDirsRequest([AlterReplicaLogDir("/elsewhere", topics)])


def alter_configs() -> AlterConfigsRequest:
    return AlterConfigsRequest(
        [alter_configs_request.AlterConfigsResource(2, name, [AlterableConfig("retention.ms", "1")]) for name in NAMES],
        False,
    )


def alter_configs_incrementally() -> IncrementalAlterConfigsRequest:
    config = [incremental_alter_configs_request.AlterableConfig("retention.ms", 0, "1")]
    resource = incremental_alter_configs_request.AlterConfigsResource
    return IncrementalAlterConfigsRequest([resource(2, name, config) for name in NAMES], False)


def metadata_of_nothing() -> MetadataRequest:
    topics = [MetadataRequestTopic(name=name) for name in NAMES]
    return MetadataRequest(topics, False, False, include_topic_authorized_operations=True)


def pages_of_nothing() -> DescribeTopicPartitionsRequest:
    topics = [describe_topic_partitions_request.TopicRequest(name) for name in NAMES]
    return DescribeTopicPartitionsRequest(topics, 2000, None)


LONG: dict[str, tuple[Callable[[], Message], int]] = {
    "Fetch that is answered": (lambda: fetch(0), 12),
    "Fetch that waits": (lambda: fetch(60_000), 12),
    "Fetch that names one partition again and again": (fetch_of_one_again_and_again, 12),
    "Fetch of no partitions": (fetch_of_no_partitions, 12),
    "ListOffsets": (list_offsets, 7),
    "ListOffsets of no partitions": (empty_list_offsets, 7),
    "DescribeProducers of no partitions": (describe_no_producers, 0),
    "AlterClientQuotas": (alter_quotas, 1),
    "Metadata": (lambda: MetadataRequest(topics=None), 12),
    "DescribeConfigs": (describe_configs, 4),
    "DescribeConfigs of the broker": (describe_configs_of_the_broker, 4),
    "FindCoordinator": (lambda: FindCoordinatorRequest(key_type=0, coordinator_keys=NAMES), 4),
    "DescribeGroups": (lambda: DescribeGroupsRequest(groups=NAMES), 5),
    "DescribeTransactions": (lambda: DescribeTransactionsRequest(transactional_ids=NAMES), 0),
    "ListTransactions": (ListTransactionsRequest, 2),
    "ListGroups": (ListGroupsRequest, 5),
    "OffsetFetch": (offset_fetch, 8),
    "OffsetCommit that is refused": (refused_commit, 8),
    "AddPartitionsToTxn": (add_to_transaction, 3),
    "DeleteRecords": (delete_records, 2),
    "OffsetForLeaderEpoch": (leader_epochs, 4),
    "ElectLeaders": (elect_leaders, 2),
    "AlterReplicaLogDirs": (move_replicas, 2),
    "AlterConfigs": (alter_configs, 2),
    "IncrementalAlterConfigs": (alter_configs_incrementally, 1),
    "Metadata of nothing, with what the caller may do": (metadata_of_nothing, 12),
    "DescribeTopicPartitions of nothing": (pages_of_nothing, 0),
    "ConsumerGroupDescribe": (lambda: ConsumerGroupDescribeRequest(NAMES, True), 1),
    "DeleteGroups": (lambda: DeleteGroupsRequest([f"no-{name}" for name in NAMES]), 2),
    "Produce to no partitions": (produce_to_no_partitions, 9),
    "Produce of nothing": (produce_nothing, 9),
}


class Clock:
    """A clock that advances a millisecond per look: work longer than one chunk waits for its next turn."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        self.now_ns += 1_000_000
        return self.now_ns


@pytest.fixture(scope="module")
def busy() -> Admin:
    """A broker with many partitions, groups and transactional ids."""
    admin = Admin(
        work_clock=Clock(), **{"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "1"}
    )
    admin.broker.topics.create("wide", PARTITIONS, {}, NOW_MS)
    for name in (CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC):
        admin.broker.topics.ensure_internal(name, NOW_MS)
    one = [OffsetCommitRequestTopic("wide", partitions=[OffsetCommitRequestPartition(0, 1, -1, "")])]
    for name in NAMES[:2000]:
        admin.ask(InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000), 4)
        admin.ask(OffsetCommitRequest(name, topics=one), 8)
    return admin


@pytest.mark.parametrize("name", LONG)
def test_no_event_loop_iteration_of_a_long_request_is_long(busy: Admin, name: str) -> None:
    make, version = LONG[name]
    request = make()
    sent = bytes(encode_request(type(request).API_KEY, version, 7, "test", request.encode(version)))[4:]
    turns_of(busy.broker, sent)  # the first use of an API imports it
    turns = turns_of(busy.broker, sent)
    limit = ElementLimit(SERVED[request.API_KEY].max_elements)
    type(request).decode_prefix(request.encode(version), version, 0, limit)
    most = MAX_CALLS + CALLS_OF_AN_ELEMENT * limit.count
    assert max(turns) <= most, f"a turn of {max(turns)} calls among {len(turns)}, {sum(turns)} in all"


def acl_creations() -> CreateAclsRequest:
    return CreateAclsRequest([AclCreation(2, name, 3, "User:a", "*", 3, 3) for name in NAMES])


def acl_filters() -> DeleteAclsRequest:
    """For each of which all ACLs are checked."""
    return DeleteAclsRequest([DeleteAclsFilter(2, name, 2, None, None, 1, 1) for name in NAMES[:20]])


def scram_users() -> AlterUserScramCredentialsRequest:
    return AlterUserScramCredentialsRequest(
        upsertions=[ScramCredentialUpsertion(name, 1, 4096, b"salt", b"salted") for name in NAMES]
    )


def test_no_event_loop_iteration_of_a_long_list_of_acls_or_users_is_long() -> None:
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    admin = Admin(work_clock=Clock(), **settings)
    for request, version in ((scram_users(), 0), (acl_creations(), 3), (acl_filters(), 3)):
        sent = bytes(encode_request(type(request).API_KEY, version, 7, "test", request.encode(version)))[4:]
        turns_of(admin.broker, sent)
        turns = turns_of(admin.broker, sent)
        assert max(turns) <= 4 * MAX_CALLS, f"{type(request).__name__}: {turns}"
    admin.broker.stop(NOW_MS)


def test_a_request_whose_filters_each_find_all_acls_ends_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise some 100 KB would become gigabytes; nothing is removed in this case."""
    monkeypatch.setattr(answer_memory, "MIN_BYTES", 0)
    admin = Admin(
        work_clock=Clock(),
        **{
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "queued.max.request.bytes": "4000000",
            "socket.request.max.bytes": "1000000",
        },
    )
    admin.ask(acl_creations(), 3)
    everything = DeleteAclsRequest([DeleteAclsFilter(1, None, 1, None, None, 1, 1)] * 5000)
    channel = RecordingChannel()
    sent = bytes(encode_request(31, 3, 7, "test", everything.encode(3)))[4:]
    admin.broker.receive(channel, 0, memoryview(sent), NOW_MS)
    admin.broker.tasks.finish()
    assert channel.closed is not None
    assert "request less at once" in channel.closed
    assert len(list(admin.broker.metadata.acls())) == len(NAMES)
    assert admin.broker.request_memory.taken_bytes == 0
    admin.broker.stop(NOW_MS)


def turns_of(broker: Broker, sent: bytes) -> list[int]:
    """The calls of each turn of one request."""
    channel, turns = RecordingChannel(), list[int]()

    def work() -> None:
        while broker.tasks:
            turns.append(calls_of(broker.tasks.step))

    turns.append(calls_of(lambda: broker.receive(channel, 0, memoryview(sent), NOW_MS)))
    work()
    turns.append(calls_of(broker.fetches.expire_all))
    work()
    assert (channel.closed, len(channel.answers)) == (None, 1)
    return turns


def test_other_clients_are_answered_between_iterations_of_a_long_request(busy: Admin) -> None:
    """While one client's long answer is made, another's request is answered in its own iteration."""
    request = MetadataRequest(topics=None)
    sent = bytes(encode_request(3, 12, 7, "test", request.encode(12)))[4:]
    slow, quick = RecordingChannel(), RecordingChannel()
    busy.broker.receive(slow, 0, memoryview(sent), NOW_MS)
    little = MetadataRequest(topics=[])
    sent = bytes(encode_request(3, 12, 8, "test", little.encode(12)))[4:]
    busy.broker.receive(quick, 0, memoryview(sent), NOW_MS)
    assert (len(slow.answers), len(quick.answers)) == (0, 1)
    busy.broker.tasks.finish()
    assert len(slow.answers) == 1


@pytest.mark.parametrize("partitions", [1, 99, 250])
def test_metadata_of_many_topics_is_read_with_pauses_whatever_the_number_of_partitions(partitions: int) -> None:
    """Topics of 99 partitions were described 20 at a time; topics that the caller may not see, all in one go."""
    seen: list[int] = []
    topics = [SimpleNamespace(name=f"t{n}", partitions=partitions, topic_id=b"", internal=False) for n in range(200)]

    def allowed(*_: object) -> bool:
        seen.append(0)
        return len(seen) <= 5

    broker = SimpleNamespace(
        authorizer=None if partitions > 1 else SimpleNamespace(allows=allowed),
        metadata=SimpleNamespace(topics=lambda: topics, topic_by_id=lambda _: topics[0]),
        partition=lambda _: seen.append(0),
        node=SimpleNamespace(node_id=1),
        answer_memory=AnswerMemory(RequestMemory(0, 0)),
    )
    context = SimpleNamespace(principal="User:a", client_host="a", channel=RecordingChannel())
    most = before = 0
    for _ in metadata._topics(broker, context, MetadataRequest(topics=None)):  # type: ignore[arg-type]
        most, before = max(most, len(seen) - before), len(seen)
    most = max(most, len(seen) - before)
    assert len(seen) >= 200 * partitions
    assert most <= 2 * metadata.PARTITIONS_IN_A_CHUNK
