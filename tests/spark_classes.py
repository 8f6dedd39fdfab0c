"""A class archive for the JVMs of tests with Spark: without it half of their time goes into loading the same classes.

``class_archive`` is made once for a machine, by running this file as a program under ``-XX:ArchiveClassesAtExit``.
A JVM that it does not fit (another Java, other jars) takes no notice of it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pyspark

from oncelog import Broker
from oncelog.spark.java import find_java
from oncelog.spark.session import session

QUICK_START = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
}
"""Short runs spend their time on starting: no second compiler, no parallel collector."""


def class_archive() -> Path:
    """The archive of this Java with this Spark; it takes half a minute when there is none yet."""
    java, home = find_java(), str(Path(pyspark.__file__).parent)
    version = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    name = hashlib.sha256(f"{version}{home}{pyspark.__version__}".encode()).hexdigest()[:16]
    folder = Path.home() / ".cache" / "oncelog"
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"spark-classes-{name}.jsa"
    with (folder / f"{archive.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not archive.exists():
            _make(archive)
    return archive


def _make(archive: Path) -> None:
    partial = archive.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    environment = {**os.environ, "SPARK_SUBMIT_OPTS": f"-XX:ArchiveClassesAtExit={partial} -Xlog:cds=off"}
    made = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True, timeout=240)
    assert made.returncode == 0, made.stderr
    partial.replace(archive)


def options(archive: Path) -> str:
    """For ``SPARK_SUBMIT_OPTS``."""
    return f"-XX:SharedArchiveFile={archive} -Xshare:auto"


def main() -> None:
    """A streaming query and a join, so that what tests load is loaded."""
    spark = session("class archive", master="local[2]", settings=QUICK_START)
    spark.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory() as folder, Broker() as broker:
        kafka = {"kafka.bootstrap.servers": broker.bootstrap_servers}
        rows = spark.range(100).selectExpr("cast(id % 7 as string) as key", "cast(id as string) as value")
        rows.write.format("oncelog").options(**kafka).option("topic", "in").mode("append").save()
        stream = spark.readStream.format("oncelog").options(**kafka).option("subscribe", "in")
        read = stream.option("startingOffsets", "earliest").load().withWatermark("timestamp", "1 minute")
        counts = read.join(rows.select("key").distinct(), "key").groupBy("key").count()
        query = (
            counts.selectExpr("cast(key as string) as key", "cast(count as string) as value")
            .writeStream.outputMode("complete")
            .format("oncelog")
            .options(**kafka)
            .option("topic", "out")
            .option("checkpointLocation", folder)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main()
