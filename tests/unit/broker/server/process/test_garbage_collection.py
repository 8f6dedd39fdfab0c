"""The garbage collector skips objects that live as long as the partitions."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest

from oncelog.broker.server.process.garbage_collection import GIVE_WAY_S, STEP, GarbageCollection


@pytest.fixture
def heap() -> Iterator[GarbageCollection]:
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    gc.collect(1)  # not what all earlier tests have left
    yield GarbageCollection()
    gc.unfreeze()
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval)


def test_new_partitions_are_frozen_for_the_garbage_collector(heap: GarbageCollection) -> None:
    gc.unfreeze()  # what an earlier test has set aside may go meanwhile
    before = gc.get_freeze_count()
    kept = [[number] for number in range(1000)]
    heap.count(STEP - 1)
    assert gc.get_freeze_count() <= before
    heap.count(STEP)
    assert gc.get_freeze_count() >= before + len(kept)


def test_the_collector_scans_everything_after_half_of_the_partitions_were_deleted(heap: GarbageCollection) -> None:
    heap.count(STEP)
    heap.count(STEP // 2 + 1)
    assert gc.get_freeze_count() > 0
    heap.count(STEP // 2)
    assert gc.get_freeze_count() == 0


def test_a_collection_of_the_young_generation_scans_only_a_few_thousand_objects(heap: GarbageCollection) -> None:
    """However many objects a long request keeps: each takes a quarter of a microsecond, in somebody's turn."""
    young: list[int] = []

    def collects(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] < 2:
            young.append(sum(len(gc.get_objects(generation=age)) for age in range(info["generation"] + 1)))

    gc.callbacks.append(collects)
    try:
        kept = [[number] for number in range(30_000)]
    finally:
        gc.callbacks.remove(collects)
    assert len(kept) == 30_000
    assert len(young) >= 20
    assert max(young) < 2_500
    assert sys.getswitchinterval() == pytest.approx(GIVE_WAY_S)
