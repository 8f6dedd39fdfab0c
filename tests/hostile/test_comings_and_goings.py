"""Of clients and topics that are gone, a broker keeps no descriptor and nearly no memory.

``python -m benchmarks --only soak`` takes an hour, and looks at memory too; this is its short form.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from pathlib import Path

import pytest

from benchmarks import churn, soak
from oncelog import Admin, Broker, NewTopic, Producer
from tests.support.crash_rounds.node import ServeProcess


def test_deleted_files_leave_no_descriptor_open(tmp_path: Path) -> None:
    node = ServeProcess(tmp_path, {**soak.SETTINGS, soak.DELAY: "1000"})
    node.start()
    try:
        with churn.churning(node.bootstrap_servers) as clients:
            while clients.done.get("topics", 0) < 5 or clients.done.get("short", 0) < 50:
                time.sleep(0.1)
        assert clients.done.keys() == {"transaction", "idempotent", "group", "topics", "admin", "short"}
        assert soak.await_closed(node.pid, 60) == 0
    finally:
        node.close()


@pytest.mark.soak
def test_20000_deleted_topics_of_a_broker_in_memory_would_leave_less_than_5_mb() -> None:
    """A test session may have a single broker. Of 2,000 topics a tenth of that may be left."""
    with (
        Broker(settings={"log.segment.delete.delay.ms": 0}) as broker,
        Admin(bootstrap_servers=broker.bootstrap_servers) as admin,
    ):

        def make_and_delete(first: int, count: int) -> int:
            for number in range(first, first + count, 50):
                names = [f"topic-{index}" for index in range(number, number + 50)]
                admin.create_topics([NewTopic(name, 1) for name in names])
                with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
                    for name in names:
                        producer.send(name, b"v" * 100)
                admin.delete_topics(names)
            gc.collect()
            return tracemalloc.get_traced_memory()[0]

        tracemalloc.start()
        try:
            before = make_and_delete(0, 500)
            after = make_and_delete(500, 2000)
        finally:
            tracemalloc.stop()
    assert after - before < 5_000_000 / 10
