"""A crash of Spark's own Kafka sink: its driver is killed while writing, then restarted.

Called by :mod:`oncelog.apps.demo.run` when the demo's own pipelines are proven. The sink has no hook at which it could
wait, so its driver is killed as soon as records of a micro-batch are in the topic and Spark's commit log does not
contain the batch yet.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from oncelog.apps.demo.processes import Child
from oncelog.apps.demo.proof import read_topic
from oncelog.client.blocking import Admin
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.client.core.structs import TopicPartition
from oncelog.errors import OncelogError
from oncelog.runtime import real_json as json
from oncelog.runtime import real_time
from oncelog.spark.maven import DownloadFailed, spark_connector_jars

BATCHES = 10
"""The number of micro-batches, roughly, into which the topic is divided."""
KILLS = 1
"""How often the driver is killed; every kill costs a start of Spark, and one is enough to see duplicates."""
_TIMEOUT_S = 300.0
_LATEST = -1


class Display(Protocol):
    """Where the demo shows its progress."""

    def say(self, text: str) -> None: ...

    def bar(self, name: str, done: int, total: int) -> None: ...

    def waiting(self, what: str) -> None:
        """Called repeatedly while the demo waits for ``what``; shows it if nothing was shown for a few seconds."""


@dataclass(frozen=True, slots=True)
class SparkSinkProof:
    """The records that Spark's own sink left in its topic; ``missing`` gives the reason if it did not run."""

    topic: str = ""
    kills: int = 0
    expected: int = 0
    delivered: int = 0
    duplicates: int = 0
    lost: int = 0
    missing: str = ""


class SparkSinkCrashes:
    """One run of Spark's own sink, which copies the topic ``source`` with ``flights`` flights to the topic ``sink``."""

    def __init__(self, servers: str, folder: Path, source: str, sink: str, flights: int, partitions: int) -> None:
        self._servers = servers
        self._folder = folder
        self._source = source
        self._sink = sink
        self._flights = flights
        self._partitions = [TopicPartition(sink, number) for number in range(partitions)]
        self._checkpoint = folder / "checkpoints" / "sparks-own-sink"
        self._prepared: Child | None = None
        self._missing = ""

    def prepare(self) -> None:
        """Start a driver that waits for its order to begin; called before :meth:`run`, and followed by :meth:`stop`."""
        try:
            spark_connector_jars()
        except DownloadFailed as error:
            self._missing = str(error).partition("\n")[0]
        else:
            self._prepared = self._start()

    def stop(self) -> None:
        """End a driver that still waits."""
        if self._prepared is not None:
            self._prepared.kill()

    def run(self, display: Display) -> SparkSinkProof:
        """Run the sink, kill its driver once, let the next driver finish, and count. Raises OncelogError if the sink
        makes no progress or gives up.
        """
        if self._prepared is None:
            return SparkSinkProof(missing=self._missing)
        kills = 0
        with Admin(bootstrap_servers=self._servers) as admin:
            admin.create_topics([NewTopic(self._sink, len(self._partitions), topic_configs={"retention.ms": "-1"})])
            while True:
                child = self._prepared or self._start()
                self._prepared = None
                child.order("begin")
                if kills < KILLS:
                    self._prepared = self._start()
                display.say("a driver with Spark's own sink starts, to copy the same flights")
                try:
                    if not self._wait(admin, child, display, to_end=kills == KILLS):
                        break
                finally:
                    child.kill()
                kills += 1
                display.say(f"kill -9: the driver with Spark's own sink, in the write of batch {self._ended()}")
        return self._count(kills)

    def _start(self) -> Child:
        arguments = ["-m", "oncelog.apps.demo.sparks_sink", "--bootstrap-server", self._servers]
        arguments += ["--source", self._source, "--sink", self._sink, "--checkpoint", str(self._checkpoint)]
        arguments += ["--rows", str(max(1, self._flights // BATCHES))]
        return Child("Spark's own sink", arguments, self._folder / "logs" / "sparks-own-sink.log", lambda line: None)

    def _wait(self, admin: Admin, child: Child, display: Display, *, to_end: bool) -> bool:
        """Wait until some records of a batch are in the topic and the batch is not complete (returns True), or until
        the driver has ended by itself (returns False)."""
        deadline = real_time.monotonic() + _TIMEOUT_S
        ended, stored = self._ended(), self._stored(admin)
        while child.ended is None:
            if real_time.monotonic() > deadline:
                raise OncelogError(
                    f"Spark's own sink made no progress within {_TIMEOUT_S:.0f} s; see {self._folder}/logs"
                )
            now = self._ended()
            if now != ended:
                ended, stored = now, self._stored(admin)
            elif not to_end and self._stored(admin) > stored and self._ended() == ended:
                return True
            display.waiting("Spark's own sink to copy all flights" if to_end else "Spark's own sink to write a batch")
            time.sleep(0.01)
        if child.ended != 0:
            child.check()
        return False

    def _ended(self) -> int:
        """The number of completed batches in Spark's commit log."""
        commits = self._checkpoint / "commits"
        return sum(file.name.isdecimal() for file in commits.iterdir()) if commits.is_dir() else 0

    def _stored(self, admin: Admin) -> int:
        return sum(found.offset for found in admin.list_offsets(dict.fromkeys(self._partitions, _LATEST)).values())

    def _count(self, kills: int) -> SparkSinkProof:
        numbers: set[int] = set()
        delivered = 0
        for record in read_topic(self._servers, self._sink):
            number = json.loads(record.value or b"{}").get("id")
            if number is not None:
                delivered += 1
                numbers.add(number)
        return SparkSinkProof(
            self._sink, kills, self._flights, delivered, delivered - len(numbers), self._flights - len(numbers)
        )
