"""A topic is created whole or not at all, whatever fails meanwhile."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from oncelog.broker.coordinator.runtime import CoordinatorRuntime
from oncelog.broker.core.administration.topics import COMPLETED_AGAIN_MS, LED_IN_A_CHUNK
from oncelog.broker.core.requests import tasks
from oncelog.errors import Error, KafkaError, StorageError
from oncelog.types import (
    CONSUMER_OFFSETS_TOPIC,
    INTERNAL_TOPICS,
    SHARE_GROUP_STATE_TOPIC,
    TRANSACTION_STATE_TOPIC,
    TopicPartition,
)
from tests.unit.broker.core.conftest import NOW_MS, Admin


@pytest.mark.parametrize("failure", [StorageError("no space"), RuntimeError("nobody foresaw this")])
def test_a_topic_is_created_completely_or_not_at_all(monkeypatch: pytest.MonkeyPatch, failure: Exception) -> None:
    broker = Admin().broker
    opening = broker.logs.open

    def fails_at_the_third(where: TopicPartition, *rest: Any) -> Any:
        if where.partition == 2:
            raise failure
        return opening(where, *rest)

    with monkeypatch.context() as broken:
        broken.setattr(broker.logs, "open", fails_at_the_third)
        with pytest.raises(type(failure)):
            broker.topics.create("t", 4, {}, NOW_MS)
    assert broker.metadata.topic("t") is None
    assert not [where for where in broker.topics.partitions if where.topic == "t"]
    broker.topics.create("t", 4, {}, NOW_MS)
    assert len([where for where in broker.topics.partitions if where.topic == "t"]) == 4
    broker.stop(NOW_MS)


def test_a_topic_whose_metadata_cannot_be_stored_is_not_created(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Admin().broker

    def fails(*_: object) -> Any:
        raise RuntimeError("nobody foresaw this")

    with monkeypatch.context() as broken:
        broken.setattr(type(broker.nodes), "place", fails)
        with pytest.raises(RuntimeError):
            broker.topics.create("t", 4, {}, NOW_MS)
    assert broker.metadata.topic("t") is None
    broker.stop(NOW_MS)


def test_requests_wait_while_an_internal_topic_is_created(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broker = Admin().broker
    monkeypatch.setattr(tasks, "AT_ONCE", 1)
    there: list[int] = []

    def made(_: None) -> None:
        there.append(sum(where.topic == CONSUMER_OFFSETS_TOPIC for where in broker.topics.partitions))

    for _ in range(3):
        broker.tasks.begin(broker.topics.ensuring_internal(CONSUMER_OFFSETS_TOPIC, NOW_MS)).then(made)
    assert not there
    broker.tasks.finish()
    assert there == [50, 50, 50]
    assert not caplog.records
    broker.stop(NOW_MS)


@pytest.mark.parametrize("chunks", [0, 1, 2, 4, 60])
@pytest.mark.parametrize("topic", sorted(INTERNAL_TOPICS))
@pytest.mark.parametrize("client_first", [True, False])
def test_an_internal_topic_that_a_client_creates_meanwhile_is_created_once_and_has_coordinators(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, topic: str, chunks: int, client_first: bool
) -> None:
    broker = Admin().broker
    monkeypatch.setattr(tasks, "AT_ONCE", 1)
    outcomes: list[object] = []

    def client() -> None:
        work = broker.topics.creating(topic, 3, {}, NOW_MS)
        broker.tasks.begin(work).then(lambda made: outcomes.append(made.partitions), outcomes.append)

    def coordinator() -> None:
        broker.tasks.begin(broker.topics.ensuring_internal(topic, NOW_MS))

    first, second = (client, coordinator) if client_first else (coordinator, client)
    first()
    for _ in range(chunks):
        if broker.tasks:
            broker.tasks.step()
    second()
    broker.tasks.finish()
    (outcome,) = outcomes
    if client_first:
        assert outcome == 3
    else:
        assert isinstance(outcome, KafkaError)
        assert outcome.error is Error.TOPIC_ALREADY_EXISTS
    runtimes: dict[str, CoordinatorRuntime[Any]] = {
        CONSUMER_OFFSETS_TOPIC: broker.groups.runtime,
        SHARE_GROUP_STATE_TOPIC: broker.share_states.runtime,
        TRANSACTION_STATE_TOPIC: broker.transactions.runtime,
    }
    runtime = runtimes[topic]
    assert runtime.partitions == (3 if client_first else 50)
    assert not isinstance(runtime.shard_for("anybody", node_id=None), Error)
    assert not caplog.records
    broker.stop(NOW_MS)


def test_other_partitions_of_a_deleted_topic_are_removed_if_one_cannot_be_renamed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its producers are told at once, and its files go, although the disk failed for the first one."""
    broker = Admin().broker
    broker.topics.create("t", 3, {}, NOW_MS)
    logs = [broker.topics.partitions[TopicPartition("t", index)].log for index in range(3)]

    def fails(_: str) -> str:
        raise StorageError("the disk is broken")

    monkeypatch.setattr(logs[0], "delete", fails)
    with pytest.raises(StorageError):
        broker.topics.delete("t", NOW_MS)
    assert [log.failed is not None for log in logs] == [False, True, True]
    broker.topics.create("t", 3, {}, NOW_MS)
    assert sum(where.topic == "t" for where in broker.topics.partitions) == 3
    broker.stop(NOW_MS)


