"""A driver that reads and writes Avro, and the registry, killed in the same moment, at steps of the sink."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from oncelog.schemas import AvroDeserializer, AvroSerializer, SchemaRegistry
from tests.conftest import RunningBroker
from tests.integration.pipeline.test_dead_letters import produce
from tests.integration.schema_registry.http_calls import avro, register
from tests.integration.schema_registry.test_several import stored
from tests.integration.spark.kafka_records import committed, create_topic
from tests.support.children import ends_with_us, of_family

pytestmark = [pytest.mark.timeout(3600), pytest.mark.spark, pytest.mark.crash, pytest.mark.soak]

ROOT = Path(__file__).parents[3]
ORDERS = 8
"""How many are sent in a round, before a broken record."""
TIMEOUT_S = 60.0
"""How long a registry may take to start, and to take over from one that was killed in a transaction."""
PIPELINE = """
name = "{topic}"

[source]
topic = "{topic}"
format = "avro"
malformed = "dead-letter"
dead_letter = "{topic}-dead"
options = {{ maxOffsetsPerTrigger = 5 }}

[query]
sql = "select * except (key, timestamp, topic, partition, offset) from source"

[sink]
topic = "{topic}-out"
format = "avro"
key = "id"
"""


class World:
    """A pipeline, a registry in a process of its own, and what was sent."""

    def __init__(self, broker: RunningBroker, name: str, folder: Path) -> None:
        self.broker, self.name, self.folder = broker, name, folder
        self.address = broker.bootstrap_servers
        for topic in (name, f"{name}-out", f"{name}-dead"):
            create_topic(self.address, topic, 1)
        (folder / "orders.toml").write_text(PIPELINE.format(topic=name))
        self.topic = f"_schemas-{name}"
        self.url = "http://127.0.0.1:0"
        self.start_registry()
        self.rounds = 0
        self.registered: dict[str, int] = {}

    def start_registry(self) -> None:
        """At the address that it had before."""
        where = ["-b", self.address, "--listen", self.url.removeprefix("http://"), "--topic", self.topic, "--json"]
        self.registry = subprocess.Popen(
            [sys.executable, "-m", "oncelog", "schema-registry", *where],
            stdout=subprocess.PIPE, text=True, process_group=0, env=of_family(),
        )  # fmt: skip
        ends_with_us(self.registry.pid)
        assert self.registry.stdout is not None
        self.url = json.loads(self.registry.stdout.readline())["schema_registry"]

    def send(self) -> None:
        """Orders of a version with one field more than the last one had, and a broken record."""
        more = [{"name": f"f{n}", "type": ["null", "long"], "default": None} for n in range(self.rounds)]
        order = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}, *more]}
        with SchemaRegistry(self.url, timeout_s=TIMEOUT_S) as registry:
            write = AvroSerializer(registry, order, topic=self.name)
            first = self.rounds * ORDERS
            values = [write({"id": n, **{f["name"]: n for f in more}}) for n in range(first, first + ORDERS)]
        produce(self.address, self.name, [*values[:3], b"broken-%d" % self.rounds, *values[3:]])
        self.rounds += 1

    def run(self, last_step: int) -> subprocess.CompletedProcess[str]:
        """Run to the end, or until a step, where the registry, whose process group the run is in, dies with it."""
        command = [
            sys.executable,
            "-m",
            "tests.integration.pipeline.dying_run",
            self.name,
            str(last_step),
            "orders.toml",
            "--once",
        ]
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        return subprocess.run(
            [*command, "-b", self.address, "--schema-registry", self.url], cwd=self.folder, text=True, timeout=900,
            env={**of_family(), "PYTHONPATH": path}, capture_output=True, process_group=self.registry.pid, check=False,
        )  # fmt: skip

    def register_until_it_dies(self) -> None:
        """Other schemas, all the time, so that the registry is killed while it writes."""
        with suppress(OSError, HTTPException):
            while True:
                text = avro(f"a{len(self.registered)}=1")
                answer = register(self.url, f"{self.name}-others", text)
                if answer.status == 200:
                    self.registered[text] = answer.body["id"]

    def die_at(self, step: int) -> None:
        self.send()
        others = Thread(target=self.register_until_it_dies)
        others.start()
        died = self.run(step)
        assert died.returncode == -signal.SIGKILL, died.stderr
        assert len([line for line in died.stdout.splitlines() if " of batch " in line]) == step
        assert self.registry.wait(60) == -signal.SIGKILL
        others.join()
        self.start_registry()

    def finish(self) -> None:
        ended = self.run(0)
        assert ended.returncode == 0, ended.stderr
        with SchemaRegistry(self.url, timeout_s=TIMEOUT_S) as registry:
            from_avro = AvroDeserializer(registry)
            found = [from_avro(record.value) for record in committed(self.address, f"{self.name}-out")]
        for text, number in self.registered.items():
            assert register(self.url, f"{self.name}-others", text).body == {"id": number}, "a schema has two ids"
        check_rows(found, self.rounds)
        dead = [record.value for record in committed(self.address, f"{self.name}-dead")]
        assert dead == [b"broken-%d" % round_ for round_ in range(self.rounds)]
        self.check_ids()

    def check_ids(self) -> None:
        """Not even a reader of aborted records sees an id with two schemas. A version that was aborted comes again with
        another id; of the records that stay, none has a schema of its subject with two ids."""
        meant: dict[int, set[str]] = {}
        last: dict[tuple[str, int], dict[str, Any]] = {}
        ids: dict[tuple[str, str], set[int]] = {}
        for key, value in stored(self.broker, self.topic):
            if key["keytype"] == "SCHEMA" and value is not None:
                meant.setdefault(value["id"], set()).add(value["schema"])
                last[key["subject"], key["version"]] = value
        for value in last.values():
            ids.setdefault((value["subject"], value["schema"]), set()).add(value["id"])
        assert {number: texts for number, texts in meant.items() if len(texts) > 1} == {}
        assert {schema: numbers for schema, numbers in ids.items() if len(numbers) > 1} == {}
        assert len(self.registered) >= self.rounds, "none was registered beside the runs"
        assert len(ids) >= len(self.registered) + self.rounds


def check_rows(found: Sequence[dict[str, Any]], rounds: int) -> None:
    """Each order once and in order, with the fields of its version; those that came later are null or not there."""
    assert [order["id"] for order in found] == list(range(rounds * ORDERS))
    for order in found:
        written = {f"f{n}": order["id"] for n in range(order["id"] // ORDERS)}
        assert {name: value for name, value in order.items() if value is not None} == {"id": order["id"], **written}


@pytest.mark.parametrize(
    ("broker", "steps"),
    [
        pytest.param("oncelog", range(1, 9), id="oncelog-every"),
        pytest.param("kafka", range(1, 9), id="kafka-every", marks=pytest.mark.kafka),
    ],
    indirect=["broker"],
)
def test_driver_and_registry_that_die_together_lose_and_duplicate_nothing(
    broker: RunningBroker, unique_name: str, tmp_path: Path, steps: Sequence[int]
) -> None:
    world = World(broker, unique_name, tmp_path)
    try:
        for step in steps:
            world.die_at(step)
        world.finish()
    finally:
        world.registry.kill()
        world.registry.wait()
