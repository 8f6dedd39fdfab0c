"""Topics of one broker: creates, extends, changes and deletes them, and keeps their open partitions.

Called by the broker, by the APIs of topics, and by coordinators for internal topics. The metadata store knows which
topics exist; this module knows which partitions are open.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from operator import add
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from oncelog.broker.core.requests.work import Work, finished, in_chunks
from oncelog.broker.core.storage.partition import METERS, Partition
from oncelog.broker.metadata.store import TopicInfo
from oncelog.errors import Error, KafkaError, StorageError
from oncelog.runtime.deferred import Deferred
from oncelog.types import INTERNAL_TOPICS, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.administration.nodes import BrokerNodes
    from oncelog.broker.core.cluster.cluster import Cluster
    from oncelog.broker.core.coordination.coordinators import Coordinators
    from oncelog.broker.core.fetching.purgatory import FetchPurgatory
    from oncelog.broker.core.requests.tasks import Tasks
    from oncelog.broker.core.storage.flushing import Flushing
    from oncelog.broker.core.storage.log_manager import LogManager
    from oncelog.broker.core.storage.metadata_sync import MetadataSync
    from oncelog.broker.core.storage.recovery_progress import RecoveryProgress
    from oncelog.broker.metadata.store import MetadataStore
    from oncelog.runtime.timers import Timers
    from oncelog.settings.config import BrokerConfig

logger = logging.getLogger(__name__)

NO_OVERRIDES: Mapping[str, str] = MappingProxyType({})

CLOSED_IN_A_CHUNK = 5
"""How many partition folders of a deleted topic are renamed at a time."""
LED_IN_A_CHUNK = 5
"""How many partitions of a new internal topic the coordinator loads at a time."""

COMPLETED_AGAIN_MS = 1000
"""The delay in ms before the broker tries again to complete a topic that a full disk has left incomplete."""
PARTITIONS_IN_A_CHUNK = 1
"""How many partitions of a new topic are opened at a time: each takes about 0.3 ms, several times as long on a busy
disk."""


class TopicsPorts(Protocol):
    """The interface that topics need from their broker."""

    config: BrokerConfig
    metadata: MetadataStore
    timers: Timers
    tasks: Tasks
    recovery: RecoveryProgress
    logs: LogManager
    flushing: Flushing
    fetches: FetchPurgatory
    metadata_sync: MetadataSync
    nodes: BrokerNodes
    cluster: Cluster | None

    def forget_patterns(self) -> None: ...


class Topics:
    """The topics of a broker, and their open partitions."""

    def __init__(self, ports: TopicsPorts, coordinators: Coordinators) -> None:
        self._ports = ports
        self._coordinators = coordinators
        self.partitions: dict[TopicPartition, Partition] = {}
        self.retired_meters = [0] * METERS
        """Totals of the counters of deleted partitions, which the broker's totals still include."""
        self._being_closed: dict[str, Work[None]] = {}
        """Deleted topics with folders that have not been renamed yet."""
        self._deletions: Counter[str] = Counter()
        """How many requests that delete a topic of each name are not answered yet."""
        self._being_created: set[str] = set()
        """Internal topics that are being created and still lack partitions."""
        self._logged_failures: dict[str, str] = {}
        """The reason why each internal topic could not be created: logged once, because clients ask for the topic again
        and again."""

    def create(
        self,
        name: str,
        partitions: int,
        overrides: Mapping[str, str],
        now_ms: int,
        replicas: Sequence[Sequence[int]] | int = -1,
    ) -> TopicInfo:
        """Create a topic and lead its partitions; raises ``KafkaError`` if the topic is refused.

        :param replicas: with several nodes, the nodes that hold each partition, or their number (-1: the default).
        """
        return finished(self.creating(name, partitions, overrides, now_ms, replicas))

    def creating(
        self,
        name: str,
        partitions: int,
        overrides: Mapping[str, str],
        now_ms: int,
        replicas: Sequence[Sequence[int]] | int = -1,
    ) -> Work[TopicInfo]:
        """Like :meth:`create`, in chunks: partitions are opened one after another.

        An internal topic is created only once, even if a coordinator and a client both need it, and its coordinator is
        then started.
        """
        if name not in INTERNAL_TOPICS:
            return (yield from self._creating(name, partitions, overrides, now_ms, replicas))
        if name in self._being_created:
            raise KafkaError(Error.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        self._being_created.add(name)
        try:
            yield from self._coordinators.importing(name)
            info = yield from self._creating(name, partitions, overrides, now_ms, replicas)
            for part in in_chunks(range(info.partitions), LED_IN_A_CHUNK):
                if self._ports.metadata.topic_by_id(info.topic_id) is None:
                    break  # the topic was deleted while its partitions were opened
                self._coordinators.lead(name, now_ms, part)
                yield
        finally:
            self._being_created.discard(name)
        return info

    def _creating(
        self,
        name: str,
        partitions: int,
        overrides: Mapping[str, str],
        now_ms: int,
        replicas: Sequence[Sequence[int]] | int,
    ) -> Work[TopicInfo]:
        yield from self._ports.metadata_sync.may_change()
        yield from self._ports.logs.checkpoints.forgetting(name)
        # another request may have created and deleted a topic of this name since the last step
        while name in self._being_closed:
            finished(self._being_closed[name])
            yield from self._ports.logs.checkpoints.forgetting(name)
        info = self._ports.metadata.create_topic(name, partitions, overrides, now_ms)
        self._ports.metadata_sync.topic_changed(info.topic_id)
        try:
            info = self._ports.nodes.place(info, replicas)
            # a new iteration of the event loop: the change of the metadata took as long as creating a partition's files
            yield
            yield from self._opening(info, range(partitions), now_ms)
        except GeneratorExit:
            raise  # the broker stops; its next start opens the partitions that are missing
        except BaseException:
            # Remove the topic after any failure: a topic exists completely or not at all.
            if self._ports.metadata.topic_by_id(info.topic_id) is not None:
                try:
                    self.delete(name, now_ms)
                except StorageError as error:
                    logger.warning(
                        "%s is incomplete until there is space on the disk, or it is deleted: %s", name, error
                    )
                    self._complete_later(info.topic_id, now_ms)
            raise
        self._coordinators.metadata_changed()
        return info

    def _complete_later(self, topic_id: bytes, now_ms: int) -> None:
        """Complete a topic once the disk has space, as the next start would: a full disk allowed neither completing nor
        removing it."""

        def retry(at_ms: int) -> None:
            info = self._ports.metadata.topic_by_id(topic_id)
            if info is None:
                return
            try:
                self.open(info, self._not_open(info.name, range(info.partitions)), at_ms)
            except StorageError:
                self._complete_later(topic_id, at_ms)
                return
            self._coordinators.metadata_changed()
            if info.name in INTERNAL_TOPICS:
                self._coordinators.lead(info.name, at_ms)

        self._ports.timers.schedule(now_ms + COMPLETED_AGAIN_MS, retry)

    def adding_partitions(
        self, name: str, partitions: int, now_ms: int, replicas: Sequence[Sequence[int]] | int = -1
    ) -> Work[TopicInfo]:
        """Raise a topic's partition count to ``partitions``, in chunks; for ``replicas`` see :meth:`create`."""
        old = self._ports.metadata.topic(name)
        info = self._ports.metadata.add_partitions(name, partitions)
        self._ports.metadata_sync.topic_changed(info.topic_id)
        info = self._ports.nodes.place(info, replicas)
        yield from self._opening(info, range(old.partitions if old else 0, partitions), now_ms)
        self._coordinators.metadata_changed()
        return info

    def delete(self, name: str, now_ms: int) -> None:
        """Delete a topic: from the metadata at once, its files after ``file.delete.delay.ms``."""
        finished(self.deleting(name, now_ms))

    def deleting(self, name: str, now_ms: int) -> Work[None]:
        """Like :meth:`delete`, but the folders are renamed in chunks; a topic with the same name is not created before
        all are renamed."""
        ports = self._ports
        info = ports.metadata.topic(name)
        ports.metadata.delete_topic(name)
        gone: list[Partition] = []
        for index in range(info.partitions if info else 0):
            topic_partition = TopicPartition(name, index)
            partition = self.partitions.pop(topic_partition, None)
            if ports.cluster is not None:
                ports.cluster.remove(topic_partition)
            if partition is not None:
                gone.append(partition)
                self.retired_meters = [*map(add, self.retired_meters, partition.meters())]
        ports.forget_patterns()
        self._coordinators.topic_deleted(name)
        closing = self._being_closed[name] = self._close_all(name, gone, now_ms)
        yield from closing

    @contextmanager
    def deletion(self, names: Collection[str]) -> Iterator[None]:
        """Refuse to create topics of these names for clients that only name them, until their deletion is answered.

        The client that deletes a topic can then create it again: a producer whose Metadata request arrives between the
        deletion and its answer does not create the topic first. In Kafka, a deletion is visible when it is answered.
        """
        self._deletions.update(names)
        try:
            yield
        finally:
            self._deletions -= Counter(names)

    def _close_all(self, name: str, gone: Sequence[Partition], now_ms: int) -> Work[None]:
        yield from self._coordinators.forgetting_offsets(name, now_ms)
        try:
            yield from self._ports.metadata_sync.settling()
        except StorageError as error:
            # the partitions' files stay: it is unknown whether the next start will find the topic
            self._being_closed.pop(name, None)
            for partition in gone:
                self._ports.flushing.forget(partition)
                partition.flush_failed(str(error))
            raise
        failure: StorageError | None = None
        for part in in_chunks(gone, CLOSED_IN_A_CHUNK):
            for partition in part:
                try:
                    self._put_aside(partition, now_ms)
                except StorageError as error:  # a failure of one partition does not keep the others from being deleted
                    failure = failure or error
            if len(part) == CLOSED_IN_A_CHUNK:
                yield
        self._being_closed.pop(name, None)
        if failure is not None:
            raise failure

    def _put_aside(self, partition: Partition, now_ms: int) -> None:
        """Answer all requests that wait for a partition whose topic was deleted; its files are removed later."""
        self._ports.flushing.forget(partition)
        partition.close_waiters(Error.UNKNOWN_TOPIC_OR_PARTITION)
        self._ports.logs.delete(partition.log, now_ms)
        self._ports.fetches.wake(partition.topic_partition)

    def config_changed(self, name: str) -> None:
        """Apply a topic's effective settings to its logs at once, because they have changed."""
        info = self._ports.metadata.topic(name)
        if info is not None:
            for index in range(info.partitions):
                partition = self.partitions.get(TopicPartition(name, index))
                if partition is not None:
                    partition.log.update_config(self._ports.nodes.log_config(info, index))
                    self._ports.flushing.settings_changed(partition)
            self._ports.nodes.elect_unclean(info)
        self._ports.forget_patterns()

    def ensure_internal(self, name: str, now_ms: int) -> None:
        """Create an internal topic such as ``__consumer_offsets`` when it is first needed, and start its
        coordinator."""
        if name not in self._being_created:
            finished(self._creating_internal(name, now_ms))

    def ensuring_internal(self, name: str, now_ms: int) -> Work[None]:
        """Like :meth:`ensure_internal`, in chunks; callers wait for a creation that has begun. Afterwards the topic may
        still be missing."""
        if self._ports.metadata.topic(name) is None and name not in self._being_created:
            # In a separate task: the connection that first needed the topic may end before the topic is created.
            creating = self._ports.tasks.begin(self._creating_internal(name, now_ms))
            creating.then(lambda _: self._internal_created(name), partial(self._internal_failed, name))
        while name in self._being_created and not self._ports.logs.checkpoints.is_stuck:
            yield

    def _internal_created(self, name: str) -> None:
        self._logged_failures.pop(name, None)

    def _internal_failed(self, name: str, error: BaseException) -> None:
        why = str(error)
        if self._logged_failures.get(name) != why:
            self._logged_failures[name] = why
            logger.error("%s could not be created, and clients that need it wait: %s", name, why)

    def _creating_internal(self, name: str, now_ms: int) -> Work[None]:
        if self._ports.metadata.topic(name) is None:
            partitions, overrides = self._coordinators.internal_topic(name)
            yield from self.creating(name, partitions, overrides, now_ms)

    def auto_creating(
        self, name: str, now_ms: int, overrides: Mapping[str, str] = NO_OVERRIDES
    ) -> Work[TopicInfo | Error]:
        """Create a topic that a client, or a share group, has named for the first time; returns an error if the
        settings, its name or the disk do not allow it, or a topic of this name is being deleted."""
        if name in INTERNAL_TOPICS:
            yield from self.ensuring_internal(name, now_ms)
            return self._ports.metadata.topic(name) or Error.UNKNOWN_TOPIC_OR_PARTITION
        if self._deletions[name]:
            return Error.UNKNOWN_TOPIC_OR_PARTITION
        over: Deferred[None] = Deferred()
        failures: list[Exception] = []

        def failed(error: Exception) -> None:
            failures.append(error)
            over.resolve(None)

        # In a separate task: the connection that first named the topic may end before the topic is created.
        making = self._ports.tasks.begin(self.creating(name, self._ports.config.num_partitions, overrides, now_ms))
        making.then(lambda _: over.resolve(None), failed)
        yield over
        info = self._ports.metadata.topic(name)  # another request may have created the topic at the same time
        if info is not None:
            return info
        error = failures[0] if failures else KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, "the topic was deleted again")
        if isinstance(error, StorageError):
            return Error.KAFKA_STORAGE_ERROR
        if not isinstance(error, KafkaError):
            raise error
        return error.error

    def _opening(self, info: TopicInfo, indexes: range, now_ms: int) -> Work[None]:
        for part in in_chunks(indexes, PARTITIONS_IN_A_CHUNK):
            if self._ports.metadata.topic_by_id(info.topic_id) is None:
                return  # the topic was deleted while its partitions were opened
            self.open(info, self._not_open(info.name, part), now_ms)
            yield

    def _not_open(self, name: str, indexes: Sequence[int]) -> list[int]:
        """Those of the partitions that are not open yet: a second log of one partition would write to the same
        files."""
        return [index for index in indexes if TopicPartition(name, index) not in self.partitions]

    def open(self, info: TopicInfo, indexes: Sequence[int], now_ms: int) -> None:
        """Open the logs of some partitions and lead them."""
        ports = self._ports
        info = ports.nodes.place(info)
        for index in indexes:
            topic_partition = TopicPartition(info.name, index)
            log = ports.logs.open(topic_partition, info.topic_id, info.config, now_ms)
            ports.recovery.opened += 1
            epoch = ports.metadata.leader_epoch(info.name, index)
            if ports.cluster is not None:
                epoch = max(epoch, log.leader_epoch_cache.latest_epoch + 1)
            partition = Partition(
                topic_partition,
                info.topic_id,
                log,
                epoch,
                sync_before_commit=ports.flushing.before_commit,
                on_dirty=ports.flushing.appended,
                on_advance=ports.fetches.wake,
            )
            self.partitions[topic_partition] = partition
            ports.metadata_sync.opened(partition)
            if ports.cluster is not None:
                partition.replicas = ports.cluster.add(topic_partition, info.replicas[index])
                log.update_config(ports.nodes.log_config(info, index))
                partition.in_sync_changed()
            if log.flushed_offset < log.log_end_offset:
                ports.flushing.appended(partition)
