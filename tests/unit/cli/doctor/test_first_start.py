"""What the doctor says of a pipeline's topics before its first start."""

from __future__ import annotations

import pytest

from oncelog.cli.doctor.pipeline_doctor import FirstStart
from oncelog.spark.options import TopicCreation

FIRST = "there is no checkpoint yet, so this is the first start"


@pytest.mark.parametrize(
    ("partitions", "creation", "verdict", "reason"),
    [
        (3, None, "write", FIRST),
        (3, TopicCreation(1), "write", FIRST),
        (None, TopicCreation(1), "write", f'{FIRST}; it creates topic late with {{"partitions": 1}}'),
        (None, None, "refuse", "topic late does not exist: create it (oncelog topics create late), or name another"),
    ],
)
def test_a_topic_that_the_query_will_create_is_not_reported_as_an_obstacle(
    partitions: int | None, creation: TopicCreation | None, verdict: str, reason: str
) -> None:
    first = FirstStart("late", partitions, creation)
    assert (first.verdict, first.reason) == (verdict, reason)
