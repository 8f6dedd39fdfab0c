"""Spark's scheduler: slots, executors, the jobs of a tag, and the settings that a job's tasks get."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from oncelog.spark.private_apis.uses import private_api

GROUP = "spark.jobGroup.id"
"""The local property with the group of a thread's jobs (``SparkContext.setJobGroup``); for a query, the group is the id
of its run.
"""


def _default_parallelism(context: Any) -> int:
    return int(context.defaultParallelism)


@private_api(
    "JavaContext.sc",
    "ScalaContext.maxNumConcurrentTasks",
    "ScalaContext.resourceProfileManager",
    "ResourceProfileManager.defaultResourceProfile",
    buys="a batch has one writer for each slot that exists, and does not wait for slots that never come",
    instead=_default_parallelism,
    loses="the number of slots is assumed to be spark.default.parallelism",
)
def slots(context: Any) -> int:
    """How many tasks the executors can run at the same time now."""
    scala = context._jsc.sc()
    return int(scala.maxNumConcurrentTasks(scala.resourceProfileManager().defaultResourceProfile()))


def _block_managers(context: Any) -> frozenset[str]:
    """The fallback for :func:`executors`: the executors' addresses, from a method for Spark's developers. A restarted
    executor has another port."""
    addresses = context._jsc.sc().getExecutorMemoryStatus().keys().mkString(" ")
    return frozenset(str(addresses).split())


@private_api(
    "ScalaContext.statusStore",
    "AppStatusStore.executorList",
    "ExecutorSummary.id",
    buys="a batch that lost shuffled rows with an executor is recomputed at once",
    instead=_block_managers,
    loses="executors are identified by their addresses",
)
def executors(context: Any) -> frozenset[str]:
    """The names of the current executors; a restarted executor has another name."""
    found = context._jsc.sc().statusStore().executorList(True)
    return frozenset(str(found.apply(number).id()) for number in range(found.size()))


def _no_reason(context: Any, executor: str) -> str:
    return ""


@private_api(
    "ScalaContext.statusStore",
    "AppStatusStore.executorSummary",
    "ExecutorSummary.removeReason",
    buys="a batch is not computed again when dynamic allocation has ended an idle executor",
    instead=_no_reason,
    loses="a batch is computed again whenever an executor is gone",
)
def removal_reason(context: Any, executor: str) -> str:
    """The reason that Spark gives for the loss of an executor, an English text (see
    :mod:`oncelog.spark.private_apis.texts`); empty if there is none."""
    from py4j.protocol import Py4JJavaError

    try:
        reason = context._jsc.sc().statusStore().executorSummary(executor).removeReason()
    except Py4JJavaError:  # Spark keeps no records of executors that ended long ago
        return ""
    return str(reason).removeprefix("Some(").removesuffix(")")


def _of_group(context: Any, tag: str) -> list[int]:
    return [int(job) for job in context.statusTracker().getJobIdsForGroup(tag)]


@private_api(
    "ScalaContext.statusTracker",
    "SparkStatusTracker.getJobIdsForTag",
    buys="a batch's jobs are known by their tag, beside their query's group, by which Spark cancels them",
    instead=_of_group,
    loses="a batch's jobs are in a group of their own, and continue when their query is stopped",
)
def ids_of_tag(context: Any, tag: str) -> list[int]:
    """The jobs with this tag that Spark's status store still contains."""
    return [int(job) for job in context._jsc.sc().statusTracker().getJobIdsForTag(tag)]


@contextmanager
def own_group(context: Any, tag: str) -> Iterator[None]:
    """The fallback for :data:`ids_of_tag` where Spark cannot find jobs by tags: puts this thread's jobs in the group
    ``tag``."""
    before = context.getLocalProperty(GROUP)
    context.setLocalProperty(GROUP, tag)
    try:
        yield
    finally:
        context.setLocalProperty(GROUP, before)


def _one_by_one(spark: Any) -> Callable[[], None]:
    context, settings = spark.sparkContext, _public_settings(spark)
    before = {name: context.getLocalProperty(name) for name in settings}
    for name, value in settings.items():
        context.setLocalProperty(name, value)

    def take_back() -> None:
        for name, value in before.items():
            context.setLocalProperty(name, value)

    return take_back


def _public_settings(spark: Any) -> Mapping[str, str]:
    """The session's settings without those that Spark hides from ``SET``: before 4.0, all whose names suggest a
    secret."""
    if hasattr(spark.conf, "getAll"):
        return dict(spark.conf.getAll)
    hidden = "*********(redacted)"
    return {row.key: row.value for row in spark.sql("SET").collect() if row.value != hidden}


@private_api(
    "JavaContext.sc",
    "ScalaContext.getLocalProperties",
    "ScalaContext.setLocalProperties",
    "JavaSession.sessionState",
    "SessionState.conf",
    "SQLConf.settings",
    buys="tasks of a plan that becomes an RDD get the session's settings with 6 calls to the JVM",
    instead=_one_by_one,
    loses="each setting of the session takes two calls to the JVM",
)
def give_settings(spark: Any) -> Callable[[], None]:
    """Pass the session's settings to the tasks of the jobs that this thread starts; returns a function that undoes
    this.

    For its own queries Spark does the same (``SQLExecution.withSQLConfPropagated``).
    """
    scala = spark.sparkContext._jsc.sc()
    before = scala.getLocalProperties()
    properties = before.clone()
    properties.putAll(spark._jsparkSession.sessionState().conf().settings())
    scala.setLocalProperties(properties)
    return lambda: scala.setLocalProperties(before)
