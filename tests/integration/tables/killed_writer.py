"""A driver that dies by SIGKILL: at a step of batch 1, or some time after that batch has begun to commit.

``python -m tests.integration.tables.killed_writer FORMAT FOLDER URL STEP MICROSECONDS``; an empty STEP kills by time.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

from oncelog.spark.sink.engine import BatchStep
from oncelog.spark.tables.options import TableFormat
from tests.integration.tables.worlds import Query, world_of

ROWS = [(number, f"text {number}") for number in range(1, 2001)]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    form, folder, url, step, delay_us = sys.argv[1:]
    world = world_of(TableFormat(form), Path(folder), lambda: url)
    query = Query(Path(folder) / "checkpoint", world.options)

    def observe(reached: BatchStep, batch_id: int | None) -> None:
        if reached.value == step:
            die()
        if not step and reached is BatchStep.MARKER_ADDED:
            threading.Thread(target=lambda: (time.sleep(int(delay_us) / 1e6), die()), daemon=True).start()

    query.write(1, ROWS, observe=observe)
    if not step:
        die()  # it was faster


if __name__ == "__main__":
    main()
