"""A blocking ``send`` that finds its queue full raises only for records that are not sent."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from oncelog.client.blocking import Producer
from oncelog.client.blocking.producer import HANDED_OVER, LARGE_HANDED_OVER_BYTES
from oncelog.client.core.client_errors import KafkaTimeoutError, ProducerClosed


class Meanwhile(threading.Event):
    """What happens while somebody waits."""

    def __init__(self, happens: Callable[[], object]) -> None:
        super().__init__()
        self._happens = happens

    def wait(self, timeout: float | None = None) -> bool:
        self._happens()
        return self.is_set()


class Loop:
    """The clients' loop, which does nothing."""

    usable = False
    call_soon: Callable[[Callable[[], object]], object]

    def wait(self, event: threading.Event, seconds: float | None) -> bool:
        return event.wait(seconds)


@pytest.fixture
def full() -> Iterator[Any]:
    """A producer whose loop has not drained the queue yet, which is full."""
    producer: Any = Producer(bootstrap_servers="127.0.0.1:1", max_block_ms=1)
    producer._background = Loop()  # never called: somebody has woken the loop already
    producer._pumping = True
    for number in range(HANDED_OVER):
        producer.send("t", b"%d" % number)
    yield producer
    producer._closed = True


def _values(producer: Any) -> list[bytes]:
    return [item[2] for item in producer._queue]


def test_a_record_refused_for_lack_of_memory_is_not_sent(full: Any) -> None:
    before = _values(full)
    with pytest.raises(KafkaTimeoutError, match=r"no memory for a record within max\.block\.ms=1"):
        full.send("t", b"refused")
    assert _values(full) == before


def test_a_record_that_waits_for_memory_is_queued_after_earlier_records(full: Any) -> None:
    full._space = Meanwhile(full._queue.popleft)  # and in time, though less than half of the queue is free
    assert not full.send("t", b"last").done()
    assert _values(full) == [*(b"%d" % number for number in range(1, HANDED_OVER)), b"last"]


def test_memory_taken_by_other_threads_causes_no_timeout(full: Any) -> None:
    full._space = Meanwhile(lambda: full._space.set())
    full.send("t", b"last")
    assert _values(full)[-1] == b"last"


def test_a_waiter_that_finds_memory_wakes_the_next_one(full: Any) -> None:
    full._queue.popleft()
    full._wait_for_space()
    assert full._space.is_set()


def test_a_stopped_producer_refuses_a_record_that_waits_for_memory(full: Any) -> None:
    def stop() -> None:
        full._queue.clear()
        full._closed = True

    full._space = Meanwhile(stop)
    with pytest.raises(ProducerClosed):
        full.send("t", b"late")
    assert not full._queue


def test_an_idle_event_loop_is_woken_for_a_waiting_record(full: Any) -> None:
    woken: list[int] = []

    def empty() -> None:
        full._queue.clear()
        full._pumping = False

    full._space, full._background.call_soon = Meanwhile(empty), lambda _: woken.append(len(full._queue))
    full.send("t", b"next")
    assert woken == [1]
    assert full._pumping


class TakesAll:
    """Takes each record in at once."""

    filled = 0

    def put(self, *record: Any) -> bool:
        return True


def _idle_producer() -> Any:
    producer: Any = Producer(bootstrap_servers="127.0.0.1:1", max_block_ms=1)
    producer._background = Loop()
    producer._pumping = True
    return producer


@pytest.mark.parametrize("where", ["value", "key", "headers"])
def test_large_records_wait_for_memory_by_their_size_and_not_by_their_number(where: str) -> None:
    """8192 records of a megabyte were 8 GB beside a ``buffer.memory`` of 32 MB."""
    producer = _idle_producer()
    large = b"x" * 1_000_000
    record: dict[str, Any] = {where: [("h", large)] if where == "headers" else large}
    for _ in range(LARGE_HANDED_OVER_BYTES // 1_000_000 + 1):
        producer.send("t", **record)
    for refused in (record, {"value": b"small"}):  # a small one does not overtake those that wait
        with pytest.raises(KafkaTimeoutError, match="no memory for a record"):
            producer.send("t", **refused)
    producer._producer._appender = TakesAll()
    producer._space.clear()
    asyncio.run(producer._pump())
    assert producer._space.is_set()
    producer._pumping = True
    producer.send("t", b"small")
    producer.send("t", **record)
    producer._closed = True


class NeverDone:
    """Takes records in while another thread always adds a new one."""

    filled = 1

    def __init__(self, queue: Any) -> None:
        self._queue = queue
        self.taken: list[bytes] = []

    def put(self, *record: Any) -> bool:
        self.taken.append(record[2])
        self._queue.append((record[0], "t", b"later", None, None, 0, ()))
        return True

    def time_to_yield(self) -> bool:
        return True


def test_flush_does_not_wait_for_records_that_other_threads_send_meanwhile() -> None:
    async def flush() -> None:
        producer = _idle_producer()
        producer._idle = asyncio.Event()
        producer._idle.set()
        for number in range(3):
            producer.send("t", b"%d" % number)
        appender = producer._producer._appender = NeverDone(producer._queue)
        await asyncio.wait_for(producer._handed_over(), 20)
        assert appender.taken[:3] == [b"0", b"1", b"2"]
        producer._task.cancel()
        producer._closed = True

    asyncio.run(flush())
