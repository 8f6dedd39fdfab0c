"""oncelog's sink with an observer, which records each step of each commit and can wait at a step until the process is
killed.

As a data source (the driver writes) registered by :mod:`oncelog.apps.demo.driver` and used by the worker that runs
``commit()``; as an observer (the executors write) used by driver and writers. Read by :mod:`oncelog.apps.demo.run`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from oncelog.runtime import real_time
from oncelog.spark.data_source import OncelogDataSource
from oncelog.spark.sink.engine import BatchStep

LONGEST_PAUSE_S = 120.0
"""A commit that waits and is not killed continues after this time, or as soon as it is told to."""


class CommitStep(NamedTuple):
    """A step of a commit that was reached; ``at`` in seconds since 1970."""

    at: float
    pipeline: str
    step: str
    batch: int
    pid: int
    paused: bool


class Journal:
    """A file that records the steps of one pipeline's commits, and a file beside it that names the step at which to
    wait.
    """

    def __init__(self, folder: Path, pipeline: str) -> None:
        self.path = folder / f"{pipeline}.jsonl"
        self._order = folder / f"{pipeline}.stop-at"
        self._pipeline = pipeline

    def order_stop(self, step: BatchStep) -> None:
        """Let the next commit that reaches the step wait there."""
        self._order.write_text(step.value)

    def cancel_stop(self) -> None:
        self._order.unlink(missing_ok=True)

    def __call__(self, step: BatchStep, batch_id: int | None) -> None:
        """Called by the sink as its observer."""
        self.reached(step, -1 if batch_id is None else batch_id)

    def reached(self, step: BatchStep, batch: int) -> None:
        """Record the step, and wait there if that was ordered."""
        ordered = self._order.exists() and self._order.read_text() == step.value
        entry = CommitStep(real_time.time(), self._pipeline, step.value, batch, os.getpid(), ordered)
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        deadline = real_time.monotonic() + LONGEST_PAUSE_S
        while ordered and self._order.exists() and real_time.monotonic() < deadline:
            time.sleep(0.05)

    def read(self) -> list[CommitStep]:
        """All steps so far, without a line that is still being written."""
        if not self.path.exists():
            return []
        lines = self.path.read_text().split("\n")[:-1]
        return [CommitStep(*json.loads(line)) for line in lines]


class ObservedDataSource(OncelogDataSource):
    """``format("oncelog_observed")``: ``oncelog`` with the options of :func:`observing`."""

    def __init__(self, options: Mapping[str, str]) -> None:
        given = dict(options.items())
        folder, pipeline = given.pop("journal.folder", ""), given.pop("journal.pipeline", "")
        self._journal = Journal(Path(folder), pipeline)
        super().__init__(given)

    @classmethod
    def name(cls) -> str:
        return "oncelog_observed"

    def observe(self, step: BatchStep, batch_id: int | None) -> None:
        self._journal(step, batch_id)


def observing(folder: Path, pipeline: str) -> dict[str, str]:
    """Options that say where the steps are recorded."""
    return {"journal.folder": str(folder), "journal.pipeline": pipeline}
