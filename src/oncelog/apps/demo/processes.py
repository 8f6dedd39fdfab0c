"""Starts the processes of the demo, reads their output, and kills them together with everything they have started.

Called by :mod:`oncelog.apps.demo.run`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from oncelog.errors import OncelogError
from oncelog.runtime import real_json as json


class ProcessFailed(OncelogError):
    """A process of the demo ended without being killed; the text ends with its last output."""


class Child:
    """A Python process that runs one of oncelog's programs in a session (a process group) of its own.

    :param arguments: the interpreter's arguments.
    :param on_line: called with each line that the program prints, from a thread.
    """

    def __init__(self, name: str, arguments: Sequence[str], log: Path, on_line: Callable[[str], None]) -> None:
        self.name = name
        self._log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        self._thread = threading.Thread(target=self._listen, args=(on_line,), name=f"{name}-output", daemon=True)
        self._thread.start()

    def _listen(self, on_line: Callable[[str], None]) -> None:
        if self._process.stdout is not None:
            for line in self._process.stdout:
                on_line(line)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ended(self) -> int | None:
        """The process's exit status; None while it is running."""
        return self._process.poll()

    def order(self, text: str) -> None:
        """Write a line to the process's standard input."""
        if self._process.stdin is not None:
            self._process.stdin.write(f"{text}\n")
            self._process.stdin.flush()

    def check(self) -> None:
        """Check that the process is running.

        :raises ProcessFailed: it has ended.
        """
        status = self.ended
        if status is not None:
            raise ProcessFailed(f"{self.name} ended with {status}; last output in {self._log}:\n{self.last_words()}")

    def last_words(self, size: int = 1500) -> str:
        return self._log.read_text(errors="replace")[-size:].strip() if self._log.exists() else ""

    def kill(self) -> None:
        """Send SIGKILL to the process, its process group and every process that it has started."""
        family = descendants(self.pid)
        if self.ended is None:
            os.killpg(self.pid, signal.SIGKILL)
        for pid in family:
            _signal(pid, signal.SIGKILL)
        self._process.wait()
        self._close()

    def stop(self, timeout_s: float = 30) -> None:
        """Send SIGTERM to the process, then SIGKILL to it and to what it has started, if any of them is left."""
        family = descendants(self.pid)
        if self.ended is None:
            self._process.terminate()
            try:
                self._process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                self.kill()
        for pid in family:
            _signal(pid, signal.SIGKILL)
        self._close()

    def _close(self) -> None:
        self._thread.join(5)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue


def descendants(pid: int) -> list[int]:
    """The processes that ``pid`` has started, directly or indirectly."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    children: dict[int, list[int]] = {}
    for line in listed.splitlines():
        started, parent = map(int, line.split())
        children.setdefault(parent, []).append(started)
    found: list[int] = []
    waiting = [pid]
    while waiting:
        for child in children.get(waiting.pop(), []):
            found.append(child)
            waiting.append(child)
    return found


def kill_process(pid: int) -> None:
    """Send SIGKILL to one process that a child of the demo has started."""
    _signal(pid, signal.SIGKILL)


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


class BrokerProcess:
    """``oncelog serve`` on a folder; it keeps its address when it is killed and restarted."""

    def __init__(self, folder: Path, log: Path) -> None:
        self._folder = folder
        self._log = log
        self._listening = threading.Event()
        self._address = "127.0.0.1:0"
        self._child: Child | None = None

    @property
    def address(self) -> str:
        return self._address

    @property
    def child(self) -> Child:
        if self._child is None:
            raise OncelogError("the broker of the demo is not running")
        return self._child

    def start(self, timeout_s: float = 60) -> None:
        """Start the broker, and return once it is listening."""
        self._listening.clear()
        arguments = ["-m", "oncelog", "serve", "--listen", self._address, "--data", str(self._folder), "--json"]
        self._child = Child("the broker", arguments, self._log, self._heard)
        for _ in range(int(timeout_s * 20)):
            if self._listening.wait(0.05):
                return
            self._child.check()
        raise ProcessFailed(f"the broker did not listen within {timeout_s} s: {self._child.last_words()}")

    def _heard(self, line: str) -> None:
        self._address = json.loads(line)["listening"]
        self._listening.set()

    def kill(self) -> None:
        self.child.kill()

    def stop(self) -> None:
        if self._child is not None:
            self._child.stop()
