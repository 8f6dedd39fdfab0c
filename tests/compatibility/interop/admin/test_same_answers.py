"""The same admin requests to our broker and to a real Apache Kafka get the same answers, messages included.

Each scenario is a list of steps on topics of its own. A step that changes something is sent once to each broker; one
that reads is repeated on Apache Kafka until its controller's changes have reached its broker.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from oncelog.broker.server.embedded import Broker
from oncelog.protocol.generated import (
    alter_client_quotas_request as quotas,
)
from oncelog.protocol.generated import (
    alter_configs_request as replace_configs,
)
from oncelog.protocol.generated import (
    alter_partition_reassignments_request as reassign,
)
from oncelog.protocol.generated import (
    alter_replica_log_dirs_request as move,
)
from oncelog.protocol.generated import (
    consumer_group_heartbeat_request as heartbeat,
)
from oncelog.protocol.generated import (
    create_acls_request as create_acls,
)
from oncelog.protocol.generated import (
    create_partitions_request as partitions,
)
from oncelog.protocol.generated import (
    create_topics_request as create,
)
from oncelog.protocol.generated import (
    delete_acls_request as delete_acls,
)
from oncelog.protocol.generated import (
    delete_records_request as records,
)
from oncelog.protocol.generated import (
    delete_topics_request as delete,
)
from oncelog.protocol.generated import (
    describe_acls_request as describe_acls,
)
from oncelog.protocol.generated import (
    describe_client_quotas_request as describe_quotas,
)
from oncelog.protocol.generated import (
    describe_cluster_request as cluster,
)
from oncelog.protocol.generated import (
    describe_configs_request as describe,
)
from oncelog.protocol.generated import (
    describe_log_dirs_request as log_dirs,
)
from oncelog.protocol.generated import (
    describe_producers_request as producers,
)
from oncelog.protocol.generated import (
    describe_topic_partitions_request as pages,
)
from oncelog.protocol.generated import (
    describe_user_scram_credentials_request as scram,
)
from oncelog.protocol.generated import (
    elect_leaders_request as elect,
)
from oncelog.protocol.generated import (
    fetch_request,
)
from oncelog.protocol.generated import (
    find_coordinator_request as find,
)
from oncelog.protocol.generated import (
    incremental_alter_configs_request as configs,
)
from oncelog.protocol.generated import (
    list_config_resources_request as resources,
)
from oncelog.protocol.generated import (
    list_offsets_request as list_offsets,
)
from oncelog.protocol.generated import (
    list_partition_reassignments_request as reassignments,
)
from oncelog.protocol.generated import (
    metadata_request as metadata,
)
from oncelog.protocol.generated import (
    offset_commit_request as commits,
)
from oncelog.protocol.generated import (
    offset_delete_request as forget,
)
from oncelog.protocol.generated import (
    produce_request as produce,
)
from oncelog.protocol.generated import (
    write_txn_markers_request as markers,
)
from oncelog.protocol.wire import Message
from oncelog.records.batch import encode_batch
from oncelog.records.record import Record
from tests.compatibility.interop.admin.admin_wire import Connection, comparable
from tests.support.apache_kafka import ApacheKafka

pytestmark = pytest.mark.kafka

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
NO_ID = bytes(16)
TIMEOUT_S = 60


class Pair:
    """Both brokers. ``change`` and ``read`` compare their answers and give ours."""

    def __init__(self, ours: Connection, kafka: Connection) -> None:
        self.ours = ours
        self.kafka = kafka

    def change(self, request: Message, version: int | None = None) -> Any:
        version = type(request).MAX_VERSION if version is None else version
        ours = self.ours.call(request, version)
        assert comparable(ours) == comparable(self.kafka.call(request, version))
        return ours

    def read(self, request: Message, version: int | None = None, *, kafka_request: Message | None = None) -> Any:
        version = type(request).MAX_VERSION if version is None else version
        ours = self.ours.call(request, version)
        mine = comparable(ours)
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            theirs = comparable(self.kafka.call(kafka_request or request, version))
            if theirs == mine or time.monotonic() > deadline:
                assert mine == theirs
                return ours
            time.sleep(0.02)

    def make(self, name: str, count: int = 1, **overrides: str) -> None:
        """A topic on both brokers, visible on both."""
        settings = [create.CreatableTopicConfig(key.replace("_", "."), value) for key, value in overrides.items()]
        request = create.CreateTopicsRequest([create.CreatableTopic(name, count, 1, [], settings)], 10_000, False)
        for connection in (self.ours, self.kafka):
            answer: Any = connection.call(request, 7)
            assert answer.topics[0].error_code == 0
        self.read(metadata.MetadataRequest([metadata.MetadataRequestTopic(NO_ID, name)], False))


@pytest.fixture(scope="module")
def brokers() -> Iterator[tuple[Broker, ApacheKafka]]:
    with ApacheKafka() as kafka, Broker(settings={"group.initial.rebalance.delay.ms": 0}) as ours:
        yield ours, kafka


@pytest.fixture
def pair(brokers: tuple[Broker, ApacheKafka]) -> Iterator[Pair]:
    ours, kafka = (Connection(broker.bootstrap_servers) for broker in brokers)
    yield Pair(ours, kafka)
    ours.close()
    kafka.close()


def _topic(
    name: str, count: int, factor: int, *, assigned: dict[int, list[int]] | None = None, **overrides: Any
) -> Any:
    return create.CreatableTopic(
        name,
        count,
        factor,
        [create.CreatableReplicaAssignment(index, ids) for index, ids in (assigned or {}).items()],
        [create.CreatableTopicConfig(key.replace("_", "."), value) for key, value in overrides.items()],
    )


def _create(*topics: Any, validate_only: bool = False) -> Message:
    return create.CreateTopicsRequest(list(topics), 10_000, validate_only)


class TestCreateTopics:
    def check(self, pair: Pair, *topics: Any, validate_only: bool = False, version: int = 4) -> Any:
        """Version 4 has no topic ids in its answer, and the two brokers' ids differ."""
        return pair.change(_create(*topics, validate_only=validate_only), version)

    def test_an_existing_or_repeated_name_is_refused(self, pair: Pair) -> None:
        self.check(pair, _topic("ct-1", 3, 1))
        self.check(pair, _topic("ct-1", 3, 1), _topic("ct-2", 1, 1))
        self.check(pair, _topic("ct-3", 1, 1), _topic("ct-3", 2, 1), _topic("ct-4", -1, -1))

    @pytest.mark.parametrize("name", ["", ".", "..", "a b", "ä", "x" * 249, "x" * 250, "__cluster_metadata", "a/b"])
    def test_names_are_checked_as_in_kafka(self, pair: Pair, name: str) -> None:
        self.check(pair, _topic(name, 1, 1), validate_only=True)

    def test_names_that_differ_by_dot_and_underscore_collide(self, pair: Pair) -> None:
        self.check(pair, _topic("ct.col", 1, 1))
        self.check(pair, _topic("ct_col", 1, 1))
        self.check(pair, _topic("ct.col", 1, 1), _topic("ct-other", 1, 1))

    @pytest.mark.parametrize(("count", "factor"), [(0, 1), (-2, 1), (1, 3), (1, 0), (1, -2), (0, 5), (-1, -1)])
    def test_partition_and_replica_counts_are_checked_as_in_kafka(self, pair: Pair, count: int, factor: int) -> None:
        self.check(pair, _topic("ct-count", count, factor), validate_only=True)

    @pytest.mark.parametrize("count", [9_999, 10_000, 10_001])
    def test_too_many_partitions_are_refused(self, pair: Pair, count: int) -> None:
        self.check(pair, _topic("ct-many", count, 1), _topic("ct-more", 1, 1), validate_only=True)

    @pytest.mark.parametrize(
        "assigned",
        [
            {0: [1], 1: [1]},
            {0: [2]},
            {1: [1]},
            {0: []},
            {0: [1, 1]},
            {0: [-1]},
            {0: [2, 1]},
        ],
        ids=str,
    )
    def test_manual_assignments_are_checked_as_in_kafka(self, pair: Pair, assigned: dict[int, list[int]]) -> None:
        self.check(pair, _topic("ct-manual", -1, -1, assigned=assigned), validate_only=True)

    @pytest.mark.parametrize(("count", "factor"), [(2, 1), (-1, 1), (2, -1)])
    def test_a_manual_assignment_excludes_partition_and_replica_counts(
        self, pair: Pair, count: int, factor: int
    ) -> None:
        self.check(pair, _topic("ct-manual", count, factor, assigned={0: [1]}), validate_only=True)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("cleanup.policy", ""),
            ("cleanup.policy", ","),
            ("cleanup.policy", "delete, compact"),
            ("cleanup.policy", "delete,delete"),
            ("cleanup.policy", "none"),
            ("compression.gzip.level", "0"),
            ("compression.gzip.level", "-1"),
            ("compression.gzip.level", "10"),
            ("compression.lz4.level", "0"),
            ("compression.type", ""),
            ("compression.type", "brotli"),
            ("compression.zstd.level", "23"),
            ("flush.messages", "99999999999999999999"),
            ("internal.segment.bytes", "10"),
            ("internal.segment.bytes", "abc"),
            ("leader.replication.throttled.replicas", "*"),
            ("leader.replication.throttled.replicas", "*,0:1"),
            ("leader.replication.throttled.replicas", "0:1,1:2"),
            ("leader.replication.throttled.replicas", "abc"),
            ("local.retention.bytes", "-3"),
            ("local.retention.ms", "1000000000000"),
            ("max.message.bytes", "-1"),
            ("message.downconversion.enable", "true"),
            ("message.format.version", "3.0"),
            ("message.timestamp.type", "createtime"),
            ("min.cleanable.dirty.ratio", "-0.1"),
            ("min.cleanable.dirty.ratio", "0.5f"),
            ("min.cleanable.dirty.ratio", "1e-1"),
            ("min.cleanable.dirty.ratio", "2"),
            ("min.cleanable.dirty.ratio", "nan"),
            ("min.insync.replicas", "0"),
            ("min.insync.replicas", "2"),
            ("preallocate", "TRUE"),
            ("preallocate", "yes"),
            ("remote.log.copy.disable", "true"),
            ("remote.storage.enable", "true"),
            ("retention.bytes", "-2"),
            ("retention.ms", ""),
            ("retention.ms", " 7 "),
            ("retention.ms", "-5"),
            ("retention.ms", "1_0"),
            ("retention.ms", None),
            ("segment.bytes", "+2000000"),
            ("segment.bytes", "1e6"),
            ("segment.bytes", "3000000000"),
            ("segment.ms", "0"),
            ("", "x"),
            ("nope", "x"),
        ],
    )
    def test_every_kind_of_override_is_checked_as_in_kafka(self, pair: Pair, name: str, value: str | None) -> None:
        topic = create.CreatableTopic("ct-config", 1, 1, [], [create.CreatableTopicConfig(name, value)])
        self.check(pair, topic, validate_only=True)

    def test_several_overrides_are_checked_as_in_kafka(self, pair: Pair) -> None:
        for overrides in (
            {"min_compaction_lag_ms": "10", "max_compaction_lag_ms": "5"},
            {"segment_bytes": "x", "nope": "z"},
            {"segment_bytes": None, "retention_ms": None},
            {"segment_bytes": None, "cleanup_policy": "y"},
        ):
            self.check(pair, _topic("ct-configs", 1, 1, **overrides), validate_only=True)

    def test_the_answer_shows_the_effective_configuration(self, pair: Pair) -> None:
        topic = _topic("ct-shown", -1, -1, retention_ms=" 7", cleanup_policy="compact, delete", preallocate="TRUE")
        answers = []
        for connection in (pair.ours, pair.kafka):
            answer: Any = connection.call(_create(topic), 7)
            shown = {entry.name: entry for entry in answer.topics[0].configs}
            answers.append({name: comparable(entry) for name, entry in shown.items()})
            assert (answer.topics[0].num_partitions, answer.topics[0].replication_factor) == (1, 1)
            assert any(answer.topics[0].topic_id)
        assert answers[0] == answers[1]

    def test_validate_only_creates_no_topic_and_returns_no_id(self, pair: Pair) -> None:
        for connection in (pair.ours, pair.kafka):
            answer: Any = connection.call(_create(_topic("ct-valid", 2, 1), validate_only=True), 7)
            assert answer.topics[0].error_code == 0
        self.check(pair, _topic("ct-valid", 2, 1))


