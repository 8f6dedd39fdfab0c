"""The JVM of the driver: its process, its classes, and the arguments that ``spark-submit`` passed."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable
from typing import Any

from oncelog.spark.private_apis.uses import ApiMissing, private_api


def java_class(spark: Any, name: str) -> Any:
    """The Java class of this name as a py4j object. Raises ApiMissing if the JVM does not have the class."""
    found = functools.reduce(getattr, name.split("."), spark.sparkContext._jvm)
    if type(found).__name__ != "JavaClass":  # py4j returns a JavaPackage for an unknown name
        raise ApiMissing(f"no class {name}")
    return found


def has_class(spark: Any, name: str) -> bool:
    """Whether Java has a class of this name."""
    try:
        java_class(spark, name)
    except ApiMissing:
        return False
    return True


def _as_submitted() -> str:
    return ""


@private_api(
    "SparkContext._ensure_initialized",
    buys="spark-submit's master decides which of our settings a session gets",
    instead=_as_submitted,
    loses="under spark-submit without --master, a session lacks the settings for local mode",
)
def submitted_master() -> str:
    """The master that ``spark-submit`` was started with; empty if it is not known."""
    from pyspark import SparkConf, SparkContext

    context: Any = SparkContext
    context._ensure_initialized()
    return SparkConf().get("spark.master") or ""


def _unknown_process() -> subprocess.Popen[bytes] | None:
    return None


@private_api(
    "SparkContext._gateway",
    buys="a killed JVM is reported in one sentence",
    instead=_unknown_process,
    loses="a killed JVM is reported as a connection error",
)
def java_process() -> subprocess.Popen[bytes] | None:
    """The process of the JVM that this program has started; None if it has started none."""
    from pyspark import SparkContext

    context: Any = SparkContext
    return getattr(context._gateway, "proc", None)


def _assume_started() -> bool:
    return True


@private_api(
    "SparkContext._gateway",
    buys="a JVM that did not start is reported in one sentence",
    instead=_assume_started,
    loses="a JVM that did not start is reported as PySpark's error",
)
def has_java() -> bool:
    """Whether this program has connected to a JVM."""
    from pyspark import SparkContext

    context: Any = SparkContext
    return context._gateway is not None


def _no_gauges(spark: Any) -> JavaGauges | None:
    return None


@private_api(
    "SparkContext._jvm",
    "java.com.codahale.metrics.MetricRegistry",
    "java.com.codahale.metrics.jmx.JmxReporter",
    "java.com.codahale.metrics.DefaultSettableGauge",
    buys="the lag of queries as MBeans: Spark's metrics system accepts no sources written in Python",
    instead=_no_gauges,
    loses="the JVM has no gauges of the lag",
)
def gauges(spark: Any) -> JavaGauges | None:
    """An empty set of gauges in the driver's JVM, as MBeans of the domain ``oncelog``."""
    within = "com.codahale.metrics"
    registry = java_class(spark, f"{within}.MetricRegistry")()
    reporter = java_class(spark, f"{within}.jmx.JmxReporter").forRegistry(registry).inDomain("oncelog").build()
    return JavaGauges(registry, reporter, java_class(spark, f"{within}.DefaultSettableGauge"))


class JavaGauges:
    """Named numbers in the driver's JVM; the MBeans are registered when the first number is set."""

    def __init__(self, registry: Any, reporter: Any, make: Callable[[], Any]) -> None:
        self.registry = registry
        self._reporter = reporter
        self._make = make
        self._known: dict[str, Any] = {}

    def set(self, name: str, value: float) -> None:
        if not self._known:
            self._reporter.start()
        if name not in self._known:
            self._known[name] = self.registry.register(name, self._make())
        self._known[name].setValue(value)

    def close(self) -> None:
        """Unregister the MBeans."""
        self._reporter.stop()
