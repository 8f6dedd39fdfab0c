"""Settings are described, changed and in force at once; sources and messages are Apache Kafka 4.4.0's."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oncelog.broker.server.disk.memory_disk import MemoryDisk
from oncelog.errors import Error
from oncelog.protocol.generated import alter_client_quotas_request as quotas
from oncelog.protocol.generated import alter_configs_request as replacing
from oncelog.protocol.generated import describe_client_quotas_request as describe_quotas
from oncelog.protocol.generated import incremental_alter_configs_request as changing
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreateTopicsRequest
from oncelog.protocol.generated.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from oncelog.protocol.generated.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from oncelog.protocol.generated.describe_log_dirs_request import DescribableLogDirTopic, DescribeLogDirsRequest
from oncelog.protocol.generated.list_config_resources_request import ListConfigResourcesRequest
from oncelog.records.batch import encode_batch
from oncelog.records.record import Record
from oncelog.types import TopicPartition
from tests.support.work import calls_of
from tests.unit.broker.core.conftest import NOW_MS, Admin

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
DYNAMIC_TOPIC, DYNAMIC_BROKER, DYNAMIC_DEFAULT, STATIC, DEFAULT = 1, 2, 3, 4, 5


@pytest.fixture
def with_topic(admin: Admin) -> Admin:
    admin.ask(CreateTopicsRequest([CreatableTopic("t", 2, 1, [], [])], 1000, False), 7)
    return admin


def described(admin: Admin, kind: int, name: str, *keys: str) -> dict[str, Any]:
    request = DescribeConfigsRequest([DescribeConfigsResource(kind, name, list(keys) or None)], True, True)
    (result,) = admin.ask(request).results
    assert result.error_code == 0
    return {entry.name: entry for entry in result.configs}


def synonyms(entry: Any) -> list[tuple[str, str, int]]:
    return [(synonym.name, synonym.value, synonym.source) for synonym in entry.synonyms]


def alter(
    admin: Admin, kind: int, name: str, *operations: tuple[str, int, str | None], validate_only: bool = False
) -> tuple[int, str | None]:
    configs = [changing.AlterableConfig(*operation) for operation in operations]
    request = changing.IncrementalAlterConfigsRequest(
        [changing.AlterConfigsResource(kind, name, configs)], validate_only
    )
    (response,) = admin.ask(request).responses
    return response.error_code, response.error_message


def replace(admin: Admin, kind: int, name: str, values: dict[str, str]) -> tuple[int, str | None]:
    configs = [replacing.AlterableConfig(*pair) for pair in values.items()]
    (response,) = admin.ask(
        replacing.AlterConfigsRequest([replacing.AlterConfigsResource(kind, name, configs)], False)
    ).responses
    return response.error_code, response.error_message


def log_config(admin: Admin, partition: int = 0) -> Any:
    found = admin.broker.partition(TopicPartition("t", partition))
    assert found is not None
    return found.log.config


def test_a_topic_override_applies_to_every_open_log_at_once(with_topic: Admin) -> None:
    assert alter(with_topic, TOPIC, "t", ("retention.ms", SET, "5")) == (0, None)
    assert [log_config(with_topic, index).retention_ms for index in (0, 1)] == [5, 5]
    assert alter(with_topic, TOPIC, "t", ("retention.ms", DELETE, None)) == (0, None)
    assert log_config(with_topic).retention_ms == 604_800_000


def test_entries_are_appended_to_and_subtracted_from_a_list_setting(with_topic: Admin) -> None:
    for operation, text, expected in (
        (APPEND, "compact", "delete,compact"),
        (APPEND, "compact,delete", "delete,compact"),
        (SUBTRACT, "delete", "compact"),
        (SUBTRACT, "compact", ""),
    ):
        assert alter(with_topic, TOPIC, "t", ("cleanup.policy", operation, text)) == (0, None)
        assert described(with_topic, TOPIC, "t")["cleanup.policy"].value == expected
    assert alter(with_topic, TOPIC, "t", ("retention.ms", APPEND, "5")) == (
        Error.INVALID_CONFIG,
        "Can't APPEND to key retention.ms because its type is not LIST.",
    )


def test_a_refused_change_changes_nothing(with_topic: Admin) -> None:
    refused = alter(with_topic, TOPIC, "t", ("retention.ms", SET, "5"), ("segment.ms", SET, "0"))
    assert refused[0] == Error.INVALID_CONFIG
    assert alter(with_topic, TOPIC, "t", ("retention.ms", SET, "5"), validate_only=True) == (0, None)
    assert described(with_topic, TOPIC, "t")["retention.ms"].config_source == DEFAULT
    assert log_config(with_topic).retention_ms == 604_800_000


@pytest.mark.parametrize(
    ("pattern", "error"),
    [
        ("apache-kafka-(java|python)", Error.NONE),
        ("[", Error.INVALID_CONFIG),
        ("a{1001}", Error.INVALID_CONFIG),
        ("(" * 3000 + ")" * 3000, Error.NONE),
        ("(a|b)" * 6000, Error.INVALID_CONFIG),
    ],
)
def test_an_invalid_client_metrics_pattern_is_refused_and_delays_nobody(
    admin: Admin, pattern: str, error: Error
) -> None:
    """Python's ``re`` failed on one of these, which ended the connection, and compiled the long ones for a second."""
    answers: list[int] = []
    asked = ("match", SET, f"client_software_name={pattern}")
    assert calls_of(lambda: answers.append(alter(admin, METRICS, "m", asked)[0])) < 200_000
    assert answers == [error]


