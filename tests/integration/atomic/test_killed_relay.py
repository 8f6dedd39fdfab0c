"""An outbox's relay, killed at every point, while rows are committed late, are rolled back, and leave gaps."""

from __future__ import annotations

import logging
import random
import signal
import time
from typing import Any

import pytest

from oncelog import atomic
from tests.integration.client.reading import read_back
from tests.support.both_databases import SQLITE_IN_SOAK
from tests.support.crash_rounds.node import ServeProcess
from tests.support.two_phase.databases import open_database
from tests.support.two_phase.running import LOCKED, Paused, Writers
from tests.support.two_phase.writer import PARTITIONS, Relay

logger = logging.getLogger(__name__)

pytestmark = pytest.mark.crash

KIND = "relay"
POINTS = 70
"""More than the calls of a start and of two rounds."""
_ROW = "INSERT INTO oncelog_outbox (topic, partition_number, record_value, headers, timestamp_ms) VALUES"


def now_ms() -> int:
    """Not 0: retention would remove records of 1970."""
    return time.time_ns() // 1_000_000


class Shop:
    """Writers of an outbox. On PostgreSQL there are two at once, and one is slow: its rows appear below others'.

    :ivar committed: values, by partition: each partition has a writer of its own, so its order is that of its commits.
    """

    def __init__(self, topic: str, address: str, seed: int) -> None:
        self._topic = topic
        self._draw = random.Random(seed)
        self._database, self._placeholder = open_database(address)
        self._outbox = atomic.Outbox(self._database)
        self._outbox.start()
        self._slow: Any = None if address.startswith("sqlite") else open_database(address).connection
        self._held: bytes | None = None
        self._count = 0
        self.committed: dict[int, list[bytes]] = {0: [], 1: []}

    def _value(self) -> bytes:
        self._count += 1
        return b"%d" % self._count

    def hold(self) -> None:
        """The slow writer inserts a row, whose id is the smallest from now on, and does not commit it."""
        if self._slow is not None and self._held is None:
            self._held = self._value()
            self._slow.execute(f"{_ROW} (%s, 0, %s, '[]', %s)", (self._topic, self._held, now_ms()))

    def let_go(self) -> None:
        """The slow writer commits, or rolls back."""
        if self._held is None:
            return
        if self._draw.random() < 0.5:
            self._slow.commit()
            self.committed[0].append(self._held)
        else:
            self._slow.rollback()
        self._held = None

    def write(self) -> None:
        """The fast writer: some transactions, of which some are rolled back."""
        for _ in range(self._draw.randrange(4)):
            values = [self._value() for _ in range(self._draw.randint(1, 5))]
            fails = self._draw.random() < 0.3
            try:
                with self._outbox.transaction() as transaction:
                    for value in values:
                        transaction.send(self._topic, value, partition=1)
                    if fails:
                        self._insert_directly(values)
                        raise LookupError("the block fails")
            except LookupError:
                continue
            self.committed[1] += values

    def _insert_directly(self, values: list[bytes]) -> None:
        """Take ids from the sequence, for a transaction that will not commit."""
        place = self._placeholder
        cursor = self._database.cursor()
        for value in values:
            cursor.execute(f"{_ROW} ({place}, 1, {place}, '[]', {place})", (self._topic, value, now_ms()))

    def close(self) -> None:
        if self._slow is not None:
            self._slow.close()
        self._database.close()


def check(servers: str, shop: Shop, topic: str) -> int:
    """Each committed row is there once, in its writer's order."""
    seen = read_back(servers, topic, PARTITIONS)
    for partition in range(PARTITIONS):
        assert [one.value for one in seen if one.partition == partition] == shop.committed[partition]
    return len(seen)


def kill_rounds(node: ServeProcess, topic: str, database: str, count: int, broker_every: int) -> int:
    draw = random.Random(count)
    shop = Shop(topic, database, count)
    shop.write()
    relays = Writers(KIND, node.bootstrap_servers, topic, database)
    try:
        for number in range(1, count + 1):
            shop.hold()
            shop.write()
            if number % 3:
                status = relays.run(kill_at=number % POINTS)
            else:
                status = relays.run(kill_after_s=draw.uniform(0, 0.3))
            assert status in (0, -signal.SIGKILL)
            if number % 4 == 0:
                shop.let_go()
            if number % broker_every == 0:
                node.kill()
                node.start()
            if number % max(1, count // 10) == 0:
                shop.let_go()
                assert relays.run(transactions=2 * count) == 0
                logger.info("%d of %d kills, %d rows", number, count, check(node.bootstrap_servers, shop, topic))
        shop.let_go()
        assert relays.run(transactions=2 * count) == 0
        return check(node.bootstrap_servers, shop, topic)
    finally:
        relays.close()
        shop.close()


@SQLITE_IN_SOAK
def test_a_relay_killed_at_every_point_sends_each_committed_row_once(
    node: ServeProcess, database: str, unique_name: str
) -> None:
    assert kill_rounds(node, unique_name, database, POINTS, broker_every=35) > 100


@pytest.mark.soak
def test_a_thousand_kills_of_a_relay_lose_no_row(node: ServeProcess, database: str, unique_name: str) -> None:
    assert kill_rounds(node, unique_name, database, 1000, broker_every=50) > 1500


@SQLITE_IN_SOAK
@pytest.mark.parametrize("half", [0, 1])
def test_a_relay_that_was_paused_while_another_took_over_sends_nothing_twice(
    node: ServeProcess, database: str, unique_name: str, half: int
) -> None:
    """At every point: if the first holds a lock, the second waits for it, and gives up."""
    servers = node.bootstrap_servers
    shop = Shop(unique_name, database, half)
    taken_over = 0
    for at in range(half, POINTS, 4):
        shop.write()
        first = Paused(KIND, servers, unique_name, database, at)
        assert first.standing.wait(120)
        second = Relay(servers, unique_name, database, wait_s=0.05)
        try:
            second.start()
            second.write()
            taken_over += 1
        except LOCKED:  # the first holds it
            pass
        finally:
            second.close()
        first.resume()
    last = Relay(servers, unique_name, database)
    last.start()
    while last.relay.round():
        pass
    last.close()
    assert taken_over >= 5
    check(servers, shop, unique_name)
    shop.close()
