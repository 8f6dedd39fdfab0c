"""Requests split anywhere, pipelined, small and large: each is answered once, in order."""

from __future__ import annotations

import errno
import gc
import socket
import threading
from contextlib import ExitStack
from importlib.util import find_spec
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.broker.server.connections import connection as connection_module
from oncelog.broker.server.connections.connection import Connection
from oncelog.broker.server.nodes import Nodes
from oncelog.broker.server.server import Server
from oncelog.errors import Error
from oncelog.protocol.framing import decode_response_header
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreateTopicsRequest
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.generated.produce_response import ProduceResponse
from oncelog.protocol.wire import Message
from oncelog.records.batch import Record, encode_batch
from oncelog.records.compression import Compression
from tests.support.frames import encode_request
from tests.support.work import Ticks


def request(message: Message, version: int, number: int) -> bytes:
    return encode_request(message.API_KEY, version, number, "test", message.encode(version))


def produce(number: int, size: int, acks: int = -1) -> bytes:
    records = memoryview(encode_batch([Record(0, 1, b"k", bytes(size))]))
    topic = TopicProduceData(name="t", partition_data=[PartitionProduceData(number % 2, records)])
    return request(ProduceRequest(None, acks, 30_000, [topic]), 9, number)


def answers(connection: socket.socket, count: int) -> list[int]:
    """Correlation ids of the next answers."""
    found: list[int] = []
    data = bytearray()
    while len(found) < count:
        received = connection.recv(1 << 20)
        assert received, f"closed after {len(found)} answers"
        data += received
        while len(data) >= 8 and len(data) >= 4 + (size := int.from_bytes(data[:4], "big")):
            found.append(int.from_bytes(data[4:8], "big"))
            del data[: 4 + size]
    assert not data
    return found


@pytest.mark.parametrize("policy", ["interval", "commit"])
@pytest.mark.parametrize("seed", range(3))
def test_requests_are_answered_in_order_for_any_split_of_their_bytes(seed: int, policy: str) -> None:
    rng = Random(seed)
    with (
        oncelog.Broker(settings={"oncelog.flush.policy": policy}) as broker,
        socket.create_connection((broker.address.host, broker.address.port)) as connection,
    ):
        create = CreateTopicsRequest([CreatableTopic(name="t", num_partitions=2, replication_factor=1)], 30_000)
        connection.sendall(request(create, 5, 0))
        assert answers(connection, 1) == [0]
        frames = []
        for number in range(1, 600):
            kind = rng.random()
            if kind < 0.1:
                frames.append(request(ApiVersionsRequest(), 0, number))
            else:
                frames.append(produce(number, rng.choice([0, 10, 700, 20_000]) if kind < 0.98 else 600_000))
        stream, position = memoryview(b"".join(frames)), 0

        def send() -> None:
            nonlocal position
            while position < len(stream):
                chunk = rng.choice([1, 3, 4, 50, 5_000, 300_000])
                connection.sendall(stream[position : position + chunk])
                position += chunk

        sender = threading.Thread(target=send)
        sender.start()
        assert answers(connection, len(frames)) == list(range(1, 600))
        sender.join()


def test_connections_whose_bytes_arrive_together_are_answered_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer sent alone wakes its peer, which takes longer than the request."""
    at_end: list[int] = []
    end_iteration = Server._end_iteration

    def counted(server: Server) -> None:
        at_end.append(len(server.writable))
        end_iteration(server)

    with oncelog.Broker() as broker, ExitStack() as stack:
        address = broker.address.host, broker.address.port
        clients = [stack.enter_context(socket.create_connection(address)) for _ in range(3)]
        for client in clients:
            client.sendall(request(ApiVersionsRequest(), 0, 1))
            assert answers(client, 1) == [1]
        monkeypatch.setattr(Server, "_end_iteration", counted)

        def ask(_: Nodes) -> None:  # the loop is busy here: it finds them all
            for client in clients:
                client.sendall(request(ApiVersionsRequest(), 0, 2))

        broker.on_loop(ask)
        for client in clients:
            assert answers(client, 1) == [2]
        assert [count for count in at_end if count] == [len(clients)]


def test_after_each_long_request_other_connections_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipeline of 256 short requests was a single turn of 22 ms."""
    started: list[int] = []
    start = Connection._start

    def counted(connection: Connection, *rest: Any) -> None:
        before = connection._order.next_slot
        start(connection, *rest)
        started.append(connection._order.next_slot - before)

    monkeypatch.setattr(connection_module, "real_time", SimpleNamespace(perf_counter_ns=Ticks()))
    monkeypatch.setattr(Connection, "_start", counted)
    with (
        oncelog.Broker() as broker,
        socket.create_connection((broker.address.host, broker.address.port)) as connection,
    ):
        connection.sendall(b"".join(request(ApiVersionsRequest(), 0, number) for number in range(100)))
        assert answers(connection, 100) == list(range(100))
    assert sum(started) == 100
    assert max(started) == 1