def test_a_change_of_a_broker_setting_changes_the_default_of_topics_at_once(with_topic: Admin) -> None:
    assert alter(with_topic, BROKER, "", ("log.retention.ms", SET, "7")) == (0, None)
    assert alter(with_topic, BROKER, "1", ("log.retention.ms", SET, "6")) == (0, None)
    assert log_config(with_topic).retention_ms == 6
    assert alter(with_topic, TOPIC, "t", ("retention.ms", SET, "5")) == (0, None)
    assert synonyms(described(with_topic, TOPIC, "t")["retention.ms"]) == [
        ("retention.ms", "5", DYNAMIC_TOPIC),
        ("log.retention.ms", "6", DYNAMIC_BROKER),
        ("log.retention.ms", "7", DYNAMIC_DEFAULT),
        ("log.retention.hours", "168", DEFAULT),
    ]
    assert alter(with_topic, BROKER, "1", ("log.retention.ms", DELETE, None)) == (0, None)
    assert alter(with_topic, TOPIC, "t", ("retention.ms", DELETE, None)) == (0, None)
    assert log_config(with_topic).retention_ms == 7


def test_a_brokers_setting_survives_a_restart(tmp_path: Path) -> None:
    path, disk = str(tmp_path / "metadata.sqlite"), MemoryDisk()
    first = Admin(path, disk)
    assert alter(first, BROKER, "1", ("log.retention.ms", SET, "6"), ("max.connections", SET, "9")) == (0, None)
    first.broker.stop(NOW_MS)
    second = Admin(path, disk)
    assert (second.broker.config.max_connections, second.broker.metadata.topic_defaults.retention_ms) == (9, 6)
    second.broker.stop(NOW_MS)


