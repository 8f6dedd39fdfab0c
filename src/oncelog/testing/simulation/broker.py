"""The real broker on a simulated machine; the broker can be started and killed, and the machine can lose power.

No part of the broker is a model. Its disk is a :class:`~oncelog.testing.simulation.disk.FaultyDisk`, whose power can be
cut. Work of its threads is done in later iterations of the event loop. Its metadata is a real SQLite file in a
temporary folder.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from oncelog.broker.faults.embedded import BrokerFaults
from oncelog.broker.metadata.store import FILE_NAME
from oncelog.broker.server.listener_settings import Listener, parse_listeners
from oncelog.broker.server.nodes import Nodes
from oncelog.broker.server.opening import METADATA_WORKER, Machine, open_server
from oncelog.broker.server.process import descriptors
from oncelog.broker.server.process.workers import Worker
from oncelog.broker.server.server import Server
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime.ports import Disk
from oncelog.testing.simulation.disk import FaultyDisk
from oncelog.testing.simulation.loop import ProcessLife, SimulatedLoop, run_in, task_in
from oncelog.testing.simulation.simulation_errors import NotSimulated, SimulationError

if TYPE_CHECKING:
    import random

    from oncelog.testing.simulation.network import SimulatedNetwork

T = TypeVar("T")

FIRST_PORT = 9092
HOST = "127.0.0.1"
QUICK: Mapping[str, object] = {
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
    "oncelog.flush.policy": "commit",
}
"""Default settings of a simulated broker; with the flush policy ``commit``, acknowledged records survive a power
failure."""


class SimulatedWorker(Worker):
    """Replaces a thread of the broker (for syncs, background work, checks of batches): each job runs in a later
    iteration of the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, delay_s: Callable[[], float]) -> None:
        self._loop = loop
        self._delay_s = delay_s
        self._jobs: list[Callable[[], None]] = []
        self._free_at = 0.0

    def submit(self, job: Callable[[], None]) -> None:
        self._jobs.append(job)
        self._free_at = max(self._free_at, self._loop.time()) + self._delay_s()
        self._loop.call_at(self._free_at, self._next)

    def run(self, work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        def job() -> None:
            error: Exception | None = None
            try:
                work()
            except Exception as caught:  # noqa: BLE001 - passed to the core, which decides
                error = caught
            done(error)

        self.submit(job)

    @property
    def alive(self) -> bool:
        return True

    def discard(self) -> None:
        self._jobs.clear()

    def stop(self) -> None:
        while self._jobs:
            self._next()

    def _next(self) -> None:
        if self._jobs:
            self._jobs.pop(0)()


class SimulatedStoreLog:
    """The content of the metadata store's files when they were last synced; it always survives a power failure."""

    def __init__(self, path: Path) -> None:
        self._files = [path, path.with_name(f"{path.name}-wal")]
        self.sync()

    def sync(self) -> None:
        self._synced = self._content()

    def close(self) -> None:
        """Do nothing, because no file is kept open."""

    def _content(self) -> list[bytes]:
        return [path.read_bytes() if path.exists() else b"" for path in self._files]

    def power_fails(self, rng: random.Random) -> list[bytes]:
        """The content of the files after a power failure: everything that was synced, and a prefix of what was written
        to the write-ahead log since then."""
        kept, now = self._synced, self._content()
        if now[0] == kept[0] and now[1].startswith(kept[1]):
            return [now[0], now[1][: rng.randint(len(kept[1]), len(now[1]))]]
        return rng.choice([kept, now])

    def restore(self, content: list[bytes]) -> None:
        for path, data in zip(self._files, content, strict=True):
            path.write_bytes(data)


class SimulatedMachine(Machine):
    """The machine of a simulated broker, which exists for the whole simulation.

    :param rng: decides how long a sync takes, and what a power failure leaves.
    :param store_rng: like ``rng``, for the metadata.
    :param folder: a real folder, only for the metadata.
    :param spend: called with the seconds that each sync takes: the server measures them, and syncs on its own thread if
        they are short.
    """

    def __init__(
        self, folder: Path, rng: random.Random, store_rng: random.Random, spend: Callable[[float], None]
    ) -> None:
        super().__init__(None)
        self.keeps = True
        self.store_path = str(folder / FILE_NAME)
        self.content = FaultyDisk()
        self.syncs_at_once = 1  # recorded seeds rely on one sync at a time
        self.sync_s: tuple[float, float] = (0.0002, 0.005)
        """The shortest and the longest duration of a sync, from its request, in seconds."""
        self.extra_sync_s = 0.0
        self.content.on_sync = lambda: spend(self.sync_s[1] / 2 + self.extra_sync_s)
        self._rng = rng
        self._store_rng = store_rng
        self._store_log: SimulatedStoreLog | None = None

    def claim(self) -> descriptors.DescriptorLimits | None:
        return None

    def disk(self, shares: descriptors.DescriptorLimits | None) -> Disk:
        return self.content

    def store_log(self) -> SimulatedStoreLog:
        self._store_log = SimulatedStoreLog(Path(self.store_path))
        return self._store_log

    def worker(self, loop: asyncio.AbstractEventLoop, name: str) -> Worker:
        rng = self._store_rng if name == METADATA_WORKER else self._rng
        return SimulatedWorker(loop, lambda: rng.uniform(*self.sync_s) + self.extra_sync_s)

    def power_fails(self, close_store: Callable[[], None]) -> None:
        """Lose unsynced data, in part or completely.

        :param close_store: closes the metadata store's file.
        """
        self.content = self.content.crash(self._rng)
        log, self._store_log = self._store_log, None
        left = log.power_fails(self._store_rng) if log is not None else None
        close_store()
        if log is not None and left is not None:
            log.restore(left)


class SimulatedBroker:
    """The broker of a simulation, with one or more nodes; implements ``broker.faults.embedded.Home``.

    :param machine: the machine on which every run of the broker works.
    """

    def __init__(
        self,
        loop: SimulatedLoop,
        network: SimulatedNetwork,
        machine: SimulatedMachine,
        nodes: int,
        settings: Mapping[str, object],
    ) -> None:
        self._loop = loop
        self._network = network
        self.machine = machine
        self.node_count = nodes
        self._settings = {name: _text(value) for name, value in {**QUICK, **settings}.items()}
        _refuse_tls(self._settings)
        self._listeners: tuple[Listener, ...] = parse_listeners(f"{HOST}:{FIRST_PORT}", self._settings, HOST)
        self._process = ProcessLife("broker")
        self._server: Server | None = None
        self.is_stopping = False
        self.lives = 0
        self._faults = BrokerFaults(self)
        self._entered = 0
        self.at_start: list[Callable[[Server], None]] = []
        """Callbacks that receive the new server each time the broker starts."""

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{HOST}:{FIRST_PORT + number}" for number in range(self.node_count))

    @property
    def server(self) -> Server:
        """The server of the running broker.

        :raises SimulationError: the broker is not running.
        """
        if self._server is None:
            raise SimulationError("the simulated broker is not running: start() it first")
        return self._server

    @property
    def process(self) -> ProcessLife:
        return self._process

    @property
    def faults(self) -> BrokerFaults:
        """The faults that can be injected by name. From the first use on, all requests to the running broker pass
        through them, which is slower."""
        if self._server is not None:
            self._enter()
        return self._faults

    def _enter(self) -> None:
        if self._entered < self.lives:
            self._entered = self.lives
            self._faults.enter(self.server)

    # --- life and death

    def start(self) -> None:
        """Start the broker; it serves when this returns. No virtual time passes, however much there is to recover."""
        if self._server is not None or self.is_stopping:
            return
        self.lives += 1
        self._process = ProcessLife("broker")
        opening = open_server(self._listeners, None, self._settings, nodes=self.node_count, machine=self.machine)
        self._server, _ = run_in(self._process, _at_once, opening)
        self._note(f"the broker serves (life {self.lives})")
        if self._faults.in_force:
            self._enter()
        for callback in self.at_start:
            callback(self._server)

    def crash(self, *, power: bool = False) -> None:
        """Kill the broker at once.

        :param power: whether the machine loses power, so that unsynced data is lost and peers are not notified;
            otherwise only the process dies.
        """
        server, self._server = self.server, None
        self._note("the power fails" if power else "the broker is killed")
        self._loop.freeze(self._process)
        self._network.died(self._process, silent=power)
        if power:
            self.machine.power_fails(server.broker.metadata.close)
        else:
            server.broker.metadata.close()

    async def stop(self) -> None:
        """Stop the broker in an orderly way, as an operator does."""
        server, self._server = self.server, None
        self._note("the broker stops")
        self.is_stopping = True
        task = task_in(self._loop, self._process, server.stop())
        await asyncio.wait([task])
        self.is_stopping = False
        self._loop.freeze(self._process)
        self._network.died(self._process, silent=False)
        await task

    def pause(self) -> None:
        """Pause the broker until :meth:`resume`, with its connections open."""
        self._note("the broker is paused")
        self._loop.pause(self._process)

    def resume(self) -> None:
        """Let the paused broker continue."""
        if self._process.held is not None:
            self._note("the broker is resumed")
            self._loop.resume(self._process)

    @property
    def is_running(self) -> bool:
        return self._server is not None

    def _note(self, what: str) -> None:
        self._network.note(what, "broker")

    # --- Home

    @property
    def data(self) -> Path | None:
        return None

    def on_loop(self, action: Callable[[Nodes], T]) -> T:
        return run_in(self._process, action, Nodes(self.server))  # type: ignore[no-any-return]

    def run_nodes(self, work: Callable[[Nodes], Coroutine[Any, Any, T]]) -> T:
        return run_in(self._process, _at_once, work(Nodes(self.server)))  # type: ignore[no-any-return]

    def restart_after(self, meanwhile: Callable[[], T]) -> T:
        raise SimulationError("in a simulation, cut the power with crash(power=True)")


def _at_once(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end at once; returns its result.

    :raises SimulationError: the coroutine waits for something.
    """
    try:
        work.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    work.close()
    raise SimulationError(f"{work!r} waits, which it must not do in a simulation")


def _refuse_tls(settings: Mapping[str, str]) -> None:
    """Refuse settings with TLS, because a handshake uses randomness of OpenSSL, and two runs of a seed would differ."""
    for name, value in settings.items():
        if name.startswith("ssl.") or ".ssl." in name or "SSL" in value.upper().replace("SASL", ""):
            raise NotSimulated(f"TLS is not simulated: leave out {name}={value}, and use listeners without it")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


__all__ = ["FIRST_PORT", "HOST", "SimulatedBroker", "SimulatedMachine"]