@pytest.mark.parametrize(
    ("settings", "receive_bytes", "send_bytes"),
    [
        ({}, 102_400, 102_400),
        ({"socket.receive.buffer.bytes": "32768", "socket.send.buffer.bytes": "65536"}, 32_768, 65_536),
    ],
)
def test_socket_buffer_sizes_are_applied(settings: dict[str, str], receive_bytes: int, send_bytes: int) -> None:
    with (
        oncelog.Broker(settings=settings) as broker,
        socket.create_connection((broker.address.host, broker.address.port)) as connection,
    ):
        connection.sendall(request(ApiVersionsRequest(), 0, 1))
        assert answers(connection, 1) == [1]
        (ours,) = broker.on_loop(lambda nodes: nodes.server.connected())
        assert ours._socket is not None
        sizes = [ours._socket.getsockopt(socket.SOL_SOCKET, option) for option in (socket.SO_RCVBUF, socket.SO_SNDBUF)]
    assert sizes in ([receive_bytes, send_bytes], [2 * receive_bytes, 2 * send_bytes])  # Linux counts its own part, too


def test_a_large_answer_is_sent_in_chunks_as_its_peer_reads() -> None:
    """Many times what the kernel keeps, from the files of two partitions; nobody else waits meanwhile."""
    with (
        oncelog.Broker(settings={"socket.send.buffer.bytes": "8192"}) as broker,
        socket.create_connection((broker.address.host, broker.address.port)) as connection,
        socket.create_connection((broker.address.host, broker.address.port)) as other,
    ):
        create = CreateTopicsRequest([CreatableTopic(name="t", num_partitions=2, replication_factor=1)], 30_000)
        batches = [produce(number, 900_000) for number in range(1, 5)]
        connection.sendall(b"".join([request(create, 5, 0), *batches]))
        assert answers(connection, 5) == [0, 1, 2, 3, 4]
        parts = [FetchPartition(index, fetch_offset=0, partition_max_bytes=10_000_000) for index in range(2)]
        wants = FetchRequest(
            min_bytes=1, max_bytes=10_000_000, session_epoch=-1, topics=[FetchTopic("t", partitions=parts)]
        )
        connection.sendall(request(wants, 12, 9) + request(ApiVersionsRequest(), 0, 10))
        other.sendall(request(ApiVersionsRequest(), 0, 11))
        assert answers(other, 1) == [11]
        assert answers(connection, 2) == [9, 10]


