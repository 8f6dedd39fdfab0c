"""One Apache Kafka for all workers of a run.

pytest's own process, which hands the tests to the workers of pytest-xdist, owns it: workers end at different times. It
starts the node when the first worker asks, and stops it at the end of the run.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import NamedTuple

from tests.support.apache_kafka import JAVA_OPTIONS, ApacheKafka, KafkaFailed


class RunningKafka(NamedTuple):
    """Where the shared node is; no test stops it."""

    bootstrap_servers: str
    data_folder: Path


class KafkaForWorkers:
    """``KafkaForWorkers(properties)`` in pytest's own process, ``ask(address)`` in each worker.

    :param properties: broker properties of the node.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._kafka = ApacheKafka(properties=properties)
        self._started: RunningKafka | None = None
        self._listener = Listener()
        self.address = str(self._listener.address)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the node, if a worker has asked for it."""
        with Client(self.address) as last:
            last.send(None)
        self._thread.join()
        self._listener.close()
        self._kafka.close()

    def _serve(self) -> None:
        while True:
            with self._listener.accept() as worker:
                try:
                    java_options = worker.recv()
                    if java_options is None:
                        return
                    self._answer(worker, java_options)
                except (EOFError, ConnectionError):  # the worker has ended
                    continue

    def _answer(self, worker: Connection, java_options: str) -> None:
        try:
            if self._started is None:
                os.environ[JAVA_OPTIONS] = java_options
                self._kafka.start()
                self._started = RunningKafka(self._kafka.bootstrap_servers, self._kafka.data_folder)
        except KafkaFailed as error:
            worker.send(str(error))
        else:
            worker.send(self._started)


def ask(address: str) -> RunningKafka:
    """The shared node, which runs from now on.

    Its JVM has this process's options if this process is the first that asks. Raises KafkaFailed if it does not start.
    """
    with Client(address) as owner:
        owner.send(os.environ.get(JAVA_OPTIONS, ""))
        answer = owner.recv()
    if isinstance(answer, RunningKafka):
        return answer
    raise KafkaFailed(answer)
