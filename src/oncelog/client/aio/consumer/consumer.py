"""The asyncio consumer, with aiokafka's methods and names.

Called by programs, the command line and the console. The rules are in ``client.core``, group membership in
``consumer_group``, starting offsets in ``positions``; this module holds the consumer's life cycle and its public
methods. Records come from what was fetched ahead; rebalances happen in the background, and records of a partition that
is being revoked are no longer handed out.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from math import inf
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Self

from oncelog.client.aio.aiokafka_keywords import config_of
from oncelog.client.aio.connection.cluster_access import ClusterAccess, settled
from oncelog.client.aio.consumer.buffered import BufferedRecords
from oncelog.client.aio.consumer.consumer_group import GroupMembership
from oncelog.client.aio.consumer.record_reader import RecordReader
from oncelog.client.aio.consumer.record_waiters import RecordWaiters
from oncelog.client.aio.consumer.start_positions import Positions
from oncelog.client.aio.offset_lookups import EARLIEST, LATEST
from oncelog.client.aio.polling import Polling, running_loop, unclosed, weakly
from oncelog.client.core import arguments
from oncelog.client.core.arguments import Offsets
from oncelog.client.core.client_errors import ConfigError, ConsumerStoppedError, IllegalStateError
from oncelog.client.core.config import ConsumerConfig
from oncelog.client.core.consumer.completed_fetch import Deserializer
from oncelog.client.core.consumer.consumer_metrics import ConsumerMetrics
from oncelog.client.core.consumer.fetcher import Fetcher
from oncelog.client.core.consumer.subscription import ConsumerRebalanceListener, Reset, Subscription, TopicPattern
from oncelog.client.core.metrics import Metrics
from oncelog.client.core.structs import (
    Columns,
    ConsumerGroupMetadata,
    ConsumerRecord,
    K,
    OffsetAndTimestamp,
    TopicPartition,
    V,
    takes_fewer_types,
)
from oncelog.client.stopping import check_timeout, limit_ms, within
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time

if TYPE_CHECKING:
    from typing import Unpack

    import pyarrow as pa

    from oncelog.client.core.keywords import ConsumerKeywords

log = logging.getLogger(__name__)

_RESETS = {"earliest": Reset.EARLIEST, "latest": Reset.LATEST, "none": Reset.NONE}


@takes_fewer_types
class Consumer(Generic[K, V]):
    """Reads records, alone or as a member of a group.

    Settings are keyword arguments under aiokafka's names (``bootstrap_servers``, ``group_id``, ``auto_offset_reset``,
    ``isolation_level``, ``enable_auto_commit``, ...), or a ready :class:`ConsumerConfig`.
    """

    _reports_empty_revocations = False

    def __init__(
        self,
        *topics: str,
        config: ConsumerConfig | None = None,
        key_deserializer: Callable[[bytes], K] | None = None,
        value_deserializer: Callable[[bytes], V] | None = None,
        ssl_context: ssl.SSLContext | None = None,
        **settings: Unpack[ConsumerKeywords],
    ) -> None:
        if settings.pop("consumer_timeout_ms", None) is not None:
            raise ConfigError(
                "consumer_timeout_ms is not supported, leave it out: iterating a consumer waits forever; "
                "getmany(timeout_ms=...), or the blocking getone(timeout_ms=...), returns at the timeout"
            )
        misplaced = [topic for topic in topics if isinstance(topic, Mapping)]
        config = self.config = config_of("Consumer", ConsumerConfig, misplaced, config, settings)
        self._cluster = ClusterAccess(
            config,
            timeout_ms=config.default_api_timeout_ms,
            ssl_context=ssl_context,
            allow_auto_creation=config.allow_auto_create_topics,
        )
        self._network, self._metadata = self._cluster.network, self._cluster.metadata
        self._subscription = Subscription(_RESETS[config.auto_offset_reset])
        self._polling, self._waits = Polling(weakly(self._poll)), RecordWaiters()
        self._held = BufferedRecords(self._subscription)
        self._metrics = metrics = ConsumerMetrics(self._network.metrics)
        self._fetcher = Fetcher(
            config,
            self._network,
            self._metadata,
            self._subscription,
            metrics,
            key_deserializer=arguments.function(key_deserializer, "key_deserializer"),
            value_deserializer=arguments.function(value_deserializer, "value_deserializer"),
            on_data=self._waits.wake,
            on_reset=self._polling.soon,
        )
        self._group: GroupMembership | None = None
        self._positions = Positions(
            config,
            self._cluster,
            self._subscription,
            self._held,
            self._waits,
            weakly(self._present_group),
            self._polling.soon,
        )
        self._reading = RecordReader(
            self._network,
            self._subscription,
            self._fetcher,
            self._waits,
            check=self._check,
            polled=self._polled,
            poll_soon=self._polling.soon,
            check_crcs=config.check_crcs,
        )
        self._closings = [self._polling.close, self._fetcher.close, self._positions.close]
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False
        if topics:
            self._subscription.subscribe(topics, None, None)

    # --- life

    async def start(self) -> None:
        """Connect, and with a group, begin to join it."""
        if self._closed:
            raise ConsumerStoppedError("the consumer was stopped; create a new one")
        if self._loop is not None:
            raise IllegalStateError("the consumer was started already")
        self._loop = running_loop()
        self._polling.start()
        try:
            await self._cluster.connect()
            self._network.observe(self._polling.soon)
            self._metadata.observe(weakly(self._metadata_changed))
            self._enter_group()
            self._subscribed("the consumer was started")
            await settled(self._metadata.refresh())
            if self._group is not None:
                self._group.start_commits()
        except BaseException:
            await self._close()
            raise
        self._polling.soon()

    async def stop(self, *, timeout_ms: int | None = None) -> None:
        """Stop: commit if ``enable_auto_commit`` is set, leave the group, and close the connections. May be called
        twice.

        :param timeout_ms: give up after this time if the cluster does not answer; None: wait as long as the settings
            allow.
        """
        check_timeout(timeout_ms)
        if self._closed:
            return
        if self._loop is None:
            self._closed = True
            return
        try:
            if self._group is not None and not await within(timeout_ms, self._group.leave()):
                log.info("the coordinator did not confirm within %s ms that the consumer left its group", timeout_ms)
        finally:
            await self._close()

    async def _close(self) -> None:
        self._closed = True
        for end in self._closings:
            end()
        self._waits.wake()
        await self._cluster.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop(timeout_ms=limit_ms(error))

    def __del__(self) -> None:
        if not getattr(self, "_closed", True) and self._loop is not None and self._polling.here:
            unclosed(self, self._loop, self._closings, self._cluster.close)

    def _present_group(self) -> GroupMembership | None:
        return self._group

    def _enter_group(self) -> None:
        config = self.config
        if config.group_id is None:
            return
        self._group = GroupMembership(
            config,
            config.group_id,
            self._cluster,
            self._subscription,
            self._fetcher,
            self._held,
            self._waits,
            self._polling.soon,
            self._metrics,
            report_empty_revocations=self._reports_empty_revocations,
        )
        self._closings.append(self._group.close)

    # --- what to read

    def subscribe(
        self,
        topics: Iterable[str] = (),
        pattern: TopicPattern | None = None,
        listener: ConsumerRebalanceListener | None = None,
    ) -> None:
        """Read these topics, or those whose names match the pattern. With a group, its coordinator or leader assigns
        the partitions; without a group, this consumer reads all of them."""
        self._subscription.subscribe(topics, pattern, listener)
        self._subscribed("the subscription has changed")

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions."""
        self._subscription.assign(arguments.partitions(partitions))
        if self._loop is None:
            return  # start() will request the metadata and begin to poll
        self._metadata.set_wanted(sorted({name.topic for name in self._subscription.assigned}))
        self._metadata.request_update()
        self._polling.soon()

    def unsubscribe(self) -> None:
        """Read nothing any more, and leave the group."""
        group = self._group if self._subscription.by_group else None
        if group is not None:
            group.membership.leave()
        self._subscription.unsubscribe()
        self._metadata.want_all = False
        self._metadata.set_wanted(())
        if group is not None:
            group.close()
            self._closings.remove(group.close)
            self._waits.begin()
            self._enter_group()
            if self._group is not None:
                self._group.start_commits()
        self._waits.wake()

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions this consumer reads now."""
        return frozenset(self._subscription.assigned)

    def subscription(self) -> frozenset[str]:
        """The topics subscribed to."""
        return frozenset(self._subscription.topics)

    def _subscribed(self, reason: str) -> None:
        if self._loop is None:
            return
        self._metadata.want_all = self._subscription.pattern is not None
        names = set(self._subscription.topics) or {name.topic for name in self._subscription.assigned}
        self._metadata.set_wanted(sorted(names))
        self._metadata.request_update()
        if self._group is not None and self._subscription.topics:
            self._group.membership.subscription_changed(reason)
        self._polling.soon()

    # --- reading

    async def getone(self, *partitions: TopicPartition) -> ConsumerRecord[K, V]:
        """The next record of these partitions, or of any; waits for it."""
        if not partitions and (record := self._fetcher.take_one()) is not None:
            return record
        while True:
            for records in (await self._reading.records(partitions, 1, inf)).values():
                return records[0]

    async def getmany(
        self, *partitions: TopicPartition, timeout_ms: int = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord[K, V]]]:
        """Records available now, by partition, at most ``max_records``; waits up to ``timeout_ms`` for the first."""
        most = self.config.max_poll_records if max_records is None else arguments.whole(max_records, "max_records")
        if most < 1:
            raise IllegalStateError(f"max_records={most} must be at least 1")
        self._held.clear()
        return await self._reading.records(partitions, most, timeout_ms)

    async def _hold_many(
        self, *partitions: TopicPartition, timeout_ms: int, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord[K, V]]]:
        """Like :meth:`getmany`, but a record counts as handed out only when ``_held`` has marked it."""
        found = await self.getmany(*partitions, timeout_ms=timeout_ms, max_records=max_records)
        self._held.hold(found)
        return found

    async def getmany_columns(self, *partitions: TopicPartition, timeout_ms: int = 0) -> dict[TopicPartition, Columns]:
        """All records available now, by partition, as columns of bytes; waits up to ``timeout_ms`` for the first."""
        self._held.clear()
        return await self._reading.columns(partitions, timeout_ms)

    async def getmany_arrow(
        self, *partitions: TopicPartition, timeout_ms: int = 0, headers: bool = False
    ) -> dict[TopicPartition, pa.Table]:
        """All records available now, by partition, as Arrow tables with key, value, offset, timestamp, timestampType
        and, if asked for, headers; waits up to ``timeout_ms`` for the first."""
        self._held.clear()
        return await self._reading.tables(partitions, timeout_ms, headers)

    def __aiter__(self) -> AsyncIterator[ConsumerRecord[K, V]]:
        self._check()
        return self

    async def __anext__(self) -> ConsumerRecord[K, V]:
        try:
            return await self.getone()
        except ConsumerStoppedError:
            raise StopAsyncIteration from None

    def pause(self, *partitions: TopicPartition) -> None:
        """Fetch and hand out nothing from these partitions until ``resume``."""
        for name in arguments.partitions(partitions):
            self._subscription.state(name).paused = True

    def resume(self, *partitions: TopicPartition) -> None:
        """Continue reading these partitions."""
        for name in arguments.partitions(partitions):
            self._subscription.state(name).paused = False
        self._waits.wake()
        self._polling.soon()

    def paused(self) -> frozenset[TopicPartition]:
        """The partitions that ``pause`` was called for."""
        return frozenset(name for name, state in self._subscription.assigned.items() if state.paused)

    # --- positions

    async def position(self, partition: TopicPartition) -> int:
        """Offset of the next record that will be handed out; waits until it is known."""
        self._check()
        return await self._positions.of(arguments.partition(partition))

    def highwater(self, partition: TopicPartition) -> int | None:
        """The high watermark reported by the last fetch; None before the first."""
        return self._subscription.state(arguments.partition(partition)).high_watermark

    def last_poll_timestamp(self, partition: TopicPartition) -> int | None:
        """When the high watermark and last stable offset were last reported, in ms since 1970; None before the first
        fetch."""
        fetched_at_ms = self._subscription.state(arguments.partition(partition)).fetched_at_ms
        return None if fetched_at_ms is None else real_time.time_ms() - (self._network.now_ms() - fetched_at_ms)

    def last_stable_offset(self, partition: TopicPartition) -> int | None:
        """The last stable offset reported by the last fetch; None before the first."""
        return self._subscription.state(arguments.partition(partition)).last_stable_offset

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Continue reading from ``offset``."""
        name, position = arguments.partition(partition), arguments.whole(offset, "offset")
        if position < 0:
            raise IllegalStateError(f"offset {position} must be a whole number of at least 0")
        self._subscription.state(name).seek(position)
        self._fetcher.drop({name})
        self._polling.soon()

    async def seek_to_beginning(self, *partitions: TopicPartition) -> bool:
        """Continue reading from the first record of these partitions, or of all if none is named."""
        return await self._seek_to(EARLIEST, partitions)

    async def seek_to_end(self, *partitions: TopicPartition) -> bool:
        """Continue reading after the last record, or under ``read_committed`` from the last stable offset."""
        return await self._seek_to(LATEST, partitions)

    async def _seek_to(self, timestamp: int, partitions: Collection[TopicPartition]) -> bool:
        names = self._named(partitions)
        found = await self._positions.offsets(names, timestamp)
        for name, offset in found.items():
            self._subscription.state(name).seek(offset.offset)
        self._fetcher.drop(names)
        self._polling.soon()
        return True

    async def seek_to_committed(self, *partitions: TopicPartition) -> dict[TopicPartition, int | None]:
        """Return to the committed offsets; a partition without a committed offset (None) returns to where this consumer
        began.
        """
        names = self._named(partitions)
        states = {name: self._subscription.state(name) for name in names}
        committed = await self._with_group().committed(names)
        self._fetcher.drop(self._subscription.rewind(states, committed))
        self._polling.soon()
        return {name: committed[name].offset if name in committed else None for name in names}

    def _named(self, partitions: Collection[TopicPartition]) -> list[TopicPartition]:
        self._check()
        names = arguments.partitions(partitions) or list(self._subscription.assigned)
        for name in names:
            self._subscription.state(name)
        return names

    async def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offset of each partition."""
        self._check()
        return await self._positions.ends(partitions, EARLIEST)

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset after the last record of each partition; under ``read_committed`` the last stable offset."""
        self._check()
        return await self._positions.ends(partitions, LATEST)

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record of each partition at or after the given time in ms; None if there is none."""
        self._check()
        return await self._positions.of_times(timestamps)

    # --- commits

    async def commit(self, offsets: Offsets | None = None) -> None:
        """Commit the positions of all assigned partitions, or the given offsets.

        :raises CommitFailedError: the group has rebalanced and another member now owns the partitions.
        """
        group = self._with_group()
        positions = self._held.positions() if offsets is None else arguments.offsets(offsets)
        if positions:
            await group.commit(positions)

    async def committed(self, partition: TopicPartition) -> int | None:
        """The group's committed offset of a partition; None if there is none."""
        name = arguments.partition(partition)
        position = (await self._with_group().committed([name])).get(name)
        return None if position is None else position.offset

    def group_metadata(self) -> ConsumerGroupMetadata:
        """For ``send_offsets_to_transaction``: the consumer's identity in its group (KIP-447), and which topics it has
        read (KIP-1319)."""
        if self._group is not None:
            return self._group.identity._replace(topic_ids=self._subscription.topic_ids())
        if self.config.group_id is None:
            raise IllegalStateError("the consumer has no group; give it a group_id")
        raise IllegalStateError("the consumer has not started; call start() first")

    def _with_group(self) -> GroupMembership:
        self._check()
        if self._group is None:
            raise IllegalStateError("the consumer has no group to commit for; give it a group_id")
        return self._group

    # --- the cluster

    async def topics(self) -> set[str]:
        """All topics that this consumer may see."""
        self._check()
        return await self._cluster.readable_topics()

    def metrics(self) -> Metrics:
        """This consumer's metrics, in Kafka's groups and under Kafka's names (``docs/reference/metrics.md``):
        ``metrics()["consumer-fetch-manager-metrics"]["records-lag-max"]``."""
        moment, grouped = self._network.moment(), self._group is not None
        assigned, positions = self._subscription.assigned, self._held.positions()
        return self._metrics.read(moment, assigned, positions, self.config.read_committed, grouped)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """Numbers of the topic's partitions; None while it is not known."""
        image = self._metadata.topics.get(arguments.name(topic, "topics"))
        return None if image is None else set(range(image.partition_count))

    # --- between the loop and the cores

    def _polled(self, now_ms: int) -> None:
        self._metrics.polled(now_ms)
        if self._group is not None:
            self._group.membership.polled(now_ms)

    def _check(self) -> asyncio.AbstractEventLoop:
        if self._closed:
            raise ConsumerStoppedError("the consumer was stopped")
        if self._loop is None:
            raise IllegalStateError("the consumer has not started; call start() first")
        if self._loop is not asyncio.get_running_loop():
            raise IllegalStateError("the consumer was started on another event loop; use it there, or create one here")
        return self._loop

    def _poll(self) -> None:
        now_ms = self._network.now_ms()
        if self._group is not None:
            self._group.membership.poll(now_ms)
        self._positions.poll()
        self._fetcher.poll(now_ms)

    def _metadata_changed(self) -> None:
        refused = self._subscription.refused(self._metadata)
        if refused is not None:
            self._waits.fail(refused)
        membership = None if self._group is None else self._group.membership
        if self._subscription.match(self._metadata, self.config.exclude_internal_topics):
            if membership is not None:
                membership.subscription_changed("the topics that match have changed")
        elif membership is not None:
            membership.metadata_changed()
        if membership is None and self._subscription.by_group:
            known = [self._metadata.topics[name] for name in self._subscription.topics if name in self._metadata.topics]
            self._subscription.take(name for topic in known for name in topic.keys)
        self._polling.soon()


__all__ = ["Consumer", "ConsumerRebalanceListener", "Deserializer"]
