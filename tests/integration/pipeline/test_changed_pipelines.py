"""Pipelines whose sinks and sources change between two runs: each sink has each record of its time once."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import psycopg
import pytest
from confluent_kafka.admin import AdminClient
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog

from tests.conftest import RunningBroker
from tests.integration.pipeline.conftest import PipelineCommand
from tests.integration.spark.kafka_records import committed, create_topic, eventually, produce
from tests.support.two_phase.postgres import WHY_NOT, Postgres, programs

pytestmark = [pytest.mark.timeout(3600), pytest.mark.spark, pytest.mark.soak]

ROOT = Path(__file__).parents[3]
FILE = "changed.py"
HEAD = """
from oncelog.spark.pipeline import Sink, Source, TableSink, pipeline

COLUMNS = "id long"
"""


class Changing:
    """A pipeline of a Python file whose sources and sinks change; each sink copies ids of all sources."""

    def __init__(self, broker: RunningBroker, name: str, command: PipelineCommand) -> None:
        self.address, self.name, self.command = broker.bootstrap_servers, name, command
        self.sent: dict[str, int] = {}
        self.mode = "append"

    def topic(self, name: str) -> str:
        return f"{self.name}-{name}"

    def make(self, *names: str) -> None:
        for name in names:
            create_topic(self.address, self.topic(name), 1)

    def make_again(self, name: str) -> None:
        admin = AdminClient({"bootstrap.servers": self.address})
        admin.delete_topics([self.topic(name)])[self.topic(name)].result(120)
        eventually(lambda: self.topic(name) in admin.list_topics(timeout=60).topics, False)
        self.make(name)

    def send(self, source: str, count: int) -> None:
        first = self.sent.get(source, 0)
        self.sent[source] = first + count
        values = [b'{"id": %d}' % number for number in range(first, first + count)]
        produce(self.address, self.topic(source), values)

    def write(self, sources: tuple[str, ...], sinks: Mapping[str, str], query: str = "") -> str:
        """:param sinks: by name, a Python expression; empty: the topic of that name."""
        read = ", ".join(f'"{one}": Source("{self.topic(one)}", schema=COLUMNS)' for one in sources)
        wrote = ", ".join(f'"{name}": {text or self.to_topic(name)}' for name, text in sinks.items())
        rows = f".union({sources[-1]}.select('id'))" if len(sources) > 1 else ""
        query = query or f"{sources[0]}.select('id'){rows}"
        text = (
            f"{HEAD}\n\n@pipeline(source={{{read}}}, sink={{{wrote}}}, name='{self.name}', mode='{self.mode}')\n"
            f"def copied({', '.join(sources)}):\n    return dict.fromkeys({list(sinks)!r}, {query})\n"
        )
        return str(self.command.write(FILE, text))

    def to_topic(self, name: str, more: str = "") -> str:
        return f'Sink("{self.topic(name)}"{more})'

    def run(self, sources: tuple[str, ...], sinks: Mapping[str, str], query: str = "") -> None:
        ended = self.command.run(self.write(sources, sinks, query), "--once", "-b", self.address)
        assert ended.returncode == 0, ended.stderr

    def refused(self, sources: tuple[str, ...], sinks: Mapping[str, str], query: str = "") -> str:
        return self.command.refused(self.write(sources, sinks, query), "--once", "-b", self.address)

    def dies(self, step: int, sources: tuple[str, ...], sinks: Mapping[str, str]) -> None:
        """At a step of the sinks, counted from 1."""
        command = [sys.executable, "-m", "tests.integration.pipeline.dying_run", self.name, str(step)]
        died = subprocess.run(
            [*command, self.write(sources, sinks), "--once", "-b", self.address],
            cwd=self.command.folder, capture_output=True, text=True, timeout=900, check=False, start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        )  # fmt: skip
        assert died.returncode == -signal.SIGKILL, died.stderr
        assert len([line for line in died.stdout.splitlines() if " of batch " in line]) == step

    def ended(self) -> int:
        """The offset of the source up to which batches have ended."""
        log = self.command.folder / "oncelog-checkpoints" / self.name
        last = max((int(path.name) for path in (log / "commits").glob("[0-9]*")), default=-1)
        if last < 0:
            return 0
        line = (log / "offsets" / str(last)).read_text().splitlines()[2]
        return int(json.loads(line.partition(":")[2])[self.topic("t")]["0"])

    def ids(self, sink: str) -> list[int]:
        return sorted(json.loads(one.value or b"")["id"] for one in committed(self.address, self.topic(sink)))


@pytest.fixture
def changing(broker: RunningBroker, unique_name: str, pipeline: PipelineCommand) -> Changing:
    return Changing(broker, unique_name, pipeline)


def test_a_source_added_back_on_a_recreated_topic_is_refused_and_the_other_continues(changing: Changing) -> None:
    changing.make("t", "u", "a")
    changing.send("t", 10)
    changing.send("u", 10)
    sinks = {"a": ""}
    changing.run(("t", "u"), sinks)
    changing.send("t", 5)
    changing.send("u", 5)
    changing.run(("t",), sinks)
    changing.run(("t", "u"), sinks)
    assert changing.ids("a") == sorted([*range(15)] * 2)
    changing.send("t", 1)
    changing.run(("t",), sinks)
    changing.send("t", 1)
    changing.run(("t",), sinks)
    changing.make_again("u")
    changing.send("u", 20)  # longer than before
    reported = changing.refused(("t", "u"), sinks)
    assert f"topic {changing.topic('u')} was deleted and recreated (its id was" in reported
    changing.send("t", 1)
    changing.run(("t",), sinks)
    assert changing.ids("a") == sorted([*range(15), *range(18)])


@pytest.mark.parametrize("broker", ["oncelog"], indirect=True)
def test_a_sink_added_after_a_kill_begins_with_the_unfinished_batch(changing: Changing) -> None:
    changing.make("t", *(f"s{step}" for step in range(8)))
    sinks, begins = {"s0": ""}, {"s0": 0}
    for step in range(1, 8):
        changing.send("t", 3)
        changing.dies(step, ("t",), sinks)
        begins[f"s{step}"] = changing.ended()
        changing.send("t", 2)
        sinks[f"s{step}"] = ""
    changing.run(("t",), sinks)
    assert {name: changing.ids(name) for name in begins} == {name: [*range(at, 35)] for name, at in begins.items()}


def tables(folder: Path, url: str) -> dict[str, str]:
    catalog = {
        "catalog.type": "sql",
        "catalog.uri": f"sqlite:///{folder}/catalog.db",
        "catalog.warehouse": f"file://{folder}/warehouse",
    }
    options = {
        "lake": {"format": "delta", "table": "lake/ids"},
        "ice": {"format": "iceberg", "table": "lake.ids", **catalog},
        "database": {"format": "postgresql", "url": url, "table": "ids"},
        "file": {"format": "sqlite", "url": "ids.db", "table": "ids"},
    }
    return {name: f"TableSink({one!r})" for name, one in options.items()}


def rows(folder: Path, url: str, name: str) -> list[int]:
    match name:
        case "lake":
            return sorted(DeltaTable(folder / "lake" / "ids").to_pyarrow_table()["id"].to_pylist())
        case "ice":
            catalog = load_catalog("default", type="sql", uri=f"sqlite:///{folder}/catalog.db")
            return sorted(catalog.load_table("lake.ids").scan().to_arrow()["id"].to_pylist())
        case "database":
            with psycopg.connect(url) as connection:
                return sorted(row[0] for row in connection.execute("SELECT id FROM ids").fetchall())
        case _:
            with sqlite3.connect(folder / "ids.db") as file:
                return sorted(row[0] for row in file.execute("SELECT id FROM ids"))


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    if programs() is None:
        pytest.skip(WHY_NOT)
    with Postgres() as started:
        yield started


@pytest.mark.parametrize("broker", ["oncelog"], indirect=True)
def test_table_sinks_beside_topic_sinks_can_be_added_and_removed(changing: Changing, postgres: Postgres) -> None:
    folder, url = changing.command.folder, postgres.new_database()
    all_tables = tables(folder, url)
    changing.make("t", "a", "b")
    changing.send("t", 10)
    changing.run(("t",), {"a": ""})
    reported = changing.refused(("t",), {"a": "", **all_tables})
    assert "none to a table as sink 'lake' (delta table " in reported
    changing.send("t", 1)
    changing.run(("t",), {"a": ""})  # the change can be taken back
    first = {name: text.replace("})", ", 'onMissingMarker': 'write'})") for name, text in all_tables.items()}
    changing.send("t", 4)
    changing.run(("t",), {"a": "", **first})
    changing.send("t", 5)
    changing.run(("t",), {"a": "", **all_tables})
    assert changing.ids("a") == [*range(20)]
    for name in all_tables:
        assert rows(folder, url, name) == [*range(11, 20)], name
    changing.send("t", 5)
    fewer = {name: text for name, text in all_tables.items() if name != "file"}
    changing.run(("t",), {"a": "", "b": "", **fewer})
    reported = changing.refused(("t",), {"a": "", "b": "", **all_tables})
    assert "table sink 'file' was taken out" in reported
    changing.send("t", 5)
    changing.run(("t",), {"b": "", **fewer})
    changing.send("t", 5)
    changing.run(("t",), {"a": "", "b": "", **fewer})
    assert changing.ids("a") == [*range(35)]
    assert changing.ids("b") == [*range(20, 35)]
    for name in fewer:
        assert rows(folder, url, name) == [*range(11, 35)], name
    assert rows(folder, url, "file") == [*range(11, 20)]


@pytest.mark.parametrize("broker", ["oncelog"], indirect=True)
def test_stateful_sink_that_moves_from_a_topic_to_a_table_keeps_its_state(changing: Changing) -> None:
    """``--only`` leaves the pipeline alone meanwhile."""
    changing.make("t", "a", "other")
    query = "t.groupBy('id').count()"
    table = """TableSink({"format": "sqlite", "url": "ids.db", "table": "ids", "mode": "upsert", "key": "id"%s})"""
    changing.mode = "update"
    changing.send("t", 10)
    changing.run(("t",), {"a": ""}, query)
    changing.sent["t"] = 0
    changing.send("t", 5)
    assert "none to a table as sink 'a' (sqlite table ids)" in changing.refused(("t",), {"a": table % ""}, query)
    moved = Path(changing.write(("t",), {"a": table % ", 'onMissingMarker': 'write'"}, query))
    other = f"\n\n@pipeline(source='{changing.topic('t')}', sink={changing.to_topic('other')}, name='other')\n"
    moved.write_text(moved.read_text() + other + "def other(rows):\n    return rows.select('value')\n")
    for only in ("other", changing.name):
        ended = changing.command.run(str(moved), "--once", "--only", only, "-b", changing.address)
        assert ended.returncode == 0, ended.stderr
        assert (changing.command.folder / "ids.db").exists() == (only != "other")
    with sqlite3.connect(changing.command.folder / "ids.db") as file:
        assert sorted(file.execute("SELECT * FROM ids")) == [(number, 2) for number in range(5)]
    assert changing.ids("a") == [*range(10)]
    assert changing.ids("other") == sorted([*range(10), *range(5)])
