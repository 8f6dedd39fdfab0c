"""The asyncio consumer, with aiokafka's methods and names.

Called by programs, the command line and the console. The rules are in ``client.core``; here are the event loop, the
waits and the program's callbacks. Records come from what was fetched ahead; rebalances go on in the background, and the
records of a partition that is being taken away are not handed out any more.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import ssl
import time
import uuid
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from oncelog.client.aio.cluster import Cluster, settled
from oncelog.client.aio.many import arrow_of, columns_of
from oncelog.client.aio.offsets import EARLIEST, LATEST, FoundOffset, GroupOffsets, list_offsets
from oncelog.client.aio.producer import normalize_offsets
from oncelog.client.aio.settings import split_settings
from oncelog.client.core import arguments
from oncelog.client.core.config import ConsumerConfig
from oncelog.client.core.consumer_group_member import ConsumerGroupMember
from oncelog.client.core.errors import (
    ConsumerStoppedError,
    IllegalStateError,
    KafkaError,
    KafkaTimeoutError,
    NoOffsetForPartitionError,
)
from oncelog.client.core.fetcher import Chunk, Deserializer, Fetcher
from oncelog.client.core.group_member import GroupMember
from oncelog.client.core.membership import Membership
from oncelog.client.core.structs import (
    Columns,
    ConsumerGroupMetadata,
    ConsumerRecord,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    TopicPartition,
)
from oncelog.client.core.subscription import ConsumerRebalanceListener, PartitionState, Reset, Subscription
from oncelog.deferred import Deferred
from oncelog.errors import Error
from oncelog.records.errors import CorruptBatch

if TYPE_CHECKING:
    from typing import Unpack

    import pyarrow as pa

    from oncelog.client.core.keywords import ConsumerKeywords

T = TypeVar("T")

log = logging.getLogger(__name__)

_RESETS = {"earliest": Reset.EARLIEST, "latest": Reset.LATEST, "none": Reset.NONE}
_TIMESTAMPS = {Reset.EARLIEST: EARLIEST, Reset.LATEST: LATEST}


class _Held:
    """Where the program stands in records that were fetched for it in one go."""

    __slots__ = ("next_offset", "state", "version")

    def __init__(self, state: PartitionState, version: int, next_offset: int) -> None:
        self.state = state
        self.version = version
        self.next_offset = next_offset


class Consumer:
    """Reads records, alone or as a member of a group.

    Settings are keyword arguments under aiokafka's names (``bootstrap_servers``, ``group_id``, ``auto_offset_reset``,
    ``isolation_level``, ``enable_auto_commit``, ...), or a ready :class:`ConsumerConfig`.
    """

    def __init__(
        self,
        *topics: str,
        config: ConsumerConfig | None = None,
        key_deserializer: Deserializer | None = None,
        value_deserializer: Deserializer | None = None,
        ssl_context: ssl.SSLContext | None = None,
        **settings: Unpack[ConsumerKeywords],
    ) -> None:
        settings.pop("consumer_timeout_ms", None)
        self.config = ConsumerConfig.from_keywords(**split_settings(settings)) if config is None else config
        config = self.config
        self._cluster = Cluster(
            config,
            timeout_ms=config.default_api_timeout_ms,
            ssl_context=ssl_context,
            allow_auto_creation=config.allow_auto_create_topics,
        )
        self._network = self._cluster.network
        self._metadata = self._cluster.metadata
        self._subscription = Subscription(_RESETS[config.auto_offset_reset])
        self._fetcher = Fetcher(
            config,
            self._network,
            self._metadata,
            self._subscription,
            key_deserializer=key_deserializer,
            value_deserializer=value_deserializer,
            on_data=self._wake,
            on_reset=self._poll_soon,
        )
        self._membership: Membership | None = None
        self._offsets: GroupOffsets | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._held: dict[TopicPartition, _Held] = {}
        self._waiters: set[asyncio.Future[None]] = set()
        self._failure: KafkaError | None = None
        self._position_task: asyncio.Task[None] | None = None
        self._commit_task: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._poll_scheduled = False
        self._commit_lock = asyncio.Lock()
        self._closed = False
        if topics:
            self._subscription.subscribe(topics, None, None)

    # --- life

    async def start(self) -> None:
        """Connect, and with a group begin to join it."""
        if self._closed:
            raise ConsumerStoppedError("the consumer was stopped; make a new one")
        if self._loop is not None:
            raise IllegalStateError("the consumer was started already")
        self._loop = asyncio.get_running_loop()
        try:
            await self._cluster.connect()
            self._network.observe(self._poll_soon)
            self._metadata.observe(self._metadata_changed)
            self._new_membership()
            self._subscribed("the consumer was started")
            await settled(self._metadata.refresh())
            if self.config.group_id is not None and self.config.enable_auto_commit:
                self._commit_task = self._loop.create_task(self._commit_now_and_then())
        except BaseException:
            await self._close()
            raise
        self._poll_soon()

    async def stop(self) -> None:
        """Commit where that is automatic, leave the group, close the connections. May be called twice."""
        if self._closed:
            return
        if self._loop is None:
            self._closed = True
            return
        try:
            if self._commit_task is not None:
                self._commit_task.cancel()
                await self._commit_quietly(list(self._subscription.assigned))
            if self._membership is not None:
                seconds = self.config.request_timeout_ms / 1000
                try:
                    await settled(self._membership.leave(), seconds)
                except TimeoutError:
                    log.info("the coordinator did not answer the farewell of group %s", self.config.group_id)
        finally:
            await self._close()

    async def _close(self) -> None:
        self._closed = True
        self._fetcher.close()
        self._wake()
        for task in [self._commit_task, self._position_task, *self._tasks]:
            if task is not None:
                task.cancel()
        await self._cluster.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def _new_membership(self) -> None:
        config = self.config
        if config.group_id is None:
            return
        shared = (config, self._network, self._metadata, self._subscription, self)
        if config.group_protocol == "consumer":
            self._membership = ConsumerGroupMember(*shared, str(uuid.uuid4()))
        else:
            self._membership = GroupMember(*shared)
        self._offsets = GroupOffsets(self._cluster, self._membership.finder, config.group_id)

    # --- what to read

    def subscribe(
        self,
        topics: Iterable[str] = (),
        pattern: str | None = None,
        listener: ConsumerRebalanceListener | None = None,
    ) -> None:
        """Read these topics, or those whose names match; partitions come from the group, all of them without one."""
        self._subscription.subscribe(topics, pattern, listener)
        self._subscribed("the subscription has changed")

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions."""
        self._subscription.assign(arguments.partitions(partitions))
        if self._loop is None:
            return  # start() does what follows
        self._metadata.set_wanted({name.topic for name in self._subscription.assigned})
        self._metadata.request_update()
        self._poll_soon()

    def unsubscribe(self) -> None:
        """Read nothing, and leave the group."""
        left = self._membership.leave() if self._membership is not None and self._subscription.by_group else None
        self._subscription.unsubscribe()
        self._metadata.want_all = False
        self._metadata.set_wanted(())
        if left is not None:
            self._new_membership()

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
        if self._membership is not None and self._subscription.topics:
            self._membership.subscription_changed(reason)
        self._poll_soon()

    # --- reading

    async def getone(self, *partitions: TopicPartition) -> ConsumerRecord:
        """The next record, of these partitions or of any; waits for it."""
        if not partitions:
            record = self._fetcher.take_one()
            if record is not None:
                return record
        while True:
            found = await self._next(partitions, 1, None)
            for records in found.values():
                return records[0]

    async def getmany(
        self,
        *partitions: TopicPartition,
        timeout_ms: int = 0,
        max_records: int | None = None,
        hold_back: bool = False,
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Records at hand by partition, at most ``max_records``; waits up to ``timeout_ms`` for the first.

        :param hold_back: the records count as handed out only one by one, with :meth:`_hand_out`.
        """
        if max_records is not None and max_records < 1:
            raise IllegalStateError(f"max_records={max_records} must be at least 1")
        found = await self._next(partitions, max_records or self.config.max_poll_records, timeout_ms / 1000)
        self._held.clear()
        if hold_back:
            for name, records in found.items():
                state = self._subscription.assigned.get(name)
                if state is not None:
                    self._held[name] = _Held(state, state.version, records[0].offset)
        return found

    async def getmany_columns(self, *partitions: TopicPartition, timeout_ms: int = 0) -> dict[TopicPartition, Columns]:
        """All records at hand by partition, as columns; waits up to ``timeout_ms`` for the first. Deserializers are not
        applied."""
        found = await self._next_batches(partitions, timeout_ms / 1000)
        return {name: self._read(name, lambda chunks: columns_of(chunks, self._crc), found) for name in found}

    async def getmany_arrow(
        self, *partitions: TopicPartition, timeout_ms: int = 0, headers: bool = False
    ) -> dict[TopicPartition, pa.Table]:
        """All records at hand by partition, as Arrow tables with key, value, offset, timestamp, timestampType and, if
        asked for, headers; waits up to ``timeout_ms`` for the first."""
        found = await self._next_batches(partitions, timeout_ms / 1000)
        return {name: self._read(name, lambda chunks: arrow_of(chunks, self._crc, headers), found) for name in found}

    @property
    def _crc(self) -> bool:
        return self.config.check_crcs

    def _read(
        self, name: TopicPartition, read: Callable[[list[Chunk]], T], found: Mapping[TopicPartition, list[Chunk]]
    ) -> T:
        try:
            return read(found[name])
        except CorruptBatch as corrupt:
            self._subscription.state(name).seek(found[name][0].first_offset)
            raise KafkaError(
                Error.CORRUPT_MESSAGE, f"{name} cannot be read from offset {found[name][0].first_offset} on: {corrupt}"
            ) from None

    async def _next_batches(
        self, partitions: Collection[TopicPartition], seconds: float
    ) -> dict[TopicPartition, list[Chunk]]:
        only = arguments.partitions(partitions)
        self._held.clear()
        return await self._when_there(seconds, lambda now_ms: self._fetcher.take_batches(only, now_ms))

    def _hand_out(self, name: TopicPartition, offset: int) -> bool:
        """A record that was held back is used; False where a seek or a rebalance has overtaken it.

        May be called from another thread.
        """
        held = self._held.get(name)
        if held is None:
            return False
        state = self._subscription.assigned.get(name)
        if state is not held.state or state.version != held.version or state.revoking:
            self._held.pop(name, None)
            return False
        held.next_offset = offset + 1
        return True

    def _held_offset(self, name: TopicPartition) -> int | None:
        """The first offset of a partition that is still held back."""
        held = self._held.get(name)
        current = held is not None and held.state.version == held.version
        return held.next_offset if held is not None and current else None

    def __aiter__(self) -> AsyncIterator[ConsumerRecord]:
        self._check()
        return self

    async def __anext__(self) -> ConsumerRecord:
        try:
            return await self.getone()
        except ConsumerStoppedError:
            raise StopAsyncIteration from None

    async def _next(
        self, partitions: Collection[TopicPartition], most: int, seconds: float | None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        return await self._when_there(seconds, lambda now_ms: self._fetcher.take(most, partitions, now_ms))

    async def _when_there(
        self, seconds: float | None, take: Callable[[int], dict[TopicPartition, T]]
    ) -> dict[TopicPartition, T]:
        """What ``take`` gives, as soon as it gives anything or the time is up."""
        loop = self._check()
        end = None if seconds is None else loop.time() + seconds
        first = True
        while True:
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure
            now_ms = self._network.now_ms()
            if self._membership is not None:
                self._membership.polled(now_ms)
            found = take(now_ms)
            if found:
                return found
            left = None if end is None else end - loop.time()
            if left is not None and left <= 0 and not first:
                return found
            first = False
            await self._wait(left)
            self._check()

    async def _wait(self, seconds: float | None) -> None:
        """Until there may be records, or the time is up."""
        if seconds is not None and seconds <= 0:
            await asyncio.sleep(0)
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            async with asyncio.timeout(seconds):
                await waiter
        except TimeoutError:
            return
        finally:
            self._waiters.discard(waiter)

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def pause(self, *partitions: TopicPartition) -> None:
        """Hand out and fetch nothing of these until ``resume``."""
        for name in arguments.partitions(partitions):
            self._subscription.state(name).paused = True

    def resume(self, *partitions: TopicPartition) -> None:
        """Read on."""
        for name in arguments.partitions(partitions):
            self._subscription.state(name).paused = False
        self._wake()
        self._poll_soon()

    def paused(self) -> frozenset[TopicPartition]:
        return frozenset(name for name, state in self._subscription.assigned.items() if state.paused)

    # --- positions

    async def position(self, partition: TopicPartition) -> int:
        """Offset of the next record to be handed out; waits until it is known."""
        loop = self._check()
        end = loop.time() + self.config.default_api_timeout_ms / 1000
        while True:
            state = self._subscription.state(arguments.partition(partition))
            if state.reset is None:
                held = self._held_offset(arguments.partition(partition))
                return state.position if held is None else held
            self._raise_failure()
            self._poll_soon()
            if loop.time() >= end:
                raise KafkaTimeoutError(
                    f"the position of {partition} was not found within "
                    f"default.api.timeout.ms={self.config.default_api_timeout_ms}"
                )
            await self._wait(min(0.05, end - loop.time()))

    def _raise_failure(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def highwater(self, partition: TopicPartition) -> int | None:
        """The high watermark that the last fetch told; None before one."""
        return self._subscription.state(partition).high_watermark

    def last_poll_timestamp(self, partition: TopicPartition) -> int | None:
        """When the two marks of the partition were last told, as ms since 1970; None before a fetch."""
        told_ms = self._subscription.state(partition).fetched_at_ms
        return None if told_ms is None else int(time.time() * 1000) - (self._network.now_ms() - told_ms)

    def last_stable_offset(self, partition: TopicPartition) -> int | None:
        """The last stable offset that the last fetch told; None before one."""
        return self._subscription.state(partition).last_stable_offset

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Read on from ``offset``."""
        if not isinstance(offset, int) or offset < 0:
            raise IllegalStateError(f"offset {offset!r} must be a whole number of at least 0")
        self._subscription.state(arguments.partition(partition)).seek(offset)
        self._fetcher.drop({arguments.partition(partition)})
        self._poll_soon()

    async def seek_to_beginning(self, *partitions: TopicPartition) -> bool:
        """Read on from the first record of these partitions, of all where none is named."""
        return await self._seek_to(EARLIEST, partitions)

    async def seek_to_end(self, *partitions: TopicPartition) -> bool:
        """Read on behind the last record; under ``read_committed`` behind the last stable one."""
        return await self._seek_to(LATEST, partitions)

    async def _seek_to(self, timestamp: int, partitions: Collection[TopicPartition]) -> bool:
        names = self._named(partitions)
        found = await self._list(dict.fromkeys(names, timestamp))
        for name, offset in found.items():
            self._subscription.state(name).seek(offset.offset)
        self._fetcher.drop(names)
        self._poll_soon()
        return True

    async def seek_to_committed(self, *partitions: TopicPartition) -> dict[TopicPartition, int | None]:
        """Read on from the committed offsets; partitions without one keep their position."""
        names = self._named(partitions)
        committed = await self._committed(names)
        for name, position in committed.items():
            self._subscription.state(name).seek(position.offset, position.leader_epoch)
        self._fetcher.drop(list(committed))
        self._poll_soon()
        return {name: committed[name].offset if name in committed else None for name in names}

    def _named(self, partitions: Collection[TopicPartition]) -> list[TopicPartition]:
        self._check()
        names = arguments.partitions(partitions) or list(self._subscription.assigned)
        for name in names:
            self._subscription.state(name)
        return names

    async def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offset of each partition."""
        found = await self._list(dict.fromkeys(arguments.partitions(partitions), EARLIEST))
        return {name: item.offset for name, item in found.items()}

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset behind the last record of each; under ``read_committed`` the last stable offset."""
        found = await self._list(dict.fromkeys(arguments.partitions(partitions), LATEST))
        return {name: item.offset for name, item in found.items()}

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record of each partition that is not older than the time given, in ms; None where there is none."""
        for name, timestamp in timestamps.items():
            if timestamp < 0:
                raise IllegalStateError(f"the time {timestamp} for {name} is negative")
        found = await self._list({arguments.partition(name): timestamp for name, timestamp in timestamps.items()})
        return {
            name: OffsetAndTimestamp(item.offset, item.timestamp) if item.offset >= 0 else None
            for name, item in found.items()
        }

    async def _list(self, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, FoundOffset]:
        self._check()
        return await list_offsets(self._cluster, wanted, read_committed=self.config.read_committed)

    # --- commits

    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int | tuple[int, str]] | None = None
    ) -> None:
        """Commit the positions of all assigned partitions, or these.

        :raises CommitFailedError: the group has rebalanced and the partitions are another member's now.
        """
        store = self._group_offsets()
        positions = self._positions(self._subscription.assigned) if offsets is None else normalize_offsets(offsets)
        if not positions:
            return
        async with self._commit_lock:
            await store.commit(positions, self.group_metadata)

    async def committed(self, partition: TopicPartition) -> int | None:
        """The group's committed offset of a partition; None where there is none."""
        found = await self._committed([arguments.partition(partition)])
        position = found.get(arguments.partition(partition))
        return None if position is None else position.offset

    async def _committed(self, names: list[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
        return await self._group_offsets().fetch(
            names,
            require_stable=self.config.read_committed,
            identity=self.group_metadata if self._member_bound else None,
        )

    @property
    def _member_bound(self) -> bool:
        return self.config.group_protocol == "consumer" and self._subscription.by_group

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Who commits, for ``send_offsets_to_transaction`` (KIP-447)."""
        if self._membership is None:
            raise IllegalStateError("the consumer has no group; give it a group_id")
        if self._subscription.by_group:
            return self._membership.identity
        return ConsumerGroupMetadata(self.config.group_id or "")

    def _group_offsets(self) -> GroupOffsets:
        self._check()
        if self._offsets is None:
            raise IllegalStateError("the consumer has no group to commit for; give it a group_id")
        return self._offsets

    def _positions(self, names: Iterable[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
        positions: dict[TopicPartition, OffsetAndMetadata] = {}
        for name in names:
            state = self._subscription.assigned.get(name)
            if state is not None and state.reset is None and state.position >= 0:
                held = self._held_offset(name)
                positions[name] = OffsetAndMetadata(state.position if held is None else held)
        return positions

    async def _commit_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(self.config.auto_commit_interval_ms / 1000)
            if self._membership is not None and (self._membership.stable or not self._subscription.by_group):
                await self._commit_quietly(list(self._subscription.assigned))

    async def _commit_quietly(self, names: list[TopicPartition]) -> None:
        """An automatic commit: what fails now is delivered again, not lost."""
        positions = self._positions(names)
        if self._offsets is None or not positions:
            return
        try:
            async with self._commit_lock:
                await self._offsets.commit(positions, self.group_metadata, self.config.auto_commit_interval_ms)
        except KafkaError as error:
            log.warning("automatic commit of group %s failed: %s", self.config.group_id, error)

    # --- the cluster

    async def topics(self) -> set[str]:
        """All topics that this consumer may see."""
        self._check()
        wanted_all, self._metadata.want_all = self._metadata.want_all, True
        try:
            await self._cluster.repeat("topics()", self._cluster.refresh)
        finally:
            self._metadata.want_all = wanted_all
        return {name for name, topic in self._metadata.topics.items() if not topic.internal}

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """Numbers of the topic's partitions; None while it is not known."""
        picture = self._metadata.topics.get(topic)
        return None if picture is None else set(range(picture.partition_count))

    # --- Host: what the membership asks

    def revoke(self, partitions: list[TopicPartition], lost: bool) -> Deferred[None]:
        done: Deferred[None] = Deferred()
        self._spawn(self._revoke(partitions, lost, done))
        return done

    async def _revoke(self, partitions: list[TopicPartition], lost: bool, done: Deferred[None]) -> None:
        try:
            if self.config.enable_auto_commit and not lost:
                await self._commit_quietly(partitions)
            listener = self._subscription.listener
            if listener is not None:
                await _tell(listener.on_partitions_lost if lost else listener.on_partitions_revoked, partitions)
        finally:
            self._fetcher.drop(partitions)
            done.resolve(None)

    def assigned(self, added: list[TopicPartition]) -> Deferred[None]:
        done: Deferred[None] = Deferred()
        self._spawn(self._assigned(added, done))
        return done

    async def _assigned(self, added: list[TopicPartition], done: Deferred[None]) -> None:
        try:
            listener = self._subscription.listener
            if listener is not None:
                await _tell(listener.on_partitions_assigned, added)
        finally:
            done.resolve(None)
            self._poll_soon()
            self._wake()

    def group_failed(self, error: KafkaError) -> None:
        self._failure = error
        self._wake()

    def reading(self) -> bool:
        return bool(self._waiters)

    # --- between the loop and the cores

    def _check(self) -> asyncio.AbstractEventLoop:
        if self._closed:
            raise ConsumerStoppedError("the consumer was stopped")
        if self._loop is None:
            raise IllegalStateError("the consumer has not started; call start() first")
        return self._loop

    def _spawn(self, work: Any) -> None:
        if self._loop is None:
            raise IllegalStateError("the consumer has not started; call start() first")
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _poll_soon(self) -> None:
        if not self._poll_scheduled and self._loop is not None and not self._closed:
            self._poll_scheduled = True
            self._loop.call_soon(self._poll)

    def _poll(self) -> None:
        self._poll_scheduled = False
        if self._closed:
            return
        now_ms = self._network.now_ms()
        if self._membership is not None:
            self._membership.poll(now_ms)
        if self._subscription.without_position() and self._position_task is None and self._loop is not None:
            self._position_task = self._loop.create_task(self._find_positions())
        self._fetcher.poll(now_ms)

    def _metadata_changed(self) -> None:
        if self._subscription.match(self._metadata, self.config.exclude_internal_topics):
            if self._membership is not None:
                self._membership.subscription_changed("the topics that match have changed")
        elif self._membership is not None:
            self._membership.metadata_changed()
        if self._membership is None and self._subscription.by_group:
            known = [self._metadata.topics[name] for name in self._subscription.topics if name in self._metadata.topics]
            self._subscription.take(name for topic in known for name in topic.keys)
        self._poll_soon()

    async def _find_positions(self) -> None:
        """Give every partition that has none its position; repeats what fails."""
        try:
            while waiting := self._subscription.without_position():
                try:
                    await self._find(waiting)
                except NoOffsetForPartitionError as error:
                    self.group_failed(error)
                    return
                except KafkaError as error:
                    if not error.retriable:
                        self.group_failed(error)
                        return
                    log.info("positions are not known yet: %s", error)
                    await asyncio.sleep(self.config.retry_backoff_ms / 1000)
        finally:
            self._position_task = None
        self._poll_soon()
        self._wake()

    async def _find(self, waiting: Mapping[TopicPartition, Reset]) -> None:
        states = {name: self._subscription.assigned[name] for name in waiting}
        versions = {name: state.version for name, state in states.items()}

        def unchanged(name: TopicPartition) -> bool:
            return self._subscription.assigned.get(name) is states[name] and states[name].version == versions[name]

        wanted = dict(waiting)
        from_group = [name for name, reset in waiting.items() if reset is Reset.COMMITTED]
        if from_group and self._offsets is not None:
            for name, position in (await self._committed(from_group)).items():
                wanted.pop(name, None)
                if unchanged(name):
                    states[name].seek(position.offset, position.leader_epoch)
        lookups: dict[TopicPartition, int] = {}
        for name, reset in wanted.items():
            start = self._subscription.default_reset if reset is Reset.COMMITTED else reset
            if start is Reset.NONE:
                raise NoOffsetForPartitionError(
                    f"group {self.config.group_id!r} has no committed offset for {name} and auto.offset.reset is none; "
                    "seek to an offset"
                )
            lookups[name] = _TIMESTAMPS[start]
        if lookups:
            for name, found in (await self._list(lookups)).items():
                if unchanged(name):
                    states[name].seek(found.offset)


async def _tell(callback: Callable[[set[TopicPartition]], Any], partitions: list[TopicPartition]) -> None:
    """Call a listener; what it raises is logged, for a rebalance cannot be refused."""
    try:
        result = callback(set(partitions))
        if inspect.isawaitable(result):
            await result
    except Exception:
        log.exception("the rebalance listener failed for %s", sorted(partitions))


__all__ = ["Consumer", "ConsumerRebalanceListener", "Deserializer", "PartitionState"]