@pytest.mark.parametrize("name", ["t", CONSUMER_OFFSETS_TOPIC])
def test_a_topic_half_created_on_a_full_disk_is_completed_when_space_is_free(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    broker = Admin().broker
    opening = broker.logs.open

    def fails_at_the_third(where: TopicPartition, *rest: Any) -> Any:
        if where.partition == 2:
            raise StorageError("no space")
        return opening(where, *rest)

    def fails(_: str) -> None:
        raise StorageError("no space")

    def partitions() -> int:
        return len([where for where in broker.topics.partitions if where.topic == name])

    with monkeypatch.context() as broken:
        broken.setattr(broker.logs, "open", fails_at_the_third)
        broken.setattr(broker.metadata, "delete_topic", fails)
        with pytest.raises(StorageError, match="no space"):
            broker.topics.create(name, 4, {}, NOW_MS)
        broker.advance(NOW_MS + COMPLETED_AGAIN_MS)
        assert broker.metadata.topic(name) is not None and partitions() == 2
    broker.advance(NOW_MS + 2 * COMPLETED_AGAIN_MS)
    assert partitions() == 4
    if name in INTERNAL_TOPICS:
        assert len(list(broker.groups.runtime.shards())) == 4
    broker.advance(NOW_MS + 10 * COMPLETED_AGAIN_MS)
    broker.stop(NOW_MS)


def test_partitions_that_are_added_to_an_incomplete_topic_are_opened_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both the request that adds partitions and the one that completes the topic find them; a second log would write
    to the same files.
    """
    broker = Admin().broker
    opening, opened = broker.logs.open, Counter[TopicPartition]()

    def counts(where: TopicPartition, *rest: Any) -> Any:
        opened[where] += 1
        return opening(where, *rest)

    def fails(*_: object) -> Any:
        raise StorageError("no space")

    with monkeypatch.context() as broken:
        broken.setattr(broker.logs, "open", fails)
        broken.setattr(broker.metadata, "delete_topic", fails)
        with pytest.raises(StorageError, match="no space"):
            broker.topics.create("t", 1, {}, NOW_MS)
    monkeypatch.setattr(broker.logs, "open", counts)
    added = broker.tasks.begin(broker.topics.adding_partitions("t", 3 * tasks.AT_ONCE, NOW_MS))
    assert not added.done and opened
    broker.advance(NOW_MS + COMPLETED_AGAIN_MS)
    broker.tasks.finish()
    assert added.succeeded and len(opened) == 3 * tasks.AT_ONCE
    assert set(opened.values()) == {1}
    broker.stop(NOW_MS)


def test_a_topic_that_a_full_disk_has_left_incomplete_can_be_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Admin().broker

    def fails(*_: object) -> Any:
        raise StorageError("no space")

    with monkeypatch.context() as broken:
        broken.setattr(broker.logs, "open", fails)
        broken.setattr(broker.metadata, "delete_topic", fails)
        with pytest.raises(StorageError, match="no space"):
            broker.topics.create("t", 1, {}, NOW_MS)
    broker.topics.delete("t", NOW_MS)
    broker.advance(NOW_MS + COMPLETED_AGAIN_MS)
    assert broker.metadata.topic("t") is None and not broker.topics.partitions
    broker.stop(NOW_MS)


def test_the_coordinators_of_a_new_topic_start_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """All fifty partitions at once took 3 ms, in which nobody was served."""
    broker = Admin().broker
    monkeypatch.setattr(tasks, "AT_ONCE", 1)
    loaded: list[int] = []
    load = CoordinatorRuntime.load

    def counted(runtime: Any, partition: int, *rest: Any) -> None:
        loaded.append(partition)
        load(runtime, partition, *rest)

    monkeypatch.setattr(CoordinatorRuntime, "load", counted)
    broker.tasks.begin(broker.topics.ensuring_internal(CONSUMER_OFFSETS_TOPIC, NOW_MS))
    most = 0
    while broker.tasks:
        before = len(loaded)
        broker.tasks.step()
        most = max(most, len(loaded) - before)
    assert loaded == list(range(50))
    assert most <= LED_IN_A_CHUNK
    broker.stop(NOW_MS)


def test_no_coordinator_starts_on_a_topic_that_is_deleted_meanwhile(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broker = Admin().broker
    monkeypatch.setattr(tasks, "AT_ONCE", 1)
    broker.tasks.begin(broker.topics.ensuring_internal(CONSUMER_OFFSETS_TOPIC, NOW_MS))
    runtime = None
    while broker.tasks:
        broker.tasks.step()
        if runtime is None and len(broker.topics.partitions) == 50:
            runtime = broker.groups.runtime
            broker.tasks.step()
            broker.tasks.step()
            broker.topics.delete(CONSUMER_OFFSETS_TOPIC, NOW_MS)
    assert runtime is not None
    assert not list(runtime.shards())
    broker.topics.ensure_internal(CONSUMER_OFFSETS_TOPIC, NOW_MS)
    assert len(list(runtime.shards())) == 50
    assert not caplog.records
    broker.stop(NOW_MS)
