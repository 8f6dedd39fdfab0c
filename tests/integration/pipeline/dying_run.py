"""``oncelog pipeline run`` that dies by SIGKILL, with all that is in its process group, at a step of a batch.

``python -m tests.integration.pipeline.dying_run NAME STEP FILE OPTIONS...``: the steps of all sinks of the pipeline
NAME are counted from 1; those passed are written to standard output.
"""

from __future__ import annotations

import functools
import os
import signal
import sys

from oncelog.cli.main import main
from oncelog.spark.pipeline import running
from oncelog.spark.sink.engine import BatchStep


def run() -> None:
    name, last, *arguments = sys.argv[1:]
    passed: list[BatchStep] = []

    def observe(step: BatchStep, batch_id: int | None) -> None:
        passed.append(step)
        os.write(1, f"{step.value} of batch {batch_id}\n".encode())
        if len(passed) == int(last):
            os.killpg(os.getpgrp(), signal.SIGKILL)

    running.RunSettings = functools.partial(running.RunSettings, observers={name: observe})  # type: ignore[misc,assignment]
    main(["pipeline", "run", *arguments])


if __name__ == "__main__":
    run()
