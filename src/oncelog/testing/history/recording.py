"""Thin wrappers that record what a client does: ours (blocking and asyncio), confluent-kafka's and aiokafka's.

Called by programs' tests. A wrapped client is used as before: everything else goes through to the client. Recorded are
sends with their acknowledgements, transactions, reads, seeks, and committed positions.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from oncelog.testing.history.events import (
    AbortAsked,
    Aborted,
    Acknowledged,
    CommitAsked,
    Committed,
    History,
    Opened,
    Position,
    Read,
    Rebalanced,
    Sent,
    Started,
)
from oncelog.types import TopicPartition

Identity = Callable[[Any, Any], bytes]
"""A record's identity from its key and value, as the program passes them to the client or gets them."""


def _value(key: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else repr(value).encode()


def _offset(position: Any) -> int:
    """The offset in a number, or in an offset with metadata."""
    return position if isinstance(position, int) else int(position.offset)


def recorded(client: Any, history: History, name: str, *, identity: Identity = _value, group: str = "") -> Any:
    """The client, used as before, with what it does recorded.

    :param name: of the producer's run or of the reader in the history.
    :param identity: what distinguishes records; by default the value.
    :param group: a consumer's group, whose committed positions are recorded.
    """
    writes = hasattr(client, "send") or hasattr(client, "produce")
    made = RecordedProducer if writes else RecordedConsumer
    return made(client, history, name, identity, group)


class _Recorded:
    def __init__(self, client: Any, history: History, name: str, identity: Identity, group: str) -> None:
        self._client = client
        self._history = history
        self._name = name
        self._identity = identity
        self._group = group

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def __enter__(self) -> Any:
        self._client.__enter__()
        return self

    def __exit__(self, *ended: Any) -> Any:
        return self._client.__exit__(*ended)

    async def __aenter__(self) -> Any:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *ended: Any) -> Any:
        return await self._client.__aexit__(*ended)


def _then(result: Any, note: Callable[[Any], Any]) -> Any:
    """Pass a result, or the awaited result, to ``note``."""
    if not inspect.isawaitable(result):
        return note(result)

    async def awaited() -> Any:
        return note(await result)

    return awaited()


class RecordedProducer(_Recorded):
    """A producer whose records and transactions are recorded."""

    _transaction: int | None = None

    def send(self, topic: str, value: Any = None, key: Any = None, partition: int | None = None, **more: Any) -> Any:
        """As the client's own; the acknowledgement is recorded when it comes."""
        record = self._sent(topic, value, key, partition)

        def note(future: Any) -> Any:
            future.add_done_callback(lambda done: self._done(record, done))
            return future

        return _then(self._client.send(topic, value, key, partition, **more), note)

    def send_and_wait(
        self, topic: str, value: Any = None, key: Any = None, partition: int | None = None, **more: Any
    ) -> Any:
        """As the client's own."""
        record = self._sent(topic, value, key, partition)

        def note(stored: Any) -> Any:
            self._acknowledged(record, stored.topic, stored.partition, stored.offset)
            return stored

        return _then(self._client.send_and_wait(topic, value, key, partition, **more), note)

    def produce(self, topic: str, value: Any = None, key: Any = None, partition: int = -1, **more: Any) -> Any:
        """As confluent-kafka's own."""
        record = self._sent(topic, value, key, partition)
        own = more.pop("on_delivery", None) or more.pop("callback", None)

        def delivered(error: Any, message: Any) -> None:
            if error is None:
                self._acknowledged(record, message.topic(), message.partition(), message.offset())
            if own is not None:
                own(error, message)

        return self._client.produce(topic, value, key, partition, on_delivery=delivered, **more)

    def _sent(self, topic: str, value: Any, key: Any, partition: int | None) -> bytes:
        record = self._identity(key, value)
        where = TopicPartition(topic, -1 if partition is None else partition)
        self._history.add(Sent(record, where, self._name, self._transaction))
        return record

    def _done(self, record: bytes, done: Any) -> None:
        if (hasattr(done, "cancelled") and done.cancelled()) or done.exception() is not None:
            return
        stored = done.result()
        self._acknowledged(record, stored.topic, stored.partition, stored.offset)

    def _acknowledged(self, record: bytes, topic: str, partition: int, offset: int) -> None:
        self._history.add(Acknowledged(record, TopicPartition(topic, partition), offset))

    # --- transactions

    def begin_transaction(self) -> Any:
        """As the client's own."""

        def note(result: Any) -> Any:
            self._transaction = self._history.begin(self._name)
            return result

        return _then(self._client.begin_transaction(), note)

    def commit_transaction(self, *timeout: Any) -> Any:
        """As the client's own; until it has returned, the outcome is unknown."""
        number = self._transaction
        if number is not None:
            self._history.add(CommitAsked(number))

        def note(result: Any) -> Any:
            if number is not None:
                self._history.add(Committed(number))
                self._transaction = None
            return result

        return _then(self._client.commit_transaction(*timeout), note)

    def abort_transaction(self, *timeout: Any) -> Any:
        """As the client's own."""
        number = self._transaction
        if number is not None:
            self._history.add(AbortAsked(number))

        def note(result: Any) -> Any:
            if number is not None:
                self._history.add(Aborted(number))
                self._transaction = None
            return result

        return _then(self._client.abort_transaction(*timeout), note)

    def transaction(self) -> Any:
        """The client's own block, with this producer in it."""
        return type(self._client.transaction())(self)


