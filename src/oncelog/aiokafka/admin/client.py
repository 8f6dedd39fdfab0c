"""``aiokafka.admin.AIOKafkaAdminClient`` on :class:`oncelog.client.aio.Admin`.

Responses have aiokafka's shapes; an error that aiokafka returns as a code for each topic is not raised here either.
"""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from oncelog.aiokafka.abc import AbstractTokenProvider
from oncelog.aiokafka.admin.config_resource import ConfigResource
from oncelog.aiokafka.admin.new_partitions import NewPartitions
from oncelog.aiokafka.admin.new_topic import NewTopic
from oncelog.aiokafka.admin.records_to_delete import RecordsToDelete
from oncelog.aiokafka.admin.responses import (
    AlterConfigsResponse,
    ConfigRow,
    DeleteTopicsResponse,
    DescribeConfigsResponse,
    DescribeGroupsResponse,
    TopicsResponse,
)
from oncelog.aiokafka.client import check_security, warn_of_no_effect
from oncelog.aiokafka.errors import IncompatibleBrokerVersion
from oncelog.client.aio.admin.admin import Admin
from oncelog.client.core import arguments
from oncelog.client.core.admin import admin_arguments, admin_types
from oncelog.client.core.admin.admin_types import CONFIG_SOURCES
from oncelog.client.core.connection.coordinator_lookup import CoordinatorType
from oncelog.client.core.structs import OffsetAndMetadata, TopicPartition
from oncelog.errors import Error, KafkaError
from oncelog.runtime import real_asyncio as asyncio

T = TypeVar("T")
TOPICS_AT_ONCE = 20
"""How many topics are created concurrently."""
_SOURCE_CODES = {name: code for code, name in CONFIG_SOURCES.items()}


