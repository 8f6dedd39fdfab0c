"""The shipped broker on a simulated machine: started, killed, without power, in the simulation's one thread.

Nothing of the broker is a model. Its disk is :class:`~oncelog.testing.simulation.disk.FaultyDisk`, whose power can be
cut; its threads are later turns of the loop; its metadata are a real SQLite file in a throw-away folder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from oncelog.faults.embedded import BrokerFaults
from oncelog.metadata.store import FILE_NAME
from oncelog.ports import Disk
from oncelog.server import descriptors
from oncelog.server.listeners import Listener, parse_listeners
from oncelog.server.nodes import Nodes
from oncelog.server.opening import METADATA_WORKER, Machine, open_server
from oncelog.server.server import Server
from oncelog.server.workers import Worker
from oncelog.testing.simulation.disk import FaultyDisk
from oncelog.testing.simulation.errors import NotSimulated, SimulationError
from oncelog.testing.simulation.loop import Process, SimulatedLoop, run_in, task_in

if TYPE_CHECKING:
    import random

    from oncelog.testing.simulation.network import Network

T = TypeVar("T")

FIRST_PORT = 9092
HOST = "127.0.0.1"
QUICK: Mapping[str, object] = {
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
    "oncelog.flush.policy": "commit",
}
"""What a simulated broker has unless it is told otherwise; with ``commit`` what is acknowledged survives its power."""


class SimulatedWorker(Worker):
    """A thread of the broker (syncs, background work, checks of batches): each job is done in a later turn."""

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
            except Exception as caught:  # noqa: BLE001 - handed to the core, which decides
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


class StoreLog:
    """The metadata store's files as they were when they were synced last: what a power failure leaves at least."""

    def __init__(self, path: Path) -> None:
        self._files = [path, path.with_name(f"{path.name}-wal")]
        self.sync()

    def sync(self) -> None:
        self._synced = self._content()

    def close(self) -> None:
        """Nothing is held."""

    def _content(self) -> list[bytes]:
        return [path.read_bytes() if path.exists() else b"" for path in self._files]

    def power_fails(self, rng: random.Random) -> list[bytes]:
        """What is left: all that was synced, and of what was logged since then the first part."""
        kept, now = self._synced, self._content()
        if now[0] == kept[0] and now[1].startswith(kept[1]):
            return [now[0], now[1][: rng.randint(len(kept[1]), len(now[1]))]]
        return rng.choice([kept, now])

    def restore(self, content: list[bytes]) -> None:
        for path, data in zip(self._files, content, strict=True):
            path.write_bytes(data)


class SimulatedMachine(Machine):
    """:param rng: how long a sync takes, and what a power failure leaves.

    :param store_rng: the same for the metadata.
    :param folder: a real one, for the metadata alone.
    :param spend: is told the seconds that each sync takes, as the server measures them: it syncs in its own turn where
        they are few.
    """

    def __init__(
        self, folder: Path, rng: random.Random, store_rng: random.Random, spend: Callable[[float], None]
    ) -> None:
        super().__init__(None)
        self.keeps = True
        self.store_path = str(folder / FILE_NAME)
        self.content = FaultyDisk()
        self.syncs_at_once = 1  # the seeds' courses are of that
        self.has_sockets = False
        self.sync_s: tuple[float, float] = (0.0002, 0.005)
        """Least and greatest time from the order to sync until it is done."""
        self.extra_sync_s = 0.0
        self.content.on_sync = lambda: spend(self.sync_s[1] / 2 + self.extra_sync_s)
        self._rng = rng
        self._store_rng = store_rng
        self._store_log: StoreLog | None = None

    def claim(self) -> descriptors.Shares | None:
        return None

    def disk(self, shares: descriptors.Shares | None) -> Disk:
        return self.content

    def store_log(self) -> StoreLog:
        self._store_log = StoreLog(Path(self.store_path))
        return self._store_log

    def worker(self, loop: asyncio.AbstractEventLoop, name: str) -> Worker:
        rng = self._store_rng if name == METADATA_WORKER else self._rng
        return SimulatedWorker(loop, lambda: rng.uniform(*self.sync_s) + self.extra_sync_s)

    def power_fails(self, close_store: Callable[[], None]) -> None:
        """What was not synced is lost, in part or whole.

        :param close_store: the metadata store's file is nobody's any more.
        """
        self.content = self.content.crash(self._rng)
        log, self._store_log = self._store_log, None
        left = log.power_fails(self._store_rng) if log is not None else None
        close_store()
        if log is not None and left is not None:
            log.restore(left)


