"""A Kafka cluster for Spark's workers: metadata, offsets, raw fetches; blocking, on one background event loop.

Implements :class:`oncelog.spark.cluster.Cluster` on the client's network. Nothing here keeps data: fetched bytes go
to the caller undecoded, so that they become Arrow without an object for each record.
"""

from __future__ import annotations

import asyncio
import threading
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from oncelog.client.aio.admin_topics import DESCRIBE_CONFIGS
from oncelog.client.aio.network import Network
from oncelog.client.core.backoff import backoff_ms
from oncelog.client.core.config import ClientConfig
from oncelog.client.core.coordinator import CoordinatorFinder, CoordinatorType
from oncelog.client.core.errors import KafkaTimeoutError, error_for, error_of
from oncelog.client.core.read_committed import filter_batches
from oncelog.client.core.wire import (
    FETCH,
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT,
)
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic
from oncelog.protocol.generated.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.protocol.wire import ZERO_UUID
from oncelog.records.arrow import StoredBatch
from oncelog.records.batch import iter_headers
from oncelog.spark.checkpoint import ClusterFacts
from oncelog.spark.cluster import Fetched
from oncelog.spark.kafka_transaction import KafkaTransaction
from oncelog.spark.options import ClusterOptions
from oncelog.types import IsolationLevel, TopicPartition

T = TypeVar("T")

DEFAULTS = ClusterOptions()
NEAR_REPLICA_KEPT_S = 300.0
"""How long a replica that the leader named is read from before the leader is asked again, as Java's consumer does."""
GROUP_PATIENCE_S = 5.0
"""How long a query waits for a group that is only told its position."""
_FETCH_BY_NAME = 12
"""The last version of Fetch that names topics by their names."""
_BROKER_RESOURCE = 4
_RETENTION = "offsets.retention.minutes"


