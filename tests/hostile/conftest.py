"""A broker in a process of its own, and a neighbour that must be served while others misbehave."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.wire import RawConnection
from tests.support.crash_rounds.node import ServeProcess


class Node(ServeProcess):
    """The broker's process as these tests observe it."""

    def __init__(self, folder: Path, settings: dict[str, str]) -> None:
        super().__init__(folder, settings)
        self._topics = 0

    def connect(self, *, timeout_s: float = 60) -> RawConnection:
        return RawConnection(self.bootstrap_servers, timeout_s=timeout_s)

    def memory_bytes(self) -> int:
        """How much of the machine's memory the process uses."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("the process has no memory")

    def check_neighbour(self) -> None:
        """Another client creates a topic, writes to it and reads it back."""
        self.check_alive()
        with self.connect() as neighbour:
            self._topics += 1
            topic = f"neighbour-{self._topics}"
            neighbour.create_topic(topic)
            assert neighbour.produce(topic, batch(b"value")).error == 0
            assert [r.value for b in neighbour.fetch(topic).batches for r in b.records()] == [b"value"]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    made = Node(tmp_path_factory.mktemp("hostile"), {"num.partitions": "1"})
    made.start()
    yield made
    made.close()