def test_a_setting_given_at_the_start_is_reported_as_static() -> None:
    admin = Admin(**{"log.retention.hours": "2", "num.io.threads": "4", "ssl.key.password": "secret"})
    entries = described(admin, BROKER, "1")
    assert synonyms(entries["num.io.threads"]) == [("num.io.threads", "4", STATIC), ("num.io.threads", "8", DEFAULT)]
    assert (entries["log.retention.hours"].value, entries["log.retention.hours"].read_only) == ("2", True)
    assert (entries["ssl.key.password"].value, entries["ssl.key.password"].is_sensitive) == (None, True)
    assert entries["advertised.listeners"].value == "PLAINTEXT://broker.example:9092"
    assert entries["num.partitions"].documentation == "Partitions of a topic that is created without a count."
    assert entries["listeners"].documentation.startswith("Where to listen")
    assert entries["quota.window.size.seconds"].documentation.startswith("Length of a quota's window")
    assert entries["group.consumer.max.session.timeout.ms"].documentation.startswith("Bound of a group's setting")
    assert entries["num.io.threads"].documentation.startswith("Checked and shown as Apache Kafka does")


@pytest.mark.parametrize(
    ("name", "operation", "refusal"),
    [
        ("2", ("log.retention.ms", SET, "5"), (42, "Unexpected broker id, expected 1, but received 2")),
        ("x", ("log.retention.ms", SET, "5"), (42, "Node id must be an integer, but it is: x")),
        ("1", ("node.id", SET, "5"), (42, "Cannot update these configs dynamically: [node.id]")),
        (
            "",
            ("listeners", SET, "PLAINTEXT://:1"),
            (42, "Cannot update these configs at default cluster level, broker id must be specified: [listeners]"),
        ),
        ("1", ("nope", APPEND, "3"), (40, "Unknown config name: nope")),
        ("1", ("oncelog.flush.policy", SET, "none"), (42, "Cannot update these configs dynamically: [oncelog.")),
        (
            "",
            ("listener.name.x.nope", SET, "1"),
            (42, "Cannot update these configs at default cluster level, broker id must be specified: [listener.name.x"),
        ),
        ("1", ("log.retention.ms", SET, "x"), (42, "Invalid value x for configuration log.retention.ms")),
        ("", ("min.insync.replicas", SET, "0"), (42, "Invalid value 0 for configuration min.insync.replicas")),
    ],
)
def test_an_invalid_broker_setting_is_refused(
    admin: Admin, name: str, operation: tuple[str, int, str], refusal: tuple[int, str]
) -> None:
    error, message = alter(admin, BROKER, name, operation)
    assert error == refusal[0] and message is not None and message.startswith(refusal[1])
    assert admin.broker.config.dynamic == {}


def test_an_invalid_cluster_wide_setting_is_refused_even_if_this_broker_overrides_it(admin: Admin) -> None:
    assert alter(admin, BROKER, "1", ("log.retention.ms", SET, "1")) == (0, None)
    assert alter(admin, BROKER, "", ("log.retention.ms", SET, "x"))[0] == Error.INVALID_REQUEST


def test_min_insync_replicas_is_one_cluster_wide_setting_and_always_set(admin: Admin) -> None:
    name, own, every = "min.insync.replicas", "Broker-level", "Cluster-level"
    assert alter(admin, BROKER, "", (name, SET, "2")) == (0, None)
    refusals = {
        own: (
            alter(admin, BROKER, "1", (name, SET, "2")),
            alter(admin, BROKER, "1", (name, DELETE, None)),
            replace(admin, BROKER, "1", {name: "2"}),
        ),
        every: (alter(admin, BROKER, "", (name, DELETE, None)), replace(admin, BROKER, "", {"log.retention.ms": "1"})),
    }
    for level, answers in refusals.items():
        for error, message in answers:
            assert error == Error.INVALID_CONFIG and message is not None and message.startswith(f"{level} {name}")
    assert admin.broker.config.dynamic == {name: "2"}
    assert replace(admin, BROKER, "1", {}) == (0, None)


def test_alter_configs_replaces_all_settings(with_topic: Admin) -> None:
    assert replace(with_topic, TOPIC, "t", {"retention.ms": "5", "segment.ms": "6"}) == (0, None)
    assert replace(with_topic, TOPIC, "t", {"segment.ms": "7"}) == (0, None)
    assert (log_config(with_topic).retention_ms, log_config(with_topic).segment_ms) == (604_800_000, 7)
    assert replace(with_topic, LOGGER, "1", {"root": "INFO"}) == (42, "Unknown resource type 8")


