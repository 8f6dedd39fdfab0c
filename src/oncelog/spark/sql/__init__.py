"""Topics as SQL tables: ``CREATE TABLE ... USING oncelog OPTIONS (...)``.

Called by ``spark.data_source``. It may import ``spark.options``, ``spark.sink`` and ``settings``.
"""
