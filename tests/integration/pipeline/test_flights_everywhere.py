"""The example of flights to a topic, a Delta table and PostgreSQL: killed at each step, each row is everywhere once."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from deltalake import DeltaTable
from psycopg.conninfo import conninfo_to_dict

from oncelog.apps.demo.flights import Flight, read_flights
from oncelog.apps.demo.processes import BrokerProcess
from oncelog.apps.demo.proof import read_topic
from oncelog.spark.pipeline.file import load_pipelines
from tests.support.children import ends_with_us, of_family
from tests.support.two_phase.postgres import WHY_NOT, Postgres, programs

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
NAME = "flights-everywhere"
FLIGHTS = 6_000
A_BATCH = 1_000
STEPS = range(4, 14)
"""A batch that is in a sink has three steps there, so each of these is one further: rows made, marker added and
committed in Delta, then in PostgreSQL, then half produced to committed in the topic."""
Rows = list[tuple[Any, ...]]


class World:
    """The example's files in a folder of their own, beside a broker that can be killed, and an empty database."""

    def __init__(self, folder: Path, postgres: Postgres) -> None:
        self.folder = folder
        self.broker = BrokerProcess(folder / "broker", folder / "broker.log")
        self.broker.start()
        ends_with_us(self.broker.child.pid)
        self.database = postgres.new_database()
        shutil.copy(EXAMPLES / "airlines.csv", folder)
        text = (EXAMPLES / "flights_everywhere.toml").read_text()
        assert "maxOffsetsPerTrigger = 20000" in text
        (folder / "example.toml").write_text(text.replace("= 20000", f"= {A_BATCH}"))

    def send(self, count: int) -> None:
        command = [sys.executable, str(EXAMPLES / "send_flights.py"), self.broker.address, str(count)]
        subprocess.run(command, check=True, timeout=300)

    def run(self, last_step: int) -> subprocess.CompletedProcess[str]:
        """Run until everything is processed, or until a step of the first batch."""
        command = [
            sys.executable,
            "-m",
            "tests.integration.pipeline.dying_run",
            NAME,
            str(last_step),
            "example.toml",
            "--once",
        ]
        given = conninfo_to_dict(self.database)
        where = {"PGHOST": given["host"], "PGUSER": given["user"], "PGDATABASE": given["dbname"]}
        environment = {**of_family(), **{name: str(value) for name, value in where.items()}}
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        return subprocess.run(
            [*command, "--bootstrap-server", self.broker.address], cwd=self.folder, env=environment, timeout=560,
            capture_output=True, text=True, start_new_session=True, check=False,
        )  # fmt: skip

    def kill_broker(self) -> None:
        self.broker.kill()
        self.broker.start()
        ends_with_us(self.broker.child.pid)

    def kill_connections(self) -> None:
        with psycopg.connect(self.database, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")

    def topic(self) -> Rows:
        found = (json.loads(record.value or b"") for record in read_topic(self.broker.address, "flights-late"))
        return [tuple(one[name] for name in ("id", "carrier", "name", "origin", "dep_delay")) for one in found]

    def lake(self) -> Rows:
        columns = ["id", "hour", "carrier", "flight", "tailnum", "origin", "dest", "dep_delay"]
        table = DeltaTable(self.folder / "lake" / "flights").to_pyarrow_table(columns=columns)
        return [tuple(row.values()) for row in table.to_pylist()]

    def rows(self) -> Rows:
        with psycopg.connect(self.database) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            return connection.execute("SELECT id, hour, carrier, airline, dest, dep_delay FROM flights").fetchall()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    if programs() is None:
        pytest.skip(WHY_NOT)
    with Postgres() as postgres:
        made = World(tmp_path, postgres)
        yield made
        made.broker.stop()


def in_order(rows: Iterable[tuple[Any, ...]]) -> Rows:
    return sorted(rows, key=lambda row: row[0])


def hour(flight: Flight) -> datetime:
    return datetime.fromisoformat(flight.time_hour).astimezone(UTC)


def check(world: World, flights: list[Flight]) -> None:
    """What each sink has, row by row, beside the data file."""
    with (EXAMPLES / "airlines.csv").open(encoding="utf-8", newline="") as file:
        names = {row["carrier"]: row["name"] for row in csv.DictReader(file)}
    late = [one for one in flights if one.dep_delay is not None and one.dep_delay > 60]
    assert in_order(world.topic()) == in_order(
        (one.id, one.carrier, names.get(one.carrier), one.origin, one.dep_delay) for one in late
    )
    assert in_order(world.lake()) == in_order(
        (f.id, hour(f), f.carrier, f.flight, f.tailnum, f.origin, f.dest, f.dep_delay) for f in flights
    )
    assert in_order(world.rows()) == in_order(
        (f.id, hour(f), f.carrier, names.get(f.carrier), f.dest, f.dep_delay) for f in flights
    )


def test_example_is_a_pipeline_with_a_topic_and_two_tables() -> None:
    (one,) = load_pipelines(EXAMPLES / "flights_everywhere.toml")
    assert one.name == NAME
    assert [list(one.topic_sinks), list(one.table_sinks)] == [["late"], ["lake", "database"]]
    page = (ROOT / "docs" / "how-to" / "tables.md").read_text(encoding="utf-8")
    assert (EXAMPLES / "flights_everywhere.toml").read_text(encoding="utf-8") in page


@pytest.mark.soak
@pytest.mark.crash
@pytest.mark.timeout(3600)
def test_each_sink_has_each_flight_once_whichever_step_the_driver_is_killed_at(world: World) -> None:
    """Killed at step after step of a batch; the broker and PostgreSQL's connections in between."""
    world.send(FLIGHTS)
    for last_step in STEPS:
        died = world.run(last_step)
        assert died.returncode == -signal.SIGKILL, died.stderr
        assert len(died.stdout.splitlines()) == last_step
        if last_step % 5 == 0:
            world.kill_broker()
        if last_step % 4 == 0:
            world.kill_connections()
    ended = world.run(0)
    assert ended.returncode == 0, ended.stderr
    check(world, read_flights(FLIGHTS))
