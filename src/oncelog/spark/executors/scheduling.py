"""Finds slots for the writers in Spark's scheduler, and detects that a stage has run again. Called by
:mod:`oncelog.spark.executors.write` and its carrier.

Either all tasks of a barrier stage start at once or none does. Spark waits forever if the cluster has become too small
or other jobs occupy the slots; :func:`enough_slots` gives up.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from oncelog.errors import ConfigError
from oncelog.runtime import real_time
from oncelog.runtime.chance import uuid4
from oncelog.spark.private_apis import jobs, texts

if TYPE_CHECKING:
    from pyspark import SparkContext, SparkJobInfo, SparkStageInfo
    from pyspark.sql import SparkSession

TIMEOUT_S = 60.0
"""Seconds to wait while there are too few slots: executors may arrive, other jobs may end."""
LESS = 4
"""If other jobs occupy the slots, the number of writers of a batch is divided by this for the next attempt."""


class TooFewSlots(Exception):
    """A barrier stage with this many writers cannot run now.

    :param writers: how many to try next.
    :param why: why there are too few slots, for messages.
    """

    def __init__(self, writers: int, why: str) -> None:
        super().__init__(why)
        self.writers = writers
        self.why = why


def choose_writers(spark: SparkSession, wanted: int | None, partitions: int) -> int:
    """The number of tasks that write at the same time; 0 if the driver must write. Raises ConfigError if ``wanted`` is
    impossible.
    """
    dynamic, context = has_dynamic_allocation(spark), spark.sparkContext
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
    """The error for an impossible number of writers, with the reason."""
    return ConfigError(
        f"Option writers is {wanted}, but {few.why}, and all writers must run at the same time: lower writers, add "
        "executors, or set writers to 0 so that the driver writes"
    )


def has_dynamic_allocation(spark: SparkSession) -> bool:
    enabled = spark.conf.get("spark.dynamicAllocation.enabled", "false") or "false"
    return enabled.lower() == "true" and not (spark.sparkContext.master or "").startswith("local")


def _await_slots(context: SparkContext, wanted: int) -> int:
    """The number of slots; waits for a while until it is at least ``wanted``."""
    deadline = real_time.monotonic() + TIMEOUT_S
    while (slots := jobs.slots(context)) < wanted and real_time.monotonic() <= deadline:
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
    """Enter the block once there are enough slots; cancel its jobs if slots stay missing or occupied for a while.

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
            slots = jobs.slots(context)
            there = now if slots >= writers else there
            running = running or any(
                stage.numActiveTasks or stage.numCompletedTasks for stage in _stages(context, _jobs(context, tag))
            )
            free = now if running or slots < writers else free
            if now - min(there, free) <= TIMEOUT_S:
                continue
            found.append(_held(writers) if slots >= writers else _lacking(slots))
            # cancelled in each round, because Spark does not cancel a job that is still being planned
            context.cancelJobsWithTag(tag)

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
    """Puts a tag on all jobs that the block starts. Where Spark does not find jobs by tags, the tag is also their job
    group."""
    tag = f"oncelog-{uuid4().hex}"
    context.addJobTag(tag)
    group = jobs.own_group(context, tag) if jobs.ids_of_tag.is_missing(context, tag) else nullcontext()
    try:
        with group:
            yield tag
    finally:
        context.removeJobTag(tag)


def any_stage_repeated(context: SparkContext, tag: str) -> bool:
    """Whether Spark has recomputed a part of these jobs' input because the part was lost or could not be fetched.

    Jobs with a single stage have no such input. Spark's job status lags behind events, so the call waits for it, unless
    Spark has already dropped a job's end from it.
    """
    deadline = real_time.monotonic() + TIMEOUT_S
    found = _jobs(context, tag)
    if _read_no_shuffle(found):
        return False
    while any(job.status == "RUNNING" for job in found) and real_time.monotonic() <= deadline:
        time.sleep(0.02)
        found = _jobs(context, tag)
    return any(stage.currentAttemptId > 0 for stage in _stages(context, found))


def any_input_repeated(spark: SparkSession, tag: str, executors: frozenset[str]) -> bool:
    """Whether Spark has, or may have, computed a part of what these jobs have read from a shuffle again.

    If an executor is lost between two jobs, the later job computes the lost part again, as the first attempt of another
    stage: only the loss of the executor shows this.

    :param executors: the executors that existed before the jobs.
    """
    context = spark.sparkContext
    if any_stage_repeated(context, tag):
        return True
    return any_executor_lost(spark, executors) and not _read_no_shuffle(_jobs(context, tag))


def any_executor_lost(spark: SparkSession, before: frozenset[str]) -> bool:
    """Whether one of these executors is gone, and with it perhaps shuffled rows. An idle executor that dynamic
    allocation has removed does not count: Spark keeps files that are needed."""
    context = spark.sparkContext
    gone = before - jobs.executors(context)
    if not gone:
        return False
    return not (has_dynamic_allocation(spark) and all(_was_ended(context, one) for one in gone))


def _was_ended(context: SparkContext, executor: str) -> bool:
    """Whether the driver has ended an executor, instead of losing it."""
    return texts.was_idle(jobs.removal_reason(context, executor))


def _read_no_shuffle(found: list[SparkJobInfo]) -> bool:
    return all(len(job.stageIds) == 1 for job in found)


def _jobs(context: SparkContext, tag: str) -> list[SparkJobInfo]:
    """The tagged jobs that Spark's status store still contains."""
    tracker = context.statusTracker()
    found = [tracker.getJobInfo(number) for number in jobs.ids_of_tag(context, tag)]
    return [job for job in found if job is not None]


def _stages(context: SparkContext, found: list[SparkJobInfo]) -> list[SparkStageInfo]:
    """The stages of jobs, except those skipped because their results existed."""
    tracker = context.statusTracker()
    stages = [tracker.getStageInfo(stage) for job in found for stage in job.stageIds]
    return [stage for stage in stages if stage is not None]
