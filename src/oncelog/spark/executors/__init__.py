"""Writes the batches of ``for_each_batch`` and ``write``: large ones by the executors, small ones by the driver.

Called by ``spark.session`` through ``write``, and by Spark, which runs the barrier tasks. It may import ``spark.sink``,
whose engine begins and ends each transaction, and ``spark.kafka``.
"""

from oncelog.spark.executors.write import Written

__all__ = ["Written"]
