"""What the source answers when it has changed: a new leader that lags, retention that overtakes the mirror."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from oncelog.apps.mirror import reading
from oncelog.apps.mirror.cut import PartitionView
from oncelog.apps.mirror.mirror_errors import RangeGone
from oncelog.client.aio.admin.log_reader import FetchedRecords
from oncelog.errors import Error, KafkaError
from oncelog.types import TopicPartition

NAME = TopicPartition("t", 0)


class Cluster:
    """Repeats what may be repeated."""

    async def repeat(self, what: str, attempt: Callable[[], Awaitable[FetchedRecords]]) -> FetchedRecords:
        while True:
            try:
                return await attempt()
            except KafkaError as error:
                if not error.retriable:
                    raise


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Its leader has nothing, and lags twice."""
    answers = iter(
        [FetchedRecords(b"", [], 3, 2, 0), FetchedRecords(b"", [], 7, 4, 0), FetchedRecords(b"", [], 7, 7, 0)]
    )

    async def fetch(*_: Any) -> FetchedRecords:
        return next(answers)

    monkeypatch.setattr(reading, "fetch_stored", fetch)
    return SimpleNamespace(cluster=Cluster())


def test_a_scan_never_lowers_the_scanned_offset(admin: Any) -> None:
    view = PartitionView(NAME, 5)
    asyncio.run(reading.scan(admin, view, 7))
    assert view.scanned == 7


def test_a_decided_transaction_is_awaited_until_it_is_complete(admin: Any) -> None:
    async def read() -> list[Any]:
        return [batch async for batch in reading.committed_batches(admin, NAME, 5, 7)]

    assert asyncio.run(read()) == []


def test_the_error_says_that_retention_deleted_records_before_they_were_mirrored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fetch(*_: Any) -> FetchedRecords:
        raise KafkaError(Error.OFFSET_OUT_OF_RANGE)

    async def list_offsets(*_: Any) -> dict[TopicPartition, Any]:
        return {NAME: SimpleNamespace(offset=6)}

    async def read() -> list[Any]:
        admin: Any = SimpleNamespace(cluster=Cluster(), list_offsets=list_offsets)
        return [batch async for batch in reading.committed_batches(admin, NAME, 5, 7)]

    monkeypatch.setattr(reading, "fetch_stored", fetch)
    with pytest.raises(RangeGone, match="offsets 5 to 5 were not mirrored"):
        asyncio.run(read())
