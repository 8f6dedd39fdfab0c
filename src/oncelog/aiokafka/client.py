"""``aiokafka.AIOKafkaClient``: the cluster as a client sees it. A program cannot send its own requests through it."""

from __future__ import annotations

import ssl
import warnings
from collections.abc import Iterable
from typing import Self

from oncelog.aiokafka.abc import AbstractTokenProvider
from oncelog.aiokafka.structs import BrokerMetadata
from oncelog.client.aio.aiokafka_keywords import split_settings
from oncelog.client.aio.connection.cluster_access import ClusterAccess, settled
from oncelog.client.core import arguments
from oncelog.client.core.config import ClientConfig
from oncelog.client.core.connection.metadata import ClusterMetadata
from oncelog.client.core.structs import TopicPartition
from oncelog.errors import ConfigError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime.chance import random


def warn_of_no_effect(**arguments: object) -> None:
    """Warn about deprecated arguments that have no effect, as aiokafka does: the client uses the running loop and
    negotiates versions."""
    for name, value in arguments.items():
        if value is not None:
            warnings.warn(f"{name} has no effect", DeprecationWarning, stacklevel=3)


def check_security(
    security_protocol: str,
    ssl_context: ssl.SSLContext | None,
    sasl_mechanism: str,
    sasl_plain_username: str | None,
    sasl_plain_password: str | None,
) -> None:
    """Refuse the combinations of arguments that aiokafka refuses.

    :raises ConfigError: the arguments are such a combination. A ConfigError is also a ValueError.
    """
    if security_protocol not in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"):
        raise ConfigError(
            "`security_protocol` should be SSL or PLAINTEXT, or with a login SASL_SSL or SASL_PLAINTEXT, not "
            f"{security_protocol!r}"
        )
    if security_protocol.endswith("SSL") and ssl_context is None:
        raise ConfigError(
            f"`ssl_context` is mandatory if security_protocol=={security_protocol!r}: create_ssl_context() of "
            "oncelog.aiokafka.helpers makes one"
        )
    login = security_protocol.startswith("SASL") and sasl_mechanism == "PLAIN"
    if login and None in (sasl_plain_username, sasl_plain_password):
        raise ConfigError("sasl_plain_username and sasl_plain_password required for PLAIN sasl")


class ClusterView:
    """``aiokafka.cluster.ClusterMetadata``, read-only."""

    def __init__(self, metadata: ClusterMetadata) -> None:
        self._metadata = metadata

    def brokers(self) -> set[BrokerMetadata]:
        """All known brokers."""
        return {BrokerMetadata(node, *address) for node, address in self._metadata.nodes.items()}

    def broker_metadata(self, broker_id: int) -> BrokerMetadata | None:
        """The broker with this node id; None if it is not known."""
        address = self._metadata.nodes.get(broker_id)
        return None if address is None else BrokerMetadata(broker_id, *address)

    def topics(self, exclude_internal_topics: bool = True) -> set[str]:
        """Names of the known topics."""
        known = self._metadata.topics.items()
        return {name for name, topic in known if not (exclude_internal_topics and topic.internal)}

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """Numbers of the topic's partitions; None if it is not known."""
        image = self._metadata.topics.get(topic)
        return None if image is None else set(range(image.partition_count))

    def available_partitions_for_topic(self, topic: str) -> set[int] | None:
        """Numbers of the partitions that have a leader; None if the topic is not known."""
        image = self._metadata.topics.get(topic)
        return None if image is None else set(image.available)

    def leader_for_partition(self, partition: TopicPartition) -> int | None:
        """The node that leads a partition, -1 if none does; None if the partition is not known."""
        numbers = self.partitions_for_topic(partition.topic)
        return None if numbers is None or partition.partition not in numbers else self._metadata.leader(partition)

    def partitions_for_broker(self, broker_id: int) -> set[TopicPartition] | None:
        """The partitions that a node leads; None if it leads none."""
        names = [name for topic in self._metadata.topics.values() for name in topic.keys]
        return {name for name in names if self._metadata.leader(name) == broker_id} or None