class TestMetadata:
    def ask(self, *names: str | None, version: int = 13, auto: bool = False, **flags: bool) -> Message:
        topics = [metadata.MetadataRequestTopic(NO_ID, name) for name in names]
        return metadata.MetadataRequest(topics, True if version < 4 else auto, **flags)

    @pytest.mark.parametrize("version", range(14))
    def test_a_topic_is_described_alike_in_every_version(self, pair: Pair, version: int) -> None:
        name = f"md-{version}"
        pair.make(name, 3)
        pair.read(self.ask(name, version=version), version)

    @pytest.mark.parametrize("version", range(4, 14))
    def test_missing_and_illegal_names_are_distinguished(self, pair: Pair, version: int) -> None:
        pair.read(self.ask("md-no", "", "b@d", "__consumer_offsets", version=version), version)

    @pytest.mark.parametrize("version", range(1, 14))
    def test_describing_an_empty_list_of_topics_returns_no_topic(self, pair: Pair, version: int) -> None:
        answer = pair.read(self.ask(version=version), version)
        assert answer.topics == [] and len(answer.brokers) == 1

    def test_topics_are_found_by_id(self, pair: Pair) -> None:
        pair.make("md-id", 2)
        requests = []
        for connection in (pair.ours, pair.kafka):
            found: Any = connection.call(self.ask("md-id"), 13)
            topic_id = found.topics[0].topic_id
            requests.append([(topic_id, None), (topic_id, "md-id"), (topic_id, "other"), (b"\x01" * 16, None)])
        for ours, theirs in zip(*requests, strict=True):
            mine, other = (
                metadata.MetadataRequest([metadata.MetadataRequestTopic(*asked)], False) for asked in (ours, theirs)
            )
            pair.read(mine, 13, kafka_request=other)
            pair.read(mine, 12, kafka_request=other)

    @pytest.mark.parametrize("version", [10, 11])
    def test_topic_ids_are_refused_in_metadata_versions_below_12(self, pair: Pair, version: int) -> None:
        for asked in ((b"\x01" * 16, "md-x"), (NO_ID, None)):
            pair.read(metadata.MetadataRequest([metadata.MetadataRequestTopic(*asked)], False), version)

    def test_authorized_operations_equal_those_of_a_kafka_without_an_authorizer(self, pair: Pair) -> None:
        pair.make("md-ops")
        for version in (8, 9, 10):
            flags = {"include_cluster_authorized_operations": True, "include_topic_authorized_operations": True}
            pair.read(self.ask("md-ops", "md-no", version=version, **flags), version)
        pair.read(self.ask("md-ops", "md-no", include_topic_authorized_operations=True), 13)

    def test_a_missing_topic_is_created_when_the_client_allows_it(self, pair: Pair) -> None:
        ours: Any = pair.ours.call(self.ask("md-auto", "b@d", auto=True), 13)
        assert {topic.name: topic.error_code for topic in ours.topics} == {"md-auto": 0, "b@d": 17}
        pair.kafka.call(self.ask("md-auto", auto=True), 13)
        pair.read(self.ask("md-auto", auto=True))

    def test_a_topic_whose_name_collides_is_not_created(self, pair: Pair) -> None:
        pair.make("md.collides")
        pair.read(self.ask("md_collides", auto=True))
        pair.read(self.ask("md_collides", auto=True))


