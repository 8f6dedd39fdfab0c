"""Markers that come after a commit was answered are waited for, but not forever."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from oncelog.apps.verify import pipeline
from oncelog.apps.verify.findings import ExitStatus, Report
from oncelog.apps.verify.stable_ranges import StableRange, stable_ranges
from oncelog.client.aio.offset_lookups import EARLIEST
from oncelog.spark.sink.marker import OffsetLogEntry
from oncelog.types import TopicPartition

OUT, OTHER = TopicPartition("out", 0), TopicPartition("out", 1)


class Lagging:
    """An admin client of partitions that end at 7; their last stable offset rises with each look at it."""

    def __init__(self, *stable: int) -> None:
        self._stable = list(stable)
        self.looks = 0

    async def partitions(self, topic: str) -> list[TopicPartition]:
        return [TopicPartition(topic, 0)]

    async def list_offsets(
        self, wanted: Mapping[TopicPartition, int], *, read_committed: bool = False
    ) -> dict[TopicPartition, Any]:
        if EARLIEST in wanted.values():
            offset = 2
        elif read_committed:
            offset = self._stable[min(self.looks, len(self._stable) - 1)]
            self.looks += 1
        else:
            offset = 7
        return {name: SimpleNamespace(offset=offset) for name in wanted}


def ranges(admin: Any, wait_s: float) -> dict[TopicPartition, StableRange]:
    return asyncio.run(stable_ranges(admin, [OUT, OTHER], wait_s=wait_s, pause_s=0))


def test_transactions_that_are_open_at_the_first_look_are_awaited() -> None:
    admin = Lagging(4, 6, 8)
    assert ranges(admin, 3600) == dict.fromkeys((OUT, OTHER), StableRange(2, 8, 7))
    assert admin.looks == 3


def test_a_transaction_that_does_not_end_is_not_awaited_forever() -> None:
    found = ranges(Lagging(4), 0)[OUT]
    assert found == StableRange(2, 4, 7)
    assert not found.is_decided
    assert str(found) == "the last stable offset stays at 4, and the partition ended at 7"


def test_the_verdict_about_batches_behind_an_open_transaction_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: Any) -> Any:
        for batch in list[Any]():
            yield batch

    monkeypatch.setattr(pipeline, "committed_batches", nothing)
    admin: Any = Lagging(4)
    report = Report()

    async def run() -> None:
        markers = await pipeline.markers_of(admin, "group", report, wait_s=0)
        written = await pipeline.written_by(admin, ["out"], (), report, wait_s=0)
        pipeline.judge({0: OffsetLogEntry(0, "plan", 0, "")}, (0,), markers, written, report)

    asyncio.run(run())
    assert report.counts == {"undecided-end": 2}
    assert report.status() is ExitStatus.COULD_NOT_TELL
