"""What makes Spark and Apache Kafka start quickly in tests: half of their time went into loading the same classes.

Python's: Spark has its workers import PySpark from ``python/lib/pyspark.zip``, which Python compiles again in each
process; :func:`spark_home` is a Spark without that file, so they take the same PySpark where it is installed. Java's:
an archive for Spark and one for Apache Kafka, each made once for a machine under ``-XX:ArchiveClassesAtExit``; the
program that loads Spark's classes is this file. A JVM that an archive does not fit (another Java, other jars) takes no
notice of it. The sources of streaming queries are forks (``forked_sources.py``).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest

from oncelog import Admin, Broker, NewTopic
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
    """For ``SPARK_HOME``: PySpark's jars and programs, and no packed PySpark.

    One for all environments on this machine that have the same PySpark: a JVM takes an archive only for jars at the
    path, and of the age, that they had when it was made.
    """
    installed = Path(pyspark.__file__).parent
    jars = sorted((path.name, path.stat().st_size) for path in (installed / "jars").iterdir())
    workers = (WORKERS / "sitecustomize.py").read_bytes()
    digest = hashlib.sha256(f"{jars}{workers!r}".encode()).hexdigest()[:16]
    home = maven.cache_folder() / f"spark-{pyspark.__version__}-{digest}"
    with _made_once(home) as partial:
        if partial is not None:
            shutil.rmtree(partial, ignore_errors=True)
            shutil.copytree(installed / "bin", partial / "bin")
            packed = partial / "python" / "lib" / "pyspark.zip"  # Spark puts it before all else that workers import
            packed.mkdir(parents=True)
            (packed / "sitecustomize.py").write_bytes(workers)
            shutil.copytree(installed / "jars", partial / "jars", copy_function=_linked)
    return home


def _linked(jar: str, link: str) -> None:
    """Both names refer to one file, or to a copy if they lie on different file systems."""
    try:
        os.link(jar, link)
    except OSError:
        shutil.copy2(jar, link)


def executors_options() -> dict[str, str]:
    """For the executors of a session that was started with :func:`spark_options`."""
    return {"spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", QUICK_JAVA)}


def spark_options() -> str:
    """For ``SPARK_SUBMIT_OPTS``. It takes half a minute when there is no archive yet."""
    home = spark_home()
    return f"{QUICK_JAVA} {USE.format(_archive(home, 'spark', home / 'jars', _make_for_spark))}"


def kafka_options() -> str:
    """For ``ONCELOG_KAFKA_JAVA_OPTIONS``. It takes ten seconds when there is no archive yet."""
    archive = _archive(maven.cache_folder(), "kafka", apache_kafka.kafka_jars(), _make_for_kafka)
    return f"{QUICK_JAVA} {USE.format(archive)}"


def _archive(folder: Path, name: str, jars: Path, make: Callable[[Path], None]) -> Path:
    """The archive in ``folder`` for the current state of these jars and this Java."""
    java = subprocess.run([find_java(), "-version"], capture_output=True, text=True, check=True).stderr
    digest = hashlib.sha256(f"{java}{jars}{jars.stat().st_mtime_ns}".encode()).hexdigest()[:16]
    archive = folder / f"{name}-classes-{digest}.jsa"
    with _made_once(archive) as partial:
        if partial is not None:
            partial.unlink(missing_ok=True)
            make(partial)
    return archive


@contextmanager
def _made_once(path: Path) -> Iterator[Path | None]:
    """Yields the path to build at if ``path`` does not exist yet, else None.

    One process at a time; renamed when done.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            yield None
            return
        partial = path.with_name(f"{path.name}.partial")
        yield partial
        partial.replace(path)


def _make_for_spark(archive: Path) -> None:
    environment = {**os.environ, "SPARK_HOME": str(spark_home()), "SPARK_SUBMIT_OPTS": MAKE.format(archive)}
    made = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True, timeout=840)
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
    """Runs a streaming query with a join, so that the classes that tests need are loaded."""
    spark = session("class archive", master="local[2]", settings=QUICK_START)
    spark.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory() as folder, Broker() as broker:
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.create_topics([NewTopic("in"), NewTopic("out")])
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