class TestDeleteTopics:
    def test_a_topic_named_twice_is_deleted_once(self, pair: Pair) -> None:
        for name in ("dt-1", "dt-2", "dt-3"):
            pair.make(name)
        pair.change(delete.DeleteTopicsRequest([], ["dt-1", "dt-no"], 10_000), 1)
        pair.change(delete.DeleteTopicsRequest([], ["dt-1", "dt-2", "dt-2"], 10_000), 5)
        pair.change(delete.DeleteTopicsRequest([], ["dt-2", "dt-3"], 10_000), 3)
        pair.read(metadata.MetadataRequest([metadata.MetadataRequestTopic(NO_ID, "dt-3")], False))

    def test_deletion_distinguishes_names_from_ids(self, pair: Pair) -> None:
        pair.make("dt-id")
        state = delete.DeleteTopicState
        answers = []
        for connection in (pair.ours, pair.kafka):
            found: Any = connection.call(
                metadata.MetadataRequest([metadata.MetadataRequestTopic(NO_ID, "dt-id")], False), 13
            )
            topic_id = found.topics[0].topic_id
            answers.append(
                [
                    comparable(connection.call(delete.DeleteTopicsRequest(topics, [], 10_000), 6))
                    for topics in (
                        [
                            state("dt-id", topic_id),
                            state(None, NO_ID),
                            state(None, b"\x01" * 16),
                            state("dt-no", NO_ID),
                            state("", NO_ID),
                        ],
                        [state("dt-id", NO_ID), state(None, topic_id)],
                        [state(None, topic_id), state(None, topic_id)],
                        [state(None, topic_id)],
                    )
                ]
            )
        assert answers[0] == answers[1]


class TestCreatePartitions:
    def check(
        self,
        pair: Pair,
        *wanted: tuple[str, int, list[list[int]] | None],
        validate_only: bool = False,
        version: int = 3,
    ) -> Any:
        topics = [
            partitions.CreatePartitionsTopic(
                name, count, None if ids is None else [partitions.CreatePartitionsAssignment(each) for each in ids]
            )
            for name, count, ids in wanted
        ]
        return pair.change(partitions.CreatePartitionsRequest(topics, 10_000, validate_only), version)

    def test_too_many_new_partitions_are_refused(self, pair: Pair) -> None:
        pair.make("cp-many")
        self.check(pair, ("cp-many", 20_000, None))

    def test_partitions_can_only_be_increased(self, pair: Pair) -> None:
        pair.make("cp-1", 2)
        self.check(pair, ("cp-1", 4, None), validate_only=True)
        self.check(pair, ("cp-1", 3, None))
        for count in (3, 2, 0, -1):
            self.check(pair, ("cp-1", count, None))
        self.check(pair, ("cp-no", 3, None), ("b@d", 3, None))
        self.check(pair, ("cp-1", 4, None), ("cp-1", 5, None))
        pair.read(metadata.MetadataRequest([metadata.MetadataRequestTopic(NO_ID, "cp-1")], False))

    def test_assignments_are_checked_as_in_kafka(self, pair: Pair) -> None:
        pair.make("cp-2", 3)
        for ids in ([[1]], [[2], [1]], [[1, 1], [1]], [[], [1]], []):
            self.check(pair, ("cp-2", 5, ids))
        self.check(pair, ("cp-2", 5, [[1], [1]]), version=0)


