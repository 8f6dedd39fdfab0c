"""The blocking consumer: fetched records pass from the loop's thread to the program in batches, but count as handed out
one by one.

Called by programs and the command line.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar, overload

from oncelog.client.aio.consumer.consumer import Consumer as AsyncConsumer
from oncelog.client.background import BackgroundLoop, background, tell_of_fork
from oncelog.client.core import arguments
from oncelog.client.core.arguments import Offsets
from oncelog.client.core.client_errors import ConsumerStoppedError
from oncelog.client.core.consumer.subscription import ConsumerRebalanceListener, TopicPattern
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
from oncelog.client.stopping import check_timeout, limit_ms
from oncelog.runtime import real_asyncio as asyncio

if TYPE_CHECKING:
    import ssl
    from typing import Unpack

    import pyarrow as pa

    from oncelog.client.core.config import ConsumerConfig
    from oncelog.client.core.keywords import ConsumerKeywords
    from oncelog.client.core.metrics import Metrics


T = TypeVar("T")


class _ThreadedListener(ConsumerRebalanceListener):
    """Calls a program's listener on a thread of its own, not the loop's, so that the listener may call the blocking
    client."""

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


@takes_fewer_types
class Consumer(Generic[K, V]):
    """The blocking consumer; settings as for ``oncelog.client.aio.Consumer``. Iterating it reads forever."""

    def __init__(
        self,
        *topics: str,
        config: ConsumerConfig | None = None,
        key_deserializer: Callable[[bytes], K] | None = None,
        value_deserializer: Callable[[bytes], V] | None = None,
        ssl_context: ssl.SSLContext | None = None,
        **settings: Unpack[ConsumerKeywords],
    ) -> None:
        self._consumer = AsyncConsumer(
            *topics,
            config=config,
            key_deserializer=key_deserializer,
            value_deserializer=value_deserializer,
            ssl_context=ssl_context,
            **settings,
        )
        self._background: BackgroundLoop | None = None
        self._closed = False
        self._chunk: deque[ConsumerRecord[K, V]] = deque()
        """Fetched records that wait for the program, in order. They are added on the loop, so that an interrupt loses
        none."""
        self._found: dict[TopicPartition, list[ConsumerRecord[K, V]]] = {}
        """Records that a call of ``getmany`` is about to return. If that call is interrupted, the next call returns
        them first."""
        self._whole = False
        """Whether a call of ``getmany_columns`` or ``getmany_arrow`` is about to return the records that were fetched
        last. If that call is interrupted, they are fetched again."""
        tell_of_fork(self)

    @property
    def config(self) -> ConsumerConfig:
        """The settings in force."""
        return self._consumer.config

    def __reduce__(self) -> NoReturn:
        raise TypeError("a client cannot be copied or sent to another process: create another client there")

    def start(self) -> Self:
        """Connect, and with a group, begin to join it."""
        if self._closed:
            raise ConsumerStoppedError("the consumer was stopped; create a new one")
        if self._background is None:
            chosen = background()
            chosen.start(self._consumer.start(), self._consumer.stop)
            self._background = chosen
        return self

    def _forked(self) -> None:
        self._chunk, self._found = deque(), {}

    def stop(self, *, timeout_ms: int | None = None) -> None:
        """Commit if ``enable_auto_commit`` is set, leave the group, close the connections. May be called twice.

        :param timeout_ms: give up after this time if the cluster does not answer; None: wait as long as the settings
            allow.
        """
        check_timeout(timeout_ms)
        if not self._closed:
            self._closed = True
            if self._background is not None and self._background.usable:  # after a fork the loop belongs to the parent
                self._background.run(self._consumer.stop(timeout_ms=timeout_ms))

    close = stop

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(timeout_ms=limit_ms(error))

    def _run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine on the loop and return its result."""
        if self._closed:
            raise ConsumerStoppedError("the consumer was stopped")
        self.start()
        return (self._background or background()).run(work())

    def _do(self, work: Callable[[], None]) -> None:
        """Make a plain call on the loop."""

        async def on_loop() -> None:
            work()

        self._run(on_loop)

    # --- reading

    def getmany(
        self, *partitions: TopicPartition, timeout_ms: int = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord[K, V]]]:
        """Records available now, by partition; waits up to ``timeout_ms`` for the first."""
        if partitions:
            self._do(self._give_back_all)
        else:
            held = self._take_held(max_records)
            if held:
                return held

        async def fetch() -> None:
            self._give_back_whole()
            if not self._left():
                self._found = await self._consumer._hold_many(
                    *partitions, timeout_ms=timeout_ms, max_records=max_records
                )

        self._run(fetch)
        found, self._found = self._found, {}
        if not found:
            return self._take_held(max_records)
        self._consumer._held.clear()
        return found

    @overload
    def getone(self, *, timeout_ms: None = None) -> ConsumerRecord[K, V]: ...

    @overload
    def getone(self, *, timeout_ms: int) -> ConsumerRecord[K, V] | None: ...

    def getone(self, *, timeout_ms: int | None = None) -> ConsumerRecord[K, V] | None:
        """The next record; waits for it, or returns None after ``timeout_ms``, if given."""
        while True:
            record = self._next_held()
            if record is not None:
                return record
            if not self._fetch_chunk(timeout_ms):
                return None

    def _fetch_chunk(self, timeout_ms: int | None) -> bool:
        wait_ms = 1000 if timeout_ms is None else timeout_ms

        async def fetch() -> bool:
            self._give_back_whole()
            if not self._left():
                self._found = await self._consumer._hold_many(timeout_ms=wait_ms)
            return self._left()

        while True:
            if self._run(fetch):
                return True
            if timeout_ms is not None:
                return False

    def _left(self) -> bool:
        """Whether fetched records wait for the program, in ``_chunk``. Called on the loop."""
        found, self._found = self._found, {}
        for records in found.values():
            self._chunk += records
        return bool(self._chunk)

    def _next_held(self) -> ConsumerRecord[K, V] | None:
        """The next record that waits for the program; skips records of partitions that were revoked or sought in the
        meantime."""
        chunk, hand_out = self._chunk, self._consumer._held.hand_out
        while chunk:
            record = chunk.popleft()
            if hand_out(TopicPartition(record.topic, record.partition), record.offset):
                return record
        return None

    def _take_held(self, most: int | None) -> dict[TopicPartition, list[ConsumerRecord[K, V]]]:
        found: dict[TopicPartition, list[ConsumerRecord[K, V]]] = {}
        count = 0
        while (most is None or count < most) and (record := self._next_held()) is not None:
            found.setdefault(TopicPartition(record.topic, record.partition), []).append(record)
            count += 1
        return found

    def getmany_columns(self, *partitions: TopicPartition, timeout_ms: int = 0) -> dict[TopicPartition, Columns]:
        """All records available now, by partition, as columns; waits up to ``timeout_ms`` for the first. Deserializers
        are not applied."""
        return self._whole_batches(
            lambda: self._consumer.getmany_columns(*partitions, timeout_ms=timeout_ms),
            lambda columns: columns.offsets[0] if columns.offsets else None,
        )

    def getmany_arrow(
        self, *partitions: TopicPartition, timeout_ms: int = 0, headers: bool = False
    ) -> dict[TopicPartition, pa.Table]:
        """All records available now, by partition, as Arrow tables; waits up to ``timeout_ms`` for the first."""
        return self._whole_batches(
            lambda: self._consumer.getmany_arrow(*partitions, timeout_ms=timeout_ms, headers=headers),
            lambda table: table["offset"][0].as_py() if table.num_rows else None,
        )

    def _whole_batches(
        self,
        read: Callable[[], Coroutine[Any, Any, dict[TopicPartition, T]]],
        first_offset: Callable[[T], int | None],
    ) -> dict[TopicPartition, T]:
        """Read whole batches. Records that were fetched earlier but not handed out come first, because they are fetched
        again."""

        async def on_loop() -> dict[TopicPartition, T]:
            self._give_back_all()
            found = await read()
            firsts = {name: first_offset(whole) for name, whole in found.items()}
            self._consumer._held.hold_from({name: first for name, first in firsts.items() if first is not None})
            self._whole = True
            return found

        found = self._run(on_loop)
        self._consumer._held.clear()
        self._whole = False
        return found

    def __iter__(self) -> Iterator[ConsumerRecord[K, V]]:
        return self

    def __next__(self) -> ConsumerRecord[K, V]:
        try:
            record = self.getone()
        except ConsumerStoppedError:
            raise StopIteration from None
        if record is None:
            raise StopIteration
        return record

    def _give_back(self, partitions: Collection[TopicPartition]) -> None:
        """Seek these partitions back to their first record that was fetched but not handed out, so that it is fetched
        again."""
        self._left()
        self._chunk = deque(
            item for item in self._chunk if TopicPartition(item.topic, item.partition) not in partitions
        )
        for name in partitions:
            offset = self._consumer._held.first(name)
            if offset is not None:
                self._consumer.seek(name, offset)

    def _give_back_whole(self) -> None:
        if self._whole:
            self._whole = False
            self._give_back(self._consumer._held.names())

    def _give_back_all(self) -> None:
        self._give_back_whole()
        self._left()
        self._give_back({TopicPartition(item.topic, item.partition) for item in self._chunk})

    def pause(self, *partitions: TopicPartition) -> None:
        """Fetch and hand out nothing from these partitions until ``resume``."""

        def on_loop() -> None:
            names = arguments.partitions(partitions)
            self._give_back(names)
            self._consumer.pause(*names)

        self._do(on_loop)

    def resume(self, *partitions: TopicPartition) -> None:
        """Continue reading these partitions."""
        self._do(lambda: self._consumer.resume(*partitions))

    def paused(self) -> frozenset[TopicPartition]:
        """The partitions that are paused until ``resume``."""
        return self._consumer.paused()

    # --- what to read

    def subscribe(
        self,
        topics: Iterable[str] = (),
        pattern: TopicPattern | None = None,
        listener: ConsumerRebalanceListener | None = None,
    ) -> None:
        """Read these topics, or those whose names match a pattern. The listener runs in a thread of its own."""
        wrapped = _ThreadedListener(listener) if isinstance(listener, ConsumerRebalanceListener) else listener
        names = arguments.walked(topics)
        self._do(lambda: self._consumer.subscribe(names, pattern, wrapped))

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions."""
        names = arguments.walked(partitions)
        self._do(lambda: self._consumer.assign(names))

    def unsubscribe(self) -> None:
        """Read nothing, and leave the group."""
        self._do(self._consumer.unsubscribe)

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions this consumer reads now."""
        return self._consumer.assignment()

    def subscription(self) -> frozenset[str]:
        """The topics subscribed to."""
        return self._consumer.subscription()

    # --- positions and commits

    def position(self, partition: TopicPartition) -> int:
        """Offset of the next record that will be handed out."""
        return self._run(lambda: self._consumer.position(partition))

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Continue reading from ``offset``."""
        self._do(lambda: self._consumer.seek(partition, offset))

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Continue reading from the first record."""
        self._run(lambda: self._consumer.seek_to_beginning(*partitions))

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Continue reading after the last record."""
        self._run(lambda: self._consumer.seek_to_end(*partitions))

    def seek_to_committed(self, *partitions: TopicPartition) -> dict[TopicPartition, int | None]:
        """Return to the committed offsets; a partition without one (None) returns to where this consumer began."""
        return self._run(lambda: self._consumer.seek_to_committed(*partitions))

    def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offset of each partition."""
        return self._run(lambda: self._consumer.beginning_offsets(arguments.walked(partitions)))

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset after the last record of each partition."""
        return self._run(lambda: self._consumer.end_offsets(arguments.walked(partitions)))

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record of each partition at or after the given time in ms."""
        return self._run(lambda: self._consumer.offsets_for_times(timestamps))

    def highwater(self, partition: TopicPartition) -> int | None:
        """The high watermark reported by the last fetch."""
        return self._consumer.highwater(partition)

    def last_stable_offset(self, partition: TopicPartition) -> int | None:
        """The last stable offset reported by the last fetch."""
        return self._consumer.last_stable_offset(partition)

    def commit(self, offsets: Offsets | None = None) -> None:
        """Commit everything handed out so far, or these positions."""
        self._run(lambda: self._consumer.commit(offsets))

    def committed(self, partition: TopicPartition) -> int | None:
        """The group's committed offset of a partition."""
        return self._run(lambda: self._consumer.committed(partition))

    def group_metadata(self) -> ConsumerGroupMetadata:
        """The consumer's identity in its group, for ``send_offsets_to_transaction``."""
        return self._consumer.group_metadata()

    def topics(self) -> set[str]:
        """All topics that this consumer may see."""
        return self._run(self._consumer.topics)

    def metrics(self) -> Metrics:
        """This consumer's metrics; see the asyncio consumer. Does not start it."""

        async def on_loop() -> Metrics:
            return self._consumer.metrics()

        if self._background is None or self._closed:
            return self._consumer.metrics()
        return self._background.run(on_loop())

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """Numbers of the topic's partitions; None while it is not known."""
        return self._consumer.partitions_for_topic(topic)


__all__ = ["Consumer"]
