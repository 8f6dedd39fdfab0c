"""The program that is killed: writes rows with records, as the how-to shows it.

``python -m tests.support.two_phase.writer`` reads orders to run it (JSON lines) and forks a child for each, so that a
round costs no start of an interpreter; it answers with ``STARTED`` and the child's exit status. It has no thread of
its own.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from oncelog.client.blocking import Producer
from tests.support.two_phase.databases import open_database

EXAMPLE = Path(__file__).parents[3] / "examples" / "row_and_record.py"
_spec = importlib.util.spec_from_file_location("row_and_record", EXAMPLE)
assert _spec is not None
assert _spec.loader is not None
row_and_record: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(row_and_record)

PARTITIONS = 2
STARTED = '"started"'
"""What a child says before its first transaction."""


class Watched:
    """Calls ``point`` before and after every call to a producer, a connection or its cursors."""

    def __init__(self, inner: Any, point: Callable[[], None]) -> None:
        self._inner, self._point = inner, point

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            self._point()
            result = found(*args, **kwargs)
            self._point()
            return Watched(result, self._point) if name == "cursor" else result

        return call


class Program:
    """One instance of the program."""

    def __init__(
        self, servers: str, name: str, address: str, point: Callable[[], None] = lambda: None, wait_s: float = 60
    ) -> None:
        database = open_database(address, wait_s)
        self.topic = name
        self.producer = Producer(
            bootstrap_servers=servers, transactional_id=name, two_phase_commit=True, retry_backoff_ms=20
        )
        watched = Watched(self.producer, point), Watched(database.connection, point)
        self.writing = row_and_record.RowsAndRecords(*watched, database.placeholder)
        self._database = database.connection

    def start(self) -> None:
        self.writing.start()

    def write(self) -> None:
        """One row, with a record in each partition."""
        writing = self.writing
        with writing.transaction():
            (number,) = writing.execute("SELECT COALESCE(MAX(number), 0) + 1 FROM orders").fetchone()
            writing.execute("INSERT INTO orders VALUES (?)", number)
            for partition in range(PARTITIONS):
                writing.producer.send(self.topic, b"%d" % number, partition=partition)

    def close(self) -> None:
        self.producer.stop()
        self._database.close()


def _run(order: dict[str, Any]) -> None:
    left = order["kill_at"]

    def point() -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    program = Program(order["servers"], order["name"], order["database"], point)
    program.start()
    os.write(sys.stdout.fileno(), f"{STARTED}\n".encode())  # in one chunk, or not at all: it may be killed here
    for _ in range(order["transactions"]):
        program.write()
    program.close()


def _child(order: dict[str, Any]) -> int:
    try:
        _run(order)
    except Exception:  # noqa: BLE001 - told by the exit status, and on stderr
        traceback.print_exc()
        return 1
    return 0


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            os._exit(_child(order))
        if order["kill_after_s"] is not None:
            time.sleep(order["kill_after_s"])  # a moment drawn at random, not one that is waited for
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        print(json.dumps(os.waitstatus_to_exitcode(status)), flush=True)


if __name__ == "__main__":
    main()
