"""Reads and writes columns by a registry, in any session: classic, or through a Connect server as a program."""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, struct

from oncelog.schemas import AvroSerializer, SchemaRegistry
from oncelog.spark.schemas import avro_schema, from_registry, to_registry

COUNT = {"name": "n", "type": ["null", "int"], "default": None}
LINE = {"type": "record", "name": "Line", "fields": [{"name": "sku", "type": "string"}, COUNT]}
ORDER: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}, "default": 0},
        {"name": "lines", "type": {"type": "array", "items": LINE}, "default": []},
    ],
}


def through(spark: SparkSession, url: str, name: str) -> dict[str, Any]:
    """Values of two versions and two that cannot be read; what comes of them, and through a schema of columns."""
    subject = f"{name}-value"
    with SchemaRegistry(url) as registry:
        old = AvroSerializer(registry, {**ORDER, "fields": ORDER["fields"][:1]}, topic=name)
        new = AvroSerializer(registry, ORDER, topic=name)
        lines = [{"sku": "a", "n": 2}, {"sku": "b", "n": None}]
        values = [old({"id": 1}), new({"id": 2, "at": 1_000_000, "lines": lines}), None, b"\0\0\0\x0f\xff", b"bad"]
    rows = spark.createDataFrame([(n, value) for n, value in enumerate(values)], "n int, value binary")
    report = from_registry("value", url, subject=subject, malformed="report")
    read = rows.select("n", report.alias("r")).select("n", "r.value.*", "r.problem")
    nulls = rows.select(from_registry(col("value"), {"url": url}, subject=f"{subject}:1", malformed="null").alias("o"))
    good = read.where("id is not null").drop("problem")
    made = avro_schema(good.schema, "Made")
    written = good.select("n", to_registry(struct(*good.columns), url, subject=name, schema=made).alias("value"))
    again = written.select(from_registry("value", url, subject=name).alias("r")).select("r.*")
    return {
        "read": rows_of(read.orderBy("n")),
        "ids": [row["o"] and row["o"]["id"] for row in nulls.collect()],
        "same": rows_of(again.orderBy("n")) == rows_of(good.orderBy("n")),
    }


def rows_of(rows: Any) -> list[dict[str, Any]]:
    """As JSON has them."""
    found: list[dict[str, Any]] = json.loads(
        json.dumps([row.asDict(recursive=True) for row in rows.collect()], default=str)
    )
    return found


def main() -> None:
    """``SERVER, REGISTRY, NAME``: prints what :func:`through` found."""
    server, url, name = sys.argv[1:]
    spark = SparkSession.builder.remote(server).getOrCreate()
    print(json.dumps(through(spark, url, name)))
    spark.stop()


if __name__ == "__main__":
    main()
