"""Fetch's handler over its ports: what it reads, when it waits and what ends the wait, and its sessions."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from oncelog.broker.core.fetching.fetch_sessions import FetchSessionCache
from oncelog.broker.core.fetching.purgatory import FetchPurgatory
from oncelog.broker.core.storage.partition import Partition
from oncelog.broker.log.results import FileSlice
from oncelog.broker.server.disk.memory_disk import MemoryDisk
from oncelog.errors import Error, StorageError
from oncelog.protocol.acls import AclResourceType
from oncelog.protocol.fetch_fast import FetchAnswered
from oncelog.protocol.framing import decode_response_header
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from oncelog.protocol.generated.fetch_response import FetchResponse, PartitionData
from oncelog.runtime.deferred import Deferred
from oncelog.runtime.timers import Timers
from oncelog.settings.config import BrokerConfig
from oncelog.types import TopicPartition
from tests.support.handler_ports import HandlerPorts
from tests.support.ports import CountingRandom
from tests.unit.broker.log.batches import NOW_MS, batch, marker, open_log

TOPIC_ID = b"topic-id-16bytes"
NAME, IDS = 12, 18
"""Versions in which topics are named, and have ids."""
COMMITTED = 1
MANY = 101
SIZE = len(batch())


class FetchFakes(HandlerPorts):
    """Topic ``t`` with empty partitions."""

    def __init__(self, partitions: int = 2) -> None:
        self.timers = Timers()
        info = SimpleNamespace(name="t")
        super().__init__(
            NOW_MS,
            metadata=SimpleNamespace(topic_by_id=lambda topic_id: info if topic_id == TOPIC_ID else None),
            config=BrokerConfig(),
            node=SimpleNamespace(node_id=1),
            fetch_sessions=FetchSessionCache(2, CountingRandom()),
        )
        self.fetches = FetchPurgatory(self.timers, self.tasks)
        self.led = {}
        for index in range(partitions):
            name = TopicPartition("t", index)
            self.led[name] = Partition(
                name,
                TOPIC_ID,
                open_log(MemoryDisk()),
                0,
                sync_before_commit=False,
                on_dirty=lambda partition: None,
                on_advance=self.fetches.wake,
            )

    def partition(self, name: TopicPartition) -> Partition | None:
        return self.led.get(name)

    def append(self, index: int = 0, **what: Any) -> None:
        assert self.led[TopicPartition("t", index)].append_client(batch(**what), NOW_MS).error is Error.NONE

    def fetch(self, request: FetchRequest, version: int = NAME) -> FetchResponse:
        """The answer, which comes at once."""
        result = self.begin(request, version)
        self.tasks.finish()
        return received(result.value if isinstance(result, Deferred) else result, version)

    def wait(self, request: FetchRequest, version: int = NAME) -> list[Any]:
        """The answer or failure, once there is one; none when this returns."""
        answers: list[Any] = []
        self.begin(request, version).then(lambda answer: answers.append(received(answer, version)), answers.append)
        self.tasks.finish()
        assert answers == []
        return answers


def received(answer: FetchAnswered, version: int) -> FetchResponse:
    """The answer as its client reads it."""
    parts = answer.encode_with_slices(version, 7)
    sent = b"".join(part.read_bytes() if isinstance(part, FileSlice) else part for part in parts)
    assert int.from_bytes(sent[:4], "big") == len(sent) - 4
    correlation_id, body = decode_response_header(memoryview(sent)[4:], FetchResponse.API_KEY, version)
    assert correlation_id == 7
    return FetchResponse.decode(sent, version, 4 + body)


@pytest.fixture
def ports() -> FetchFakes:
    return FetchFakes()


def asked(*indexes: int, **what: Any) -> FetchTopic:
    return FetchTopic("t", partitions=[FetchPartition(index, partition_max_bytes=1 << 20, **what) for index in indexes])


def request_for(*topics: FetchTopic, **what: Any) -> FetchRequest:
    return FetchRequest(**{"max_wait_ms": 0, "min_bytes": 1, "topics": list(topics), **what})


def parts(answer: FetchResponse) -> Iterator[PartitionData]:
    for topic in answer.responses:
        yield from topic.partitions


def errors(answer: FetchResponse) -> list[Error]:
    return [Error(part.error_code) for part in parts(answer)]


def sizes(answer: FetchResponse) -> dict[int, int]:
    return {part.partition_index: len(part.records or b"") for part in parts(answer)}


# --- what is read


def test_an_isolation_level_that_does_not_exist_is_refused(ports: FetchFakes) -> None:
    assert ports.fetch(request_for(asked(0), isolation_level=2)).error_code == Error.INVALID_REQUEST


def test_read_committed_fetch_ends_at_an_open_transaction_and_lists_aborted_transactions(ports: FetchFakes) -> None:
    ports.append(pid=7, seq=0, txn=True)
    log = ports.led[TopicPartition("t", 0)].log
    marker(log, 7, commit=False)
    log.maybe_advance_high_watermark(log.log_end_offset)
    ports.append(pid=8, seq=0, txn=True)
    (found,) = parts(ports.fetch(request_for(asked(0), isolation_level=COMMITTED)))
    assert (found.last_stable_offset, found.high_watermark) == (2, 3)
    assert [(each.producer_id, each.first_offset) for each in found.aborted_transactions or ()] == [(7, 0)]
    (all_of_it,) = parts(ports.fetch(request_for(asked(0))))
    assert len(all_of_it.records or b"") - len(found.records or b"") == SIZE
    assert all_of_it.aborted_transactions is None


def test_only_the_first_batch_may_exceed_the_limit(ports: FetchFakes) -> None:
    for index in (0, 0, 1):
        ports.append(index)
    assert sizes(ports.fetch(request_for(asked(0, 1), max_bytes=1))) == {0: SIZE, 1: 0}
    assert sizes(ports.fetch(request_for(asked(0, 1), max_bytes=2 * SIZE))) == {0: 2 * SIZE, 1: 0}
    assert sizes(ports.fetch(request_for(asked(0, 1)))) == {0: 2 * SIZE, 1: SIZE}


@pytest.mark.parametrize(("offset", "error"), [(0, Error.NONE), (1, Error.NONE), (2, Error.OFFSET_OUT_OF_RANGE)])
def test_an_offset_beyond_the_end_is_out_of_range(ports: FetchFakes, offset: int, error: Error) -> None:
    ports.append()
    assert errors(ports.fetch(request_for(asked(0, fetch_offset=offset)))) == [error]


@pytest.mark.parametrize("version", [15, 16])
def test_from_version_16_on_a_refusal_names_the_current_leader(ports: FetchFakes, version: int) -> None:
    """KIP-951."""
    replicas: Any = SimpleNamespace(leader=3)
    ports.led[TopicPartition("t", 0)].replicas = replicas
    topic = FetchTopic(topic_id=TOPIC_ID, partitions=[FetchPartition(0)])
    (found,) = parts(ports.fetch(request_for(topic), version))
    assert found.error_code == Error.NOT_LEADER_OR_FOLLOWER
    assert found.current_leader.leader_id == (3 if version == 16 else -1)


def test_an_unknown_topic_id_and_an_unknown_topic_name_get_different_errors(ports: FetchFakes) -> None:
    other = FetchTopic(topic_id=b"other-id-16bytes", partitions=[FetchPartition(0)])
    assert errors(ports.fetch(request_for(other), IDS)) == [Error.UNKNOWN_TOPIC_ID]
    assert errors(ports.fetch(request_for(asked(7)))) == [Error.UNKNOWN_TOPIC_OR_PARTITION]


def test_a_topic_that_was_created_again_has_another_id(ports: FetchFakes) -> None:
    ports.led[TopicPartition("t", 0)].topic_id = b"the-one-after-it"
    topic = FetchTopic(topic_id=TOPIC_ID, partitions=[FetchPartition(0)])
    assert errors(ports.fetch(request_for(topic), IDS)) == [Error.UNKNOWN_TOPIC_OR_PARTITION]


@pytest.mark.parametrize(
    ("offset", "epoch", "error", "diverging"),
    [
        (1, 0, Error.NONE, (-1, -1)),
        (2, 0, Error.NONE, (0, 1)),  # beyond where epoch 0 ended
        (2, 1, Error.NONE, (0, 1)),  # nobody led in epoch 1
        (2, 2, Error.NONE, (-1, -1)),
        (2, 3, Error.OFFSET_OUT_OF_RANGE, (-1, -1)),
    ],
)
def test_a_client_with_a_diverging_log_gets_the_end_offset_of_its_epoch(
    ports: FetchFakes, offset: int, epoch: int, error: Error, diverging: tuple[int, int]
) -> None:
    """KIP-595: epoch 0 ended at offset 1, where epoch 2 began."""
    ports.append()
    ports.led[TopicPartition("t", 0)].lead(2)
    ports.append()
    (found,) = parts(ports.fetch(request_for(asked(0, fetch_offset=offset, last_fetched_epoch=epoch))))
    assert found.error_code == error
    assert (found.diverging_epoch.epoch, found.diverging_epoch.end_offset) == diverging


def test_a_partition_whose_disk_failed_is_reported(ports: FetchFakes, monkeypatch: pytest.MonkeyPatch) -> None:
    ports.append()
    partition = ports.led[TopicPartition("t", 0)]

    def fails(*_: object, **__: object) -> None:
        raise StorageError("no such sector")

    with monkeypatch.context() as broken:
        broken.setattr(type(partition.log), "read", fails)
        assert errors(ports.fetch(request_for(asked(0)))) == [Error.KAFKA_STORAGE_ERROR]
    partition.flush_failed("no space left")
    assert errors(ports.fetch(request_for(asked(0)))) == [Error.KAFKA_STORAGE_ERROR]
    assert partition.failed_reads >= 1


@pytest.mark.parametrize(("replica", "kind"), [(-1, AclResourceType.TOPIC), (2, AclResourceType.CLUSTER)])
def test_a_fetch_without_permission_is_refused_at_once(ports: FetchFakes, replica: int, kind: AclResourceType) -> None:
    """A replica needs a right on the cluster, anyone else one on the topic."""
    kinds: list[int] = []

    def allows(*asked_for: Any) -> bool:
        kinds.append(asked_for[3])
        return False

    denying: Any = SimpleNamespace(allows=allows)
    ports.authorizer = denying
    found = errors(ports.fetch(request_for(asked(0), max_wait_ms=500, replica_id=replica)))
    assert (found, set(kinds)) == ([Error.TOPIC_AUTHORIZATION_FAILED], {kind})


# --- waiting


@pytest.mark.parametrize("count", [1, MANY])
def test_a_fetch_waits_for_min_bytes(count: int) -> None:
    ports = FetchFakes(count)
    answers = ports.wait(request_for(asked(*range(count)), max_wait_ms=500, min_bytes=2 * SIZE))
    ports.append()
    ports.tasks.finish()
    assert answers == []
    ports.append(count - 1)
    ports.tasks.finish()
    assert sum(sizes(answers[0]).values()) == 2 * SIZE
    assert len(ports.fetches) == 0


@pytest.mark.parametrize("count", [1, MANY])
def test_a_fetch_returns_the_available_data_after_the_maximum_wait(count: int) -> None:
    ports = FetchFakes(count)
    answers = ports.wait(request_for(asked(*range(count)), max_wait_ms=500, min_bytes=2 * SIZE))
    ports.append()
    ports.timers.fire(NOW_MS + 500)
    ports.tasks.finish()
    assert sizes(answers[0]) == {index: SIZE if index == 0 else 0 for index in range(count)}


def test_a_partition_that_does_not_advance_during_the_wait_is_read_once() -> None:
    ports = FetchFakes(1)
    answers = ports.wait(request_for(asked(0), max_wait_ms=500))
    ports.timers.fire(NOW_MS + 500)
    assert (sizes(answers[0]), ports.led[TopicPartition("t", 0)].reads) == ({0: 0}, 1)


@pytest.mark.parametrize("count", [1, MANY])
def test_an_error_ends_the_wait(count: int) -> None:
    ports = FetchFakes(count)
    answers = ports.wait(request_for(asked(*range(count)), max_wait_ms=500))
    ports.led[TopicPartition("t", 0)].flush_failed("no space left")
    ports.tasks.finish()
    assert errors(answers[0])[0] is Error.KAFKA_STORAGE_ERROR


@pytest.mark.parametrize("count", [1, MANY])
def test_a_deleted_topic_ends_the_wait(count: int) -> None:
    """As in Apache Kafka 4.4.0; its consumers learn of it at once, not after ``max_wait_ms``."""
    ports = FetchFakes(count)
    answers = ports.wait(request_for(asked(*range(count)), max_wait_ms=500))
    ports.led.clear()
    ports.fetches.wake(TopicPartition("t", 0))
    ports.tasks.finish()
    assert errors(answers[0]) == [Error.UNKNOWN_TOPIC_OR_PARTITION] * count
    assert len(ports.fetches) == 0


@pytest.mark.parametrize("count", [1, MANY])
def test_a_fetch_of_only_missing_partitions_does_not_wait(count: int) -> None:
    ports = FetchFakes(0)
    found = errors(ports.fetch(request_for(asked(*range(count)), max_wait_ms=500)))
    assert found == [Error.UNKNOWN_TOPIC_OR_PARTITION] * count


@pytest.mark.parametrize("count", [1, MANY])
def test_an_error_of_a_waiting_fetch_fails_the_fetch_and_not_the_append(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = FetchFakes(count)
    answers = ports.wait(request_for(asked(*range(count)), max_wait_ms=500))
    monkeypatch.setattr("oncelog.broker.core.apis.data.fetch.read_partition", None)
    ports.append()
    assert isinstance(answers[0], TypeError)


def test_data_that_arrives_while_many_partitions_are_read_ends_the_wait() -> None:
    """The first chunk has been read and is not watched yet."""
    ports = FetchFakes(2 * MANY)
    answers: list[Any] = []
    ports.begin(request_for(asked(*range(2 * MANY)), max_wait_ms=500), NAME).then(answers.append, answers.append)
    ports.append()
    ports.tasks.finish()
    assert sizes(received(answers[0], NAME))[0] == SIZE


def test_a_fetch_of_many_partitions_with_enough_data_is_answered_at_once() -> None:
    ports = FetchFakes(MANY)
    ports.append(MANY - 1)
    assert sizes(ports.fetch(request_for(asked(*range(MANY)), max_wait_ms=500)))[MANY - 1] == SIZE


# --- sessions


def test_an_incremental_answer_contains_only_changed_partitions(ports: FetchFakes) -> None:
    """KIP-227."""
    first = ports.fetch(request_for(asked(0, 1), session_epoch=0))
    session = first.session_id
    assert (session > 0, list(sizes(first))) == (True, [0, 1])
    assert list(parts(ports.fetch(request_for(session_id=session, session_epoch=1)))) == []
    ports.append(1)
    assert sizes(ports.fetch(request_for(session_id=session, session_epoch=2))) == {1: SIZE}
    moved = request_for(asked(1, fetch_offset=1), session_id=session, session_epoch=3)
    assert list(parts(ports.fetch(moved))) == []
    left = request_for(session_id=session, session_epoch=4, forgotten_topics_data=[ForgottenTopic("t", partitions=[1])])
    ports.append(1)
    assert list(parts(ports.fetch(left))) == []


def test_a_fetch_session_reports_an_error_once_and_the_end_of_the_error_once(ports: FetchFakes) -> None:
    session = ports.fetch(request_for(asked(0), session_epoch=0)).session_id
    partition = ports.led.pop(TopicPartition("t", 0))
    gone = [Error.UNKNOWN_TOPIC_OR_PARTITION]
    assert errors(ports.fetch(request_for(session_id=session, session_epoch=1))) == gone
    ports.led[TopicPartition("t", 0)] = partition
    assert errors(ports.fetch(request_for(session_id=session, session_epoch=2))) == [Error.NONE]
    assert errors(ports.fetch(request_for(session_id=session, session_epoch=3))) == []


def test_a_fetch_session_checks_its_epochs_and_can_be_closed(ports: FetchFakes) -> None:
    session = ports.fetch(request_for(asked(0), session_epoch=0)).session_id
    early = ports.fetch(request_for(session_id=session, session_epoch=5))
    assert early.error_code == Error.INVALID_FETCH_SESSION_EPOCH
    closed = ports.fetch(request_for(asked(0), session_id=session, session_epoch=-1))
    assert (closed.session_id, errors(closed)) == (0, [Error.NONE])
    after = ports.fetch(request_for(session_id=session, session_epoch=1))
    assert after.error_code == Error.FETCH_SESSION_ID_NOT_FOUND


def test_a_fetch_session_without_partitions_ends(ports: FetchFakes) -> None:
    """As in Apache Kafka 4.4.0: it would take the place of one in use."""
    session = ports.fetch(request_for(asked(0), session_epoch=0)).session_id
    left = request_for(
        asked(1), session_id=session, session_epoch=1, forgotten_topics_data=[ForgottenTopic("t", partitions=[0, 1])]
    )
    answer = ports.fetch(left)
    assert (answer.session_id, list(sizes(answer))) == (0, [1])
    after = ports.fetch(request_for(session_id=session, session_epoch=2))
    assert after.error_code == Error.FETCH_SESSION_ID_NOT_FOUND


def test_fetch_before_version_7_has_no_session(ports: FetchFakes) -> None:
    assert ports.fetch(request_for(asked(0)), 6).session_id == 0


def test_a_fetch_session_of_many_partitions_returns_only_changed_partitions() -> None:
    ports = FetchFakes(MANY)
    session = ports.fetch(request_for(asked(*range(MANY)), session_epoch=0)).session_id
    ports.append(3)
    assert sizes(ports.fetch(request_for(session_id=session, session_epoch=1))) == {3: SIZE}
    assert ports.fetch(request_for(asked(*range(MANY)), session_id=9, session_epoch=4)).error_code == (
        Error.FETCH_SESSION_ID_NOT_FOUND
    )
