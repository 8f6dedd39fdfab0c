"""Tables in databases: PostgreSQL and SQLite, rows and identity in one transaction.

Called by ``spark.tables.sink``. It may import the rest of ``spark.tables`` and, for markers, ``spark.sink``.
"""
