"""Lets Spark find ``format("oncelog")``: PySpark looks in every package named ``pyspark_*`` for this class."""

from oncelog.spark.versions import HAS_DATA_SOURCES

if HAS_DATA_SOURCES:
    from oncelog.spark.data_source import OncelogDataSource as DefaultSource

__all__ = ["DefaultSource"]
