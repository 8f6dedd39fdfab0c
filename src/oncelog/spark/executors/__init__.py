"""Writes large batches: the executors carry the records, inside the transaction that the driver ends."""

from oncelog.spark.executors.write import Written

__all__ = ["Written"]
