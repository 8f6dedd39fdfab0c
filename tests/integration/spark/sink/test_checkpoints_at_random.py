"""Random treatment of checkpoints by users: after a run that ends well each record is there once, and none is ever
there twice.

A run may be refused. Then the checkpoint that wrote last can still continue.
"""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.integration.spark.sink.test_marker import Job, RunningBroker

pytestmark = [pytest.mark.crash, pytest.mark.soak, pytest.mark.timeout(3000)]

ROUNDS = 20
KEPT = 6
"""Copies of the checkpoint to return to."""


class Checkpoints:
    """The checkpoint that wrote last, and earlier copies of it."""

    def __init__(self, folder: Path, first: Path) -> None:
        self._folder = folder
        self._count = 0
        self.newest = first
        self.older: list[Path] = []

    def copy(self, of: Path, *, torn: bool = False) -> Path:
        """Another folder with the same files; with ``torn``, those of a running query as a plain copy finds them."""
        self._count += 1
        place = self._folder / f"copy-{self._count}"
        try:
            shutil.copytree(of, place)
        except shutil.Error:  # some were gone when their turn came
            assert torn
        return place

    def moved_to(self, place: Path) -> None:
        self.newest = place
        self.older = [*self.older, self.copy(place)][-KEPT:]


def last(checkpoint: Path, log: str) -> Path:
    return max(
        (file for file in (checkpoint / log).iterdir() if file.name.isdecimal()), key=lambda file: int(file.name)
    )


def remove(file: Path) -> None:
    file.unlink()
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def restore(job: Job, known: Checkpoints, chance: random.Random) -> Path:
    return known.copy(chance.choice(known.older))


def resume(job: Job, known: Checkpoints, chance: random.Random) -> Path:
    return known.copy(known.newest)


def crash_before_commit_log(job: Job, known: Checkpoints, chance: random.Random) -> Path:
    place = known.copy(known.newest)
    remove(last(place, "commits"))
    return place


def take_last_batch_back(job: Job, known: Checkpoints, chance: random.Random) -> Path:
    place = known.copy(known.newest)
    for log in ("commits", "offsets"):
        remove(last(place, log))
    return place


def cut_a_file_off(job: Job, known: Checkpoints, chance: random.Random) -> Path:
    place = known.copy(known.newest)
    file = last(place, chance.choice(("commits", "offsets")))
    data = file.read_bytes()
    remove(file)
    file.write_bytes(data[: chance.randrange(len(data))])
    return place


def forget_memory(job: Job, known: Checkpoints, chance: random.Random) -> Path:
    place = known.copy(known.newest)
    shutil.rmtree(place / "oncelog", ignore_errors=True)
    return place


def memory_of_another_time(job: Job, known: Checkpoints, chance: random.Random) -> Path:
    place, other = (known.copy(chance.choice([*known.older, known.newest])) for _ in range(2))
    shutil.rmtree(place / "oncelog", ignore_errors=True)
    if (other / "oncelog").exists():
        shutil.copytree(other / "oncelog", place / "oncelog")
    return place


def stop_half_way(job: Job, known: Checkpoints, chance: random.Random) -> Path:
    place = known.copy(known.newest)
    query = job.start(place)
    time.sleep(chance.random() * 4)  # anywhere in its work
    query.stop()
    return place


def copy_half_way(job: Job, known: Checkpoints, chance: random.Random) -> Path:
    """The original continues, and so does the copy, since its plan of what comes next differs or does not exist."""
    query = job.start(known.newest)
    time.sleep(chance.random() * 4)
    place = known.copy(known.newest, torn=True)
    query.stop()
    return place


DEEDS: tuple[Callable[[Job, Checkpoints, random.Random], Path], ...] = (
    restore,
    resume,
    crash_before_commit_log,
    take_last_batch_back,
    cut_a_file_off,
    forget_memory,
    memory_of_another_time,
    stop_half_way,
    copy_half_way,
)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("way", ["format", "driver", "executors"])
def test_a_query_writes_each_record_once_despite_random_checkpoint_faults(
    spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path, way: str, seed: int
) -> None:
    chance = random.Random(f"{way} {seed}")
    job = Job(spark, broker, unique_name, tmp_path)
    job.by_batch = way != "format"
    job.writing = {"driver": {"writers": "0"}, "executors": {"writers": "1"}}.get(way, {})
    job.reading = {"maxOffsetsPerTrigger": "7"}
    job.send(20)
    job.run()
    known = Checkpoints(tmp_path, job.checkpoint)
    known.moved_to(job.checkpoint)

    def ends_well(checkpoint: Path) -> bool:
        try:
            job.run(checkpoint=checkpoint)
        except PySparkException:
            return False
        return True

    def check(*, all_of_them: bool) -> None:
        found = Counter(job.numbers())
        assert max(found.values()) == 1
        assert not all_of_them or sorted(found) == list(range(job.sent))

    refused = 0
    for number in range(ROUNDS):
        job.send(chance.randrange(1, 25))
        deed = chance.choice(DEEDS)
        place = deed(job, known, chance)
        before = job.batch()
        well = ends_well(place)
        check(all_of_them=well)
        if well or job.batch() > before:
            known.moved_to(place)
        if not well:
            refused += 1
            assert deed not in (resume, crash_before_commit_log, forget_memory, stop_half_way), deed.__name__
            assert ends_well(known.newest), f"round {number}: {deed.__name__}, and the checkpoint that wrote last"
            check(all_of_them=True)
    assert 0 < refused < ROUNDS
