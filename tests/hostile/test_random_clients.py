"""Many clients that send at random, read slowly or disconnect: those that stay get each answer once, in order."""

from __future__ import annotations

import contextlib
import socket
import struct
from random import Random

import pytest

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreateTopicsRequest
from oncelog.protocol.generated.metadata_request import MetadataRequest
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.wire import Message
from oncelog.records.batch import Record, encode_batch
from tests.support.frames import encode_request

CLIENTS = 100
ROUNDS = 120


def encoded(message: Message, version: int, number: int) -> bytes:
    return encode_request(message.API_KEY, version, number, "test", message.encode(version))


class Client:
    def __init__(self, address: tuple[str, int], rng: Random) -> None:
        self.rng = rng
        self.socket = socket.create_connection(address)
        self.socket.setblocking(False)
        if rng.random() < 0.2:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.is_slow = rng.random() < 0.1
        self.asked = self.answered = 0
        self._out = b""
        self._in = bytearray()

    def request(self) -> bytes:
        number, kind = self.asked, self.rng.random()
        self.asked += 1
        if kind < 0.4:
            return encoded(ApiVersionsRequest(), 0, number)
        if kind < 0.5:
            return encoded(MetadataRequest(), 1, number)
        batch = memoryview(encode_batch([Record(0, 1, b"k", bytes(self.rng.choice([10, 1000, 20_000])))]))
        topic = TopicProduceData(name="t", partition_data=[PartitionProduceData(self.rng.randrange(4), batch)])
        return encoded(ProduceRequest(None, self.rng.choice([1, -1]), 30_000, [topic]), 9, number)

    def ask(self) -> None:
        if not self._out and self.asked - self.answered < 8 and self.rng.random() < 0.7:
            self._out = b"".join(self.request() for _ in range(self.rng.choice([1, 1, 1, 3])))

    def resume(self, *, reads: bool) -> None:
        """Send and read a chunk; an answer out of order, or the end of the connection, is an error."""
        with contextlib.suppress(BlockingIOError):
            self._out = self._out[self.socket.send(self._out[: self.rng.choice([50, 100_000])]) :]
        if not reads:
            return
        try:
            received = self.socket.recv(self.rng.choice([100, 65_536]))
        except BlockingIOError:
            return
        assert received, "the broker has closed the connection"
        self._in += received
        while len(self._in) >= 8 and len(self._in) >= 4 + (size := int.from_bytes(self._in[:4], "big")):
            assert int.from_bytes(self._in[4:8], "big") == self.answered
            self.answered += 1
            del self._in[: 4 + size]

    def all_answered(self) -> bool:
        self.resume(reads=True)
        return self.answered == self.asked

    def leave(self) -> None:
        if self.rng.random() < 0.5:  # a reset, not an end
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


@pytest.mark.parametrize(("seed", "policy"), [(1, "interval"), (2, "commit"), (3, "interval")])
def test_each_answer_arrives_once_and_in_order(seed: int, policy: str) -> None:
    rng = Random(seed)
    with oncelog.Broker(settings={"oncelog.flush.policy": policy}) as broker:
        address = broker.address.host, broker.address.port
        names = ["t"] + [f"{'x' * 200}{number}" for number in range(30)]
        topics = [CreatableTopic(name=name, num_partitions=4, replication_factor=1) for name in names]
        with socket.create_connection(address) as admin:
            admin.sendall(encoded(CreateTopicsRequest(topics, 30_000), 5, 0))
            assert admin.recv(1 << 20)
        clients = [Client(address, rng) for _ in range(CLIENTS)]
        for _ in range(ROUNDS):
            for index, client in enumerate(clients):
                if rng.random() < 0.004:
                    client.leave()
                    clients[index] = Client(address, rng)
                clients[index].ask()
                clients[index].resume(reads=not client.is_slow or rng.random() < 0.05)
        for client in clients:
            assert eventually(client.all_answered)
            client.socket.close()
