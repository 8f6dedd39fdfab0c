"""Topics are created, described, enlarged and deleted as in Apache Kafka 4.4.0; the messages are Kafka's."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from oncelog.broker.core.registry import SERVED
from oncelog.broker.core.requests.tasks import AT_ONCE
from oncelog.broker.server.disk.memory_disk import MemoryDisk
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from oncelog.protocol.generated.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from oncelog.protocol.generated.delete_topics_response import DeleteTopicsResponse
from oncelog.protocol.generated.describe_topic_partitions_request import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
from oncelog.protocol.generated.metadata_response import MetadataResponse
from oncelog.types import TopicPartition
from tests.support.frames import encode_request
from tests.unit.broker.core.conftest import NOW_MS, Admin, RecordingChannel

NO_ID = bytes(16)


def create(admin: Admin, *topics: CreatableTopic, validate_only: bool = False, version: int = 7) -> Any:
    return admin.ask(CreateTopicsRequest(list(topics), 1000, validate_only), version).topics


def topic(name: str, partitions: int = 1, factor: int = 1, **overrides: str | None) -> CreatableTopic:
    settings = [CreatableTopicConfig(key.replace("_", "."), value) for key, value in overrides.items()]
    return CreatableTopic(name, partitions, factor, [], settings)


def metadata(admin: Admin, *names: str, version: int = 13, auto: bool = False) -> Any:
    return admin.ask(MetadataRequest([MetadataRequestTopic(NO_ID, name) for name in names], auto), version)


@pytest.mark.parametrize("key", sorted(key for key, served in SERVED.items() if not served.module))
def test_each_api_module_names_its_key_and_its_versions(key: ApiKey) -> None:
    served = SERVED[key]
    versions = f"versions {served.low}-{served.high}" if served.low < served.high else f"version {served.low}"
    opening = str(import_module(f"oncelog.broker.core.apis.{served.kind}.{key.name.lower()}").__doc__).partition("\n")[
        0
    ]
    assert f"(key {key.value}), {versions}" in opening


def test_a_topic_exists_when_its_creation_is_answered(admin: Admin) -> None:
    (made,) = create(admin, topic("t", 3, retention_ms="5"))
    assert (made.error_code, made.error_message, made.num_partitions, made.replication_factor) == (0, None, 3, 1)
    shown = {entry.name: (entry.value, entry.config_source) for entry in made.configs}
    assert shown["retention.ms"] == ("5", 1)
    assert shown["segment.bytes"] == ("1073741824", 5)
    (found,) = metadata(admin, "t").topics
    assert (found.topic_id, found.is_internal) == (made.topic_id, False)
    assert [(p.partition_index, p.leader_id, p.leader_epoch, p.isr_nodes) for p in found.partitions] == [
        (index, 1, 0, [1]) for index in range(3)
    ]


def test_counts_of_minus_1_are_the_brokers_defaults() -> None:
    admin = Admin(**{"num.partitions": "4"})
    assert create(admin, topic("t", -1, -1))[0].num_partitions == 4


@pytest.mark.parametrize(
    ("wanted", "error", "message"),
    [
        (topic("a.b", 0), Error.INVALID_TOPIC_EXCEPTION, "Topic 'a.b' collides with existing topic: a_b"),
        (topic("a_b"), Error.TOPIC_ALREADY_EXISTS, "Topic 'a_b' already exists."),
        (
            topic("x", 0),
            Error.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        ),
        (
            topic("x", 1, 0),
            Error.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            topic("x", 1, 3),
            Error.INVALID_REPLICATION_FACTOR,
            "Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached "
            "because only 1 broker(s) are registered or some brokers have all their log directories cordoned.",
        ),
        (topic("x", nope="1"), Error.INVALID_CONFIG, "Unknown topic config name: nope"),
        (
            topic("x", retention_ms="y"),
            Error.INVALID_CONFIG,
            "Invalid value y for configuration retention.ms: Not a number of type LONG",
        ),
        (
            topic("__cluster_metadata"),
            Error.INVALID_REQUEST,
            "Creation of internal topic __cluster_metadata is prohibited.",
        ),
        (
            topic("x", 10_001),
            Error.POLICY_VIOLATION,
            "Excessively large number of partitions per request.",
        ),
        (
            topic("x", 10_000),
            Error.POLICY_VIOLATION,
            "Unable to perform excessively large batch operation.",
        ),
    ],
    ids=lambda value: value.name if isinstance(value, CreatableTopic) else None,
)
def test_a_topic_that_cannot_be_created_is_refused_in_kafkas_words(
    admin: Admin, wanted: CreatableTopic, error: Error, message: str
) -> None:
    create(admin, topic("a_b"))
    before = admin.broker.metadata.topics()
    (refused,) = create(admin, wanted)
    assert (refused.error_code, refused.error_message, refused.topic_id) == (error, message, NO_ID)
    assert admin.broker.metadata.topics() == before


def test_a_topic_name_given_twice_is_refused_and_the_other_topics_are_created(admin: Admin) -> None:
    answers = {answer.name: answer.error_code for answer in create(admin, topic("a"), topic("b"), topic("a"))}
    assert answers == {"a": Error.INVALID_REQUEST, "b": Error.NONE}
    assert [info.name for info in admin.broker.metadata.topics()] == ["b"]


def test_manual_assignments_must_list_partitions_from_0_on_and_only_this_broker(admin: Admin) -> None:
    def refusal(*assigned: tuple[int, list[int]]) -> str | None:
        wanted = CreatableTopic("m", -1, -1, [CreatableReplicaAssignment(*each) for each in assigned], [])
        return create(admin, wanted, validate_only=True)[0].error_message  # type: ignore[no-any-return]

    assert refusal((1, [1]), (0, [1])) is None
    assert refusal((1, [1])) == "partitions should be a consecutive 0-based integer sequence"
    assert refusal((0, [1]), (0, [1])) == "Found multiple manual partition assignments for partition 0"
    assert refusal((0, [2])) == ("The manual partition assignment includes broker 2, but no such broker is registered.")


def test_a_topic_outlives_the_broker(tmp_path: Path) -> None:
    path, disk = str(tmp_path / "metadata.sqlite"), MemoryDisk()
    first = Admin(path, disk)
    (made,) = create(first, topic("t", 2, cleanup_policy="compact"))
    first.broker.stop(NOW_MS)
    second = Admin(path, disk)
    (found,) = metadata(second, "t").topics
    assert found.topic_id == made.topic_id
    assert [partition.leader_epoch for partition in found.partitions] == [1, 1]
    second.broker.stop(NOW_MS)


def test_metadata_of_all_topics_depends_on_the_version(admin: Admin) -> None:
    create(admin, topic("b"), topic("a"))
    assert [found.name for found in admin.ask(MetadataRequest([], True), 0).topics] == ["a", "b"]
    assert admin.ask(MetadataRequest([], True), 1).topics == []
    assert [found.name for found in admin.ask(MetadataRequest(None, True), 1).topics] == ["a", "b"]


def test_metadata_reports_the_advertised_address(admin: Admin) -> None:
    answer = metadata(admin)
    (node,) = answer.brokers
    assert (node.node_id, node.host, node.port, node.rack) == (1, "broker.example", 9092, "rack-1")
    assert (answer.controller_id, answer.cluster_id) == (1, admin.broker.metadata.cluster_id)


def test_a_missing_topic_is_created_only_if_client_and_broker_allow_it() -> None:
    admin = Admin()
    assert metadata(admin, "t").topics[0].error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert metadata(admin, "t", auto=True).topics[0].error_code == Error.NONE
    strict = Admin(**{"auto.create.topics.enable": "false"})
    assert metadata(strict, "t", auto=True).topics[0].error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert strict.ask(MetadataRequest([MetadataRequestTopic(NO_ID, "t")], True), 0).topics[0].error_code == 3


def test_missing_topics_up_to_the_limit_are_created_by_one_request(
    admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in Apache Kafka 4.4.0, which makes none of 5,001: each takes two records of one batch of its metadata."""
    monkeypatch.setattr("oncelog.broker.core.apis.topics.metadata.MAX_PARTITIONS_OF_A_REQUEST", 6)
    create(admin, topic("there"))
    refused = metadata(admin, "there", "a", "b", "c", "d", auto=True).topics
    assert [found.error_code for found in refused] == [0] + [Error.UNKNOWN_TOPIC_OR_PARTITION] * 4
    assert [found.error_code for found in metadata(admin, "there", "a", "b", "c", auto=True).topics] == [0] * 4