@pytest.mark.parametrize("policy", ["interval", "commit"])
@pytest.mark.parametrize("seed", range(3))
def test_batches_that_another_thread_validates_keep_their_place_in_the_order(seed: int, policy: str) -> None:
    """One idempotent producer pipelines long and short ones, compressed and not: none overtakes another."""
    rng = Random(seed)
    with (
        oncelog.Broker(settings={"oncelog.flush.policy": policy}) as broker,
        socket.create_connection((broker.address.host, broker.address.port)) as connection,
    ):
        create = CreateTopicsRequest([CreatableTopic(name="t", num_partitions=2, replication_factor=1)], 30_000)
        connection.sendall(request(create, 5, 0))
        assert answers(connection, 1) == [0]
        frames, sequences = [], [0, 0]
        for number in range(1, 200):
            partition, value = rng.randrange(2), rng.randbytes(rng.choice([10, 10, 20_000, 200_000]))
            batch = encode_batch(
                [Record(0, 1, b"k", value)],
                compression=rng.choice([Compression.NONE, Compression.GZIP, Compression.LZ4]),
                producer_id=7,
                producer_epoch=0,
                base_sequence=sequences[partition],
            )
            sequences[partition] += 1
            data = [PartitionProduceData(partition, memoryview(batch))]
            wanted = ProduceRequest(None, -1, 30_000, [TopicProduceData(name="t", partition_data=data)])
            frames.append(request(wanted, 9, number))
        sender = threading.Thread(target=connection.sendall, args=[b"".join(frames)])
        sender.start()
        offsets = [0, 0]
        with connection.makefile("rb") as stream:
            for number in range(1, 200):
                answer = stream.read(int.from_bytes(stream.read(4), "big"))
                header, body = decode_response_header(answer, ProduceRequest.API_KEY, 9)
                assert header == number
                (part,) = ProduceResponse.decode(answer, 9, body).responses[0].partition_responses
                assert (part.error_code, part.base_offset) == (Error.NONE, offsets[part.index])
                offsets[part.index] += 1
        sender.join()
        assert offsets == sequences


def test_requests_without_an_answer_leave_no_gap_in_the_order_of_answers() -> None:
    with (
        oncelog.Broker() as broker,
        socket.create_connection((broker.address.host, broker.address.port)) as connection,
    ):
        create = CreateTopicsRequest([CreatableTopic(name="t", num_partitions=2, replication_factor=1)], 30_000)
        frames = [request(create, 5, 0), *(produce(number, 10, acks=0) for number in range(1, 20)), produce(20, 10)]
        connection.sendall(b"".join(frames))
        assert answers(connection, 2) == [0, 20]


@pytest.mark.parametrize("policy", ["interval", "commit"])
def test_large_requests_of_several_connections_keep_their_bytes_apart(policy: str) -> None:
    """Their buffers pass from one connection to the next: each batch must still be the one that its checksum covers."""
    rng = Random(1)
    with oncelog.Broker(settings={"oncelog.flush.policy": policy}) as broker, ExitStack() as stack:
        address = broker.address.host, broker.address.port
        connections = [stack.enter_context(socket.create_connection(address)) for _ in range(4)]
        create = CreateTopicsRequest([CreatableTopic(name="t", num_partitions=2, replication_factor=1)], 30_000)
        connections[0].sendall(request(create, 5, 0))
        assert answers(connections[0], 1) == [0]
        streams = []
        for _ in connections:
            frames = []
            for number in range(12):
                record = Record(0, 1, b"k", rng.randbytes(rng.choice([70_000, 130_000, 600_000, 900_000])))
                codec = rng.choice([Compression.NONE, Compression.NONE, Compression.GZIP])
                batch = memoryview(encode_batch([record], compression=codec))
                topic = TopicProduceData(name="t", partition_data=[PartitionProduceData(number % 2, batch)])
                frames.append(request(ProduceRequest(None, -1, 30_000, [topic]), 9, number))
            streams.append(memoryview(b"".join(frames)))

        def send(connection: socket.socket, stream: memoryview, chunks: Random) -> None:
            while stream:
                chunk = chunks.choice([50_000, 300_000, 1_000_000])
                connection.sendall(stream[:chunk])
                stream = stream[chunk:]

        senders = [
            threading.Thread(target=send, args=(connection, stream, Random(number)))
            for number, (connection, stream) in enumerate(zip(connections, streams, strict=True))
        ]
        for sender in senders:
            sender.start()
        errors = [error for connection in connections for error in produce_errors(connection, 12)]
        for sender in senders:
            sender.join()
    assert errors == [Error.NONE] * 48


