"""A group of the consumer protocol (KIP-848) as a model for the explorer: the shipped rules, with clients simplified.

Shipped: what a heartbeat means (``consumer_rules.judge``), a member's next step (``reconcile``), who may commit
(``consumer_rules.may_commit``), who owns what (``ConsumerGroup``), and the uniform assignor. Model: clients that join,
send heartbeats with what they own, give up and take what they are informed, leave, and give everything up when they are
refused; sessions that expire without their clients' knowledge; answers that are lost, after which a client reports
everything again; copies of heartbeats that arrive late. Every change of the members begins an epoch, and the target is
computed at the next heartbeat.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias

from oncelog.broker.coordinator.group.consumer.assignors import ASSIGNORS, MemberSpec
from oncelog.broker.coordinator.group.consumer.consumer_group import ConsumerGroup, ConsumerMember
from oncelog.broker.coordinator.group.consumer.consumer_rules import JOIN_EPOCH, MemberVerdict, judge, may_commit
from oncelog.broker.coordinator.group.consumer.reconcile import ReconcileInput, reconcile
from oncelog.broker.coordinator.group.states import MemberState
from oncelog.errors import Error
from tests.simulation.exploration.explorer import Step

TOPIC: Final = b"topic-of-16-byte"
COMMIT_VERSION: Final = 9

OWNED_TWICE = "two members own one partition"
BOTH_COMMIT = "two clients may commit for one partition that both believe to own"
COMMIT_REFUSED = "a member may not commit for what it owns"
MEMBER_REFUSED = "a member that nobody has removed is refused"

Partitions: TypeAlias = frozenset[int]
Epochs: TypeAlias = tuple[tuple[int, int], ...]
"""Partitions, each with the epoch in which its member got it."""
NOTHING: Final[Partitions] = frozenset()


class Member(NamedTuple):
    """A ``ConsumerMember`` that can be hashed, and its target."""

    name: str
    epoch: int
    previous_epoch: int
    state: MemberState
    assigned: Epochs
    revoking: Epochs
    target: tuple[int, ...]


class Client(NamedTuple):
    """``informed``: what it may own by the last answer. ``unsure``: an answer was lost. ``removed``: its session has
    expired, and it does not know."""

    epoch: int = JOIN_EPOCH
    owned: Partitions = NOTHING
    informed: Partitions = NOTHING
    unsure: bool = False
    removed: bool = False
    left: bool = False


class Heartbeat(NamedTuple):
    client: int
    epoch: int
    reported: Partitions
    full: bool

    def __str__(self) -> str:
        what = f"reports {sorted(self.reported)}" if self.epoch else "joins"
        return f"{_name(self.client)} at epoch {self.epoch} {what}"


class World(NamedTuple):
    """``unheard``: the coordinator has done what a client does not know of. ``lost``, ``late``, ``expiries``,
    ``leaves``: so many may still happen."""

    epoch: int
    assignment_epoch: int
    members: tuple[Member, ...]
    clients: tuple[Client, ...]
    network: tuple[Heartbeat, ...]
    unheard: bool
    lost: int
    late: int
    expiries: int
    leaves: int


@dataclass(frozen=True)
class Bounds:
    """How much happens.

    :param late_joins: of the heartbeats only those with which a client joins arrive late.
    """

    clients: int = 2
    partitions: int = 2
    lost: int = 0
    late: int = 0
    expiries: int = 0
    leaves: int = 0
    late_joins: bool = True


def _name(client: int) -> str:
    return "ABC"[client]


class Groups:
    """The model for the explorer."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds

    # --- Model

    def first(self) -> World:
        bounds = self._bounds
        clients = (Client(),) * bounds.clients
        return World(1, 1, (), clients, (), False, bounds.lost, bounds.late, bounds.expiries, bounds.leaves)

    def steps(self, world: World) -> Iterator[Step[World]]:
        for number, client in enumerate(world.clients):
            if not client.left:
                yield from self._client(world, number, client)
        for request in world.network:
            network = tuple(one for one in world.network if one != request)
            _, after = self._serve(world._replace(network=network), request)
            yield Step(f"arrives late: {request}", after._replace(unheard=True))
        if world.expiries:
            for member in world.members:
                number = "ABC".index(member.name)
                gone = self._removed(world, member.name)._replace(expiries=world.expiries - 1)
                client = world.clients[number]._replace(removed=not world.clients[number].left)
                yield Step(f"the session of {member.name} expires", _with(gone, number, client))

    def ended(self, world: World) -> bool:
        """Everything is owned, and nobody is informed anything new."""
        there = [number for number, client in enumerate(world.clients) if not client.left]
        members = {member.name: member for member in world.members}
        if world.epoch != world.assignment_epoch or sorted(members) != [_name(number) for number in there]:
            return False
        for number in there:
            client, member = world.clients[number], members[_name(number)]
            owned = frozenset(dict(member.assigned))
            if not (client.owned == client.informed == owned and client.epoch == member.epoch == world.epoch):
                return False
        owned_by_any = frozenset().union(*(world.clients[number].owned for number in there))
        return not there or len(owned_by_any) == self._bounds.partitions

    def broken(self, world: World) -> str:
        group = _group(world)
        for number, client in enumerate(world.clients):
            for partition in client.owned:
                if found := self._owned(world, group, number, client, partition):
                    return found
        return ""

    def mirrored(self, world: World) -> World:
        return world

    @staticmethod
    def _owned(world: World, group: ConsumerGroup, number: int, client: Client, partition: int) -> str:
        """A client that has not heard of its last heartbeats may own what is no longer its own, but not commit."""

        def commits(at: int) -> bool:
            check = may_commit(group, _name(at), world.clients[at].epoch, COMMIT_VERSION)
            return not isinstance(check, Error) and check(TOPIC, partition) is Error.NONE

        others = [at for at, other in enumerate(world.clients) if at != number and partition in other.owned]
        if commits(number) and any(map(commits, others)):
            return BOTH_COMMIT
        if world.unheard or client.removed:
            return ""
        if any(not world.clients[at].removed for at in others):
            return OWNED_TWICE
        return "" if commits(number) else COMMIT_REFUSED

    # --- clients

    def _client(self, world: World, number: int, client: Client) -> Iterator[Step[World]]:
        yield from self._heartbeat(world, number, client)
        if client.owned - client.informed:
            yield Step(
                f"{_name(number)} gives up {sorted(client.owned - client.informed)}",
                _with(world, number, client._replace(owned=client.owned & client.informed)),
            )
        elif client.informed - client.owned:
            yield Step(
                f"{_name(number)} takes {sorted(client.informed)}",
                _with(world, number, client._replace(owned=client.informed)),
            )
        if world.leaves and client.epoch:
            gone = self._removed(world, _name(number))._replace(leaves=world.leaves - 1)
            yield Step(f"{_name(number)} leaves", _with(gone, number, Client(left=True)))

    def _heartbeat(self, world: World, number: int, client: Client) -> Iterator[Step[World]]:
        request = Heartbeat(number, client.epoch, client.owned, client.unsure or not client.epoch)
        answer, after = self._serve(world, request)
        if isinstance(answer, Error):
            broken = "" if client.removed or world.unheard else f"{MEMBER_REFUSED}: {answer.name}"
            yield Step(f"{request}: {answer.name}", _with(after, number, Client()), broken)
        else:
            epoch, informed = answer
            heard = client._replace(
                epoch=epoch, informed=client.informed if informed is None else informed, unsure=False, removed=False
            )
            yield Step(str(request), _with(after, number, heard))
        if world.lost:
            missed = _with(after, number, client._replace(unsure=True))
            yield Step(f"{request}; the answer is lost", missed._replace(unheard=True, lost=world.lost - 1))
        if world.late and (not client.epoch or not self._bounds.late_joins) and request not in world.network:
            network = tuple(sorted((*world.network, request), key=str))
            yield Step(f"is under way: {request}", world._replace(network=network, late=world.late - 1))

    # --- the coordinator

    def _serve(self, world: World, request: Heartbeat) -> tuple[tuple[int, Partitions | None] | Error, World]:
        """The member's epoch, and what it is informed to own if it is informed."""
        group, name = _group(world), _name(request.client)
        reported = {TOPIC: request.reported}
        verdict, member = judge(group, name, None, request.epoch, reported)
        if isinstance(verdict.value, Error):
            return verdict.value, world
        if verdict is MemberVerdict.ADD or member is None:
            member = ConsumerMember(name, topics=frozenset({"topic"}))
            group.put_member(member)
            group.epoch += 1
        self._assign(group)
        target = group.target(name)
        goal = ReconcileInput(group.assignment_epoch, target, frozenset({TOPIC}), group.owner_epoch, reported)
        after = reconcile(member, goal)
        group.put_member(after)
        tells = request.full or member.assigned != after.assigned
        informed = frozenset(after.assigned.get(TOPIC, {})) if tells else None
        return (after.epoch, informed), _stored(world, group)

    def _assign(self, group: ConsumerGroup) -> None:
        if group.assignment_epoch == group.epoch:
            return
        specs = {name: MemberSpec(frozenset({TOPIC}), group.target(name)) for name in group.members}
        group.targets.update(ASSIGNORS["uniform"](specs, {TOPIC: self._bounds.partitions}))
        group.assignment_epoch = group.epoch

    @staticmethod
    def _removed(world: World, name: str) -> World:
        group = _group(world)
        if name in group.members:
            group.remove_member(name)
            group.targets.pop(name, None)
            group.epoch += 1
        return _stored(world, group)


