"""A sink of a query writes a batch once, however often and from however many threads it is called."""

from __future__ import annotations

import pytest

from oncelog.errors import ConfigError
from oncelog.spark.micro_batches import QuerySinks

SINK = ("run", "oncelog-", "topic", "")


def test_a_second_write_of_a_batch_is_refused_during_the_first_and_after_it() -> None:
    sinks = QuerySinks()
    with sinks.writing(SINK, 1), pytest.raises(ConfigError, match="A sink was called twice for batch 1"):
        sinks.writing(SINK, 1).__enter__()
    with pytest.raises(ConfigError, match="a name of its own"), sinks.writing(SINK, 1):
        raise AssertionError("it may not write")
    with sinks.writing(SINK, 2), sinks.writing((*SINK[:3], "late"), 2):
        pass


def test_a_batch_that_failed_may_be_written_again() -> None:
    sinks = QuerySinks()
    with pytest.raises(ZeroDivisionError), sinks.writing(SINK, 1):
        raise ZeroDivisionError
    with sinks.writing(SINK, 1):
        pass


def test_groups_are_those_of_one_run() -> None:
    sinks = QuerySinks()
    sinks.groups("one").add("group")
    assert (sinks.groups("one"), sinks.groups("another")) == ({"group"}, set())
    sinks.close()
    assert sinks.groups("one") == set()
