"""Finds where a consumer starts to read its partitions: at committed offsets, or where ``auto.offset.reset`` says.

Called by the asyncio consumer, in the background and when the program seeks. Retriable failures are repeated; if a
partition has no starting offset, the program gets an error and the other partitions are still read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

from oncelog.client.aio.connection.cluster_access import ClusterAccess
from oncelog.client.aio.consumer.buffered import BufferedRecords
from oncelog.client.aio.consumer.consumer_group import GroupMembership
from oncelog.client.aio.consumer.record_waiters import RecordWaiters
from oncelog.client.aio.offset_lookups import EARLIEST, LATEST, FoundOffset, list_offsets
from oncelog.client.core import arguments
from oncelog.client.core.client_errors import IllegalStateError, KafkaTimeoutError, NoOffsetForPartitionError
from oncelog.client.core.config import ConsumerConfig
from oncelog.client.core.consumer.subscription import Reset, Subscription
from oncelog.client.core.structs import OffsetAndTimestamp, TopicPartition
from oncelog.errors import KafkaError
from oncelog.runtime import real_asyncio as asyncio

log = logging.getLogger(__name__)

_TIMESTAMPS = {Reset.EARLIEST: EARLIEST, Reset.LATEST: LATEST}


class Positions:
    """Finds the starting offset of each partition that has no position.

    :param group: the consumer's current group, if it has one.
    :param poll_soon: called when positions were found.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        cluster: ClusterAccess,
        subscription: Subscription,
        held: BufferedRecords,
        waits: RecordWaiters,
        group: Callable[[], GroupMembership | None],
        poll_soon: Callable[[], None],
    ) -> None:
        self._config = config
        self._cluster = cluster
        self._subscription = subscription
        self._held = held
        self._waits = waits
        self._group = group
        self._poll_soon = poll_soon
        self._task: asyncio.Task[None] | None = None

    def poll(self) -> None:
        """Start a search if a position is missing and no search is running."""
        if self._task is None and self._subscription.without_position():
            self._task = asyncio.get_running_loop().create_task(self._find_all())

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def of(self, name: TopicPartition) -> int:
        """Offset of the next record that will be handed out; waits until it is known."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._config.default_api_timeout_ms / 1000
        while (position := self._held.position(name)) is None:
            self._subscription.state(name)  # raises if the partition is no longer assigned
            self._subscription.raise_if_stuck([name])
            self._waits.raise_failure()
            self._poll_soon()
            if loop.time() >= end:
                raise KafkaTimeoutError(
                    f"the position of {name} was not found within "
                    f"default.api.timeout.ms={self._config.default_api_timeout_ms}"
                )
            await self._waits.wait(min(0.05, end - loop.time()))
        return position

    async def offsets(self, names: Iterable[TopicPartition], timestamp: int) -> dict[TopicPartition, FoundOffset]:
        """The first offset at or after one timestamp (or ``EARLIEST``, ``LATEST``) in each partition."""
        return await self.offsets_at(dict.fromkeys(names, timestamp))

    async def offsets_at(self, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, FoundOffset]:
        """The first offset at or after a timestamp that is given for each partition."""
        return await list_offsets(self._cluster, wanted, read_committed=self._config.read_committed)

    async def ends(self, partitions: Iterable[TopicPartition], timestamp: int) -> dict[TopicPartition, int]:
        """The ``EARLIEST`` or ``LATEST`` offset of each partition, as plain numbers."""
        found = await self.offsets(arguments.partitions(partitions), timestamp)
        return {name: item.offset for name, item in found.items()}

    async def of_times(self, given: Mapping[TopicPartition, int]) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record of each partition at or after a time; None if there is none."""
        wanted = arguments.times(given)
        for name, timestamp in wanted.items():
            if timestamp < 0:
                raise IllegalStateError(f"the timestamp {timestamp} for {name} is negative")
        found = await self.offsets_at(wanted)
        return {
            name: OffsetAndTimestamp(item.offset, item.timestamp) if item.offset >= 0 else None
            for name, item in found.items()
        }

    async def _find_all(self) -> None:
        """Find a position for every partition without one; repeats failed attempts."""
        try:
            while waiting := self._subscription.without_position():
                try:
                    await self._find(waiting)
                except KafkaError as error:
                    if not error.retriable:
                        self._waits.fail(error)
                        return
                    log.info("positions are not known yet: %s", error)
                    await asyncio.sleep(self._config.retry_backoff_ms / 1000)
        finally:
            self._task = None
        self._poll_soon()
        self._waits.wake()

    async def _find(self, waiting: Mapping[TopicPartition, Reset]) -> None:
        states = {name: self._subscription.assigned[name] for name in waiting}
        versions = {name: state.version for name, state in states.items()}

        def unchanged(name: TopicPartition) -> bool:
            return self._subscription.assigned.get(name) is states[name] and states[name].version == versions[name]

        wanted = dict(waiting)
        from_group = [name for name, reset in waiting.items() if reset is Reset.COMMITTED]
        group = self._group()
        if from_group and group is not None:
            for name, position in (await group.committed(from_group)).items():
                wanted.pop(name, None)
                if unchanged(name):
                    states[name].seek(position.offset, position.leader_epoch)
        lookups: dict[TopicPartition, int] = {}
        for name, reset in wanted.items():
            start = self._subscription.default_reset if reset is Reset.COMMITTED else reset
            if start is not Reset.NONE:
                lookups[name] = _TIMESTAMPS[start]
            elif unchanged(name):
                self._subscription.stop(name, states[name], self._without(name))
                self._waits.wake()
        if lookups:
            for name, found in (await self.offsets_at(lookups)).items():
                if unchanged(name):
                    states[name].seek(found.offset)

    def _without(self, name: TopicPartition) -> NoOffsetForPartitionError:
        of = f"group {self._config.group_id!r} has" if self._config.group_id is not None else "there is"
        return NoOffsetForPartitionError(
            f"{of} no committed offset for {name} and auto.offset.reset is none; seek to an offset"
        )


__all__ = ["Positions"]
