"""A trace passes through a pipeline: the headers of the records read are headers of the records written."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.spark.pipeline.definition import ONLY, Pipeline, Sink, Source
from oncelog.spark.pipeline.running import RunSettings, start
from oncelog.spark.versions import SOURCE_NAMES
from tests.conftest import RunningBroker

PARENT = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_requested_trace_headers_pass_through_a_json_pipeline(
    spark: SparkSession, oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    servers, out = oncelog_broker.bootstrap_servers, f"{unique_name}-out"
    with Admin(bootstrap_servers=servers) as admin:
        admin.create_topics([NewTopic(unique_name, 1), NewTopic(out, 1)])
    with Producer(bootstrap_servers=servers) as producer:
        producer.send(unique_name, b'{"n": 1}', headers=[("traceparent", PARENT), ("own", None)])
        producer.send(unique_name, b'{"n": 2}')
        producer.flush()

    def doubled(rows: DataFrame) -> DataFrame:
        return rows.select((col("n") * 2).alias("n"), "headers")

    source = Source(unique_name, schema="n int", options={"includeHeaders": "true"})
    pipeline = Pipeline(unique_name, {ONLY: source}, {ONLY: Sink(out)}, doubled)
    before = spark.conf.get(SOURCE_NAMES)
    start(spark, pipeline, RunSettings(servers, str(tmp_path), once=True)).awaitTermination()
    assert spark.conf.get(SOURCE_NAMES) == before  # the session's other queries need no names
    with Consumer(out, bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        first, second = next(consumer), next(consumer)
    assert (first.value, second.value) == (b'{"n":2}', b'{"n":4}')
    assert list(first.headers) == [("traceparent", PARENT), ("own", None)]
    assert list(second.headers) == []
