"""Answers that refuse a whole request: the error where each API has it, as in Apache Kafka 4.3.1."""

from __future__ import annotations

from typing import Any

import pytest

from oncelog.broker.core.registry import SERVED
from oncelog.broker.core.security.refusals import MESSAGES, refusal
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated import add_partitions_to_txn_request as add_partitions
from oncelog.protocol.generated import alter_client_quotas_request as alter_quotas
from oncelog.protocol.generated import alter_replica_log_dirs_request as log_dirs
from oncelog.protocol.generated import alter_user_scram_credentials_request as alter_users
from oncelog.protocol.generated import create_topics_request as create_topics
from oncelog.protocol.generated import delete_topics_request as delete_topics
from oncelog.protocol.generated import elect_leaders_request as elect_leaders
from oncelog.protocol.generated import fetch_request as fetch
from oncelog.protocol.generated import find_coordinator_request as find
from oncelog.protocol.generated import metadata_request as metadata
from oncelog.protocol.generated import offset_fetch_request as offset_fetch
from oncelog.protocol.generated import produce_request as produce
from oncelog.protocol.messages import request_type, response_type
from oncelog.protocol.wire import Message

ERROR = Error.ILLEGAL_SASL_STATE
MESSAGE = "Unexpected Kafka request"
TOPIC_ID = b"id-of-some-topic"


def refused(request: Message, version: int) -> Any:
    """As the client reads it."""
    answer = refusal(request.API_KEY, version, request, ERROR, MESSAGE)
    assert answer is not None
    return response_type(request.API_KEY).decode(answer.encode(version), version, 0)


def errors(value: Any) -> set[int]:
    if isinstance(value, list):
        return {code for item in value for code in errors(item)}
    slots = getattr(type(value), "__slots__", ())
    own = {getattr(value, slot) for slot in slots if slot in ("error_code", "partition_error_code")}
    return own.union(*(errors(getattr(value, slot)) for slot in slots))


@pytest.mark.parametrize(
    ("api_key", "version"), [(key, version) for key, row in SERVED.items() for version in range(row.low, row.high + 1)]
)
def test_every_request_can_be_refused_in_every_version(api_key: int, version: int) -> None:
    """An empty one has no entries that could carry the error: then at most the whole answer does."""
    request: Any = request_type(api_key)()
    if api_key == ApiKey.PRODUCE:
        request.acks = -1
    assert errors(refused(request, version)) <= {ERROR, Error.NONE}


def test_a_denied_produce_without_acks_gets_no_answer() -> None:
    assert refusal(ApiKey.PRODUCE, 9, produce.ProduceRequest(None, 0, 1000, []), ERROR) is None


def test_the_answer_for_a_refused_batch_has_no_base_offset() -> None:
    topics = [produce.TopicProduceData("orders", partition_data=[produce.PartitionProduceData(3, b"")])]
    (topic,) = refused(produce.ProduceRequest(None, -1, 1000, topics), 9).responses
    (partition,) = topic.partition_responses
    assert (topic.name, partition.index, partition.error_code) == ("orders", 3, ERROR)
    assert (partition.base_offset, partition.log_append_time_ms, partition.error_message) == (-1, -1, MESSAGE)


@pytest.mark.parametrize(("version", "whole", "partitions"), [(6, 0, 1), (7, ERROR, 1), (12, ERROR, 1), (13, ERROR, 0)])
def test_a_fetch_by_id_is_refused_as_a_whole(version: int, whole: int, partitions: int) -> None:
    topic = fetch.FetchTopic(topic="orders" if version < 13 else "", partitions=[fetch.FetchPartition(3)])
    answer = refused(fetch.FetchRequest(max_wait_ms=0, min_bytes=0, topics=[topic]), version)
    assert answer.error_code == whole
    found = [(p.partition_index, p.error_code, p.high_watermark) for t in answer.responses for p in t.partitions]
    assert found == [(3, ERROR, -1)] * partitions


def test_the_answer_for_a_refused_topic_id_has_an_empty_name() -> None:
    asked = [metadata.MetadataRequestTopic(name="orders"), metadata.MetadataRequestTopic(TOPIC_ID, None)]
    answer = refused(metadata.MetadataRequest(asked), 13)
    assert answer.error_code == ERROR
    reported = [(topic.name, topic.topic_id, topic.error_code) for topic in answer.topics]
    assert reported == [("orders", bytes(16), ERROR), ("", TOPIC_ID, ERROR)]
    assert refused(metadata.MetadataRequest(None), 9).topics == []


def test_offsets_are_refused_by_partition_then_as_a_whole_then_by_group() -> None:
    topics = [offset_fetch.OffsetFetchRequestTopic("orders", [3])]
    (topic,) = refused(offset_fetch.OffsetFetchRequest("g", topics), 1).topics
    (partition,) = topic.partitions
    assert (partition.partition_index, partition.committed_offset, partition.error_code) == (3, -1, ERROR)
    whole = refused(offset_fetch.OffsetFetchRequest("g", topics), 2)
    assert (whole.error_code, whole.topics) == (ERROR, [])
    groups = [offset_fetch.OffsetFetchRequestGroup("g", topics=None)]
    answer = refused(offset_fetch.OffsetFetchRequest(groups=groups), 8)
    assert [(group.group_id, group.error_code) for group in answer.groups] == [("g", ERROR)]


