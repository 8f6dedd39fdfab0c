"""Faults of this broker: those on requests, and those that need access to its internals.

Tests call them from their own threads as ``broker.faults`` of ``oncelog.Broker``, or over HTTP with ``oncelog serve
--faults``, through :class:`oncelog.broker.faults.control.FaultControl`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from oncelog.broker.faults.disk import DiskWithFaults
from oncelog.broker.faults.interceptor import COORDINATED, PHASES, FaultInterceptor
from oncelog.broker.faults.rules import Action, Fault, FaultError, Faults, api_of, is_whole, milliseconds
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.server.nodes import Nodes
    from oncelog.broker.server.server import Server
    from oncelog.runtime.ports import Disk

T = TypeVar("T")


class RunningBroker(Protocol):
    """The interface that faults need from the running broker."""

    @property
    def data(self) -> Path | None: ...

    @property
    def is_running(self) -> bool: ...

    def on_loop(self, action: Callable[[Nodes], T]) -> T:
        """Run an action on the broker's own thread."""
        ...

    def run_nodes(self, work: Callable[[Nodes], Coroutine[Any, Any, T]]) -> T:
        """Like :meth:`on_loop`, for work that takes more than one iteration."""
        ...

    def restart_after(self, meanwhile: Callable[[], T]) -> T:
        """Stop the broker as in a crash, call ``meanwhile``, start the broker again, and return the result of the
        call."""
        ...


