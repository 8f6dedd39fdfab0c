"""Lets Spark find ``format("oncelog")``: PySpark looks in every package named ``pyspark_*`` for this class."""

from oncelog.spark.data_source import OncelogDataSource as DefaultSource

__all__ = ["DefaultSource"]
