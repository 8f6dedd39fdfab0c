"""Describes what a stopped run of a pipeline has finished, and what the next start will do.

Called by ``oncelog pipeline run`` after SIGTERM or Ctrl-C.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from oncelog.spark.sink.checkpoint import Checkpoint, CheckpointError

if TYPE_CHECKING:
    from oncelog.spark.executors import Written


class Finished:
    """The batches of one pipeline that a run has written, or that were already written."""

    def __init__(self) -> None:
        self._batches: set[int] = set()
        self._rows: Counter[str] = Counter()

    def add(self, written: Written) -> None:
        self._batches.add(written.batch_id or 0)
        self._rows.update(written.sinks)

    def describe(self, name: str, checkpoint: str) -> str:
        """One sentence about the run, and one about the next start."""
        return f"{name}: stopped, {self._done()}; {_next_start(checkpoint)}"

    def _done(self) -> str:
        if not self._batches:
            return "no batch was finished in this run"
        first, last = min(self._batches), max(self._batches)
        batches = f"batch {last} is finished" if first == last else f"batches {first} to {last} are finished"
        rows = ", ".join(f"{rows:,} rows to {sink}" for sink, rows in sorted(self._rows.items()))
        return f"{batches} ({rows})" if rows else batches


def _next_start(location: str) -> str:
    try:
        checkpoint = Checkpoint.open(location)
        planned, ended = checkpoint.batches("offsets"), checkpoint.batches("commits")
    except CheckpointError as error:
        return f"what the next start does cannot be told ({error})"
    if not planned:
        return "the next start begins with batch 0"
    if planned[-1] > max(ended, default=-1):
        return (
            f"the next start repeats batch {planned[-1]}, which was under way: what a sink has of it is left out, and "
            "nothing is written twice"
        )
    return f"the next start continues with batch {planned[-1] + 1}"
