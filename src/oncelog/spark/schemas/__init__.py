"""Columns of records with schemas, for any DataFrame: batch, streams, Spark Connect.

``from_registry`` reads keys or values in Confluent's wire format into columns, ``to_registry`` writes columns as such
values. Both run in Spark's Python workers on Arrow arrays; no jar is needed. They need PySpark 4.1 or later, and
``pip install 'oncelog[schemas]'`` where the workers are.
"""

from oncelog.spark.schemas.functions import Access, avro_schema, from_registry, to_registry

__all__ = ["Access", "avro_schema", "from_registry", "to_registry"]
