"""What the executors' path asks of Spark's scheduler: slots for its writers, and whether a stage has run again.

Called by :mod:`oncelog.spark.executors`. All tasks of a barrier stage start at once or none does, and Spark waits
without end for a cluster that has become too small or whose slots other jobs hold: :func:`enough_slots` does not.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from oncelog.errors import ConfigError

if TYPE_CHECKING:
    from pyspark import SparkContext, SparkJobInfo, SparkStageInfo

PATIENCE_S = 60.0
"""How long too few slots are borne: executors come and are replaced, other jobs end."""
LESS = 4
"""Where other jobs hold slots, a batch is begun again with so many times fewer writers."""


class TooFewSlots(Exception):
    """A barrier stage of so many writers cannot run now.

    :param writers: how many may be tried next.
    :param why: what has become of the slots; for users.
    """

    def __init__(self, writers: int, why: str) -> None:
        super().__init__(why)
        self.writers = writers
        self.why = why


def choose_writers(context: SparkContext, wanted: int | None, partitions: int) -> int:
    """How many tasks write at the same time; 0 if the driver must. Raises ConfigError where ``wanted`` cannot be."""
    dynamic = _dynamic_allocation(context)
    if wanted is None:
        return 0 if dynamic else min(max(_await_slots(context, 1), 1), partitions)
    if wanted and dynamic:
        raise ConfigError(
            f"Option writers is {wanted}, but spark.dynamicAllocation.enabled is true, and all writers must run at the "
            "same time: switch it off, or set writers to 0 so that the driver writes"
        )
    if (slots := _await_slots(context, wanted)) < wanted:
        raise cannot_have(wanted, _lacking(slots))
    return min(wanted, partitions)


def cannot_have(wanted: int, few: TooFewSlots) -> ConfigError:
    """The refusal of the number of writers that a user wants."""
    return ConfigError(
        f"Option writers is {wanted}, but {few.why}, and all writers must run at the same time: lower writers, add "
        "executors, or set writers to 0 so that the driver writes"
    )


def slots_of(context: SparkContext) -> int:
    """Tasks that the executors can run at the same time now."""
    scala: Any = context._jsc.sc()
    return int(scala.maxNumConcurrentTasks(scala.resourceProfileManager().defaultResourceProfile()))


def _dynamic_allocation(context: SparkContext) -> bool:
    enabled = context._conf.get("spark.dynamicAllocation.enabled", "false") or "false"  # getConf() copies all settings
    return enabled.lower() == "true" and not (context.master or "").startswith("local")


def _await_slots(context: SparkContext, wanted: int) -> int:
    """How many there are: at least ``wanted`` unless they do not come for a while."""
    deadline = time.monotonic() + PATIENCE_S
    while (slots := slots_of(context)) < wanted and time.monotonic() <= deadline:
        time.sleep(0.2)
    return slots


def _lacking(slots: int) -> TooFewSlots:
    return TooFewSlots(max(slots, 1), f"the cluster has {slots} slots for tasks")


def _held(writers: int) -> TooFewSlots:
    return TooFewSlots(
        max(writers // LESS, 1),
        f"other jobs of this application have left fewer than {writers} slots for tasks free for {PATIENCE_S:.0f} s",
    )


@contextmanager
def enough_slots(context: SparkContext, writers: int) -> Iterator[None]:
    """Begins when there are enough slots; ends the jobs of this block where they lack, or are held, for a while.

    Raises TooFewSlots then. A single writer waits for its slot as any task does.
    """
    if (slots := _await_slots(context, writers)) < writers:
        raise _lacking(slots)
    over = threading.Event()
    found: list[TooFewSlots] = []

    def watch(tag: str) -> None:
        there = free = time.monotonic()
        running = writers == 1
        while not over.wait(min(1.0, PATIENCE_S / 2)):
            now = time.monotonic()
            slots = slots_of(context)
            there = now if slots >= writers else there
            running = running or any(
                stage.numActiveTasks or stage.numCompletedTasks for stage in _stages(context, _jobs(context, tag))
            )
            free = now if running or slots < writers else free
            if now - min(there, free) <= PATIENCE_S:
                continue
            found.append(_held(writers) if slots >= writers else _lacking(slots))
            context.cancelJobsWithTag(tag)  # again and again: a job that is only being planned is not cancelled

    with tagged(context) as tag:
        threading.Thread(target=watch, args=[tag], name="oncelog-slots", daemon=True).start()
        try:
            yield
        except (PySparkException, Py4JJavaError):
            if found:
                raise found[0] from None
            raise
        finally:
            over.set()


@contextmanager
def tagged(context: SparkContext) -> Iterator[str]:
    """The tag of all jobs that this block starts."""
    tag = f"oncelog-{uuid.uuid4().hex}"
    context.addJobTag(tag)
    try:
        yield tag
    finally:
        context.removeJobTag(tag)


def any_stage_repeated(context: SparkContext, tag: str) -> bool:
    """Whether Spark has made again a part of what these jobs read, as it was lost or could not be fetched.

    Spark keeps its books behind what happens: they are waited for, but not where it has dropped a job's end from them.
    """
    deadline = time.monotonic() + PATIENCE_S
    jobs = _jobs(context, tag)
    while any(job.status == "RUNNING" for job in jobs) and time.monotonic() <= deadline:
        time.sleep(0.02)
        jobs = _jobs(context, tag)
    return any(stage.currentAttemptId > 0 for stage in _stages(context, jobs))


def _jobs(context: SparkContext, tag: str) -> list[SparkJobInfo]:
    """The tagged jobs, but those that Spark's books no longer hold."""
    tracker = context.statusTracker()
    scala: Any = context._jsc.sc()
    jobs = [tracker.getJobInfo(int(job)) for job in scala.statusTracker().getJobIdsForTag(tag)]
    return [job for job in jobs if job is not None]


def _stages(context: SparkContext, jobs: list[SparkJobInfo]) -> list[SparkStageInfo]:
    """The stages of jobs, but those that were skipped, as their result was there."""
    tracker = context.statusTracker()
    stages = [tracker.getStageInfo(stage) for job in jobs for stage in job.stageIds]
    return [stage for stage in stages if stage is not None]
