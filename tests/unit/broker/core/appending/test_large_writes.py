"""Large batches are written on another thread: same answers, same order, and nothing in the log before its bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Lock

import pytest

from oncelog.broker.core.appending.large_writes import LARGE_WRITE_BYTES
from oncelog.broker.server.disk.memory_disk import MemoryFile
from oncelog.errors import Error, StorageError
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreateTopicsRequest
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.records.batch import encode_batch, read_header
from oncelog.records.record import Record
from oncelog.runtime.ports import Buffer
from oncelog.types import TopicPartition
from tests.unit.broker.core.appending.test_validation_thread import Later, Peer, Side
from tests.unit.broker.core.conftest import NOW_MS


@pytest.fixture
def side() -> Iterator[Side]:
    made = Side()
    made.broker.validation_thread.worker = None
    made.worker = Later()
    made.broker.large_writes.begin(made.worker)
    yield made
    made.broker.stop(NOW_MS)


def long(**of: int | bool) -> bytes:
    return bytes(encode_batch([Record(0, NOW_MS, None, bytes(LARGE_WRITE_BYTES))], **of))  # type: ignore[arg-type]


def short() -> bytes:
    return bytes(encode_batch([Record(0, NOW_MS, None, b"short")]))


def answers(peer: Peer, version: int = 9) -> list[tuple[int, int]]:
    return [(part.error_code, part.base_offset) for part in peer.parts(version)]


def sizes(side: Side) -> list[int]:
    """Sizes of the batches in the log, each read from the file."""
    partition = side.broker.partition(TopicPartition("plain", 0))
    assert partition is not None
    found = []
    for number, (header, data) in enumerate(partition.log.batches(0)):
        assert read_header(data).base_offset == header.base_offset == number
        found.append(header.size_bytes)
    return found


def test_a_large_batch_holds_its_connection_until_it_is_in_the_log(side: Side) -> None:
    peer, memory = Peer(), side.broker.request_memory
    side.produce(peer, long())
    assert (peer.held, peer.answers, side.end_offset(), sizes(side)) == (1, [], 0, [])
    assert memory.taken_bytes >= LARGE_WRITE_BYTES
    side.worker.do()
    assert (peer.held, answers(peer), side.end_offset()) == (0, [(Error.NONE, 0)], 1)
    assert memory.taken_bytes == 0


def test_a_small_one_is_written_in_its_own_turn(side: Side) -> None:
    peer = Peer()
    side.produce(peer, short())
    assert (side.worker.jobs, answers(peer)) == ([], [(Error.NONE, 0)])


def test_one_is_written_in_its_own_turn_once_nothing_is_handed_over_any_more(side: Side) -> None:
    peer = Peer()
    side.broker.large_writes.end()
    side.produce(peer, long())
    assert (side.worker.jobs, answers(peer)) == ([], [(Error.NONE, 0)])


def test_it_is_written_under_its_own_lock_by_whoever_comes_first(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other thread and the loop, which may need the log meanwhile, come at the same time."""
    locks: list[Lock] = []
    held: list[list[bool]] = []
    append = MemoryFile.append

    def make_lock() -> Lock:
        locks.append(Lock())
        return locks[-1]

    def seen(file: MemoryFile, buffers: Sequence[Buffer]) -> None:
        held.append([lock.locked() for lock in locks])
        append(file, buffers)

    monkeypatch.setattr(MemoryFile, "append", seen)
    side.broker.large_writes.begin(side.worker, make_lock)
    for end_offset in (1, 2):
        side.produce(Peer(), long())
        partition = side.broker.partition(TopicPartition("plain", 0))
        assert partition is not None
        partition.log.settle()
        side.worker.do()
        assert side.end_offset() == end_offset
    assert held == [[True], [False, True]]


def test_what_comes_after_it_on_another_connection_is_behind_it(side: Side) -> None:
    first, second, third = Peer(), Peer(), Peer()
    side.produce(first, long())
    side.produce(second, short())
    side.produce(third, long())
    assert (answers(first), answers(second), answers(third)) == ([], [(Error.NONE, 1)], [])
    side.worker.do()
    side.worker.do()
    assert (answers(first), answers(third)) == ([(Error.NONE, 0)], [(Error.NONE, 2)])
    assert sizes(side) == [len(long()), len(short()), len(long())]


