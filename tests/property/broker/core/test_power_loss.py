"""Power loss under the broker: what was answered is there, each transaction is whole, and none hangs.

The broker's core runs on a disk that loses what was not synced, file by file and in part, so data may survive of which
the coordinator's records do not, or the other way round. A life ends at a random sync, before it or after it.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from oncelog.errors import Error
from oncelog.testing.simulation.disk import FaultyDisk
from tests.property.broker.core.life import PLACES, Life, PowerLost
from tests.unit.broker.core.conftest import NOW_MS
from tests.unit.broker.log.batches import batch

LIVES = 6


@pytest.mark.parametrize("verification", ["true", "false"])
@pytest.mark.parametrize("seed", range(60))
def test_every_answered_commit_survives_a_power_loss_and_no_transaction_hangs(
    tmp_path: Path, seed: int, verification: str
) -> None:
    settings = {"transaction.partition.verification.enable": verification}
    rng = random.Random(seed)
    disk = FaultyDisk()
    outcomes: dict[int, bool | None] = {}
    for _ in range(LIVES):
        life = Life(disk, tmp_path / "metadata.sqlite", rng, rng.randint(0, 25), settings)
        try:
            producer = life.init()
            check(life, outcomes)
            while True:
                number, commit = len(outcomes), rng.random() < 0.6
                outcomes[number] = False
                life.write(producer, number, acknowledged=commit)
                outcomes[number] = None if commit else False
                producer = life.end_transaction(producer, commit)
                outcomes[number] = commit
        except PowerLost:
            disk = life.end()
    life = Life(disk, tmp_path / "metadata.sqlite", rng, 1000, settings)
    life.init()
    check(life, outcomes)


def check(life: Life, outcomes: dict[int, bool | None]) -> None:
    """A client that waits for the markers has its answer by now; a commit without an answer was all or nothing, for
    good.
    """
    life.flush_all()
    seen, other = (life.committed(place) for place in PLACES)
    assert seen == other, "a transaction is visible in part"
    for number, outcome in outcomes.items():
        if outcome is None:
            outcomes[number] = number in seen
    assert seen == [number for number, outcome in outcomes.items() if outcome]


@pytest.mark.parametrize("policy", ["interval", "none"])
@pytest.mark.parametrize("seed", range(60))
def test_without_syncs_answers_may_be_lost_but_no_aborted_record_appears_and_no_transaction_hangs(
    tmp_path: Path, seed: int, policy: str
) -> None:
    """Data may outlive the coordinator's record of its transaction: it must not join the producer's next one."""
    settings = {"oncelog.flush.policy": policy}
    rng = random.Random(seed)
    disk = FaultyDisk()
    aborted: set[int] = set()
    number = 0
    for _ in range(LIVES):
        life = Life(disk, tmp_path / "metadata.sqlite", rng, 1000, settings)
        producer = life.init()
        for place in PLACES:
            assert not aborted & set(life.committed(place))
        for _ in range(rng.randint(0, 5)):
            number += 1
            commit = rng.random() < 0.5
            if not commit:
                aborted.add(number)
            life.write(producer, number, acknowledged=commit)
            if rng.random() < 0.5:
                producer = life.end_transaction(producer, commit)
            else:
                aborted.add(number)
                producer = life.init()
            if rng.random() < 0.2:
                life.flush_all()
        if rng.random() < 0.5:
            number += 1
            aborted.add(number)
            life.write(producer, number, acknowledged=False)
        disk = life.end()


@pytest.mark.parametrize("seed", range(10))
def test_data_of_a_killed_process_is_synced_before_a_retry_is_answered(tmp_path: Path, seed: int) -> None:
    """The process is killed between the write and its sync, the producer repeats its batch, then the power fails."""
    rng = random.Random(seed)
    disk = FaultyDisk()
    for repeated in (False, True):
        life = Life(disk, tmp_path / "metadata.sqlite", rng, 1000)
        life.flush_all()
        partition = life.broker.partition(PLACES[0])
        assert partition is not None
        result = partition.append_client(batch(1, pid=7, epoch=0, seq=0), NOW_MS)
        assert (result.error, result.duplicate) == (Error.NONE, repeated)
        if repeated:
            assert life.answer(partition.when_committed(result.last_offset + 1)) is Error.NONE
        life.metadata.close()
    life = Life(disk.crash(rng), tmp_path / "metadata.sqlite", rng, 1000)
    assert life.log(PLACES[0]).log_end_offset == 1


def test_data_of_a_killed_process_is_synced_at_the_first_interval(tmp_path: Path) -> None:
    rng = random.Random(0)
    disk, settings = FaultyDisk(), {"oncelog.flush.policy": "interval", "log.flush.interval.ms": "1000"}
    life = Life(disk, tmp_path / "metadata.sqlite", rng, 1000, settings)
    partition = life.broker.partition(PLACES[0])
    assert partition is not None
    assert partition.append_client(batch(1), NOW_MS).error is Error.NONE
    life.metadata.close()
    life = Life(disk, tmp_path / "metadata.sqlite", rng, 1000, settings)
    life.pass_time(1000)
    assert life.broker.flushing.wanted
    life.flush_all()
    life.metadata.close()
    life = Life(disk.crash(rng), tmp_path / "metadata.sqlite", rng, 1000, settings)
    assert life.log(PLACES[0]).log_end_offset == 1
