"""Spark's own Kafka sink under the demo's crashes, for comparison: ``python -m oncelog.apps.demo.sparks_sink``.

A process that can be killed, started by :mod:`oncelog.apps.demo.spark_sink_crashes`. It starts a session and waits for
a line on standard input. Then it copies the flights with ``format("kafka")`` and ends when it has copied every record
that existed when it began. It keeps a checkpoint, as every user of the sink would.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from oncelog.apps.demo.driver import SPARK
from oncelog.spark.maven import spark_connector_jars
from oncelog.spark.session import session


@click.command()
@click.option("--bootstrap-server", required=True)
@click.option("--source", required=True)
@click.option("--sink", required=True)
@click.option("--rows", required=True, help="Of one micro-batch, at most.")
@click.option("--checkpoint", type=click.Path(path_type=Path), required=True)
def main(bootstrap_server: str, source: str, sink: str, rows: str, checkpoint: Path) -> None:
    """Copy one topic into another with Spark's own source and sink."""
    jars = ",".join(str(jar) for jar in spark_connector_jars())
    spark = session("Spark's own sink", master="local[2]", settings={**SPARK, "spark.jars": jars})
    if not sys.stdin.readline():
        return
    at = {"kafka.bootstrap.servers": bootstrap_server}
    reading = {**at, "subscribe": source, "startingOffsets": "earliest", "maxOffsetsPerTrigger": rows}
    stream = spark.readStream.format("kafka").options(**reading, **{"kafka.isolation.level": "read_committed"}).load()
    writer = stream.select("key", "value").writeStream.format("kafka").options(**at, topic=sink)
    writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start().awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main()