def test_a_repeated_batch_is_answered_from_memory(side: Side) -> None:
    producer = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    first, again = Peer(), Peer()
    side.produce(first, long(**producer))
    side.produce(again, long(**producer))
    side.worker.do()
    assert answers(first) == answers(again) == [(Error.NONE, 0)]
    assert len(sizes(side)) == 1


def test_one_that_is_refused_is_never_handed_over(side: Side) -> None:
    damaged, peer = bytearray(long()), Peer()
    damaged[-1] ^= 1
    side.produce(peer, bytes(damaged))
    assert (side.worker.jobs, answers(peer)) == ([], [(Error.CORRUPT_MESSAGE, -1)])


@pytest.mark.parametrize("made_again", [False, True])
def test_a_topic_that_is_deleted_meanwhile_gets_nothing(side: Side, made_again: bool) -> None:
    peer = Peer()
    side.produce(peer, long())
    side.admin.ask(DeleteTopicsRequest(topic_names=["plain"], timeout_ms=1000), 5)
    if made_again:
        again = CreatableTopic(name="plain", num_partitions=2, replication_factor=1)
        side.admin.ask(CreateTopicsRequest(topics=[again], timeout_ms=1000), 7)
    side.worker.do()
    assert answers(peer) == [(Error.UNKNOWN_TOPIC_OR_PARTITION, -1)]
    assert peer.held == 0
    if made_again:
        assert side.end_offset() == 0


def test_a_marker_is_behind_the_batch_of_its_transaction(side: Side) -> None:
    side.admin.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["id"]), 4)
    made = side.admin.ask(InitProducerIdRequest("id", 60_000), 4)
    pid, epoch, peer = made.producer_id, made.producer_epoch, Peer()
    batch = long(producer_id=pid, producer_epoch=epoch, base_sequence=0, transactional=True)
    side.produce(peer, batch, transactional_id="id", version=12)
    assert side.admin.ask(EndTxnRequest("id", pid, epoch, True), 5).error_code == Error.NONE
    side.worker.do()
    assert answers(peer, 12) == [(Error.NONE, 0)]
    partition = side.broker.partition(TopicPartition("plain", 0))
    assert partition is not None
    assert [header.is_control for header, _ in partition.log.batches(0)] == [False, True]
    assert partition.log.last_stable_offset == 2


