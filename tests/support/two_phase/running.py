"""Runs the programs: in children that are killed, and in threads that stand still."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import psycopg

from tests.support.two_phase.writer import KINDS, STARTED

LOCKED = (psycopg.errors.LockNotAvailable, sqlite3.OperationalError)
"""Somebody holds a lock for longer than the program waits."""


class Writers:
    """Runs a program in children of a process that has imported everything."""

    def __init__(self, kind: str, servers: str, name: str, database: str) -> None:
        self._order = {"kind": kind, "servers": servers, "name": name, "database": database}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.two_phase.writer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )

    def run(self, kill_at: int = -1, kill_after_s: float | None = None, transactions: int = 3) -> int:
        """The child's exit status."""
        self.begin(kill_at, kill_after_s, transactions)
        return self.end()

    def begin(self, kill_at: int = -1, kill_after_s: float | None = None, transactions: int = 3) -> None:
        assert self._process.stdin is not None
        more = {"kill_at": kill_at, "kill_after_s": kill_after_s, "transactions": transactions}
        self._process.stdin.write(json.dumps(self._order | more) + "\n")
        self._process.stdin.flush()

    def await_start(self) -> None:
        """Wait until the program writes."""
        assert self._answer() == json.loads(STARTED)

    def end(self) -> int:
        answer = self._answer()
        return int(str(self._answer() if answer == json.loads(STARTED) else answer))

    def _answer(self) -> object:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate(timeout=60)


class Paused:
    """An instance that stops at its ``at``-th point until it is released."""

    def __init__(self, kind: str, servers: str, name: str, database: str, at: int) -> None:
        self._left = at
        self.standing, self._go = threading.Event(), threading.Event()
        self.outcome: BaseException | None = None
        self._kind, self._servers, self._name, self._database = kind, servers, name, database
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _point(self) -> None:
        if self._left == 0:
            self.standing.set()
            assert self._go.wait(120)
        self._left -= 1

    def _run(self) -> None:
        program = KINDS[self._kind](self._servers, self._name, self._database, self._point)
        try:
            program.start()
            for _ in range(2):
                program.write()
        except BaseException as error:  # noqa: BLE001 - looked at by the test
            self.outcome = error
        finally:
            self.standing.set()
            program.close()

    def resume(self) -> None:
        self._go.set()
        self._thread.join(120)
        assert not self._thread.is_alive()
