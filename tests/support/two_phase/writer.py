"""The programs that are killed, each with one of the ways of ``oncelog.atomic``.

``python -m tests.support.two_phase.writer`` reads orders to run them (JSON lines) and forks a child for each, so that a
round costs no start of an interpreter; it answers with ``STARTED`` and the child's exit status. It has no thread of
its own.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from oncelog import atomic
from oncelog.client.blocking import Admin, Consumer, Producer
from tests.support.two_phase.databases import open_database
from tests.support.two_phase.points import Watched

PARTITIONS = 2
STARTED = '"started"'
"""What a child says before its first transaction."""


def never() -> None:
    return None


class Program:
    """One instance of a program, with a connection of its own."""

    def __init__(
        self, servers: str, name: str, address: str, point: Callable[[], None] = never, wait_s: float = 60
    ) -> None:
        self.servers, self.topic, self.point = servers, name, point
        self.database, self._placeholder = open_database(address, wait_s)
        self._clients: list[Any] = []

    def watched(self, client: Any) -> Any:
        self._clients.append(client)
        return Watched(client, self.point)

    def watch(self, core: Any, name: str) -> None:
        """Have the calls to a port of the database watched."""
        setattr(core, name, Watched(getattr(core, name), self.point))

    def execute(self, statement: str, *values: Any) -> Any:
        cursor = self.database.cursor()
        cursor.execute(statement.replace("?", self._placeholder), values)
        return cursor

    def start(self) -> None:
        raise NotImplementedError

    def write(self) -> None:
        """One transaction."""
        raise NotImplementedError

    def close(self) -> None:
        for client in self._clients:
            client.close()
        self.database.close()


class TwoPhase(Program):
    """Rows with a record in each partition, by two-phase commit."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        producer = self.watched(
            Producer(
                bootstrap_servers=self.servers, transactional_id=self.topic, two_phase_commit=True, retry_backoff_ms=20
            )
        )
        self.writing = atomic.RowsAndRecords(self.database, producer)
        self.watch(self.writing.core, "database")

    def start(self) -> None:
        self.writing.start()

    def write(self) -> None:
        with self.writing.transaction() as transaction:
            (number,) = self.execute("SELECT COALESCE(MAX(number), 0) + 1 FROM orders").fetchone()
            self.execute("INSERT INTO orders VALUES (?)", number)
            for partition in range(PARTITIONS):
                transaction.send(self.topic, b"%d" % number, partition=partition)


class Relay(Program):
    """Sends an outbox, a few rows in each transaction."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        producer = Producer(bootstrap_servers=self.servers, transactional_id=self.topic, retry_backoff_ms=20)
        admin = Admin(bootstrap_servers=self.servers)
        self.relay = atomic.Relay(self.database, self.watched(producer), self.watched(admin), batch_size=3)
        self.watch(self.relay._core, "_database")

    def start(self) -> None:
        self.relay.start()

    def write(self) -> None:
        self.relay.round()


class Inbox(Program):
    """Writes records into ``taken``, and sends each of them on by the outbox."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        consumer: Consumer[bytes, bytes] = Consumer(
            bootstrap_servers=self.servers,
            group_id=f"{self.topic}-inbox",
            group_instance_id="one",
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="none",
            retry_backoff_ms=20,
        )
        outbox = atomic.Outbox(self.database)
        self.watch(outbox.core, "database")
        self.inbox: atomic.Inbox[bytes, bytes] = atomic.Inbox(outbox, self.watched(consumer), [self.topic])

    def start(self) -> None:
        self.inbox.start()

    def write(self) -> None:
        with self.inbox.transaction(timeout_ms=200, max_records=3) as transaction:
            for record in transaction.records:
                self.execute("INSERT INTO taken VALUES (?, ?)", record.partition, int(record.value or b""))
                transaction.send(f"{self.topic}-out", record.value, partition=record.partition)


KINDS: dict[str, type[Program]] = {"two-phase": TwoPhase, "relay": Relay, "inbox": Inbox}


def _run(order: dict[str, Any]) -> None:
    left = order["kill_at"]

    def point() -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    program = KINDS[order["kind"]](order["servers"], order["name"], order["database"], point)
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
