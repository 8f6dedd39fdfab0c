"""The :class:`Transaction` of a block, and the methods of clients that this package calls, as protocols.

The asyncio clients have these methods; :class:`Blocking` adapts blocking clients to them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Generic, Protocol, TypeVar

from oncelog.client.core.consumer.subscription import ConsumerRebalanceListener
from oncelog.client.core.structs import ConsumerRecord, OffsetAndMetadata
from oncelog.client.errors import IllegalStateError
from oncelog.types import TopicPartition

K = TypeVar("K")
V = TypeVar("V")

Headers = Sequence[tuple[str, bytes | None]]
Send = Callable[[str, bytes | None, bytes | None, int | None, int | None, Headers], Awaitable[None]]


class Transaction(Generic[K, V]):
    """One transaction over rows and records.

    :ivar records: the records that the inbox has received, those of a partition in offset order; empty without an
        inbox.
    """

    def __init__(self, send: Send, records: Sequence[ConsumerRecord[K, V]] = ()) -> None:
        self.records = records
        self._send = send

    async def send(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Headers = (),
    ) -> None:
        """Send a record in the transaction; ``read_committed`` consumers see the record only after the rows are
        committed."""
        await self._send(topic, value, key, partition, timestamp_ms, headers)


class TransactionWriter(Protocol):
    """Commits rows and records together: :class:`RowsAndRecords` or :class:`Outbox`."""

    @property
    def database(self) -> Any: ...

    async def start(self) -> None: ...

    def transaction(self) -> AbstractAsyncContextManager[Transaction[Any, Any]]: ...


class TransactionalProducer(Protocol):
    @property
    def config(self) -> Any: ...

    async def start(self) -> Any: ...

    async def begin_transaction(self) -> None: ...

    async def commit_transaction(self) -> None: ...

    async def abort_transaction(self) -> None: ...

    async def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Any = None,
    ) -> Any: ...

    async def partitions_for(self, topic: str) -> set[int]: ...

    async def send_offsets_to_transaction(self, offsets: Any, group_id: str) -> None: ...


class PreparingProducer(TransactionalProducer, Protocol):
    @property
    def prepared(self) -> str | None: ...

    async def prepare(self) -> str: ...

    async def complete(self, token: str) -> None: ...


class OffsetsAdmin(Protocol):
    async def start(self) -> Any: ...

    async def list_consumer_group_offsets(
        self, group_id: str, partitions: Any = None, *, require_stable: bool = False
    ) -> dict[TopicPartition, OffsetAndMetadata]: ...


class GroupConsumer(Protocol[K, V]):
    @property
    def config(self) -> Any: ...

    async def start(self) -> Any: ...

    def subscribe(self, topics: Iterable[str], *, listener: ConsumerRebalanceListener | None = None) -> None: ...

    def assignment(self) -> Collection[TopicPartition]: ...

    def seek(self, partition: TopicPartition, offset: int) -> None: ...

    async def getmany(
        self, *partitions: TopicPartition, timeout_ms: int = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord[K, V]]]: ...

    async def beginning_offsets(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]: ...

    async def end_offsets(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]: ...

    async def commit(self, offsets: Any = None) -> None: ...


async def started(client: TransactionalProducer | OffsetsAdmin | GroupConsumer[Any, Any]) -> None:
    """Start a client unless the program has started it; the error that an asyncio client raises at a second start is
    ignored."""
    with suppress(IllegalStateError):
        await client.start()


class Blocking:
    """Adapts a blocking client to the protocols of this module; its coroutines never wait for an event loop."""

    _PLAIN = ("assignment", "seek", "subscribe")

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if not callable(found) or name in self._PLAIN:
            return found

        async def call(*args: Any, **kwargs: Any) -> Any:
            return found(*args, **kwargs)

        return call
