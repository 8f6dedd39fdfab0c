"""The clients for programs without an event loop: the same methods, blocking.

Called by programs, the command line and Spark. All blocking clients of a process share one event loop in a background
thread. They may be used from several threads, a consumer from one at a time. Callbacks run on other threads.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, overload

from oncelog.acls import Acl, AclFilter
from oncelog.client.aio.admin import Admin as AsyncAdmin
from oncelog.client.aio.admin_security import UserCredential
from oncelog.client.aio.consumer import Consumer as AsyncConsumer
from oncelog.client.aio.offsets import FoundOffset
from oncelog.client.aio.producer import Producer as AsyncProducer
from oncelog.client.aio.producer import RecordHeaders, Serializer
from oncelog.client.background import Background, background
from oncelog.client.core.accumulator import largest_size
from oncelog.client.core.admin_types import (
    ClusterDescription,
    ConfigEntry,
    ConfigResource,
    GroupDescription,
    GroupListing,
    NewTopic,
    ProducerState,
    RecordsToDelete,
    TopicDescription,
    TransactionDescription,
    TransactionListing,
)
from oncelog.client.core.errors import (
    ConsumerStoppedError,
    FatalProducerError,
    IllegalStateError,
    KafkaError,
    KafkaTimeoutError,
    OncelogError,
    ProducerClosed,
)
from oncelog.client.core.structs import (
    ConsumerGroupMetadata,
    ConsumerRecord,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    RecordMetadata,
    TopicPartition,
)
from oncelog.client.core.subscription import ConsumerRebalanceListener
from oncelog.client.delivery import Delivery

if TYPE_CHECKING:
    import ssl
    from typing import Unpack

    from oncelog.client.aio.producer import Partitioner
    from oncelog.client.core.config import AdminConfig, ConsumerConfig, ProducerConfig
    from oncelog.client.core.fetcher import Deserializer
    from oncelog.client.core.keywords import AdminKeywords, ConsumerKeywords, ProducerKeywords

    class ProducerArguments(ProducerKeywords, total=False):
        """What is handed on to the asyncio producer."""

        config: ProducerConfig | None
        partitioner: Partitioner | None
        ssl_context: ssl.SSLContext | None

    class ConsumerArguments(ConsumerKeywords, total=False):
        """What is handed on to the asyncio consumer."""

        config: ConsumerConfig | None
        key_deserializer: Deserializer | None
        value_deserializer: Deserializer | None
        ssl_context: ssl.SSLContext | None

    class AdminArguments(AdminKeywords, total=False):
        """What is handed on to the asyncio admin client."""

        config: AdminConfig | None
        ssl_context: ssl.SSLContext | None


Offsets = Mapping[TopicPartition, OffsetAndMetadata | int | tuple[int, str]]
_Queued = tuple[Delivery, str, bytes | None, bytes | None, int | None, int | None, RecordHeaders]

HANDED_OVER = 8192
"""Records that may wait between the caller's thread and the loop's; the producer's own bound is ``buffer.memory``."""