def test_an_internal_topic_is_created_with_its_own_settings(admin: Admin) -> None:
    (made,) = metadata(admin, "__consumer_offsets", auto=True).topics
    assert (made.error_code, made.is_internal, len(made.partitions)) == (0, True, 50)
    info = admin.broker.metadata.topic("__consumer_offsets")
    assert info is not None and info.config.cleanup_policy == ("compact",)


def test_a_partition_whose_disk_failed_has_no_leader(admin: Admin) -> None:
    create(admin, topic("t", 2))
    failed = admin.broker.partition(TopicPartition("t", 1))
    assert failed is not None
    failed.flush_failed("no space")
    partitions = metadata(admin, "t").topics[0].partitions
    assert [(p.error_code, p.leader_id, p.offline_replicas) for p in partitions] == [
        (Error.NONE, 1, []),
        (Error.LEADER_NOT_AVAILABLE, -1, [1]),
    ]


def test_a_deleted_topic_is_gone_at_once(admin: Admin) -> None:
    (made,) = create(admin, topic("t"))
    state = [DeleteTopicState(None, made.topic_id), DeleteTopicState("no", NO_ID)]
    answers = admin.ask(DeleteTopicsRequest(state, [], 1000)).responses
    assert sorted((answer.name, answer.error_code) for answer in answers) == [("no", 3), ("t", 0)]
    assert metadata(admin, "t").topics[0].error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert admin.broker.partition(TopicPartition("t", 0)) is None
    assert create(admin, topic("t"))[0].topic_id not in (made.topic_id, NO_ID)