def test_from_version_4_on_find_coordinator_refuses_each_key_separately() -> None:
    one = refused(find.FindCoordinatorRequest("g", 0), 3)
    assert (one.error_code, one.error_message, one.node_id, one.port) == (ERROR, MESSAGES[ERROR], -1, -1)
    (each,) = refused(find.FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 4).coordinators
    assert (each.key, each.error_code, each.error_message) == ("g", ERROR, MESSAGES[ERROR])
    assert (each.node_id, each.port) == (-1, -1)


def test_refused_creations_have_a_message_and_refused_deletions_do_not() -> None:
    created = create_topics.CreateTopicsRequest([create_topics.CreatableTopic("orders", 1, 1)], 1000)
    (topic,) = refused(created, 7).topics
    assert (topic.name, topic.error_code, topic.error_message) == ("orders", ERROR, MESSAGE)
    by_name = delete_topics.DeleteTopicsRequest(topic_names=["orders"], timeout_ms=1000)
    by_id = delete_topics.DeleteTopicsRequest([delete_topics.DeleteTopicState(None, TOPIC_ID)], timeout_ms=1000)
    for request, version, name in ((by_name, 5, "orders"), (by_id, 6, None)):
        (topic,) = refused(request, version).responses
        assert (topic.name, topic.error_code, topic.error_message) == (name, ERROR, None)


@pytest.mark.parametrize(("version", "whole"), [(3, 0), (4, ERROR)])
def test_a_refused_add_partitions_to_txn_has_one_error_for_a_broker_and_an_error_per_partition_for_a_client(
    version: int, whole: int
) -> None:
    topics = [add_partitions.AddPartitionsToTxnTopic("orders", [0, 3])]
    request = (
        add_partitions.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="t", v3_and_below_producer_id=1, v3_and_below_topics=topics
        )
        if version < 4
        else add_partitions.AddPartitionsToTxnRequest(
            [add_partitions.AddPartitionsToTxnTransaction("t", 1, 0, False, topics)]
        )
    )
    answer = refused(request, version)
    assert answer.error_code == whole
    reported = [
        (topic.name, partition.partition_index, partition.partition_error_code)
        for topic in answer.results_by_topic_v3_and_below
        for partition in topic.results_by_partition
    ]
    assert reported == ([("orders", 0, ERROR), ("orders", 3, ERROR)] if version < 4 else [])
    assert answer.results_by_transaction == []


@pytest.mark.parametrize(("version", "whole"), [(0, 0), (1, ERROR), (2, ERROR)])
def test_a_refused_election_has_an_error_per_partition_and_from_version_1_on_one_for_the_request(
    version: int, whole: int
) -> None:
    request = elect_leaders.ElectLeadersRequest(0, [elect_leaders.TopicPartitions("orders", [3])], 1000)
    answer = refused(request, version)
    assert answer.error_code == whole
    (topic,) = answer.replica_election_results
    assert [(p.partition_id, p.error_code, p.error_message) for p in topic.partition_result] == [(3, ERROR, MESSAGE)]


def test_a_refused_alter_replica_log_dirs_has_one_entry_for_each_topic() -> None:
    """A topic that is named for several folders has one entry."""
    moved = [
        log_dirs.AlterReplicaLogDir(path, [log_dirs.AlterReplicaLogDirTopic("orders", [partition])])
        for path, partition in (("/a", 0), ("/b", 3))
    ]
    (topic,) = refused(log_dirs.AlterReplicaLogDirsRequest(moved), 2).results
    assert topic.topic_name == "orders"
    assert [(p.partition_index, p.error_code) for p in topic.partitions] == [(0, ERROR), (3, ERROR)]


def test_changes_of_users_are_refused_once_for_each_user() -> None:
    request = alter_users.AlterUserScramCredentialsRequest(
        [alter_users.ScramCredentialDeletion("b", 1)],
        [alter_users.ScramCredentialUpsertion(name, 1, 4096, b"salt", b"hash") for name in ("b", "a")],
    )
    reported = [(user.user, user.error_code, user.error_message) for user in refused(request, 0).results]
    assert reported == [("a", ERROR, MESSAGE), ("b", ERROR, MESSAGE)]


def test_changes_of_quotas_are_refused_with_the_default_message() -> None:
    entry = alter_quotas.EntryData([alter_quotas.EntityData("user", None)], [])
    (answer,) = refused(alter_quotas.AlterClientQuotasRequest([entry], False), 1).entries
    assert (answer.error_code, answer.error_message) == (ERROR, MESSAGES[ERROR])
    assert [(part.entity_type, part.entity_name) for part in answer.entity] == [("user", None)]
