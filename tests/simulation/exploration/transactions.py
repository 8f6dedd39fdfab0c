"""The transaction protocol as a model for the explorer: the shipped rules, with everything around them simplified.

Shipped: what the coordinator decides (``transaction.rules``), what it can read again after its death
(``transaction.records``), and what a partition admits and remembers (``ProducerStateManager`` with its rules).
Model: two producers with one transactional id, the second one the successor of the first; two partitions; the
coordinator's sending of markers; the network. A request is answered at once, or its answer is lost and the producer
repeats it, or a copy of it stays in the network and arrives at any later time. An append that the coordinator has
verified waits in the partition's leader for any time.

A record is known by its producer, the number of its transaction there, and its partition, which no rule sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeVar

from oncelog.broker.coordinator.transaction import records
from oncelog.broker.coordinator.transaction.events import (
    AddPartitions,
    EndTxn,
    EndTxnAndBump,
    Event,
    InitProducerId,
    MarkersWritten,
    Timeout,
    VerifyPartitions,
)
from oncelog.broker.coordinator.transaction.rule_parts import Decision
from oncelog.broker.coordinator.transaction.rules import decide
from oncelog.broker.coordinator.transaction.states import LAST_CLIENT_EPOCH, PREPARED, TransactionState, Txn
from oncelog.broker.log.producers.producer_entry import BatchMetadata
from oncelog.broker.log.producers.producer_rules import Refusal
from oncelog.broker.log.producers.producer_state import ProducerStateManager
from oncelog.broker.log.producers.verification_state import VerificationEntry, VerificationGuard
from oncelog.errors import Error
from oncelog.records.batch import TRANSACTIONAL_BIT, BatchHeader
from oncelog.types import NO_PRODUCER, ProducerIdAndEpoch, TopicPartition
from tests.simulation.exploration.explorer import Step

T = TypeVar("T")
ID: Final = "t"
TIMEOUT_MS: Final = 1
PLACES: Final = (TopicPartition("x", 0), TopicPartition("x", 1))
BOTH: Final = (0, 1)
ONGOING: Final = TransactionState.ONGOING
RETRIED: Final = frozenset({Error.CONCURRENT_TRANSACTIONS, Error.NOT_ENOUGH_REPLICAS})
"""Answers after which a producer asks again: nothing has happened."""

UNASKED = "a transaction is committed whose producer has not asked for it"
TORN = "one transaction has two outcomes"
LOST = "a record is lost whose transaction was acknowledged as committed"
VISIBLE = "a record is visible whose transaction was acknowledged as aborted"
DOUBLED = "a record is in the log twice"
MISSING = "an acknowledged record is not in the log"
FENCED_WRITES = "a fenced producer writes"
HANGING = "a partition holds an open transaction that no coordinator knows"
REFUSED = "a producer that nobody has fenced is refused"
TWICE_BUMPED = "one end of a transaction uses up two epochs"


class Request(NamedTuple):
    """A request of a producer; ``sequence`` and ``partition`` are -1 if they do not apply."""

    kind: Literal["init", "add", "produce", "end"]
    producer: int
    number: int
    identity: ProducerIdAndEpoch
    partition: int = -1
    sequence: int = -1
    commit: bool = False

    def __str__(self) -> str:
        what = {
            "init": "InitProducerId",
            "add": f"AddPartitionsToTxn of partition {self.partition}",
            "produce": f"Produce to partition {self.partition}",
            "end": f"EndTxn ({'commit' if self.commit else 'abort'})",
        }[self.kind]
        return f"{what} of transaction {self.number + 1} of {'AB'[self.producer]}, {_short(self.identity)}"


class Data(NamedTuple):
    identity: ProducerIdAndEpoch
    sequence: int
    producer: int
    number: int


class Marker(NamedTuple):
    identity: ProducerIdAndEpoch
    coordinator_epoch: int
    commit: bool

    def __str__(self) -> str:
        return f"{'commit' if self.commit else 'abort'} marker, {_short(self.identity)}"


class Verified(NamedTuple):
    """A ``VerificationEntry``; its guard as a number."""

    producer_id: int
    epoch: int
    lowest_sequence: int
    supports_epoch_bump: bool
    guard: int


class Append(NamedTuple):
    """An append that is verified and waits in the leader; ``awaited``: its producer still waits for the answer."""

    request: Request
    guard: int
    awaited: bool


class LateMarker(NamedTuple):
    partition: int
    marker: Marker
    transaction_version: int


class Producer(NamedTuple):
    """``written`` and ``added`` are of the current transaction; ``acknowledged`` and ``asked`` have one entry for each.

    ``answered``: the ends that were acknowledged. ``gave_up``: a Produce had no answer, so only an abort may follow.
    """

    identity: ProducerIdAndEpoch = NO_PRODUCER
    alive: bool = True
    begun: bool = False
    number: int = 0
    request: Request | None = None
    waits: bool = False
    added: tuple[bool, bool] = (False, False)
    acknowledged: tuple[tuple[bool, bool], ...] = ()
    sequences: tuple[int, int] = (0, 0)
    asked: tuple[bool, ...] = ()
    answered: int = 0
    gave_up: bool = False


Log = tuple[Data | Marker, ...]


class World(NamedTuple):
    """``stopped``: a marker was refused, so this coordinator sends no more. ``lost``, ``late``, ``deaths``: so many may
    still happen. ``fenced``: a timeout or a late InitProducerId has bumped the epoch."""

    txn: Txn | None
    coordinator_epoch: int
    unmarked: tuple[bool, bool]
    stopped: bool
    logs: tuple[Log, Log]
    verified: tuple[tuple[Verified, ...], tuple[Verified, ...]]
    appends: tuple[Append, ...]
    network: tuple[Request, ...]
    late_markers: tuple[LateMarker, ...]
    producers: tuple[Producer, Producer]
    lost: int
    late: int
    deaths: int
    fenced: bool
    next_producer_id: int


def _short(identity: ProducerIdAndEpoch) -> str:
    return f"epoch {identity.producer_epoch} of id {identity.producer_id}" if identity != NO_PRODUCER else "new"


def _put(pair: tuple[bool, bool], index: int, value: bool) -> tuple[bool, bool]:
    return (value, pair[1]) if index == 0 else (pair[0], value)


EVERYTHING: Final = frozenset({"init", "add", "produce", "end", "marker"})


@dataclass(frozen=True)
class Bounds:
    """How much happens.

    :param transactions: of each producer, at most.
    :param lost: answers that are lost.
    :param late: copies of requests and markers that arrive late.
    :param deaths: of the coordinator.
    :param first_epoch: of the first producer.
    :param late_kinds: what may be late. Transaction version 1 survives neither an EndTxn nor a marker that arrives in
        the next transaction of the same epoch.
    :param alone: the second producer never comes.
    :param quits: a producer may be gone at any time.
    """

    version: Literal[1, 2] = 2
    transactions: int = 1
    lost: int = 1
    late: int = 1
    deaths: int = 1
    first_epoch: int = 0
    verify: bool = True
    late_kinds: frozenset[str] = EVERYTHING
    alone: bool = False
    quits: bool = False


NEAR_THE_END: Final = LAST_CLIENT_EPOCH - 1


class Transactions:
    """The model for the explorer."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._bumps = bounds.version == 2
        self._states: dict[Log, tuple[ProducerStateManager, dict[int, bool], str]] = {}
        self._guards = [VerificationGuard() for _ in range(16)]

    # --- Model

    def first(self) -> World:
        bounds = self._bounds
        txn = None
        if bounds.first_epoch:
            txn = Txn(ID, 0, bounds.first_epoch - 1, TIMEOUT_MS, previous_producer_id=0, last_update_ms=0)
        return World(
            txn, 0, (False, False), False, ((), ()), ((), ()), (), (), (), (Producer(), Producer()),
            bounds.lost, bounds.late, bounds.deaths, False, 1,
        )  # fmt: skip

    def steps(self, world: World) -> Iterator[Step[World]]:
        for index in (0,) if self._bounds.alone else BOTH:
            yield from self._producer(world, index)
        for request in world.network:
            rest = _without(world.network, request)
            fenced = world.fenced or request.kind == "init"
            for _, after, broken in self._serve(world._replace(network=rest, fenced=fenced), request, False):
                yield Step(f"arrives late: {request}", after, broken)
        for append in world.appends:
            yield from self._append_verified(world, append)
        for late in world.late_markers:
            error, after = self._mark(world._replace(late_markers=_without(world.late_markers, late)), late)
            if error is Error.NONE:
                yield Step(f"arrives late: {late.marker} in partition {late.partition}", after)
        yield from self._coordinator(world)

    def ended(self, world: World) -> bool:
        if world.txn is not None and (world.txn.state is ONGOING or world.txn.state in PREPARED):
            return False
        return all(self._state(log)[0].first_undecided_offset is None for log in world.logs)

    def mirrored(self, world: World) -> World:
        """With the partitions exchanged."""

        def request(one: Request) -> Request:
            return one if one.partition < 0 else one._replace(partition=1 - one.partition)

        def producer(one: Producer) -> Producer:
            return one._replace(
                request=None if one.request is None else request(one.request),
                added=one.added[::-1],
                acknowledged=tuple(pair[::-1] for pair in one.acknowledged),
                sequences=one.sequences[::-1],
            )

        txn = world.txn
        if txn is not None and len(txn.partitions) == 1:
            txn = txn._replace(partitions=frozenset({PLACES[PLACES[0] in txn.partitions]}))
        a, b = world.producers
        return world._replace(
            txn=txn,
            unmarked=world.unmarked[::-1],
            logs=world.logs[::-1],
            verified=world.verified[::-1],
            appends=tuple(sorted(one._replace(request=request(one.request)) for one in world.appends)),
            network=tuple(sorted(request(one) for one in world.network)),
            late_markers=tuple(sorted(one._replace(partition=1 - one.partition) for one in world.late_markers)),
            producers=(producer(a), producer(b)),
        )

    def broken(self, world: World) -> str:
        outcomes: dict[tuple[int, int], set[bool]] = {}
        for partition, log in enumerate(world.logs):
            manager, decided, doubled = self._state(log)
            if doubled:
                return doubled
            if hanging := self._hanging(world, partition, manager):
                return hanging
            for offset, commit in decided.items():
                record = log[offset]
                if isinstance(record, Data):
                    outcomes.setdefault((record.producer, record.number), set()).add(commit)
        return _wrong_outcome(world, outcomes) or _missing(world)

    def _hanging(self, world: World, partition: int, manager: ProducerStateManager) -> str:
        txn = world.txn
        for producer_id, entry in manager.entries.items():
            if entry.current_txn_first_offset < 0:
                continue
            if txn is None or txn.producer_id != producer_id or PLACES[partition] not in txn.partitions:
                return HANGING
            if txn.state in PREPARED and not world.unmarked[partition]:
                return HANGING
        return ""

    # --- partitions

    def _state(self, log: Log) -> tuple[ProducerStateManager, dict[int, bool], str]:
        """The partition's state after its log; for each decided record, by offset, whether it is committed; breach."""
        known = self._states.get(log)
        if known is not None:
            return known
        manager = ProducerStateManager(PLACES[0], verify_transactions=self._bounds.verify)
        decided: dict[int, bool] = {}
        for offset, entry in enumerate(log):
            if isinstance(entry, Data):
                manager.apply_data(_header(entry.identity, entry.sequence), offset)
                continue
            done = manager.apply_marker(*entry.identity, entry.coordinator_epoch, entry.commit, offset, 0)
            if done is not None:
                for at in range(done.first_offset, done.last_offset):
                    record = log[at]
                    if isinstance(record, Data) and record.identity.producer_id == done.producer_id:
                        decided[at] = not done.aborted
        names = [(entry.producer, entry.number) for entry in log if isinstance(entry, Data)]
        found = self._states[log] = manager, decided, DOUBLED if len(names) != len(set(names)) else ""
        return found

    def _leader(self, world: World, partition: int) -> ProducerStateManager:
        manager = self._state(world.logs[partition])[0]
        entries: dict[int, VerificationEntry] = {}
        for one in world.verified[partition]:
            entry = VerificationEntry(0, one.epoch, one.lowest_sequence, one.supports_epoch_bump)
            entry.guard = self._guards[one.guard]
            entries[one.producer_id] = entry
        manager._verifications = entries
        return manager

    def _keep_verifications(self, world: World, partition: int, manager: ProducerStateManager) -> World:
        kept: list[Verified] = []
        used = {append.guard for append in world.appends if append.request.partition == partition}
        used |= {one.guard for one in world.verified[partition]}
        for producer_id, entry in sorted(manager._verifications.items()):
            if entry.guard in self._guards:
                guard = self._guards.index(entry.guard)
            else:
                guard = next(number for number in range(16) if number not in used)
                used.add(guard)
            kept.append(Verified(producer_id, entry.epoch, entry.lowest_sequence, entry.supports_epoch_bump, guard))
        return world._replace(verified=_replaced(world.verified, partition, tuple(kept)))

    def _logged(self, world: World, partition: int, entry: Data | Marker) -> World:
        """The entry is in the log; what verifications that ends is asked of a second state."""
        log = (*world.logs[partition], entry)
        world = world._replace(logs=_replaced(world.logs, partition, log))
        again = ProducerStateManager(PLACES[0])
        again._verifications = self._leader(world, partition)._verifications
        if isinstance(entry, Data):
            again.apply_data(_header(entry.identity, entry.sequence), 0)
        else:
            again.apply_marker(*entry.identity, entry.coordinator_epoch, entry.commit, 0, 0)
        return self._keep_verifications(world, partition, again)

    # --- producers

    def _producer(self, world: World, index: int) -> Iterator[Step[World]]:
        producer = world.producers[index]
        if not producer.alive or producer.waits or (index and not world.producers[0].begun):
            return
        if self._bounds.quits:
            without_it = _replaced(world.producers, index, producer._replace(alive=False, request=None))
            yield Step(f"{'AB'[index]} is gone", world._replace(producers=without_it))
        for request, asking in self._requests(producer, index):
            asked = world._replace(producers=_replaced(world.producers, index, asking))
            for answer, after, broken in self._serve(asked, request, True):
                yield Step(str(request), after, broken)
                if answer and world.lost:
                    unanswered = self._unanswered(asked, after, index)
                    yield Step(f"{request}; the answer is lost", unanswered, broken)
            if world.late and request.kind in self._bounds.late_kinds:
                network = tuple(sorted({*asked.network, request}))
                if network != asked.network:
                    yield Step(f"is under way: {request}", asked._replace(network=network, late=world.late - 1))
        if producer.request is not None and producer.request.kind == "produce":
            gone = producer._replace(request=None, gave_up=True)
            yield Step(f"{'AB'[index]} gives up", world._replace(producers=_replaced(world.producers, index, gone)))

    @staticmethod
    def _unanswered(asked: World, after: World, index: int) -> World:
        """``after`` as it is if the producer does not get the answer."""
        return after._replace(
            producers=_replaced(after.producers, index, asked.producers[index]),
            appends=tuple(
                sorted(one._replace(awaited=False) if one.request.producer == index else one for one in after.appends)
            ),
            lost=after.lost - 1,
        )

    def _requests(self, producer: Producer, index: int) -> Iterator[tuple[Request, Producer]]:
        """What the producer may ask next, and the producer that has asked."""
        if producer.request is not None:
            yield producer.request, producer
            return
        number, identity = producer.number, producer.identity
        if not producer.begun:
            request = Request("init", index, number, identity)
            yield request, producer._replace(request=request)
            return
        if number >= self._bounds.transactions:
            return
        acknowledged = producer.acknowledged[number]
        for partition in BOTH:
            if acknowledged[partition] or producer.gave_up:
                continue
            if self._bumps or producer.added[partition]:
                sequence = producer.sequences[partition]
                request = Request("produce", index, number, identity, partition, sequence)
            else:
                request = Request("add", index, number, identity, partition)
            yield request, producer._replace(request=request)
        if any(acknowledged) or producer.gave_up:
            for commit in (False,) if producer.gave_up else (True, False):
                request = Request("end", index, number, identity, commit=commit)
                yield request, producer._replace(request=request, asked=(*producer.asked, commit))

    def _answered(self, world: World, request: Request, error: Error, identity: ProducerIdAndEpoch) -> World:
        index = request.producer
        before = world.producers[index]
        after = before._replace(request=None, waits=False)
        if error is not Error.NONE:
            after = after._replace(alive=False)
        elif request.kind == "init":
            nothing = (*after.acknowledged, (False, False)) if not after.acknowledged else after.acknowledged
            after = after._replace(begun=True, identity=identity, sequences=(0, 0), acknowledged=nothing)
        elif request.kind == "add":
            after = after._replace(added=_put(after.added, request.partition, True))
        elif request.kind == "produce":
            pair = _put(after.acknowledged[-1], request.partition, True)
            sequences = after.sequences
            following = request.sequence + 1
            after = after._replace(
                acknowledged=(*after.acknowledged[:-1], pair),
                sequences=(following, sequences[1]) if request.partition == 0 else (sequences[0], following),
            )
        else:
            after = after._replace(
                answered=after.answered + 1,
                number=after.number + 1,
                added=(False, False),
                acknowledged=(*after.acknowledged, (False, False)),
                begun=self._bumps or not after.gave_up,  # KIP-360: what may still be under way is fenced
                gave_up=False,
            )
            if self._bumps:
                after = after._replace(identity=identity, sequences=(0, 0))
        return world._replace(producers=_replaced(world.producers, index, after))

    # --- requests

    def _serve(self, world: World, request: Request, awaited: bool) -> Iterator[tuple[bool, World, str]]:
        """Whether it is answered, the world after it, and the broken promise; nothing if it is to be retried."""
        match request.kind:
            case "init":
                event: Event = InitProducerId(ID, TIMEOUT_MS, request.identity, self._bounds.version)
            case "add":
                event = AddPartitions(request.identity, frozenset({PLACES[request.partition]}), 1)
            case "end":
                event = (EndTxnAndBump if self._bumps else EndTxn)(request.identity, request.commit)
            case "produce":
                yield from self._produce(world, request, awaited)
                return
        decision, after, broken = self._decide(world, event)
        if decision.error in RETRIED:
            if after is not world:
                yield False, after, broken
            return
        broken = broken or self._refused(world, request, decision.error, awaited)
        if awaited:
            after = self._answered(after, request, decision.error, decision.producer)
        yield awaited, after, broken

    def _refused(self, world: World, request: Request, error: Error, awaited: bool) -> str:
        """A producer may be refused if the other one has come, or a timeout or a late InitProducerId."""
        if not awaited or error is Error.NONE or world.fenced:
            return ""
        return "" if world.producers[1 - request.producer] != Producer() else f"{REFUSED}: {error.name}"

    def _decide(self, world: World, event: Event, now_ms: int = 0) -> tuple[Decision, World, str]:
        decision = decide(world.txn, event, now_ms)
        if decision.needs_producer_id:
            fresh = world.next_producer_id
            assert isinstance(event, InitProducerId | EndTxnAndBump | Timeout)
            world = world._replace(next_producer_id=fresh + 1)
            if isinstance(event, InitProducerId):
                event = InitProducerId(ID, TIMEOUT_MS, event.expected, event.transaction_version, fresh)
            elif isinstance(event, EndTxnAndBump):
                event = EndTxnAndBump(event.producer, event.commit, fresh)
            else:
                event = Timeout(event.transaction_version, fresh)
            decision = decide(world.txn, event, now_ms)
        value = decision.value
        if value is None:
            return decision, world, ""
        before = world.txn
        broken = ""
        if before is not None and before.producer_id == value.producer_id:
            broken = TWICE_BUMPED if value.producer_epoch > before.producer_epoch + 1 else ""
        value = value._replace(last_update_ms=0)
        return decision, _applied(world, value), broken

    def _produce(self, world: World, request: Request, awaited: bool) -> Iterator[tuple[bool, World, str]]:
        partition, identity = request.partition, request.identity
        manager = self._leader(world, partition)
        guard = manager.begin_verification(*identity, request.sequence, self._bumps, 0)
        if isinstance(guard, Error):
            yield from self._reply(world, request, guard, awaited)
            return
        world = self._keep_verifications(world, partition, manager)
        if guard is None:
            yield from self._append(world, request, None, awaited)
            return
        places = frozenset({PLACES[partition]})
        event = AddPartitions(identity, places, 2) if self._bumps else VerifyPartitions(identity, places)
        decision, world, broken = self._decide(world, event)
        if decision.error in RETRIED:
            return
        error = Error.TRANSACTION_ABORTABLE if decision.absent else decision.error
        if error is not Error.NONE:
            yield from self._reply(world, request, error, awaited)
            return
        number = next(one.guard for one in world.verified[partition] if one.producer_id == identity.producer_id)
        appends = tuple(sorted({*world.appends, Append(request, number, awaited)}))
        world = world._replace(appends=appends)
        if awaited:
            waiting = world.producers[request.producer]._replace(waits=True)
            world = world._replace(producers=_replaced(world.producers, request.producer, waiting))
        yield awaited, world, broken

    def _append_verified(self, world: World, append: Append) -> Iterator[Step[World]]:
        rest = world._replace(appends=_without(world.appends, append))
        request = append.request
        label = f"is appended: {request}"
        if append.awaited:
            producer = world.producers[request.producer]._replace(waits=False)
            rest = rest._replace(producers=_replaced(world.producers, request.producer, producer))
        for _, after, broken in self._append(rest, request, self._guards[append.guard], append.awaited):
            yield Step(label, after, broken)
            if append.awaited and world.lost:
                yield Step(f"{label}; the answer is lost", self._unanswered(rest, after, request.producer), broken)

    def _append(
        self, world: World, request: Request, guard: VerificationGuard | None, awaited: bool
    ) -> Iterator[tuple[bool, World, str]]:
        partition = request.partition
        manager = self._leader(world, partition)
        found = manager.check_client(_header(request.identity, request.sequence), guard, len(world.logs[partition]))
        if isinstance(found, Refusal):
            yield from self._reply(world, request, found.error, awaited)
            return
        broken = ""
        if not isinstance(found, BatchMetadata):
            if world.producers[1 - request.producer].identity > request.identity:
                broken = FENCED_WRITES
            entry = Data(request.identity, request.sequence, request.producer, request.number)
            world = self._logged(world, partition, entry)
        yield from self._reply(world, request, Error.NONE, awaited, broken)

    def _reply(
        self, world: World, request: Request, error: Error, awaited: bool, broken: str = ""
    ) -> Iterator[tuple[bool, World, str]]:
        broken = broken or self._refused(world, request, error, awaited)
        if awaited:
            world = self._answered(world, request, error, NO_PRODUCER)
        yield awaited, world, broken

    # --- the coordinator

    def _coordinator(self, world: World) -> Iterator[Step[World]]:
        txn = world.txn
        if txn is None:
            return
        if txn.state is ONGOING:
            _, after, broken = self._decide(world, Timeout(self._bounds.version), TIMEOUT_MS + 1)
            if after is not world:
                yield Step("the transaction times out", after._replace(fenced=True), broken)
        if world.deaths:
            loaded = records.decode_value(ID, records.encode_value(txn, 1))
            after = world._replace(coordinator_epoch=world.coordinator_epoch + 1, deaths=world.deaths - 1)
            yield Step("the coordinator dies and loads", _applied(after, loaded))
        if txn.state in PREPARED and not world.stopped:
            yield from self._complete(world, txn)

    def _complete(self, world: World, txn: Txn) -> Iterator[Step[World]]:
        for partition in BOTH:
            if world.unmarked[partition]:
                yield from self._send_marker(world, txn, partition)
        if not any(world.unmarked):
            _, after, broken = self._decide(world, MarkersWritten())
            yield Step("all markers are written", after, broken)

    def _send_marker(self, world: World, txn: Txn, partition: int) -> Iterator[Step[World]]:
        marker = Marker(txn.producer, world.coordinator_epoch, txn.state is TransactionState.PREPARE_COMMIT)
        sent = LateMarker(partition, marker, txn.client_transaction_version)
        label = f"{marker} in partition {partition}"
        error, after = self._mark(world, sent)
        if error is Error.NONE:
            yield Step(label, after._replace(unmarked=_put(world.unmarked, partition, False)))
            if world.lost:
                yield Step(f"{label}; the answer is lost", after._replace(lost=world.lost - 1))
        else:
            yield Step(f"{label} is refused: {error.name}", world._replace(stopped=True))
        if world.late and "marker" in self._bounds.late_kinds and sent not in world.late_markers:
            late = tuple(sorted((*world.late_markers, sent)))
            yield Step(f"is under way: {label}", world._replace(late_markers=late, late=world.late - 1))

    def _mark(self, world: World, sent: LateMarker) -> tuple[Error, World]:
        marker, partition = sent.marker, sent.partition
        manager = self._leader(world, partition)
        refusal = manager.check_marker(*marker.identity, marker.coordinator_epoch, sent.transaction_version)
        if refusal is not None:
            return refusal.error, world
        return Error.NONE, self._logged(world, partition, marker)


