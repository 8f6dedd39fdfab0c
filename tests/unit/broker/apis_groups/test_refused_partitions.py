"""Refused partitions are put into an answer by look-ups: 400,000 refused topics fit into one OffsetCommit."""

from __future__ import annotations

from oncelog.broker.apis.refused_partitions import add_refused
from oncelog.protocol.generated.offset_commit_response import OffsetCommitResponsePartition as Partition
from oncelog.protocol.generated.offset_commit_response import OffsetCommitResponseTopic as Topic


class Name(str):
    """A name that counts how often it is compared."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return super().__eq__(other)


def topic(name: str, *partitions: int) -> Topic:
    return Topic(Name(name), partitions=[Partition(index, 3) for index in partitions])


def test_partitions_of_one_topic_are_together() -> None:
    topics = [topic("a", 0), topic("b", 0)]
    add_refused(topics, [topic("b", 7), topic("c", 1), topic("c", 2)], lambda each: each.name)
    assert [(each.name, [part.partition_index for part in each.partitions]) for each in topics] == [
        ("a", [0]),
        ("b", [0, 7]),
        ("c", [1, 2]),
    ]


def test_many_refused_topics_are_not_searched_for() -> None:
    topics = [topic("known", 0)]
    refused = [topic(f"unknown-{number}", 0) for number in range(1000)]
    Name.compared = 0
    add_refused(topics, refused, lambda each: each.name)
    assert len(topics) == 1001
    assert Name.compared < 2000
