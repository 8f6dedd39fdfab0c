"""Runs a worker of a share group that ``docs/how-to/share-groups.md`` shows in another language."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

from confluent_kafka import Producer

from tests.support.share_groups import TIMEOUT_S, make_topic_and_group

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "share-groups.md"


def recipe(language: str) -> str:
    """The only block of the page in this language."""
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return str(block)


def printed_by_worker(command: Sequence[str | Path], servers: str, name: str) -> list[str]:
    """What the worker prints of a job that it does, of one that it does the second time, and of the last one.

    :param name: of a new topic, and of a new group.
    """
    make_topic_and_group(servers, name, name)
    producer = Producer({"bootstrap.servers": servers})
    for job in ("good", "flaky"):
        producer.produce(name, job.encode())
    assert producer.flush(TIMEOUT_S) == 0
    lines: SimpleQueue[str] = SimpleQueue()
    with subprocess.Popen([*command, servers, name, name], stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        output = worker.stdout

        def read() -> None:
            for line in output:
                lines.put(line.strip())

        Thread(target=read, daemon=True).start()
        try:
            found = [lines.get(timeout=TIMEOUT_S) for _ in range(3)]
            producer.produce(name, b"stop")
            assert producer.flush(TIMEOUT_S) == 0
            found.append(lines.get(timeout=TIMEOUT_S))
            assert worker.wait(TIMEOUT_S) == 0
        finally:
            worker.kill()
    return found


EXPECTED = ["good, delivery 1", "flaky, delivery 1", "flaky, delivery 2", "stop, delivery 1"]