class Loop:
    """An event loop in a daemon thread, for blocking callers."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="oncelog-spark", daemon=True).start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


class KafkaCluster:
    """One client of a cluster. Safe to use from several threads."""

    def __init__(self, config: ClientConfig, options: ClusterOptions = DEFAULTS) -> None:
        self._config = config
        self.options = options
        self._loop = Loop()
        self._leaders: dict[TopicPartition, int] = {}
        self._retention_ms: dict[int, int | None] = {}
        self._coordinators: dict[tuple[str, CoordinatorType], int] = {}
        self.network: Network = self._loop.run(self._connect())

    async def _connect(self) -> Network:
        async def attempt() -> Network:
            network = Network(self._config)
            try:
                await network.start()
            except KafkaError:
                await network.close()
                raise
            return network

        return await self.repeat(attempt)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for ``work`` on the client's loop."""
        return self._loop.run(work)

    async def repeat(self, attempt: Callable[[], Awaitable[T]], patience_s: float | None = None) -> T:
        """The result of ``attempt``, repeated while it raises a retriable KafkaError, until the patience is over."""
        patience_s = self.options.patience_ms / 1000 if patience_s is None else patience_s
        deadline = asyncio.get_running_loop().time() + patience_s
        failures = 0
        while True:
            try:
                return await attempt()
            except KafkaError as error:
                failures += 1
                wait_s = backoff_ms(failures, self._config.retry_backoff_ms, self._config.retry_backoff_max_ms) / 1000
                if not error.retriable or asyncio.get_running_loop().time() + wait_s > deadline:
                    raise
                await asyncio.sleep(wait_s)

    # --- where things are -------------------------------------------------------------------------------------------

    def partition_counts(self, topics: Sequence[str] | None, *, create: bool = False) -> Mapping[str, int]:
        async def attempt() -> Mapping[str, int]:
            return await self._metadata(topics, create=create, missing_is_error=create)

        try:
            return self.run(self.repeat(attempt))
        except KafkaError as error:
            if create and error.error is Error.UNKNOWN_TOPIC_OR_PARTITION:
                return {}
            raise

    async def _metadata(self, topics: Sequence[str] | None, *, create: bool, missing_is_error: bool) -> dict[str, int]:
        names = None if topics is None else [MetadataRequestTopic(name=topic) for topic in topics]

        def build(version: int) -> MetadataRequest:
            return MetadataRequest(topics=names, allow_auto_topic_creation=create if version >= 4 else True)

        answer, _ = await self.network.call(self.network.any_node(), METADATA, build)
        for broker in answer.brokers:
            self.network.learn(broker.node_id, broker.host, broker.port)
        counts: dict[str, int] = {}
        for topic in answer.topics:
            error = error_of(topic.error_code)
            if error is Error.UNKNOWN_TOPIC_OR_PARTITION and not missing_is_error:
                continue
            if error is not Error.NONE:
                raise error_for(error, f"the topic {topic.name!r} cannot be used")
            if topic.is_internal and topics is None:
                continue
            counts[topic.name] = len(topic.partitions)
            for partition in topic.partitions:
                self._leaders[TopicPartition(topic.name, partition.partition_index)] = partition.leader_id
        return counts

    def topic_ids(self, topics: Sequence[str]) -> Mapping[str, str]:
        names = [MetadataRequestTopic(name=topic) for topic in topics]

        async def attempt() -> Mapping[str, str]:
            answer, _ = await self.network.call(
                self.network.any_node(),
                METADATA,
                lambda version: MetadataRequest(topics=names, allow_auto_topic_creation=version < 4),
            )
            return {
                topic.name: urlsafe_b64encode(topic.topic_id).rstrip(b"=").decode()
                for topic in answer.topics
                if error_of(topic.error_code) is Error.NONE and topic.topic_id != ZERO_UUID
            }

        return self.run(self.repeat(attempt))

    def facts(self, group: str) -> ClusterFacts:
        """The cluster's id, and how long the coordinator of ``group`` keeps offsets, where that may be asked."""

        async def attempt() -> ClusterFacts:
            answer, _ = await self.network.call(
                self.network.any_node(), METADATA, lambda version: MetadataRequest(topics=[])
            )
            node = await self.coordinator(group, CoordinatorType.GROUP)
            if node not in self._retention_ms:
                self._retention_ms[node] = await self._ask_retention_ms(node)
            return ClusterFacts(answer.cluster_id or "", self._retention_ms[node])

        return self.run(self.repeat(attempt))

    async def _ask_retention_ms(self, node: int) -> int | None:
        """A setting that a broker reads at its start alone; None where it may not be asked."""
        resource = DescribeConfigsResource(_BROKER_RESOURCE, str(node), [_RETENTION])
        answer, _ = await self.network.call(
            node, DESCRIBE_CONFIGS, lambda version: DescribeConfigsRequest(resources=[resource])
        )
        result = answer.results[0]
        error = error_of(result.error_code)
        if error is Error.CLUSTER_AUTHORIZATION_FAILED:
            return None
        if error is not Error.NONE:
            raise error_for(error, f"{_RETENTION} of node {node} cannot be told")
        values = [int(config.value) for config in result.configs if config.name == _RETENTION and config.value]
        return values[0] * 60_000 if values else None

    async def leader(self, partition: TopicPartition) -> int:
        """The node that leads a partition. Raises KafkaError where none does."""
        if self._leaders.get(partition, -1) < 0:
            await self._metadata([partition.topic], create=False, missing_is_error=True)
        node = self._leaders.get(partition, -1)
        if node < 0:
            raise error_for(Error.LEADER_NOT_AVAILABLE, f"{partition} has no leader")
        return node

    def forget_leader(self, partition: TopicPartition) -> None:
        """The node proved not to lead the partition any more."""
        self._leaders.pop(partition, None)

    async def coordinator(self, key: str, kind: CoordinatorType) -> int:
        """The node that coordinates a group or a transactional id."""
        if (key, kind) not in self._coordinators:
            found: asyncio.Future[None] = asyncio.get_running_loop().create_future()

            def on_found(now_ms: int) -> None:
                found.set_result(None)

            def on_error(error: KafkaError, now_ms: int) -> None:
                found.set_exception(error)

            finder = CoordinatorFinder(
                self.network,
                key,
                kind,
                retry_backoff_ms=self._config.retry_backoff_ms,
                retry_backoff_max_ms=self._config.retry_backoff_max_ms,
                on_found=on_found,
                on_error=on_error,
            )
            finder.look_up()
            try:
                await asyncio.wait_for(found, self.options.patience_ms / 1000)
            except TimeoutError:
                raise KafkaTimeoutError(f"no broker coordinates the {kind.name.lower()} {key!r}") from None
            self._coordinators[key, kind] = -1 if finder.node is None else finder.node
        return self._coordinators[key, kind]

    def forget_coordinator(self, key: str, kind: CoordinatorType) -> None:
        """The node proved not to be it any more, or does not answer; it may be started again with other settings."""
        self._retention_ms.pop(self._coordinators.pop((key, kind), -1), None)

    # --- offsets ----------------------------------------------------------------------------------------------------

    def list_offsets(
        self, questions: Mapping[TopicPartition, int], isolation: IsolationLevel
    ) -> Mapping[TopicPartition, int]:
        answers: dict[TopicPartition, int] = {}

        async def attempt() -> None:
            missing = [partition for partition in questions if partition not in answers]
            by_leader: dict[int, list[TopicPartition]] = {}
            for partition in missing:
                by_leader.setdefault(await self.leader(partition), []).append(partition)
            for node, partitions in by_leader.items():
                answers.update(await self._list_offsets(node, {p: questions[p] for p in partitions}, isolation))

        if questions:
            self.run(self._repeat_for_offsets(attempt))
        return answers

    async def _repeat_for_offsets(self, attempt: Callable[[], Awaitable[None]]) -> None:
        """As ``fetchOffset.numRetries`` and ``fetchOffset.retryIntervalMs`` say, where they were given."""
        attempts = self.options.offset_attempts
        if attempts is None:
            return await self.repeat(attempt)
        for _ in range(attempts - 1):
            try:
                return await attempt()
            except KafkaError:
                await asyncio.sleep(self.options.offset_interval_ms / 1000)
        return await attempt()

    async def _list_offsets(
        self, node: int, questions: Mapping[TopicPartition, int], isolation: IsolationLevel
    ) -> dict[TopicPartition, int]:
        topics: dict[str, list[ListOffsetsPartition]] = {}
        for (name, number), timestamp in questions.items():
            asked = ListOffsetsPartition(partition_index=number, timestamp=timestamp)
            topics.setdefault(name, []).append(asked)

        def build(version: int) -> ListOffsetsRequest:
            request = ListOffsetsRequest(
                replica_id=-1, topics=[ListOffsetsTopic(name, partitions) for name, partitions in topics.items()]
            )
            if version >= 2:
                request.isolation_level = isolation
            return request

        try:
            answer, _ = await self.network.call(node, LIST_OFFSETS, build)
        except KafkaError:
            for asked_for in questions:
                self.forget_leader(asked_for)
            raise
        offsets: dict[TopicPartition, int] = {}
        for topic in answer.topics:
            for item in topic.partitions:
                partition = TopicPartition(topic.name, item.partition_index)
                error = error_of(item.error_code)
                if error is not Error.NONE:
                    self.forget_leader(partition)
                    raise error_for(error, f"the offsets of {partition} cannot be told")
                offsets[partition] = item.offset
        return offsets

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        topics: dict[str, list[OffsetCommitRequestPartition]] = {}
        for (topic, partition), offset in offsets.items():
            topics.setdefault(topic, []).append(OffsetCommitRequestPartition(partition, offset))

        def build(version: int) -> OffsetCommitRequest:
            listed = [OffsetCommitRequestTopic(name=name, partitions=items) for name, items in topics.items()]
            return OffsetCommitRequest(group_id=group, topics=listed)

        async def attempt() -> None:
            node = await self.coordinator(group, CoordinatorType.GROUP)
            try:
                answer, _ = await self.network.call(node, OFFSET_COMMIT, build, channel=1)
                for topic in answer.topics:
                    for item in topic.partitions:
                        error = error_of(item.error_code)
                        if error is not Error.NONE:
                            where = f"{topic.name}-{item.partition_index}"
                            raise error_for(error, f"group {group!r} cannot store an offset of {where}")
            except KafkaError:
                self.forget_coordinator(group, CoordinatorType.GROUP)
                raise

        self.run(self.repeat(attempt, GROUP_PATIENCE_S))

    # --- records ----------------------------------------------------------------------------------------------------

    def fetcher(self, partition: TopicPartition, isolation: IsolationLevel) -> KafkaFetcher:
        return KafkaFetcher(self, partition, isolation)

    @contextmanager
    def transaction(self, transactional_id: str, timeout_ms: int) -> Iterator[KafkaTransaction]:
        yield KafkaTransaction(self, transactional_id, timeout_ms)