def _describe(kind: int, name: str, *keys: str) -> Message:
    asked = describe.DescribeConfigsResource(kind, name, list(keys) or None)
    return describe.DescribeConfigsRequest([asked], True, False)


def _alter(kind: int, name: str, *operations: tuple[str, int, str | None], validate_only: bool = False) -> Message:
    return configs.IncrementalAlterConfigsRequest(
        [configs.AlterConfigsResource(kind, name, [configs.AlterableConfig(*operation) for operation in operations])],
        validate_only,
    )


class TestDescribeConfigs:
    @pytest.mark.parametrize("version", [1, 2, 3, 4])
    def test_a_topics_settings_are_described_as_in_kafka(self, pair: Pair, version: int) -> None:
        name = f"dc-{version}"
        pair.make(name, retention_ms="1000", segment_bytes=" 2000000", cleanup_policy="compact, delete")
        pair.read(_describe(TOPIC, name), version)
        pair.read(_describe(TOPIC, name, "retention.ms", "nope"), version)

    @pytest.mark.parametrize(
        ("kind", "name"),
        [
            (TOPIC, "dc-no"),
            (TOPIC, "b@d"),
            (BROKER, "2"),
            (BROKER, "x"),
            (BROKER, "-1"),
            (LOGGER, ""),
            (LOGGER, "2"),
            (METRICS, ""),
            (METRICS, "m"),
            (GROUP, ""),
            (GROUP, "g"),
            (99, "x"),
            (0, "x"),
        ],
    )
    def test_other_resources_are_described_as_in_kafka(self, pair: Pair, kind: int, name: str) -> None:
        pair.read(_describe(kind, name))

    def test_every_broker_property_is_described_with_kafkas_default_type_and_sources(self, pair: Pair) -> None:
        """Except for what the nodes were started with, and the replication factors that suit a single node."""
        described = []
        for connection in (pair.ours, pair.kafka):
            answer: Any = connection.call(_describe(BROKER, "1"), 4)
            described.append({entry.name: comparable(entry) for entry in answer.results[0].configs})
        ours, kafka = described
        assert set(ours) - set(kafka) == {"oncelog.flush.policy"}
        differing = {name for name, entry in kafka.items() if ours.get(name) != entry}
        assert differing == {
            "advertised.listeners",
            "controller.listener.names",
            "controller.quorum.voters",
            "listener.security.protocol.map",
            "listeners",
            "log.dirs",
            "metadata.max.idle.interval.ms",
            "offsets.topic.replication.factor",
            "process.roles",
            "share.coordinator.state.topic.min.isr",
            "share.coordinator.state.topic.replication.factor",
            "transaction.state.log.min.isr",
            "transaction.state.log.replication.factor",
        }