class SimulatedBroker:
    """One broker, of one or more nodes, for as long as a simulation; implements ``faults.embedded.Home``.

    :param machine: what outlives it.
    """

    def __init__(
        self,
        loop: SimulatedLoop,
        network: Network,
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
        self._process = Process("broker")
        self._server: Server | None = None
        self.is_stopping = False
        self.lives = 0
        self._faults = BrokerFaults(self)
        self._entered = 0
        self.at_start: list[Callable[[Server], None]] = []
        """Called with each new life's server."""

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{HOST}:{FIRST_PORT + number}" for number in range(self.node_count))

    @property
    def server(self) -> Server:
        """Of the life that there is.

        :raises SimulationError: it does not run.
        """
        if self._server is None:
            raise SimulationError("the simulated broker does not run")
        return self._server

    @property
    def process(self) -> Process:
        return self._process

    @property
    def faults(self) -> BrokerFaults:
        """Faults by name. From here on, in this life, requests go the long way past them."""
        if self._server is not None:
            self._enter()
        return self._faults

    def _enter(self) -> None:
        if self._entered < self.lives:
            self._entered = self.lives
            self._faults.enter(self.server)

    # --- life and death

    def start(self) -> None:
        """Begin to serve; at once, however much there is to recover."""
        if self._server is not None or self.is_stopping:
            return
        self.lives += 1
        self._process = Process("broker")
        opening = open_server(self._listeners, None, self._settings, nodes=self.node_count, machine=self.machine)
        self._server, _ = run_in(self._process, _at_once, opening)
        self._note(f"the broker serves, for the {self.lives}. time")
        if self._faults.in_force:
            self._enter()
        for tell in self.at_start:
            tell(self._server)

    def crash(self, *, power: bool = False) -> None:
        """It ends where it stands. ``power``: with its machine, so that what was not synced is lost and no peer hears
        of it; else its process alone is killed."""
        server, self._server = self.server, None
        self._note("the power fails" if power else "the broker is killed")
        self._loop.freeze(self._process)
        self._network.died(self._process, silent=power)
        if power:
            self.machine.power_fails(server.broker.metadata.close)
        else:
            server.broker.metadata.close()

    async def stop(self) -> None:
        """Stop as an operator would have it."""
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
        """It stands still, with its connections open, until :meth:`resume`."""
        self._note("the broker stands still")
        self._loop.pause(self._process)

    def resume(self) -> None:
        """It goes on where it stood."""
        if self._process.held is not None:
            self._note("the broker goes on")
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
        raise SimulationError("in a simulation the power is cut by crash(power=True)")


def _at_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing in a simulation."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    work.close()
    raise SimulationError(f"{work!r} waits, which it must not here")


def _refuse_tls(settings: Mapping[str, str]) -> None:
    """A handshake takes its chance from OpenSSL, so that no seed would have one course."""
    for name, value in settings.items():
        if name.startswith("ssl.") or ".ssl." in name or "SSL" in value.upper().replace("SASL", ""):
            raise NotSimulated(f"TLS is not simulated: leave out {name}={value}, and use listeners without it")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


__all__ = ["FIRST_PORT", "HOST", "SimulatedBroker", "SimulatedMachine"]
