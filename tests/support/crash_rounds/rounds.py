"""The loop: load, kill at a random moment, damage, restart, proof.

Randomness comes from the seed. The moment at which a kill hits the load does not repeat exactly, but everything drawn
does.
"""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from oncelog.errors import OncelogError
from tests.support.crash_rounds.actors import (
    PARTITIONS,
    Actor,
    CopyActor,
    LibrdkafkaActor,
    OncelogActor,
    TransactionActor,
    Violation,
    client_settings,
)
from tests.support.crash_rounds.damage import damage
from tests.support.crash_rounds.node import ServeProcess
from tests.support.crash_rounds.proof import TOPICS, Proof

ROUNDS_A_FOLDER = 25
PAUSE_S = 180
"""What is in flight must be finished within this time after the restart; clients give a batch up after 120 s."""

SETTINGS = {
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "offsets.topic.segment.bytes": "1048576",
    "transaction.state.log.segment.bytes": "1048576",
    "log.cleaner.backoff.ms": "300",
    "log.cleaner.min.cleanable.ratio": "0.05",
    "log.segment.delete.delay.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
}
SEGMENT_BYTES = 200_000


@dataclass
class Figures:
    """What the rounds did."""

    rounds: int = 0
    kills: int = 0
    clean_stops: int = 0
    kills_at_start: int = 0
    visible_records: int = 0
    restart_s: list[float] = field(default_factory=list)
    damages: Counter[str] = field(default_factory=Counter)
    clients: Counter[str] = field(default_factory=Counter)


class FailedRound(Violation):
    """A round broke a promise; the text says how to repeat it and where the files are."""


class Folder:
    """One data folder with its clients, for several rounds."""

    def __init__(self, path: Path, seed: str, figures: Figures) -> None:
        self.rng = random.Random(seed)
        self.flush_policy = self.rng.choice(["commit", "commit", "interval", "none"])
        self.node = ServeProcess(path, SETTINGS | {"oncelog.flush.policy": self.flush_policy})
        self.figures = figures
        self.history: list[str] = []
        self.node.start()
        servers = self.node.bootstrap_servers
        topics = [
            NewTopic(name, PARTITIONS, 1, config={"internal.segment.bytes": str(SEGMENT_BYTES)}) for name in TOPICS
        ]
        admin = AdminClient(client_settings(servers))
        for created in admin.create_topics(topics).values():
            created.result(120)
        self.writers: list[Actor] = [
            LibrdkafkaActor("idempotent", f"{seed}-1", servers),
            OncelogActor("own-client", f"{seed}-2", servers),
            TransactionActor("transaction-1", f"{seed}-3", servers),
            TransactionActor("transaction-2", f"{seed}-4", servers),
        ]
        self.copier = CopyActor("copier", f"{seed}-5", servers)
        self.actors = [*self.writers, self.copier]
        self.proof = Proof(servers, self.actors)
        self._threads = ThreadPoolExecutor(len(self.actors))
        self._running = {actor: self._threads.submit(actor.run) for actor in self.actors}

    def round(self) -> None:
        """Load until a random moment, then the end of the process, its restart and the proof."""
        self.node.check_alive()
        time.sleep(self.rng.uniform(0.05, 1.0))
        if self.rng.random() < 0.1:
            self.node.stop()
            self.figures.clean_stops += 1
            self.history.append("stopped")
        else:
            self._kill()
        self.figures.restart_s.append(self.node.start())
        time.sleep(self.rng.choice([0.0, 0.1, 0.3]))
        self._pause(self.writers)
        self._pause([self.copier])
        self.proof.check()
        for actor in self.actors:
            actor.resume()
        self.figures.rounds += 1

    def _kill(self) -> None:
        self.node.kill()
        self.figures.kills += 1
        self.history.append("killed")
        self._damage()
        while self.rng.random() < 0.15:
            self.node.launch()
            time.sleep(self.rng.uniform(0.05, 0.6))
            self.node.kill()
            self.figures.kills_at_start += 1
            self.history.append("killed at its start")
            self._damage()

    def _damage(self) -> None:
        done = damage(self.node.data, self.rng, self.rng.choice([0, 1, 2, 4]))
        self.history += done
        for line in done:
            self.figures.damages[line.partition(":")[0]] += 1

    def _pause(self, actors: Sequence[Actor]) -> None:
        for actor in actors:
            actor.pause()
        deadline = time.monotonic() + PAUSE_S
        while waiting := [actor for actor in actors if not actor.idle.wait(0.05)]:
            for actor in actors:
                self._raise_if_failed(self._running[actor])
            self.node.check_alive()
            if time.monotonic() > deadline:
                names = ", ".join(actor.name for actor in waiting)
                raise Violation(f"after {PAUSE_S:.0f} s still not done: {names}; {[a.counts for a in waiting]}")

    @staticmethod
    def _raise_if_failed(future: Future[None]) -> None:
        if future.done():
            future.result()
            raise Violation("a client ended before it was told to")

    def finish(self) -> None:
        """Everything is read once more, before and after a clean stop."""
        self._pause(self.writers)
        self._pause([self.copier])  # only now: it has to copy what the writers wrote last
        self.proof.check()
        self.proof.check_from_the_start()
        self.node.stop()
        self.node.start()
        self.proof.check_from_the_start()
        self.figures.visible_records += self.proof.visible
        for actor in self.actors:
            self.figures.clients.update(actor.counts)

    def close(self) -> None:
        for actor in self.actors:
            actor.end()
        self._threads.shutdown(wait=True)
        self.node.close()


def run_rounds(
    rounds: int,
    seed: int,
    place: Path,
    figures: Figures,
    progress: Callable[[], None],
    *,
    rounds_a_folder: int = ROUNDS_A_FOLDER,
) -> None:
    """Run them below ``place`` and count in ``figures``; a folder whose rounds held is removed, one that failed stays.

    :raises FailedRound: with what had been done to the folder.
    """
    while figures.rounds < rounds:
        number = figures.rounds // rounds_a_folder
        path = place / f"folder-{number}"
        path.mkdir(parents=True)
        folder = Folder(path, f"{seed}-{number}", figures)
        try:
            for _ in range(min(rounds_a_folder, rounds - figures.rounds)):
                folder.round()
                progress()
            folder.finish()
        except KeyboardInterrupt:
            folder.close()
            raise
        except (OncelogError, KafkaException) as error:
            folder.close()
            history = "\n  ".join(folder.history[-30:])
            raise FailedRound(
                f"round {figures.rounds + 1} of seed {seed} (flush policy {folder.flush_policy}): {error}\n"
                f"the folder is kept: {path}\nwhat was done to it:\n  {history}"
            ) from error
        folder.close()
        shutil.rmtree(path)