class RecordedConsumer(_Recorded):
    """A consumer whose records, seeks and committed positions are recorded."""

    def __init__(self, client: Any, history: History, name: str, identity: Identity, group: str) -> None:
        super().__init__(client, history, name, identity, group)
        self._assigned: frozenset[tuple[str, int]] = frozenset()
        level = getattr(getattr(client, "config", None), "isolation_level", None)
        if level is None:
            level = getattr(client, "_isolation_level", "read_committed")  # aiokafka's
        history.add(Opened(name, str(level)))

    def _read(self, topic: str, partition: int, offset: int, key: Any, value: Any) -> None:
        self._history.add(Read(self._name, TopicPartition(topic, partition), offset, self._identity(key, value)))

    def _note_one(self, record: Any) -> Any:
        if record is not None:
            self._note_rebalance()
            self._read(record.topic, record.partition, record.offset, record.key, record.value)
        return record

    def _note_rebalance(self) -> None:
        """Record that the group has given the consumer other partitions since the last read."""
        assigned = frozenset((name.topic, name.partition) for name in self._client.assignment())
        if assigned != self._assigned:
            self._assigned = assigned
            self._history.add(Rebalanced(self._name, tuple(TopicPartition(*name) for name in sorted(assigned))))

    def getmany(self, *partitions: Any, **more: Any) -> Any:
        """As the client's own."""

        def note(found: Mapping[Any, Iterable[Any]]) -> Any:
            for records in found.values():
                for record in records:
                    self._note_one(record)
            return found

        return _then(self._client.getmany(*partitions, **more), note)

    def getone(self, *partitions: Any, **more: Any) -> Any:
        """As the client's own."""
        return _then(self._client.getone(*partitions, **more), self._note_one)

    def __iter__(self) -> Iterator[Any]:
        return map(self._note_one, self._client)

    async def __aiter__(self) -> Any:
        async for record in self._client:
            yield self._note_one(record)

    # --- confluent-kafka

    def poll(self, *timeout: Any) -> Any:
        """As confluent-kafka's own."""
        return self._note_message(self._client.poll(*timeout))

    def consume(self, *numbers: Any, **more: Any) -> Any:
        """As confluent-kafka's own."""
        return [self._note_message(message) for message in self._client.consume(*numbers, **more)]

    def _note_message(self, message: Any) -> Any:
        if message is not None and message.error() is None:
            self._note_rebalance()
            place = message.topic(), message.partition(), message.offset()
            self._read(*place, message.key(), message.value())
        return message

    # --- positions

    def seek(self, partition: Any, *offset: Any) -> Any:
        """As the client's own: a partition and an offset, or a partition with one."""
        to = offset[0] if offset and not hasattr(partition, "error") else partition.offset
        where = TopicPartition(partition.topic, partition.partition)
        return _then(self._client.seek(partition, *offset), lambda result: self._started(where, to, result))

    def _started(self, where: TopicPartition, offset: int, result: Any) -> Any:
        self._history.add(Started(self._name, where, offset))
        return result

    def commit(self, *given: Any, **more: Any) -> Any:
        """As the client's own; positions given by partition are recorded."""
        offsets = given[0] if given and isinstance(given[0], Mapping) else {}
        group = self._group or self._name
        positions = [
            Position(group, TopicPartition(name.topic, name.partition), _offset(one)) for name, one in offsets.items()
        ]

        def note(result: Any) -> Any:
            for position in positions:
                self._history.add(position)
            return result

        return _then(self._client.commit(*given, **more), note)
