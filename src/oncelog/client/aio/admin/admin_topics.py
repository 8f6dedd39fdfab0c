"""Topics, partitions, configurations, records and the cluster: one part of the admin client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from oncelog.client.aio.admin.admin_connection import AdminConnection
from oncelog.client.aio.connection.cluster_access import UnknownPartition, check
from oncelog.client.aio.offset_lookups import EARLIEST, LATEST, FoundOffset, list_offsets
from oncelog.client.aio.settled_ends import SettledEnds
from oncelog.client.core import arguments
from oncelog.client.core.admin import admin_arguments
from oncelog.client.core.admin.admin_types import (
    CONFIG_SOURCES,
    ClusterDescription,
    ConfigEntry,
    ConfigResource,
    ConfigResourceType,
    FeatureLevel,
    NewTopic,
    Node,
    PartitionDescription,
    RecordsToDelete,
    TopicDescription,
)
from oncelog.client.core.client_errors import IllegalStateError, error_for, error_of, topic_error
from oncelog.client.core.connection.wire import METADATA, Api
from oncelog.client.core.structs import TopicPartition
from oncelog.errors import Error, KafkaError
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.api_versions_response import ApiVersionsResponse
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
from oncelog.protocol.generated.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from oncelog.protocol.generated.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from oncelog.protocol.generated.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
from oncelog.protocol.generated.metadata_response import MetadataResponse, MetadataResponseTopic
from oncelog.protocol.wire import Message
from oncelog.types import by_topic

FEATURES = Api(ApiKey.API_VERSIONS, 3, 4)
OFFERED = Api(ApiKey.API_VERSIONS, 0, 4)
CREATE_TOPICS = Api(ApiKey.CREATE_TOPICS, 2, 7)
DELETE_TOPICS = Api(ApiKey.DELETE_TOPICS, 1, 6)
CREATE_PARTITIONS = Api(ApiKey.CREATE_PARTITIONS, 0, 3)
DESCRIBE_CONFIGS = Api(ApiKey.DESCRIBE_CONFIGS, 1, 4)
INCREMENTAL_ALTER_CONFIGS = Api(ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, 1)
DELETE_RECORDS = Api(ApiKey.DELETE_RECORDS, 0, 2)

_SET, _DELETE = 0, 1


class TopicsAdmin(AdminConnection):
    """The admin client's methods for topics, configurations, offsets and the cluster. A call that names several topics
    tries all of them and then raises the first refusal."""

    async def create_topics(self, topics: Iterable[NewTopic], *, validate_only: bool = False) -> None:
        """Create topics, and return when their leaders are known.

        :raises TopicAlreadyExistsError: one exists; the others are created nevertheless.
        """
        left = {topic.name: topic for topic in admin_arguments.new_topics(topics)}
        refused: list[KafkaError] = []

        async def attempt() -> None:
            request = CreateTopicsRequest(
                topics=[_creatable(topic) for topic in left.values()],
                timeout_ms=self.config.request_timeout_ms,
                validate_only=validate_only,
            )
            answer = await self.cluster.ask_any(CREATE_TOPICS, request)
            again: list[KafkaError] = []
            for result in answer.topics:
                error = error_of(result.error_code)
                if error is not Error.NONE:
                    refusal = error_for(error, result.error_message or f"topic {result.name!r} was not created")
                    if refusal.retriable:
                        again.append(refusal)
                        continue
                    refused.append(refusal)
                    left.pop(result.name, None)
                else:
                    created.append(left.pop(result.name).name)
            if again:
                raise again[0]

        created: list[str] = []
        if left:
            await self.cluster.repeat("create_topics", attempt)
        if created and not validate_only:
            await self._wait_for_leaders(created)
        if refused:
            raise refused[0]

    async def _wait_for_leaders(self, names: Sequence[str]) -> None:
        async def attempt() -> None:
            answer = await self._topic_answers(names)
            for topic in answer:
                check(topic.error_code, f"topic {topic.name!r} is not ready")
                for partition in topic.partitions:
                    check(partition.error_code, f"{topic.name}-{partition.partition_index} is not ready")

        await self.cluster.repeat("create_topics", attempt)
        known = self.cluster.metadata
        if any(name in known.topics or name in known.errors for name in names):
            await self.cluster.refresh()  # refresh the topics tracked before this call; others are looked up when used

    async def delete_topics(self, names: Iterable[str]) -> None:
        """Delete topics with all their records."""
        left = arguments.names(names, "topics")
        refused: list[KafkaError] = []

        async def attempt() -> None:
            def build(version: int) -> DeleteTopicsRequest:
                request = DeleteTopicsRequest(timeout_ms=self.config.request_timeout_ms)
                if version >= 6:
                    request.topics = [DeleteTopicState(name=name) for name in left]
                else:
                    request.topic_names = left
                return request

            answer = await self.cluster.ask_any(DELETE_TOPICS, build)
            for result in answer.responses:
                error = error_of(result.error_code)
                name = result.name or ""
                if error is Error.UNKNOWN_TOPIC_OR_PARTITION:
                    refused.append(UnknownPartition(f"topic {name!r} does not exist"))
                elif error is not Error.NONE:
                    refusal = error_for(error, result.error_message or f"topic {name!r} was not deleted")
                    if refusal.retriable:
                        raise refusal
                    refused.append(refusal)
                left.remove(name)

        if left:
            await self.cluster.repeat("delete_topics", attempt)
        if refused:
            raise refused[0]

    async def create_partitions(
        self,
        counts: Mapping[str, int],
        *,
        assignments: Mapping[str, Sequence[Sequence[int]]] | None = None,
        validate_only: bool = False,
    ) -> None:
        """Give topics this many partitions in all; with ``validate_only`` only check whether that is possible."""
        wanted = admin_arguments.counts(counts)
        given = {} if assignments is None else admin_arguments.assignments(assignments)

        async def attempt() -> None:
            topics = [
                CreatePartitionsTopic(
                    name=name,
                    count=count,
                    assignments=[CreatePartitionsAssignment(broker_ids=ids) for ids in given[name]]
                    if name in given
                    else None,
                )
                for name, count in wanted.items()
            ]
            request = CreatePartitionsRequest(
                topics=topics, timeout_ms=self.config.request_timeout_ms, validate_only=validate_only
            )
            answer = await self.cluster.ask_any(CREATE_PARTITIONS, request)
            for result in answer.results:
                _check_topic(result.error_code, result.name, result.error_message)

        await self.cluster.repeat("create_partitions", attempt)
        self.cluster.metadata.request_update()

    async def list_topics(self, *, internal: bool = False) -> list[str]:
        """Names of all topics, sorted."""
        topics = await self.cluster.repeat("list_topics", lambda: self._topic_answers(None))
        return sorted(topic.name or "" for topic in topics if internal or not topic.is_internal)

    async def describe_topics(self, names: Iterable[str] | None = None) -> list[TopicDescription]:
        """Topics with leaders and replicas, in the order given; without names all but internal topics."""
        wanted = None if names is None else arguments.names(names, "topics")

        async def attempt() -> list[TopicDescription]:
            found = []
            for topic in await self._topic_answers(wanted):
                _check_topic(topic.error_code, topic.name or "", None)
                if wanted is not None or not topic.is_internal:
                    found.append(_describe(topic))
            return found

        described = await self.cluster.repeat("describe_topics", attempt)
        if wanted is None:
            return sorted(described, key=lambda topic: topic.name)
        return sorted(described, key=lambda topic: wanted.index(topic.name))

    async def _topic_answers(self, names: Sequence[str] | None) -> list[MetadataResponseTopic]:
        def build(version: int) -> MetadataRequest:
            topics = None if names is None else [MetadataRequestTopic(name=name) for name in names]
            return MetadataRequest(topics=topics, allow_auto_topic_creation=version < 4)

        answer: MetadataResponse = await self.cluster.ask_any(METADATA, build)
        return answer.topics

    async def describe_cluster(self) -> ClusterDescription:
        """Nodes, controller and id of the cluster."""
        await self.cluster.repeat("describe_cluster", self.cluster.refresh)
        nodes = tuple(Node(node, *address) for node, address in sorted(self.cluster.metadata.nodes.items()))
        return ClusterDescription(self.cluster.metadata.cluster_id, self.cluster.metadata.controller, nodes)

    async def describe_features(self) -> dict[str, FeatureLevel]:
        """The cluster's features by name, including ``metadata.version`` and ``transaction.version``; empty if the
        cluster has none (before KIP-584)."""
        answer: ApiVersionsResponse = await self.cluster.ask_any(FEATURES, ApiVersionsRequest("oncelog", "0.1.0"))
        levels = {item.name: item.max_version_level for item in answer.finalized_features}
        supported = {item.name: (item.min_version, item.max_version) for item in answer.supported_features}
        return {
            name: FeatureLevel(levels.get(name, 0), *supported.get(name, (0, levels.get(name, 0))))
            for name in sorted({*levels, *supported})
        }

    async def describe_api_versions(self) -> dict[int, tuple[int, int]]:
        """The lowest and the highest version of each API that a broker offers, by the API's key."""
        answer: ApiVersionsResponse = await self.cluster.ask_any(OFFERED, ApiVersionsRequest("oncelog", "0.1.0"))
        return {item.api_key: (item.min_version, item.max_version) for item in answer.api_keys}

    # --- configurations

    async def describe_configs(
        self, resources: Iterable[ConfigResource], *, names: Sequence[str] | None = None
    ) -> dict[ConfigResource, dict[str, ConfigEntry]]:
        """Properties of topics, brokers or groups, by name."""
        wanted = admin_arguments.resources(resources)
        properties = None if names is None else arguments.names(names, "properties")

        async def attempt() -> dict[ConfigResource, dict[str, ConfigEntry]]:
            found: dict[ConfigResource, dict[str, ConfigEntry]] = {}
            for node, items in (await self._by_node(wanted)).items():
                request = DescribeConfigsRequest(
                    resources=[
                        DescribeConfigsResource(
                            resource_type=item.type,
                            resource_name=item.name,
                            configuration_keys=properties,
                        )
                        for item in items
                    ]
                )
                answer = await self._ask(node, DESCRIBE_CONFIGS, request)
                for result in answer.results:
                    _check_topic(result.error_code, result.resource_name, result.error_message)
                    key = ConfigResource(ConfigResourceType(result.resource_type), result.resource_name)
                    found[key] = {
                        item.name: ConfigEntry(
                            item.name,
                            item.value,
                            CONFIG_SOURCES.get(item.config_source, "UNKNOWN"),
                            item.read_only,
                            item.is_sensitive,
                            item.documentation,
                        )
                        for item in result.configs
                    }
            return found

        return await self.cluster.repeat("describe_configs", attempt)

    async def alter_configs(
        self, changes: Mapping[ConfigResource, Mapping[str, str | None]], *, validate_only: bool = False
    ) -> None:
        """Set these properties and no others; None restores the default."""
        wanted = admin_arguments.changes(changes)

        async def attempt() -> None:
            for node, items in (await self._by_node(list(wanted))).items():
                request = IncrementalAlterConfigsRequest(
                    resources=[
                        AlterConfigsResource(
                            resource_type=item.type,
                            resource_name=item.name,
                            configs=[
                                AlterableConfig(name, _DELETE if value is None else _SET, value)
                                for name, value in wanted[item].items()
                            ],
                        )
                        for item in items
                    ],
                    validate_only=validate_only,
                )
                answer = await self._ask(node, INCREMENTAL_ALTER_CONFIGS, request)
                for result in answer.responses:
                    _check_topic(result.error_code, result.resource_name, result.error_message)

        await self.cluster.repeat("alter_configs", attempt)

    async def _by_node(self, resources: Sequence[ConfigResource]) -> dict[int | None, list[ConfigResource]]:
        """Group resources by the broker that must answer for them; None means any node.

        :raises IllegalStateError: the broker does not exist.
        """
        by_node: dict[int | None, list[ConfigResource]] = {}
        for resource in resources:
            own = resource.type in (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER) and resource.name
            by_node.setdefault(int(resource.name) if own else None, []).append(resource)
        named = by_node.keys() - {None}
        if named - self.cluster.metadata.nodes.keys():
            await self.cluster.refresh()
        for node in sorted(named - self.cluster.metadata.nodes.keys(), key=str):
            there = ", ".join(map(str, sorted(self.cluster.metadata.nodes)))
            raise IllegalStateError(f"the cluster has no broker {node} now; its brokers are {there}")
        return by_node

    async def _ask(self, node: int | None, api: Api, request: Message) -> Any:
        """The answer of this node, or of any node if it is None."""
        return await (self.cluster.ask_any(api, request) if node is None else self.cluster.ask(node, api, request))

    # --- records

    async def delete_records(
        self, offsets: Mapping[TopicPartition, int | RecordsToDelete]
    ) -> dict[TopicPartition, int]:
        """Delete the records before these offsets (-1: all); returns the new first offset of each partition."""
        given = arguments.by_partition(offsets, "offsets")
        before = {name: _offset_to_delete_before(name, value) for name, value in given.items()}

        async def ask(node: int, names: list[TopicPartition]) -> dict[TopicPartition, int | KafkaError]:
            request = DeleteRecordsRequest(
                topics=[
                    DeleteRecordsTopic(
                        name=topic,
                        partitions=[
                            DeleteRecordsPartition(number, before[TopicPartition(topic, number)]) for number in numbers
                        ],
                    )
                    for topic, numbers in by_topic(names).items()
                ],
                timeout_ms=self.config.request_timeout_ms,
            )
            found: dict[TopicPartition, int | KafkaError] = {}
            for topic in (await self.cluster.ask(node, DELETE_RECORDS, request)).topics:
                for item in topic.partitions:
                    name = TopicPartition(topic.name, item.partition_index)
                    error = error_of(item.error_code)
                    refused = error is not Error.NONE
                    found[name] = (
                        error_for(error, _not_deleted(name, before[name], error)) if refused else item.low_watermark
                    )
            return found

        return await self.cluster.at_leaders("delete_records", before, ask)

    async def list_offsets(
        self, wanted: Mapping[TopicPartition, int], *, read_committed: bool = False
    ) -> dict[TopicPartition, FoundOffset]:
        """Offset for each partition: by time in ms; -1 is the end (the last stable offset under ``read_committed``),
        -2 the beginning, -3 the record with the greatest timestamp."""
        asked = arguments.times(wanted)
        return await list_offsets(self.cluster, asked, read_committed=read_committed, wait_for_unknown_s=0)

    async def settled_ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, FoundOffset]:
        """The end of each partition for a read_committed reader that must read everything.

        A last stable offset may lag behind a commit that a producer has just seen. So this method waits for
        transactions that are being completed, but not for open transactions
        (:class:`~oncelog.client.aio.settled_ends.SettledEnds`).
        """
        return await SettledEnds(self.cluster).of(arguments.partitions(partitions), wait_for_unknown_s=0)

    async def partitions(self, topic: str) -> list[TopicPartition]:
        """The partitions of a topic."""
        described = await self.describe_topics([arguments.name(topic, "topics")])
        return [TopicPartition(topic, item.partition) for item in described[0].partitions]


