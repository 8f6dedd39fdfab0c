"""Batches that are split in transit while connections break and leaders refuse: each record is stored once, in
order.
"""

from __future__ import annotations

import random

import pytest

from oncelog.client.core.batches.accumulator import WholeBatch
from oncelog.client.core.connection.wire import METADATA, PRODUCE
from oncelog.errors import Error
from oncelog.records.batch import BatchBuilder
from tests.unit.client.core.kafka_partition import KafkaPartition
from tests.unit.client.core.producers import P0, ProducerCore, header, metadata_answer, refuse
from tests.unit.client.core.wires import Sent


class Whole(WholeBatch):
    """Stands for that many records."""

    def __init__(self, count: int) -> None:
        self.count = count

    def halves(self, low: int, high: int) -> tuple[WholeBatch, WholeBatch]:
        assert low + high == self.count
        return Whole(low), Whole(high)


class Course:
    """The outcome of some hundred records, drawn by a seed."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.core = ProducerCore(
            compression_type=self.dice.choice(["none", "gzip"]), max_batch_size=2000, delivery_timeout_ms=2_000_000_000
        ).start()
        self.kafka = KafkaPartition()
        self.max_message_bytes = self.dice.choice([90, 150, 400, 100_000])
        self.sent: list[bytes] = []

    def value(self) -> bytes:
        self.sent.append(b"%d" % len(self.sent) + b"x" * self.dice.randint(0, 20))
        return self.sent[-1]

    def send(self) -> None:
        """Some records one by one, or as one batch, as values or already encoded."""
        how, count = self.dice.randrange(3), self.dice.randint(1, 12)
        accumulator, now_ms = self.core.accumulator, self.core.wire.now_ms()
        if how == 0:
            for _ in range(count):
                self.core.append(self.value())
        else:
            builder = BatchBuilder()
            for _ in range(count):
                builder.append(5, None, self.value(), ())
            if how == 1:
                accumulator.append_batch(P0, builder, now_ms, Whole(count))
            else:
                payload = builder.build(compression=self.core.config.compression)
                accumulator.append_sealed(P0, payload, count, 5, now_ms, Whole(count))
        self.core.poll()

    def too_large(self, sent: Sent) -> bool:
        size_bytes = len(sent.message.topic_data[0].partition_data[0].records)
        return size_bytes > self.max_message_bytes and header(sent).records_count > 1

    def answer(self) -> None:
        sent, chance = self.core.produced(), self.dice.random()
        if self.too_large(sent):
            refuse(sent, Error.MESSAGE_TOO_LARGE)
        elif chance < 0.1:
            refuse(sent, Error.NOT_LEADER_OR_FOLLOWER)
        elif chance < 0.2:
            refuse(sent, self.kafka.write(sent) or Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        else:
            self.kafka.answer(sent)

    def break_connection(self) -> None:
        """Some of what is in flight was written, and no answer arrives."""
        under_way = [self.core.produced() for _ in range(self.core.wire.count(PRODUCE))]
        for sent in under_way[: self.dice.randint(0, len(under_way))]:
            if not self.too_large(sent):
                self.kafka.write(sent)
        for sent in under_way:
            sent.lose()

    def step(self) -> None:
        while self.core.wire.count(METADATA):
            self.core.wire.take(METADATA).answer(metadata_answer())
        if len(self.sent) < 200 and self.dice.random() < 0.3:
            self.send()
        chance = self.dice.random()
        if not self.core.wire.count(PRODUCE) or chance < 0.3:
            self.core.wire.pass_time(self.dice.choice([1, 50, 500]))
        elif chance < 0.4:
            self.break_connection()
        else:
            self.answer()


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_each_record_of_a_split_batch_is_stored_once_and_in_order(first: int) -> None:
    for seed in range(first, first + 10):
        course = Course(seed)
        for _ in range(9000):
            course.step()
            if len(course.sent) >= 200 and course.core.sender.idle:
                break
        assert [item.error for item in course.core.outcomes if item.error is not None] == [], seed
        assert course.kafka.values == course.sent, seed
        assert course.core.accumulator.used_bytes == 0, seed
