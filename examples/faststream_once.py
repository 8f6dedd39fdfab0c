"""A FastStream service in which consume, handle and publish are one transaction.

python examples/faststream_once.py
"""

from __future__ import annotations

import asyncio
import logging
import os
from types import TracebackType
from typing import Any

from aiokafka import AIOKafkaProducer, TopicPartition
from faststream import AckPolicy, BaseMiddleware, FastStream
from faststream.kafka import KafkaBroker
from faststream.kafka import TopicPartition as Assigned
from pydantic import BaseModel

SERVERS = os.environ.get("KAFKA_SERVERS", "127.0.0.1:9092")
ORDERS = os.environ.get("ORDERS", "orders")
INVOICES = os.environ.get("INVOICES", "invoices")
PARTITION = int(os.environ.get("PARTITION", "0"))
"""The partition of ``ORDERS`` that this process reads: one process for each, with a transactional id of its own."""
PAUSE_S = 0.5
"""How long to wait before a record whose handler raised is handled again."""

logger = logging.getLogger(__name__)
failures: list[BaseException] = []


class Transaction(BaseMiddleware[Any, Any]):
    """What a handler publishes and the offset of what it consumed are committed together, or neither is.

    A handler that raises aborts, and the record is handled again. If the transaction itself fails (another process
    has the same transactional id, say), the service stops; its next start commits or aborts what was left.
    """

    async def on_receive(self) -> None:
        try:
            await self._producer().begin_transaction()
        except Exception as error:  # anything: without a transaction this record must not be passed over
            raise _stopping(error) from error

    async def after_processed(
        self,
        exc_type: type[BaseException] | None = None,
        exc_val: BaseException | None = None,
        exc_tb: TracebackType | None = None,
    ) -> bool:
        subscriber, producer = self.context.get("handler_"), self._producer()
        records = self.msg if isinstance(self.msg, tuple) else (self.msg,)
        try:
            if exc_type is None:
                ends = {TopicPartition(record.topic, record.partition): record.offset + 1 for record in records}
                await producer.send_offsets_to_transaction(ends, subscriber.group_id)
                await producer.commit_transaction()
                return False
            await producer.abort_transaction()
            for record in reversed(records):
                subscriber.consumer.seek(TopicPartition(record.topic, record.partition), record.offset)
        except Exception as error:  # anything: what became of the transaction is known after the next start
            raise _stopping(error) from error
        await asyncio.sleep(PAUSE_S)
        return False

    def _producer(self) -> AIOKafkaProducer:
        # FastStream has no public way to its producer
        producer: AIOKafkaProducer = self.context.get("broker").config.producer._producer.producer
        return producer


def _stopping(error: Exception) -> SystemExit:
    failures.append(error)
    logger.critical("the transaction failed, and the service stops: %r", error)
    app.exit()  # SystemExit alone stops the subscriber, and the service would stay up without it
    return SystemExit(1)


class Order(BaseModel):
    number: int
    cents: int


class Invoice(BaseModel):
    order: int
    cents: int


broker = KafkaBroker(SERVERS, transactional_id=f"billing-{ORDERS}-{PARTITION}", middlewares=[Transaction])
app = FastStream(broker)


@broker.subscriber(
    partitions=[Assigned(ORDERS, PARTITION)],
    group_id="billing",
    auto_offset_reset="earliest",
    isolation_level="read_committed",
    ack_policy=AckPolicy.MANUAL,
)
@broker.publisher(INVOICES)
async def handle(order: Order) -> Invoice:
    """What it returns, and what it publishes with ``broker.publish``, is in the transaction."""
    return invoice(order)


def invoice(order: Order) -> Invoice:
    return Invoice(order=order.number, cents=order.cents * 119 // 100)


@app.after_shutdown
async def end_with_status_1_after_a_failure() -> None:
    if failures:
        raise SystemExit(1)


if __name__ == "__main__":
    asyncio.run(app.run())
