"""A query's driver as a program of its own, which reports its progress line by line, and which tests kill."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.children import ends_with_us

ROOT = Path(__file__).parents[3]
TIMEOUT_S = 600


class DriverProcess:
    """``python -m MODULE TASK``, which prints its process ids first, and JSON in each line.

    :param log: where its standard error is appended.
    :param variables: its environment; this process's unless given.
    """

    def __init__(
        self,
        module: str,
        task: Any,
        log: Path,
        python: str = sys.executable,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._log = log
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                [python, "-m", module, json.dumps(task)],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                env=None if variables is None else dict(variables),
            )
        ends_with_us(self.process.pid)
        self._buffer = b""
        self.pids: list[int] = self.line()

    def line(self, timeout_s: float = TIMEOUT_S) -> Any:
        """What the driver says next. Raises AssertionError if it has ended or says nothing."""
        printed = self.line_unless_ended(timeout_s)
        assert printed is not None, f"the driver ended:\n{self._log.read_text()[-3000:]}"
        return printed

    def line_unless_ended(self, timeout_s: float = TIMEOUT_S) -> Any:
        """What the driver says next; None if it has ended."""
        stdout = self.process.stdout
        assert stdout is not None
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._buffer:
            assert time.monotonic() < deadline, f"the driver hangs:\n{self._log.read_text()[-3000:]}"
            ready, _, _ = select.select([stdout], [], [], 1)
            more = os.read(stdout.fileno(), 65536) if ready else b""
            if ready and not more:
                return None
            self._buffer += more
        text, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(text)

    def finish(self) -> tuple[int, str]:
        """Exit status and log."""
        status = self.process.wait(2400)
        return status, self.log()

    def log(self) -> str:
        return self._log.read_text()

    def alive(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        for pid in self.pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait(60)
