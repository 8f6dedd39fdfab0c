"""What stays in a process between Spark's calls: who owns it, when it ends, what a fork and a pickle make of it."""

from __future__ import annotations

import os
import pickle

import pytest

from oncelog.spark.process import Process, this_process

CLOSED: list[str] = []


class First:
    def close(self) -> None:
        CLOSED.append("first")


class Second:
    def close(self) -> None:
        CLOSED.append("second")


def test_process_resources_are_created_once_and_closed_in_reverse_order() -> None:
    CLOSED.clear()
    process = Process()
    first = process.part(First)
    process.part(Second)
    assert process.part(First) is first
    process.close()
    assert CLOSED == ["second", "first"]
    process.close()
    assert CLOSED == ["second", "first"]
    assert process.part(First) is not first


def test_an_unpickled_object_uses_the_resources_of_its_own_process() -> None:
    """So a writer that Spark sends to an executor can never take the driver's connections along."""
    elsewhere = Process()
    elsewhere.part(First)
    assert pickle.loads(pickle.dumps(elsewhere)) is this_process()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows does not fork")
def test_a_forked_process_starts_without_resources_and_does_not_close_those_of_its_parent() -> None:
    """PySpark's daemon forks its workers: a connection that both use would mix two conversations."""
    parents = this_process()
    first = parents.part(First)
    child = os.fork()
    if child == 0:
        own = this_process()
        os._exit(0 if own is not parents and own.part(First) is not first else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert this_process() is parents
    assert parents.part(First) is first
