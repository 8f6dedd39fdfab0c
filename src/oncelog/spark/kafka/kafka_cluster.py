"""A Kafka cluster for Spark's workers: metadata, offsets, raw fetches; blocking, on the clients' background loop.

Implements :class:`oncelog.spark.kafka.interface.KafkaAccess` on the client's access to a cluster
(``client.aio.connection.cluster_access``). Nothing here keeps data: fetched bytes go to the caller undecoded, so that
they become Arrow without an object for each record.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import fields
from typing import Any, Protocol, TypeVar

from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.admin.admin_topics import DESCRIBE_CONFIGS
from oncelog.client.aio.connection.cluster_access import ClusterAccess, settled
from oncelog.client.aio.offset_lookups import EARLIEST, LATEST, FoundOffset, OffsetLookups, epoch_ends, list_offsets
from oncelog.client.aio.settled_ends import SettledEnds
from oncelog.client.background import background
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.client.core.client_errors import UnsupportedVersionError, error_for, error_of, topic_error
from oncelog.client.core.config import AdminConfig, ClientConfig
from oncelog.client.core.connection.coordinator_lookup import CoordinatorType
from oncelog.client.core.connection.wire import FETCH, METADATA, NO_LIMIT
from oncelog.client.core.consumer.read_committed import filter_batches
from oncelog.client.core.structs import ConsumerGroupMetadata, OffsetAndMetadata
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic
from oncelog.protocol.generated.fetch_response import FetchResponse, PartitionData
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
from oncelog.protocol.generated.metadata_response import MetadataResponseTopic
from oncelog.protocol.struct_fields import ZERO_UUID
from oncelog.records.arrow import BatchBytes
from oncelog.records.batch import BatchHeader, iter_headers
from oncelog.runtime import real_asyncio as asyncio
from oncelog.spark.kafka.interface import (
    ClusterFacts,
    FetchedBatches,
    LogEnd,
    LogReplaced,
    OffsetRange,
    describe_remade,
)
from oncelog.spark.kafka.kafka_transaction import KafkaTransaction
from oncelog.spark.kafka.rights import naming_the_right
from oncelog.spark.options import ClusterOptions, TopicCreation
from oncelog.types import IsolationLevel, TopicPartition, encode_uuid

T = TypeVar("T")

DEFAULTS = ClusterOptions()
NEAR_REPLICA_KEPT_S = 300.0
"""Seconds for which a replica that the leader named is read before the leader is asked again, as in Java's consumer."""
GIVE_UP_ON_UNKNOWN_S = 2.0
"""Seconds after which a topic that no broker knows counts as missing."""
GROUP_TIMEOUT_MS = 5000
"""The time limit, in ms, for committing a query's position to the consumer group for tools, which does not determine
where the query continues.
"""
STALE_LEADER_S = 10.0
"""Seconds for which a leader epoch older than the query's is explained by outdated metadata."""
_FETCH_BY_NAME = 12
"""The last version of Fetch that identifies topics by name."""
_BROKER_RESOURCE = 4
_RETENTION = "offsets.retention.minutes"


class Loop(Protocol):
    """An event loop in another thread."""

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run ``work`` on the loop, and wait for its result."""
        ...

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start ``work`` on the loop; returns a future of its result."""
        ...


async def _connected(
    config: ClientConfig, options: ClusterOptions, unreachable: Callable[[KafkaError], None] | None
) -> ClusterAccess:
    cluster = ClusterAccess(config, timeout_ms=options.timeout_ms, setting=options.timeout_setting)

    async def attempt() -> None:
        try:
            await cluster.start()
        except KafkaError as error:
            nonlocal unreachable
            report, unreachable = unreachable, None
            if report is not None and error.retriable:
                report(error)
            raise

    try:
        await cluster.repeat("connecting", attempt)
    except BaseException:
        await cluster.close()
        raise
    return cluster


