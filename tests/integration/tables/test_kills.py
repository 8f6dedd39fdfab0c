"""Drivers that are killed, at each step and in the middle of a commit: the next run ends with one copy."""

from __future__ import annotations

import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from oncelog.spark.sink.engine import BatchStep
from oncelog.spark.tables.options import TableFormat
from tests.integration.tables.killed_writer import ROWS, write_and_die
from tests.integration.tables.worlds import Query, world_of

pytestmark = pytest.mark.crash

STEPS = [("marker-read", 0), ("produced", 0), ("marker-added", 0), ("committed", 0)]
IN_THE_COMMIT = [("", delay_us) for delay_us in (200, 1_000, 3_000, 10_000, 30_000)]


@pytest.fixture(scope="module")
def drivers() -> ForkServerContext:
    """Starts processes that have imported everything, which takes each driver three seconds else."""
    context = get_context("forkserver")
    context.set_forkserver_preload([write_and_die.__module__])
    return context


@pytest.mark.parametrize(
    ("step", "delay_us"),
    [
        *STEPS[2:],
        *IN_THE_COMMIT[1:4:2],
        *(pytest.param(*one, marks=pytest.mark.soak) for one in (*STEPS, *IN_THE_COMMIT)),
    ],
)
def test_a_killed_driver_writes_a_whole_batch_or_no_row_and_after_the_next_driver_each_row_exists_once(
    drivers: ForkServerContext,
    form: TableFormat,
    tmp_path: Path,
    new_database: Callable[[], str],
    step: str,
    delay_us: int,
) -> None:
    url = new_database()
    world = world_of(form, tmp_path, lambda: url)
    query = Query(tmp_path / "checkpoint", world.options)
    query.run(0, [(0, "a")])
    driver = drivers.Process(target=write_and_die, args=(form, tmp_path, url, step, delay_us))
    driver.start()
    driver.join(600)
    assert driver.exitcode == -signal.SIGKILL
    if step:
        assert len(world.read()) == (1 + len(ROWS) if step == BatchStep.COMMITTED.value else 1)
    assert world.read() in ([(0, "a")], [(0, "a"), *ROWS])
    again = Query(query.root, world.options)
    again.run(1, ROWS)
    again.run(2, [(9000, "after")])
    assert world.read() == [(0, "a"), *ROWS, (9000, "after")]