class AIOKafkaAdminClient:
    """aiokafka's admin client. Two arguments of its methods have no effect: ``timeout_ms``, because
    ``request_timeout_ms`` applies, and ``group_coordinator_id``, because each group's coordinator is looked up."""

    def __init__(
        self,
        *,
        loop: object = None,
        bootstrap_servers: str | list[str] = "localhost",
        client_id: str | None = None,
        request_timeout_ms: int = 40_000,
        connections_max_idle_ms: int = 540_000,
        retry_backoff_ms: int = 100,
        metadata_max_age_ms: int = 300_000,
        security_protocol: str = "PLAINTEXT",
        ssl_context: ssl.SSLContext | None = None,
        api_version: object = None,
        sasl_mechanism: str = "PLAIN",
        sasl_plain_username: str | None = None,
        sasl_plain_password: str | None = None,
        sasl_kerberos_service_name: str = "kafka",
        sasl_kerberos_domain_name: str | None = None,
        sasl_oauth_token_provider: AbstractTokenProvider | None = None,
    ) -> None:
        warn_of_no_effect(loop=loop, api_version=api_version)
        check_security(security_protocol, ssl_context, sasl_mechanism, sasl_plain_username, sasl_plain_password)
        self._admin = Admin(
            bootstrap_servers=bootstrap_servers,
            client_id=client_id,
            request_timeout_ms=request_timeout_ms,
            default_api_timeout_ms=request_timeout_ms,
            connections_max_idle_ms=connections_max_idle_ms,
            retry_backoff_ms=retry_backoff_ms,
            metadata_max_age_ms=metadata_max_age_ms,
            security_protocol=security_protocol,
            ssl_context=ssl_context,
            sasl_mechanism=sasl_mechanism,
            sasl_plain_username=sasl_plain_username,
            sasl_plain_password=sasl_plain_password,
            sasl_kerberos_service_name=sasl_kerberos_service_name,
            sasl_kerberos_domain_name=sasl_kerberos_domain_name,
            sasl_oauth_token_provider=sasl_oauth_token_provider,
        )
        self._started = False

    async def start(self) -> None:
        """Connect; may be called twice."""
        if not self._started:
            self._started = True
            await self._admin.start()

    async def close(self) -> None:
        """Close the connections; may be called twice."""
        await self._admin.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # --- topics

    async def create_topics(
        self, new_topics: list[NewTopic], timeout_ms: int | None = None, validate_only: bool = False
    ) -> TopicsResponse:
        """Create topics; the response has a code for each."""
        found = arguments.listed(new_topics, NewTopic)
        made = [
            admin_types.NewTopic(
                topic.name,
                topic.num_partitions,
                topic.replication_factor,
                topic.replica_assignments,
                topic.topic_configs,
            )
            for topic in found
        ]
        admin_arguments.new_topics(made)  # validates every topic before the first is created
        limit = asyncio.Semaphore(TOPICS_AT_ONCE)

        async def make(topic: admin_types.NewTopic) -> tuple[int, str | None]:
            async with limit:
                return await _outcome(self._admin.create_topics, [topic], validate_only=validate_only)

        outcomes = await asyncio.gather(*map(make, made))
        return TopicsResponse([(topic.name, *outcome) for topic, outcome in zip(made, outcomes, strict=True)])

    async def delete_topics(self, topics: list[str], timeout_ms: int | None = None) -> DeleteTopicsResponse:
        """Delete topics; the response has a code for each."""
        names = arguments.names(topics, "topics")
        return DeleteTopicsResponse([(name, (await _outcome(self._admin.delete_topics, [name]))[0]) for name in names])

    async def list_topics(self) -> list[str]:
        """Names of all topics, internal ones too."""
        return await self._admin.list_topics(internal=True)

    async def describe_topics(self, topics: list[str] | None = None) -> list[dict[str, Any]]:
        """Topics with their partitions; one that does not exist has an error code."""
        rows = []
        for name in arguments.names(topics, "topics") if topics is not None else await self.list_topics():
            try:
                found = await self._admin.describe_topics([name])
            except KafkaError as error:
                rows.append({"error_code": int(error.error), "topic": name, "is_internal": False, "partitions": []})
                continue
            rows += [_topic_row(topic) for topic in found]
        return rows

    async def create_partitions(
        self, topic_partitions: dict[str, NewPartitions], timeout_ms: int | None = None, validate_only: bool = False
    ) -> TopicsResponse:
        """Give topics more partitions.

        :raises KafkaError: a topic was refused.
        """
        arguments.mapping(topic_partitions, "{topic: NewPartitions(count)}")
        arguments.listed(topic_partitions.values(), NewPartitions)
        await self._admin.create_partitions(
            {name: new.total_count for name, new in topic_partitions.items()},
            assignments={
                name: new.new_assignments for name, new in topic_partitions.items() if new.new_assignments is not None
            },
            validate_only=validate_only,
        )
        return TopicsResponse([(name, 0, None) for name in topic_partitions])

    async def delete_records(
        self, records_to_delete: dict[TopicPartition, RecordsToDelete], timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        """Delete the records before an offset; returns the new first offset of each partition."""
        arguments.mapping(records_to_delete, "{TopicPartition(topic, number): RecordsToDelete(offset)}")
        arguments.listed(records_to_delete.values(), RecordsToDelete)
        return await self._admin.delete_records(
            {name: records.before_offset for name, records in records_to_delete.items()}
        )

    # --- cluster and settings

    async def describe_cluster(self) -> dict[str, Any]:
        """Brokers, controller and id of the cluster."""
        found = await self._admin.describe_cluster()
        return {
            "brokers": [
                {"node_id": node.node_id, "host": node.host, "port": node.port, "rack": node.rack}
                for node in found.nodes
            ],
            "cluster_id": found.cluster_id,
            "controller_id": found.controller_id,
        }

    async def describe_configs(
        self, config_resources: list[ConfigResource], include_synonyms: bool = False
    ) -> list[DescribeConfigsResponse]:
        """Settings of brokers and topics, for each only those named in its ``configs``. Synonyms are not requested."""
        wanted = arguments.listed(config_resources, ConfigResource)
        return [DescribeConfigsResponse([await self._described(item)]) for item in wanted]

    async def _described(self, resource: ConfigResource) -> tuple[int, str | None, int, str, list[ConfigRow]]:
        key = _ours(resource)
        names = None if resource.configs is None else list(resource.configs)
        try:
            found = (await self._admin.describe_configs([key], names=names))[key]
        except KafkaError as error:
            return int(error.error), str(error), int(key.type), key.name, []
        rows: list[ConfigRow] = [
            (entry.name, entry.value, entry.read_only, _SOURCE_CODES.get(entry.source, 0), entry.sensitive, [])
            for entry in found.values()
        ]
        return 0, None, int(key.type), key.name, rows

    async def alter_configs(self, config_resources: list[ConfigResource]) -> list[AlterConfigsResponse]:
        """Set these settings of topics and brokers and reset all others to their defaults, as AlterConfigs does."""
        rows = []
        for resource in arguments.listed(config_resources, ConfigResource):
            key = _ours(resource)
            code, text = await _outcome(self._replace, key, dict(resource.configs or {}))
            rows.append((code, text, int(key.type), key.name))
        return [AlterConfigsResponse(rows)]

    async def _replace(self, key: admin_types.ConfigResource, values: dict[str, str]) -> None:
        own = "DYNAMIC_TOPIC_CONFIG" if key.type is admin_types.ConfigResourceType.TOPIC else "DYNAMIC_BROKER_CONFIG"
        there = (await self._admin.describe_configs([key]))[key]
        gone = [entry.name for entry in there.values() if entry.source == own and entry.name not in values]
        await self._admin.alter_configs({key: {**dict.fromkeys(gone), **values}})

    # --- groups

    async def find_coordinator(self, group_id: str, coordinator_type: int = 0) -> int:
        """The node that coordinates a group (0) or a transactional id (1)."""
        kind = CoordinatorType(arguments.whole(coordinator_type, "coordinator_type"))
        cluster = self._admin.cluster
        finder = cluster.finder(kind, arguments.text(group_id, "group_id"))
        return await cluster.repeat("find_coordinator", lambda: cluster.coordinator(finder))

    async def describe_consumer_groups(
        self,
        group_ids: list[str],
        group_coordinator_id: int | None = None,
        include_authorized_operations: bool = False,
    ) -> list[DescribeGroupsResponse]:
        """State and members of groups.

        :raises IncompatibleBrokerVersion: ``include_authorized_operations`` is true, which is not supported; aiokafka
            raises the same for an older broker.
        """
        if include_authorized_operations:
            raise IncompatibleBrokerVersion(
                "include_authorized_operations=True is not supported: leave it out; "
                "oncelog acls list shows what a user may do"
            )
        found = await self._admin.describe_consumer_groups(group_ids)
        return [
            DescribeGroupsResponse(
                [
                    (
                        0,
                        group.group_id,
                        group.state,
                        group.protocol_type,
                        group.assignor,
                        [
                            (m.member_id, m.group_instance_id, m.client_id, m.client_host, list(m.assignment))
                            for m in group.members
                        ],
                    )
                ]
            )
            for group in found
        ]

    async def list_consumer_groups(self, broker_ids: list[int] | None = None) -> list[tuple[Any, ...]]:
        """Name and protocol type of every group, or of those that these brokers coordinate."""
        groups = await self._admin.list_consumer_groups()
        wanted = None if broker_ids is None else arguments.wholes(broker_ids, "brokers", 32)
        rows: list[tuple[Any, ...]] = [(group.group_id, group.protocol_type) for group in groups]
        if wanted is None:
            return rows
        return [row for row in rows if await self._admin.find_coordinator(row[0]) in wanted]

    async def list_consumer_group_offsets(
        self,
        group_id: str,
        group_coordinator_id: int | None = None,
        partitions: Sequence[TopicPartition] | None = None,
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Committed positions; -1 for a partition that was asked for and has none."""
        names = None if partitions is None else arguments.partitions(partitions)
        found = await self._admin.list_consumer_group_offsets(group_id, names)
        asked = {name: OffsetAndMetadata(-1, "") for name in names or ()}
        return {**asked, **found}


async def _outcome(call: Callable[..., Awaitable[None]], *arguments: Any, **options: Any) -> tuple[int, str | None]:
    """Make a call and return its error code and text."""
    try:
        await call(*arguments, **options)
    except KafkaError as error:
        return int(error.error), str(error)
    return int(Error.NONE), None


def _topic_row(topic: admin_types.TopicDescription) -> dict[str, Any]:
    return {
        "error_code": 0,
        "topic": topic.name,
        "is_internal": topic.internal,
        "partitions": [
            {
                "error_code": 0,
                "partition": item.partition,
                "leader": item.leader,
                "replicas": list(item.replicas),
                "isr": list(item.isr),
                "offline_replicas": [],
            }
            for item in topic.partitions
        ],
    }


def _ours(resource: ConfigResource) -> admin_types.ConfigResource:
    return admin_types.ConfigResource(admin_types.ConfigResourceType(resource.resource_type), str(resource.name))


__all__ = ["AIOKafkaAdminClient"]
