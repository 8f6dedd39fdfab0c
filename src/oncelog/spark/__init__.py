"""Spark: a data source and an exactly-once sink, ``format("oncelog")``.

Nothing that needs PySpark is imported here, so that ``oncelog.spark.java`` can be used without it. Entry points:
``oncelog.spark.session.session`` (a ready SparkSession), with ``for_each_batch`` and ``lag`` in the same module;
``oncelog.spark.reporting.report_to_console`` reports a session's queries to a console.
"""

from oncelog.spark.worker_log import log_in_workers

log_in_workers()
