"""``oncelog serve`` as a child process: killed, stopped and started again on one address and folder."""

from __future__ import annotations

import json
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from oncelog.errors import OncelogError
from tests.support.children import ends_with_us


class NodeFailed(OncelogError):
    """The broker's process ended, or did not start; the text ends with its log."""


class ServeProcess:
    """The process; its data is in ``folder / "data"``, its log in ``folder / "serve.log"``."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        self.data = folder / "data"
        self.log_path = folder / "serve.log"
        self._settings = dict(settings)
        self.prefix: tuple[str, ...] = ()
        """A command that wraps the broker's, such as one that limits its resources."""
        self.listen = "127.0.0.1:0"
        """The address it listens on; ``--listen`` of the command."""
        self.arguments: tuple[str, ...] = ()
        """More arguments of the command."""
        self.faults = ""
        """Where it takes faults over HTTP, if the arguments have it do so."""
        self._process: subprocess.Popen[str] | None = None

    @property
    def bootstrap_servers(self) -> str:
        return self.listen

    @property
    def pid(self) -> int:
        return self._running().pid

    def start(self) -> float:
        """Start and wait until it serves; returns how many seconds that took."""
        begin = time.perf_counter()
        self.launch()
        self.await_ready()
        return time.perf_counter() - begin

    def launch(self) -> None:
        """Start, and return at once."""
        command = [*self.prefix, sys.executable, "-m", "oncelog", "serve", "--json", "--listen", self.listen]
        command += ["--data", str(self.data), *self.arguments]
        for name, value in self._settings.items():
            command += ["--set", f"{name}={value}"]
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL, text=True, start_new_session=True
            )
        ends_with_us(self._process.pid)

    def await_ready(self, timeout_s: float = 240) -> None:
        process = self._running()
        stdout = process.stdout
        if stdout is None:
            raise NodeFailed("the broker's output is not there to be read")
        ready, _, _ = select.select([stdout], [], [], timeout_s)
        line = stdout.readline() if ready else ""
        if not line:
            raise NodeFailed(f"the broker does not serve (exit code {process.poll()}):\n{self.log_tail()}")
        reported = json.loads(line)
        self.listen, self.faults = reported["listening"], reported.get("faults", "")

    def check_alive(self) -> None:
        """:raises NodeFailed: the process ended on its own."""
        if self._running().poll() is not None:
            raise NodeFailed(f"the broker ended with {self._running().returncode}:\n{self.log_tail()}")

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def close(self) -> None:
        if self._process is not None:
            self.kill()

    def log_tail(self, size: int = 3000) -> str:
        return self.log_path.read_text(errors="replace")[-size:] if self.log_path.exists() else ""

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            raise NodeFailed("the broker is not running: start it first")
        return self._process

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._running(), None
        process.send_signal(how)
        process.wait(60)
        if process.stdout is not None:
            process.stdout.close()
