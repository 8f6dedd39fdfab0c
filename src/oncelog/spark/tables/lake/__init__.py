"""Tables of files: Delta, by delta-rs, and Iceberg, by pyiceberg.

Called by ``spark.tables.sink`` and ``apps.export``. It may import the rest of ``spark.tables`` and ``spark.sink``.
"""