@pytest.mark.parametrize(("version", "error"), [(2, Error.INVALID_REQUEST), (6, Error.TOPIC_DELETION_DISABLED)])
def test_a_setting_can_forbid_the_deletion_of_topics(version: int, error: Error) -> None:
    admin = Admin(**{"delete.topic.enable": "false"})
    create(admin, topic("t"))
    request = DeleteTopicsRequest([], ["t"], 1000) if version < 6 else DeleteTopicsRequest([DeleteTopicState("t")], [])
    assert [answer.error_code for answer in admin.ask(request, version).responses] == [error]
    assert admin.broker.metadata.topic("t") is not None


def test_each_added_partition_has_a_leader(admin: Admin) -> None:
    create(admin, topic("t", 1))

    def grow(count: int, assigned: list[list[int]] | None = None, *, validate_only: bool = False) -> Any:
        ids = None if assigned is None else [CreatePartitionsAssignment(each) for each in assigned]
        request = CreatePartitionsRequest([CreatePartitionsTopic("t", count, ids)], 1000, validate_only)
        (result,) = admin.ask(request).results
        return result.error_code, result.error_message

    assert grow(3, validate_only=True) == (0, None)
    assert grow(1) == (Error.INVALID_PARTITIONS, "Topic already has 1 partition(s).")
    assert grow(3, [[1], [1]]) == (0, None)
    assert [p.leader_id for p in metadata(admin, "t").topics[0].partitions] == [1, 1, 1]
    assert grow(2) == (
        Error.INVALID_PARTITIONS,
        "The topic t currently has 3 partition(s); 2 would not be an increase.",
    )
    assert grow(4, [[2]])[0] == Error.INVALID_REPLICA_ASSIGNMENT


