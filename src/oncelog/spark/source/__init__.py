"""Reads Kafka: plans offsets, and turns record batches into Arrow. Called through ``oncelog.spark.data_source``."""
