"""The one Spark session of a test process: whoever stopped it would stop it for all who come after."""

from __future__ import annotations

import logging
from pathlib import Path

from pyspark.sql import SparkSession

from oncelog.spark.session import session
from tests.class_archive import QUICK_START
from tests.support.spark_faults import PausingDataSource

_MANAGERS = "org.apache.spark.sql.execution.streaming.checkpointing"
FILES_WITHOUT_PROGRAMS = {
    "spark.sql.streaming.checkpointFileManagerClass": f"{_MANAGERS}.FileSystemBasedCheckpointFileManager"
}
"""Spark's usual manager runs ``readlink`` some twenty times in each micro-batch. The drivers of the crash tests,
pipelines and the demo have the usual one."""


def shared_session(warehouse: Path) -> SparkSession:
    """Two cores, and two failures of a task are borne."""
    logging.getLogger("py4j").setLevel(logging.ERROR)
    settings = {**QUICK_START, **FILES_WITHOUT_PROGRAMS, "spark.sql.warehouse.dir": str(warehouse)}
    found = session("tests", master="local[2,3]", settings=settings)
    found.sparkContext.setLogLevel("ERROR")
    found.dataSource.register(PausingDataSource)
    return found
