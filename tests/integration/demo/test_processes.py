"""Killing a process of the demo also ends what it started, and is not confused with a process that ends by itself."""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path

import pytest

from oncelog.apps.demo.processes import Child, ProcessFailed, descendants

PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import os; os.setsid(); print(os.getpid(), flush=True); input()"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
print(child.stdout.readline().strip(), flush=True)
input()
"""


class Heard:
    """The lines a process prints."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._come = threading.Event()

    def __call__(self, line: str) -> None:
        self.lines.append(line.strip())
        self._come.set()

    def first(self) -> str:
        assert self._come.wait(60)
        return self.lines[0]


def test_kill_ends_a_process_and_its_children_in_other_process_groups(tmp_path: Path) -> None:
    heard = Heard()
    child = Child("parent", ["-c", PARENT], tmp_path / "log", heard)
    grandchild = int(heard.first())
    assert grandchild in descendants(child.pid)
    child.kill()
    assert child.ended == -9
    deadline = time.monotonic() + 60
    while grandchild in _running():
        assert time.monotonic() < deadline


def _running() -> set[int]:
    """Ids of all processes that are not zombies."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,stat="], capture_output=True, text=True, check=True).stdout
    return {int(pid) for pid, state in map(str.split, listed.splitlines()) if not state.startswith("Z")}


def test_process_that_ends_by_itself_is_reported_with_its_last_output(tmp_path: Path) -> None:
    child = Child("the helper", ["-c", "raise SystemExit('out of luck')"], tmp_path / "log", lambda line: None)
    child.stop()
    with pytest.raises(ProcessFailed, match=r"the helper ended with (1|-15)"):
        child.check()


def test_commands_reach_the_standard_input_of_a_process(tmp_path: Path) -> None:
    heard = Heard()
    child = Child("echo", ["-c", "print(input()[::-1])"], tmp_path / "log", heard)
    child.order("abc")
    assert heard.first() == "cba"
    child.stop()
