"""What connections meet while a server stops, in the turns between others' requests."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
import weakref
from collections.abc import Generator
from pathlib import Path
from random import Random
from typing import cast

import pytest

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.broker.log.results import FileSlice
from oncelog.broker.server.connections.sending import Sending
from oncelog.broker.server.disk.memory_disk import MemoryFile
from oncelog.broker.server.nodes import Nodes
from oncelog.broker.server.process.workers import Worker
from oncelog.broker.server.server import Server
from oncelog.errors import StorageError
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.records.batch import Record, encode_batch
from oncelog.records.compression import Compression
from oncelog.types import TopicPartition
from tests.support.frames import encode_request
from tests.unit.broker.core.conftest import RecordingChannel


def produce(
    number: int, *, acks: int = -1, value: bytes = b"v", codec: Compression = Compression.NONE, partitions: int = 1
) -> bytes:
    records = encode_batch([Record(0, int(time.time() * 1000), b"k", value)], compression=codec)
    topic = TopicProduceData(
        name="t", partition_data=[PartitionProduceData(index, records) for index in range(partitions)]
    )
    return encode_request(0, 9, number, "test", ProduceRequest(None, acks, 30_000, [topic]).encode(9))


def connected(broker: oncelog.Broker) -> socket.socket:
    return socket.create_connection((broker.address.host, broker.address.port), timeout=60)


def log_end(broker: oncelog.Broker, index: int = 0) -> int:
    def look(nodes: Nodes) -> int:
        partition = nodes.server.broker.partition(TopicPartition("t", index))
        assert partition is not None
        return partition.log.log_end_offset

    return broker.on_loop(look)


@pytest.mark.parametrize("policy", ["interval", "commit"])
def test_a_stop_does_not_start_a_request_that_waits_for_earlier_answers(policy: str, tmp_path: Path) -> None:
    """Otherwise it is written to a log that was closed as cleanly stopped."""
    asked = FetchTopic(topic="t", partitions=[FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)])
    fetch = FetchRequest(max_wait_ms=60_000, min_bytes=1, max_bytes=1000, session_epoch=-1, topics=[asked])
    broker = oncelog.Broker(tmp_path, settings={"oncelog.flush.policy": policy})
    with broker, socket.create_connection((broker.address.host, broker.address.port)) as connection:
        broker.on_loop(lambda nodes: nodes.server.broker.topics.create("t", 1, {}, 0))
        connection.sendall(encode_request(1, 12, 1, "test", fetch.encode(12)) + produce(2))
        deadline = time.monotonic() + 60
        while not broker.on_loop(lambda nodes: any(c.is_waiting for c in nodes.server.connected())):
            assert time.monotonic() < deadline
        broker.stop()
        connection.settimeout(60)
        data = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        assert int.from_bytes(data[:4], "big") == len(data) - 4  # the fetch's answer alone
        broker.start()
        assert log_end(broker) == 0


def test_a_stop_completes_requests_under_validation(tmp_path: Path) -> None:
    resume, broker = threading.Event(), oncelog.Broker(tmp_path)
    with broker, socket.create_connection((broker.address.host, broker.address.port)) as connection:
        broker.on_loop(lambda nodes: nodes.server.broker.topics.create("t", 1, {}, 0))
        server: Server = broker.on_loop(lambda nodes: nodes.server)
        broker.on_loop(lambda _: server._checking.worker.submit(lambda: resume.wait(60)))
        connection.sendall(produce(1, acks=0, value=Random(1).randbytes(200_000), codec=Compression.GZIP))
        deadline = time.monotonic() + 60
        while not broker.on_loop(lambda _: server.broker.request_memory.estimated_bytes):
            assert time.monotonic() < deadline
        stopping = threading.Thread(target=broker.stop)
        stopping.start()
        while not server.is_stopping:
            assert time.monotonic() < deadline
        resume.set()
        stopping.join(60)
        broker.start()
        assert log_end(broker) == 1


@pytest.fixture
def checks_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oncelog.broker.server.server.CHECKS_S", 60.0)


@pytest.mark.usefixtures("checks_wait")
@pytest.mark.parametrize("policy", ["interval", "commit"])
def test_a_stop_carries_out_a_complete_request_for_many_partitions(policy: str, tmp_path: Path) -> None:
    """A part of it is being checked by then, and the rest waits for its turn."""
    wide = produce(1, acks=0, value=Random(1).randbytes(5000) + bytes(200_000), codec=Compression.GZIP, partitions=100)
    broker = oncelog.Broker(tmp_path, settings={"oncelog.flush.policy": policy})

    def act(nodes: Nodes) -> int:
        core = nodes.server.broker
        core.topics.create("t", 100, {}, 0)
        core.receive(RecordingChannel(), 0, memoryview(wide)[4:], nodes.server.now_ms())
        return len(core.tasks)

    with broker:
        assert broker.on_loop(act)
        broker.stop()
        broker.start()
        assert [log_end(broker, index) for index in range(100)] == [1] * 100


def test_finished_work_is_handled_in_order_after_the_wait(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("oncelog.broker.server.server.CHECKS_S", 0.0)

    def act(nodes: Nodes) -> None:
        server = nodes.server
        server.broker.topics.create("t", 1, {}, 0)

        def work() -> Generator[None, None, None]:
            while not server._over:
                yield
            batch = produce(1, acks=0, value=Random(1).randbytes(200_000), codec=Compression.GZIP)
            server.broker.receive(RecordingChannel(), 0, memoryview(batch)[4:], server.now_ms())

        server.broker.tasks.begin(work())

    with oncelog.Broker(tmp_path) as broker:
        broker.on_loop(act)
        broker.stop()
        broker.start()
        assert log_end(broker) == 1


@pytest.mark.usefixtures("checks_wait")
def test_while_a_stop_waits_no_new_requests_are_read_and_long_requests_continue(tmp_path: Path) -> None:
    resume, worked, ended = threading.Event(), threading.Event(), list[bool]()
    broker = oncelog.Broker(tmp_path)
    with broker, connected(broker) as connection, connected(broker) as other:
        server: Server = broker.on_loop(lambda nodes: nodes.server)

        def act(_: Nodes) -> None:
            server.broker.topics.create("t", 1, {}, 0)
            server._checking.worker.submit(lambda: resume.wait(60))

        def work() -> Generator[None, None, None]:
            for _ in range(1000):
                yield
            ended.append(server._over)
            worked.set()

        broker.on_loop(act)
        checked = produce(1, acks=0, value=Random(1).randbytes(200_000), codec=Compression.GZIP)
        connection.sendall(checked + produce(2, acks=0))  # the second one waits here until the first one is checked
        other.sendall(produce(3))
        assert other.recv(1)  # it is served
        deadline = time.monotonic() + 60
        while not broker.on_loop(lambda _: any(c.is_waiting for c in server.connected())):
            assert time.monotonic() < deadline
        stopping = threading.Thread(target=broker.stop)
        stopping.start()
        while not server.is_stopping:
            assert time.monotonic() < deadline
        other.sendall(produce(4))
        asyncio.run_coroutine_threadsafe(_begin(server, work()), server.loop).result(60)
        assert worked.wait(60)
        resume.set()
        stopping.join(60)
        assert ended == [False]
        broker.start()
        assert log_end(broker) == 3  # without the last one


async def _begin(server: Server, work: Generator[None, None, None]) -> None:
    server.broker.tasks.begin(work)
    server.end_iteration_soon()


def test_no_timer_fires_in_a_stopped_broker() -> None:
    def act(nodes: Nodes) -> tuple[bool, list[int]]:
        server, rung = nodes.server, list[int]()
        server.broker.timers.schedule(server.now_ms(), rung.append)
        server._over = True
        server._wake()
        server._wake_up_later()
        is_set, server._over = server._timer is not None, False
        return is_set, rung

    with oncelog.Broker() as broker:
        assert broker.on_loop(act) == (False, [])


def test_work_that_has_not_begun_can_be_discarded() -> None:
    begun, resume, done = threading.Event(), threading.Event(), list[int]()
    loop = asyncio.new_event_loop()
    worker = Worker(loop, "test")

    def first() -> None:
        begun.set()
        resume.wait(60)
        done.append(1)

    worker.submit(first)
    assert begun.wait(60)
    worker.run(lambda: done.append(2), lambda _: None)
    worker.discard()
    resume.set()
    worker.stop()
    loop.close()
    assert done == [1]


def test_a_worker_keeps_no_reference_to_finished_work() -> None:
    """A batch that was checked would stay in memory until the next one."""

    class Answers:
        def send(self) -> None:
            sent.set()

    sent = threading.Event()
    loop = asyncio.new_event_loop()
    worker = Worker(loop, "test")
    answers = Answers()
    kept = weakref.ref(answers)
    worker.run(answers.send, lambda _: None)
    del answers
    assert sent.wait(60)
    assert eventually(lambda: kept() is None)
    worker.stop()
    loop.close()


def test_sending_a_truncated_file_raises_a_storage_error() -> None:
    sending = Sending(cast(Server, _Loop()))
    cut = FileSlice(MemoryFile("file", bytearray(50_000)), 0, 60_000)
    sending._out.append(cut)
    one, other = socket.socketpair()
    with one, other, pytest.raises(StorageError, match="ends before position 60000"):
        sending._send_file(cut, one)


class _Loop:
    """As much of a server as a connection needs to begin."""

    @property
    def loop(self) -> _Loop:
        return self

    def time(self) -> float:
        return 0.0
