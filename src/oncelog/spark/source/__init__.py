"""Reads Kafka: plans offsets, and turns record batches into Arrow.

Called by Spark through ``spark.data_source``, and by pipelines. It may import ``spark.kafka`` and ``records``.
"""
