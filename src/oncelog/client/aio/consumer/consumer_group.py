"""A consumer's membership of its group, its committed positions, and the program's rebalance listener.

Called by the asyncio consumer, which makes one each time it joins the group, and by the membership, whose
:class:`~oncelog.client.core.group.membership.Host` this is. A consumer's commits are sent one at a time.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from typing import Any

from oncelog.client.aio.connection.cluster_access import ClusterAccess, settled
from oncelog.client.aio.consumer.buffered import BufferedRecords
from oncelog.client.aio.consumer.record_waiters import RecordWaiters
from oncelog.client.aio.offset_lookups import OffsetLookups
from oncelog.client.core.config import ConsumerConfig
from oncelog.client.core.consumer.consumer_metrics import ConsumerMetrics
from oncelog.client.core.consumer.fetcher import Fetcher
from oncelog.client.core.consumer.subscription import Subscription
from oncelog.client.core.group.consumer_group_member import ConsumerGroupMember
from oncelog.client.core.group.group_member import GroupMember
from oncelog.client.core.group.membership import Membership
from oncelog.client.core.structs import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition
from oncelog.errors import KafkaError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time
from oncelog.runtime.chance import uuid4
from oncelog.runtime.deferred import Deferred

log = logging.getLogger(__name__)

AUTO_COMMIT_MS = 5000
"""An automatic commit is retried for at least this long, whatever the interval of commits."""


class GroupMembership:
    """A consumer in its group, from joining to leaving.

    :param poll_soon: called when partitions have been assigned or revoked.
    :param report_empty_revocations: whether the listener is also called for an empty set of revoked partitions, as
        aiokafka does.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        group_id: str,
        cluster: ClusterAccess,
        subscription: Subscription,
        fetcher: Fetcher,
        held: BufferedRecords,
        waits: RecordWaiters,
        poll_soon: Callable[[], None],
        metrics: ConsumerMetrics,
        *,
        report_empty_revocations: bool,
    ) -> None:
        self._config = config
        self.group_id = group_id
        self._subscription = subscription
        self._fetcher = fetcher
        self._held = held
        self._waits = waits
        self._poll_soon = poll_soon
        self._metrics = metrics
        self._now_ms = cluster.network.now_ms
        self._report_empty_revocations = report_empty_revocations
        shared = (config, cluster.network, cluster.metadata, subscription, self)
        self.membership: Membership = (
            ConsumerGroupMember(*shared, str(uuid4())) if config.group_protocol == "consumer" else GroupMember(*shared)
        )
        self._offsets = OffsetLookups(cluster, self.membership.finder, group_id)
        self._commit_lock = asyncio.Lock()
        self._commit_task: asyncio.Task[None] | None = None
        self._tasks: dict[asyncio.Task[None], None] = {}

    # --- life

    def start_commits(self) -> None:
        """Begin periodic commits if ``enable_auto_commit`` is set."""
        if self._config.enable_auto_commit:
            self._commit_task = asyncio.get_running_loop().create_task(self._commit_periodically())

    async def leave(self) -> None:
        """Commit if ``enable_auto_commit`` is set, and leave the group."""
        if self._commit_task is not None:
            self._commit_task.cancel()
            await self._commit_quietly(self._subscription.assigned)
        try:
            await settled(self.membership.leave(), self._config.request_timeout_ms / 1000)
        except TimeoutError:
            log.info("the coordinator did not confirm that the consumer left group %s", self.group_id)

    def close(self) -> None:
        """Stop the background tasks."""
        for task in [self._commit_task, *self._tasks]:
            if task is not None:
                task.cancel()

    # --- committed positions

    @property
    def identity(self) -> ConsumerGroupMetadata:
        """The member's identity, for commits (KIP-447)."""
        return self.membership.identity if self._subscription.by_group else ConsumerGroupMetadata(self.group_id)

    async def commit(self, positions: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Commit these positions; see :meth:`GroupOffsets.commit`."""
        began = real_time.monotonic()
        try:
            async with self._commit_lock:
                await self._offsets.commit(positions, lambda: self.identity, refused=self.membership.commit_refused)
        finally:
            self._metrics.waited("commit-sync", real_time.monotonic() - began)

    async def committed(self, names: Iterable[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
        """The committed positions; partitions without one are left out."""
        member_bound = self._config.group_protocol == "consumer" and self._subscription.by_group
        began = real_time.monotonic()
        try:
            return await self._offsets.fetch(
                names,
                require_stable=self._config.read_committed,
                identity=(lambda: self.identity) if member_bound else None,
            )
        finally:
            self._metrics.waited("committed", real_time.monotonic() - began)

    async def _commit_periodically(self) -> None:
        while True:
            await asyncio.sleep(self._config.auto_commit_interval_ms / 1000)
            if self.membership.stable or not self._subscription.by_group:
                await self._commit_quietly(self._subscription.assigned)

    async def _commit_quietly(self, names: Collection[TopicPartition]) -> None:
        """Commit automatically: if this fails, records are delivered again, not lost."""
        positions = {name: position for name, position in self._held.positions().items() if name in names}
        if not positions:
            return
        config = self._config
        limit_ms = min(max(config.auto_commit_interval_ms, AUTO_COMMIT_MS), config.default_api_timeout_ms)
        try:
            async with self._commit_lock:
                await self._offsets.commit(positions, lambda: self.identity, limit_ms, self.membership.commit_refused)
        except KafkaError as error:
            log.warning("automatic commit of group %s failed: %s", self.group_id, error)

    # --- Host: called by the membership

    def revoke(self, partitions: list[TopicPartition], lost: bool) -> Deferred[None]:
        self._metrics.revoking(self._now_ms())
        if not partitions and not self._report_empty_revocations:
            return Deferred.of(None)
        done: Deferred[None] = Deferred()
        self._spawn(self._revoke(partitions, lost, done))
        return done

    async def _revoke(self, partitions: list[TopicPartition], lost: bool, done: Deferred[None]) -> None:
        try:
            if self._config.enable_auto_commit and not lost:
                await self._commit_quietly(partitions)
            listener = self._subscription.listener
            if listener is not None:
                await _call_listener(
                    listener.on_partitions_lost if lost else listener.on_partitions_revoked, partitions
                )
        except GeneratorExit:  # the coroutine is destroyed after the end of its event loop: no caller waits for it
            done = Deferred()
            raise
        finally:
            self._fetcher.drop(partitions)
            done.resolve(None)

    def assigned(self, added: list[TopicPartition]) -> Deferred[None]:
        self._metrics.assigned(self._now_ms())
        done: Deferred[None] = Deferred()
        self._spawn(self._assigned(added, done))
        return done

    async def _assigned(self, added: list[TopicPartition], done: Deferred[None]) -> None:
        try:
            listener = self._subscription.listener
            if listener is not None:
                await _call_listener(listener.on_partitions_assigned, added)
        except GeneratorExit:
            done = Deferred()
            raise
        finally:
            done.resolve(None)
            self._poll_soon()
            self._waits.wake()

    def group_failed(self, error: KafkaError) -> None:
        if not self._subscription.by_group:
            self._waits.fail(error)
            return
        self._waits.end(error)
        lost = list(self._subscription.assigned)
        self._subscription.take(())
        self.revoke(lost, lost=True)

    def reading(self) -> bool:
        taken = self._fetcher.handed_out or self._held.handed_out
        self._fetcher.handed_out = self._held.handed_out = False
        return taken or bool(self._waits)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = None
        task.add_done_callback(lambda ended: self._tasks.pop(ended, None))


async def _call_listener(callback: Callable[[set[TopicPartition]], Any], partitions: list[TopicPartition]) -> None:
    """Call a listener; an exception is logged, because a rebalance cannot be refused."""
    try:
        result = callback(set(partitions))
        if inspect.isawaitable(result):
            await result
    except Exception:
        log.exception("the rebalance listener failed for %s", sorted(partitions))


__all__ = ["GroupMembership"]
