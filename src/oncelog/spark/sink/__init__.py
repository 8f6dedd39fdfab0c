"""Writes micro-batches exactly once: plan, decision and transaction, for every caller and every destination.

Called by ``spark.data_source`` through ``writers``, by ``spark.executors`` and by ``spark.tables``; all writes go
through ``engine``. It may import ``spark.kafka`` and ``spark.private_apis``.
"""