class KafkaCluster:
    """One client of a cluster. Safe to use from several threads.

    :param aio: the client's access to the cluster; connected, and used on ``loop`` only.
    """

    def __init__(self, aio: ClusterAccess, loop: Loop, options: ClusterOptions = DEFAULTS) -> None:
        self.aio = aio
        self.options = options
        self.tells_retention: bool | None = None
        """Whether the coordinator answered the last :meth:`facts` with its offset retention; None before the first
        call.
        """
        self._loop = loop
        self._settled = SettledEnds(aio)

    @classmethod
    def connect(
        cls,
        config: ClientConfig,
        options: ClusterOptions = DEFAULTS,
        unreachable: Callable[[KafkaError], None] | None = None,
        loop: Loop | None = None,
    ) -> KafkaCluster:
        """Connect on this process's loop, or on the given one. Raises KafkaError if no broker answers.

        :param unreachable: called once, when the first attempt to connect fails; attempts are repeated for
            ``timeout_ms``.
        """
        chosen = loop or background()
        return cls(chosen.run(_connected(config, options, unreachable)), chosen, options)

    def close(self) -> None:
        """Close the connections."""
        self.run(self.aio.close())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run ``work`` on the client's loop, and wait for its result."""
        return self._loop.run(work)

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start ``work`` on the client's loop; returns a future of its result."""
        return self._loop.submit(work)

    # --- metadata

    def partition_counts(self, topics: Sequence[str] | None, *, wait: bool = False) -> Mapping[str, int]:
        with naming_the_right(topic_right=f"WRITE (to write) or READ (to read) on the topic {', '.join(topics or ())}"):
            return self.run(self._partition_counts(topics, wait))

    async def _partition_counts(self, topics: Sequence[str] | None, wait: bool) -> dict[str, int]:
        loop = asyncio.get_running_loop()
        wait_until = loop.time() + (GIVE_UP_ON_UNKNOWN_S if wait else 0)

        async def attempt() -> dict[str, int]:
            counts: dict[str, int] = {}
            for topic in await self._topics(topics):
                error = error_of(topic.error_code)
                if error is Error.UNKNOWN_TOPIC_OR_PARTITION and loop.time() >= wait_until:
                    continue
                if error is not Error.NONE:
                    raise topic_error(error, topic.name or "")
                if topics is not None or not topic.is_internal:
                    counts[topic.name or ""] = len(topic.partitions)
            return counts

        return await self.aio.repeat("Metadata", attempt)

    def topic_ids(self, topics: Sequence[str]) -> Mapping[str, str]:
        return self.run(self.ids_of(topics))

    async def ids_of(self, topics: Sequence[str]) -> dict[str, str]:
        """The ids of topics, as :meth:`topic_ids` returns them; to be awaited on the client's loop."""
        answers = await self.aio.repeat("Metadata", lambda: self._topics(topics))
        return {
            topic.name or "": encode_uuid(topic.topic_id)
            for topic in answers
            if error_of(topic.error_code) is Error.NONE and topic.topic_id != ZERO_UUID
        }

    def create_topics(self, topics: Collection[str], creation: TopicCreation) -> None:
        config = AdminConfig(**{one.name: getattr(self.aio.config, one.name) for one in fields(ClientConfig)})

        async def create(name: str) -> None:
            wanted = NewTopic(name, creation.partitions, creation.replication, topic_configs=creation.settings)
            async with Admin(config=config) as admin:
                await admin.create_topics([wanted])

        for name in topics:
            with naming_the_right(topic_right=f"CREATE on the topic {name}, or create it yourself"):
                try:
                    self.run(create(name))
                except KafkaError as error:
                    if error.error is Error.TOPIC_ALREADY_EXISTS:
                        continue
                    text = str(error).removesuffix(f" [{error.error.name}]").rstrip(".")
                    raise error_for(error.error, f"topic {name!r} cannot be created {creation}: {text}") from error

    async def _topics(self, topics: Sequence[str] | None) -> list[MetadataResponseTopic]:
        names = None if topics is None else [MetadataRequestTopic(name=topic) for topic in topics]

        def build(version: int) -> MetadataRequest:
            return MetadataRequest(topics=names, allow_auto_topic_creation=version < 4)

        found: list[MetadataResponseTopic] = (await self.aio.ask_any(METADATA, build)).topics
        known = {topic.topic_id: self.aio.metadata.topic_id(topic.name or "") for topic in found}
        if any(ZERO_UUID not in (now, before) and now != before for now, before in known.items()):
            # A topic was recreated: otherwise the next marker would be addressed to the deleted one, and refused
            await settled(self.aio.metadata.refresh())
        return found

    def facts(self, group: str) -> ClusterFacts:
        """The cluster's id, and the offset retention of the coordinator of ``group``, if the user may query it."""
        finder = self.aio.finder(CoordinatorType.GROUP, group)
        what = f"DescribeConfigs of {_RETENTION}"
        with naming_the_right(group):
            retention_ms = self.run(self.aio.at_coordinator(what, finder, self._retention_ms))
        self.tells_retention = retention_ms is not None
        return ClusterFacts(self.aio.metadata.cluster_id or "", retention_ms)

    async def _retention_ms(self, node: int) -> int | None:
        """The offset retention of a node; None if the user may not query it."""
        resource = DescribeConfigsResource(_BROKER_RESOURCE, str(node), [_RETENTION])
        try:
            answer = await self.aio.ask(node, DESCRIBE_CONFIGS, DescribeConfigsRequest(resources=[resource]))
        except UnsupportedVersionError:  # a hosted service may speak the protocol without DescribeConfigs
            return None
        result = answer.results[0]
        error = error_of(result.error_code)
        if error is Error.CLUSTER_AUTHORIZATION_FAILED:
            return None
        if error is not Error.NONE:
            raise error_for(error, f"{_RETENTION} of node {node} cannot be read")
        values = [int(config.value) for config in result.configs if config.name == _RETENTION and config.value]
        return values[0] * 60_000 if values else None

    # --- offsets

    def list_offsets(
        self, questions: Mapping[TopicPartition, int], isolation: IsolationLevel
    ) -> Mapping[TopicPartition, int]:
        found = self._found_offsets(questions, isolation)
        return {partition: item.offset for partition, item in found.items()}

    def log_ends(
        self, partitions: Sequence[TopicPartition], isolation: IsolationLevel
    ) -> Mapping[TopicPartition, LogEnd]:
        found = self._found_offsets(dict.fromkeys(partitions, LATEST), isolation)
        return {partition: LogEnd(item.offset, item.leader_epoch) for partition, item in found.items()}

    def settled_ends(
        self,
        partitions: Sequence[TopicPartition],
        isolation: IsolationLevel,
        read: Mapping[TopicPartition, int] | None = None,
    ) -> Mapping[TopicPartition, LogEnd]:
        if isolation is not IsolationLevel.READ_COMMITTED:
            return self.log_ends(partitions, isolation)
        topics = ", ".join(sorted({partition.topic for partition in partitions}))
        with naming_the_right(topic_right=f"READ on the topic {topics}"):
            found = self.run(
                self._repeated(
                    lambda: self._settled.of(partitions, read=read, wait_for_unknown_s=self._wait_for_unknown_s)
                )
            )
        return {partition: LogEnd(item.offset, item.leader_epoch) for partition, item in found.items()}

    def _found_offsets(
        self, questions: Mapping[TopicPartition, int], isolation: IsolationLevel
    ) -> dict[TopicPartition, FoundOffset]:
        topics = ", ".join(sorted({partition.topic for partition in questions}))
        with naming_the_right(topic_right=f"READ on the topic {topics}"):
            return self.run(
                self._repeated(
                    lambda: list_offsets(
                        self.aio,
                        questions,
                        read_committed=isolation is IsolationLevel.READ_COMMITTED,
                        wait_for_unknown_s=self._wait_for_unknown_s,
                    )
                )
            )

    @property
    def _wait_for_unknown_s(self) -> float:
        return self.options.timeout_ms / 1000

    async def _repeated(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Repeat ``ask`` until it succeeds; ``fetchOffset.numRetries`` and ``fetchOffset.retryIntervalMs`` limit the
        attempts and set the pauses.
        """
        left = self.options.offset_attempts or 1
        while True:
            try:
                return await ask()
            except KafkaError:
                left -= 1
                if not left:
                    raise
            await asyncio.sleep(self.options.offset_interval_ms / 1000)

    def epoch_ends(self, epochs: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        topics = ", ".join(sorted({partition.topic for partition in epochs}))
        with naming_the_right(topic_right=f"DESCRIBE on the topic {topics}"):
            return self.run(self.ends_of(epochs))

    async def ends_of(self, epochs: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """The offsets that :meth:`epoch_ends` returns; to be awaited on the client's loop."""
        loop = asyncio.get_running_loop()
        wait_until = loop.time() + STALE_LEADER_S
        while True:
            try:
                found = await epoch_ends(self.aio, epochs)
            except KafkaError as error:
                if error.error is Error.UNSUPPORTED_VERSION:  # a broker from before 2.3
                    return {}
                raise
            if min(found.values(), default=0) >= 0 or loop.time() >= wait_until:
                return found
            await asyncio.sleep(self.aio.config.retry_backoff_ms / 1000)
            await self.aio.repeat("Metadata", self.aio.refresh)

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        positions = {partition: OffsetAndMetadata(offset) for partition, offset in offsets.items()}
        anonymous = ConsumerGroupMetadata(group)
        committed = OffsetLookups(self.aio, self.aio.finder(CoordinatorType.GROUP, group), group)
        topics = ", ".join(sorted({partition.topic for partition in offsets}))
        with naming_the_right(group, f"READ on the topic {topics}"):
            self.run(committed.commit(positions, lambda: anonymous, GROUP_TIMEOUT_MS))

    # --- records

    def batch_headers(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, BatchHeader]:
        topics = ", ".join(sorted({partition.topic for partition in offsets}))
        with naming_the_right(topic_right=f"READ on the topic {topics}"):
            return self.run(self._batch_headers(offsets))

    async def _batch_headers(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, BatchHeader]:
        found = await asyncio.gather(*(self._batch_header(name, offset) for name, offset in offsets.items()))
        return {name: header for name, header in zip(offsets, found, strict=True) if header is not None}

    async def _batch_header(self, partition: TopicPartition, offset: int) -> BatchHeader | None:
        wanted = FetchPartition(partition.partition, fetch_offset=offset, partition_max_bytes=1)  # one whole batch
        request = FetchRequest(max_bytes=1, topics=[FetchTopic(partition.topic, ZERO_UUID, [wanted])])

        async def attempt() -> BatchHeader | None:
            node = next(iter(await self.aio.leaders([partition], may_come=True)))
            answer, _ = await self.aio.network.call(node, FETCH, lambda version: request, highest=_FETCH_BY_NAME)
            data = _of_one_partition(answer, partition)
            error = error_of(data.error_code)
            if error is Error.OFFSET_OUT_OF_RANGE:
                return None
            if error is not Error.NONE:
                raise error_for(error, f"{partition} cannot be read at offset {offset}")
            headers = (header for _, header in iter_headers(data.records or b""))
            return next((header for header in headers if header.last_offset >= offset), None)

        return await self.aio.repeat(f"reading {partition} at offset {offset}", attempt)

    def fetcher(self, item: OffsetRange, isolation: IsolationLevel) -> KafkaFetcher:
        return KafkaFetcher(self, item, isolation)

    def transaction(self, transactional_id: str, timeout_ms: int) -> KafkaTransaction:
        return KafkaTransaction(self, transactional_id, timeout_ms)


def _of_one_partition(answer: FetchResponse, partition: TopicPartition) -> PartitionData:
    if not answer.responses:  # if a quota applies, Apache Kafka sends an empty answer, and delays the next request
        raise error_for(Error.THROTTLING_QUOTA_EXCEEDED, f"a quota of the cluster throttles {partition}")
    return answer.responses[0].partitions[0]


class KafkaFetcher:
    """Fetches raw batches of one range, forward from any position, from a replica in the client's rack if there is one.

    Each request has the leader epoch, and the topic's id if plan and broker have ids. So a recreated topic is not
    mistaken for the planned one, nor is the log of a leader that lacks planned records.
    """

    def __init__(self, cluster: KafkaCluster, item: OffsetRange, isolation: IsolationLevel) -> None:
        self._cluster = cluster
        self._aio = cluster.aio
        self._item = item
        self._partition = item.partition
        self._topic_id = urlsafe_b64decode(f"{item.topic_id}==") if item.topic_id else ZERO_UUID
        self._epoch = item.leader_epoch
        self._isolation = isolation
        self.replica: int | None = None
        self._replica_until_s = 0.0

    def fetch(self, position: int) -> FetchedBatches:
        """The batches from ``position`` on. Raises KafkaError if none came for ``kafkaConsumer.pollTimeoutMs``."""

        async def attempt() -> FetchedBatches:
            return await self._fetch(position)

        what = f"reading {self._partition} at offset {position}"
        with naming_the_right(topic_right=f"READ on the topic {self._partition.topic}"):
            return self._cluster.run(
                self._aio.repeat(
                    what, attempt, timeout_ms=self._cluster.options.poll_ms, setting="kafkaConsumer.pollTimeoutMs"
                )
            )

    async def _fetch(self, position: int) -> FetchedBatches:
        topic, number = self._partition
        options = self._cluster.options
        wanted = FetchPartition(number, self._epoch, position, partition_max_bytes=options.fetch_bytes)
        by_id = self._topic_id != ZERO_UUID

        def build(version: int) -> FetchRequest:
            return FetchRequest(
                max_wait_ms=options.fetch_max_wait_ms,
                min_bytes=options.fetch_min_bytes,
                max_bytes=options.fetch_bytes,
                isolation_level=self._isolation,
                topics=[FetchTopic(topic, self._topic_id, [wanted])],
                rack_id=options.rack if version >= 11 else "",
            )

        node = await self._node()
        try:
            highest = NO_LIMIT if by_id else _FETCH_BY_NAME
            answer, version = await self._aio.network.call(node, FETCH, build, highest=highest)
        except KafkaError:
            self.replica = None
            raise
        data = _of_one_partition(answer, self._partition)
        error = error_of(data.error_code)
        near = data.preferred_read_replica if version >= 11 else -1
        if error is Error.NONE and near not in (-1, node) and not data.records:
            self.replica = near
            self._replica_until_s = asyncio.get_running_loop().time() + NEAR_REPLICA_KEPT_S
            return await self._fetch(position)
        if error in (Error.UNKNOWN_TOPIC_ID, Error.INCONSISTENT_TOPIC_ID):
            await self._check_topic()
        if error is Error.FENCED_LEADER_EPOCH and self.replica is None:
            await self._check_log()
        if error is not Error.NONE and self.replica is not None:
            self.replica = None
            raise error_for(Error.OFFSET_NOT_AVAILABLE, f"replica {node} of {self._partition} has not caught up yet")
        if error is Error.OFFSET_OUT_OF_RANGE:
            return await self._out_of_range(position)
        if error is not Error.NONE:
            raise error_for(error, f"{self._partition} cannot be read at offset {position}")
        return self._visible(position, data)

    async def _check_topic(self) -> None:
        """Raises LogReplaced if the name belongs to another topic now; otherwise the leader's metadata is only
        outdated.
        """
        name, id_ = self._partition.topic, self._item.topic_id
        found = await self._cluster.ids_of([name])
        if found.get(name, id_) != id_:
            raise LogReplaced(describe_remade([name], {name: id_}, found)[0], -1)

    async def _check_log(self) -> None:
        """Raises LogReplaced if the new leader lacks a part of the range, else continues with its epoch."""
        partition, end = self._partition, self._item.end
        now = await list_offsets(self._aio, {partition: LATEST}, read_committed=False)
        kept = (await self._cluster.ends_of({partition: self._epoch})).get(partition, end)
        if 0 <= kept < end:  # the records of a newer leader may have a format without epochs
            text = (
                f"{partition} was led with epoch {self._epoch} when offsets {self._item.start} to {end - 1} were "
                f"planned, and its log has been truncated to offset {kept} since"
            )
            raise LogReplaced(text, kept)
        self._epoch = now[partition].leader_epoch

    async def _node(self) -> int:
        """The node to fetch from: the preferred replica while it may be used, otherwise the leader, which may name
        one."""
        if self.replica is not None and asyncio.get_running_loop().time() < self._replica_until_s:
            return self.replica
        self.replica = None
        return next(iter(await self._aio.leaders([self._partition], may_come=True)))

    def _visible(self, position: int, data: PartitionData) -> FetchedBatches:
        records = data.records or b""
        headers = list(iter_headers(records))
        aborted = None
        if self._isolation is IsolationLevel.READ_COMMITTED:
            aborted = [(item.first_offset, item.producer_id) for item in data.aborted_transactions or ()]
        kept = [BatchBytes(records, at, header) for at, header in filter_batches(records, headers, aborted)]
        if not headers:
            self.replica = None
            raise error_for(
                Error.OFFSET_NOT_AVAILABLE,
                f"{self._partition} has no record at offset {position} or after it, although it had one",
            )
        return FetchedBatches(kept, headers[-1][1].next_offset, data.log_start_offset)

    async def _out_of_range(self, position: int) -> FetchedBatches:
        """Handle a position before the log's start, or past its end: records were deleted, or the log got shorter."""
        found = await list_offsets(self._aio, {self._partition: EARLIEST}, read_committed=False)
        first = found[self._partition].offset
        if first <= position:
            raise KafkaError(Error.OFFSET_OUT_OF_RANGE, f"{self._partition} ends before offset {position}")
        return FetchedBatches((), position, first)
