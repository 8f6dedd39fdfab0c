"""oncelog's sink with an observer, which records each step of each commit and can wait at a step until the process is
killed.

If the driver writes, the observer is part of a data source that :mod:`oncelog.apps.demo.driver` registers, and runs in
the worker that runs ``commit()``. If the executors write, it is passed to the sink, and runs in the driver and in the
writers. :mod:`oncelog.apps.demo.run` reads the records.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from oncelog.runtime import real_json as json
from oncelog.runtime import real_time
from oncelog.spark.data_source import OncelogDataSource
from oncelog.spark.sink.engine import BatchStep

LONGEST_PAUSE_S = 120.0
"""How long a commit waits at a step, in seconds; it continues earlier if the order to wait is cancelled."""


class CommitStep(NamedTuple):
    """A step that a commit has reached; ``at`` in seconds since 1970."""

    at: float
    pipeline: str
    step: str
    batch: int
    pid: int
    paused: bool


class Journal:
    """The files of one pipeline's observer: one records the steps of its commits, the other names the step at which a
    commit must wait."""

    def __init__(self, folder: Path, pipeline: str) -> None:
        self.path = folder / f"{pipeline}.jsonl"
        self._order = folder / f"{pipeline}.stop-at"
        self._pipeline = pipeline

    def order_stop(self, step: BatchStep) -> None:
        """Order the next commit that reaches the step to wait there."""
        self._order.write_text(step.value)

    def cancel_stop(self) -> None:
        self._order.unlink(missing_ok=True)

    def __call__(self, step: BatchStep, batch_id: int | None) -> None:
        """Record a step; the sink calls this as its observer."""
        self.reached(step, -1 if batch_id is None else batch_id)

    def reached(self, step: BatchStep, batch: int) -> None:
        """Record the step. If a stop was ordered for it, wait until the order is cancelled, at most ``LONGEST_PAUSE_S``
        seconds."""
        ordered = self._order.exists() and self._order.read_text() == step.value
        entry = CommitStep(real_time.time(), self._pipeline, step.value, batch, os.getpid(), ordered)
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        deadline = real_time.monotonic() + LONGEST_PAUSE_S
        while ordered and self._order.exists() and real_time.monotonic() < deadline:
            time.sleep(0.05)

    def read(self) -> list[CommitStep]:
        """All steps recorded so far; an incomplete last line, which is still being written, is left out."""
        if not self.path.exists():
            return []
        lines = self.path.read_text().split("\n")[:-1]
        return [CommitStep(*json.loads(line)) for line in lines]


class ObservedDataSource(OncelogDataSource):
    """The data source ``oncelog_observed``: oncelog's data source with an observer, which the options of
    :func:`observing` configure."""

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
    """The options of the data source: the folder in which the steps are recorded, and the pipeline."""
    return {"journal.folder": str(folder), "journal.pipeline": pipeline}
