"""Creates a serving broker from settings: data folder, metadata, core, listeners.

Used by ``serve`` (its own process) and ``embedded`` (a thread of a Python program).
"""

from __future__ import annotations

import errno
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from oncelog.broker.core.broker import Broker
from oncelog.broker.core.cluster.node import SimulatedNode
from oncelog.broker.metadata.opening import open_metadata
from oncelog.broker.metadata.store import FILE_NAME
from oncelog.broker.server.disk.memory_disk import MemoryDisk
from oncelog.broker.server.disk.syncing import SYNCS_AT_ONCE
from oncelog.broker.server.listener_settings import Address, Listener
from oncelog.broker.server.listeners.acceptors import Acceptor
from oncelog.broker.server.listeners.live_listeners import LiveListeners
from oncelog.broker.server.process import descriptors
from oncelog.broker.server.process.clock import WallClock
from oncelog.broker.server.process.workers import BackgroundWorker, Worker
from oncelog.broker.server.server import Server
from oncelog.errors import ConfigError, OncelogError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime.ports import Disk
from oncelog.settings.config import BrokerConfig, parse_broker

if TYPE_CHECKING:
    from oncelog.broker.metadata.first_users import FirstUser
    from oncelog.broker.metrics.broker_source import BrokerSource
    from oncelog.broker.metrics.endpoint import Endpoint
    from oncelog.broker.server.disk.folder_lock import FolderLock

# From the module that os takes it from: this import may run while a test replaces os.urandom.
if sys.platform == "win32":
    from nt import urandom
else:
    from posix import urandom

logger = logging.getLogger(__name__)


REPLICATION, DEFAULT_REPLICAS = "default.replication.factor", 3
"""With several nodes, a topic's partitions have up to three replicas, unless the setting is given."""
TOKEN_SECRET = "delegation.token.secret.key"
METADATA_WORKER = "oncelog-metadata"
"""The name of the thread that syncs the metadata."""


