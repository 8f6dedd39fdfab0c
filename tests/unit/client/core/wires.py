"""A wire without a network: it records what the cores send, and the test answers, with a clock of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from oncelog.client.core.connection.wire import NO_LIMIT, Api, Build, OnAnswer, RequestFailure
from oncelog.errors import Error
from oncelog.protocol.wire import Message
from oncelog.runtime.timers import Timers


@dataclass
class Sent:
    node: int
    api: Api
    message: Any
    version: int
    on_answer: OnAnswer
    wire: FakeWire

    def answer(self, response: Message | RequestFailure) -> None:
        self.on_answer(response, self.version, self.wire.now_ms())

    def lose(self) -> None:
        self.on_answer(
            RequestFailure(Error.NETWORK_EXCEPTION, "the connection broke", True), self.version, self.wire.now_ms()
        )


class FakeWire:
    def __init__(self, transaction_version: int = 2) -> None:
        self.timers = Timers()
        self.clock_ms = 1000
        self.sent: list[Sent] = []
        self.not_ready: set[int] = set()
        self.nodes: dict[int, tuple[str, int]] = {}
        self.level = transaction_version
        self.newest: dict[int, int] = {}
        """Highest version by API, where the broker is older than the client."""

    def now_ms(self) -> int:
        return self.clock_ms

    def ready(self, node: int) -> bool:
        return node not in self.not_ready

    def any_node(self) -> int:
        return 1

    def learn(self, node: int, host: str, port: int) -> None:
        self.nodes[node] = (host, port)

    def version(self, node: int, api: Api, highest: int = NO_LIMIT) -> int | None:
        return min(api.highest, highest, self.newest.get(api.key, highest))

    def transaction_version(self) -> int:
        return self.level

    def send(
        self,
        node: int,
        api: Api,
        message: Message | Build,
        on_answer: OnAnswer,
        *,
        timeout_ms: int | None = None,
        highest: int = NO_LIMIT,
        expect_answer: bool = True,
        channel: int = 0,
    ) -> None:
        version = min(api.highest, highest, self.newest.get(api.key, highest))
        built = message if isinstance(message, Message) else message(version)
        built.encode(version)  # what is sent can be sent
        self.sent.append(Sent(node, api, built, version, on_answer, self))

    # --- for tests

    def take(self, api: Api) -> Sent:
        """The oldest request of an API that was not taken yet."""
        for index, sent in enumerate(self.sent):
            if sent.api is api:
                return self.sent.pop(index)
        raise AssertionError(f"no {api.name} was sent, but {[sent.api.name for sent in self.sent]}")

    def count(self, api: Api) -> int:
        return sum(1 for sent in self.sent if sent.api is api)

    def pass_time(self, ms: int) -> None:
        """Let timers fire one by one on the way."""
        end = self.clock_ms + ms
        while (at := self.timers.next_ms()) is not None and at <= end:
            self.clock_ms = max(self.clock_ms, at)
            self.timers.fire(self.clock_ms)
        self.clock_ms = end
