"""A driver that dies by SIGKILL: at a step of batch 1, or some time after that batch has begun to commit."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

from oncelog.spark.sink.engine import BatchStep
from oncelog.spark.tables.options import TableFormat
from tests.integration.tables.worlds import Query, world_of

ROWS = [(number, f"text {number}") for number in range(1, 2001)]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def write_and_die(form: TableFormat, folder: Path, url: str, step: str, delay_us: int) -> None:
    """Run in a process of its own; an empty ``step`` kills by time."""
    world = world_of(form, folder, lambda: url)
    query = Query(folder / "checkpoint", world.options)

    def observe(reached: BatchStep, batch_id: int | None) -> None:
        if reached.value == step:
            die()
        if not step and reached is BatchStep.MARKER_ADDED:
            threading.Thread(target=lambda: (time.sleep(delay_us / 1e6), die()), daemon=True).start()

    query.write(1, ROWS, observe=observe)
    if not step:
        die()  # it was faster
