"""A wrapper that records the records and transactions of a producer: oncelog's, confluent-kafka's or aiokafka's."""

from __future__ import annotations

from typing import Any

from oncelog.testing.history.events import (
    AbortAsked,
    Aborted,
    Acknowledged,
    CommitAsked,
    Committed,
    GroupOffset,
    Sent,
)
from oncelog.testing.history.wrapping import Recorded, positions_in, then
from oncelog.types import TopicPartition


class RecordedProducer(Recorded):
    """A producer whose records and transactions are recorded."""

    _transaction: int | None = None
    _positions: tuple[GroupOffset, ...] = ()
    """The group offsets that the open transaction will commit."""

    def send(self, topic: str, value: Any = None, key: Any = None, partition: int | None = None, **more: Any) -> Any:
        """Like the client's method; the acknowledgement is recorded when it comes."""
        record = self._sent(topic, value, key, partition)
        number = self._transaction

        def note(future: Any) -> Any:
            future.add_done_callback(lambda done: self._done(record, number, done))
            return future

        return then(self._client.send(topic, value, key, partition, **more), note)

    def send_and_wait(
        self, topic: str, value: Any = None, key: Any = None, partition: int | None = None, **more: Any
    ) -> Any:
        """Like the client's method."""
        record = self._sent(topic, value, key, partition)
        number = self._transaction

        def note(stored: Any) -> Any:
            self._acknowledged(record, number, stored.topic, stored.partition, stored.offset)
            return stored

        return then(self._client.send_and_wait(topic, value, key, partition, **more), note)

    def produce(self, topic: str, value: Any = None, key: Any = None, partition: int = -1, **more: Any) -> Any:
        """As confluent-kafka's own."""
        record = self._sent(topic, value, key, partition)
        number = self._transaction
        own = more.pop("on_delivery", None) or more.pop("callback", None)

        def delivered(error: Any, message: Any) -> None:
            if error is None:
                self._acknowledged(record, number, message.topic(), message.partition(), message.offset())
            if own is not None:
                own(error, message)

        return self._client.produce(topic, value, key, partition, on_delivery=delivered, **more)

    def _sent(self, topic: str, value: Any, key: Any, partition: int | None) -> bytes:
        record = self._identity(key, value)
        where = TopicPartition(topic, -1 if partition is None else partition)
        self._history.add(Sent(record, where, self._name, self._transaction))
        return record

    def _done(self, record: bytes, number: int | None, done: Any) -> None:
        if (hasattr(done, "cancelled") and done.cancelled()) or done.exception() is not None:
            return
        stored = done.result()
        self._acknowledged(record, number, stored.topic, stored.partition, stored.offset)

    def _acknowledged(self, record: bytes, number: int | None, topic: str, partition: int, offset: int) -> None:
        self._history.add(Acknowledged(record, TopicPartition(topic, partition), offset, number))

    # --- transactions

    def begin_transaction(self) -> Any:
        """Like the client's method."""

        def note(result: Any) -> Any:
            self._transaction, self._positions = self._history.begin(self._name), ()
            return result

        return then(self._client.begin_transaction(), note)

    def send_offsets_to_transaction(self, offsets: Any, group: Any, *timeout: Any) -> Any:
        """Like the client's method; recorded when the transaction has been committed."""
        own = group if isinstance(group, str) else getattr(group, "group_id", None)
        positions = tuple(positions_in(self._group or (own if isinstance(own, str) else self._name), offsets))

        def note(result: Any) -> Any:
            self._positions += positions
            return result

        return then(self._client.send_offsets_to_transaction(offsets, group, *timeout), note)

    def commit_transaction(self, *timeout: Any) -> Any:
        """Like the client's method. The request is recorded first; until the method returns, the transaction's outcome
        is unknown."""
        number = self._transaction
        asked = len(self._history)
        if number is not None:
            self._history.add(CommitAsked(number))

        def note(result: Any) -> Any:
            if number is not None:
                self._history.add(Committed(number))
                self._committed(self._positions, asked)
                self._transaction, self._positions = None, ()
            return result

        return then(self._client.commit_transaction(*timeout), note)

    def abort_transaction(self, *timeout: Any) -> Any:
        """Like the client's method."""
        number = self._transaction
        if number is not None:
            self._history.add(AbortAsked(number))

        def note(result: Any) -> Any:
            if number is not None:
                self._history.add(Aborted(number))
                self._transaction, self._positions = None, ()
            return result

        return then(self._client.abort_transaction(*timeout), note)

    def transaction(self) -> Any:
        """The client's own context manager for a transaction, made for this wrapper so that the transaction is
        recorded."""
        return type(self._client.transaction())(self)
