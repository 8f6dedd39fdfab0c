"""The garbage collector leaves alone what lives as long as the partitions."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from oncelog.server.heap import STEP, LongLived


@pytest.fixture
def heap() -> Iterator[LongLived]:
    yield LongLived()
    gc.unfreeze()


def test_new_partitions_are_set_aside(heap: LongLived) -> None:
    gc.unfreeze()  # what an earlier test has set aside may go meanwhile
    before = gc.get_freeze_count()
    kept = [[number] for number in range(1000)]
    heap.count(STEP - 1)
    assert gc.get_freeze_count() <= before
    heap.count(STEP)
    assert gc.get_freeze_count() >= before + len(kept)


def test_deleted_partitions_can_be_collected(heap: LongLived) -> None:
    heap.count(STEP)
    heap.count(STEP - 1)
    assert gc.get_freeze_count() == 0
