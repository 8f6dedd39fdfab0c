"""The one Spark session of a test process: stopping it would stop it for all later tests."""

from __future__ import annotations

import logging
from pathlib import Path

from pyspark.sql import SparkSession

from oncelog.spark.session import session
from tests.support.class_archive import QUICK_START
from tests.support.pausing_source import PausingDataSource

_MANAGERS = "org.apache.spark.sql.execution.streaming.checkpointing"
FILES_WITHOUT_PROGRAMS = {
    "spark.sql.streaming.checkpointFileManagerClass": f"{_MANAGERS}.FileSystemBasedCheckpointFileManager"
}
"""Spark's usual manager runs ``readlink`` some twenty times in each micro-batch.

Crash tests' drivers, pipelines and the demo use the usual one.
"""


def shared_session(warehouse: Path) -> SparkSession:
    """Two cores, and a task may fail twice."""
    logging.getLogger("py4j").setLevel(logging.ERROR)
    settings = {**QUICK_START, **FILES_WITHOUT_PROGRAMS, "spark.sql.warehouse.dir": str(warehouse)}
    found = session("tests", master="local[2,3]", settings=settings)
    found.sparkContext.setLogLevel("ERROR")
    found.dataSource.register(PausingDataSource)
    return found