class TestAlterConfigs:
    def test_a_setting_is_set_unset_appended_to_and_subtracted_from(self, pair: Pair) -> None:
        pair.make("ac-1")
        for operation in (
            ("retention.ms", SET, "5000"),
            ("retention.ms", DELETE, None),
            ("retention.ms", DELETE, None),
            ("nope", DELETE, None),
            ("cleanup.policy", APPEND, "compact"),
            ("cleanup.policy", APPEND, "compact,delete"),
            ("cleanup.policy", SUBTRACT, "delete"),
            ("cleanup.policy", SUBTRACT, "compact"),
            ("cleanup.policy", DELETE, "x"),
            ("leader.replication.throttled.replicas", SET, "0:1"),
            ("leader.replication.throttled.replicas", APPEND, "1:1,0:1"),
        ):
            pair.change(_alter(TOPIC, "ac-1", operation))
            pair.read(_describe(TOPIC, "ac-1"))

    @pytest.mark.parametrize(
        "operations",
        [
            [("nope", SET, "1")],
            [("retention.ms", SET, None)],
            [("retention.ms", SET, "x")],
            [("retention.ms", APPEND, "5")],
            [("retention.ms", SUBTRACT, "5")],
            [("nope", APPEND, "5")],
            [("retention.ms", SET, "1"), ("retention.ms", SET, "2")],
            [("retention.ms", SET, "1"), ("retention.ms", DELETE, None)],
            [],
            [("min.compaction.lag.ms", SET, "9"), ("max.compaction.lag.ms", SET, "8")],
            [("retention.ms", SET, "10"), ("nope", SET, "1")],
            [("remote.storage.enable", SET, "true")],
        ],
        ids=str,
    )
    def test_refused_topic_settings_answer_as_kafka_and_change_nothing(
        self, pair: Pair, operations: list[tuple[str, int, str | None]]
    ) -> None:
        name = f"ac-{abs(hash(str(operations)))}"
        pair.make(name)
        pair.change(_alter(TOPIC, name, *operations))
        pair.change(_alter(TOPIC, name, *operations, validate_only=True))
        pair.read(_describe(TOPIC, name))

    def test_validate_only_does_not_change_a_setting(self, pair: Pair) -> None:
        pair.make("ac-valid")
        pair.change(_alter(TOPIC, "ac-valid", ("retention.ms", SET, "99"), validate_only=True))
        pair.read(_describe(TOPIC, "ac-valid"))

    @pytest.mark.parametrize(
        ("kind", "name"),
        [(TOPIC, "ac-no"), (TOPIC, "b@d"), (TOPIC, ""), (GROUP, ""), (METRICS, ""), (99, "x"), (0, "x"), (LOGGER, "2")],
    )
    def test_unchangeable_resources_are_refused_as_in_kafka(self, pair: Pair, kind: int, name: str) -> None:
        pair.change(_alter(kind, name, ("retention.ms", SET, "1")))

    def test_a_resource_named_twice_is_refused(self, pair: Pair) -> None:
        pair.make("ac-twice")
        resource = configs.AlterConfigsResource(TOPIC, "ac-twice", [configs.AlterableConfig("retention.ms", SET, "7")])
        pair.change(configs.IncrementalAlterConfigsRequest([resource, resource], False))

    def test_a_brokers_settings_are_defaults_of_its_topics_at_once(self, pair: Pair) -> None:
        pair.make("ac-follow")
        steps = (
            ("1", ("log.retention.ms", SET, "5000")),
            ("", ("log.retention.ms", SET, "6000")),
            ("1", ("log.retention.ms", DELETE, None)),
            ("", ("log.retention.ms", DELETE, None)),
            ("1", ("log.cleanup.policy", APPEND, "compact")),
            ("1", ("log.cleanup.policy", DELETE, None)),
            ("1", ("num.io.threads", SET, "9")),
            ("1", ("num.io.threads", DELETE, None)),
        )
        for name, operation in steps:
            pair.change(_alter(BROKER, name, operation))
            pair.read(_describe(BROKER, "1", operation[0], "log.retention.hours"))
            pair.read(_describe(BROKER, ""))
            pair.read(_describe(TOPIC, "ac-follow"))

    def test_min_insync_replicas_is_always_set_for_the_cluster_and_never_for_one_broker(self, pair: Pair) -> None:
        pair.make("ac-in-sync")
        name = "min.insync.replicas"
        for broker, operations in (
            ("1", [(name, SET, "2")]),
            ("1", [("log.retention.ms", SET, "1"), (name, SET, "2")]),
            ("1", [(name, SET, "0")]),
            ("1", [(name, APPEND, "1")]),
            ("1", [(name, DELETE, None)]),
            ("", [(name, SET, "x")]),
            ("", [(name, SET, "2")]),
            ("1", [(name, SET, "2")]),
            ("", [("log.retention.ms", SET, "1"), (name, DELETE, None)]),
            ("", [(name, SET, "1")]),
        ):
            for validate_only in (True, False):
                pair.change(_alter(BROKER, broker, *operations, validate_only=validate_only))
            pair.read(_describe(TOPIC, "ac-in-sync"))
            pair.read(_describe(BROKER, "1", name))
            pair.read(_describe(BROKER, ""))
        for broker, values in (("", {"log.retention.ms": "5"}), ("", {name: "1"}), ("1", {name: "1"}), ("1", {})):
            entries = [replace_configs.AlterableConfig(key, value) for key, value in values.items()]
            resource = replace_configs.AlterConfigsResource(BROKER, broker, entries)
            pair.change(replace_configs.AlterConfigsRequest([resource], False))
            pair.read(_describe(BROKER, ""))

    @pytest.mark.parametrize(
        ("name", "operation"),
        [
            ("2", ("log.retention.ms", SET, "5000")),
            ("x", ("log.retention.ms", SET, "5000")),
            ("1", ("node.id", SET, "5")),
            ("", ("broker.rack", SET, "r")),
            ("1", ("log.retention.ms", SET, "x")),
            ("1", ("log.segment.bytes", SET, "1")),
            ("", ("listeners", SET, "PLAINTEXT://:1")),
            ("1", ("ssl.keystore.password", SET, "secret")),
            ("1", ("log.retention.hours", SET, "10")),
            ("1", ("num.io.threads", APPEND, "3")),
            ("1", ("nope", APPEND, "3")),
            ("", ("min.insync.replicas", SET, "0")),
            ("1", ("auto.create.topics.enable", SET, "false")),
            ("1", ("log.message.timestamp.type", SET, "z")),
            ("1", ("log.retention.ms", SET, "0")),
            ("", ("log.roll.ms", SET, "0")),
            ("1", ("max.connections.per.ip", SET, "0")),
            ("", ("max.connections.per.ip", SET, "0")),
            ("1", ("log.cleaner.threads", SET, "128")),
            ("", ("log.cleaner.dedupe.buffer.size", SET, "1048576")),
        ],
    )
    def test_broker_settings_are_refused_as_in_kafka(
        self, pair: Pair, name: str, operation: tuple[str, int, str | None]
    ) -> None:
        pair.change(_alter(BROKER, name, operation))

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("follower.replication.throttled.rate", "1000"),
            ("leader.replication.throttled.rate", "1000"),
            ("replica.alter.log.dirs.io.max.bytes.per.second", "1000"),
            ("group.consumer.assignor.offload.enable", "false"),
        ],
    )
    def test_an_internal_setting_is_described_while_it_is_set(self, pair: Pair, name: str, value: str) -> None:
        for broker, operation in (("1", SET), ("", SET), ("1", DELETE), ("", DELETE)):
            pair.change(_alter(BROKER, broker, (name, operation, value if operation == SET else None)))
            pair.read(_describe(BROKER, "1", name))
            pair.read(_describe(BROKER, "", name))

    @pytest.mark.parametrize(
        "value",
        [
            "by_duration:PT1H",
            "by_duration:P1Y",
            "by_duration:",
            "by_duration:-PT1H",
            "by_duration:PT2H-30M",
            "EARLIEST",
            "BY_DURATION:PT1H",
            "none",
            "",
        ],
    )
    def test_where_a_share_group_begins_is_checked_as_in_kafka(self, pair: Pair, value: str) -> None:
        pair.change(_alter(GROUP, "ac-share", ("share.auto.offset.reset", SET, value)))
        pair.read(_describe(GROUP, "ac-share"))

    def test_a_groups_settings_are_kept_and_checked_against_the_brokers_bounds(self, pair: Pair) -> None:
        session, heartbeat = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
        for operations in (
            [(session, SET, "50000")],
            [(session, SET, "1")],
            [(session, SET, "100000")],
            [(heartbeat, SET, "x")],
            [(heartbeat, SET, "6000"), (session, SET, "45000")],
            [("nope", SET, "1")],
            [(session, APPEND, "1")],
            [("share.auto.offset.reset", SET, "earliest")],
            [("streams.assignor.name", SET, "nope")],
            [("streams.num.warmup.replicas", SET, "21")],
            [("streams.task.offset.interval.ms", SET, "100")],
            [("streams.task.offset.interval.ms", SET, "15000"), ("consumer.assignor.offload.enable", SET, "false")],
            [(session, DELETE, None), (heartbeat, DELETE, None), ("share.auto.offset.reset", DELETE, None)],
        ):
            pair.change(_alter(GROUP, "ac-group", *operations))
            pair.read(_describe(GROUP, "ac-group"))

    def test_a_client_metrics_subscription_is_kept_and_checked(self, pair: Pair) -> None:
        for operations in (
            [("interval.ms", SET, "1000")],
            [("interval.ms", SET, "1")],
            [("interval.ms", SET, "x")],
            [("match", SET, "client_id=a")],
            [("match", SET, "foo=a")],
            [("match", SET, "foo")],
            [("match", SET, "client_id=[")],
            [("metrics", SET, "a,b")],
            [("metrics", APPEND, "c")],
            [("nope", SET, "1")],
            [("interval.ms", DELETE, None), ("match", DELETE, None), ("metrics", DELETE, None)],
        ):
            pair.change(_alter(METRICS, "ac-metrics", *operations))
            pair.read(_describe(METRICS, "ac-metrics"))

    @pytest.mark.parametrize(
        "operation",
        [
            ("root", SET, "LOUD"),
            ("nope.logger", SET, "INFO"),
            ("root", DELETE, None),
            ("root", SET, "WARN"),
            ("root", APPEND, "WARN"),
            ("root", SUBTRACT, "WARN"),
        ],
    )
    def test_levels_of_loggers_are_checked_as_in_kafka(
        self, pair: Pair, operation: tuple[str, int, str | None]
    ) -> None:
        pair.change(_alter(LOGGER, "1", operation))

    @pytest.mark.parametrize(
        ("kind", "name", "values"),
        [
            (TOPIC, "al-1", {"retention.ms": "77", "segment.bytes": "2000000"}),
            (TOPIC, "al-1", {"retention.ms": "78"}),
            (TOPIC, "al-1", {"retention.ms": "x"}),
            (TOPIC, "al-1", {"retention.ms": None}),
            (TOPIC, "al-1", {"nope": "1"}),
            (TOPIC, "al-1", {}),
            (TOPIC, "al-no", {"retention.ms": "1"}),
            (TOPIC, "b@d", {}),
            (TOPIC, "", {}),
            (BROKER, "1", {"log.retention.ms": "9000"}),
            (BROKER, "1", {}),
            (BROKER, "2", {}),
            (BROKER, "1", {"node.id": "5"}),
            (LOGGER, "1", {"root": "INFO"}),
            (GROUP, "al-g", {"consumer.session.timeout.ms": "50000"}),
            (GROUP, "al-g", {}),
            (METRICS, "al-m", {"interval.ms": "2000"}),
            (METRICS, "al-m", {}),
            (99, "x", {}),
        ],
    )
    def test_alter_configs_replaces_all_settings(
        self, pair: Pair, kind: int, name: str, values: dict[str, str | None]
    ) -> None:
        if name == "al-1" and not pair.ours.call(_describe(TOPIC, name), 4).results[0].configs:  # type: ignore[attr-defined]
            pair.make(name)
        settings = [replace_configs.AlterableConfig(key, value) for key, value in values.items()]
        request = replace_configs.AlterConfigsRequest(
            [replace_configs.AlterConfigsResource(kind, name, settings)], False
        )
        pair.change(request)
        if name.startswith("al-"):
            pair.read(_describe(kind, name))


