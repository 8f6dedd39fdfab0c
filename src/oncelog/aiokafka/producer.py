"""``aiokafka.AIOKafkaProducer`` with aiokafka's settings and defaults, on :class:`oncelog.client.aio.Producer`."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any

from oncelog.aiokafka.abc import AbstractTokenProvider
from oncelog.aiokafka.client import AIOKafkaClient, check_security, warn_of_no_effect
from oncelog.client.aio.producer.producer import Batch, Partitioner, Producer, RecordHeaders, Serializer
from oncelog.client.core.serialization import serialization
from oncelog.client.core.structs import AnyK, AnyV, ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition

_UNSET: Any = object()


class BatchBuilder(Batch):
    """A batch that the program fills; its records pass through the producer's serializers."""

    def __init__(
        self, max_size_bytes: int, key_serializer: Serializer[AnyK] | None, value_serializer: Serializer[AnyV] | None
    ) -> None:
        super().__init__(max_size_bytes)
        self._serialization = serialization(key_serializer, value_serializer)

    def append(
        self,
        *,
        key: Any = None,
        value: Any = None,
        timestamp: int | None = None,
        headers: RecordHeaders = (),
    ) -> int | None:
        """Add a record; returns its position in the batch, or None when the batch is full or closed."""
        if self._serialization is not None:
            key, value, headers = self._serialization("", key, value, headers)
        return super().append(key=key, value=value, timestamp=timestamp, headers=headers)


class AIOKafkaProducer(Producer[AnyK, AnyV]):
    """aiokafka's producer.

    It keeps aiokafka's defaults: ``acks=1``, and no idempotence unless requested or a ``transactional_id`` is set.
    ``request_timeout_ms`` limits both a single request and how long a record is retried. With ``acks=0`` the future of
    a record resolves to None.
    """

    _places_without_acks = False

    def __init__(
        self,
        *,
        loop: object = None,
        bootstrap_servers: str | list[str] = "localhost",
        client_id: str | None = None,
        metadata_max_age_ms: int = 300_000,
        request_timeout_ms: int = 40_000,
        api_version: object = None,
        acks: int | str = _UNSET,
        key_serializer: Serializer[AnyK] | None = None,
        value_serializer: Serializer[AnyV] | None = None,
        compression_type: str | None = None,
        max_batch_size: int = 16_384,
        partitioner: Partitioner | None = None,
        max_request_size: int = 1_048_576,
        linger_ms: float = 0,
        retry_backoff_ms: int = 100,
        security_protocol: str = "PLAINTEXT",
        ssl_context: ssl.SSLContext | None = None,
        connections_max_idle_ms: int = 540_000,
        enable_idempotence: bool = False,
        transactional_id: str | None = None,
        transaction_timeout_ms: int = 60_000,
        sasl_mechanism: str = "PLAIN",
        sasl_plain_password: str | None = None,
        sasl_plain_username: str | None = None,
        sasl_kerberos_service_name: str = "kafka",
        sasl_kerberos_domain_name: str | None = None,
        sasl_oauth_token_provider: AbstractTokenProvider | None = None,
    ) -> None:
        warn_of_no_effect(loop=loop, api_version=api_version)
        check_security(security_protocol, ssl_context, sasl_mechanism, sasl_plain_username, sasl_plain_password)
        idempotent = enable_idempotence or transactional_id is not None
        if acks is _UNSET:
            acks = "all" if idempotent else 1
        super().__init__(
            bootstrap_servers=bootstrap_servers,
            client_id=client_id,
            metadata_max_age_ms=metadata_max_age_ms,
            request_timeout_ms=request_timeout_ms,
            delivery_timeout_ms=int(request_timeout_ms + linger_ms),
            max_block_ms=request_timeout_ms,
            acks=acks,
            key_serializer=key_serializer,
            value_serializer=value_serializer,
            compression_type=compression_type,
            max_batch_size=max_batch_size,
            partitioner=partitioner,
            max_request_size=max_request_size,
            linger_ms=linger_ms,
            retry_backoff_ms=retry_backoff_ms,
            security_protocol=security_protocol,
            ssl_context=ssl_context,
            connections_max_idle_ms=connections_max_idle_ms,
            enable_idempotence=idempotent,
            transactional_id=transactional_id,
            transaction_timeout_ms=transaction_timeout_ms,
            sasl_mechanism=sasl_mechanism,
            sasl_plain_password=sasl_plain_password,
            sasl_plain_username=sasl_plain_username,
            sasl_kerberos_service_name=sasl_kerberos_service_name,
            sasl_kerberos_domain_name=sasl_kerberos_domain_name,
            sasl_oauth_token_provider=sasl_oauth_token_provider,
        )
        self._serializers = key_serializer, value_serializer

    def create_batch(self) -> BatchBuilder:
        """A batch to fill by hand, of at most ``max_batch_size`` bytes."""
        return BatchBuilder(self.config.max_batch_size, *self._serializers)

    @property
    def client(self) -> AIOKafkaClient:
        """The producer's connections and its view of the cluster."""
        return AIOKafkaClient.of(self._cluster)

    async def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int | tuple[int, str]],
        group_id: str | ConsumerGroupMetadata,
    ) -> None:
        """Like :meth:`Producer.send_offsets_to_transaction`, but an invalid group raises ValueError."""
        self._appender.check_send()  # a missing transaction is reported before an invalid group, as in aiokafka
        if self.transaction_open and not (group_id and isinstance(group_id, (str, ConsumerGroupMetadata))):
            raise ValueError(f"group_id must name a group, not {group_id!r}")
        await super().send_offsets_to_transaction(offsets, group_id)


__all__ = ["AIOKafkaProducer", "BatchBuilder"]