def test_settings_of_a_group_lie_within_the_bounds_that_the_broker_sets(admin: Admin) -> None:
    session = "consumer.session.timeout.ms"
    assert alter(admin, GROUP, "g", (session, SET, "50000")) == (0, None)
    assert alter(admin, GROUP, "g", (session, SET, "60001")) == (
        Error.INVALID_CONFIG,
        f"{session} must be in the range 45000 to 60000 inclusive.",
    )
    entry = described(admin, GROUP, "g")[session]
    assert synonyms(entry) == [(session, "50000", 8), (f"group.{session}", "45000", DEFAULT)]


@pytest.fixture
def levels() -> Iterator[None]:
    logger = logging.getLogger("oncelog.broker.core.broker")
    before = (logging.root.level, logger.level)
    yield
    logging.root.setLevel(before[0])
    logger.setLevel(before[1])


@pytest.mark.usefixtures("levels")
def test_loggers_of_this_process_accept_kafkas_levels(admin: Admin) -> None:
    name = "oncelog.broker.core.broker"
    assert alter(admin, LOGGER, "1", (name, SET, "TRACE"), ("root", SET, "ERROR")) == (0, None)
    entries = described(admin, LOGGER, "1")
    assert (entries[name].value, entries["root"].value) == ("TRACE", "ERROR")
    assert logging.getLogger(name).getEffectiveLevel() < logging.DEBUG
    assert alter(admin, LOGGER, "1", (name, DELETE, None)) == (0, None)
    assert described(admin, LOGGER, "1")[name].value == "ERROR"
    assert alter(admin, LOGGER, "1", ("root", DELETE, None))[0] == Error.INVALID_REQUEST
    assert alter(admin, LOGGER, "1", (name, SET, "loud"), ("root", SET, "INFO"))[0] == Error.INVALID_CONFIG
    assert logging.root.level == logging.ERROR


def test_resources_with_settings_are_listed(with_topic: Admin) -> None:
    alter(with_topic, GROUP, "g", ("consumer.session.timeout.ms", SET, "50000"))
    alter(with_topic, METRICS, "m", ("interval.ms", SET, "1000"))
    found = with_topic.ask(ListConfigResourcesRequest([])).config_resources
    assert {(resource.resource_type, resource.resource_name) for resource in found} == {
        (TOPIC, "t"),
        (BROKER, "1"),
        (LOGGER, "1"),
        (METRICS, "m"),
        (GROUP, "g"),
    }
    (only,) = with_topic.ask(ListConfigResourcesRequest(), 0).config_resources
    assert only.resource_name == "m"


def test_of_two_entries_for_one_quota_entity_the_first_applies(admin: Admin) -> None:
    entries = [
        quotas.EntryData(
            [quotas.EntityData("user", "a")], [quotas.OpData(key="producer_byte_rate", value=rate, remove=False)]
        )
        for rate in (3.0, 4.0)
    ]
    (answer,) = admin.ask(quotas.AlterClientQuotasRequest(entries, False)).entries
    assert answer.error_message == "Ignoring duplicate entity ClientQuotaEntity(entries={user=a})"
    (found,) = admin.ask(describe_quotas.DescribeClientQuotasRequest([], False)).entries
    assert [(value.key, value.value) for value in found.values] == [("producer_byte_rate", 3.0)]


def test_deleted_records_raise_the_log_start_up_to_the_high_watermark(with_topic: Admin) -> None:
    partition = with_topic.broker.partition(TopicPartition("t", 0))
    assert partition is not None
    values = [Record(offset, NOW_MS, None, b"v") for offset in range(5)]
    partition.append_client(encode_batch(values), NOW_MS)

    def delete(offset: int) -> tuple[int, int]:
        asked = DeleteRecordsTopic("t", [DeleteRecordsPartition(0, offset)])
        ((result,),) = (t.partitions for t in with_topic.ask(DeleteRecordsRequest([asked], 1000)).topics)
        return result.error_code, result.low_watermark

    assert delete(2) == (0, 2)
    assert delete(1) == (0, 2)
    assert delete(6) == (Error.OFFSET_OUT_OF_RANGE, -1)
    assert delete(-2) == (Error.OFFSET_OUT_OF_RANGE, -1)
    assert delete(-1) == (0, 5)
    assert partition.log.log_start_offset == 5


