"""Spark: a data source and an exactly-once sink, ``format("oncelog")``.

Nothing that needs PySpark is imported here, so that ``oncelog.spark.java`` can be asked without it. Entry points:
``oncelog.spark.session.session`` (a ready SparkSession), ``for_each_batch`` and ``lag`` beside it;
``oncelog.spark.reporting.report_to_console`` tells a console how a session's queries go.
"""

from oncelog.spark.worker_log import log_in_workers

log_in_workers()
