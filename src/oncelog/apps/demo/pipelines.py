"""The two pipelines of the demo: a file for ``oncelog pipeline run``, which also serves as an example.

``flights-enriched`` joins each flight with its airline, its plane and the hour's weather at the airport it leaves from.
``delays-by-hour`` sums up the delays of each hour, airport and airline. A window is written once, when the watermark
has passed its end. The watermark lags a week, so no flight comes too late, whatever is killed: the producer begins a
transaction only when the previous one has ended in every partition, so two partitions never differ by more than one
transaction.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.functions import broadcast, col, concat_ws, count, date_format, expr, struct, sum, to_json, window

from oncelog.apps.demo.flights import AIRLINES, PLANES, SCHEMA, WEATHER, read_table
from oncelog.spark.pipeline import Sink, Source, pipeline

WATERMARK_DAYS = 7
LATE_MINUTES = 15
HOUR = "yyyy-MM-dd'T'HH:mm:ss'Z'"


def _table(rows: DataFrame, name: str, columns: dict[str, str]) -> DataFrame:
    """A table of the data package as a broadcast DataFrame, because it is small enough for the memory of every
    worker."""
    schema = ", ".join(f"{column} {kind}" for column, kind in columns.items())
    return broadcast(rows.sparkSession.createDataFrame(read_table(name, columns), schema))


@pipeline(
    source=Source("flights", schema=SCHEMA, options={"maxOffsetsPerTrigger": "50000"}),
    sink=Sink("flights-enriched", key="tailnum"),
)
def flights_enriched(flights: DataFrame) -> DataFrame:
    """One record for each flight: its columns, the name of its airline, and objects for its plane and the weather; null
    where a table has no row."""
    airlines = _table(flights, "airlines", AIRLINES).select("carrier", col("name").alias("airline"))
    planes = _table(flights, "planes", PLANES)
    planes = planes.select("tailnum", struct(*(name for name in PLANES if name != "tailnum")).alias("plane"))
    weather = _table(flights, "weather", WEATHER)
    measured = [name for name in WEATHER if name not in ("origin", "time_hour")]
    weather = weather.select("origin", "time_hour", struct(*measured).alias("weather"))
    return (
        flights.where("id is not null")
        .drop("key", "timestamp", "topic", "partition", "offset")
        .join(airlines, "carrier", "left")
        .join(planes, "tailnum", "left")
        .join(weather, ["origin", "time_hour"], "left")
    )


@pipeline(
    source=Source(
        "flights",
        schema="origin string, carrier string, dep_delay int",
        watermark=("timestamp", f"{WATERMARK_DAYS} days"),
    ),
    sink=Sink("delays-by-hour"),
)
def delays_by_hour(flights: DataFrame) -> DataFrame:
    """One record for each hour, airport and airline with a scheduled departure."""
    windows = flights.groupBy(window("timestamp", "1 hour"), "origin", "carrier").agg(
        count("*").alias("flights"),
        expr("count_if(dep_delay is null)").alias("cancelled"),
        expr(f"count_if(dep_delay >= {LATE_MINUTES})").alias("late"),
        sum("dep_delay").alias("delay_minutes"),
        expr("max(dep_delay)").alias("longest_delay"),
        expr("avg(dep_delay)").alias("mean_delay"),
    )
    hour = date_format("window.start", HOUR)
    fields = [name for name in windows.columns if name != "window"]
    value = to_json(struct(hour.alias("hour"), *fields), {"ignoreNullFields": "false"})
    return windows.select(concat_ws("/", "origin", "carrier", hour).alias("key"), value.alias("value"))
