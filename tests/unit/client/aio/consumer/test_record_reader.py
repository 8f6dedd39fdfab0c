"""Waiting for records: what keeps them from arriving is reported each time, never only once."""

from __future__ import annotations

import asyncio

import pytest

from oncelog.client.aio.consumer import record_reader as room
from oncelog.client.aio.consumer.record_reader import RecordReader
from oncelog.client.aio.consumer.record_waiters import RecordWaiters
from oncelog.client.core.client_errors import IllegalStateError, TopicAuthorizationFailedError
from oncelog.client.core.consumer.completed_fetch import Chunk
from oncelog.client.core.consumer.fetcher import Fetcher
from oncelog.client.core.consumer.subscription import Reset, Subscription
from oncelog.types import TopicPartition
from tests.unit.client.core.wires import FakeWire

ZERO, ONE = TopicPartition("t", 0), TopicPartition("t", 1)


class NothingThere(Fetcher):
    """Has no records, whatever is asked for."""

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription

    def take_batches(self, only: object = (), now_ms: int = 0) -> dict[TopicPartition, list[Chunk]]:
        """All records of both partitions; their positions move."""
        for state in self._subscription.assigned.values():
            state.position = 100
        return {name: [Chunk(memoryview(b""), [], number)] for number, name in enumerate((ZERO, ONE), 7)}

    def take(self, most: int, only: object = (), now_ms: int = 0) -> dict[TopicPartition, list[object]]:  # type: ignore[override]
        self._subscription.raise_unreported(list(only) if isinstance(only, (list, tuple)) else [])
        return {}


class Reader:
    def __init__(self) -> None:
        self.subscription = Subscription(Reset.EARLIEST)
        self.waits = RecordWaiters()
        self.polls = 0
        self.reading = RecordReader(
            FakeWire(),
            self.subscription,
            NothingThere(self.subscription),
            self.waits,
            check=lambda: None,
            polled=lambda now_ms: None,
            poll_soon=self.poll,
            check_crcs=True,
        )

    def poll(self) -> None:
        self.polls += 1

    def read(self, *partitions: TopicPartition) -> object:
        return asyncio.run(self.reading.records(partitions, 1, 0))


def test_reading_without_partitions_is_refused() -> None:
    with pytest.raises(IllegalStateError, match="reads nothing"):
        Reader().read()


def test_missing_positions_are_looked_up_whenever_the_program_reads() -> None:
    reader = Reader()
    reader.subscription.assign([ZERO])
    assert reader.read() == {}
    assert reader.polls == 1
    reader.read()
    assert reader.polls == 2


@pytest.mark.parametrize("how", ["columns", "tables"])
def test_batches_that_cannot_be_made_into_one_table_are_read_again(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They were skipped: what two chunks unpack to may exceed what a table holds, or the available memory."""
    reader = Reader()
    reader.subscription.assign([ZERO, ONE])
    made: list[object] = []

    def make(chunks: object, *settings: bool) -> object:
        made.append(chunks)
        if len(made) == 2:
            raise MemoryError
        return made

    monkeypatch.setattr(room, "columns_of", make)
    monkeypatch.setattr(room, "table_of", make)
    with pytest.raises(MemoryError):
        asyncio.run(reader.reading.columns([], 0) if how == "columns" else reader.reading.tables([], 0, False))
    assert [reader.subscription.state(name).position for name in (ZERO, ONE)] == [7, 8]


def test_a_stuck_partition_is_reported_once_among_others_and_each_time_alone() -> None:
    reader = Reader()
    reader.subscription.assign([ZERO, ONE])
    stuck, fine = (reader.subscription.state(name) for name in (ZERO, ONE))
    fine.seek(0)
    error = TopicAuthorizationFailedError("not allowed")
    reader.subscription.stop(ZERO, stuck, error)
    assert reader.read(ONE) == {}
    with pytest.raises(TopicAuthorizationFailedError):
        reader.read()
    assert reader.read() == {}
    with pytest.raises(TopicAuthorizationFailedError):
        reader.read(ZERO)
    assert stuck.stuck is None, "it is tried again"
