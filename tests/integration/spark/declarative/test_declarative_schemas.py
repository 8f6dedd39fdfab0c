"""``spark-pipelines`` with flows that read and write Avro by a registry."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import oncelog
from oncelog.schemas import AvroDeserializer, AvroSerializer, SchemaRegistry
from tests.integration.spark.kafka_records import committed, eventually
from tests.support.declarative import EXAMPLE, Project

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(1800)]

ORDER = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}, {"name": "n", "type": "int"}]}'
LARGE = '{"type": "record", "name": "Large", "fields": [{"name": "id", "type": "long"}]}'
FLOWS = """
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import struct

from oncelog.spark.schemas import from_registry, to_registry

spark = SparkSession.active()
AT = {{"kafka.bootstrap.servers": "{address}"}}
dp.create_sink("large", "oncelog", {{**AT, "topic": "{topic}"}})


@dp.append_flow(target="large")
def large_orders() -> DataFrame:
    rows = spark.readStream.format("oncelog").options(**AT, subscribe="{source}", startingOffsets="earliest").load()
    read = rows.select(from_registry("value", "{url}", subject="{source}-value", malformed="null").alias("it"))
    large = read.where("it.n >= 5").select(struct("it.id").alias("row"))
    return large.select(to_registry("row", "{url}", subject="{topic}-value", schema=\'{schema}\').alias("value"))
"""


def test_a_flow_reads_and_writes_with_a_schema_registry(unique_name: str, tmp_path: Path) -> None:
    with oncelog.Broker(schema_registry=True) as broker:
        address, url = broker.bootstrap_servers, broker.schema_registry_url
        home, java = Path(os.environ["SPARK_HOME"]), os.environ["SPARK_SUBMIT_OPTS"]
        project = Project(tmp_path, address, unique_name, sys.executable, home, java)
        given = {"address": address, "url": url, "source": project.web, "topic": project.sales, "schema": LARGE}
        project.replace({EXAMPLE / "transformations" / "large.py": FLOWS.format(**given)})
        with SchemaRegistry(url) as registry, oncelog.Producer(bootstrap_servers=address) as producer:
            write = AvroSerializer(registry, ORDER, topic=project.web)
            for first in (0, 10):
                for number in range(first, first + 10):
                    producer.send_and_wait(project.web, write({"id": number, "n": number % 10}))
                producer.send_and_wait(project.web, b"broken")
                project.run("run")
            read = AvroDeserializer(registry)

            def found() -> list[int]:
                return sorted(read(record.value)["id"] for record in committed(address, project.sales))

            eventually(found, [5, 6, 7, 8, 9, 15, 16, 17, 18, 19])
            assert registry.versions(f"{project.sales}-value") == [1]