class KafkaFetcher:
    """Raw batches of one partition, onwards from any position; from a replica in our rack where there is one."""

    def __init__(self, cluster: KafkaCluster, partition: TopicPartition, isolation: IsolationLevel) -> None:
        self._cluster = cluster
        self._partition = partition
        self._isolation = isolation
        self.replica: int | None = None
        self._replica_until_s = 0.0

    def fetch(self, position: int) -> Fetched:
        """What follows ``position``. Raises KafkaError when nothing came for ``kafkaConsumer.pollTimeoutMs``."""

        async def attempt() -> Fetched:
            return await self._fetch(position)

        return self._cluster.run(self._cluster.repeat(attempt, self._cluster.options.poll_ms / 1000))

    async def _fetch(self, position: int) -> Fetched:
        topic, number = self._partition
        options = self._cluster.options
        wanted = FetchPartition(partition=number, fetch_offset=position, partition_max_bytes=options.fetch_bytes)

        def build(version: int) -> FetchRequest:
            return FetchRequest(
                max_wait_ms=options.fetch_max_wait_ms,
                min_bytes=options.fetch_min_bytes,
                max_bytes=options.fetch_bytes,
                isolation_level=self._isolation,
                topics=[FetchTopic(topic=topic, partitions=[wanted])],
                rack_id=options.rack if version >= 11 else "",
            )

        node = await self._node()
        try:
            answer, version = await self._cluster.network.call(node, FETCH, build, highest=_FETCH_BY_NAME)
        except KafkaError:
            self._look_anew()
            raise
        data = answer.responses[0].partitions[0]
        error = error_of(data.error_code)
        near = data.preferred_read_replica if version >= 11 else -1
        if error is Error.NONE and near not in (-1, node) and not data.records:
            self.replica = near
            self._replica_until_s = asyncio.get_running_loop().time() + NEAR_REPLICA_KEPT_S
            return await self._fetch(position)
        if error is not Error.NONE and self.replica is not None:
            self._look_anew()
            raise error_for(Error.OFFSET_NOT_AVAILABLE, f"the replica {node} of {self._partition} is not so far yet")
        if error is Error.OFFSET_OUT_OF_RANGE:
            return await self._behind_the_start(position)
        if error is not Error.NONE:
            self._look_anew()
            raise error_for(error, f"{self._partition} cannot be read at offset {position}")
        return self._visible(position, data)

    async def _node(self) -> int:
        """The near replica while its time lasts, else the leader, which names one where there is one."""
        if self.replica is not None and asyncio.get_running_loop().time() < self._replica_until_s:
            return self.replica
        self.replica = None
        return await self._cluster.leader(self._partition)

    def _look_anew(self) -> None:
        self.replica = None
        self._cluster.forget_leader(self._partition)

    def _visible(self, position: int, data: Any) -> Fetched:
        records = data.records or b""
        headers = list(iter_headers(records))
        aborted = None
        if self._isolation is IsolationLevel.READ_COMMITTED:
            aborted = [(item.first_offset, item.producer_id) for item in data.aborted_transactions or ()]
        kept = [StoredBatch(records, at, header) for at, header in filter_batches(records, headers, aborted)]
        if not headers:
            self.replica = None
            raise error_for(
                Error.OFFSET_NOT_AVAILABLE, f"{self._partition} holds nothing at offset {position}, where it did before"
            )
        return Fetched(kept, headers[-1][1].next_offset, data.log_start_offset)

    async def _behind_the_start(self, position: int) -> Fetched:
        """The records were deleted since the task was planned, or the log is shorter than it was."""
        node = await self._cluster.leader(self._partition)
        first = (await self._cluster._list_offsets(node, {self._partition: -2}, self._isolation))[self._partition]
        if first <= position:
            raise KafkaError(Error.OFFSET_OUT_OF_RANGE, f"{self._partition} ends before offset {position}")
        return Fetched((), position, first)
