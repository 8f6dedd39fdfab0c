"""What a PySpark has of the private APIs that are used: a session is asked for the names that each use needs."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyspark
from pyspark.sql import DataFrame, SparkSession

from oncelog.spark import private_apis
from oncelog.spark.private_apis.driver import has_class
from oncelog.spark.private_apis.uses import PrivateApi
from oncelog.spark.versions import release


def uses() -> list[PrivateApi[..., Any]]:
    """Every use, by name."""
    folder = list(private_apis.__path__)
    modules = [importlib.import_module(f"{private_apis.__name__}.{one.name}") for one in pkgutil.iter_modules(folder)]
    found = {use.name: use for module in modules for use in vars(module).values() if isinstance(use, PrivateApi)}
    return [found[name] for name in sorted(found)]


def missing_names(spark: SparkSession) -> list[str]:
    """What this PySpark has taken away, each with the use that needs it."""
    with _streaming(spark) as seen:
        has = _Asked(spark, seen).has
        return [f"{use.name}: {need}" for use in uses() for need in use.needs if _is_for(need) and not has(need)]


def _is_for(need: str) -> bool:
    """Whether this version is one of those that the need is for: ``a.b from 4.0``, ``a.b below 4.1``."""
    _, _, since = need.partition(" from ")
    _, _, below = need.partition(" below ")
    here = release(pyspark.__version__)
    return (not since or here >= release(since)) and (not below or here < release(below))


@contextmanager
def _streaming(spark: SparkSession) -> Iterator[dict[str, Any]]:
    """What a running query shows: Spark's object for it, and the local properties in its thread."""
    found: dict[str, Any] = {}

    def batch(rows: DataFrame, batch_id: int) -> None:
        context = rows.sparkSession.sparkContext
        found["properties"] = {name: context.getLocalProperty(name) for name in _PROPERTIES}

    with tempfile.TemporaryDirectory() as folder:
        rows = spark.readStream.format("rate").load()
        query = rows.writeStream.foreachBatch(batch).option("checkpointLocation", folder).start()
        try:
            while "properties" not in found:
                assert query.isActive, query.exception()
                time.sleep(0.05)
            session: Any = spark
            found["query"] = session._jsparkSession.sharedState().activeStreamingQueries().elements().nextElement()
            yield found
        finally:
            query.stop()


_PROPERTIES = ("sql.streaming.queryId", "streaming.sql.batchId", "spark.jobGroup.id")


class _Asked:
    """A session that is asked what its objects have."""

    def __init__(self, spark: SparkSession, seen: Mapping[str, Any]) -> None:
        self._spark = spark
        self._seen = seen
        session: Any = spark
        context: Any = spark.sparkContext
        rows: Any = spark.range(3).selectExpr("id + 1 as more").filter("more > 1")
        scala = context._jsc.sc()
        plan = rows._jdf.queryExecution().analyzed()
        self._of_python: dict[str, Any] = {"SparkContext": context, "DataFrame": rows}
        self._of_java: dict[str, Callable[[], Any]] = {
            "JavaContext": lambda: context._jsc,
            "ScalaContext": lambda: scala,
            "JavaSession": lambda: session._jsparkSession,
            "SharedState": lambda: session._jsparkSession.sharedState(),
            "SessionState": lambda: session._jsparkSession.sessionState(),
            "SQLConf": lambda: session._jsparkSession.sessionState().conf(),
            "Dataset": lambda: rows._jdf,
            "QueryExecution": lambda: rows._jdf.queryExecution(),
            "RDD": lambda: rows._jdf.queryExecution().toRdd(),
            "LogicalPlan": lambda: plan,
            "Filter": lambda: plan,
            "Project": lambda: plan.child(),
            "ResourceProfileManager": lambda: scala.resourceProfileManager(),
            "AppStatusStore": lambda: scala.statusStore(),
            "ExecutorSummary": lambda: scala.statusStore().executorList(True).apply(0),
            "SparkStatusTracker": lambda: scala.statusTracker(),
            "StreamExecution": lambda: seen["query"],
            "StreamExecutionContext": lambda: seen["query"].getLatestExecutionContext(),
            "StreamProgress": lambda: seen["query"].getLatestExecutionContext().endOffsets(),
        }
        self._methods: dict[str, set[str]] = {}

    def has(self, need: str) -> bool:
        owner, _, member = need.partition(" ")[0].partition(".")
        match owner:
            case "java":
                return has_class(self._spark, member)
            case "pyspark":
                return _is_in_pyspark(member)
            case "property":
                return self._seen["properties"][member] is not None
            case "environment":
                found = self._spark.sparkContext.parallelize([0], 1).map(lambda _: os.environ.get(member))
                return found.collect() == ["PYTHON_WORKER"]
        if owner in self._of_python:
            return hasattr(self._of_python[owner], member)
        return member in self._methods_of(owner)

    def _methods_of(self, owner: str) -> set[str]:
        """The names of an object's public methods; py4j takes no array of methods for one of objects."""
        if owner not in self._methods:
            context: Any = self._spark.sparkContext
            java, methods = context._jvm.java, self._of_java[owner]().getClass().getMethods()
            objects = context._gateway.new_array(java.lang.Object, len(methods))
            java.lang.System.arraycopy(methods, 0, objects, 0, len(methods))
            self._methods[owner] = set(re.findall(r"([\w$]+)\(", java.util.Arrays.toString(objects)))
        return self._methods[owner]


def _is_in_pyspark(name: str) -> bool:
    module, _, member = f"pyspark.{name}".rpartition(".")
    try:
        if hasattr(importlib.import_module(module), member):
            return True
        importlib.import_module(f"{module}.{member}")
    except ImportError:
        return False
    return True
