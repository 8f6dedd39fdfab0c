"""What connections meet while a server stops, and in the turns between others' requests."""

from __future__ import annotations

import socket
import time
from collections.abc import Generator
from pathlib import Path
from typing import cast

import pytest

import oncelog
from oncelog.broker.slices import AT_ONCE
from oncelog.log.results import FileSlice
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.generated.produce_response import ProduceResponse
from oncelog.records.batch import Record, encode_batch
from oncelog.server.memory_disk import MemoryFile
from oncelog.server.nodes import Nodes
from oncelog.server.sending import Sending
from oncelog.server.server import Server
from oncelog.types import TopicPartition
from tests.support.frames import encode_request
from tests.unit.broker.apis_admin.conftest import RecordingChannel


def produce(number: int) -> bytes:
    records = encode_batch([Record(0, int(time.time() * 1000), b"k", b"v")])
    topic = TopicProduceData(name="t", partition_data=[PartitionProduceData(0, records)])
    return encode_request(0, 9, number, "test", ProduceRequest(None, -1, 30_000, [topic]).encode(9))


def log_end(broker: oncelog.Broker) -> int:
    def look(nodes: Nodes) -> int:
        partition = nodes.server.broker.partition(TopicPartition("t", 0))
        assert partition is not None
        return partition.log.log_end_offset

    return broker.on_loop(look)


@pytest.mark.parametrize("policy", ["interval", "commit"])
def test_a_request_that_waits_for_its_connections_answers_is_not_begun_by_a_stop(policy: str, tmp_path: Path) -> None:
    """Else it is written to a log that was closed as cleanly stopped."""
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


def test_what_was_gathered_comes_before_a_change_by_a_long_request() -> None:
    def act(nodes: Nodes) -> list[bytes]:
        server: Server = nodes.server
        broker, channel, now_ms = server.broker, RecordingChannel(), server.now_ms()
        broker.topics.create("t", 1, {}, now_ms)

        def work() -> Generator[None, None, None]:
            for _ in range(AT_ONCE + 1):
                yield
            broker.topics.delete("t", now_ms)

        broker.slices.begin(work())
        broker.receive(channel, 0, memoryview(produce(1))[4:], now_ms)
        frame = bytearray(produce(2))
        assert broker.receive_run(channel, 1, frame, 0, len(frame), now_ms, gather=True) == len(frame)
        while broker.slices:
            server._slice()
        return channel.answers

    with oncelog.Broker() as made:
        _, answer = made.on_loop(act)
    told = ProduceResponse.decode(answer, 9, 9).responses[0].partition_responses[0]
    assert (told.error_code, told.base_offset) == (0, 1)


def test_a_file_that_was_cut_shifts_no_answer() -> None:
    sending = Sending(cast(Server, _Loop()))
    cut = FileSlice(MemoryFile("file", bytearray(50_000)), 0, 60_000)
    sending._out.append(cut)
    one, other = socket.socketpair()
    with one, other, pytest.raises(OSError, match="ends before position 60000"):
        sending._send_file(cut, one)


class _Loop:
    """As much of a server as a connection needs to begin."""

    @property
    def loop(self) -> _Loop:
        return self

    def time(self) -> float:
        return 0.0