def test_records_of_internal_topics_are_not_deleted(admin: Admin) -> None:
    admin.broker.topics.ensure_internal("__consumer_offsets", NOW_MS)
    asked = DeleteRecordsTopic("__consumer_offsets", [DeleteRecordsPartition(0, -1)])
    ((result,),) = (t.partitions for t in admin.ask(DeleteRecordsRequest([asked], 1000)).topics)
    assert result.error_code == Error.INVALID_TOPIC_EXCEPTION


def test_describe_log_dirs_reports_the_size_of_each_partition(with_topic: Admin) -> None:
    partition = with_topic.broker.partition(TopicPartition("t", 1))
    assert partition is not None
    batch = encode_batch([Record(0, NOW_MS, None, b"v" * 100)])
    partition.append_client(batch, NOW_MS)
    (folder,) = with_topic.ask(DescribeLogDirsRequest(None)).results
    assert [(topic.name, p.partition_index, p.partition_size) for topic in folder.topics for p in topic.partitions] == [
        ("t", 0, 0),
        ("t", 1, len(batch)),
    ]


def test_from_version_4_on_the_size_of_the_volume_is_reported_if_there_is_one(
    with_topic: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reported(version: int) -> tuple[int, int]:
        (folder,) = with_topic.ask(DescribeLogDirsRequest(None), version).results
        return folder.total_bytes, folder.usable_bytes

    assert reported(4) == (-1, -1)
    monkeypatch.setattr(MemoryDisk, "space", lambda self: (1000, 30))
    assert reported(3) == (-1, -1)
    assert reported(4) == reported(5) == (1000, 30)


def test_a_partition_that_is_requested_twice_is_reported_once(with_topic: Admin) -> None:
    (folder,) = with_topic.ask(DescribeLogDirsRequest([DescribableLogDirTopic("t", [1, 1])])).results
    assert [part.partition_index for topic in folder.topics for part in topic.partitions] == [1]


def test_removing_a_quota_with_an_unknown_key_succeeds(admin: Admin) -> None:
    def asked(remove: bool) -> Any:
        ops = [quotas.OpData(key="nope", value=1.0, remove=remove)]
        (answer,) = admin.ask(
            quotas.AlterClientQuotasRequest([quotas.EntryData([quotas.EntityData("user", "a")], ops)], False)
        ).entries
        return answer.error_code

    assert (asked(False), asked(True)) == (Error.INVALID_REQUEST, Error.NONE)


def test_a_wrong_setting_is_reported_before_a_topic_that_does_not_exist(admin: Admin) -> None:
    def asked(value: str) -> Any:
        setting = changing.AlterableConfig("retention.ms", SET, value)
        resource = changing.AlterConfigsResource(TOPIC, "absent", [setting])
        (answer,) = admin.ask(changing.IncrementalAlterConfigsRequest([resource], False)).responses
        return answer.error_code

    assert (asked("x"), asked("1")) == (Error.INVALID_CONFIG, Error.UNKNOWN_TOPIC_OR_PARTITION)


def test_one_unknown_resource_type_refuses_the_whole_describe_request(with_topic: Admin) -> None:
    asked = [DescribeConfigsResource(kind, "t", None) for kind in (TOPIC, 99)]
    found = with_topic.ask(DescribeConfigsRequest(asked, False, False)).results
    assert [(result.error_code, result.configs) for result in found] == [(Error.INVALID_REQUEST, [])] * 2
