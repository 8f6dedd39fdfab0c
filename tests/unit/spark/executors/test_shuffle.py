"""What the shuffle of encoded batches keeps between batches."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

from oncelog.spark.executors.barrier import BatchSize
from oncelog.spark.executors.shuffle import PlainSessions, Volumes


def application(name: str) -> Any:
    """A user's session in an application."""
    found = Mock()
    found.sparkContext.applicationId = name
    return found


def test_an_application_has_one_session_for_shuffled_batches() -> None:
    """Spark keeps the listeners of each session: one for each batch would add up."""
    sessions = PlainSessions()
    one, another, next_application = application("a"), application("a"), application("b")
    kept = sessions.of(one)
    assert kept is one.newSession.return_value
    assert sessions.of(another) is kept
    assert sessions.of(next_application) is next_application.newSession.return_value
    sessions.close()
    assert sessions.of(one) is one.newSession.return_value
    assert one.newSession.call_count == 2


class Accumulators:
    """A SparkContext that makes accumulators, and counts them."""

    made = 0

    def accumulator(self, value: int) -> Any:
        self.made += 1
        return Counter(value)


class Counter:
    def __init__(self, value: int) -> None:
        self.value = value

    def add(self, more: int) -> None:
        self.value += more


def test_a_batch_takes_the_counters_of_the_one_before_and_counts_from_zero() -> None:
    context: Any = Accumulators()
    volumes = Volumes()
    for batch in (3, 5):
        with volumes.counting(context) as volume:
            volume.add(BatchSize(1, batch, 10 * batch, 5 * batch))
            assert volume.taken() == (1, batch, 10 * batch, 5 * batch)
    assert context.made == 4


def test_batches_at_the_same_time_count_apart() -> None:
    context: Any = Accumulators()
    volumes = Volumes()
    with volumes.counting(context) as one, volumes.counting(context) as other:
        one.add(BatchSize(1, 2, 3, 4))
        assert other.taken() == (0, 0, 0, 0)
