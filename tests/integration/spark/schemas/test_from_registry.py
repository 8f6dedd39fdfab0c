"""``from_registry`` and ``to_registry`` in a batch, in a stream and through Spark Connect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.functions import struct

import oncelog
from oncelog.schemas import AvroDeserializer, AvroSerializer, SchemaRegistry, SchemaRegistryError
from oncelog.schemas.framing import schema_id_of
from oncelog.spark.schemas import avro_schema, from_registry, to_registry
from tests.integration.spark.schemas import registry_session
from tests.support.connect_server import ConnectServer
from tests.support.restarted_queries import run_to_the_end

pytestmark = pytest.mark.timeout(900)
PROGRAM = Path(registry_session.__file__)


@pytest.fixture(scope="module")
def broker_with_registry() -> Iterator[oncelog.Broker]:
    with oncelog.Broker(schema_registry=True) as broker:
        yield broker


@pytest.fixture
def url(broker_with_registry: oncelog.Broker) -> str:
    found = broker_with_registry.schema_registry_url
    assert found is not None
    return found


def check(found: dict[str, Any], url: str) -> None:
    assert found["ids"] == [1, 2, None, None, None]
    assert found["same"] is True
    read = [{name: value for name, value in row.items() if name != "at"} for row in found["read"]]
    lines = [{"sku": "a", "n": 2}, {"sku": "b", "n": None}]
    assert read == [
        {"n": 0, "id": 1, "lines": [], "problem": None},
        {"n": 1, "id": 2, "lines": lines, "problem": None},
        {"n": 2, "id": None, "lines": None, "problem": None},
        {"n": 3, "id": None, "lines": None, "problem": f"schema id 4095 is not known to {url}"},
        {"n": 4, "id": None, "lines": None, "problem": "no schema id: the length is 3, and an id takes 5 bytes"},
    ]


def test_a_schema_id_in_a_header_takes_precedence(spark: SparkSession, url: str, unique_name: str) -> None:
    with SchemaRegistry(url) as registry:
        serializer = AvroSerializer(registry, '"long"', topic=unique_name, schema_id_serializer="header")
        headers: list[tuple[str, bytes]] = []
        bare = serializer.serialize(unique_name, headers, 5)
        framed = AvroSerializer(registry, '"long"', topic=unique_name)(7)
    unknown = [("__value_schema_id", b"\1" + bytes(16))]
    rows = spark.createDataFrame(
        [(0, bare, headers), (1, framed, []), (2, framed, None), (3, None, headers), (4, bare, unknown), (5, bare, [])],
        "n int, value binary, headers array<struct<key: string, value: binary>>",
    ).coalesce(1)
    read = from_registry("value", url, subject=f"{unique_name}-value", malformed="report", headers="headers")
    found = rows.select("n", read.alias("r")).orderBy("n").collect()
    assert [row["r"]["value"] for row in found] == [5, 7, 7, None, None, None]
    assert "has no schema with the GUID 00000000-0000" in found[4]["r"]["problem"]
    assert found[5]["r"]["problem"] == "no schema id: the length is 1, and an id takes 5 bytes"


def test_from_registry_decodes_columns_of_a_batch(spark: SparkSession, url: str, unique_name: str) -> None:
    check(registry_session.through(spark, url, unique_name), url)


def test_from_registry_decodes_columns_through_a_connect_server(
    server: ConnectServer, url: str, unique_name: str
) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_SUBMIT_OPTS"}
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(PROGRAM.parents[4]), *filter(None, [environment.get("PYTHONPATH")])]
    )
    command = [sys.executable, str(PROGRAM), server.address, url, unique_name]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=800, check=False, env=environment)
    assert ran.returncode == 0, ran.stderr[-4000:]
    check(json.loads(ran.stdout.splitlines()[-1]), url)


def test_from_registry_decodes_a_stream_and_a_malformed_value_fails_it(
    spark: SparkSession, broker_with_registry: oncelog.Broker, url: str, unique_name: str, tmp_path: Path
) -> None:
    address = broker_with_registry.bootstrap_servers
    with SchemaRegistry(url) as registry:
        write = AvroSerializer(registry, registry_session.ORDER, topic=unique_name)
        with oncelog.Producer(bootstrap_servers=address) as producer:
            producer.send_and_wait(unique_name, write({"id": 7}))
    options = {"kafka.bootstrap.servers": address, "subscribe": unique_name, "startingOffsets": "earliest"}
    rows = spark.readStream.format("oncelog").options(**options).load()
    orders = rows.select(from_registry("value", url, subject=f"{unique_name}-value").alias("o")).select("o.id")
    schema = avro_schema(orders.schema, "Copy")
    copies = orders.select(
        "id", to_registry(struct("id"), url, subject=f"{unique_name}-copy", schema=schema).alias("v")
    )

    def run() -> None:
        writer = copies.writeStream.format("parquet").option("path", str(tmp_path / "out")).trigger(availableNow=True)
        run_to_the_end(writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start)

    run()
    ((given, written),) = spark.read.parquet(str(tmp_path / "out")).collect()
    assert given == 7
    with SchemaRegistry(url) as registry:
        assert registry.latest(f"{unique_name}-copy").schema_id == schema_id_of(written)
        assert AvroDeserializer(registry)(written) == {"id": 7}
    with oncelog.Producer(bootstrap_servers=address) as producer:
        producer.send_and_wait(unique_name, b"bad")
    with pytest.raises(
        StreamingQueryException, match="a value of 3 bytes cannot be read: no schema id: the length is 3"
    ):
        run()


def test_an_unwritable_destination_is_reported(spark: SparkSession, url: str, unique_name: str) -> None:
    with pytest.raises(SchemaRegistryError, match="cannot be reached"):
        from_registry("value", {"url": "http://127.0.0.1:1", "retries": 0}, subject="s")
    with SchemaRegistry(url) as registry:
        AvroSerializer(registry, registry_session.ORDER, topic=unique_name)({"id": 1})
    rows = spark.createDataFrame([("x",)], "id string")
    written = rows.selectExpr("struct(id) as row").select(to_registry("row", url, subject=f"{unique_name}-value"))
    with pytest.raises(PySparkException, match=f"a row cannot be written with {unique_name}-value:1"):
        written.collect()
