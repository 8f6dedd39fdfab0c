"""Whatever was written, compaction changes no row of the topic read as a table, and no producer's next sequence."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.errors import Error
from oncelog.testing.simulation.disk import FaultyDisk
from tests.unit.broker.log.batches import NOW_MS, commit_all, flush, open_log
from tests.unit.broker.log.test_compaction import CONFIG, Writer, compacted, table

KEYS = st.sampled_from("abcd")
VALUES = st.one_of(st.none(), st.sampled_from("xyz"))
STEPS = st.one_of(
    st.tuples(st.just("put"), st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=3), st.sampled_from([-1, 1, 2])),
    st.tuples(st.just("txn"), st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=3), st.sampled_from([3, 4, 5])),
    st.tuples(st.just("end"), st.booleans(), st.sampled_from([3, 4, 5])),
    st.tuples(st.just("roll"), st.none(), st.none()),
    st.tuples(st.just("compact"), st.integers(0, 3000), st.sampled_from([200, 1 << 20])),
    st.tuples(st.just("restart"), st.booleans(), st.none()),
)


@settings(max_examples=120, deadline=None)
@given(st.lists(STEPS, max_size=60))
def test_compaction_keeps_the_latest_value_of_each_key(steps: list[tuple[str, object, object]]) -> None:
    disk = FaultyDisk()
    writer = Writer(open_log(disk, config=CONFIG))
    dirty_from = 0
    for kind, what, who in steps:
        if kind in ("put", "txn"):
            assert isinstance(what, list)
            assert isinstance(who, int)
            writer.put(*what, pid=who, txn=kind == "txn")
        elif kind == "end":
            assert isinstance(who, int)
            writer.end(who, commit=bool(what))
        elif kind == "roll":
            writer.roll()
        elif kind == "restart":
            writer.log.close(clean=bool(what))
            writer.log = open_log(disk, clean=bool(what), config=CONFIG)
            commit_all(writer.log)
        else:
            assert isinstance(what, int)
            assert isinstance(who, int)
            commit_all(writer.log)
            before, end = table(writer.log), writer.log.log_end_offset
            if writer.log.closed_segments and writer.log.active_base_offset > dirty_from:
                job_end = _compact(writer, dirty_from, NOW_MS + what, who)
                dirty_from = max(dirty_from, job_end)
            assert table(writer.log) == before
            assert writer.log.log_end_offset == end
            read = writer.log.read(0, 1 << 20, end, at_least_one_batch=True)
            assert not isinstance(read, Error)


@pytest.mark.parametrize("seed", range(100))
def test_a_power_loss_after_compaction_keeps_the_latest_value_of_each_key(seed: int) -> None:
    """The power may fail after any number of the renames that put compacted segments in the place of the old ones."""
    rng = random.Random(seed)
    disk = FaultyDisk()
    log = open_log(disk, config=CONFIG)
    dirty_from = 0
    for _ in range(3):
        writer = Writer(log)
        for _ in range(rng.randint(4, 12)):
            writer.put(*[(rng.choice("abcd"), rng.choice([None, "x", "y"])) for _ in range(2)])
            if rng.random() < 0.5:
                writer.roll()
        writer.roll()
        flush(log)
        commit_all(log)
        before, end = table(log), log.log_end_offset
        dirty_from = _compact(writer, dirty_from, NOW_MS, 1 << 20)
        disk = disk.crash(rng)
        log = open_log(disk, recovery_point=end, config=CONFIG)
        commit_all(log)
        assert (table(log), log.log_end_offset) == (before, end)


def _compact(writer: Writer, dirty_from: int, now_ms: int, max_key_bytes: int) -> int:
    from oncelog.broker.log import compaction

    if compaction.plan(writer.log, dirty_from, now_ms, force=True) is None:
        return dirty_from
    return compacted(writer.log, dirty_from, now_ms, max_key_bytes=max_key_bytes)