class Machine:
    """A server's environment: a disk, and threads for work that would block its loop.

    :param data: the data folder; None if all data are in memory.
    """

    def __init__(self, data: str | os.PathLike[str] | None) -> None:
        self._data = data
        self._lock: FolderLock | None = None
        self.keeps = data is not None
        """Whether data outlive the process, so that syncs are useful."""
        self.store_path = os.path.join(data, FILE_NAME) if data is not None else ":memory:"
        self.syncs_at_once = SYNCS_AT_ONCE if self.keeps else 1

    def claim(self) -> descriptors.DescriptorLimits | None:
        """Raise the limit of file descriptors and divide the descriptors; None if there is no limit."""
        return descriptors.claim()

    def disk(self, shares: descriptors.DescriptorLimits | None) -> Disk:
        if self._data is None:
            return MemoryDisk()
        from oncelog.broker.server.disk.folder_lock import FolderLock
        from oncelog.broker.server.disk.os_disk import OsDisk

        disk = OsDisk(str(self._data), shares.files) if shares is not None else OsDisk(str(self._data))
        prepare_folder(self._data)
        self._lock = FolderLock(self._data)
        return disk

    def let_go(self) -> None:
        """Release the lock on the data folder for other brokers."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def store_log(self) -> StoreLog:
        """The write-ahead log of the metadata store, which is to be synced."""
        from oncelog.broker.server.disk.os_disk import ForeignFile

        return ForeignFile(f"{self.store_path}-wal")

    def worker(self, loop: asyncio.AbstractEventLoop, name: str) -> Worker:
        return Worker(loop, name)


class StoreLog(Protocol):
    """The write-ahead log of the metadata store."""

    def sync(self) -> None:
        """Bring all writes to stable storage before returning; may be called on any thread.

        :raises StorageError: the sync failed.
        """

    def close(self) -> None: ...


class ListenError(OncelogError):
    """The broker cannot listen on the address: it is in use, is not an address of this machine, or is not permitted."""


class SystemRandom:
    """Unpredictable bytes from the operating system, also where a test has replaced ``os.urandom`` by a constant.

    Implements ``ports.Random``.
    """

    def token(self, size: int) -> bytes:
        return urandom(size)


def prepare_folder(path: str | os.PathLike[str]) -> None:
    """Create the data folder durably; raises an error that says why if that is not possible."""
    from oncelog.broker.server.disk.os_disk import sync_names

    made: list[str] = []
    outermost = os.path.abspath(path)
    while not os.path.lexists(outermost):
        made.append(outermost)
        outermost = os.path.dirname(outermost)
    try:
        os.makedirs(path, exist_ok=True)
        for folder in made:
            sync_names(os.path.dirname(folder))
    except (FileExistsError, NotADirectoryError):
        raise ConfigError(f"the data folder {path} cannot be used: a file is in the way") from None
    except OSError as error:
        raise ConfigError(f"the data folder {path} cannot be made: {error.strerror}") from error
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise ConfigError(f"the data folder {path} cannot be read and written by this user: change its permissions")


DEFAULT_LISTENER = "127.0.0.1:9092"


def data_folder(data: str | None, settings: Mapping[str, str]) -> str | None:
    """The data folder: ``data``, or else the folder in Kafka's property ``log.dirs``.

    :raises ConfigError: the property names more than one folder, or the name is empty.
    """
    folders = [
        text.strip() for text in settings.get("log.dirs", settings.get("log.dir", "")).split(",") if text.strip()
    ]
    if data is None and folders:
        if len(folders) > 1:
            raise ConfigError(f"log.dirs names {len(folders)} folders; this broker keeps its data in a single one")
        data = folders[0]
    if data == "":
        raise ConfigError("the data folder's name is empty; '.' is the current folder")
    return data


def _warn_of_classes(config: BrokerConfig) -> None:
    """Warn of properties that name plug-in classes other than Kafka's own: Kafka's are built in, but other classes have
    no effect here, for instance on principals or on the creation of topics. ``authorizer.class.name`` is refused
    instead."""
    for name, value in sorted(config.static.items()):
        if name.endswith((".class", ".class.name")) and value and not value.startswith("org.apache.kafka."):
            logger.warning("%s has no effect: this broker does not load the Java class %s", name, value)


async def open_server(
    listeners: Sequence[Listener],
    data: str | os.PathLike[str] | None,
    settings: Mapping[str, str],
    first_users: Sequence[str] = (),
    nodes: int = 1,
    metrics: Address | None = None,
    wrap_disk: Callable[[Disk], Disk] | None = None,
    machine: Machine | None = None,
) -> tuple[Server, tuple[Listener, ...]]:
    """Start a serving broker; returns its server, and its listeners with their actual ports, those of the first node
    first.

    :param data: the folder for all data; None keeps them in memory.
    :param settings: Kafka's broker properties as text; unknown ones are refused.
    :param first_users: SCRAM credentials for a new data folder, as for ``kafka-storage --add-scram``.
    :param nodes: the number of nodes that clients see; each further node listens on the ports after those of the
        previous node, unless ``listeners`` already contains the listeners of all nodes.
    :param metrics: the address at which to serve metrics and health, also during recovery; None if they are not served.
    :param wrap_disk: puts a wrapper between the broker and its disk.
    :param machine: the environment to use instead of the real one; ``data`` is then ignored.
    """
    machine = machine or Machine(data)
    if nodes > 1 and len({listener.name for listener in listeners}) == len(listeners):
        listeners = [_of_node(listener, number) for number in range(nodes) for listener in listeners]
    if nodes > 1:  # topics get replicas, like the internal topics: a test that stops a leader expects a new leader
        settings = {REPLICATION: str(min(nodes, DEFAULT_REPLICAS)), **settings}
    config = parse_broker(settings)
    shares = machine.claim()
    credentials = _parse_first_users(first_users)
    disk = machine.disk(shares)
    if not machine.keeps:
        config = replace(config, oncelog_flush_policy="none")
    sockets: list[socket.socket] = []
    observed: _Observed | None = None
    try:
        if wrap_disk is not None:
            disk = wrap_disk(disk)
        if metrics is not None:
            observed = _observe(metrics, data)
        sockets += [bind(listener.address) for listener in listeners]
        bound = tuple(
            listener._replace(address=Address(listener.address.host, sock.getsockname()[1]))
            for listener, sock in zip(listeners, sockets, strict=True)
        )
        source = observed.source if observed is not None else None
        server, acceptors = _start(config, disk, machine, bound, sockets, credentials, nodes, source)
    except BaseException:
        for sock in sockets:
            sock.close()
        if observed is not None:
            observed.endpoint.stop()
        machine.let_go()
        raise
    server.at_end.append(machine.let_go)
    if observed is not None:
        server.metrics_address = Address(*observed.endpoint.address)
        server.at_end.append(observed.endpoint.stop)
    if shares is not None:
        server.max_connections = shares.connections
        if shares.connections < descriptors.FEW:
            server.broker.import_all()
    await server.listen(acceptors)
    if nodes == 1:
        _follow_settings(server, bound, acceptors)
    return server, bound


def _parse_first_users(texts: Sequence[str]) -> list[FirstUser]:
    if not texts:
        return []
    from oncelog.broker.metadata.first_users import parse_first_user

    return [parse_first_user(text, SystemRandom().token) for text in texts]


def _follow_settings(server: Server, bound: Sequence[Listener], acceptors: Sequence[Acceptor]) -> None:
    """Apply the changes of listeners that AlterConfigs made before this start, and all later ones."""
    broker = server.broker

    def open_acceptor(listener: Listener, settings: Mapping[str, str] | None) -> Acceptor:
        sock = bind(listener.address)
        address = listener.address._replace(port=sock.getsockname()[1])
        listener = listener._replace(address=address)
        try:
            return Acceptor(listener, sock, _node_at(broker.config, listener), broker, server.loop.time, settings)
        except BaseException:
            sock.close()
            raise

    broker.listeners = LiveListeners(server, bound, acceptors, open_acceptor)
    broker.listeners.follow()


def _start(
    config: BrokerConfig,
    disk: Disk,
    machine: Machine,
    bound: Sequence[Listener],
    sockets: Sequence[socket.socket],
    credentials: Sequence[FirstUser],
    nodes: int,
    source: BrokerSource | None,
) -> tuple[Server, list[Acceptor]]:
    """Open the metadata and every log; the server does not listen yet."""
    random = SystemRandom()
    clock = WallClock()
    now_ms = clock.now_ms()
    metadata, config = open_metadata(
        machine.store_path,
        disk,
        config,
        random,
        now_ms,
        sync=config.oncelog_flush_policy != "none",
        first_users=credentials,
    )
    loop = asyncio.get_running_loop()
    background = machine.worker(loop, "oncelog-background")
    at_once = machine.syncs_at_once if config.oncelog_flush_policy == "commit" else 1
    flushers = [machine.worker(loop, f"oncelog-flusher-{number}") for number in range(at_once)]
    checker = machine.worker(loop, "oncelog-checker")
    acceptors: list[Acceptor] = []
    try:
        broker = Broker(
            config=config,
            node=_node_at(config, bound[0]),
            metadata=metadata,
            disk=disk,
            random=random,
            background=background,
            work_clock=time.thread_time_ns,
            nodes=[config.node_id + number for number in range(nodes)] if nodes > 1 else (),
            requests=source.requests if source is not None else None,
        )
        clock.was_set.append(broker.clock_was_set)
        if source is not None:
            source.opens(broker)
        _warn_of_classes(config)
        if config.static.get(TOKEN_SECRET):
            logger.warning("%s has no effect: this broker issues no delegation tokens", TOKEN_SECRET)
        for number, (listener, sock) in enumerate(zip(bound, sockets, strict=True)):
            node = _node_at(config, listener, number // (len(bound) // nodes))
            if broker.cluster is not None:
                broker.cluster.member(node.node_id).addresses[listener.name] = node
            acceptors.append(Acceptor(listener, sock, node, broker, loop.time))
        broker.recover(now_ms)
        broker.start(clock.now_ms())
        # The metadata log is synced separately only on a single node; with several nodes each iteration serves one node
        # and syncs itself.
        apart = broker.cluster is None and metadata.file.has_log and config.oncelog_flush_policy != "none"
        store_log = machine.store_log() if apart else None
    except BaseException:
        for acceptor in acceptors:
            acceptor.close()
        for worker in (background, *flushers, checker):
            worker.stop()
        metadata.close()
        raise
    server = Server(broker, clock, flushers, background, checker, source)
    if store_log is not None:
        _sync_metadata_in_background(server, machine, store_log)
    return server, acceptors


def _sync_metadata_in_background(server: Server, machine: Machine, log: StoreLog) -> None:
    worker = machine.worker(server.loop, METADATA_WORKER)
    server.at_end += [worker.stop, log.close]
    background = server.broker.logs.checkpoints.background = BackgroundWorker(worker, server.background_done)
    server.broker.metadata_sync.begin(background, log.sync, threading.Lock())


class _Observed(NamedTuple):
    endpoint: Endpoint
    source: BrokerSource


def _observe(address: Address, data: str | os.PathLike[str] | None) -> _Observed:
    """Serve metrics and health for a broker that is about to start."""
    from oncelog.broker.metrics.broker_source import BrokerSource
    from oncelog.broker.metrics.endpoint import Endpoint

    source = BrokerSource(data)
    endpoint = Endpoint(bind(address), source)
    endpoint.start()
    return _Observed(endpoint, source)


def _of_node(listener: Listener, number: int) -> Listener:
    """The listener of the node with this index: the same one at a port higher by the index, or at any port."""
    address = listener.address
    if not number:
        return listener
    advertised = listener.advertised
    if advertised is not None and advertised.port:
        advertised = advertised._replace(port=advertised.port + number)
    port = address.port + number if address.port else 0
    return listener._replace(address=address._replace(port=port), advertised=advertised)


def _node_at(config: BrokerConfig, listener: Listener, number: int = 0) -> SimulatedNode:
    """A node of this broker with its address for clients of a listener."""
    host, port = listener.for_clients
    return SimulatedNode(config.node_id + number, host, port, config.broker_rack or None)


def bind(listen: Address) -> socket.socket:
    """A socket bound to an address.

    :raises ListenError: the address is in use, is not an address of this machine, or is not permitted.
    """
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((listen.host, listen.port))
    except OSError as error:
        sock.close()
        if error.errno == errno.EADDRINUSE:
            raise ListenError(
                f"{listen} is in use by another program: choose another port, or 0 for a free one"
            ) from error
        raise ListenError(f"cannot listen on {listen}: {error.strerror or error}") from error
    return sock