def _applied(world: World, txn: Txn) -> World:
    """The coordinator's state is ``txn``; a prepared one sends all its markers."""
    if txn.state in PREPARED:
        unmarked = (PLACES[0] in txn.partitions, PLACES[1] in txn.partitions)
        return world._replace(txn=txn, unmarked=unmarked, stopped=False)
    return world._replace(txn=txn, unmarked=(False, False), stopped=False)


def _header(identity: ProducerIdAndEpoch, sequence: int) -> BatchHeader:
    return BatchHeader(
        attributes=TRANSACTIONAL_BIT,
        producer_id=identity.producer_id,
        producer_epoch=identity.producer_epoch,
        base_sequence=sequence,
        records_count=1,
    )


def _replaced(pair: tuple[T, T], index: int, value: T) -> tuple[T, T]:
    return (value, pair[1]) if index == 0 else (pair[0], value)


def _without(all_of_them: tuple[T, ...], one: T) -> tuple[T, ...]:
    at = all_of_them.index(one)
    return all_of_them[:at] + all_of_them[at + 1 :]


def _wrong_outcome(world: World, outcomes: dict[tuple[int, int], set[bool]]) -> str:
    for (index, number), found in outcomes.items():
        if len(found) > 1:
            return TORN
        producer = world.producers[index]
        commit = True in found
        if commit and not (number < len(producer.asked) and producer.asked[number]):
            return UNASKED
        if number < producer.answered and commit != producer.asked[number]:
            return VISIBLE if commit else LOST
    return ""


def _missing(world: World) -> str:
    for index, producer in enumerate(world.producers):
        for number, pair in enumerate(producer.acknowledged):
            for partition in BOTH:
                if pair[partition] and not any(
                    isinstance(entry, Data) and (entry.producer, entry.number) == (index, number)
                    for entry in world.logs[partition]
                ):
                    return MISSING
    return ""
