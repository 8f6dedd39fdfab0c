"""Sales of two topics go into one topic, each once, and those of the web shop into a table too."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

from oncelog.spark.pipeline.declarative import starting_after

spark = SparkSession.active()
AT = {"kafka.bootstrap.servers": "127.0.0.1:9092"}
FLOWS = "file:///tmp/sales/_checkpoints/sales"  # storage of spark-pipeline.yml, and the name of the sink

dp.create_sink("sales", "oncelog", {**AT, "topic": "sales", "onFullRefresh": "after"})


def read(topic: str, starting: str = "earliest") -> DataFrame:
    return spark.readStream.format("oncelog").options(**AT, subscribe=topic, startingOffsets=starting).load()


@dp.append_flow(target="sales")
def from_web() -> DataFrame:
    return read("web", starting_after(f"{FLOWS}/from_web")).select("key", "value")


@dp.append_flow(target="sales")
def from_shops() -> DataFrame:
    return read("shops", starting_after(f"{FLOWS}/from_shops")).select("key", "value")


@dp.table
def web_sales() -> DataFrame:
    return read("web").selectExpr("cast(key as string) as id", "cast(value as string) as sale", "timestamp")
