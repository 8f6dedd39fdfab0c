"""Schema registries in front of the broker, and programs that register, look up and delete.

The registries are the shipped ones below HTTP: routes, rules, service and log. Requests between programs go through a
network of their own, which loses requests and answers; nobody answers for a registry that is dead.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from oncelog.client.aio import Consumer
from oncelog.errors import KafkaError
from oncelog.schema_registry import rest_errors
from oncelog.schema_registry.access import AccessControl
from oncelog.schema_registry.forwarding import FORWARDED, ForwardedAnswer
from oncelog.schema_registry.routes import App
from oncelog.schema_registry.service import Registry
from oncelog.schema_registry.settings import MAX_BODY_BYTES, TOPIC, RegistrySettings
from oncelog.testing.simulation import Simulation
from oncelog.testing.simulation.world import SimulatedProcess
from oncelog.types import TopicPartition
from tests.simulation.history import History, Registered, Stored
from tests.simulation.programs import PAUSE_S, Program, abandon

_CLIENTS_TIMEOUT_S, _FORWARDERS_TIMEOUT_S, _LOOK_S = 20.0, 8.0, 3.0
_LOST = 0.02
"""How often a request, or its answer, is lost."""
_NOT_YET = 40405
"""The code of a subject that is not deleted for good, because it is not deleted yet."""
_SHARED = ("shared-0", "shared-1")
"""Subjects in which all register and nobody deletes."""


@dataclass(eq=False)
class _Call:
    """A request on its way to a registry."""

    method: str
    target: str
    body: bytes
    headers: list[tuple[bytes, bytes]]
    answer: asyncio.Future[ForwardedAnswer] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Net:
    """Where the registries listen; what a registry uses to reach others (``forward``, ``answers``).

    :param deaths: how often a registry is killed while it deals with a request. How often it is paused then, for longer
        than others wait for it so that they take over from it, is drawn here.
    """

    def __init__(self, world: Simulation, deaths: float) -> None:
        self.deaths = deaths
        self._pausing = world.rng("registries' pauses")
        self._pauses = self._pausing.choice([0.0, 0.05, 0.2])
        self._world = world
        self._rng = world.rng("registries' network")
        self._queues: dict[str, tuple[str, asyncio.Queue[_Call]]] = {}

    def listen(self, url: str, name: str) -> asyncio.Queue[_Call]:
        """The requests for ``url`` from now on; an older instance gets none any more."""
        queue: asyncio.Queue[_Call] = asyncio.Queue()
        self._queues[url] = name, queue
        return queue

    async def ask(
        self, url: str, method: str, target: str, body: bytes = b"", *, timeout_s: float, forwarded: bool = False
    ) -> ForwardedAnswer | None:
        """The answer; None if nobody listens there.

        :raises TimeoutError: nothing came back; what was asked may be done.
        """
        found = self._queues.get(url)
        if found is None or not self._world.processes[found[0]].alive:
            return None
        headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
        call = _Call(method, target, body, headers + [(FORWARDED.encode(), b"true")] * forwarded)
        await asyncio.sleep(self._rng.expovariate(100))
        if self._rng.random() >= _LOST:
            found[1].put_nowait(call)
        if self._rng.random() < self.deaths and not self._world.is_calm:
            self._kill(self._world.processes[found[0]])
        elif self._pausing.random() < self._pauses and not self._world.is_calm:
            self._pause(self._world.processes[found[0]])
        async with asyncio.timeout(timeout_s):
            answer = await call.answer
            if self._rng.random() < _LOST:
                await asyncio.Event().wait()
            return answer

    def _kill(self, process: SimulatedProcess) -> None:
        """While it deals with a request, which takes some milliseconds."""
        later, nobodys = self._world.loop.call_later, contextvars.Context()
        dies_s = self._rng.choice([0.002, 0.01, 0.05]) * self._rng.random()
        later(dies_s, process.kill, context=nobodys)
        later(dies_s + self._rng.choice([0.1, 1.0, 10.0]), process.restart, context=nobodys)

    def _pause(self, process: SimulatedProcess) -> None:
        """Within the same time; requests that come meanwhile wait for it."""
        later, nobodys = self._world.loop.call_later, contextvars.Context()
        begins_s = self._pausing.choice([0.0, 0.002, 0.01, 0.05]) * self._pausing.random()
        later(begins_s, process.pause, context=nobodys)
        later(begins_s + self._pausing.uniform(_LOOK_S, _CLIENTS_TIMEOUT_S), process.resume, context=nobodys)

    async def forward(self, url: str, request: Any, body: bytes) -> ForwardedAnswer | None:
        """As ``Forwarder.forward``."""
        target = request.scope["raw_path"].decode()
        query = request.scope["query_string"].decode()
        try:
            return await self.ask(
                url, request.method, f"{target}?{query}" if query else target, body,
                timeout_s=_FORWARDERS_TIMEOUT_S, forwarded=True,
            )  # fmt: skip
        except TimeoutError:
            raise rest_errors.forwarding_failed(f"{url}: no answer") from None

    async def answers(self, url: str) -> bool:
        """As ``Forwarder.answers``."""
        try:
            return await self.ask(url, "GET", "/contexts", timeout_s=_LOOK_S, forwarded=True) is not None
        except TimeoutError:
            return False


class RegistryProgram(Program):
    """One registry, until all who use it are done."""

    def __init__(self, world: Simulation, history: History, name: str, net: Net, users: list[Registrar]) -> None:
        super().__init__(world, history, name, {})
        self.url = f"http://{name}:8081"
        self._net, self._users = net, users

    async def live(self, life: str) -> None:
        settings = RegistrySettings({"bootstrap.servers": self.settings["bootstrap_servers"]})
        registry = Registry(settings, self.url, self._net.answers)
        app: Any = App(registry, AccessControl(settings), self._net, MAX_BODY_BYTES)  # type: ignore[arg-type]
        await registry.start()
        calls = self._net.listen(self.url, self.name)
        under_way: set[asyncio.Task[None]] = set()
        try:
            while not all(user.done for user in self._users):
                try:
                    async with asyncio.timeout(1.0):
                        call = await calls.get()
                except TimeoutError:
                    continue
                task = asyncio.create_task(_serve(app, call))
                under_way.add(task)
                task.add_done_callback(under_way.discard)
        finally:
            await registry.close()
        self.done = True


async def _serve(app: Callable[..., Awaitable[None]], call: _Call) -> None:
    path, _, query = call.target.partition("?")
    sent: list[dict[str, Any]] = []
    scope = {
        "type": "http", "method": call.method, "path": path, "raw_path": path.encode(),
        "query_string": query.encode(), "headers": call.headers,
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": call.body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in sent)
    if not call.answer.done():
        call.answer.set_result(ForwardedAnswer(sent[0]["status"], body))


class Registrar(Program):
    """Registers in shared subjects, and registers and deletes for good in one of its own; asks again until it knows."""

    alone = True

    def __init__(
        self, world: Simulation, history: History, name: str, net: Net, urls: list[str], schemas: int, count: int
    ) -> None:
        super().__init__(world, history, name, {})
        self._net, self._urls, self._schemas, self._left = net, urls, schemas, count

    async def live(self, life: str) -> None:
        while self._left > 0:
            self._left -= 1
            chance = self.rng.random()
            if chance < 0.5:
                await self._register(self.rng.choice(_SHARED), _schema(self.rng.randrange(self._schemas)))
            elif chance < 0.8:
                await self._come_and_go(life)
            else:
                await self._look()
            await asyncio.sleep(self.rng.expovariate(2.0))
        self.done = True

    async def _register(self, subject: str, schema: str) -> None:
        answer = await self._certain("POST", f"/subjects/{subject}/versions", {"schema": schema})
        self.history.registered.append(Registered(subject, schema, answer["id"]))

    async def _come_and_go(self, life: str) -> None:
        """Schemas of a subject of its own, which is deleted in two steps. A request that was given up may be carried
        out later, so no other schemas are put there."""
        subject = f"own-{life}-{self._left}"
        for number in self.rng.sample(range(self._schemas), self.rng.randint(1, 2)):
            await self._register(subject, _schema(number, self.rng.choice([self.name, self.value().decode()])))
        if self.rng.random() < 0.8:
            self.history.deleted[subject] = False
            while await self._certain("DELETE", f"/subjects/{subject}?permanent=true", or_refused=404) == _NOT_YET:
                await self._certain("DELETE", f"/subjects/{subject}", or_refused=404)
            self.history.deleted[subject] = True

    async def _look(self) -> None:
        """Whatever an id means to any registry at any time, it means always."""
        if self.history.registered:
            given = self.rng.choice(self.history.registered).id
            answer = await self._asked("GET", f"/schemas/ids/{given}")
            if answer is not None and answer.status == 200:
                self.history.looked_up.append((json.loads(answer.body)["schema"], given))

    async def _certain(self, method: str, target: str, body: Any = None, *, or_refused: int = 200) -> Any:
        """Ask any registry until one says that it is done, or refuses with this status: then the code."""
        while True:
            answer = await self._asked(method, target, b"" if body is None else json.dumps(body).encode())
            if answer is not None and answer.status == 200:
                return json.loads(answer.body)
            if answer is not None and answer.status == or_refused:
                return json.loads(answer.body)["error_code"]
            if answer is not None and answer.status != 500:
                raise AssertionError(f"{method} {target} was answered {answer.status}: {answer.body!r}")
            await asyncio.sleep(self.rng.expovariate(1 / PAUSE_S))

    async def _asked(self, method: str, target: str, body: bytes = b"") -> ForwardedAnswer | None:
        try:
            return await self._net.ask(self.rng.choice(self._urls), method, target, body, timeout_s=_CLIENTS_TIMEOUT_S)
        except TimeoutError:
            return None


def _schema(number: int, name: str = "shared") -> str:
    field_ = {"name": f"{name.replace('-', '_')}_{number}", "type": "int", "default": number}
    return json.dumps({"type": "record", "name": "R", "fields": [field_]}, separators=(",", ":"))


class Auditor(Program):
    """Reads the topic, aborted records too: beside the others, before it is compacted, and when they are done."""

    alone = True

    def __init__(self, world: Simulation, history: History, name: str, users: list[Registrar]) -> None:
        super().__init__(world, history, name, {})
        self._users = users

    async def live(self, life: str) -> None:
        await self._read("read_uncommitted", self.history.stored_schemas, beside=True)
        committed: list[Stored] = []
        await self._read("read_committed", committed)
        self.history.committed_schemas = committed
        self.done = True

    async def _read(self, isolation_level: str, found: list[Stored], *, beside: bool = False) -> None:
        """Add the topic's records to ``found``; those that come ``beside`` the others' work too."""
        where = TopicPartition(TOPIC, 0)
        consumer: Consumer[bytes, bytes] = Consumer(
            **self.settings, isolation_level=isolation_level, auto_offset_reset="earliest"
        )
        try:
            await consumer.start()
            consumer.assign([where])
            while beside and not all(user.done for user in self._users):
                found += await _some(consumer)
            end = (await consumer.end_offsets([where]))[where]
            while await consumer.position(where) < end:
                found += await _some(consumer)
        finally:
            await _leave(consumer)


async def _some(consumer: Consumer[bytes, bytes]) -> list[Stored]:
    records = await consumer.getmany(timeout_ms=500)
    return [Stored(one.key or b"", one.value) for part in records.values() for one in part]


async def _leave(consumer: Consumer[bytes, bytes]) -> None:
    try:
        await abandon(consumer)
    except KafkaError:
        return