class AIOKafkaClient:
    """aiokafka's low-level client, limited to the view of the cluster."""

    _cluster: ClusterAccess

    def __init__(
        self,
        *,
        loop: object = None,
        bootstrap_servers: str | list[str] = "localhost",
        client_id: str | None = None,
        metadata_max_age_ms: int = 300_000,
        request_timeout_ms: int = 40_000,
        retry_backoff_ms: int = 100,
        ssl_context: ssl.SSLContext | None = None,
        security_protocol: str = "PLAINTEXT",
        api_version: object = None,
        connections_max_idle_ms: int = 540_000,
        sasl_mechanism: str = "PLAIN",
        sasl_plain_username: str | None = None,
        sasl_plain_password: str | None = None,
        sasl_kerberos_service_name: str = "kafka",
        sasl_kerberos_domain_name: str | None = None,
        sasl_oauth_token_provider: AbstractTokenProvider | None = None,
    ) -> None:
        warn_of_no_effect(loop=loop, api_version=api_version)
        check_security(security_protocol, ssl_context, sasl_mechanism, sasl_plain_username, sasl_plain_password)
        settings = {
            "bootstrap_servers": bootstrap_servers,
            "client_id": client_id,
            "metadata_max_age_ms": metadata_max_age_ms,
            "request_timeout_ms": request_timeout_ms,
            "retry_backoff_ms": retry_backoff_ms,
            "security_protocol": security_protocol,
            "connections_max_idle_ms": connections_max_idle_ms,
            "sasl_mechanism": sasl_mechanism,
            "sasl_plain_username": sasl_plain_username,
            "sasl_plain_password": sasl_plain_password,
            "sasl_kerberos_service_name": sasl_kerberos_service_name,
            "sasl_kerberos_domain_name": sasl_kerberos_domain_name,
            "sasl_oauth_token_provider": sasl_oauth_token_provider,
        }
        self._cluster = ClusterAccess(
            ClientConfig.from_keywords(**split_settings(settings)),
            timeout_ms=request_timeout_ms,
            setting="request.timeout.ms",
            ssl_context=ssl_context,
            allow_auto_creation=True,
        )

    @classmethod
    def of(cls, cluster: ClusterAccess) -> Self:
        """The view of the cluster to which a producer or consumer is connected."""
        client = cls.__new__(cls)
        client._cluster = cluster
        return client

    @property
    def hosts(self) -> list[tuple[str, int]]:
        """The bootstrap servers."""
        addresses = (address.rpartition(":") for address in self._cluster.config.bootstrap_servers)
        return [(host.strip("[]"), int(port)) for host, _, port in addresses]

    @property
    def cluster(self) -> ClusterView:
        """What is known about the cluster."""
        return ClusterView(self._cluster.metadata)

    async def bootstrap(self) -> None:
        """Connect and fetch the metadata.

        :raises KafkaConnectionError: no broker can be reached.
        """
        await self._cluster.start()

    async def close(self) -> None:
        """Close the connections. May be called twice."""
        await self._cluster.close()

    def get_random_node(self) -> int | None:
        """A random known broker."""
        nodes = sorted(self._cluster.metadata.nodes)
        return random.choice(nodes) if nodes else None

    def force_metadata_update(self) -> asyncio.Future[bool]:
        """Fetch the metadata again; resolves to whether a broker answered."""
        return asyncio.ensure_future(self._refreshed())

    async def _refreshed(self) -> bool:
        return await settled(self._cluster.metadata.refresh()) is None

    async def fetch_all_metadata(self) -> ClusterView:
        """Fetch the metadata of all topics.

        :raises KafkaError: no broker answered.
        """
        metadata = self._cluster.metadata
        before, metadata.want_all = metadata.want_all, True
        try:
            await self._cluster.refresh()
        finally:
            metadata.want_all = before
        return self.cluster

    def add_topic(self, topic: str) -> asyncio.Future[bool]:
        """Track one more topic; resolves to whether a broker answered."""
        self._cluster.metadata.want((topic,))
        return self.force_metadata_update()

    def set_topics(self, topics: Iterable[str]) -> asyncio.Future[bool]:
        """Track these topics and no others; resolves to whether a broker answered."""
        self._cluster.metadata.set_wanted(arguments.names(topics, "topics"))
        return self.force_metadata_update()


__all__ = ["AIOKafkaClient", "ClusterView", "warn_of_no_effect"]
