"""``aiokafka.AIOKafkaConsumer`` with aiokafka's settings and defaults, on :class:`oncelog.client.aio.Consumer`."""

from __future__ import annotations

import ssl
from collections.abc import Sequence

from oncelog.aiokafka.abc import AbstractTokenProvider
from oncelog.aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from oncelog.aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from oncelog.aiokafka.producer import warn_of_api_version
from oncelog.client.aio.consumer import Consumer, Deserializer
from oncelog.config import MAX_INT


class AIOKafkaConsumer(Consumer):
    """aiokafka's consumer.

    Its defaults are kept, the assignor among them: members that still run aiokafka can be in the same group.
    ``consumer_timeout_ms`` has no effect.
    """

    def __init__(
        self,
        *topics: str,
        loop: object = None,
        bootstrap_servers: str | list[str] = "localhost",
        client_id: str | None = None,
        group_id: str | None = None,
        group_instance_id: str | None = None,
        key_deserializer: Deserializer | None = None,
        value_deserializer: Deserializer | None = None,
        fetch_max_wait_ms: int = 500,
        fetch_max_bytes: int = 52_428_800,
        fetch_min_bytes: int = 1,
        max_partition_fetch_bytes: int = 1_048_576,
        request_timeout_ms: int = 40_000,
        retry_backoff_ms: int = 100,
        auto_offset_reset: str = "latest",
        enable_auto_commit: bool = True,
        auto_commit_interval_ms: int = 5000,
        check_crcs: bool = True,
        metadata_max_age_ms: int = 300_000,
        partition_assignment_strategy: Sequence[type[AbstractPartitionAssignor]] = (RoundRobinPartitionAssignor,),
        max_poll_interval_ms: int = 300_000,
        rebalance_timeout_ms: int | None = None,
        session_timeout_ms: int = 10_000,
        heartbeat_interval_ms: int = 3000,
        consumer_timeout_ms: int = 200,
        max_poll_records: int | None = None,
        ssl_context: ssl.SSLContext | None = None,
        security_protocol: str = "PLAINTEXT",
        api_version: object = None,
        exclude_internal_topics: bool = True,
        connections_max_idle_ms: int = 540_000,
        isolation_level: str = "read_uncommitted",
        sasl_mechanism: str = "PLAIN",
        sasl_plain_password: str | None = None,
        sasl_plain_username: str | None = None,
        sasl_kerberos_service_name: str = "kafka",
        sasl_kerberos_domain_name: str | None = None,
        sasl_oauth_token_provider: AbstractTokenProvider | None = None,
        client_rack: str | None = None,
    ) -> None:
        warn_of_api_version(api_version)
        super().__init__(
            *topics,
            bootstrap_servers=bootstrap_servers,
            client_id=client_id,
            group_id=group_id,
            group_instance_id=group_instance_id,
            key_deserializer=key_deserializer,
            value_deserializer=value_deserializer,
            fetch_max_wait_ms=fetch_max_wait_ms,
            fetch_max_bytes=fetch_max_bytes,
            fetch_min_bytes=fetch_min_bytes,
            max_partition_fetch_bytes=max_partition_fetch_bytes,
            request_timeout_ms=request_timeout_ms,
            default_api_timeout_ms=request_timeout_ms,
            retry_backoff_ms=retry_backoff_ms,
            auto_offset_reset=auto_offset_reset,
            enable_auto_commit=enable_auto_commit,
            auto_commit_interval_ms=auto_commit_interval_ms,
            check_crcs=check_crcs,
            metadata_max_age_ms=metadata_max_age_ms,
            partition_assignment_strategy=partition_assignment_strategy,
            max_poll_interval_ms=max_poll_interval_ms,
            rebalance_timeout_ms=rebalance_timeout_ms,
            session_timeout_ms=session_timeout_ms,
            heartbeat_interval_ms=heartbeat_interval_ms,
            max_poll_records=MAX_INT if max_poll_records is None else max_poll_records,
            ssl_context=ssl_context,
            security_protocol=security_protocol,
            exclude_internal_topics=exclude_internal_topics,
            connections_max_idle_ms=connections_max_idle_ms,
            isolation_level=isolation_level,
            sasl_mechanism=sasl_mechanism,
            sasl_plain_password=sasl_plain_password,
            sasl_plain_username=sasl_plain_username,
            sasl_kerberos_service_name=sasl_kerberos_service_name,
            sasl_kerberos_domain_name=sasl_kerberos_domain_name,
            sasl_oauth_token_provider=sasl_oauth_token_provider,
            client_rack=client_rack,
        )


__all__ = ["AIOKafkaConsumer"]