def _with(world: World, number: int, client: Client) -> World:
    before = world.clients
    return world._replace(clients=(*before[:number], client, *before[number + 1 :]))


def _group(world: World) -> ConsumerGroup:
    group = ConsumerGroup("group", epoch=world.epoch, assignment_epoch=world.assignment_epoch)
    for one in world.members:
        member = ConsumerMember(one.name, one.epoch, one.previous_epoch, one.state, topics=frozenset({"topic"}))
        group.put_member(replace(member, assigned=_owned(one.assigned), revoking=_owned(one.revoking)))
        group.targets[one.name] = {TOPIC: frozenset(one.target)}
    return group


def _owned(epochs: Epochs) -> Mapping[bytes, Mapping[int, int]]:
    return {TOPIC: dict(epochs)} if epochs else {}


def _stored(world: World, group: ConsumerGroup) -> World:
    members = tuple(
        Member(
            name,
            member.epoch,
            member.previous_epoch,
            member.state,
            tuple(sorted(member.assigned.get(TOPIC, {}).items())),
            tuple(sorted(member.revoking.get(TOPIC, {}).items())),
            tuple(sorted(group.target(name).get(TOPIC, ()))),
        )
        for name, member in sorted(group.members.items())
    )
    return world._replace(epoch=group.epoch, assignment_epoch=group.assignment_epoch, members=members)