class TestClusterAndFolders:
    @pytest.mark.parametrize("version", [0, 1, 2])
    def test_the_cluster_is_described_as_in_kafka(self, pair: Pair, version: int) -> None:
        pair.read(cluster.DescribeClusterRequest(include_cluster_authorized_operations=True), version)

    @pytest.mark.parametrize("endpoint_type", [2, 9])
    def test_other_endpoints_are_refused_as_in_kafka(self, pair: Pair, endpoint_type: int) -> None:
        pair.read(cluster.DescribeClusterRequest(endpoint_type=endpoint_type))

    @pytest.mark.parametrize("version", [1, 2, 3])
    def test_log_folders_are_described_as_in_kafka(self, pair: Pair, version: int) -> None:
        name = f"ld-{version}"
        pair.make(name, 2)
        asked = [log_dirs.DescribableLogDirTopic(name, [0, 1, 9]), log_dirs.DescribableLogDirTopic("ld-no", [0])]
        pair.read(log_dirs.DescribeLogDirsRequest(asked), version)
        pair.read(log_dirs.DescribeLogDirsRequest([]), version)

    def test_a_replica_cannot_move_to_another_folder(self, pair: Pair) -> None:
        pair.make("ld-move")
        topics = [move.AlterReplicaLogDirTopic("ld-move", [0]), move.AlterReplicaLogDirTopic("ld-no", [0])]
        pair.change(move.AlterReplicaLogDirsRequest([move.AlterReplicaLogDir("/nowhere", topics)]))

    def test_describe_topic_partitions_returns_pages(self, pair: Pair) -> None:
        for name, count in (("pg-1", 3), ("pg-2", 1), ("pg-4", 2)):
            pair.make(name, count)
        names = [pages.TopicRequest(name) for name in ("pg-1", "pg-2", "pg-3", "pg-4")]
        cursors: list[pages.Cursor | None] = [None]
        cursors += [pages.Cursor(*at) for at in (("pg-1", 2), ("pg-2", 0), ("pg-2", 5), ("pg-3", 0), ("pg-4", 1))]
        for cursor in cursors:
            for limit in (0, 1, 2, 3, 4, 5, 6, 2000):
                pair.read(pages.DescribeTopicPartitionsRequest(names, limit, cursor))
        for at in (("pg-1", -1), ("zz", 0)):
            pair.read(pages.DescribeTopicPartitionsRequest(names, 1, pages.Cursor(*at)))
        pair.read(pages.DescribeTopicPartitionsRequest([pages.TopicRequest("b@d")], 1, None))

    @pytest.mark.parametrize("version", [0, 1])
    def test_resources_with_settings_are_listed_as_in_kafka(self, pair: Pair, version: int) -> None:
        if version == 0:
            pair.read(resources.ListConfigResourcesRequest(), 0)
            return
        for kinds in ([METRICS], [GROUP, LOGGER, BROKER], [99]):
            pair.read(resources.ListConfigResourcesRequest(kinds), 1)


