"""Answers to many connections that leave on another thread: none is lost, duplicated or out of order."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

import oncelog
from oncelog.conformance.expect import eventually
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.records import native
from oncelog.server import sending_together, server
from oncelog.server.nodes import Nodes
from oncelog.server.sending_together import SendingTogether
from oncelog.server.workers import Worker
from tests.support.frames import encode_request

pytestmark = pytest.mark.skipif(not sending_together.IS_POSSIBLE, reason="needs the compiled module, and descriptors")

COUNT = 40


def request(number: int) -> bytes:
    return encode_request(ApiVersionsRequest.API_KEY, 0, number, "test", ApiVersionsRequest().encode(0))


def read(connection: socket.socket, count: int) -> list[int]:
    """Correlation ids of the next answers; all that were sent, if the connection ends."""
    found, data = [], bytearray()
    while len(found) < count:
        try:
            received = connection.recv(1 << 20)
        except ConnectionResetError:
            break
        if not received:
            break
        data += received
        while len(data) >= 8 and len(data) >= 4 + (size := int.from_bytes(data[:4], "big")):
            found.append(int.from_bytes(data[4:8], "big"))
            del data[: 4 + size]
    return found


class Held:
    """Stands in for the thread: sends when it is told to. From ``begun`` on, the loop may wait for that."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.batches = 0

    def run(self, work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        self.batches += 1
        self.begun.set()

        def held() -> None:
            self.go_on.wait(60)
            work()

        self._worker.run(held, done)

    def stop(self) -> None:
        self._worker.stop()


class Site:
    """A broker that sends answers together from two on, and connections to it."""

    def __init__(self, broker: oncelog.Broker, stack: ExitStack) -> None:
        self.broker = broker
        self.address = broker.address.host, broker.address.port
        self.connections = [stack.enter_context(socket.create_connection(self.address)) for _ in range(COUNT)]
        for connection in self.connections:
            connection.settimeout(60)
        assert eventually(lambda: len(broker.on_loop(lambda nodes: nodes.server.connected())) == COUNT)
        self.ask(0)
        for connection in self.connections:
            assert read(connection, 1) == [0]

    def ask(self, number: int) -> None:
        """One request from each, all of which the broker finds in the same turn."""

        def act(nodes: Nodes) -> None:
            arrivals = select.poll()
            for one in nodes.server.connected():
                assert one._socket is not None
                arrivals.register(one._socket, select.POLLIN)
            for connection in self.connections:
                connection.sendall(request(number))
            deadline = time.monotonic() + 60
            while len(arrivals.poll(1000)) < len(self.connections):
                assert time.monotonic() < deadline

        self.broker.on_loop(act)

    def hold(self) -> Held:
        def replace(nodes: Nodes) -> Held:
            together = nodes.server.together
            assert together is not None
            held = Held(together._worker or together._new_worker())
            together._worker = held  # type: ignore[assignment]
            return held

        return self.broker.on_loop(replace)

    def away(self) -> int:
        """Connections whose answers the thread has."""
        return self.broker.on_loop(lambda nodes: sum(one.is_away for one in nodes.server.connected()))

    def together(self) -> SendingTogether:
        found = self.broker.on_loop(lambda nodes: nodes.server.together)
        assert found is not None
        return found


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr(server, "LEAST_ANSWERS", 2)
    with oncelog.Broker() as broker, ExitStack() as stack:
        yield Site(broker, stack)


def test_every_connection_gets_its_answers_in_order(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    held = site.hold()
    held.go_on.set()
    for number in range(1, 200):
        site.ask(number)
    for connection in site.connections:
        assert read(connection, 199) == list(range(1, 200))
    assert held.batches > 1


def test_a_turn_ends_when_so_many_are_read_and_the_rest_have_the_next(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "READ_AT_ONCE", 10)
    held = site.hold()
    held.go_on.set()
    site.ask(1)
    for connection in site.connections:
        assert read(connection, 1) == [1]
    assert held.batches >= COUNT // 10


def test_few_answers_are_sent_by_the_loop_and_there_is_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LEAST_ANSWERS", COUNT + 1)
    with oncelog.Broker() as broker, ExitStack() as stack:
        site = Site(broker, stack)
        site.ask(1)
        for connection in site.connections:
            assert read(connection, 1) == [1]
        assert site.together()._worker is None
        assert "oncelog-sender" not in [thread.name for thread in threading.enumerate()]


def test_the_loop_sends_all_if_there_can_be_no_thread(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "oncelog-sender":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(server, "LEAST_ANSWERS", 2)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with oncelog.Broker() as broker, ExitStack() as stack:
        site = Site(broker, stack)
        for number in (1, 2):
            site.ask(number)
            for connection in site.connections:
                assert read(connection, 1) == [number]
    assert caplog.text.count("can't start new thread") == 1


def test_what_is_answered_meanwhile_waits_for_the_answers_before(site: Site) -> None:
    held = site.hold()
    site.ask(1)
    assert held.begun.wait(60)
    sender = threading.Timer(0.1, held.go_on.set)
    site.connections[0].sendall(request(2) + request(3))
    sender.start()
    assert read(site.connections[0], 3) == [1, 2, 3]
    for connection in site.connections[1:]:
        assert read(connection, 1) == [1]
    assert site.away() == 0


def test_who_is_answered_twice_in_a_turn_gets_both_answers_once(site: Site) -> None:
    """The second becomes ready while others' answers are written; it leaves after the first."""

    def answer(nodes: Nodes) -> None:
        together = nodes.server.together
        assert together is not None
        for one in nodes.server.connected():
            for number in (1, 2):
                slot, one._next_slot = one._next_slot, one._next_slot + 1
                one.reply(slot, [b"\0\0\0\4" + number.to_bytes(4, "big")])
                assert together.take(one)
        together.begin()

    site.broker.on_loop(answer)
    site.ask(3)
    for connection in site.connections:
        assert read(connection, 3) == [1, 2, 3]


def test_what_was_taken_leaves_before_its_connection_is_written_to(site: Site) -> None:
    def answer(nodes: Nodes) -> None:
        together = nodes.server.together
        assert together is not None
        for one in nodes.server.connected():
            slot, one._next_slot = one._next_slot, one._next_slot + 1
            one.reply(slot, [b"\0\0\0\4\0\0\0\1"])
            assert together.take(one)
        for one in nodes.server.connected():
            one.write()
            assert not one.is_away

    site.broker.on_loop(answer)
    site.ask(2)
    for connection in site.connections:
        assert read(connection, 2) == [1, 2]


def test_a_connection_that_is_cut_off_meanwhile_takes_nobody_elses_answer_along(site: Site) -> None:
    """Its descriptor may be reused as soon as it is closed, so it is not closed before the thread has sent."""
    held = site.hold()
    site.ask(1)
    assert held.begun.wait(60)
    threading.Timer(0.1, held.go_on.set).start()

    def cut(nodes: Nodes) -> None:
        for one in list(nodes.server.connected())[: COUNT // 2]:
            one.cut_off("a test")

    site.broker.on_loop(cut)
    answered = [read(connection, 1) for connection in site.connections]
    assert answered[COUNT // 2 :] == [[1]] * (COUNT - COUNT // 2)
    assert all(one in ([], [1]) for one in answered)
    assert eventually(lambda: len(site.broker.on_loop(lambda nodes: nodes.server.connected())) == COUNT - COUNT // 2)


def test_a_peer_that_goes_meanwhile_harms_nobody(site: Site) -> None:
    held = site.hold()
    site.ask(1)
    assert held.begun.wait(60)
    for connection in site.connections[::2]:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset, not an end
        connection.close()
    held.go_on.set()
    for connection in site.connections[1::2]:
        assert read(connection, 1) == [1]
    site.connections = site.connections[1::2]
    assert eventually(lambda: len(site.broker.on_loop(lambda nodes: nodes.server.connected())) == COUNT // 2)
    site.ask(2)
    for connection in site.connections:
        assert read(connection, 1) == [2]


def test_what_a_full_socket_does_not_take_is_sent_when_it_does(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a piece of it, or nothing at all."""
    sends = native.compiled.Sends

    class Slow:
        def __init__(self, descriptors: list[int], answers: list[bytes]) -> None:
            self._pieces = [answer[: index % 5] for index, answer in enumerate(answers)]
            self._sends = sends(descriptors, self._pieces)

        def send(self) -> None:
            self._sends.send()

        def sent(self) -> list[int]:
            return [len(piece) if piece else -1 for piece in self._pieces]

    class Compiled:
        Sends = Slow

    monkeypatch.setattr(sending_together.native, "compiled", Compiled)
    for number in range(1, 20):
        site.ask(number)
        for connection in site.connections:
            assert read(connection, 1) == [number]


def test_a_stop_meanwhile_sends_what_was_answered(site: Site) -> None:
    held = site.hold()
    site.ask(1)
    assert held.begun.wait(60)
    threading.Timer(0.1, held.go_on.set).start()
    site.broker.stop()
    for connection in site.connections:
        assert read(connection, 2) == [1]


def test_sends_tell_what_a_socket_took() -> None:
    here, there = socket.socketpair()
    closed, _ = socket.socketpair()
    descriptor = closed.fileno()
    closed.close()
    with here, there:
        here.setblocking(False)
        sends = native.compiled.Sends([here.fileno(), descriptor, here.fileno()], [b"abc", b"def", bytes(10_000_000)])
        sends.send()
        whole, refused, part = sends.sent()
        assert (whole, refused) == (3, -1)
        assert 0 < part < 10_000_000
        assert there.recv(3) == b"abc"
