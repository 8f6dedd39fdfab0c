"""``aiokafka.AIOKafkaConsumer`` with aiokafka's settings and defaults, on :class:`oncelog.client.aio.Consumer`."""

from __future__ import annotations

import re
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from oncelog.aiokafka.abc import AbstractTokenProvider, ConsumerRebalanceListener
from oncelog.aiokafka.client import check_security, warn_of_no_effect
from oncelog.aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from oncelog.aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from oncelog.aiokafka.errors import (
    ConsumerStoppedError,
    IllegalStateError,
    KafkaTimeoutError,
    UnknownTopicOrPartitionError,
)
from oncelog.client.aio.connection.cluster_access import UnknownPartition
from oncelog.client.aio.consumer.consumer import Consumer
from oncelog.client.core import arguments
from oncelog.client.core.consumer.subscription import TopicPattern
from oncelog.client.core.structs import (
    ConsumerRecord,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    ReadK,
    ReadV,
    TopicPartition,
)
from oncelog.errors import ConfigError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.settings.kafka_properties import MAX_INT

T = TypeVar("T")
Offsets = Mapping[TopicPartition, OffsetAndMetadata | int | tuple[int, str]]


class AIOKafkaConsumer(Consumer[ReadK, ReadV]):
    """aiokafka's consumer.

    It keeps aiokafka's defaults, including the assignor: members that still run aiokafka can be in the same group.
    ``consumer_timeout_ms`` has no effect. Deserializers are called for None, too.
    """

    _reports_empty_revocations = True

    def __init__(
        self,
        *topics: str,
        loop: object = None,
        bootstrap_servers: str | list[str] = "localhost",
        client_id: str | None = None,
        group_id: str | None = None,
        group_instance_id: str | None = None,
        key_deserializer: Callable[[bytes], ReadK] | None = None,
        value_deserializer: Callable[[bytes], ReadV] | None = None,
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
        warn_of_no_effect(loop=loop, api_version=api_version)
        check_security(security_protocol, ssl_context, sasl_mechanism, sasl_plain_username, sasl_plain_password)
        if isolation_level not in ("read_committed", "read_uncommitted"):
            raise ConfigError(f"Incorrect isolation level {isolation_level}: it is read_committed or read_uncommitted")
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
        self._fetcher.deserialize_nulls()

    async def start(self) -> None:
        """Connect, and wait for the first assignment if topics were subscribed to before.

        :raises UnknownTopicOrPartitionError: without a group, a topic does not exist and is not created.
        """
        await super().start()
        try:
            await self._first_assignment()
        except BaseException:
            await self.stop()
            raise

    async def _first_assignment(self) -> None:
        wanted = self.subscription()
        if self._subscription.pattern is not None or not wanted:
            return
        if self.config.group_id is not None:
            while self._group is None or not self._group.membership.stable:
                self._waits.raise_failure()
                await self._waits.wait(None)
            return
        try:
            async with asyncio.timeout(self.config.request_timeout_ms / 1000):
                while missing := wanted - {name.topic for name in self.assignment()}:
                    await self._waits.wait(self.config.retry_backoff_ms / 1000)
        except TimeoutError:
            raise UnknownTopicOrPartitionError(f"there is no topic {', '.join(sorted(missing))}") from None

    def subscribe(
        self,
        topics: Iterable[str] = (),
        pattern: TopicPattern | None = None,
        listener: ConsumerRebalanceListener | None = None,
    ) -> None:
        """Like :meth:`Consumer.subscribe`, but misuse raises TypeError or ValueError."""
        if isinstance(topics, (str, bytes)):
            raise TypeError(f"topics must be a list of names, not {topics!r}")
        if bool(topics) == (pattern is not None):
            raise TypeError("give either topics or a pattern")
        if pattern is not None:
            try:
                re.compile(arguments.text(pattern, "pattern") if not isinstance(pattern, re.Pattern) else pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is not a valid pattern: {error}") from error
        super().subscribe(topics, pattern, listener)

    async def getmany(
        self, *partitions: TopicPartition, timeout_ms: int = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord[ReadK, ReadV]]]:
        """Like :meth:`Consumer.getmany`; returns nothing if the consumer stops while it waits."""
        if max_records is not None and arguments.whole(max_records, "max_records") < 1:
            raise ValueError(f"max_records={max_records} must be at least 1")
        if self._closed:
            raise ConsumerStoppedError("the consumer was stopped")
        try:
            return await super().getmany(*partitions, timeout_ms=timeout_ms, max_records=max_records)
        except ConsumerStoppedError:
            return {}

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Like :meth:`Consumer.seek`, but an invalid offset raises ValueError."""
        if not isinstance(offset, int) or offset < 0:
            raise ValueError(f"offset {offset!r} must be a whole number of at least 0")
        super().seek(partition, offset)

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Like :meth:`Consumer.offsets_for_times`, but a negative time raises ValueError."""
        for name, timestamp in arguments.times(timestamps).items():
            if timestamp < 0:
                raise ValueError(f"the timestamp {timestamp} for {name} is negative")
        return await _found(super().offsets_for_times(timestamps))

    async def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Like :meth:`Consumer.beginning_offsets`."""
        return await _found(super().beginning_offsets(partitions))

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Like :meth:`Consumer.end_offsets`."""
        return await _found(super().end_offsets(partitions))

    async def commit(self, offsets: Offsets | None = None) -> None:
        """Like :meth:`Consumer.commit`, for assigned partitions only, each with an offset or (offset, metadata)."""
        if offsets is not None:
            self._check_offsets(offsets)
        await super().commit(offsets)

    def _check_offsets(self, offsets: Any) -> None:
        if not offsets or not isinstance(offsets, dict):
            raise ValueError(f"commit() takes offsets by partition, not {offsets!r}")
        for name, position in offsets.items():
            if not isinstance(name, TopicPartition):
                raise TypeError(arguments.misfit(TopicPartition, name, "Key should be {wanted} instance, not {given}"))
            arguments.partition(name)
            if isinstance(position, OffsetAndMetadata | int):
                continue
            if not isinstance(position, tuple) or len(position) != 2:
                raise ValueError(f"the offset of {name} must be a number or (number, string), not {position!r}")
            if position[1] is not None and not isinstance(position[1], str):
                raise TypeError(f"Metadata should be a string, not {position[1]!r}")
        if self.config.group_id is None:
            return
        if not self.subscription() and not self.assignment():
            raise IllegalStateError("Not subscribed to any topics")
        if not self.assignment():
            raise IllegalStateError("No partitions assigned")
        for name in offsets:
            if name not in self.assignment():
                raise IllegalStateError(f"Partition {name} is not assigned")


class NoSuchPartition(UnknownPartition, KafkaTimeoutError):
    """Raised at once for a partition that does not exist. aiokafka waits for the partition and then raises
    KafkaTimeoutError, so the class is also one of these."""


async def _found(offsets: Awaitable[T]) -> T:
    try:
        return await offsets
    except UnknownTopicOrPartitionError as error:
        raise NoSuchPartition(str(error).removesuffix(f" [{error.error.name}]")) from None


__all__ = ["AIOKafkaConsumer"]
