"""The producer of the demo, run as a process that can be killed: ``python -m oncelog.apps.demo.replay``.

Replays the flights in scheduled order, 1,000 in each transaction. Each transaction also commits the producer's position
as a group's offset. A new instance with the same transactional id fences the old one, aborts its open transaction, and
continues exactly where the last committed transaction ended. Orders come in on standard input, events go out as JSON
lines:

- ``until N``: transactions up to N may be written; ``stop-in N``: stop halfway through transaction N and wait.
- ``{"event": "committed", "transaction": 7, "flights": 1000, "at": ...}``; also ``aborted``, ``stopped``, ``started``.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import NamedTuple

import click

from oncelog.apps.demo.flights import Flight, read_flights
from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.producer.producer import Producer
from oncelog.client.core.client_errors import FatalProducerError
from oncelog.client.core.config import ProducerConfig
from oncelog.errors import KafkaError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_json as json
from oncelog.runtime import real_time
from oncelog.types import TopicPartition

FLIGHTS_A_TRANSACTION = 1000


class ReplayEvent(NamedTuple):
    """An event of the producer, as it reports it on standard output; ``at`` in seconds since 1970."""

    event: str
    transaction: int
    flights: int
    at: float


class ReplayControl:
    """How far the replay may go, and in which transaction it must stop; both are read from standard input."""

    def __init__(self) -> None:
        self.until = 0
        self.stop_in = 0
        self._changed = asyncio.Event()

    async def listen(self) -> None:
        """Follow the orders on standard input; returns when the input ends, because the process that gives orders has
        ended."""
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            word, number = line.decode().split()
            if word == "until":
                self.until = int(number)
            else:
                self.stop_in = int(number)
            self._changed.set()

    async def wait_for(self, transaction: int) -> None:
        while self.until < transaction:
            self._changed.clear()
            await self._changed.wait()


class Replay:
    """Writes flights as transactions.

    :param abort_every: abort every n-th transaction halfway and send it again; 0 aborts none.
    :param seconds: about how long the whole replay takes; 0 for no pauses.
    """

    def __init__(
        self, producer: Producer, topic: str, flights: Sequence[Flight], group: str, abort_every: int, seconds: float
    ) -> None:
        self._producer = producer
        self._topic = topic
        self._flights = flights
        self._group = group
        self._abort_every = abort_every
        transactions = -(-len(flights) // FLIGHTS_A_TRANSACTION)
        self._pause_s = seconds / transactions if transactions else 0.0

    async def run(self, start: int, orders: ReplayControl) -> None:
        """Write the flights from index ``start``, the end of a committed transaction, to the last one."""
        due = real_time.monotonic()
        while start < len(self._flights):
            number = start // FLIGHTS_A_TRANSACTION + 1
            await orders.wait_for(number)
            await asyncio.sleep(max(0.0, due - real_time.monotonic()))
            due = max(due, real_time.monotonic() - 1.0) + self._pause_s
            chunk = self._flights[start : start + FLIGHTS_A_TRANSACTION]
            if orders.stop_in == number:
                await self._send_half(chunk)
                report("stopped", number, len(chunk) // 2)
                await asyncio.Event().wait()
            if self._abort_every and number % self._abort_every == 0:
                await self._send_half(chunk)
                await self._producer.abort_transaction()
                report("aborted", number, len(chunk) // 2)
            while not await self._committed(chunk, start + len(chunk), number):
                continue
            start += len(chunk)

    async def _committed(self, chunk: Sequence[Flight], end: int, number: int) -> bool:
        """Write one transaction; returns False if it had to be aborted and must be sent again."""
        try:
            await self._producer.begin_transaction()
            await self._send(chunk)
            await self._producer.send_offsets_to_transaction({TopicPartition(self._topic, 0): end}, self._group)
            await self._producer.commit_transaction()
        except FatalProducerError:
            raise
        except KafkaError:
            await self._producer.abort_transaction()
            report("aborted", number, len(chunk))
            return False
        report("committed", number, len(chunk))
        return True

    async def _send_half(self, chunk: Sequence[Flight]) -> None:
        """Write half the records of a transaction, and leave it open."""
        await self._producer.begin_transaction()
        await self._send(chunk[: len(chunk) // 2])
        await self._producer.flush()

    async def _send(self, chunk: Sequence[Flight]) -> None:
        for flight in chunk:
            key = flight.tailnum.encode() if flight.tailnum is not None else None
            await self._producer.send(self._topic, flight.as_json(), key, timestamp_ms=flight.departure_ms)


def report(event: str, transaction: int = 0, flights: int = 0) -> None:
    sys.stdout.write(json.dumps(ReplayEvent(event, transaction, flights, real_time.time())._asdict()) + "\n")
    sys.stdout.flush()


async def replay(
    bootstrap_server: str, topic: str, count: int, transactional_id: str, abort_every: int, seconds: float
) -> None:
    flights = read_flights(count)
    orders = ReplayControl()
    listening = asyncio.create_task(orders.listen())
    config = ProducerConfig.from_keywords(
        bootstrap_servers=bootstrap_server,
        transactional_id=transactional_id,
        linger_ms=5,
        max_batch_size=65_536,
        compression_type="lz4",
    )
    async with Producer(config=config) as producer:
        position = TopicPartition(topic, 0)
        async with Admin(bootstrap_servers=bootstrap_server) as admin:
            found = await admin.list_consumer_group_offsets(transactional_id, [position], require_stable=True)
        start = found[position].offset if position in found else 0
        report("started", start // FLIGHTS_A_TRANSACTION, start)
        replaying = asyncio.create_task(
            Replay(producer, topic, flights, transactional_id, abort_every, seconds).run(start, orders)
        )
        await asyncio.wait({replaying, listening}, return_when=asyncio.FIRST_COMPLETED)
        for task in (replaying, listening):
            if not task.done():
                task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await replaying
            report("ended")


@click.command()
@click.option("--bootstrap-server", required=True)
@click.option("--topic", required=True)
@click.option("--flights", type=int, required=True)
@click.option("--transactional-id", required=True)
@click.option("--abort-every", type=int, required=True)
@click.option("--seconds", type=float, required=True)
def main(
    bootstrap_server: str, topic: str, flights: int, transactional_id: str, abort_every: int, seconds: float
) -> None:
    """Replay the flights."""
    asyncio.run(replay(bootstrap_server, topic, flights, transactional_id, abort_every, seconds))


if __name__ == "__main__":
    main()
