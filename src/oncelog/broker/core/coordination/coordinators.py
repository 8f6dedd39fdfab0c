"""Connects this broker's coordinators with its partitions: their internal topics, their records and the markers that
they write.

Implements ``TransactionHost``, ``GroupHost`` and ``ShareStateHost`` for ``broker.Broker``. Invariant: the group
coordinator gets the markers in a ``__consumer_offsets`` partition in the order of the log.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from oncelog.broker.coordinator.runtime import (
    Appended,
    CoordinatorRecord,
    CoordinatorRuntime,
    LoggedMarker,
    LoggedRecord,
)
from oncelog.broker.core.cluster.node import NO_LEADER
from oncelog.broker.core.requests.parking import carry_out
from oncelog.broker.core.requests.work import Work, in_chunks
from oncelog.broker.metadata.store import ResourceType
from oncelog.errors import NONE, Error, StorageError
from oncelog.runtime.deferred import Deferred, gather
from oncelog.types import (
    CONSUMER_OFFSETS_TOPIC,
    INTERNAL_TOPICS,
    NO_PRODUCER,
    NO_PRODUCER_ID,
    SHARE_GROUP_STATE_TOPIC,
    TRANSACTION_STATE_TOPIC,
    ProducerIdAndEpoch,
    TopicPartition,
    new_tuple,
)

if TYPE_CHECKING:
    from oncelog.broker.coordinator.group.group_coordinator import GroupCoordinator
    from oncelog.broker.coordinator.share.share_coordinator import ShareCoordinator
    from oncelog.broker.coordinator.transaction.host import TxnMarker
    from oncelog.broker.coordinator.transaction.orphans import PartitionProducer
    from oncelog.broker.coordinator.transaction.transaction_coordinator import TransactionCoordinator
    from oncelog.broker.core.cluster.cluster import Cluster
    from oncelog.broker.core.requests.interception import MarkerInterceptor
    from oncelog.broker.core.requests.request_metrics import RequestMetrics
    from oncelog.broker.core.requests.tasks import Tasks
    from oncelog.broker.core.sharing.share_partitions import SharePartitions
    from oncelog.broker.core.storage.log_manager import LogManager
    from oncelog.broker.core.storage.metadata_sync import MetadataSync
    from oncelog.broker.core.storage.partition import Partition
    from oncelog.broker.log.partition_log import PartitionLog
    from oncelog.broker.log.producers.verification_state import (
        TransactionSupportedOperation,
        Verification,
        VerificationGuard,
    )
    from oncelog.broker.metadata.store import MetadataStore
    from oncelog.runtime.ports import Random
    from oncelog.runtime.timers import Timers
    from oncelog.settings.config import BrokerConfig

logger = logging.getLogger(__name__)

MARKERS_IN_A_CHUNK = 50
_GROUP, _TRANSACTION = "oncelog.broker.coordinator.group", "oncelog.broker.coordinator.transaction"
_SHARE = "oncelog.broker.coordinator.share"
IMPORTED_APART: Mapping[str, Sequence[str]] = {
    CONSUMER_OFFSETS_TOPIC: (
        *("oncelog.broker.coordinator.regex", f"{_GROUP}.environment"),
        *(f"{_GROUP}.classic.classic_group", f"{_GROUP}.consumer.consumer_group"),
        *("oncelog.protocol.generated.join_group_request", "oncelog.protocol.generated.join_group_response"),
        *("oncelog.protocol.generated.leave_group_request", "oncelog.protocol.generated.offset_commit_request"),
        *("oncelog.protocol.generated.offset_fetch_request", "oncelog.protocol.generated.offset_fetch_response"),
        *(
            "oncelog.protocol.generated.txn_offset_commit_request",
            "oncelog.protocol.generated.describe_groups_response",
        ),
        *("oncelog.protocol.generated.consumer_group_describe_response", f"{_GROUP}.records", f"{_GROUP}.offsets"),
        *(f"{_GROUP}.classic.classic_rules", f"{_GROUP}.consumer.consumer_rules", f"{_GROUP}.classic.classic_protocol"),
        *(f"{_GROUP}.consumer.consumer_protocol", f"{_GROUP}.consumer.classic_members", f"{_GROUP}.describe"),
        *(f"{_GROUP}.offset_requests", f"{_GROUP}.group_coordinator"),
    ),
    SHARE_GROUP_STATE_TOPIC: (
        *(f"{_SHARE}.state_rules", f"{_SHARE}.state_records", f"{_SHARE}.share_coordinator"),
        "oncelog.broker.core.sharing.share_partitions",
    ),
    TRANSACTION_STATE_TOPIC: (
        *(f"{_TRANSACTION}.events", f"{_TRANSACTION}.records", f"{_TRANSACTION}.rule_parts", f"{_TRANSACTION}.rules"),
        *(f"{_TRANSACTION}.shard", f"{_TRANSACTION}.transaction_coordinator"),
    ),
}
"""For each internal topic the modules that its coordinator needs, imported one at a time: all at once would take as
long as 200 produce requests."""
INTERNAL_REPLICAS = 3
"""The number of replicas of the internal topics, if there are that many nodes (Kafka's default)."""


class CoordinatorPorts(Protocol):
    """The interface that the host of the coordinators needs from the broker."""

    config: BrokerConfig
    metadata: MetadataStore
    timers: Timers
    tasks: Tasks
    random: Random
    logs: LogManager
    metadata_sync: MetadataSync
    cluster: Cluster | None
    request_metrics: RequestMetrics | None

    @property
    def transactions(self) -> TransactionCoordinator: ...

    @property
    def sharing_in_use(self) -> SharePartitions | None: ...

    def partition(self, topic_partition: TopicPartition) -> Partition | None: ...

    def partitions(self) -> Mapping[TopicPartition, Partition]: ...


class Coordinators:
    """The host of the coordinators; each coordinator is imported and created when first needed, so that a start is
    quick."""

    def __init__(self, ports: CoordinatorPorts) -> None:
        self._ports = ports
        self.timers = ports.timers
        self.marker_interceptor: MarkerInterceptor | None = None
        self._made: list[CoordinatorRuntime[Any]] = []
        self._recovered: list[tuple[CoordinatorRuntime[Any], int]] = []

    @cached_property
    def transactions(self) -> TransactionCoordinator:
        from oncelog.broker.coordinator.transaction.transaction_coordinator import TransactionCoordinator

        coordinator = TransactionCoordinator(self, self._settings, self.topic_partitions(TRANSACTION_STATE_TOPIC))
        self._serve_by_node(coordinator.runtime)
        self._made.append(coordinator.runtime)
        return coordinator

    @cached_property
    def groups(self) -> GroupCoordinator:
        from oncelog.broker.coordinator.group.group_coordinator import GroupCoordinator

        coordinator = GroupCoordinator(
            self, self._settings, self._ports.random, self.topic_partitions(CONSUMER_OFFSETS_TOPIC)
        )
        self._serve_by_node(coordinator.runtime)
        self._made.append(coordinator.runtime)
        return coordinator

    @cached_property
    def share_states(self) -> ShareCoordinator:
        from oncelog.broker.coordinator.share.share_coordinator import ShareCoordinator

        coordinator = ShareCoordinator(self, self._settings, self.topic_partitions(SHARE_GROUP_STATE_TOPIC))
        self._serve_by_node(coordinator.runtime)
        self._made.append(coordinator.runtime)
        return coordinator

    def _serve_by_node(self, runtime: CoordinatorRuntime[Any]) -> None:
        cluster = self._ports.cluster
        if cluster is not None:
            runtime.leads = lambda index, node_id: cluster.leads(TopicPartition(runtime.topic, index), node_id)

    def _settings(self) -> BrokerConfig:
        return self._ports.config

    def clock_was_set(self, step_ms: int) -> None:
        if "transactions" in self.__dict__:
            for shard in self.transactions.runtime.shards():
                shard.clock_was_set(step_ms)

    def _runtime(self, topic: str) -> CoordinatorRuntime[Any]:
        if topic == TRANSACTION_STATE_TOPIC:
            return self.transactions.runtime
        return self.share_states.runtime if topic == SHARE_GROUP_STATE_TOPIC else self.groups.runtime

    def made(self) -> tuple[TransactionCoordinator | None, GroupCoordinator | None]:
        """The coordinators of transactions and groups, each None if it has not been needed yet."""
        return self.__dict__.get("transactions"), self.__dict__.get("groups")

    @property
    def _has_groups(self) -> bool:
        return "groups" in self.__dict__

    # --- life

    def recover(self) -> None:
        """Read the coordinators' state from disk, transactions last, because ending a transaction may commit a group's
        offsets."""
        for topic in (SHARE_GROUP_STATE_TOPIC, CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC):
            if self._ports.metadata.topic(topic) is not None:
                runtime = self._runtime(topic)
                for partition in self._partitions(topic):
                    index = partition.topic_partition.partition
                    if runtime.replay(index, partition.leader_epoch, _replay(partition.log)):
                        self._recovered.append((runtime, index))

    def start(self, now_ms: int) -> None:
        """Start the coordinators whose state :meth:`recover` has read."""
        outrun = [] if self._ports.logs.was_clean else self._abort_orphans(now_ms)
        for runtime, index in self._recovered:
            runtime.begin(index, now_ms)
        self._recovered.clear()
        for transactional_id in outrun:
            self.transactions.disown(transactional_id, now_ms)

    def importing(self, topic: str) -> Work[None]:
        """Import the modules that coordinating ``topic`` needs, with other callbacks in between."""
        for name in IMPORTED_APART[topic]:
            import_module(name)
            yield

    def lead(self, topic: str, now_ms: int, indexes: Iterable[int] | None = None) -> None:
        """Begin to coordinate partitions of an internal topic that was just created; ``indexes=None`` means all
        partitions."""
        runtime = self._runtime(topic)
        runtime.partitions = self.topic_partitions(topic) or runtime.partitions
        for partition in self._partitions(topic, indexes):
            runtime.load(partition.topic_partition.partition, partition.leader_epoch, _replay(partition.log), now_ms)

    def _partitions(self, topic: str, indexes: Iterable[int] | None = None) -> Iterator[Partition]:
        for index in range(self._runtime(topic).partitions) if indexes is None else indexes:
            partition = self._ports.partition(TopicPartition(topic, index))
            if partition is not None:
                yield partition

    def _abort_orphans(self, now_ms: int) -> Sequence[str]:
        """Abort open transactions that the coordinator does not know, if its whole state could be loaded.

        If ``__transaction_state`` is missing, the partitions were copied from another cluster and are left as they are.
        """
        count = self.topic_partitions(TRANSACTION_STATE_TOPIC) or 0
        owners = [self._ports.partition(TopicPartition(TRANSACTION_STATE_TOPIC, index)) for index in range(count)]
        if not owners or any(owner is None or owner.failed for owner in owners):
            return ()
        if self.transactions.runtime.unreadable:
            return ()
        return self.transactions.abort_orphans(self._held(), now_ms)

    def _held(self) -> Iterator[PartitionProducer]:
        """The state of every producer in every partition."""
        from oncelog.broker.coordinator.transaction.orphans import PartitionProducer
        from oncelog.broker.log.producers.producer_entry import NONE_OPEN

        for topic_partition, partition in self._ports.partitions().items():
            for entry in () if partition.failed else partition.log.active_producers():
                producer = ProducerIdAndEpoch(entry.producer_id, entry.producer_epoch)
                is_open = entry.current_txn_first_offset != NONE_OPEN
                yield PartitionProducer(topic_partition, producer, entry.coordinator_epoch, is_open)

    def stop(self) -> None:
        for runtime in self._made:
            for index in range(runtime.partitions):
                runtime.unload(index)

    def internal_topic(self, name: str) -> tuple[int, Mapping[str, str]]:
        """Partition count and settings of an internal topic (``TransactionLog``, ``GroupCoordinatorService``)."""
        config = self._ports.config
        if name == TRANSACTION_STATE_TOPIC:
            return config.transaction_state_log_num_partitions, {
                "unclean.leader.election.enable": "false",
                "compression.type": "uncompressed",
                "cleanup.policy": "compact",
                "min.insync.replicas": str(config.transaction_state_log_min_isr),
                "segment.bytes": str(config.transaction_state_log_segment_bytes),
            }
        if name == SHARE_GROUP_STATE_TOPIC:
            return int(config.text("share.coordinator.state.topic.num.partitions") or 0), {
                "cleanup.policy": "delete",
                "compression.type": "uncompressed",
                "min.insync.replicas": config.text("share.coordinator.state.topic.min.isr") or "1",
                "retention.ms": "-1",
                "segment.bytes": config.text("share.coordinator.state.topic.segment.bytes") or "",
            }
        return config.offsets_topic_num_partitions, {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(config.offsets_topic_segment_bytes),
        }

    def partition_for(self, topic: str, key: str) -> TopicPartition:
        """The partition of an internal topic that a group id or transactional id belongs to."""
        return self._runtime(topic).partition_for(key)

    def replication_factor(self, topic: str) -> int:
        """The number of replicas of a topic's partitions if a request does not specify it; three for internal topics,
        unless set."""
        config = self._ports.config
        names = {
            CONSUMER_OFFSETS_TOPIC: "offsets.topic.replication.factor",
            TRANSACTION_STATE_TOPIC: "transaction.state.log.replication.factor",
            SHARE_GROUP_STATE_TOPIC: "share.coordinator.state.topic.replication.factor",
        }
        if topic not in names:
            return config.default_replication_factor
        given = config.static.get(names[topic])
        return int(given) if given is not None else INTERNAL_REPLICAS

    def moved(self, partition: TopicPartition, *, has_leader: bool, now_ms: int) -> None:
        """Called when an internal partition has another leader, or none: its state is read from its log again."""
        if partition.topic not in INTERNAL_TOPICS:
            return
        runtime = self._runtime(partition.topic)
        target = self._ports.partition(partition)
        runtime.unload(partition.partition)
        if has_leader and target is not None:
            runtime.load(partition.partition, target.leader_epoch, _replay(target.log), now_ms)

    def metadata_changed(self) -> None:
        if self._has_groups:
            self.groups.on_metadata_change()

    def topic_deleted(self, name: str) -> None:
        """Called when a topic was deleted; the deletion of an internal topic ends its coordinator."""
        for runtime in self._made:
            if runtime.topic == name:
                for index in range(runtime.partitions):
                    runtime.unload(index)
        self.metadata_changed()

    def forgetting_offsets(self, name: str, now_ms: int) -> Work[None]:
        """Delete the committed offsets of a deleted topic, in chunks."""
        if self._has_groups:
            yield from self.groups.on_topic_deleted(name, now_ms)

    # --- CoordinatorHost

    def append_records(
        self,
        partition: TopicPartition,
        records: Sequence[CoordinatorRecord],
        now_ms: int,
        producer: ProducerIdAndEpoch = NO_PRODUCER,
        guard: VerificationGuard | None = None,
    ) -> Appended:
        target = self._ports.partition(partition)
        if target is None:
            return _not_appended(Error.NOT_LEADER_OR_FOLLOWER)
        if target.replicas is not None and target.lacks_replicas:
            return _not_appended(Error.NOT_ENOUGH_REPLICAS)
        error, base_offset, last_offset, _, _, _, _, _ = target.append_coordinator(records, now_ms, producer, guard)
        if error is not NONE:
            return _not_appended(error)
        return new_tuple(Appended, (NONE, base_offset, target.when_committed(last_offset + 1)))

    def begin_task(self, work: Work[None]) -> None:
        self._ports.tasks.begin(work).then(lambda _: None, _broken_off)

    # --- ShareStateHost

    def delete_records_before(self, partition: TopicPartition, offset: int) -> None:
        target = self._ports.partition(partition)
        if target is not None and not target.failed:
            target.log.trimmer.delete_records_before(min(offset, target.log.high_watermark))

    def share_states_changed(self, group_id: str) -> None:
        if self._ports.sharing_in_use is not None:
            self._ports.sharing_in_use.states_changed(group_id)

    # --- TransactionHost

    @property
    def transaction_version(self) -> int:
        return self._ports.metadata.transaction_version

    def allocate_producer_id(self) -> int:
        try:
            return self._ports.metadata_sync.producer_id()
        except StorageError as error:
            logger.error("no producer id can be allocated: %s", error)
            return NO_PRODUCER_ID

    def write_markers(self, marker: TxnMarker, now_ms: int) -> Deferred[dict[TopicPartition, Error]]:
        """Write the marker to each partition; resolves with the outcomes of all partitions once they are known."""
        requests = self._ports.request_metrics
        begun_ns = requests.clock() if requests is not None else 0
        writing = self._writing(marker, now_ms)
        is_short = len(marker.partitions) <= MARKERS_IN_A_CHUNK
        begun = carry_out(writing) if is_short else self._ports.tasks.begin(writing)
        written = begun.flat_map(gather).map(lambda errors: dict(zip(marker.partitions, errors, strict=True)))
        if requests is not None:
            written.then(lambda _: requests.completions.record(requests.clock() - begun_ns))
        return written

    def _writing(self, marker: TxnMarker, now_ms: int) -> Work[list[Deferred[Error]]]:
        outcomes: list[Deferred[Error]] = []
        for part in in_chunks(marker.partitions, MARKERS_IN_A_CHUNK):
            if outcomes:
                yield
            outcomes += [self._write_marker(marker, partition, now_ms) for partition in part]
        return outcomes

    def _write_marker(self, marker: TxnMarker, partition: TopicPartition, now_ms: int) -> Deferred[Error]:
        if self.marker_interceptor is None:
            return self._append_marker(marker, partition, now_ms)
        return self.marker_interceptor.passes(
            marker, partition, lambda: self._append_marker(marker, partition, now_ms), now_ms
        )

    def _append_marker(self, marker: TxnMarker, topic_partition: TopicPartition, now_ms: int) -> Deferred[Error]:
        partition = self._ports.partition(topic_partition)
        if partition is None:
            return Deferred.of(Error.UNKNOWN_TOPIC_OR_PARTITION)
        if partition.replicas is not None and partition.replicas.leader == NO_LEADER:
            return Deferred.of(Error.NOT_LEADER_OR_FOLLOWER)
        if partition.lacks_replicas:
            return Deferred.of(Error.NOT_ENOUGH_REPLICAS)
        result = partition.append_marker(
            marker.producer,
            commit=marker.commit,
            coordinator_epoch=marker.coordinator_epoch,
            transaction_version=marker.transaction_version,
            now_ms=now_ms,
        )
        if result.error is not NONE:
            return Deferred.of(result.error)
        if topic_partition.topic == CONSUMER_OFFSETS_TOPIC:
            logged = LoggedMarker(result.base_offset, marker.producer, marker.commit)
            self.groups.runtime.complete_transaction(topic_partition.partition, logged)
        return partition.when_committed(result.last_offset + 1)

    # --- GroupHost

    def verify_transaction(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partition: TopicPartition,
        operation: TransactionSupportedOperation,
        now_ms: int,
    ) -> Deferred[Verification]:
        from oncelog.broker.core.appending.verification import verify_transaction
        from oncelog.broker.log.producers.verification_state import Verification

        leader = self._ports.partition(partition)
        if leader is None:
            return Deferred.of(Verification(Error.NOT_COORDINATOR))
        return verify_transaction(self._ports, leader, transactional_id, producer, operation, now_ms)

    def topic_partitions(self, topic: str) -> int | None:
        info = self._ports.metadata.topic(topic)
        return info.partitions if info is not None else None

    def topic_id(self, topic: str) -> bytes | None:
        info = self._ports.metadata.topic(topic)
        return info.topic_id if info is not None else None

    def topic_name(self, topic_id: bytes) -> str | None:
        info = self._ports.metadata.topic_by_id(topic_id)
        return info.name if info is not None else None

    def topics(self) -> Set[str]:
        return self._ports.metadata.topic_names()

    def group_settings(self, group_id: str) -> Mapping[str, str]:
        return self._ports.metadata.dynamic_config(ResourceType.GROUP, group_id)


def _broken_off(error: BaseException) -> None:
    logger.error(
        "a check for expired state of coordinators was interrupted; the next interval repeats it", exc_info=error
    )


def _not_appended(error: Error) -> Appended:
    return Appended(error, -1, Deferred.of(error))


def _replay(log: PartitionLog) -> Iterator[LoggedRecord | LoggedMarker]:
    """Every record of an internal partition, and every transaction marker, in log order."""
    from oncelog.records.batch import decode_records
    from oncelog.records.control import parse_control

    for header, batch in log.batches(log.log_start_offset):
        writer = ProducerIdAndEpoch(header.producer_id, header.producer_epoch)
        if header.is_control:
            marker = parse_control(batch)
            if marker is not None:
                yield LoggedMarker(header.base_offset, writer, marker.commit)
            continue
        producer = writer if header.is_transactional else NO_PRODUCER
        for record in decode_records(batch):
            if record.key is not None:
                yield LoggedRecord(record.offset, record.timestamp, producer, record.key, record.value)
