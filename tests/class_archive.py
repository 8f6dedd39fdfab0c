"""What makes Spark and Apache Kafka start quickly in tests: half of their time went into loading the same classes.

Python's: Spark has its workers import PySpark from ``python/lib/pyspark.zip``, which Python compiles again in each
process; :func:`spark_home` is a Spark without that file, so they take the same PySpark where it is installed. Java's:
an archive for Spark and one for Apache Kafka, each made once for a machine under ``-XX:ArchiveClassesAtExit``; the
program that loads Spark's classes is this file. A JVM that an archive does not fit (another Java, other jars) takes no
notice of it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyspark
import pytest

from oncelog import Broker
from oncelog.spark import maven
from oncelog.spark.java import find_java
from oncelog.spark.session import session
from tests.support import apache_kafka

QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Short runs spend their time on starting: no second compiler, no parallel collector."""
QUICK_START = {
    "spark.driver.extraJavaOptions": QUICK_JAVA,
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
}
WORKERS = Path(__file__).parent / "spark_workers"
MAKE = "-XX:ArchiveClassesAtExit={} -Xlog:cds=off"
USE = "-XX:SharedArchiveFile={} -Xshare:auto"


def spark_home() -> Path:
    """For ``SPARK_HOME``: PySpark's jars and programs, and no packed PySpark."""
    installed, home = Path(pyspark.__file__).parent, Path(sys.prefix) / "spark-home"
    home.mkdir(exist_ok=True)
    packed = home / "python" / "lib" / "pyspark.zip"  # which Spark puts before all else that its workers import
    packed.parent.mkdir(parents=True, exist_ok=True)
    for link, there in ((home / "bin", installed / "bin"), (home / "jars", installed / "jars"), (packed, WORKERS)):
        with contextlib.suppress(FileExistsError):
            link.symlink_to(there)
    return home


def executors_options() -> dict[str, str]:
    """For the executors of a session that was started with :func:`spark_options`."""
    return {"spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", QUICK_JAVA)}


def spark_options() -> str:
    """For ``SPARK_SUBMIT_OPTS``. It takes half a minute when there is no archive yet."""
    jars = spark_home() / "jars"
    return f"{QUICK_JAVA} {USE.format(_archive(Path(sys.prefix), 'spark', jars, _make_for_spark))}"


def kafka_options() -> str:
    """For ``ONCELOG_KAFKA_JAVA_OPTIONS``. It takes ten seconds when there is no archive yet."""
    archive = _archive(maven.cache_folder(), "kafka", apache_kafka.kafka_jars(), _make_for_kafka)
    return f"{QUICK_JAVA} {USE.format(archive)}"


def _archive(folder: Path, name: str, jars: Path, make: Callable[[Path], None]) -> Path:
    """In ``folder``, for these jars as they are now and this Java."""
    java = subprocess.run([find_java(), "-version"], capture_output=True, text=True, check=True).stderr
    digest = hashlib.sha256(f"{java}{jars}{jars.stat().st_mtime_ns}".encode()).hexdigest()[:16]
    archive = folder / f"{name}-classes-{digest}.jsa"
    with (folder / f"{archive.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not archive.exists():
            partial = archive.with_suffix(".partial")
            partial.unlink(missing_ok=True)
            make(partial)
            partial.replace(archive)
    return archive


def _make_for_spark(archive: Path) -> None:
    environment = {**os.environ, "SPARK_HOME": str(spark_home()), "SPARK_SUBMIT_OPTS": MAKE.format(archive)}
    made = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True, timeout=600)
    assert made.returncode == 0, made.stderr


def _make_for_kafka(archive: Path) -> None:
    node = apache_kafka.ApacheKafka()
    try:
        node.start()
        node.stop()  # the folder is formatted now, by a program that must not leave the archive
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(apache_kafka.JAVA_OPTIONS, f"-XX:TieredStopAtLevel=1 {MAKE.format(archive)}")
            node.start()
            node.stop()
    finally:
        node.close()


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