def produce_errors(connection: socket.socket, count: int) -> list[int]:
    """Error codes of the next answers to Produce 9 with one partition."""
    found: list[int] = []
    data = bytearray()
    while len(found) < count:
        received = connection.recv(1 << 20)
        assert received, f"closed after {len(found)} answers"
        data += received
        while len(data) >= 4 and len(data) >= 4 + (size := int.from_bytes(data[:4], "big")):
            _, body = decode_response_header(memoryview(bytes(data[4 : 4 + size])), 0, 9)
            answer = ProduceResponse.decode(bytes(data[: 4 + size]), 9, 4 + body)
            found.append(answer.responses[0].partition_responses[0].error_code)
            del data[: 4 + size]
    return found


@pytest.mark.skipif(find_spec("uvloop") is None, reason="asyncio's own loop accepts connections with socket.socket")
def test_a_broker_survives_a_test_that_replaces_socket_socket() -> None:
    """A mock took the answers of a connection that began meanwhile, and the broker sent for ever."""
    create = CreateTopicsRequest([CreatableTopic(name="t", num_partitions=1, replication_factor=1)], 30_000)
    with oncelog.Broker() as broker, ExitStack() as stack:
        address = broker.address.host, broker.address.port
        with mock.patch("socket.socket"):
            during = socket.SocketType()
            during.connect(address)
            stack.callback(during.close)
            during.sendall(request(create, 5, 0))
            eventually(lambda: broker.on_loop(lambda nodes: nodes.server.counts.opened["PLAINTEXT"]) == 1)
        after = stack.enter_context(socket.create_connection(address))
        after.sendall(request(create, 5, 1))
        assert answers(after, 1) == [1]


def test_a_slow_peer_without_a_free_descriptor_ends_no_other_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its answer becomes ready in the turn of another connection, and waiting for it takes a descriptor."""

    def none_left(_: socket.socket) -> socket.socket:
        raise OSError(errno.EMFILE, "Too many open files")

    with oncelog.Broker(settings={"socket.send.buffer.bytes": "8192"}) as broker, ExitStack() as stack:
        address = broker.address.host, broker.address.port
        writer = stack.enter_context(socket.create_connection(address))
        slow = stack.enter_context(socket.socket())
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        slow.connect(address)
        create = CreateTopicsRequest([CreatableTopic(name="t", num_partitions=2, replication_factor=1)], 30_000)
        writer.sendall(request(create, 5, 0))
        assert answers(writer, 1) == [0]
        asked = FetchTopic(topic="t", partitions=[FetchPartition(0, fetch_offset=0, partition_max_bytes=1 << 20)])
        waits = FetchRequest(max_wait_ms=60_000, min_bytes=1, max_bytes=1 << 20, session_epoch=-1, topics=[asked])
        slow.sendall(request(waits, 12, 1))
        eventually(lambda: broker.on_loop(lambda nodes: len(nodes.server.broker.fetches)) == 1)
        monkeypatch.setattr(socket.socket, "dup", none_left)
        for number in (2, 4):
            writer.sendall(produce(number, 900_000))
            assert answers(writer, 1) == [number]
        eventually(lambda: broker.on_loop(lambda nodes: len(list(nodes.server.connected()))) == 1)


@pytest.mark.parametrize("late", [False, True])
def test_no_timer_keeps_a_connection_in_memory_that_ended_while_it_was_throttled(
    late: bool, request: pytest.FixtureRequest
) -> None:
    """Or before: what it requested is done, and counted, although it has ended."""
    gc.freeze()  # no search for it in what earlier tests have left
    request.addfinalizer(gc.unfreeze)
    with oncelog.Broker() as broker:
        client = socket.create_connection((broker.address.host, broker.address.port))
        eventually(lambda: broker.on_loop(lambda nodes: len(list(nodes.server.connected()))) == 1)

        kept = broker.on_loop(lambda nodes: list(nodes.server.connected()))
        server, number = kept[0]._server, kept[0].connection_id
        if late:
            client.close()
            eventually(lambda: not broker.on_loop(lambda nodes: list(nodes.server.connected())))
        broker.on_loop(lambda _: kept.pop().throttle(3_600_000))
        client.close()

        def is_gone(_: Nodes) -> bool:
            gc.collect()
            return not any(
                isinstance(kept, Connection) and kept._server is server and kept.connection_id == number
                for kept in gc.get_objects()
            )

        eventually(lambda: broker.on_loop(is_gone))
