"""A Kafka cluster for Spark: connections, metadata, offsets, fetches and transactions, blocking.

Called by ``spark.source``, ``spark.sink``, ``spark.executors`` and ``spark.pipeline``. It may import ``client``,
``protocol`` and ``records``.
"""
