"""Shows open transactions, what they hold back, and the history of one id; ends transactions."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from oncelog.apps.console.reading import Ends, ends_of, led
from oncelog.apps.console.timeline import TimelineStep, events
from oncelog.apps.console.web import ConsoleRequest, RefusedRequest
from oncelog.broker.coordinator.shown_records import transition
from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.admin.log_reader import Producers, stored_batches
from oncelog.client.core.admin.admin_types import ProducerState, TransactionDescription
from oncelog.client.positions import EARLIEST, LATEST
from oncelog.errors import Error, KafkaError, OncelogError
from oncelog.protocol.codec_errors import ProtocolError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time
from oncelog.types import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, TopicPartition, java_hash_partition

OPEN = ("Ongoing", "PrepareCommit", "PrepareAbort")
LISTED = 500
DESCRIBED = 100
HISTORY_OFFSETS = 200_000
"""How many of the last offsets of a partition of __transaction_state are searched for the history of a transactional
id."""
STEPS = 300


@dataclass(frozen=True, slots=True)
class BlockedReaders:
    """A partition with an open transaction, and the groups that cannot read on because of it."""

    name: TopicPartition
    ends: Ends | None
    waiting: list[str]

    @property
    def back(self) -> int:
        """The number of offsets, including markers, between the last stable offset and the log end; this transaction or
        another one holds them back."""
        return 0 if self.ends is None else max(0, self.ends.end - self.ends.stable)


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """An open transaction, and the partitions in which it holds readers back."""

    txn: TransactionDescription
    age_ms: int | None
    held: list[BlockedReaders]
    group_positions: int

    @property
    def overdue(self) -> bool:
        """Whether the transaction has been open longer than its timeout; its coordinator then aborts it within ten
        seconds."""
        return self.age_ms is not None and self.age_ms > self.txn.timeout_ms


async def listing(visit: ConsoleRequest) -> Response:
    """The page of open transactions, with what they hold back, and of all transactional ids."""
    admin = await visit.admin()
    listed = await admin.list_transactions()
    open_ids = [item.transactional_id for item in listed if item.state in OPEN]
    described = await _described(admin, open_ids[:DESCRIBED])
    wanted = visit.query("q").lower()
    matching = [item for item in listed if wanted in item.transactional_id.lower()]
    return visit.page(
        "transactions.html",
        open_ones=await _with_what_waits(visit, admin, described),
        open_count=len(open_ids),
        listed=matching[:LISTED],
        matching=len(matching),
        total=len(listed),
        q=visit.query("q"),
    )


async def _described(admin: Admin, names: list[str]) -> list[TransactionDescription]:
    """The descriptions of those transactions that are still open; transactional ids that the coordinator has removed
    meanwhile are left out."""

    async def one(name: str) -> list[TransactionDescription]:
        try:
            return await admin.describe_transactions([name])
        except KafkaError as error:
            if error.error is not Error.TRANSACTIONAL_ID_NOT_FOUND:
                raise
            return []

    answers = await asyncio.gather(*(one(name) for name in names))
    return [found for answer in answers for found in answer if found.state in OPEN]


async def _with_what_waits(
    visit: ConsoleRequest, admin: Admin, found: list[TransactionDescription]
) -> list[OpenTransaction]:
    names = sorted({name for txn in found for name in txn.partitions if name.topic != CONSUMER_OFFSETS_TOPIC})
    if not found:
        return []
    topics = await admin.describe_topics(sorted({name.topic for name in names})) if names else []
    known = set(led(topics))
    ends = await ends_of(admin, [name for name in names if name in known])
    positions = (await visit.group_positions(admin)).within(names)
    now_ms = real_time.time_ms()
    return [
        OpenTransaction(
            txn,
            max(0, now_ms - txn.start_time_ms) if txn.start_time_ms >= 0 else None,
            [
                BlockedReaders(
                    name, ends[name], [g for g, offset in positions[name].items() if _waits(offset, ends[name])]
                )
                for name in txn.partitions
                if name in ends
            ],
            sum(name.topic == CONSUMER_OFFSETS_TOPIC for name in txn.partitions),
        )
        for txn in found
    ]


def _waits(offset: int, ends: Ends) -> bool:
    """Whether a read_committed reader at this position has nothing to read because of an open transaction."""
    return ends.stable <= offset < ends.end


async def one(visit: ConsoleRequest) -> Response:
    """The page of one transactional id: its current state and its history."""
    admin, name = await visit.admin(), visit.name("transactional id", "id")
    described = (await admin.describe_transactions([name]))[0]
    waiting = await _with_what_waits(visit, admin, [described] if described.state in OPEN else [])
    try:
        steps, cut = await _history(admin, name)
        problem = ""
    except OncelogError as error:
        steps, cut, problem = [], False, str(error)
    return visit.page(
        "transaction.html",
        name=name,
        txn=described,
        open_one=waiting[0] if waiting else None,
        timeline=events(steps)[::-1][:STEPS],
        cut=cut or len(steps) > STEPS,
        problem=problem,
    )


async def _history(admin: Admin, wanted: str) -> tuple[list[TimelineStep], bool]:
    """The records of one id, oldest first, and whether there may be older ones."""
    if TRANSACTION_STATE_TOPIC not in await admin.list_topics(internal=True):
        return [], False
    names = await admin.partitions(TRANSACTION_STATE_TOPIC)
    name = names[java_hash_partition(wanted, len(names))]
    first = (await admin.list_offsets({name: EARLIEST}))[name].offset
    end = (await admin.list_offsets({name: LATEST}))[name].offset
    start = max(first, end - HISTORY_OFFSETS)
    steps: list[TimelineStep] = []
    async for batch in stored_batches(admin, name, start, end):
        for record in batch.records:
            try:
                found = None if batch.control is not None else transition(record)
            except (ProtocolError, OncelogError):
                continue  # the record has an unknown version; the records page shows it undecoded
            if found is not None and found[0] == wanted:
                steps.append(TimelineStep(record.offset, record.timestamp, found[1]))
    return steps, start > first


async def hanging(visit: ConsoleRequest) -> Response:
    """The page of hanging transactions: those that are open in a partition, although no coordinator knows them."""
    admin = await visit.admin()
    topics = await admin.describe_topics(await admin.list_topics(internal=True))
    names = led(topics)
    found = await admin.find_hanging_transactions(names)
    ends = await ends_of(admin, [name for name, _ in found])
    return visit.page(
        "hanging.html",
        found=[(name, state, ends[name]) for name, state in found],
        looked_at=len(names),
        leaderless=sum(len(topic.partitions) for topic in topics) - len(names),
    )


# --- ending a transaction


async def confirm_end(visit: ConsoleRequest) -> Response:
    """Ask for confirmation, showing the consequences."""
    admin = await visit.admin()
    if visit.query("id"):
        name = visit.query("id")
        described = await _described(admin, [name])
        if not described:
            raise RefusedRequest(f"transactional id {name!r} has no open transaction: there is nothing to end")
        return visit.page("end_transaction.html", open_one=(await _with_what_waits(visit, admin, described))[0])
    partition, state = await _hanging_at(visit, admin, visit.query("topic"), visit.query("partition"))
    ends = (await ends_of(admin, [partition]))[partition]
    return visit.page("end_hanging.html", name=partition, state=state, ends=ends)


async def end(visit: ConsoleRequest) -> Response:
    """Fence the producer of an id, which aborts its open transaction."""
    admin, name = await visit.admin(), visit.field("id")
    described = await _described(admin, [name])
    if not described or described[0].producer_epoch != _number(visit.field("epoch")):
        raise RefusedRequest(f"the transaction of {name!r} that was shown has ended: nothing was done")
    producer_id, epoch = (await admin.fence_producers([name]))[name]
    text = f"The transaction of {name} is aborted; producer id {producer_id} continues with epoch {epoch}."
    return visit.done(text, "/transaction", id=name)


async def end_hanging(visit: ConsoleRequest) -> Response:
    """Write the abort marker of a hanging transaction, which no coordinator will write."""
    admin = await visit.admin()
    name, state = await _hanging_at(visit, admin, visit.field("topic"), visit.field("partition"))
    await admin.abort_transaction(name, producer=state)
    text = f"The hanging transaction in {name} from offset {state.transaction_start_offset} on is aborted."
    return visit.done(text, "/partition", topic=name.topic, partition=name.partition)


async def _hanging_at(
    visit: ConsoleRequest, admin: Admin, topic: str, partition: str
) -> tuple[TopicPartition, ProducerState]:
    """The hanging transaction whose first offset the query or the form gives."""
    start = _number(visit.field("start") or visit.query("start"))
    name = TopicPartition(topic, _number(partition))
    for _, state in await admin.find_hanging_transactions([name]):
        if state.transaction_start_offset == start:
            return name, state
    raise RefusedRequest(
        f"no transaction hangs in {name} from offset {start} on: it has ended, or its coordinator knows it"
    )


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 19 else -1


async def producers(visit: ConsoleRequest) -> Response:
    """The page of producers known to one partition."""
    admin = await visit.admin()
    name = TopicPartition(visit.name("topic", "topic"), visit.number("partition", 0, 0, 2**31 - 1))
    states = (await admin.describe_producers([name]))[name]
    return visit.page(
        "producers.html",
        name=name,
        states=sorted(states, key=lambda state: (state.transaction_start_offset < 0, state.producer_id))[:1000],
        count=len(states),
        names=await Producers(admin).by_id(state.producer_id for state in states),
    )
