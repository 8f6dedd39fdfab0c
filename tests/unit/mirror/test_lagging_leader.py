"""A new leader that does not know yet what the last one has told is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from oncelog.client.aio.log_reader import Stored
from oncelog.errors import KafkaError
from oncelog.mirror import reading
from oncelog.mirror.cut import PartitionView
from oncelog.types import TopicPartition

NAME = TopicPartition("t", 0)


class Repeats:
    async def repeat(self, what: str, attempt: Callable[[], Awaitable[Stored]]) -> Stored:
        while True:
            try:
                return await attempt()
            except KafkaError as error:
                if not error.retriable:
                    raise


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Its leader has nothing, and lags twice."""
    answers = iter([Stored(b"", [], 3, 2, 0), Stored(b"", [], 7, 4, 0), Stored(b"", [], 7, 7, 0)])

    async def fetch(*_: Any) -> Stored:
        return next(answers)

    monkeypatch.setattr(reading, "fetch_stored", fetch)
    return SimpleNamespace(cluster=Repeats())


def test_scan_goes_never_back(admin: Any) -> None:
    view = PartitionView(NAME, 5)
    asyncio.run(reading.scan(admin, view, 7))
    assert view.scanned == 7


def test_what_was_decided_is_waited_for_until_it_is_again(admin: Any) -> None:
    async def read() -> list[Any]:
        return [batch async for batch in reading.committed_batches(admin, NAME, 5, 7)]

    assert asyncio.run(read()) == []
