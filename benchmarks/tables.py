"""Measures sinks that are tables: Delta compared with delta-spark, PostgreSQL with JDBC; Iceberg and SQLite alone.

    python -m benchmarks.tables [--rows N...] [--rounds N] [--only delta|postgresql|iceberg|sqlite...]

A streaming query with AvailableNow reads N rows of six columns from Parquet and writes them as one micro-batch, in a
session with two cores. Writers take turns; the first round is a warm-up. Delta is only measured with PySpark 4.0, for
which delta-spark is made. PostgreSQL's programs must be installed, as for the tests.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pyspark

from oncelog.spark.maven import Module, jars
from oncelog.spark.session import session
from oncelog.spark.tables.sink import to_table
from tests.support.free_ports import free_ports
from tests.support.two_phase.postgres import Postgres

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DELTA: tuple[Module, ...] = (
    ("io.delta", "delta-spark_2.13", "4.0.0"),
    ("io.delta", "delta-storage", "4.0.0"),
    ("org.antlr", "antlr4-runtime", "4.13.1"),
)
JDBC: tuple[Module, ...] = (("org.postgresql", "postgresql", "42.7.7"),)
DELTA_SPARK = "4.0"
FORMATS = ["delta", "postgresql", "iceberg", "sqlite"]
COLUMNS = (
    "id",
    "concat('tail ', id % 4000) as tail",
    "cast(id % 90 as int) as delay",
    "id * 0.25 as distance",
    "timestamp_seconds(1357000000 + id) as departure",
    "id % 7 = 0 as late",
)
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "2g",
    "spark.log.level": "ERROR",
}
EXTENSIONS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
Write = Callable[["DataFrame", str], float]
"""Writes one batch in a query with its checkpoint at this path; returns the seconds."""


def seconds_of(rows: DataFrame, checkpoint: str, write: Callable[[DataFrame, int], None]) -> float:
    began = time.perf_counter()
    query = rows.writeStream.foreachBatch(write).trigger(availableNow=True).option("checkpointLocation", checkpoint)
    query.start().awaitTermination()
    return time.perf_counter() - began


class Tables:
    """Makes a new table for each run: files below a folder, or a table in one PostgreSQL database."""

    def __init__(self, folder: Path, postgres: Postgres) -> None:
        self._folder = folder
        self.database = postgres.new_database()
        self._made = 0

    def place(self, form: str) -> str:
        self._made += 1
        name = f"table{self._made}"
        return {"delta": str(self._folder / name), "iceberg": f"lake.{name}"}.get(form, name)

    def ours(self, form: str) -> Write:
        catalog = {
            "catalog.type": "sql",
            "catalog.uri": f"sqlite:///{self._folder}/catalog.db",
            "catalog.warehouse": f"file://{self._folder}/warehouse",
        }
        more: dict[str, dict[str, str]] = {
            "postgresql": {"url": self.database},
            "sqlite": {"url": str(self._folder / "tables.db")},
            "iceberg": catalog,
        }

        def write(rows: DataFrame, checkpoint: str) -> float:
            options = {"format": form, "table": self.place(form), **more.get(form, {})}
            return seconds_of(rows, checkpoint, to_table(options))

        return write

    def spark_delta(self, rows: DataFrame, checkpoint: str) -> float:
        place = self.place("delta")
        began = time.perf_counter()
        writer = rows.writeStream.format("delta").trigger(availableNow=True).option("checkpointLocation", checkpoint)
        writer.start(place).awaitTermination()
        return time.perf_counter() - began

    def spark_jdbc(self, address: str) -> Write:
        def write(rows: DataFrame, checkpoint: str) -> float:
            place = self.place("postgresql")

            def append(batch: DataFrame, batch_id: int) -> None:
                batch.write.mode("append").jdbc(
                    address, place, properties={"user": "tests", "driver": "org.postgresql.Driver"}
                )

            return seconds_of(rows, checkpoint, append)

        return write

    def drop(self) -> None:
        with psycopg.connect(self.database, autocommit=True) as connection:
            found = connection.execute("SELECT tablename FROM pg_tables WHERE tablename LIKE 'table%'").fetchall()
            for (name,) in found:
                connection.execute(f'DROP TABLE "{name}"'.encode())


def measure(
    spark: SparkSession, folder: Path, rows: int, rounds: int, writers: dict[str, Write], after: Callable[[], None]
) -> None:
    given = str(folder / f"given{rows}")
    spark.range(0, rows, 1, 4).selectExpr(*COLUMNS).write.parquet(given)
    read = spark.readStream.schema(spark.read.parquet(given).schema).parquet(given)
    taken: dict[str, list[float]] = {name: [] for name in writers}
    for number in range(rounds + 1):
        for name, write in writers.items():
            seconds = write(read, str(folder / f"checkpoint-{rows}-{name.replace(' ', '-')}-{number}"))
            if number:
                taken[name].append(rows / seconds)
        after()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    jvm = resident_peak_mb(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]
    for name, rates in taken.items():
        spread = f"{min(rates):,.0f} to {max(rates):,.0f}"
        print(f"{name:<24}{statistics.median(rates):>12,.0f} rows/s  ({spread})", flush=True)
    load = os.getloadavg()[0]
    print(f"the driver's Python at most {peak} MB, its JVM {jvm} MB; load average {load:.0f}\n", flush=True)


def resident_peak_mb(pid: int) -> int:
    """The most memory that a process has had at once."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[500_000, 2_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=FORMATS, default=FORMATS)
    asked = parser.parse_args()
    has_delta = pyspark.__version__.startswith(f"{DELTA_SPARK}.") and "delta" in asked.only
    found = [*jars("postgresql-jdbc", JDBC, transitive=False).glob("*.jar")]
    if has_delta:
        found += jars("delta-spark", DELTA, transitive=False).glob("*.jar")
    settings = {**SETTINGS, "spark.jars": ",".join(map(str, found)), **(EXTENSIONS if has_delta else {})}
    with tempfile.TemporaryDirectory() as scratch, Postgres(free_ports(1)[0]) as postgres:
        tables = Tables(Path(scratch), postgres)
        spark = session("tables", master="local[2]", settings=settings)
        writers: dict[str, Write] = {}
        if has_delta:
            writers |= {"delta, oncelog": tables.ours("delta"), "delta, delta-spark": tables.spark_delta}
        if "postgresql" in asked.only:
            jdbc = f"jdbc:postgresql://127.0.0.1:{postgres.port}/{tables.database.split('dbname=')[1].split()[0]}?reWriteBatchedInserts=true"
            writers |= {"postgresql, oncelog": tables.ours("postgresql"), "postgresql, JDBC": tables.spark_jdbc(jdbc)}
        for form in ("iceberg", "sqlite"):
            if form in asked.only:
                writers[f"{form}, oncelog"] = tables.ours(form)
        for rows in asked.rows:
            print(f"{rows:,} rows, Spark {pyspark.__version__}", flush=True)
            measure(spark, Path(scratch), rows, asked.rounds, writers, tables.drop)
        spark.stop()


if __name__ == "__main__":
    sys.exit(main())
