"""Requests that are worked on in the smallest chunks, with everything that others may do between the chunks.

Whichever connection or topic ends in between, all others are served, every remaining client gets an answer or an error,
and no memory stays counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from unittest.mock import patch

from tests.hostile.fuzz.target import Target
from tests.hostile.fuzz.targets.wire import NAMES, TOPICS, FuzzChannel, Harness, new_requests, requests
from tests.unit.broker.core.conftest import RecordingChannel

FREQUENT = 12
"""About how many chunks lie between two disturbances."""


@contextmanager
def smallest_chunks() -> Iterator[None]:
    """Every request counts as long, and every element of a list is a chunk of its own."""
    with (
        patch("oncelog.broker.core.broker.LONG_BYTES", 0),
        patch("oncelog.broker.core.request_life.LISTED_IN_A_CHUNK", 0),
        patch("oncelog.broker.core.requests.answers.LISTED_IN_A_CHUNK", 1),
        patch("oncelog.broker.core.requests.tasks.AT_ONCE", 1),
        patch("oncelog.broker.core.requests.tasks.AT_A_TIME", 3),
    ):
        yield


class Disturbed(Harness):
    """The first byte of an input chooses the disturbances."""

    def __init__(self) -> None:
        self._random = Random(0)
        self._connections = 0
        self._sent: list[RecordingChannel] = []
        self._calm = False
        super().__init__()

    def feed(self, data: bytes) -> None:
        self._random = Random(data[0] if data else 0)
        with smallest_chunks():
            super().feed(data[1:])
        for channel in self._sent:
            if channel.closed is not None:
                self.broker.disconnected(channel)
        self._sent.clear()
        counted = self.broker.request_memory.taken_bytes, len(self.broker.long_requests)
        assert counted == (0, 0), f"bytes and requests that stay counted: {counted}"

    def send(self, frame: bytes) -> RecordingChannel:
        channel = FuzzChannel()
        self._connections += 1
        channel.connection_id = self._connections
        self.channels.append(channel)
        self._sent.append(channel)
        self.broker.receive(channel, 0, memoryview(frame), self.now_ms)
        self._work()
        return channel

    def others_are_served(self) -> None:
        self._calm = True
        super().others_are_served()
        self._calm = False

    def _work(self) -> None:
        for _ in range(100_000):
            if not len(self.broker.tasks):
                return
            self.broker.tasks.step()
            if not self._calm and self._random.randrange(FREQUENT) == 0:
                self._disturb()
        raise AssertionError("the work of one request has no end")

    def _disturb(self) -> None:
        match self._random.randrange(3):
            case 0:
                name = self._random.choice(sorted(TOPICS))
                if self.broker.metadata.topic(name) is not None:
                    self.broker.topics.delete(name, self.now_ms)
                self.broker.topics.create(name, 2, TOPICS[name], self.now_ms)
            case 1:
                self.broker.change_acls()
            case _:
                if self.channels:
                    leaving = self.channels.pop()
                    self.broker.disconnected(leaving)


def disturbed() -> Iterator[bytes]:
    for number, data in enumerate(requests()):
        yield bytes([number % 256]) + data


def new_disturbed(random: Random) -> bytes:
    return bytes([random.randrange(256)]) + new_requests(random)


TARGETS = [
    Target("pieces", Disturbed, disturbed, new_disturbed, tuple(n.encode() for n in NAMES[:8]), short=500),
]
