"""A broker inside a Python program: ``with oncelog.Broker() as broker: ... broker.bootstrap_servers``.

The broker runs on an event loop in a thread of its own, so blocking and asyncio clients of the same process, and
of others, use it through a real socket.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from oncelog.broker.server.listener_settings import Address, Listener, parse_listeners
from oncelog.broker.server.process.loops import new_event_loop
from oncelog.errors import ConfigError, OncelogError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime.loop_thread import LoopThread
from oncelog.runtime.ports import Disk
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from oncelog.broker.server.nodes import Nodes
    from oncelog.broker.server.server import Server

ANY_PORT = "127.0.0.1:0"
NOT_RUNNING = "the broker is not running: use it in a with block, or call start()"
MAX_NODES = 9
IN_MEMORY: Mapping[str, object] = {"group.initial.rebalance.delay.ms": 0}
"""Default settings of a broker in memory: a test should not wait for more members of a group."""
TEN_YEARS_S = 10 * 365 * 86_400

T = TypeVar("T")


class ClusterNode:
    """One node of a broker that has several nodes; returned by :meth:`Broker.node`."""

    def __init__(self, broker: Broker, node_id: int) -> None:
        self._broker = broker
        self.node_id = node_id

    def __repr__(self) -> str:
        return f"ClusterNode({self.node_id})"

    @property
    def is_up(self) -> bool:
        """Whether the node is running and not cut off from the others."""
        return self._broker.on_loop(lambda nodes: nodes.member(self.node_id).alive)

    @property
    def bootstrap_servers(self) -> str:
        """The address ``HOST:PORT`` of this node's first listener, for the clients' setting ``bootstrap.servers``."""
        return self._broker.on_loop(
            lambda nodes: ",".join(
                str(Address(node.host, node.port)) for node in nodes.member(self.node_id).addresses.values()
            ).split(",")[0]
        )

    def stop(self, *, kill: bool = False) -> None:
        """Stop the node: other nodes take over its partitions and coordinators. With ``kill``, its connections end
        before that."""
        self._broker.run_nodes(lambda nodes: nodes.stop(self.node_id, kill=kill))

    def start(self) -> None:
        """Start the node again at its address; it is in sync again, and leads partitions that have no other leader."""
        self._broker.run_nodes(lambda nodes: nodes.start(self.node_id))

    def isolate(self) -> None:
        """Cut the node off from clients and other nodes: connections stay open, but no data pass through them."""
        self._broker.on_loop(lambda nodes: nodes.isolate(self.node_id))

    def heal(self) -> None:
        """Connect the node again after :meth:`isolate`."""
        self._broker.on_loop(lambda nodes: nodes.heal(self.node_id))

    def pause_replication(self) -> None:
        """Stop the node's replicas from copying. Produce requests with ``acks=all`` wait for them until they are out of
        sync, after ``replica.lag.time.max.ms``."""
        self._broker.on_loop(lambda nodes: nodes.hold_back(self.node_id))

    def resume_replication(self) -> None:
        """Let the node's replicas copy the missing records, so that they are in sync again."""
        self._broker.on_loop(lambda nodes: nodes.let_go(self.node_id))


