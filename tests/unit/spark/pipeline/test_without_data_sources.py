"""PySpark 3.5 has no Python data sources, and pipelines run there behind Spark's own connector."""

from __future__ import annotations

import subprocess
import sys

WITHOUT = """
import sys
sys.modules["pyspark.sql.datasource"] = sys.modules["pyspark.sql.streaming.datasource"] = None
import oncelog.cli.programs.pipeline, oncelog.spark.pipeline.running, oncelog.spark.session, oncelog.spark.tables.sink
"""


def test_pipelines_are_imported_where_pyspark_has_no_data_sources() -> None:
    ended = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
