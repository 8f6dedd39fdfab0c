"""Senders that wait for room in ``buffer.memory``: freed room never stays unused while somebody waits."""

from __future__ import annotations

import asyncio
import time

import pytest

from oncelog.client.aio import Producer
from oncelog.client.aio.producer.record_appender import RecordAppender
from oncelog.client.core.batches.accumulator import ProducerBatch
from oncelog.client.errors import ProducerClosed
from oncelog.types import TopicPartition
from tests.integration.client.reading import on_loop


class Memory:
    """Room for some batches."""

    def __init__(self) -> None:
        self.room = 0
        self.looks = 0

    def attempt(self) -> ProducerBatch | None:
        self.looks += 1
        if not self.room:
            return None
        self.room -= 1
        return ProducerBatch(TopicPartition("t", 0), 1, 0)


async def _waiting(appender: RecordAppender, memory: Memory, count: int) -> list[asyncio.Task[ProducerBatch]]:
    tasks = [asyncio.create_task(appender.queue_batch(memory.attempt)) for _ in range(count)]
    while memory.looks < count:
        await asyncio.sleep(0)
    return tasks


def _appender() -> RecordAppender:
    appender = Producer(bootstrap_servers="localhost:1", max_block_ms=3000)._appender
    appender.start()
    return appender


@on_loop
async def test_a_waiter_that_is_cancelled_after_it_was_woken_passes_the_memory_to_the_next_waiter() -> None:
    memory, appender = Memory(), _appender()
    first, second = await _waiting(appender, memory, 2)
    memory.room = 1
    appender.space_freed()
    first.cancel()
    await second
    assert first.cancelled()


@on_loop
async def test_memory_that_suffices_for_several_waiters_wakes_several() -> None:
    memory, appender = Memory(), _appender()
    tasks = await _waiting(appender, memory, 3)
    memory.room = 3
    appender.space_freed()
    await asyncio.gather(*tasks)


@on_loop
async def test_no_record_is_queued_after_the_producer_ends() -> None:
    """Nobody would send the record or resolve its future: ``send_many`` beside ``stop()`` waited forever."""
    memory, appender = Memory(), _appender()
    (woken,) = await _waiting(appender, memory, 1)
    memory.room = 2
    appender.space_freed()
    appender.close()
    for attempt in (woken, appender.queue_batch(memory.attempt)):
        with pytest.raises(ProducerClosed):
            await attempt
    assert memory.room == 2
    with pytest.raises(ProducerClosed):  # not after max.block.ms
        await appender._wait_for_space(time.monotonic() + 3600)
