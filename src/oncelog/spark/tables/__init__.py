"""Tables as sinks: Delta, Iceberg, PostgreSQL and SQLite, each micro-batch exactly once.

:mod:`oncelog.spark.tables.sink` is what users call. :mod:`oncelog.spark.tables.commit` puts a batch into a
:class:`~oncelog.spark.tables.store.TableStore`, of which there is one module for each format, by the same engine and
rules as for topics. The identity of the batch (query, batch, plan) is in the table's own commit.
"""