class BrokerFaults(Faults):
    """The faults of one broker; a fault stays in force across restarts of the broker until it is removed."""

    def __init__(self, broker: RunningBroker) -> None:
        super().__init__()
        self._broker = broker
        self._inside: FaultInterceptor | None = None
        self._disk: DiskWithFaults | None = None
        self.has_disk = False
        """Whether the broker was created with ``faults=True``."""

    # --- the broker comes and goes

    def disk(self, disk: Disk) -> Disk:
        """The disk with faults that the broker has to use in place of ``disk``."""
        self._disk = DiskWithFaults(disk, self)
        return self._disk

    def enter(self, server: Server) -> None:
        """Called on the broker's thread when it has started: apply the faults to its requests and markers."""
        self._inside = FaultInterceptor(server.broker, self, server.now_ms)
        server.broker.intercept(self._inside, self._inside)

    def remove(self, fault: Fault) -> None:
        super().remove(fault)
        if fault.action is Action.HOLD_MARKER:
            self.release(fault)

    def clear(self) -> None:
        for fault in self.in_force:
            self.remove(fault)

    # --- markers and coordinators

    def hold_markers(self, *, times: int | None = None, **match: object) -> Fault:
        """Delay transactions' markers on the way to their partitions until :meth:`release`, or until the fault is
        removed.

        :param match: ``transactional_id``, ``topic``, ``partition`` of the markers.
        """
        return self._add(Action.HOLD_MARKER, None, times, _of_markers(match))

    def release(self, fault: Fault) -> int:
        """Write the markers that :meth:`hold_markers` has delayed; returns how many there were."""
        inside = self._inside
        if inside is None or not self._broker.is_running:
            return 0
        return self._broker.on_loop(lambda nodes: nodes.at_once(lambda: inside.release(fault)))

    def held(self, fault: Fault) -> int:
        """The number of markers that the fault delays now."""
        inside = self._inside
        return self._broker.on_loop(lambda nodes: inside.held(fault)) if inside is not None else 0

    def lose_marker(self, *, times: int | None = 1, **match: object) -> Fault:
        """Lose a transaction's marker on the way to its partition; the coordinator sends it again."""
        return self._add(Action.LOSE_MARKER, None, times, _of_markers(match))

    def repeat_marker(self, *, times: int | None = 1, **match: object) -> Fault:
        """Write a transaction's marker twice, as after a lost answer."""
        return self._add(Action.REPEAT_MARKER, None, times, _of_markers(match))

    def crash_coordinator(
        self,
        after: str = "prepare",
        *,
        transactional_id: str | None = None,
        group: str | None = None,
        times: int | None = 1,
    ) -> Fault:
        """Crash the coordinator of a transaction or of a share group; its successor (on another node, if there are
        several) restores the state from the log.

        :param after: when to crash: while a transaction ends, ``"prepare"`` (before any marker), ``"first-marker"``,
            ``"markers"`` (before the transaction is complete); or an API's name: its request is carried out, and the
            answer is lost. ``"ShareGroupHeartbeat"`` means the coordinator of the group's members, ``"ShareFetch"`` and
            ``"ShareAcknowledge"`` the coordinator of its deliveries.
        """
        match: dict[str, object] = {"transactional_id": transactional_id, "group": group}
        if after in PHASES:
            if group is not None:
                raise FaultError(f"{after} is a moment of a transaction: name its transactional_id, not a group")
            return self._add(Action.CRASH_COORDINATOR, None, times, match, phase=after)
        try:
            api = api_of(after)
        except FaultError:
            api = None
        if api not in COORDINATED:
            names = ", ".join(name.name.title().replace("_", "") for name in COORDINATED)
            raise FaultError(f"a coordinator crashes after {', '.join(PHASES)}, or after {names}, not after {after!r}")
        return self._add(Action.CRASH_AFTER_ANSWER, after, times, match, phase=after)

    def expire_transaction(self, transactional_id: str) -> None:
        """Let an open transaction time out now: the coordinator aborts it and fences its producer.

        :raises FaultError: the id has no open transaction.
        """
        if not self._broker.on_loop(lambda nodes: nodes.expire_transaction(transactional_id)):
            raise FaultError(f"{transactional_id!r} has no open transaction")

    def expire_member(self, group: str, member_id: str | None = None) -> list[str]:
        """End the session of a group's member now, or of all its members; returns their ids.

        :raises FaultError: the group has no such member with a session.
        """
        expired = self._broker.on_loop(lambda nodes: nodes.expire_members(group, member_id))
        if not expired:
            who = "no member" if member_id is None else f"no member {member_id!r}"
            raise FaultError(f"the group {group!r} has {who} with a session")
        return expired

    def expire_lock(self, group: str) -> int:
        """End the acquisition locks of a share group now: its records become available to other members, or are
        archived at the delivery limit. Returns how many records were locked.

        :raises FaultError: no record of the group is locked.
        """
        ended = self._broker.on_loop(lambda nodes: nodes.expire_locks(group))
        if not ended:
            raise FaultError(f"no member of a share group {group!r} has acquired a record that it has not acknowledged")
        return ended

    def forget_producer(self, topic: str, partition: int = 0, *, producer_id: int | None = None) -> list[int]:
        """Remove the state of one producer, or of all, from a partition, as ``producer.id.expiration.ms`` would;
        returns the producers' ids.

        :raises FaultError: the partition has no state of the producer, or its transaction is open.
        """
        _whole("partition", partition, 0)
        where = TopicPartition(topic, partition)
        forgotten = self._broker.on_loop(lambda nodes: nodes.forget_producers(where, producer_id))
        if not forgotten:
            raise FaultError(f"{where} knows no such producer, or its transaction is open")
        return forgotten

    # --- the disk

    def full_disk(self, *, times: int | None = None) -> Fault:
        """Let writes find no space on the disk until the fault ends: they are refused with KAFKA_STORAGE_ERROR."""
        self._needs_disk("full_disk")
        return self._add(Action.FULL_DISK, None, times, {})

    def slow_disk(self, ms: int, *, times: int | None = None) -> Fault:
        """Make each sync take ``ms`` longer."""
        milliseconds("a delay", ms)
        self._needs_disk("slow_disk", folder=True)
        return self._add(Action.SLOW_DISK, None, times, {}, delay_ms=ms)

    def failing_sync(self, *, times: int | None = 1) -> Fault:
        """Let a sync fail: the appends that it would have covered are no longer guaranteed to be durable."""
        self._needs_disk("failing_sync", folder=True)
        return self._add(Action.FAILING_SYNC, None, times, {})

    def power_loss(self) -> list[str]:
        """Stop as in a power failure, which loses unsynced bytes, and start again at the same address. Returns the
        files that lost bytes."""
        self._needs_disk("power_loss", folder=True)
        return self._broker.restart_after(self._lose_unsynced)

    def _lose_unsynced(self) -> list[str]:
        return self._disk.lose_unsynced() if self._disk is not None else []

    def _needs_disk(self, name: str, *, folder: bool = False) -> None:
        if not self.has_disk:
            raise FaultError(f"{name} needs a broker created with faults=True")
        if folder and self._broker.data is None:
            raise FaultError(f"{name} needs a broker with a data folder: a broker in memory syncs nothing")

    # --- nodes

    def kill_node(self, node_id: int) -> None:
        """Kill one of several nodes, as in a crash."""
        _whole("node_id", node_id, 0)
        self._broker.run_nodes(lambda nodes: nodes.stop(node_id, kill=True))

    def start_node(self, node_id: int) -> None:
        """Start a stopped or killed node again."""
        _whole("node_id", node_id, 0)
        self._broker.run_nodes(lambda nodes: nodes.start(node_id))

    def isolate_node(self, node_id: int) -> None:
        """Cut a node off from clients and from the other nodes; its connections stay open, but it sends no answers."""
        _whole("node_id", node_id, 0)
        self._broker.on_loop(lambda nodes: nodes.isolate(node_id))

    def heal_node(self, node_id: int) -> None:
        """Connect a node again that was cut off."""
        _whole("node_id", node_id, 0)
        self._broker.on_loop(lambda nodes: nodes.heal(node_id))

    def move_leader(self, topic: str, partition: int, to: int) -> None:
        """Make another in-sync node the leader of a partition."""
        _whole("partition", partition, 0)
        _whole("to", to, 0)
        self._broker.on_loop(lambda nodes: nodes.move_leader(topic, partition, to))

    def move_coordinator(self, to: int, *, group: str | None = None, transactional_id: str | None = None) -> None:
        """Make another node coordinate a group or a transactional id."""
        _whole("to", to, 0)
        self._broker.on_loop(lambda nodes: nodes.move_coordinator(to, group=group, transactional_id=transactional_id))

    def stop_node(self, node_id: int) -> None:
        """Stop one of several nodes cleanly: other nodes take over its partitions first."""
        _whole("node_id", node_id, 0)
        self._broker.run_nodes(lambda nodes: nodes.stop(node_id, kill=False))


def _of_markers(match: dict[str, object]) -> dict[str, object]:
    unknown = sorted(match.keys() - {"transactional_id", "topic", "partition", "skip", "probability", "seed"})
    if unknown:
        raise FaultError(f"a marker has a transactional_id, a topic and a partition, not a {unknown[0]}")
    return dict(match)


def _whole(name: str, value: object, least: int) -> None:
    if not is_whole(value, least):
        raise FaultError(f"{name} is a whole number of at least {least}, not {value!r}")
