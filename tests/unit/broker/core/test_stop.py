"""A clean stop of the broker's core, with records that are appended but not yet synced."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from oncelog.broker.core.broker import Broker
from oncelog.broker.core.cluster.node import SimulatedNode
from oncelog.broker.core.requests.tasks import AT_ONCE
from oncelog.broker.core.requests.work import Work
from oncelog.broker.metadata.opening import open_metadata
from oncelog.broker.server.disk.memory_disk import MemoryDisk
from oncelog.errors import Error, StorageError
from oncelog.settings.config import BrokerConfig, parse
from oncelog.types import TopicPartition
from tests.support.ports import AtOnce, CountingRandom
from tests.unit.broker.core.conftest import NOW_MS, Admin
from tests.unit.broker.log.batches import batch


def test_a_clean_stop_acknowledges_appended_records() -> None:
    """Otherwise producers would repeat batches of which the next start knows only the last."""
    config = parse(BrokerConfig, {"oncelog.flush.policy": "commit"})
    random, disk = CountingRandom(), MemoryDisk()
    metadata, config = open_metadata(":memory:", disk, config, random, NOW_MS)
    node = SimulatedNode(1, "broker.example", 9092, None)
    broker = Broker(config=config, node=node, metadata=metadata, disk=disk, random=random, background=AtOnce())
    broker.start(NOW_MS)
    broker.topics.create("topic", 1, {}, NOW_MS)
    partition = broker.partition(TopicPartition("topic", 0))
    assert partition is not None
    answers: list[Error] = []
    for sequence in (0, 3):
        result = partition.append_client(batch(3, pid=1, seq=sequence), NOW_MS)
        partition.when_committed(result.last_offset + 1).then(answers.append)
    assert answers == []
    broker.stop(NOW_MS)
    assert answers == [Error.NONE, Error.NONE]


def test_a_clean_stop_commits_the_remaining_batches_of_a_long_request() -> None:
    made = Admin(**{"oncelog.flush.policy": "commit"})
    made.broker.topics.create("topic", 1, {}, NOW_MS)
    partition = made.broker.partition(TopicPartition("topic", 0))
    assert partition is not None
    answers: list[Error] = []

    def work() -> Work[None]:
        for _ in range(AT_ONCE + 5):
            yield
        result = partition.append_client(batch(3), NOW_MS)
        partition.when_committed(result.last_offset + 1).then(answers.append)

    made.broker.tasks.begin(work())
    assert made.broker.tasks
    made.broker.stop(NOW_MS)
    assert answers == [Error.NONE]


def test_a_stop_that_cannot_write_its_checkpoints_leaves_recovery_to_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, random, disk = BrokerConfig(), CountingRandom(), MemoryDisk()
    path = str(tmp_path / "metadata.sqlite")
    metadata, config = open_metadata(path, disk, config, random, NOW_MS)
    node = SimulatedNode(1, "broker.example", 9092, None)
    broker = Broker(config=config, node=node, metadata=metadata, disk=disk, random=random, background=AtOnce())
    broker.start(NOW_MS)

    def full(*_: object, **__: object) -> None:
        raise StorageError("cannot write .kafka_cleanshutdown: No space left on device")

    monkeypatch.setattr(disk, "write_atomic", full)
    with pytest.raises(StorageError, match="No space left"):
        broker.stop(NOW_MS)
    monkeypatch.undo()
    with closing(open_metadata(path, disk, config, random, NOW_MS)[0]) as again:
        assert again.starts == 1
