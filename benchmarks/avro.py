"""Compares ways to turn Avro values into Spark columns: ``from_registry``, Spark's own ``from_avro``, and fastavro in a
Python UDF.

    python -m benchmarks.avro [--rows N] [--rounds N]

All ways decode values of the same cached DataFrame (the UDF a twentieth of them, because it is slow) into a sink that
drops the rows. The first round is a warm-up; the medians of the other rounds, in rows a second, are printed as JSON.
The jar of ``from_avro`` comes from Maven Central; this function gets the schema as an argument and ignores the schema
id in the values.
"""

from __future__ import annotations

import argparse
import io
import json
import time
from collections.abc import Callable
from statistics import median
from typing import TYPE_CHECKING, Any

from pyspark.sql.functions import col, expr, struct, udf

import oncelog
from oncelog.spark.maven import jars
from oncelog.spark.schemas import from_registry, to_registry
from oncelog.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

SPARK_AVRO = (("org.apache.spark", "spark-avro_2.13", "4.1.1"),)
HEADER_BYTES = 5
LINE = {"type": "record", "name": "Line", "fields": [
    {"name": "sku", "type": "string"}, {"name": "n", "type": "int"}, {"name": "price", "type": "double"},
]}  # fmt: skip
FLAT = {"type": "record", "name": "Flight", "fields": [
    {"name": "id", "type": "long"}, {"name": "carrier", "type": "string"}, {"name": "origin", "type": "string"},
    {"name": "delay", "type": "int"}, {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "price", "type": "double"},
]}  # fmt: skip
NESTED = {"type": "record", "name": "Order", "fields": [
    {"name": "id", "type": "long"}, {"name": "customer", "type": {"type": "record", "name": "Customer", "fields": [
        {"name": "name", "type": "string"}, {"name": "vip", "type": "boolean"}]}},
    {"name": "lines", "type": {"type": "array", "items": LINE}},
    {"name": "tags", "type": {"type": "map", "values": "string"}},
]}  # fmt: skip
SHAPES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "flat, 6 fields": (
        FLAT,
        [
            "id",
            "'AA' as carrier",
            "concat('JFK', id % 10) as origin",
            "cast(id % 300 as int) as delay",
            "timestamp_micros(1700000000000000 + id) as at",
            "id / 7 as price",
        ],
    ),
    "nested, 3 lines": (
        NESTED,
        [
            "id",
            "struct(concat('customer-', id % 1000) as name, id % 2 = 0 as vip) as customer",
            "transform(sequence(1, 3), n -> struct(concat('sku-', n) as sku, int(n) as n, id / n as price)) as lines",
            "map('channel', 'web') as tags",
        ],
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    folder = jars("spark-avro", SPARK_AVRO, transitive=False, timeout_s=180)
    names = ",".join(str(jar) for jar in sorted(folder.glob("*.jar")))
    spark = session("avro", settings={"spark.jars": names, "spark.log.level": "ERROR", "spark.driver.memory": "4g"})
    with oncelog.Broker(schema_registry=True) as broker:
        url = str(broker.schema_registry_url)
        print(json.dumps({name: measured(spark, url, name, given.rows, given.rounds) for name in SHAPES}, indent=1))
    spark.stop()


def measured(spark: SparkSession, url: str, shape: str, rows: int, rounds: int) -> dict[str, int]:
    """Rows a second that each way of decoding reaches, by the way's name."""
    schema, columns = SHAPES[shape]
    subject = f"{schema['name']}-value"
    row = struct(*(expr(column) for column in columns))
    written = to_registry(row, url, subject=subject, schema=json.dumps(schema))
    values = spark.range(rows).select(written.alias("value")).persist()
    values.count()
    ways: dict[str, Callable[[], Column]] = {
        "nothing": lambda: col("value"),
        "oncelog": lambda: from_registry("value", url, subject=subject),
        "from_avro": lambda: _from_avro(schema),
        "fastavro": lambda: _fastavro(schema, values, url, subject),
    }
    found = {}
    # one variant after the other: if variants alternated, Spark would restart the Python workers for each row
    for name, way in ways.items():
        seconds = []
        part, factor = (values.limit(rows // 20), 20) if name == "fastavro" else (values, 1)
        for _ in range(rounds + 1):
            began = time.monotonic()
            part.select(way().alias("r")).write.format("noop").mode("overwrite").save()
            seconds.append((time.monotonic() - began) * factor)
        found[name] = round(rows / median(seconds[1:]))
    values.unpersist()
    return found


def _from_avro(schema: dict[str, Any]) -> Column:
    from pyspark.sql.avro.functions import from_avro

    return from_avro(expr(f"substring(value, {HEADER_BYTES + 1})"), json.dumps(schema))


def _fastavro(schema: dict[str, Any], values: DataFrame, url: str, subject: str) -> Column:
    """The column decoded by a Python UDF that calls fastavro for each row, as examples on the web do."""
    kind = values.select(from_registry("value", url, subject=subject).alias("r")).schema["r"].dataType

    import fastavro

    parsed = fastavro.parse_schema(schema)

    def decode(value: bytes) -> Any:
        return fastavro.schemaless_reader(io.BytesIO(value[HEADER_BYTES:]), parsed, None)

    function: Any = udf(decode, kind)
    made: Column = function(col("value"))
    return made


if __name__ == "__main__":
    main()
