"""What the shuffle of encoded batches keeps between batches."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest
from py4j.protocol import Py4JJavaError

from oncelog.spark.executors.barrier import BatchSize
from oncelog.spark.executors.shuffle import PlainSessions, Repeated, Shuffled, Volumes


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


KILLED = "Some(Executor killed by driver.)"


class Executors:
    """A session whose executor 1 is gone, and what Spark has recorded about that."""

    def __init__(self, dynamic: str, reason: str | None) -> None:
        self.conf = {"spark.dynamicAllocation.enabled": dynamic}
        self.sparkContext = Mock(master="spark://m:7077")
        store = self.sparkContext._jsc.sc.return_value.statusStore.return_value
        store.executorList.return_value.size.return_value = 2
        store.executorList.return_value.apply = lambda number: Mock(**{"id.return_value": ("driver", "0")[number]})
        store.executorSummary.return_value.removeReason.return_value = reason
        if reason is None:
            store.executorSummary.side_effect = Py4JJavaError("NoSuchElementException: 1", Mock(_target_id="o1"))


def shuffled_before(spark: Any, *executors: str) -> Shuffled:
    unused: Any = None
    return Shuffled(spark, unused, 0, unused, "tag", BatchSize(1, 1, 1, 1), frozenset(executors))


@pytest.mark.parametrize(
    ("dynamic", "reason"), [("false", KILLED), ("true", "Some(Command exited with code 137)"), ("true", None)]
)
def test_a_batch_whose_executor_was_lost_is_recreated(dynamic: str, reason: str | None) -> None:
    with pytest.raises(Repeated):
        shuffled_before(Executors(dynamic, reason), "driver", "0", "1").check_executors()


def test_an_idle_executor_that_dynamic_allocation_ends_is_not_a_loss() -> None:
    shuffled_before(Executors("true", KILLED), "driver", "0", "1").check_executors()


def test_a_batch_counts_as_computed_once_if_all_its_executors_still_exist() -> None:
    shuffled_before(Executors("false", None), "driver", "0").check_executors()


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


def test_a_shuffled_batch_reuses_the_spark_accumulators_of_the_previous_batch() -> None:
    context: Any = Accumulators()
    volumes = Volumes()
    for batch in (3, 5):
        with volumes.counting(context) as volume:
            volume.add(BatchSize(1, batch, 10 * batch, 5 * batch))
            assert volume.taken() == (1, batch, 10 * batch, 5 * batch)
    assert context.made == 4


def test_concurrent_shuffled_batches_have_separate_spark_accumulators() -> None:
    context: Any = Accumulators()
    volumes = Volumes()
    with volumes.counting(context) as one, volumes.counting(context) as other:
        one.add(BatchSize(1, 2, 3, 4))
        assert other.taken() == (0, 0, 0, 0)
