"""The example of orders whose schema changes halfway, run as a user runs it, on both brokers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from oncelog.broker.server.listener_settings import Address
from oncelog.schema_registry.serving import RegistryThread
from oncelog.schema_registry.settings import RegistrySettings
from oncelog.schemas import AvroDeserializer, SchemaRegistry
from oncelog.spark.pipeline.file import load_pipelines
from tests.integration.pipeline.test_dead_letters import headers_of
from tests.integration.spark.kafka_records import committed
from tests.support.apache_kafka import ApacheKafka
from tests.support.restarted_queries import worker_was_late

pytestmark = [pytest.mark.timeout(1200)]

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "orders"
PAGE = ROOT / "docs" / "how-to" / "schemas-in-pipelines.md"


def run_example(folder: Path, java: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it as a user does; once more if the machine was too busy for Spark."""
    while True:
        ended = subprocess.run(
            [sys.executable, str(EXAMPLE / "order_flow.py"), *arguments],
            cwd=folder, env={**os.environ, **java}, capture_output=True, text=True, timeout=560, check=False,
        )  # fmt: skip
        if ended.returncode == 0 or arguments or not worker_was_late(ended.stderr):
            return ended


def rows_of(text: str) -> list[list[str]]:
    """The table of stored records, without what differs in each run: producers, and the id of the checkpoint."""
    rows = [line.split("\t") for line in text.splitlines() if re.match(r"orders-(large|dead)-0:\d", line)]
    return sorted([row[0], row[1], *row[4:]] for row in rows)


@pytest.fixture
def kafka_and_registry(kafka_class_archive: None, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A node without topics, because those of the example have plain names, and a registry in front of it."""
    with ApacheKafka(tmp_path / "kafka") as kafka:
        settings = RegistrySettings({"bootstrap.servers": kafka.bootstrap_servers})
        registry = RegistryThread(settings, Address("127.0.0.1", 0)).start()
        yield kafka.bootstrap_servers, registry.url
        registry.stop()


def test_page_shows_the_pipeline_of_the_example() -> None:
    assert (EXAMPLE / "large_orders.toml").read_text() in PAGE.read_text()
    (one,) = load_pipelines(EXAMPLE / "large_orders.toml")
    assert one.name == "large-orders"


@pytest.mark.spark
@pytest.mark.soak
def test_the_example_runs_unchanged_and_prints_what_the_page_shows(tmp_path: Path, warm_java: dict[str, str]) -> None:
    ended = run_example(tmp_path, warm_java)
    assert ended.returncode == 0, ended.stderr
    page = PAGE.read_text().partition("## An example")[2]
    shown = re.sub("  +", "\t", page.partition("```text\n")[2].partition("```")[0])
    assert len(rows_of(shown)) == 6
    assert rows_of(ended.stdout) == rows_of(shown)
    reported = next(line for line in ended.stderr.splitlines() if "; new: coupon" in line)
    assert f"    {reported}\n" in page
    assert list(tmp_path.iterdir()) == []


@pytest.mark.kafka
@pytest.mark.soak
@pytest.mark.spark
def test_example_on_apache_kafka_writes_each_large_order_once_and_the_broken_record_with_its_batch(
    kafka_and_registry: tuple[str, str], tmp_path: Path, warm_java: dict[str, str]
) -> None:
    address, registry_url = kafka_and_registry
    ended = run_example(tmp_path, warm_java, address, registry_url)
    assert ended.returncode == 0, ended.stderr
    assert "source is read into orders-value:2, and was into orders-value:1; new: coupon" in ended.stderr
    with SchemaRegistry(registry_url) as registry:
        from_avro = AvroDeserializer(registry)
        large = [from_avro(record.value) for record in committed(address, "orders-large")]
        assert registry.versions("orders-value") == registry.versions("orders-large-value") == [1, 2]
    assert [(order["id"], order["customer"], order.get("coupon")) for order in large] == [
        (1, "ada", None),
        (4, "dan", "SPRING"),
    ]
    (dead,) = committed(address, "orders-dead")
    assert dead.value == b'{"id": 5, "amount": 300}'
    assert headers_of(dead)["oncelog.error"] == "no schema id: the first byte is 123, not 0"
    rows = [line.split("\t") for line in ended.stdout.splitlines()]
    written_by = {row[0]: row[2:4] for row in rows if len(row) > 4}
    assert written_by["orders-dead-0:0"] == written_by["orders-large-0:2"] != written_by["orders-large-0:0"]
