"""A connection that is held for one of its requests is not let go by another."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from random import Random

import oncelog
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.bodies import RawFetchPosition
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.broker.server.server import Server
from oncelog.errors import Error
from oncelog.protocol.framing import decode_response_header
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.find_coordinator_response import FindCoordinatorResponse
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.init_producer_id_response import InitProducerIdResponse
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.generated.produce_response import ProduceResponse
from oncelog.protocol.wire import Message
from oncelog.records.batch import Record, encode_batch
from oncelog.records.compression import Compression
from tests.support.frames import encode_request

VERSION = 12
MB = 1024 * 1024


class Client:
    """One connection of a transactional producer."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._stream = connection.makefile("rb")
        self._ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["id"]), 4, FindCoordinatorResponse)
        made = self._ask(InitProducerIdRequest("id", 60_000), 4, InitProducerIdResponse)
        assert isinstance(made, InitProducerIdResponse)
        assert made.error_code == Error.NONE
        self._producer_id, self._producer_epoch = made.producer_id, made.producer_epoch

    def produce(self, partition: int, sequence: int, size: int, codec: Compression = Compression.NONE) -> bytes:
        value = Random(sequence).randbytes(size)
        batch = encode_batch(
            [Record(0, 1, b"k", value)],
            compression=codec,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            base_sequence=sequence,
            transactional=True,
        )
        data = [PartitionProduceData(partition, memoryview(batch))]
        request = ProduceRequest("id", -1, 30_000, [TopicProduceData(name="t", partition_data=data)])
        return encode_request(request.API_KEY, VERSION, 7, "test", request.encode(VERSION))

    def send(self, *requests: bytes) -> None:
        self._connection.sendall(b"".join(requests))

    def error(self) -> int:
        """The error of the next Produce that is answered."""
        _, answer, body = self._answer(ProduceRequest.API_KEY, VERSION)
        (part,) = ProduceResponse.decode(answer, VERSION, body).responses[0].partition_responses
        return part.error_code

    def _ask(self, request: Message, version: int, response: type[Message]) -> Message:
        self.send(encode_request(request.API_KEY, version, 7, "test", request.encode(version)))
        _, answer, body = self._answer(request.API_KEY, version)
        return response.decode(answer, version, body)

    def _answer(self, api_key: int, version: int) -> tuple[int, bytes, int]:
        answer = self._stream.read(int.from_bytes(self._stream.read(4), "big"))
        number, body = decode_response_header(answer, api_key, version)
        return number, answer, body


def test_a_batch_under_validation_is_not_overtaken_after_an_earlier_batch_was_written(tmp_path: Path) -> None:
    """The one before it waits for its transaction's coordinator when the other is begun, so it is written later."""
    resume = threading.Event()

    def wait() -> None:
        resume.wait(60)

    with (
        oncelog.Broker(tmp_path, settings={"oncelog.flush.policy": "commit"}) as broker,
        socket.create_connection((broker.address.host, broker.address.port), timeout=60) as connection,
    ):
        broker.on_loop(lambda nodes: nodes.server.broker.topics.create("t", 2, {}, 0))
        server: Server = broker.on_loop(lambda nodes: nodes.server)
        client = Client(connection)
        broker.on_loop(lambda _: server._checking.worker.submit(wait))
        client.send(client.produce(0, 0, 10), client.produce(1, 0, 200_000, Compression.GZIP), client.produce(1, 1, 10))
        assert client.error() == Error.NONE
        for _ in range(10):  # turns in which the third could begin
            broker.on_loop(lambda _: None)
        resume.set()
        assert (client.error(), client.error()) == (Error.NONE, Error.NONE)


def test_a_request_that_waits_for_an_answer_is_counted_once(tmp_path: Path) -> None:
    """The buffer in which it was received is the one in which it waits."""
    limits = {"queued.max.request.bytes": str(16 * MB), "socket.request.max.bytes": str(8 * MB)}
    with (
        oncelog.Broker(tmp_path, settings=limits) as broker,
        RawConnection(broker.bootstrap_servers) as other,
        RawConnection(broker.bootstrap_servers) as client,
    ):
        client.create_topic("large", max_message_bytes=8 * MB)
        other.send_bytes((8 * MB).to_bytes(4, "big") + bytes(8 * MB - 1000))
        while broker.on_loop(lambda nodes: nodes.server.memory.held_bytes) < 8 * MB - 1000:
            pass
        fetch = client.send_fetch({("large", 0): RawFetchPosition(0)}, max_wait_ms=1000)
        produce = client.send_produce({("large", 0): batch(bytes(7 * MB))})
        assert client.receive_fetch(fetch).error == Error.NONE
        assert client.receive_produce(produce)["large", 0].error == Error.NONE
        assert broker.on_loop(lambda nodes: nodes.server.memory.held_bytes) <= 8 * MB + 1000