class TestRecordsAndReplicas:
    @pytest.mark.parametrize("version", [0, 1, 2])
    def test_deletion_of_records_of_an_empty_or_missing_partition_is_answered_as_in_kafka(
        self, pair: Pair, version: int
    ) -> None:
        name = f"dr-{version}"
        pair.make(name, 3)
        asked = [
            records.DeleteRecordsTopic(
                name, [records.DeleteRecordsPartition(*at) for at in ((0, 0), (1, 5), (9, 0), (2, -1))]
            ),
            records.DeleteRecordsTopic("dr-no", [records.DeleteRecordsPartition(0, 0)]),
            records.DeleteRecordsTopic("b@d", [records.DeleteRecordsPartition(0, 0)]),
        ]
        pair.read(records.DeleteRecordsRequest(asked, 1000), version)
        bad = [records.DeleteRecordsTopic(name, [records.DeleteRecordsPartition(0, -2)])]
        pair.read(records.DeleteRecordsRequest(bad, 1000), version)

    def test_records_of_a_compacted_topic_are_not_deleted(self, pair: Pair) -> None:
        pair.make("dr-compacted", cleanup_policy="compact")
        asked = [records.DeleteRecordsTopic("dr-compacted", [records.DeleteRecordsPartition(0, 0)])]
        pair.read(records.DeleteRecordsRequest(asked, 1000))

    @pytest.mark.parametrize("election_type", [0, 1, 2])
    def test_elections_are_answered_as_in_kafka(self, pair: Pair, election_type: int) -> None:
        name = f"el-{election_type}"
        pair.make(name, 2)
        asked = [elect.TopicPartitions(name, [0, 9]), elect.TopicPartitions("el-no", [0])]
        pair.change(elect.ElectLeadersRequest(election_type, asked, 1000))
        pair.change(elect.ElectLeadersRequest(election_type, [], 1000))
        if election_type == 0:
            pair.change(elect.ElectLeadersRequest(0, [elect.TopicPartitions(name, [0])], 1000), 0)

    def test_listing_reassignments_shows_none_in_progress(self, pair: Pair) -> None:
        pair.make("re-list")
        pair.read(reassignments.ListPartitionReassignmentsRequest(1000, None))
        asked = [reassignments.ListPartitionReassignmentsTopics(name, [0]) for name in ("re-list", "re-no")]
        pair.read(reassignments.ListPartitionReassignmentsRequest(1000, asked))

    @pytest.mark.parametrize("version", [0, 1])
    def test_reassignments_are_answered_as_in_kafka(self, pair: Pair, version: int) -> None:
        name = f"re-{version}"
        pair.make(name, 4)
        wanted = {0: [1], 1: None, 2: [2], 3: [1, 1], 9: [1]}
        topics = [
            reassign.ReassignableTopic(name, [reassign.ReassignablePartition(*item) for item in wanted.items()]),
            reassign.ReassignableTopic("re-no", [reassign.ReassignablePartition(0, [1])]),
        ]
        pair.change(reassign.AlterPartitionReassignmentsRequest(1000, topics=topics), version)


class TestGroups:
    @pytest.mark.parametrize("group", ["", "og-no"])
    @pytest.mark.parametrize("partitions", [[], [0], [7], [-1]], ids=str)
    def test_deleting_offsets_of_a_missing_group_is_refused(
        self, pair: Pair, group: str, partitions: list[int]
    ) -> None:
        name = f"og-{len(group)}-{partitions}".strip("[]").replace("[", "")
        pair.make(name)
        asked = [forget.OffsetDeleteRequestPartition(index) for index in partitions]
        topics = [forget.OffsetDeleteRequestTopic(name, asked), forget.OffsetDeleteRequestTopic("og-no", asked)]
        pair.read(forget.OffsetDeleteRequest(group, topics))


class TestQuotas:
    def alter(self, pair: Pair, entity: dict[str, str | None], *ops: tuple[str, float, bool], version: int = 1) -> Any:
        entry = quotas.EntryData(
            [quotas.EntityData(*part) for part in entity.items()], [quotas.OpData(*op) for op in ops]
        )
        return pair.change(quotas.AlterClientQuotasRequest([entry], False), version)

    def test_quotas_are_kept_listed_and_removed(self, pair: Pair) -> None:
        given: list[tuple[dict[str, str | None], list[tuple[str, float, bool]]]] = [
            ({"user": "a"}, [("producer_byte_rate", 1000, False), ("controller_mutation_rate", 2.5, False)]),
            (
                {"user": "a", "client-id": "c"},
                [("consumer_byte_rate", 5, False), ("request_percentage", 0.5, False)],
            ),
            (
                {"user": "three"},
                [
                    ("consumer_byte_rate", 1000, False),
                    ("producer_byte_rate", 1000, False),
                    ("request_percentage", 0.5, False),
                ],
            ),
            ({"user": None}, [("producer_byte_rate", 7, False)]),
            ({"client-id": None}, [("producer_byte_rate", 9, False)]),
            ({"ip": "127.0.0.9"}, [("connection_creation_rate", 7, False)]),
        ]
        for entity, ops in given:
            self.alter(pair, entity, *ops)
        component = describe_quotas.ComponentData
        for components in (
            [],
            [component("user", 2, None)],
            [component("user", 0, "a")],
            [component("user", 1, None)],
            [component("user", 2, None), component("client-id", 2, None)],
            [component("ip", 2, None)],
            [component("foo", 2, None)],
            [component("user", 2, None), component("user", 0, "a")],
            [component("user", 7, None)],
            [component("ip", 2, None), component("user", 2, None)],
            [component("user", 0, None)],
            [component("user", 1, "a")],
            [component("user", 2, "x")],
            [component("", 2, None)],
        ):
            for strict in (False, True):
                pair.read(describe_quotas.DescribeClientQuotasRequest(components, strict))
        for entity, ops in given:
            self.alter(pair, entity, *((key, 0.0, True) for key, _, _ in ops), version=0)
        pair.read(describe_quotas.DescribeClientQuotasRequest([], False))

    @pytest.mark.parametrize(
        ("entity", "op"),
        [
            ({"user": "b"}, ("nope", 1, False)),
            ({"user": "b"}, ("producer_byte_rate", -1, False)),
            ({"user": "b"}, ("producer_byte_rate", 0, False)),
            ({"user": "b"}, ("producer_byte_rate", 1.5, False)),
            ({"user": "b"}, ("connection_creation_rate", 1, False)),
            ({"user": "b"}, ("producer_byte_rate", 0, True)),
            ({}, ("producer_byte_rate", 1, False)),
            ({"foo": "b"}, ("producer_byte_rate", 1, False)),
            ({"ip": "a", "user": "b"}, ("connection_creation_rate", 1, False)),
            ({"ip": "not an ip"}, ("connection_creation_rate", 1, False)),
            ({"ip": "127.0.0.9"}, ("connection_creation_rate", 1.5, False)),
            ({"ip": "127.0.0.9"}, ("producer_byte_rate", 1, False)),
            ({"user": ""}, ("producer_byte_rate", 1, False)),
        ],
        ids=str,
    )
    def test_quotas_are_refused_as_in_kafka(
        self, pair: Pair, entity: dict[str, str | None], op: tuple[str, float, bool]
    ) -> None:
        self.alter(pair, entity, op)

    @pytest.mark.parametrize("name", ["b", None])
    def test_a_quota_that_is_named_twice_is_refused(self, pair: Pair, name: str | None) -> None:
        for key in ("producer_byte_rate", "nope"):
            self.alter(pair, {"user": name}, (key, 5, False), (key, 6, False))
        pair.read(describe_quotas.DescribeClientQuotasRequest([], False))