def _not_deleted(name: TopicPartition, before: int, error: Error) -> str:
    which = f"records of {name} " + ("up to the high watermark" if before == -1 else f"before {before}")
    why = {
        Error.OFFSET_OUT_OF_RANGE: ": the partition ends before that offset",
        Error.POLICY_VIOLATION: ": cleanup.policy of the topic does not contain delete",
    }
    return f"{which} were not deleted{why.get(error, '')}"


def _offset_to_delete_before(name: TopicPartition, value: object) -> int:
    offset = getattr(value, "before_offset", value)
    if isinstance(offset, bool) or not isinstance(offset, int) or offset < -1:
        raise TypeError(
            f"delete_records takes an offset for each partition, -1 for all records, or RecordsToDelete(offset); for "
            f"{name} it got {value!r}"
        )
    return arguments.whole(offset, f"the offset of {name}")


def _check_topic(code: int, name: str, message: str | None) -> None:
    if error_of(code) is Error.UNKNOWN_TOPIC_OR_PARTITION:
        raise UnknownPartition(f"topic {name!r} does not exist")
    if error_of(code) is Error.INVALID_TOPIC_EXCEPTION and not message:
        raise topic_error(Error.INVALID_TOPIC_EXCEPTION, name)
    check(code, f"{name!r} was refused", message)


def _creatable(topic: NewTopic) -> CreatableTopic:
    placed = bool(topic.replica_assignments)
    return CreatableTopic(
        name=topic.name,
        num_partitions=-1 if placed else topic.num_partitions,
        replication_factor=-1 if placed else topic.replication_factor,
        assignments=[
            CreatableReplicaAssignment(index, list(ids)) for index, ids in sorted(topic.replica_assignments.items())
        ],
        configs=[CreatableTopicConfig(name, value) for name, value in topic.topic_configs.items()],
    )


def _describe(topic: MetadataResponseTopic) -> TopicDescription:
    partitions = tuple(
        PartitionDescription(
            item.partition_index,
            item.leader_id,
            item.leader_epoch,
            tuple(item.replica_nodes),
            tuple(item.isr_nodes),
        )
        for item in sorted(topic.partitions, key=lambda item: item.partition_index)
    )
    return TopicDescription(topic.name or "", topic.topic_id, topic.is_internal, partitions)


__all__ = ["EARLIEST", "LATEST", "TopicsAdmin"]
