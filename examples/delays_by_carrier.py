"""The mean delay of each airline, written again whenever it changes.

oncelog pipeline run examples/delays_by_carrier.py --bootstrap-server 127.0.0.1:9092
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.functions import avg, count

from oncelog.spark.pipeline import Sink, Source, pipeline


@pipeline(
    source=Source("flights", schema="carrier string, dep_delay int"),
    sink=Sink("carriers", key="carrier", create={"partitions": 3}),
    mode="update",
)
def delays_by_carrier(flights: DataFrame) -> DataFrame:
    """One record for each airline that had a flight in the batch."""
    return flights.groupBy("carrier").agg(count("*").alias("flights"), avg("dep_delay").alias("mean_delay"))
