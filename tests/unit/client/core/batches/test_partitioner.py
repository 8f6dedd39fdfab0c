"""Partitioners: keyed as in Java, round robin in turn, sticky by batches."""

from __future__ import annotations

import random

import pytest

from oncelog.client.core.batches.partitioner import RoundRobin, UniformSticky, keyed
from oncelog.client.core.connection.metadata import PartitionImage, TopicImage


def topic(*leaders: int) -> TopicImage:
    return TopicImage("t", bytes(16), False, [PartitionImage(leader, 0, [], []) for leader in leaders])


@pytest.mark.parametrize(
    ("key", "hash_"),
    [  # org.apache.kafka.common.utils.UtilsTest.testMurmur2
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_a_key_goes_to_the_partition_that_java_chooses_whether_or_not_it_is_available(key: bytes, hash_: int) -> None:
    image = topic(1, -1, 1, -1, 1, 1, 1)
    assert keyed(key, image) == (hash_ & 0x7FFFFFFF) % 7


def test_the_round_robin_partitioner_skips_partitions_without_a_leader_and_counts_by_topic() -> None:
    turns = RoundRobin()
    assert [turns.next(topic(1, -1, 1)) for _ in range(5)] == [0, 2, 0, 2, 0]
    other = TopicImage("other", bytes(16), False, [PartitionImage(1, 0, [], [])] * 2)
    assert turns.next(other) == 0


def test_the_sticky_partitioner_stays_with_a_partition_until_it_got_batch_size_bytes() -> None:
    sticky = UniformSticky(100, random.Random(1).randrange, lambda name: {})
    image = topic(1, 1, 1, 1)
    first = sticky.current(image)
    sticky.batch_ended(image, 40)
    assert sticky.current(image) == first
    seen = set()
    for _ in range(50):
        sticky.batch_ended(image, 100)
        seen.add(sticky.current(image))
    assert seen == {0, 1, 2, 3}


def test_the_sticky_partitioner_is_uniform_whatever_the_size_of_batches() -> None:
    dice = random.Random(2)
    sticky = UniformSticky(100, dice.randrange, lambda name: {})
    image = topic(1, 1, 1)
    sent = [0, 0, 0]
    for _ in range(30_000):
        size = dice.choice([10, 95])
        sent[sticky.current(image)] += size
        sticky.batch_ended(image, size)
    assert max(sent) < 1.1 * min(sent)


def test_adaptive_partitioning_weighs_partitions_by_queue_length() -> None:
    drawn: list[int] = []

    def dice(sides: int) -> int:
        drawn.append(sides)
        return sides - 1

    sticky = UniformSticky(100, dice, lambda name: {0: 3, 1: 0, 2: 1})
    assert sticky.current(topic(1, 1, 1)) == 2
    assert drawn == [1 + 4 + 3]


def test_the_sticky_partitioner_prefers_partitions_with_a_leader() -> None:
    sticky = UniformSticky(100, random.Random(3).randrange, lambda name: {})
    image = topic(-1, 1, -1)
    for _ in range(5):
        assert sticky.current(image) == 1
        sticky.batch_ended(image, 200)


def test_the_sticky_partitioner_skips_excluded_partitions_while_another_is_available() -> None:
    unwanted = {0, 2}
    sticky = UniformSticky(100, random.Random(5).randrange, lambda name: {}, passed_over=lambda topic: unwanted)
    image = topic(1, 1, 1)
    assert sticky.current(image) == 1
    unwanted.add(1)
    seen = set()
    for _ in range(50):
        sticky.batch_ended(image, 100)
        seen.add(sticky.current(image))
    assert seen == {0, 1, 2}
