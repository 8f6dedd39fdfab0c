"""A wrapper that records the reads, seeks, rebalances and commits of a consumer: oncelog's, confluent-kafka's or
aiokafka's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

from oncelog.client.core.consumer.subscription import ConsumerRebalanceListener
from oncelog.testing.history.events import GroupOffset, History, Opened, Read, Rebalanced, Started
from oncelog.testing.history.wrapping import Identity, Recorded, positions_in, then
from oncelog.types import TopicPartition


class RecordedConsumer(Recorded):
    """A consumer whose records, seeks, rebalances and committed positions are recorded."""

    def __init__(
        self, client: Any, history: History, name: str, identity: Identity, group: str, isolation: str | None
    ) -> None:
        super().__init__(client, history, name, identity, group)
        config = getattr(client, "config", None)
        self._group = group or getattr(config, "group_id", None) or getattr(client, "_group_id", None) or name
        self._assigned: frozenset[tuple[str, int]] = frozenset()
        of_aiokafka = getattr(client, "_isolation_level", "read_committed")
        history.add(Opened(name, isolation or str(getattr(config, "isolation_level", of_aiokafka))))

    def _read(self, topic: str, partition: int, offset: int, key: Any, value: Any) -> None:
        self._history.add(Read(self._name, TopicPartition(topic, partition), offset, self._identity(key, value)))

    def _note_one(self, record: Any) -> Any:
        if record is not None:
            self._note_assignment()
            self._read(record.topic, record.partition, record.offset, record.key, record.value)
        return record

    def _note_assignment(self) -> None:
        """Record a rebalance if the consumer's partitions have changed since they were last compared."""
        assigned = frozenset((name.topic, name.partition) for name in self._client.assignment())
        if assigned != self._assigned:
            self._assigned = assigned
            self._rebalanced(assigned)

    def _rebalanced(self, assigned: Iterable[tuple[str, int]] = ()) -> None:
        """Record a rebalance, after which the consumer continues at committed positions, or where the program seeks
        to."""
        self._history.add(Rebalanced(self._name, tuple(TopicPartition(*name) for name in sorted(assigned))))

    def getmany(self, *partitions: Any, **more: Any) -> Any:
        """Like the client's method."""

        def note(found: Mapping[Any, Iterable[Any]]) -> Any:
            for records in found.values():
                for record in records:
                    self._note_one(record)
            return found

        return then(self._client.getmany(*partitions, **more), note)

    def getone(self, *partitions: Any, **more: Any) -> Any:
        """Like the client's method."""
        return then(self._client.getone(*partitions, **more), self._note_one)

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
            self._note_assignment()
            place = message.topic(), message.partition(), message.offset()
            self._read(*place, message.key(), message.value())
        return message

    # --- where it reads

    def subscribe(self, *given: Any, **more: Any) -> Any:
        """Like the client's method; every rebalance is recorded, even if the member keeps the same partitions."""
        self._rebalanced()
        if hasattr(self._client, "incremental_assign"):  # confluent-kafka's
            own = more.pop("on_assign", None)

            def assigned(consumer: Any, partitions: Any) -> None:
                self._rebalanced((one.topic, one.partition) for one in partitions)
                if own is not None:
                    own(consumer, partitions)

            return self._client.subscribe(*given, on_assign=assigned, **more)
        *before, listener = given if len(given) == 3 else (*given, more.pop("listener", None))
        if len(given) == 3:
            return self._client.subscribe(*before, self._listener(listener), **more)
        return self._client.subscribe(*before, listener=self._listener(listener), **more)

    def _listener(self, own: Any) -> Any:
        kind: Any = ConsumerRebalanceListener
        if type(self._client).__module__.partition(".")[0] == "aiokafka":
            kind = import_module("aiokafka.abc").ConsumerRebalanceListener
        if own is not None and not isinstance(own, kind):
            return own  # the client refused the call
        return _listening(kind, own, self._rebalanced)

    def assign(self, *given: Any) -> Any:
        """Like the client's method."""
        self._rebalanced()
        return self._client.assign(*given)

    def unsubscribe(self) -> Any:
        """Like the client's method."""
        self._rebalanced()
        return self._client.unsubscribe()

    def seek(self, partition: Any, *offset: Any) -> Any:
        """Like the client's method, with a partition and an offset, or with confluent-kafka's partition that contains
        an offset.
        """
        to = offset[0] if offset and not hasattr(partition, "error") else partition.offset
        where = TopicPartition(partition.topic, partition.partition)
        return then(self._client.seek(partition, *offset), lambda result: self._started(where, to, result))

    def _started(self, where: TopicPartition, offset: Any, result: Any) -> Any:
        if isinstance(offset, int) and offset >= 0:
            self._history.add(Started(self._name, where, offset))
        else:
            self._rebalanced()  # no offset yet: the client still has to look it up
        return result

    def seek_to_beginning(self, *partitions: Any) -> Any:
        """Like the client's method."""
        self._rebalanced()
        return self._client.seek_to_beginning(*partitions)

    def seek_to_end(self, *partitions: Any) -> Any:
        """Like the client's method."""
        self._rebalanced()
        return self._client.seek_to_end(*partitions)

    def seek_to_committed(self, *partitions: Any) -> Any:
        """Like the client's method."""
        self._rebalanced()
        return self._client.seek_to_committed(*partitions)

    # --- positions

    def commit(self, *given: Any, **more: Any) -> Any:
        """Like the client's method; records the given positions, or those that the client has reached.

        confluent-kafka reports the latter only with ``asynchronous=False``.
        """
        asked = len(self._history)

        def committed(positions: list[GroupOffset], result: Any) -> Any:
            self._committed(positions, asked)
            return result

        offsets = given[0] if given else more.get("offsets")
        if hasattr(self._client, "incremental_assign"):
            result = self._client.commit(*given, **more)
            done = [one for one in result or () if one.error is None]
            return committed(positions_in(self._group, done), result)
        if offsets is not None:
            positions = positions_in(self._group, offsets)
            return then(self._client.commit(*given, **more), lambda result: committed(positions, result))
        if inspect.iscoroutinefunction(self._client.position):
            return self._commit_reached(committed)
        reached = {name: self._client.position(name) for name in self._client.assignment()}
        return committed(positions_in(self._group, reached), self._client.commit(*given, **more))

    async def _commit_reached(self, committed: Callable[[list[GroupOffset], Any], Any]) -> Any:
        reached = {name: await self._client.position(name) for name in self._client.assignment()}
        return committed(positions_in(self._group, reached), await self._client.commit())


def _listening(kind: Any, own: Any, note: Callable[[], None]) -> Any:
    """A rebalance listener that calls ``note`` at each assignment and passes everything on to the program's own
    listener."""

    class Listening(kind):  # type: ignore[misc]
        def on_partitions_revoked(self, revoked: Any) -> Any:
            return None if own is None else own.on_partitions_revoked(revoked)

        def on_partitions_assigned(self, assigned: Any) -> Any:
            note()
            return None if own is None else own.on_partitions_assigned(assigned)

        def on_partitions_lost(self, lost: Any) -> Any:
            return None if own is None else getattr(own, "on_partitions_lost", own.on_partitions_revoked)(lost)

    return Listening()