def test_pages_of_partitions_cover_all_of_them_once(admin: Admin) -> None:
    create(admin, topic("a", 3), topic("b", 1), topic("c", 4))
    for size in range(1, 9):
        seen = []
        cursor = None
        while True:
            answer = admin.ask(DescribeTopicPartitionsRequest([], size, cursor))
            page = [(found.name, p.partition_index) for found in answer.topics for p in found.partitions]
            assert len(page) <= size
            seen += page
            if answer.next_cursor is None:
                break
            cursor = Cursor(answer.next_cursor.topic_name, answer.next_cursor.partition_index)
        assert seen == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("c", 0), ("c", 1), ("c", 2), ("c", 3)]


def test_a_missing_topic_is_reported_in_its_page(admin: Admin) -> None:
    answer = admin.ask(DescribeTopicPartitionsRequest([TopicRequest("no"), TopicRequest("b@d")], 10, None))
    assert [(found.name, found.error_code) for found in answer.topics] == [("b@d", 17), ("no", 3)]


def test_a_recreated_topic_survives_a_deletion_by_the_id_of_the_former_topic(admin: Admin) -> None:
    ids = [admin.broker.topics.create(f"t{index}", 1, {}, NOW_MS).topic_id for index in range(AT_ONCE + 5)]
    request = DeleteTopicsRequest([DeleteTopicState(topic_id=topic_id, name=None) for topic_id in ids], [], 1000)
    channel = RecordingChannel()
    frame = encode_request(request.API_KEY, 6, 7, "test", request.encode(6))
    admin.broker.receive(channel, 0, memoryview(frame)[4:], NOW_MS)
    assert not channel.answers
    last = f"t{len(ids) - 1}"
    admin.broker.topics.delete(last, NOW_MS)
    again = admin.broker.topics.create(last, 1, {}, NOW_MS)
    admin.broker.tasks.finish()
    assert admin.broker.metadata.topic(last) == again
    answer = DeleteTopicsResponse.decode(channel.answers[0], 6, 9)
    assert [result.error_code for result in answer.responses] == [0] * (len(ids) - 1) + [Error.UNKNOWN_TOPIC_ID]


def test_a_producers_metadata_request_does_not_recreate_a_topic_before_its_deletion_is_answered(admin: Admin) -> None:
    names = [f"t{index}" for index in range(AT_ONCE + 5)]
    for name in names:
        admin.broker.topics.create(name, 1, {}, NOW_MS)
    request = DeleteTopicsRequest([DeleteTopicState(name=name) for name in names], [], 1000)
    deleting = RecordingChannel()
    frame = encode_request(request.API_KEY, 6, 7, "test", request.encode(6))
    admin.broker.receive(deleting, 0, memoryview(frame)[4:], NOW_MS)
    assert not deleting.answers
    asked = MetadataRequest([MetadataRequestTopic(name="t0"), MetadataRequestTopic(name="new")])
    producer = RecordingChannel()
    frame = encode_request(asked.API_KEY, 12, 8, "test", asked.encode(12))
    admin.broker.receive(producer, 0, memoryview(frame)[4:], NOW_MS)
    admin.broker.tasks.finish()
    answer = MetadataResponse.decode(producer.answers[0], 12, 9)
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [
        ("t0", Error.UNKNOWN_TOPIC_OR_PARTITION),
        ("new", Error.NONE),
    ]
    (made,) = admin.ask(CreateTopicsRequest([CreatableTopic("t0", 1, 1)], 1000)).topics
    assert made.error_code == Error.NONE
    admin.broker.topics.delete("t0", NOW_MS)
    (again,) = admin.ask(asked).topics[:1]
    assert (again.name, again.error_code) == ("t0", Error.NONE)


def test_thousands_of_settings_of_one_topic_are_refused(admin: Admin) -> None:
    configs = [CreatableTopicConfig(f"x{number}", "1") for number in range(1001)]
    request = CreateTopicsRequest([CreatableTopic("t", 1, 1, configs=configs)], 1000)
    (result,) = admin.ask(request).topics
    assert (result.error_code, result.error_message) == (
        Error.INVALID_REQUEST,
        "1001 settings of one resource; at most 1000 are taken",
    )