class TestSecurity:
    def test_acls_need_an_authorizer(self, pair: Pair) -> None:
        pair.read(
            describe_acls.DescribeAclsRequest(
                resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1
            )
        )
        pair.change(create_acls.CreateAclsRequest([create_acls.AclCreation(2, "t", 3, "User:a", "*", 3, 3)]))
        pair.change(create_acls.CreateAclsRequest([]))
        pair.change(delete_acls.DeleteAclsRequest([delete_acls.DeleteAclsFilter(2, "t", 3, None, None, 1, 1)]))

    def test_scram_credentials_are_described_as_missing(self, pair: Pair) -> None:
        pair.read(scram.DescribeUserScramCredentialsRequest(None))
        users = [scram.UserName(name) for name in ("a", "b", "b", "")]
        pair.read(scram.DescribeUserScramCredentialsRequest(users))


def _found() -> Iterator[Any]:
    """Requests that random testing led to: parts that are empty or named twice, and checks in a different order."""
    no, twice = "fr-no", "fr-there"
    yield (
        fetch_request.FetchRequest(
            max_wait_ms=0,
            isolation_level=1,
            topics=[fetch_request.FetchTopic(no, NO_ID, [fetch_request.FetchPartition(0)])],
        ),
        12,
    )
    yield produce.ProduceRequest(None, -1, 5000, [produce.TopicProduceData(no, NO_ID, [])]), 10
    for topic in (no, twice):
        part = produce.PartitionProduceData(0, bytes(encode_batch([Record(0, 1, b"k", b"v")])))
        yield produce.ProduceRequest(None, 2, 5000, [produce.TopicProduceData(topic, NO_ID, [part])]), 9
    yield (
        list_offsets.ListOffsetsRequest(
            -1,
            0,
            [
                list_offsets.ListOffsetsTopic(
                    twice, [list_offsets.ListOffsetsPartition(index, -1, -1) for index in (0, 0, 1)]
                ),
                list_offsets.ListOffsetsTopic(no, []),
            ],
        ),
        10,
    )
    yield records.DeleteRecordsRequest([records.DeleteRecordsTopic(no, [])], 5000), 2
    yield (
        producers.DescribeProducersRequest([producers.TopicRequest(no, [0]), producers.TopicRequest(twice, [0, 9])]),
        0,
    )
    for name in ("", "fr/no"):
        yield producers.DescribeProducersRequest([producers.TopicRequest(name, [0])]), 0
    for name in (no, "x" * 215, "x" * 214):
        folder = move.AlterReplicaLogDir("/nowhere", [move.AlterReplicaLogDirTopic(name, [0, 0])])
        yield move.AlterReplicaLogDirsRequest([folder]), 2
    yield reassign.AlterPartitionReassignmentsRequest(5000, True, []), 1
    for first, second in ((1000.0, 2000.0), (-1.0, 2000.0)):
        entity = [quotas.EntityData("user", "fr")]
        ops = [[quotas.OpData("producer_byte_rate", value, False)] for value in (first, second)]
        yield quotas.AlterClientQuotasRequest([quotas.EntryData(entity, each) for each in ops], True), 1
    yield (
        quotas.AlterClientQuotasRequest(
            [quotas.EntryData([quotas.EntityData("user", "fr")], [quotas.OpData("nope", 1.0, True)])], False
        ),
        1,
    )
    asked = [describe.DescribeConfigsResource(*each, None) for each in ((TOPIC, no), (99, "x"), (BROKER, "x"))]
    yield describe.DescribeConfigsRequest(asked, False, False), 4
    for names, cursor in ((["a", "c"], "b"), (["a", "c"], "a"), (["a", "c"], "d"), ([], "b")):
        requests = [pages.TopicRequest(name) for name in names]
        yield pages.DescribeTopicPartitionsRequest(requests, 2000, pages.Cursor(cursor, 0)), 0
    for topic in (no, twice):
        yield commits.OffsetCommitRequest("fr", topics=[commits.OffsetCommitRequestTopic(topic, NO_ID, [])]), 9
        yield forget.OffsetDeleteRequest("fr", [forget.OffsetDeleteRequestTopic(topic, [])]), 0
    named = [markers.WritableTxnMarkerTopic(no, []), markers.WritableTxnMarkerTopic(no, [0])]
    for topics in ([], named[:1], named):
        marker = markers.WritableTxnMarker(2**40, 0, True, topics, 0)
        yield markers.WriteTxnMarkersRequest([marker]), 1
    alterations = [
        ("segment.bytes", SET, "x"),
        ("retention.ms", APPEND, "1"),
        ("nope", SET, "1"),
        ("retention.ms", SET, "1"),
    ]
    for alteration in alterations:
        yield _alter(TOPIC, no, alteration), 1
    committed = commits.OffsetCommitRequestPartition(0, 5)
    twice_named = [commits.OffsetCommitRequestTopic(no, NO_ID, [committed]) for _ in range(2)]
    yield commits.OffsetCommitRequest("fr", topics=twice_named), 9
    for epoch in (1, -1):
        yield heartbeat.ConsumerGroupHeartbeatRequest("fr-no", "member", epoch), 1
    for kind in (3, -1):
        for version in (1, 3, 4, 6):
            yield find.FindCoordinatorRequest("" if version > 3 else "fr", kind, ["fr"] if version > 3 else []), version


class TestWhatRandomRequestsFound:
    @pytest.mark.parametrize(
        ("request_", "version"), list(_found()), ids=lambda each: getattr(each, "__class__", each).__name__
    )
    def test_unusual_requests_are_answered_as_in_kafka(self, pair: Pair, request_: Message, version: int) -> None:
        name = "fr-there"
        pair.ours.call(_create(_topic(name, 2, 1)), 7)
        pair.kafka.call(_create(_topic(name, 2, 1)), 7)
        pair.read(request_, version)