class Producer:
    """The blocking producer; settings as for ``oncelog.client.aio.Producer``.

    It starts with the first call, or with ``start()`` or ``with``.
    """

    def __init__(
        self,
        *,
        key_serializer: Serializer | None = None,
        value_serializer: Serializer | None = None,
        **settings: Unpack[ProducerArguments],
    ) -> None:
        self._producer = AsyncProducer(**settings)
        self._key_serializer = key_serializer
        self._value_serializer = value_serializer
        self._background: Background | None = None
        self._queue: deque[_Queued] = deque()
        self._pumping = False
        self._room = threading.Event()
        self._room.set()
        self._idle: asyncio.Event | None = None
        self._start_lock = threading.Lock()
        self._closed = False

    @property
    def config(self) -> Any:
        """The settings in force."""
        return self._producer.config

    def start(self) -> Self:
        """Connect; see the asyncio producer."""
        with self._start_lock:
            if self._closed:
                raise ProducerClosed("the producer was stopped; make a new one")
            if self._background is None:
                chosen = background()
                chosen.run(self._start())
                self._background = chosen
        return self

    async def _start(self) -> None:
        self._idle = asyncio.Event()
        self._idle.set()
        await self._producer.start()

    def stop(self) -> None:
        """Send what is queued, abort an open transaction, close the connections. May be called twice."""
        if self._closed:
            return
        self._closed = True
        if self._background is not None:
            self._background.run(self._stop())

    close = stop

    async def _stop(self) -> None:
        try:
            await self._handed_over()
        finally:
            await self._producer.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self, work: Callable[[], Any]) -> Any:
        if self._closed:
            raise ProducerClosed("the producer was stopped")
        self.start()

        async def in_order() -> Any:
            await self._handed_over()
            return await work()

        return (self._background or background()).run(in_order())

    # --- sending

    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: RecordHeaders | None = None,
    ) -> Delivery:
        """Queue a record; the delivery tells the outcome, errors of the record itself included.

        :raises KafkaTimeoutError: there was no room for ``max.block.ms``.
        """
        if self._background is None or self._closed:
            if self._closed:
                raise ProducerClosed("the producer was stopped")
            self.start()
        key_bytes = key if self._key_serializer is None else self._key_serializer(key)
        value_bytes = value if self._value_serializer is None else self._value_serializer(value)
        largest_size(key_bytes, value_bytes, headers or ())  # what cannot be a record is refused here, not later
        delivery = Delivery()
        stamp = int(time.time() * 1000) if timestamp_ms is None else timestamp_ms
        self._queue.append((delivery, topic, value_bytes, key_bytes, partition, stamp, headers or ()))
        if not self._pumping:
            self._pumping = True
            self._wake()
        elif len(self._queue) > HANDED_OVER:
            self._wait_for_room()
        return delivery

    def _wake(self) -> None:
        chosen = self._background
        if chosen is None or not chosen.usable:
            raise IllegalStateError("the producer was made before this process was forked; make a new one here")
        chosen.loop.call_soon_threadsafe(self._begin_pumping)

    def _wait_for_room(self) -> None:
        self._room.clear()
        if len(self._queue) > HANDED_OVER and not self._room.wait(self._producer.config.max_block_ms / 1000):
            raise KafkaTimeoutError(
                f"no room for a record within max.block.ms={self._producer.config.max_block_ms}: "
                f"buffer.memory={self._producer.config.buffer_memory} is full of records not acknowledged"
            )

    def _begin_pumping(self) -> None:
        if self._idle is not None and self._idle.is_set():
            self._idle.clear()
            self._task = asyncio.get_running_loop().create_task(self._pump())

    async def _pump(self) -> None:
        """Hand queued records to the producer, in order."""
        queue, producer = self._queue, self._producer
        try:
            while True:
                while queue:
                    item = queue.popleft()
                    delivery = item[0]
                    try:
                        if not producer._put(*item):
                            await producer._put_slowly(*item)
                    except (OncelogError, TypeError, ValueError, OverflowError) as error:
                        if not delivery.done():
                            delivery.set_exception(error)
                    if len(queue) * 2 < HANDED_OVER and not self._room.is_set():
                        self._room.set()
                    if producer._time_to_yield():
                        await asyncio.sleep(0)
                self._pumping = False
                if not queue:
                    return
                self._pumping = True
        finally:
            self._room.set()
            if self._idle is not None:
                self._idle.set()

    async def _handed_over(self) -> None:
        """Wait until everything sent so far is with the producer."""
        while self._queue or (self._idle is not None and not self._idle.is_set()):
            self._pumping = True
            self._begin_pumping()
            if self._idle is not None:
                await self._idle.wait()

    def send_and_wait(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: RecordHeaders | None = None,
    ) -> RecordMetadata:
        """Send a record and wait until it is acknowledged."""
        return self.send(topic, value, key, partition, timestamp_ms, headers).result()

    def flush(self) -> None:
        """Wait until everything sent so far is acknowledged or has failed."""
        self._run(self._producer.flush)

    def partitions_for(self, topic: str) -> set[int]:
        """Numbers of the topic's partitions."""
        found: set[int] = self._run(lambda: self._producer.partitions_for(topic))
        return found

    # --- transactions

    def begin_transaction(self) -> None:
        """Begin a transaction."""
        self._run(self._producer.begin_transaction)

    def commit_transaction(self) -> None:
        """Make the transaction's records and offsets visible, all at once."""
        self._run(self._producer.commit_transaction)

    def abort_transaction(self) -> None:
        """Take the transaction back."""
        self._run(self._producer.abort_transaction)

    def send_offsets_to_transaction(self, offsets: Offsets, group_id: str | ConsumerGroupMetadata) -> None:
        """Commit consumed positions together with the transaction's records."""
        self._run(lambda: self._producer.send_offsets_to_transaction(offsets, group_id))

    def transaction(self) -> Transaction:
        """``with producer.transaction():`` commits at the end, aborts on an exception."""
        return Transaction(self)

    def abort_if_open(self) -> None:
        """Abort where a transaction is open; nothing happens after a fatal error."""
        if self._producer.transaction_open:
            self.abort_transaction()


