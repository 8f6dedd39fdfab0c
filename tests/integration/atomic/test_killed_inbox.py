"""Records into rows, and on by the outbox, killed at every point: each record is a row, and a record behind, once."""

from __future__ import annotations

import logging
import random
import signal

import pytest

from oncelog.client.blocking import Producer
from tests.integration.client.reading import read_back
from tests.support.both_databases import SQLITE_IN_SOAK
from tests.support.crash_rounds.node import ServeProcess
from tests.support.two_phase.databases import open_database
from tests.support.two_phase.running import LOCKED, Paused, Writers
from tests.support.two_phase.writer import PARTITIONS, Inbox, Relay

logger = logging.getLogger(__name__)

pytestmark = pytest.mark.crash

KIND = "inbox"
POINTS = 90
"""More than the calls of a start and of two transactions with records."""


class Source:
    """Commits and aborts transactions with numbers, the same in each partition."""

    def __init__(self, servers: str, topic: str, seed: int) -> None:
        self._producer = Producer(bootstrap_servers=servers, transactional_id=f"{topic}-source", retry_backoff_ms=20)
        self._topic = topic
        self._draw = random.Random(seed)
        self.numbers: list[int] = []
        self._count = 0

    def write(self) -> None:
        for _ in range(self._draw.randrange(3)):
            numbers = [self._count + more for more in range(self._draw.randint(1, 3))]
            self._count += len(numbers)
            try:
                with self._producer.transaction():
                    for number in numbers:
                        for partition in range(PARTITIONS):
                            self._producer.send(self._topic, b"%d" % number, partition=partition)
                    if self._draw.random() < 0.3:
                        raise LookupError("aborted")
            except LookupError:
                continue
            self.numbers += numbers

    def close(self) -> None:
        self._producer.stop()


def taken(database: str, partition: int) -> list[int]:
    connection, place = open_database(database)
    cursor = connection.cursor()
    cursor.execute(f"SELECT number FROM taken WHERE partition_number = {place} ORDER BY number", (partition,))
    found = [number for (number,) in cursor.fetchall()]
    connection.close()
    return found


def finish(servers: str, topic: str, database: str, source: Source) -> int:
    """Take and relay what is left; each record is there once, as a row and as a record behind."""
    inbox = Inbox(servers, topic, database)
    inbox.start()
    while min(len(taken(database, partition)) for partition in range(PARTITIONS)) < len(source.numbers):
        inbox.write()
    inbox.close()
    relay = Relay(servers, f"{topic}-relay", database)
    relay.start()
    while relay.relay.round():
        pass
    relay.close()
    behind = read_back(servers, f"{topic}-out", PARTITIONS)
    for partition in range(PARTITIONS):
        assert taken(database, partition) == source.numbers
        assert [int(one.value or b"") for one in behind if one.partition == partition] == source.numbers
    return len(source.numbers)


def kill_rounds(node: ServeProcess, topic: str, database: str, count: int, broker_every: int) -> int:
    draw = random.Random(count)
    source = Source(node.bootstrap_servers, topic, count)
    inboxes = Writers(KIND, node.bootstrap_servers, topic, database)
    try:
        for number in range(1, count + 1):
            source.write()
            if number % 3:
                status = inboxes.run(kill_at=number % POINTS, transactions=6)
            else:
                status = inboxes.run(kill_after_s=draw.uniform(0, 0.5), transactions=6)
            assert status in (0, -signal.SIGKILL)
            if number % broker_every == 0:
                node.kill()
                node.start()
            if number % max(1, count // 5) == 0:
                reported = finish(node.bootstrap_servers, topic, database, source)
                logger.info("%d of %d kills, %d records", number, count, reported)
        return finish(node.bootstrap_servers, topic, database, source)
    finally:
        inboxes.close()
        source.close()


@SQLITE_IN_SOAK
def test_an_inbox_killed_at_every_point_writes_each_record_once(
    node: ServeProcess, database: str, unique_name: str
) -> None:
    assert kill_rounds(node, unique_name, database, POINTS, broker_every=40) > 80


@pytest.mark.soak
def test_a_thousand_kills_of_an_inbox_lose_no_record(node: ServeProcess, database: str, unique_name: str) -> None:
    assert kill_rounds(node, unique_name, database, 1000, broker_every=100) > 1000


@SQLITE_IN_SOAK
def test_an_inbox_that_was_paused_while_another_took_over_writes_nothing_twice(
    node: ServeProcess, database: str, unique_name: str
) -> None:
    servers = node.bootstrap_servers
    source = Source(servers, unique_name, 1)
    taken_over = 0
    for at in range(0, POINTS, 6):
        source.write()
        first = Paused(KIND, servers, unique_name, database, at)
        assert first.standing.wait(120)
        second = Inbox(servers, unique_name, database, wait_s=0.05)
        try:
            second.start()
            for _ in range(4):
                second.write()
            taken_over += 1
        except LOCKED:  # the first holds it
            pass
        finally:
            second.close()
        first.resume()
    assert taken_over >= 3
    finish(servers, unique_name, database, source)
    source.close()