def test_a_disk_that_refuses_stops_the_partition_and_nobody_else(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    peer, other = Peer(), Peer()
    side.produce(peer, long())

    def refuse(*_: object) -> None:
        raise StorageError("cannot append: no space")

    with monkeypatch.context() as patch:
        patch.setattr(MemoryFile, "append", refuse)
        side.worker.do()
    assert (answers(peer), peer.held) == ([(Error.KAFKA_STORAGE_ERROR, -1)], 0)
    side.produce(other, short(), indexes=[1])
    assert answers(other) == [(Error.NONE, 0)]
    assert side.end_offset() == 0


def test_a_thread_that_fails_in_a_way_nobody_foresaw_ends_the_connection_and_nothing_else(side: Side) -> None:
    peer, other = Peer(), Peer()
    side.produce(peer, long())
    _, done = side.worker.jobs.pop()
    done(MemoryError())
    assert peer.closed is not None
    assert (peer.held, side.broker.request_memory.taken_bytes) == (0, 0)
    side.produce(other, short())
    assert answers(other) == [(Error.NONE, 1)]


def test_a_broker_that_stops_first_writes_what_is_under_way(side: Side) -> None:
    peer = Peer()
    side.produce(peer, long())
    partition = side.broker.partition(TopicPartition("plain", 0))
    assert partition is not None
    partition.log.close()
    assert partition.log.log_end_offset == partition.log.flushed_offset == 1


def test_large_batches_of_several_connections_stand_in_line_and_nothing_waits_for_them(side: Side) -> None:
    peers, small, memory = [Peer() for _ in range(3)], Peer(), side.broker.request_memory
    for peer in peers:
        side.produce(peer, long())
    assert (len(side.worker.jobs), [peer.held for peer in peers]) == (1, [1, 1, 1])
    assert memory.taken_bytes >= 3 * LARGE_WRITE_BYTES
    for written in range(3):
        assert [answers(peer) for peer in peers] == [[(Error.NONE, offset)] for offset in range(written)] + [[]] * (
            3 - written
        )
        side.worker.do()
    side.produce(small, short())
    assert [answers(peer) for peer in [*peers, small]] == [[(Error.NONE, offset)] for offset in range(4)]
    assert (side.worker.jobs, [peer.held for peer in peers], memory.taken_bytes) == ([], [0, 0, 0], 0)


def test_a_small_one_of_another_connection_goes_ahead_of_those_in_line(side: Side) -> None:
    first, second, small = Peer(), Peer(), Peer()
    side.produce(first, long())
    side.produce(second, long())
    side.produce(small, short())
    assert answers(small) == [(Error.NONE, 1)]
    side.worker.do()
    side.worker.do()
    assert sizes(side) == [len(long()), len(short()), len(long())]


def test_one_that_is_refused_in_its_turn_holds_up_nobody_behind_it(side: Side) -> None:
    producer = {"producer_id": 7, "producer_epoch": 0}
    first, gap, repeated, last = Peer(), Peer(), Peer(), Peer()
    side.produce(first, long(base_sequence=0, **producer))
    side.produce(gap, long(base_sequence=5, **producer))
    side.produce(repeated, long(base_sequence=0, **producer))
    side.produce(last, long(base_sequence=1, **producer))
    side.worker.do()
    assert answers(gap) == [(Error.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)]
    assert answers(first) == answers(repeated) == [(Error.NONE, 0)]
    assert answers(last) == []
    side.worker.do()
    assert answers(last) == [(Error.NONE, 1)]
    assert [peer.held for peer in (gap, repeated, last)] == [0, 0, 0]


def test_a_topic_that_is_deleted_refuses_those_in_line(side: Side) -> None:
    first, second, memory = Peer(), Peer(), side.broker.request_memory
    side.produce(first, long())
    side.produce(second, long())
    side.admin.ask(DeleteTopicsRequest(topic_names=["plain"], timeout_ms=1000), 5)
    again = CreatableTopic(name="plain", num_partitions=2, replication_factor=1)
    side.admin.ask(CreateTopicsRequest(topics=[again], timeout_ms=1000), 7)
    third = Peer()
    side.produce(third, long())
    for _ in range(2):
        side.worker.do()
    assert answers(first) == answers(second) == [(Error.UNKNOWN_TOPIC_OR_PARTITION, -1)]
    assert answers(third) == [(Error.NONE, 0)]
    assert (first.held, second.held, memory.taken_bytes, side.end_offset()) == (0, 0, 0, 1)


def test_a_write_that_fails_in_a_way_nobody_foresaw_gives_the_next_its_turn(side: Side) -> None:
    first, second = Peer(), Peer()
    side.produce(first, long())
    side.produce(second, long())
    _, done = side.worker.jobs.pop()
    done(MemoryError())
    assert first.closed is not None
    side.worker.do()
    assert (answers(second), second.held) == ([(Error.NONE, 1)], 0)
    assert side.broker.request_memory.taken_bytes == 0


def test_a_transaction_that_was_ended_while_its_batch_stood_in_line_does_not_take_it(side: Side) -> None:
    side.admin.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["id"]), 4)
    made = side.admin.ask(InitProducerIdRequest("id", 60_000), 4)
    pid, epoch, other, peer = made.producer_id, made.producer_epoch, Peer(), Peer()
    side.produce(other, long())
    batch = long(producer_id=pid, producer_epoch=epoch, base_sequence=0, transactional=True)
    side.produce(peer, batch, transactional_id="id", version=12)
    assert side.admin.ask(EndTxnRequest("id", pid, epoch, False), 5).error_code == Error.NONE
    side.worker.do()
    ((error, offset),) = answers(peer, 12)
    assert (error, offset) == (Error.INVALID_PRODUCER_EPOCH, -1)
    partition = side.broker.partition(TopicPartition("plain", 0))
    assert partition is not None
    assert partition.log.last_stable_offset == side.end_offset() == 2
