"""Deals with Spark's scheduler for the executors' path: slots for the writers, and whether a stage has run again.

Called by :mod:`oncelog.spark.executors.write` and its carrier. Either all tasks of a barrier stage start at once or
none does, and Spark waits forever if the cluster has become too small or other jobs hold the slots:
:func:`enough_slots` does not.
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
from oncelog.runtime import real_time
from oncelog.spark.process import this_process

if TYPE_CHECKING:
    from pyspark import SparkContext, SparkJobInfo, SparkStageInfo

TIMEOUT_S = 60.0
"""How long to wait with too few slots: executors arrive or are replaced, other jobs end."""
LESS = 4
"""If other jobs hold slots, a batch is tried again with this many times fewer writers."""


class TooFewSlots(Exception):
    """A barrier stage with this many writers cannot run now.

    :param writers: how many to try next.
    :param why: why there are too few slots, for messages.
    """

    def __init__(self, writers: int, why: str) -> None:
        super().__init__(why)
        self.writers = writers
        self.why = why


def choose_writers(context: SparkContext, wanted: int | None, partitions: int) -> int:
    """How many tasks write at the same time; 0 if the driver has to. Raises ConfigError if ``wanted`` is impossible."""
    dynamic = has_dynamic_allocation(context)
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
    """Refuses the number of writers that the user wants."""
    return ConfigError(
        f"Option writers is {wanted}, but {few.why}, and all writers must run at the same time: lower writers, add "
        "executors, or set writers to 0 so that the driver writes"
    )


def slots_of(context: SparkContext) -> int:
    """How many tasks the executors can run at the same time now."""
    scala: Any = context._jsc.sc()
    return int(scala.maxNumConcurrentTasks(scala.resourceProfileManager().defaultResourceProfile()))


def has_dynamic_allocation(context: SparkContext) -> bool:
    enabled = context._conf.get("spark.dynamicAllocation.enabled", "false") or "false"  # getConf() copies all settings
    return enabled.lower() == "true" and not (context.master or "").startswith("local")


def _await_slots(context: SparkContext, wanted: int) -> int:
    """How many slots there are: at least ``wanted``, unless they do not appear for a while."""
    deadline = real_time.monotonic() + TIMEOUT_S
    while (slots := slots_of(context)) < wanted and real_time.monotonic() <= deadline:
        time.sleep(0.2)
    return slots


def _lacking(slots: int) -> TooFewSlots:
    return TooFewSlots(max(slots, 1), f"the cluster has {slots} slots for tasks")


def _held(writers: int) -> TooFewSlots:
    return TooFewSlots(
        max(writers // LESS, 1),
        f"other jobs of this application have left fewer than {writers} slots for tasks free for {TIMEOUT_S:.0f} s",
    )


@contextmanager
def enough_slots(context: SparkContext, writers: int) -> Iterator[None]:
    """Enter the block once there are enough slots; cancel its jobs if slots are missing or held for a while.

    Raises TooFewSlots in that case. A single writer waits for its slot like any task.
    """
    if (slots := _await_slots(context, writers)) < writers:
        raise _lacking(slots)
    over = threading.Event()
    found: list[TooFewSlots] = []

    def watch(tag: str) -> None:
        there = free = real_time.monotonic()
        running = writers == 1
        while not over.wait(min(1.0, TIMEOUT_S / 2)):
            now = real_time.monotonic()
            slots = slots_of(context)
            there = now if slots >= writers else there
            running = running or any(
                stage.numActiveTasks or stage.numCompletedTasks for stage in _stages(context, _jobs(context, tag))
            )
            free = now if running or slots < writers else free
            if now - min(there, free) <= TIMEOUT_S:
                continue
            found.append(_held(writers) if slots >= writers else _lacking(slots))
            context.cancelJobsWithTag(tag)  # repeatedly: a job that is still being planned is not cancelled

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
    """A tag on all jobs that this block starts."""
    tag = f"oncelog-{uuid.uuid4().hex}"
    context.addJobTag(tag)
    try:
        yield tag
    finally:
        context.removeJobTag(tag)


def any_stage_repeated(context: SparkContext, tag: str) -> bool:
    """Whether Spark has recomputed a part of these jobs' input because it was lost or could not be fetched.

    A single job of one stage has no such input. Spark's records lag behind events: wait for them, but not if Spark has
    dropped a job's end from them.
    """
    deadline = real_time.monotonic() + TIMEOUT_S
    if this_process().part(SingleStages).has(context, tag):
        return False
    jobs = _jobs(context, tag)
    while any(job.status == "RUNNING" for job in jobs) and real_time.monotonic() <= deadline:
        time.sleep(0.02)
        jobs = _jobs(context, tag)
    return any(stage.currentAttemptId > 0 for stage in _stages(context, jobs))


class SingleStages:
    """Asks Spark's records of jobs as little as possible: each question goes to another process.

    Kept by this process, with what the JVM has for the running context.
    """

    def __init__(self) -> None:
        self._context: SparkContext | None = None
        self._by_tag: Any = None
        self._by_job: Any = None

    def has(self, context: SparkContext, tag: str) -> bool:
        """Whether there is one job with this tag, and it has one stage."""
        if self._context is not context:
            java: Any = context._jsc
            self._context, self._by_tag, self._by_job = context, java.sc().statusTracker(), java.statusTracker()
        jobs = self._by_tag.getJobIdsForTag(tag)
        if len(jobs) != 1:
            return False
        job = self._by_job.getJobInfo(jobs[0])
        return job is not None and len(job.stageIds()) == 1

    def close(self) -> None:
        self._context = self._by_tag = self._by_job = None


def _jobs(context: SparkContext, tag: str) -> list[SparkJobInfo]:
    """The tagged jobs that Spark's records still contain."""
    tracker = context.statusTracker()
    scala: Any = context._jsc.sc()
    jobs = [tracker.getJobInfo(int(job)) for job in scala.statusTracker().getJobIdsForTag(tag)]
    return [job for job in jobs if job is not None]


def _stages(context: SparkContext, jobs: list[SparkJobInfo]) -> list[SparkStageInfo]:
    """The stages of jobs, except those skipped because their result existed."""
    tracker = context.statusTracker()
    stages = [tracker.getStageInfo(stage) for job in jobs for stage in job.stageIds]
    return [stage for stage in stages if stage is not None]
