"""The program of :mod:`tests.support.lake_engines`: carries out the statement of each line that it reads."""

from __future__ import annotations

import json
import sys
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

QUICK = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "America/New_York",  # a table has no session's zone
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
EXTENSIONS = "io.delta.sql.DeltaSparkSessionExtension,org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"


def main(jars: str, folder: str) -> None:
    lake = {
        "spark.jars": jars,
        "spark.sql.extensions": EXTENSIONS,
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "jdbc",
        "spark.sql.catalog.ice.jdbc.schema-version": "V1",
        "spark.sql.catalog.ice.uri": f"jdbc:sqlite:{folder}/catalog.db",
        "spark.sql.catalog.ice.warehouse": f"file://{folder}/warehouse",
        "spark.sql.catalog.ice.cache-enabled": "false",
        "spark.sql.warehouse.dir": f"{folder}/spark-warehouse",
    }
    builder = SparkSession.builder.master("local[1]").appName("lake engines")
    for name, value in (QUICK | lake).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for line in sys.stdin:
        print(json.dumps(answer(spark, json.loads(line)), default=str), flush=True)


def answer(spark: SparkSession, statement: str) -> dict[str, Any]:
    try:
        return {"rows": [list(row) for row in spark.sql(statement).collect()]}
    except (PySparkException, Py4JJavaError) as error:
        java = getattr(error, "java_exception", None)
        return {"error": (java.getMessage() if java is not None else str(error)).strip()}


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
