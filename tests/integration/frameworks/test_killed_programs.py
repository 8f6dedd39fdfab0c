"""Quix Streams and Faust as in ``docs/how-to/frameworks.md``: each record once, though their processes are killed."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from tests.conftest import RunningBroker
from tests.integration.client.reading import values
from tests.support.children import ends_with_us
from tests.support.python_environments import python_with

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]
ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "how-to" / "frameworks.md"
CACHE = Path.home() / ".cache" / "oncelog" / "frameworks"
TIMEOUT_S = 180


class Program(NamedTuple):
    """:param words: its file on the page, and what follows it on the command line."""

    name: str
    words: tuple[str, ...]
    requirements: tuple[str, ...]
    ours: bool = False


QUIX = Program("quix-streams", ("upper.py",), ("quixstreams==3.28.1",))
FAUST = Program(
    "faust",
    ("upper_faust.py", "worker", "--without-web"),
    ("faust-streaming==0.15.3", "click>=8.1", "crc32c>=2.7", "cramjam>=2.9"),
    ours=True,
)


class Upper:
    """Two topics, and processes that copy one to the other in upper case."""

    def __init__(self, of: Program, servers: str, name: str, folder: Path) -> None:
        self._servers, self._folder = servers, folder
        self._source, self.target = f"{name}-in", f"{name}-out"
        file = of.words[0]
        (program,) = re.findall(
            rf"`{re.escape(file)}`[^`]*(?:`[^`]*`)?:\n\n```text\n(.*?)```", PAGE.read_text(), re.DOTALL
        )
        (folder / file).write_text(program)
        self._command = [python_with(of.requirements, CACHE, of.name), *of.words]
        self._path = {"PYTHONPATH": str(ROOT / "src")} if of.ours else {}
        self._processes: list[subprocess.Popen[bytes]] = []
        self.count = 0
        with Admin(bootstrap_servers=servers) as admin:
            admin.create_topics([NewTopic(self._source, 2, 1), NewTopic(self.target, 2, 1)])

    def add(self, count: int) -> None:
        with Producer(bootstrap_servers=self._servers) as producer:
            for number in range(self.count, self.count + count):
                producer.send(self._source, b"record %d" % number, key=b"%d" % number)
        self.count += count

    def start(self) -> subprocess.Popen[bytes]:
        given = {"KAFKA_SERVERS": self._servers, "SOURCE": self._source, "TARGET": self.target}
        own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        with (self._folder / "log").open("ab") as log:
            process = subprocess.Popen(
                self._command, env=own | given | self._path, cwd=self._folder, stdout=log, stderr=log
            )
        ends_with_us(process.pid)
        self._processes.append(process)
        return process

    def await_results(self, count: int, isolation_level: str) -> None:
        config = {"bootstrap_servers": self._servers, "isolation_level": isolation_level}
        with Consumer(self.target, auto_offset_reset="earliest", **config) as consumer:  # type: ignore[arg-type]
            for _ in range(count):
                found = consumer.getone(timeout_ms=TIMEOUT_S * 1000)
                assert found is not None, (self._folder / "log").read_text()[-4000:]

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait(TIMEOUT_S)


@pytest.fixture(params=[QUIX, FAUST], ids=lambda program: program.name)
def upper(request: pytest.FixtureRequest, broker: RunningBroker, unique_name: str, tmp_path: Path) -> Iterator[Upper]:
    made = Upper(request.param, broker.bootstrap_servers, unique_name, tmp_path)
    yield made
    made.close()


def test_a_killed_process_loses_and_duplicates_no_record(broker: RunningBroker, upper: Upper) -> None:
    upper.add(2000)
    for _ in range(3):
        before = len(values(broker.bootstrap_servers, upper.target, 2, "read_uncommitted"))
        process = upper.start()
        upper.await_results(before + 1, "read_uncommitted")
        process.kill()
        process.wait(TIMEOUT_S)
        upper.add(500)
    last = [upper.start(), upper.start()]
    upper.await_results(upper.count, "read_committed")
    for process in last:
        process.kill()
        process.wait(TIMEOUT_S)
    found = sorted(value or b"" for value in values(broker.bootstrap_servers, upper.target, 2))
    assert found == sorted(b"RECORD %d" % number for number in range(upper.count))