class Broker:
    """An event log that speaks Kafka's protocol, running during the ``with`` block, or from ``start`` to ``stop``.

    :param data: folder for all data; None keeps it in memory until the end (and groups start at once:
        ``group.initial.rebalance.delay.ms`` is 0 unless ``settings`` contains it). Acknowledged records survive kill
        -9; with ``oncelog.flush.policy=commit`` they also survive a power failure; by default all but those of the last
        second do.
    :param listen: address; port 0 takes a free one. Several listeners are written as in Kafka's ``listeners``.
    :param advertised: ``HOST:PORT`` by which clients reach it, needed if it listens on all addresses (``0.0.0.0:0``);
        with several listeners, written as in ``advertised.listeners``. Port 0 is the port that it listens on.
    :param first_users: SCRAM credentials that a new data folder begins with, written as for ``kafka-storage``:
        ``SCRAM-SHA-256=[name=alice,password=...]``.
    :param settings: properties of Apache Kafka's broker by their names, for instance
        ``{"num.partitions": 6, "auto.create.topics.enable": False}``.
    :param nodes: number of nodes of one cluster, in this process and with one copy of each log: for tests and learning.
        Each has listeners and leads its share; :meth:`node`, :meth:`move_leader` and the like control them.
    :param metrics: ``HOST:PORT`` at which to serve metrics and health over HTTP; port 0 takes a free one.

    Raises ``ConfigError`` for an unknown property, a value that is not allowed, or a folder in use,
    ``ListenError`` for an address in use, ``MetadataError`` for a folder of another cluster.
    """

    def __init__(
        self,
        data: str | Path | None = None,
        *,
        listen: str = ANY_PORT,
        advertised: str | None = None,
        settings: Mapping[str, object] | None = None,
        first_users: Sequence[str] = (),
        nodes: int = 1,
        metrics: str | None = None,
    ) -> None:
        if isinstance(nodes, bool) or not isinstance(nodes, int) or not 1 <= nodes <= MAX_NODES:
            raise ConfigError(f"nodes={nodes!r}: a broker has from 1 to {MAX_NODES} nodes")
        self._node_count = nodes
        self._data = _path(data) if data is not None else None
        if settings is not None and not isinstance(settings, Mapping):
            raise ConfigError(
                f'settings={settings!r}: a dict of names and values is needed, such as {{"num.partitions": 6}}'
            )
        if not isinstance(listen, str):
            raise ConfigError(
                f"listen={listen!r}: an address is needed, such as '127.0.0.1:9092'; port 0 takes a free one"
            )
        given = {} if data is not None else IN_MEMORY
        self._settings = {name: settings_text(value) for name, value in {**given, **(settings or {})}.items()}
        if advertised is not None:
            self._settings["advertised.listeners"] = settings_text(advertised)
        self._first_users = list(first_users)
        self._metrics = Address.parse(metrics) if metrics is not None else None
        own = self._settings.get("listeners") if listen == ANY_PORT else None
        self._listeners = parse_listeners(own or listen, self._settings, ANY_PORT)
        self._thread: LoopThread | None = None
        self._server: Server | None = None
        self._opening: asyncio.Task[Any] | None = None
        self._opened: Server | None = None
        """The resources that :meth:`start` has opened, even if it was interrupted."""
        self._addresses: dict[str, Address] = {}
        self._bound: tuple[Listener, ...] = ()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a broker cannot be copied or sent to another process: pass on its bootstrap_servers")

    @property
    def bootstrap_servers(self) -> str:
        """The address ``HOST:PORT`` of the first listener, for the clients' setting ``bootstrap.servers``; with several
        nodes, an address for each."""
        if not self.is_running:
            raise OncelogError(NOT_RUNNING)
        return self.bootstrap_servers_for(self._bound[0].name)

    def bootstrap_servers_for(self, listener: str) -> str:
        """Like :attr:`bootstrap_servers`, for clients that connect to the listener with this name."""
        if not self.is_running:
            raise OncelogError(NOT_RUNNING)
        found = [str(bound.for_clients) for bound in self._bound if bound.name == listener.upper()]
        if not found:
            names = ", ".join(dict.fromkeys(bound.name for bound in self._bound))
            raise OncelogError(f"the broker has no listener {listener!r}: it has {names}")
        return ",".join(found)

    @property
    def address(self) -> Address:
        """The address of the first listener."""
        return self.addresses[self._bound[0].name]

    @property
    def addresses(self) -> Mapping[str, Address]:
        """The addresses of the first node's listeners, by name."""
        if not self._addresses:
            raise OncelogError(NOT_RUNNING)
        return self._addresses

    @property
    def metrics_address(self) -> Address:
        """The address at which metrics and health are served."""
        if self._server is None or self._server.metrics_address is None:
            raise OncelogError("the broker serves no metrics: start it with metrics='127.0.0.1:0'")
        return self._server.metrics_address

    @property
    def data(self) -> Path | None:
        """The data folder; None if all data are in memory."""
        return self._data

    def start(self) -> Self:
        """Start the broker; returns once clients can connect."""
        if self._thread is not None and self._thread.is_here and not self._thread.is_ending:
            raise OncelogError("the broker is running already")
        self.stop()  # an earlier stop may still run
        thread = self._thread = LoopThread(new_event_loop(), "oncelog-broker", "the broker", NOT_RUNNING)
        thread.at_death.append(self._die)
        try:
            self._server = thread.run(self._open(), is_long=True)
            self._addresses = {listener.name: listener.address for listener in reversed(self._bound)}
            thread.run(self._started(self._server))
        except BaseException:
            self.stop()
            raise
        return self

    async def _open(self) -> Server:
        from oncelog.broker.server.opening import open_server  # imported here, because the import takes 25 ms

        self._opening, self._opened = asyncio.current_task(), None
        self._opened, self._bound = await open_server(
            self._listeners,
            self._data,
            self._settings,
            self._first_users,
            self._node_count,
            self._metrics,
            self._disk(),
        )
        return self._opened

    async def _close(self) -> None:
        if self._opening is not None:
            await asyncio.wait([self._opening])
        if self._opened is not None:
            await self._opened.stop()

    async def _die(self) -> None:
        """Called when the thread ends, whatever its last callback has left incomplete: end the broker as in a crash."""
        if self._opened is not None:
            await self._opened.break_off()

    def _disk(self) -> Callable[[Disk], Disk] | None:
        """A function that wraps the disk for the broker, or None for the disk itself."""
        return None

    async def _started(self, server: Server) -> None:
        """Called on the broker's thread after each start."""

    @property
    def is_running(self) -> bool:
        """Whether the broker was started and has not been stopped since."""
        return self._server is not None

    def stop(self) -> None:
        """Sync and close everything; does nothing if the broker is not running.

        May be called on any thread except the broker's own, by a signal handler, and more than once: each call returns
        when the broker has stopped. If a caller is interrupted (by Ctrl-C, for example), the stop continues. In a
        forked child this does nothing, because the broker runs in the parent.
        """
        self._end(self._close)

    def _end(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        thread = self._thread
        if thread is None or thread.is_inherited:
            return
        if not thread.is_own:
            self._server, self._addresses = None, {}
        try:
            thread.end(last)
        finally:
            if not thread.is_here and self._thread is thread:
                self._thread = None

    def restart(self) -> None:
        """Stop the broker, and start it again with the same address and folder."""
        self._keep_address()
        self.stop()
        self.start()

    def restart_after(self, meanwhile: Callable[[], T]) -> T:
        """Stop the broker abruptly without syncing, call ``meanwhile``, and start the broker again with the same
        address and folder."""
        self._keep_address()
        if self._server is not None:
            self._end(self._server.break_off)
        result = meanwhile()
        self.start()
        return result

    def _keep_address(self) -> None:
        if not self.is_running:
            raise OncelogError(NOT_RUNNING)
        self._alone()
        self._listeners = self._bound
        if self._server is not None:
            self._metrics = self._server.metrics_address

    def _alone(self) -> None:
        if self._thread is not None and self._thread.is_inherited:
            raise OncelogError(
                "the broker runs in the process that this one was forked from, which alone can restart it; clients of "
                "this process may use its bootstrap_servers"
            )

    def pass_time(self, seconds: float) -> None:
        """Let time pass at once, only for the broker: timeouts, sessions and retention due within this time end now."""
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            raise TypeError(f"pass_time takes a number of seconds, not {seconds!r}")
        if not seconds > 0:
            raise OncelogError(f"pass_time takes a number of seconds above 0, not {seconds!r}")
        if seconds > TEN_YEARS_S:
            raise OncelogError(
                f"pass_time takes at most {TEN_YEARS_S} seconds, because it runs every timer: not {seconds!r}"
            )
        self.on_loop(lambda nodes: nodes.server.pass_time(int(seconds * 1000)), is_long=True)

    # --- several nodes

    @property
    def nodes(self) -> tuple[ClusterNode, ...]:
        """All nodes, including those that are stopped."""
        return tuple(ClusterNode(self, node_id) for node_id in self.on_loop(lambda nodes: nodes.cluster.node_ids))

    def node(self, node_id: int) -> ClusterNode:
        """The node with this id. The first node's id is ``node.id``, which is 1 unless set."""
        self.on_loop(lambda nodes: nodes.member(node_id))
        return ClusterNode(self, node_id)

    def leader(self, topic: str, partition: int) -> int:
        """The id of the node that leads a partition; -1 if no node does."""
        if isinstance(partition, bool) or not isinstance(partition, int):
            raise TypeError(f"partition is a number, not {partition!r}")
        return self.on_loop(lambda nodes: nodes.leader(TopicPartition(topic, partition)))

    def move_leader(self, topic: str, partition: int, to: int) -> None:
        """Make another in-sync replica the leader of a partition, with a new leader epoch."""
        self.on_loop(lambda nodes: nodes.move_leader(topic, partition, to))

    def coordinator(self, *, group: str | None = None, transactional_id: str | None = None) -> int:
        """The id of the node that coordinates a group or a transactional id; -1 if no node does."""
        return self.on_loop(
            lambda nodes: nodes.leader(nodes.coordinator_partition(group=group, transactional_id=transactional_id))
        )

    def move_coordinator(self, to: int, *, group: str | None = None, transactional_id: str | None = None) -> None:
        """Make another node coordinate a group or transactional id, and with it all that belong to the same internal
        partition."""
        self.on_loop(lambda nodes: nodes.move_coordinator(to, group=group, transactional_id=transactional_id))

    def isolate(self, node_id: int) -> None:
        """Cut a node off from clients and from the other nodes, until :meth:`ClusterNode.heal`."""
        self.node(node_id).isolate()

    def shrink_isr(self, topic: str, partition: int, node_id: int) -> None:
        """Remove a follower from a partition's in-sync replicas and stop it from copying."""
        self.on_loop(lambda nodes: nodes.set_in_sync(topic, partition, node_id, in_sync=False))

    def grow_isr(self, topic: str, partition: int, node_id: int) -> None:
        """Let a replica copy the missing records and rejoin the in-sync replicas."""
        self.on_loop(lambda nodes: nodes.set_in_sync(topic, partition, node_id, in_sync=True))

    def on_loop(self, action: Callable[[Nodes], T], *, is_long: bool = False) -> T:
        """Run an action on the broker's own thread, the only one that may access its state.

        :param is_long: the action may take longer than a broker's callbacks should.
        """

        async def act(nodes: Nodes) -> T:
            return action(nodes)

        return self.run_nodes(act, is_long=is_long)

    def run_nodes(self, work: Callable[[Nodes], Coroutine[Any, Any, T]], *, is_long: bool = False) -> T:
        """Like :meth:`on_loop`, for work that takes more than one iteration."""
        server, thread = self._server, self._thread
        if server is None or thread is None:
            raise OncelogError(NOT_RUNNING)
        from oncelog.broker.server.nodes import Nodes

        return thread.run(work(Nodes(server)), is_long=is_long)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


def _path(data: str | Path) -> Path:
    from pathlib import Path  # imported here, because the import takes 3 ms and a broker in memory does not need it

    if not isinstance(data, str | os.PathLike):
        raise ConfigError(f"data={data!r}: the name of a folder is needed, or None to keep everything in memory")
    return Path(data)


def settings_text(value: object) -> str:
    """The text of a setting's value in a properties file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(str(item) for item in value)
    return str(value)
