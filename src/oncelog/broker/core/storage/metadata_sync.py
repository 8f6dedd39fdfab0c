"""Brings metadata changes to stable storage: one sync on another thread for all changes made meanwhile.

The store has written a change to its file before the method that makes the change returns; from then on the change
survives the end of the process. It survives a failure of the machine once that file is synced, some milliseconds later.
All requests see the change at once; answers that report it wait here, as with Kafka's controller. Called by ``broker``,
and by code that may write or report something only once the metadata is on stable storage.

Invariants
- An answer about metadata is sent only when all changes made before it are on stable storage.
- Files are never ahead of the metadata: before the change is on stable storage, no log of a new topic or partition is
  synced (so no record in it is committed under policy ``commit``), and no folder of a deleted topic is renamed.
- No producer id is given to a client from a block that is not on stable storage.
- The store's write-ahead log is moved into its file on that thread, too; changes requested meanwhile wait.
- After a failed sync the contents of the disk are unknown: the store accepts no change until a restart has read it.
  Requests that waited are not answered, because the outcome of their change is unknown: their connections are closed.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from oncelog.broker.core.registry import READ_ONLY
from oncelog.broker.core.requests.work import Work
from oncelog.errors import StorageError
from oncelog.protocol.api_keys import ApiKey
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oncelog.broker.core.requests.context import RequestContext
    from oncelog.broker.core.requests.session import Channel
    from oncelog.broker.core.storage.log_manager import LogManager
    from oncelog.broker.core.storage.partition import Partition
    from oncelog.broker.metadata.store import MetadataStore
    from oncelog.runtime.ports import Background
    from oncelog.types import TopicPartition

logger = logging.getLogger(__name__)

ABOUT_METADATA: Final = frozenset(
    {
        *(ApiKey.METADATA, ApiKey.DESCRIBE_TOPIC_PARTITIONS, ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS),
        *(ApiKey.CREATE_PARTITIONS, ApiKey.DESCRIBE_CONFIGS, ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS),
        *(ApiKey.LIST_CONFIG_RESOURCES, ApiKey.DESCRIBE_CLIENT_QUOTAS, ApiKey.ALTER_CLIENT_QUOTAS),
        *(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, ApiKey.ALTER_USER_SCRAM_CREDENTIALS),
        *(ApiKey.DESCRIBE_ACLS, ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS, ApiKey.UPDATE_FEATURES),
        ApiKey.DESCRIBE_QUORUM,
    }
)
"""APIs whose requests change the store, or return its content."""


class Released(Protocol):
    """A callback with a value that waited for the metadata."""

    def appended(self, partition: Partition) -> None: ...


class SyncPorts(Protocol):
    """The interface that syncs of metadata need from the broker."""

    metadata: MetadataStore
    now_ms: int
    logs: LogManager

    @property
    def flushing(self) -> Released: ...

    def partitions(self) -> Mapping[TopicPartition, Partition]: ...


class MetadataSync:
    """Syncs one broker's metadata, and delays the answers and requests that have to wait for that. Until :meth:`begin`
    the store syncs each change in its own iteration."""

    def __init__(self, ports: SyncPorts) -> None:
        self._ports = ports
        self._store = ports.metadata
        self._background: Background | None = None
        self._sync: Callable[[], None] = lambda: None
        self._under_way = False
        self.checkpointing: Deferred[None] | None = None
        """Set while the write-ahead log is moved into the store's file; resolves when that is done. Other classes only
        read this.
        """
        self._held: set[Channel] = set()
        """Connections with a request that waits for the move: their later requests must see the changes of that
        request, so they wait as well."""
        self._synced = self._store.changes
        """The number of the last change known to be on stable storage."""
        self.is_settled = True
        """Whether all changes are on stable storage; other classes only read this."""
        self._waiting: deque[tuple[int, Deferred[None]]] = deque()
        self._topics: dict[bytes, int] = {}
        """New topics and topics with new partitions, by id, each with the number of the metadata change."""
        self._partitions: dict[Partition, None] = {}
        """Partitions of the topics in ``_topics`` whose logs wait for a sync."""
        self.failure: str | None = None
        self._failed_ms = 0

    def begin(
        self, background: Background, sync: Callable[[], None], alone: AbstractContextManager[object] | None = None
    ) -> None:
        """Let ``background`` do the syncs from now on; ``sync`` brings everything in the store's file to stable
        storage.

        :param alone: a lock for the store, if ``background`` is another thread.
        """
        self._background, self._sync = background, sync
        self._synced = self._store.changes
        self._store.file.leave_sync_to(self._changed, alone)
        self._store.producer_ids.reserve_next_block()
        # a block of producer ids that was just reserved does not count as unsettled: only an answer with an id from
        # this block waits for the block's sync
        self.is_settled = True

    def end(self) -> None:
        """Called when the broker stops: from now on the store again syncs each change in its own iteration."""
        self._ports.logs.checkpoints.nobody_reports()
        if self._background is not None and self.failure is None:
            self._background = None
            try:
                self._store.file.sync_each_change()
                self.sync_now()
            except StorageError as error:
                logger.error("%s", error)
        self._release_changes()

    # --- syncs

    def _changed(self) -> None:
        self.is_settled = False
        if not self._under_way:
            self._run()

    def _run(self) -> None:
        if self._background is not None and self.failure is None:
            self._under_way = True
            self._background.run(self._sync, partial(self._done, self._store.changes))

    def _done(self, changes: int, error: Exception | None) -> None:
        self._under_way = False
        if error is not None:
            self._fail(error)
            return
        self._settle(changes)
        if self._under_way:
            return
        if self._store.file.log_is_long:
            self._move()
        elif not self.is_settled:
            self._run()

    def _move(self) -> None:
        """Move the contents of a long write-ahead log into the store's file; no changes are made during the move."""
        if self._background is not None and self.failure is None:
            self._under_way = True
            self.checkpointing = Deferred()
            self._background.run(self._store.file.move_log, self._moved)

    def _moved(self, error: Exception | None) -> None:
        self._under_way = False
        if error is not None:
            self._fail(error)
        elif not self.is_settled:
            self._run()
        self._release_changes()

    def _release_changes(self) -> None:
        done, self.checkpointing = self.checkpointing, None
        self._held.clear()
        if done is not None:
            done.resolve(None)

    def may_change(self) -> Work[None]:
        """Wait until the store accepts changes; under ``carry_out`` the current iteration is blocked instead."""
        if self.checkpointing is not None:
            yield self.checkpointing

    def until_changes_are_possible(self, context: RequestContext) -> Work[None]:
        """Make a request, and the later requests of its connection, wait while the store accepts no changes."""
        if context.api_key not in ABOUT_METADATA:
            return
        while self.checkpointing is not None and (context.api_key not in READ_ONLY or context.channel in self._held):
            self._held.add(context.channel)
            yield self.checkpointing

    def sync_now(self) -> None:
        """Sync all changes that are not synced yet in this iteration.

        :raises StorageError: this sync failed, or an earlier one had failed.
        """
        if self.failure is not None:
            raise StorageError(self.failure)
        if self.is_settled:
            return
        changes = self._store.changes
        try:
            self._sync()
        except StorageError as error:
            self._fail(error)
            raise
        self._settle(changes)

    def _settle(self, changes: int) -> None:
        """Called when all changes up to number ``changes`` are on stable storage."""
        self._synced = max(self._synced, changes)
        self.is_settled = self._synced >= self._store.changes
        self._topics = {topic_id: change for topic_id, change in self._topics.items() if change > self._synced}
        held, self._partitions = self._partitions, {}
        for partition in held:
            self._ports.flushing.appended(partition)
        while self._waiting and self._waiting[0][0] <= self._synced:
            self._waiting.popleft()[1].resolve(None)

    def _fail(self, error: Exception) -> None:
        if self.failure is not None:
            return
        self.failure = f"the metadata could not be synced ({error}); restart the broker"
        self._failed_ms = self._ports.now_ms
        logger.error("%s", self.failure)
        self._store.file.fail(self.failure)
        self._partitions.clear()
        for partition in list(self._ports.partitions().values()):
            self.opened(partition)
        while self._waiting:
            self._waiting.popleft()[1].resolve(None)

    # --- who waits

    def settled(self) -> Deferred[None]:
        """Resolves when all changes made so far are on stable storage, or when their sync has failed."""
        if self.is_settled or self.failure is not None:
            return Deferred.of(None)
        if not self._waiting or self._waiting[-1][0] < self._store.changes:
            self._waiting.append((self._store.changes, Deferred()))
        return self._waiting[-1][1]

    def settling(self) -> Work[None]:
        """Wait for :meth:`settled`; if a caller runs this without waiting, the changes are synced in the current
        iteration.

        :raises StorageError: the sync failed.
        """
        changes = self._store.changes
        if not self.is_settled:
            yield self.settled()
            if self._synced < changes:
                self.sync_now()

    def until_answer_is_durable(self, context: RequestContext) -> Work[None]:
        """Make an answer about metadata wait until what it reports is on stable storage.

        :raises StorageError: it is unknown whether the request's change is on stable storage.
        """
        if context.api_key not in ABOUT_METADATA:
            return
        yield self.settled()
        failure = self.failure
        if failure is not None and context.api_key not in READ_ONLY and context.now_ms <= self._failed_ms:
            raise StorageError(failure)

    # --- topics, producer ids

    def topic_changed(self, topic_id: bytes) -> None:
        """Called when a topic was created, or partitions were added to it."""
        if not self.is_settled:
            self._topics[topic_id] = self._store.changes

    def opened(self, partition: Partition) -> None:
        """Called when a partition was opened: if the sync of its topic has failed, the partition commits nothing,
        because the topic might not exist after a restart.
        """
        if self.failure is not None and partition.topic_id in self._topics:
            partition.flush_failed(self.failure)

    def delays_sync_of(self, partition: Partition) -> bool:
        """Whether a partition may not be synced yet; when the partition may be synced, it is passed to ``flushing``."""
        if self._topics and partition.topic_id in self._topics:
            self._partitions[partition] = None
            return True
        return False

    def forget(self, partition: Partition) -> None:
        """Called when a partition is deleted."""
        self._partitions.pop(partition, None)

    def producer_id(self) -> int:
        """Allocate a producer id that is never allocated again, not even after a restart.

        :raises StorageError: no id can be allocated now.
        """
        ids = self._store.producer_ids
        producer_id = ids.allocate()
        if self.checkpointing is None:
            ids.reserve_next_block()
        if ids.reserved_by > self._synced:
            self.is_settled = False
            self.sync_now()
        return producer_id
