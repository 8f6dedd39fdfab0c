"""The tutorial's files and commands, as the page shows them, on our broker; its programs are killed."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import oncelog
from tests.integration.spark.kafka_records import committed
from tests.support.children import of_family

PAGE = (Path(__file__).parents[2] / "docs" / "tutorials" / "first-aggregation.md").read_text(encoding="utf-8")
EVENTS, FIRST, MORE, ALL, TABLE = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
(PROGRAM,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
(PIPELINE,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^    ((?:oncelog|cat|python|sqlite3) .*)$", PAGE, re.MULTILINE)

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.fixture(autouse=True)
def quick_spark(spark_class_archive: None) -> None:
    """For all tests here."""


def test_the_query_on_the_page_writes_each_window_once_despite_a_kill(
    warm_java: dict[str, str], tmp_path: Path
) -> None:
    with oncelog.Broker(tmp_path / "data") as broker:
        folder = _Folder(tmp_path, broker.bootstrap_servers)
        folder.command("topics create events")
        folder.command("topics create totals")
        folder.command("cat events.jsonl")
        with folder.program() as process:
            assert folder.totals(len(FIRST.splitlines()), process) == sorted(FIRST.splitlines())
        folder.command("cat more.jsonl")
        with folder.program() as process:
            assert folder.totals(len(ALL.splitlines()), process) == sorted(ALL.splitlines())
        shown = folder.command("consume --topic totals --from-beginning --to-end -b")
        assert [line for line in ALL.splitlines() if line not in shown] == []

        folder.command("pipeline run totals.toml", **warm_java)
        (query,) = (re.findall(r'"(.*)"', command)[0] for command in COMMANDS if command.startswith("sqlite3 "))
        table = sqlite3.connect(tmp_path / "totals.db")
        rows = table.execute(query).fetchall()
        table.close()
        assert ["|".join(map(str, row)) for row in rows] == TABLE.splitlines()


class _Folder:
    """The reader's folder, with the files of the page."""

    def __init__(self, path: Path, servers: str) -> None:
        self._path = path
        self._servers = servers
        path.joinpath("events.jsonl").write_text(EVENTS)
        path.joinpath("more.jsonl").write_text(MORE)
        path.joinpath("totals.py").write_text(PROGRAM.replace("127.0.0.1:9092", servers))
        path.joinpath("totals.toml").write_text(PIPELINE)

    def command(self, words: str, **environment: str) -> str:
        """Run the page's command with these words; returns what it prints."""
        (line,) = (command for command in COMMANDS if words in command)
        line = re.sub(r"\boncelog (?=\w)", f"{sys.executable} -m oncelog ", line)
        ended = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line.replace("127.0.0.1:9092", self._servers)],
            cwd=self._path,
            env=of_family() | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    @contextmanager
    def program(self) -> Iterator[subprocess.Popen[bytes]]:
        """``python totals.py``, killed at the end."""
        with (self._path / "totals.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "totals.py"],
                cwd=self._path,
                env=of_family(),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def totals(self, count: int, process: subprocess.Popen[bytes]) -> list[str]:
        """The topic's committed values, sorted, when there are this many, or the program has ended by itself."""
        with oncelog.Consumer(
            "totals",
            bootstrap_servers=self._servers,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
        ) as consumer:
            found = 0
            while found < count and process.poll() is None:
                found += consumer.getone(timeout_ms=1000) is not None
        return sorted((record.value or b"").decode() for record in committed(self._servers, "totals"))