class Transaction:
    """One transaction as a block."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer

    def __enter__(self) -> Producer:
        self._producer.begin_transaction()
        return self._producer

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            try:
                self._producer.commit_transaction()
            except (FatalProducerError, KafkaTimeoutError):
                raise
            except KafkaError:
                self._producer.abort_if_open()
                raise
        elif not isinstance(error, FatalProducerError):
            self._producer.abort_if_open()


class _ThreadedListener(ConsumerRebalanceListener):
    """Runs a program's listener off the loop's thread, so that it may call the blocking client."""

    def __init__(self, listener: ConsumerRebalanceListener) -> None:
        self._listener = listener

    async def _call(self, callback: Callable[[Collection[TopicPartition]], Any], names: Any) -> None:
        result = await asyncio.to_thread(callback, names)
        if inspect.isawaitable(result):
            await result

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        await self._call(self._listener.on_partitions_revoked, revoked)

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        await self._call(self._listener.on_partitions_assigned, assigned)

    async def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        await self._call(self._listener.on_partitions_lost, lost)


class Consumer:
    """The blocking consumer; settings as for ``oncelog.client.aio.Consumer``. Iterating it reads for ever."""

    def __init__(self, *topics: str, **settings: Unpack[ConsumerArguments]) -> None:
        self._consumer = AsyncConsumer(*topics, **settings)
        self._background: Background | None = None
        self._closed = False
        self._chunk: Iterator[ConsumerRecord] = iter(())

    @property
    def config(self) -> Any:
        """The settings in force."""
        return self._consumer.config

    def start(self) -> Self:
        """Connect, and with a group begin to join it."""
        if self._closed:
            raise ConsumerStoppedError("the consumer was stopped; make a new one")
        if self._background is None:
            chosen = background()
            chosen.run(self._consumer.start())
            self._background = chosen
        return self

    def stop(self) -> None:
        """Commit where that is automatic, leave the group, close the connections. May be called twice."""
        if not self._closed:
            self._closed = True
            if self._background is not None:
                self._background.run(self._consumer.stop())

    close = stop

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self, work: Any) -> Any:
        """A coroutine on the loop; of a plain call, made there too, its result."""
        if self._closed:
            raise ConsumerStoppedError("the consumer was stopped")
        self.start()

        async def there() -> Any:
            result = work()
            return await result if inspect.isawaitable(result) else result

        return (self._background or background()).run(there())

    # --- reading

    def getmany(
        self, *partitions: TopicPartition, timeout_ms: int = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Records at hand by partition; waits up to ``timeout_ms`` for the first."""
        held = self._take_held(partitions, max_records)
        if held:
            return held
        found: dict[TopicPartition, list[ConsumerRecord]] = self._run(
            lambda: self._consumer.getmany(*partitions, timeout_ms=timeout_ms, max_records=max_records)
        )
        return found

    @overload
    def getone(self, *, timeout_ms: None = None) -> ConsumerRecord: ...

    @overload
    def getone(self, *, timeout_ms: int) -> ConsumerRecord | None: ...

    def getone(self, *, timeout_ms: int | None = None) -> ConsumerRecord | None:
        """The next record; waits for it, with ``timeout_ms`` at most so long (then None)."""
        while True:
            record = self._next_held()
            if record is not None:
                return record
            if not self._fetch_chunk(timeout_ms):
                return None

    def _fetch_chunk(self, timeout_ms: int | None) -> bool:
        wait_ms = 1000 if timeout_ms is None else timeout_ms
        while True:
            found = self._run(lambda: self._consumer.getmany(timeout_ms=wait_ms, hold_back=True))
            if found:
                self._chunk = iter([record for records in found.values() for record in records])
                return True
            if timeout_ms is not None:
                return False

    def _next_held(self) -> ConsumerRecord | None:
        """The next record fetched before; those of partitions taken away or sought in meanwhile are passed over."""
        for record in self._chunk:
            if self._consumer._hand_out(TopicPartition(record.topic, record.partition), record.offset):
                return record
        return None

    def _take_held(
        self, partitions: Collection[TopicPartition], most: int | None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        found: dict[TopicPartition, list[ConsumerRecord]] = {}
        count = 0
        while (most is None or count < most) and (record := self._next_held()) is not None:
            found.setdefault(TopicPartition(record.topic, record.partition), []).append(record)
            count += 1
        return found

    def __iter__(self) -> Iterator[ConsumerRecord]:
        return self

    def __next__(self) -> ConsumerRecord:
        try:
            record = self.getone()
        except ConsumerStoppedError:
            raise StopIteration from None
        if record is None:
            raise StopIteration
        return record

    def _give_back(self, partitions: Collection[TopicPartition]) -> None:
        """Records of these that were fetched but not handed out are fetched again."""
        self._chunk = iter(
            [item for item in self._chunk if TopicPartition(item.topic, item.partition) not in partitions]
        )
        for name in partitions:
            offset = self._consumer._held_offset(name)
            if offset is not None:
                self._consumer.seek(name, offset)

    def pause(self, *partitions: TopicPartition) -> None:
        """Hand out and fetch nothing of these until ``resume``."""

        def there() -> None:
            self._give_back([TopicPartition(*name) for name in partitions])
            self._consumer.pause(*partitions)

        self._run(there)

    def resume(self, *partitions: TopicPartition) -> None:
        """Read on."""
        self._run(lambda: self._consumer.resume(*partitions))

    def paused(self) -> frozenset[TopicPartition]:
        return self._consumer.paused()

    # --- what to read

    def subscribe(
        self,
        topics: Iterable[str] = (),
        pattern: str | None = None,
        listener: ConsumerRebalanceListener | None = None,
    ) -> None:
        """Read these topics, or those whose names match. The listener runs in a thread of its own."""
        wrapped = None if listener is None else _ThreadedListener(listener)
        self._run(lambda: self._consumer.subscribe(topics, pattern, wrapped))

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions."""
        names = list(partitions)
        self._run(lambda: self._consumer.assign(names))

    def unsubscribe(self) -> None:
        """Read nothing, and leave the group."""
        self._run(self._consumer.unsubscribe)

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions this consumer reads now."""
        return self._consumer.assignment()

    def subscription(self) -> frozenset[str]:
        """The topics subscribed to."""
        return self._consumer.subscription()

    # --- positions and commits

    def position(self, partition: TopicPartition) -> int:
        """Offset of the next record to be handed out."""
        offset: int = self._run(lambda: self._consumer.position(partition))
        return offset

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Read on from ``offset``."""
        self._run(lambda: self._consumer.seek(partition, offset))

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Read on from the first record."""
        self._run(lambda: self._consumer.seek_to_beginning(*partitions))

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Read on behind the last record."""
        self._run(lambda: self._consumer.seek_to_end(*partitions))

    def seek_to_committed(self, *partitions: TopicPartition) -> dict[TopicPartition, int | None]:
        """Read on from the committed offsets."""
        found: dict[TopicPartition, int | None] = self._run(lambda: self._consumer.seek_to_committed(*partitions))
        return found

    def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offset of each partition."""
        found: dict[TopicPartition, int] = self._run(lambda: self._consumer.beginning_offsets(partitions))
        return found

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset behind the last record of each."""
        found: dict[TopicPartition, int] = self._run(lambda: self._consumer.end_offsets(partitions))
        return found

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record of each partition that is not older than the time given, in ms."""
        found: dict[TopicPartition, OffsetAndTimestamp | None] = self._run(
            lambda: self._consumer.offsets_for_times(timestamps)
        )
        return found

    def highwater(self, partition: TopicPartition) -> int | None:
        """The high watermark that the last fetch told."""
        return self._consumer.highwater(partition)

    def last_stable_offset(self, partition: TopicPartition) -> int | None:
        """The last stable offset that the last fetch told."""
        return self._consumer.last_stable_offset(partition)

    def commit(self, offsets: Offsets | None = None) -> None:
        """Commit what was handed out, or these positions."""
        self._run(lambda: self._consumer.commit(offsets))

    def committed(self, partition: TopicPartition) -> int | None:
        """The group's committed offset of a partition."""
        offset: int | None = self._run(lambda: self._consumer.committed(partition))
        return offset

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Who commits, for ``send_offsets_to_transaction``."""
        return self._consumer.group_metadata()

    def topics(self) -> set[str]:
        """All topics that this consumer may see."""
        names: set[str] = self._run(self._consumer.topics)
        return names

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """Numbers of the topic's partitions; None while it is not known."""
        return self._consumer.partitions_for_topic(topic)


class Admin:
    """The blocking admin client; settings as for ``oncelog.client.aio.Admin``."""

    def __init__(self, **settings: Unpack[AdminArguments]) -> None:
        self._admin = AsyncAdmin(**settings)
        self._background: Background | None = None
        self._closed = False

    def start(self) -> Self:
        """Connect."""
        if self._closed:
            raise IllegalStateError("the admin client was closed; make a new one")
        if self._background is None:
            chosen = background()
            chosen.run(self._admin.start())
            self._background = chosen
        return self

    def close(self) -> None:
        """Close the connections. May be called twice."""
        if not self._closed:
            self._closed = True
            if self._background is not None:
                self._background.run(self._admin.close())

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, work: Callable[[], Any]) -> Any:
        self.start()
        return (self._background or background()).run(work())

    def create_topics(self, topics: Iterable[NewTopic], *, validate_only: bool = False) -> None:
        """Create topics, and return when their leaders are known."""
        self._run(lambda: self._admin.create_topics(topics, validate_only=validate_only))

    def delete_topics(self, names: Iterable[str]) -> None:
        """Delete topics with all their records."""
        self._run(lambda: self._admin.delete_topics(names))

    def create_partitions(self, counts: Mapping[str, int]) -> None:
        """Give topics this many partitions in all."""
        self._run(lambda: self._admin.create_partitions(counts))

    def describe_acls(self, wanted: AclFilter) -> list[Acl]:
        """The ACLs that a filter finds, sorted."""
        found: list[Acl] = self._run(lambda: self._admin.describe_acls(wanted))
        return found

    def create_acls(self, acls: Iterable[Acl]) -> None:
        """Add ACLs; those that are there already stay."""
        wanted = list(acls)
        self._run(lambda: self._admin.create_acls(wanted))

    def delete_acls(self, wanted: AclFilter) -> list[Acl]:
        """Remove the ACLs that a filter finds, and say which they were."""
        removed: list[Acl] = self._run(lambda: self._admin.delete_acls(wanted))
        return removed

    def describe_users(self, names: Sequence[str] = ()) -> list[UserCredential]:
        """The SCRAM credentials of these users, or of all."""
        found: list[UserCredential] = self._run(lambda: self._admin.describe_users(names))
        return found

    def set_password(self, user: str, mechanism: int, password: str, iterations: int) -> None:
        """Make or replace a user's credential for one mechanism (1: SCRAM-SHA-256, 2: SCRAM-SHA-512)."""
        self._run(lambda: self._admin.set_password(user, mechanism, password, iterations))

    def delete_credential(self, user: str, mechanism: int) -> None:
        """Remove a user's credential for one mechanism."""
        self._run(lambda: self._admin.delete_credential(user, mechanism))

    def list_topics(self, *, internal: bool = False) -> list[str]:
        """Names of all topics, sorted."""
        names: list[str] = self._run(lambda: self._admin.list_topics(internal=internal))
        return names

    def describe_topics(self, names: Iterable[str] | None = None) -> list[TopicDescription]:
        """Topics with leaders and replicas."""
        found: list[TopicDescription] = self._run(lambda: self._admin.describe_topics(names))
        return found

    def partitions(self, topic: str) -> list[TopicPartition]:
        """The partitions of a topic."""
        found: list[TopicPartition] = self._run(lambda: self._admin.partitions(topic))
        return found

    def describe_cluster(self) -> ClusterDescription:
        """Nodes, controller and id of the cluster."""
        found: ClusterDescription = self._run(self._admin.describe_cluster)
        return found

    def describe_configs(
        self, resources: Iterable[ConfigResource], *, names: Sequence[str] | None = None
    ) -> dict[ConfigResource, dict[str, ConfigEntry]]:
        """Properties of topics, brokers or groups, by name."""
        found: dict[ConfigResource, dict[str, ConfigEntry]] = self._run(
            lambda: self._admin.describe_configs(resources, names=names)
        )
        return found

    def alter_configs(
        self, changes: Mapping[ConfigResource, Mapping[str, str | None]], *, validate_only: bool = False
    ) -> None:
        """Set these properties and no others; None goes back to the default."""
        self._run(lambda: self._admin.alter_configs(changes, validate_only=validate_only))

    def delete_records(self, offsets: Mapping[TopicPartition, int | RecordsToDelete]) -> dict[TopicPartition, int]:
        """Delete the records before these offsets (-1: all)."""
        found: dict[TopicPartition, int] = self._run(lambda: self._admin.delete_records(offsets))
        return found

    def list_offsets(
        self, wanted: Mapping[TopicPartition, int], *, read_committed: bool = False
    ) -> dict[TopicPartition, FoundOffset]:
        """Offsets by time in ms; -1 the end, -2 the beginning, -3 the greatest timestamp."""
        found: dict[TopicPartition, FoundOffset] = self._run(
            lambda: self._admin.list_offsets(wanted, read_committed=read_committed)
        )
        return found

    def list_consumer_groups(self, *, states: Sequence[str] = ()) -> list[GroupListing]:
        """All groups, by name."""
        found: list[GroupListing] = self._run(lambda: self._admin.list_consumer_groups(states=states))
        return found

    def describe_consumer_groups(self, group_ids: Iterable[str]) -> list[GroupDescription]:
        """State, members and what they read."""
        found: list[GroupDescription] = self._run(lambda: self._admin.describe_consumer_groups(group_ids))
        return found

    def delete_consumer_groups(self, group_ids: Iterable[str]) -> None:
        """Delete groups that have no members, with their offsets."""
        self._run(lambda: self._admin.delete_consumer_groups(group_ids))

    def list_consumer_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition] | None = None, *, require_stable: bool = False
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Committed positions; partitions without one are left out."""
        found: dict[TopicPartition, OffsetAndMetadata] = self._run(
            lambda: self._admin.list_consumer_group_offsets(group_id, partitions, require_stable=require_stable)
        )
        return found

    def alter_consumer_group_offsets(self, group_id: str, offsets: Offsets) -> None:
        """Set committed positions of a group without members."""
        self._run(lambda: self._admin.alter_consumer_group_offsets(group_id, offsets))

    def delete_consumer_group_offsets(self, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        """Forget committed positions."""
        self._run(lambda: self._admin.delete_consumer_group_offsets(group_id, partitions))

    def find_coordinator(self, group_id: str) -> int:
        """Node that coordinates the group."""
        node: int = self._run(lambda: self._admin.find_coordinator(group_id))
        return node

    def list_transactions(
        self, *, states: Sequence[str] = (), producer_ids: Sequence[int] = (), running_longer_than_ms: int = -1
    ) -> list[TransactionListing]:
        """All transactional ids, or those that match."""
        found: list[TransactionListing] = self._run(
            lambda: self._admin.list_transactions(
                states=states, producer_ids=producer_ids, running_longer_than_ms=running_longer_than_ms
            )
        )
        return found

    def describe_transactions(self, transactional_ids: Iterable[str]) -> list[TransactionDescription]:
        """State, producer and partitions of transactional ids."""
        found: list[TransactionDescription] = self._run(lambda: self._admin.describe_transactions(transactional_ids))
        return found

    def describe_producers(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, list[ProducerState]]:
        """The producers that each partition remembers."""
        found: dict[TopicPartition, list[ProducerState]] = self._run(lambda: self._admin.describe_producers(partitions))
        return found

    def find_hanging_transactions(
        self, partitions: Iterable[TopicPartition]
    ) -> list[tuple[TopicPartition, ProducerState]]:
        """Transactions that are open in a partition while no coordinator knows them."""
        found: list[tuple[TopicPartition, ProducerState]] = self._run(
            lambda: self._admin.find_hanging_transactions(partitions)
        )
        return found

    def abort_transaction(
        self, partition: TopicPartition, *, start_offset: int | None = None, producer: ProducerState | None = None
    ) -> None:
        """End a hanging transaction in one partition with an abort marker."""
        self._run(lambda: self._admin.abort_transaction(partition, start_offset=start_offset, producer=producer))

    def fence_producers(self, transactional_ids: Iterable[str]) -> dict[str, tuple[int, int]]:
        """Stop the producers of these transactional ids and abort what they left open."""
        found: dict[str, tuple[int, int]] = self._run(lambda: self._admin.fence_producers(transactional_ids))
        return found
