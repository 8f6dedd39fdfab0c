"""``oncelog transactions``: lists transactions, shows which of them hold readers back and the history of an id, and
ends transactions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import click

from oncelog.cli.shared.completers import complete_topics, complete_transactional_ids
from oncelog.cli.shared.held_back import long_open, open_since
from oncelog.cli.shared.options import ConnectionOptions, Seconds, cluster_options, led, partition_numbers, text
from oncelog.cli.shared.output import remark, show_json, show_rows
from oncelog.cli.shared.parameters import CommandGroup
from oncelog.errors import ConfigError, Error, KafkaError, OncelogError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time
from oncelog.runtime.shown import show_text, show_time
from oncelog.types import TRANSACTION_STATE_TOPIC, TopicPartition, java_hash_partition

if TYPE_CHECKING:
    from oncelog.client import aio
    from oncelog.client.blocking import Admin
    from oncelog.client.core.admin.admin_types import ProducerState, TransactionDescription
    from oncelog.records.batch import Record

Row = dict[str, object]


@click.group("transactions", cls=CommandGroup)
def command() -> None:
    """Transactions: list, describe, history, producers of a partition; end hanging, open and prepared ones.

    \b
    Example:
      oncelog transactions list --state Ongoing
    """


@command.command("list")
@click.option(
    "--state",
    "states",
    multiple=True,
    metavar="NAME",
    help="Only transactions in this state, such as Ongoing; may be repeated.",
)
@click.option(
    "--longer-than",
    type=Seconds(),
    metavar="SECONDS",
    help="Only transactions that have been open for this long.",
)
@click.option("--two-phase", is_flag=True, help="Only open transactions of two-phase commit, which have no timeout.")
@cluster_options
def list_transactions(
    cluster: ConnectionOptions, states: tuple[str, ...], longer_than: float | None, two_phase: bool
) -> None:
    """All transactional ids, with producer and state.

    \b
    Example:
      oncelog transactions list --state Ongoing --longer-than 60
    """
    chosen = [_state(name) for name in states]
    with cluster.admin() as admin:
        found = admin.list_transactions(
            states=chosen, running_longer_than_ms=-1 if longer_than is None else int(longer_than * 1000)
        )
        waiting = _in_two_phases(admin, [item.transactional_id for item in found if item.state == "Ongoing"])
    rows: list[Row] = [
        {
            "transactional_id": item.transactional_id,
            "producer_id": item.producer_id,
            "state": item.state,
            "two_phase_commit": item.transactional_id in waiting if item.state == "Ongoing" else None,
        }
        for item in found
        if not two_phase or item.transactional_id in waiting
    ]
    fields = ["transactional_id", "producer_id", "state", "two_phase_commit"]
    show_rows(cluster.as_json, rows, fields, "no transactions")


def _in_two_phases(admin: Admin, transactional_ids: list[str]) -> set[str]:
    """Those of the ids whose open transaction is in two-phase commit, where a database decides the outcome."""
    found = set()
    for name in transactional_ids:
        try:
            (described,) = admin.describe_transactions([name])
        except KafkaError as error:
            if error.error is not Error.TRANSACTIONAL_ID_NOT_FOUND:  # it expired since
                raise
            continue
        if described.two_phase_commit and described.state == "Ongoing":
            found.add(name)
    return found


def _state(text: str) -> str:
    """The name of a transaction's state as brokers spell it, from a text in upper or lower case."""
    from oncelog.broker.coordinator.transaction.states import TransactionState

    labels = {state.label.lower(): state.label for state in TransactionState}
    if text.lower() not in labels:
        raise ConfigError(f"--state takes {', '.join(labels.values())}, not {text!r}")
    return labels[text.lower()]


@command.command("describe")
@click.argument("transactional_ids", nargs=-1, required=True, type=text, shell_complete=complete_transactional_ids)
@cluster_options
def describe(cluster: ConnectionOptions, transactional_ids: tuple[str, ...]) -> None:
    """State, producer, partitions, and for how long a transaction has been open.

    \b
    Example:
      oncelog transactions describe load-1
    """
    with cluster.admin() as admin:
        found = admin.describe_transactions(transactional_ids)
    now_ms = real_time.time_ms()
    rows: list[Row] = [
        {
            "transactional_id": item.transactional_id,
            "coordinator": item.coordinator,
            "producer_id": item.producer_id,
            "producer_epoch": item.producer_epoch,
            "state": item.state,
            "timeout_ms": item.timeout_ms,
            "two_phase_commit": item.two_phase_commit,
            "start": show_time(item.start_time_ms),
            "open_for_ms": max(0, now_ms - item.start_time_ms)
            if item.state == "Ongoing" and item.start_time_ms >= 0
            else None,
            "partitions": [str(name) for name in item.partitions],
        }
        for item in found
    ]
    if cluster.as_json:
        show_json(rows)
        return
    for row in rows:
        names = row.pop("partitions")
        for heading, value in row.items():
            click.echo(f"{heading}: {'-' if value is None else value}")
        click.echo(f"partitions: {' '.join(names) if isinstance(names, list) and names else '-'}")


@command.command("describe-producers")
@click.option(
    "--topic",
    "-t",
    "topics",
    multiple=True,
    required=True,
    metavar="TOPIC[:0,1]",
    type=text,
    shell_complete=complete_topics,
    help="May be repeated.",
)
@cluster_options
def describe_producers(cluster: ConnectionOptions, topics: tuple[str, ...]) -> None:
    """The producers that partitions remember; those with an open transaction hold readers back.

    \b
    Example:
      oncelog transactions describe-producers --topic orders:0
    """
    with cluster.admin() as admin:
        found = admin.describe_producers(_partitions(admin, topics))
    rows = [_producer_row(name, state) for name in sorted(found) for state in found[name]]
    show_rows(cluster.as_json, rows, _PRODUCER_FIELDS, "no producers")


@command.command("find-hanging")
@click.option(
    "--topic",
    "-t",
    "topics",
    multiple=True,
    metavar="TOPIC[:0,1]",
    type=text,
    shell_complete=complete_topics,
    help="Default: every topic.",
)
@cluster_options
def find_hanging(cluster: ConnectionOptions, topics: tuple[str, ...]) -> None:
    """List transactions that are open in a partition but that no coordinator knows. They hold readers back forever.

    If none hangs, it names the transactions that have been open for more than five seconds: these end with their
    producer or by their timeout, and hold readers back until then.

    \b
    Example:
      oncelog transactions find-hanging --topic orders
    """
    with cluster.admin() as admin:
        names, missing = led(admin, _partitions(admin, topics or tuple(admin.list_topics(internal=True))))
        found = admin.find_hanging_transactions(names)
        others = [] if found else [one for one in long_open(admin) if not topics or set(one.partitions) & set(names)]
    rows = [_producer_row(name, state) for name, state in found]
    show_rows(cluster.as_json, rows, _PRODUCER_FIELDS, "no transaction hangs")
    for one in others:
        remark(f"{open_since(one)}; see oncelog transactions describe {show_text(one.transactional_id)}")
    if missing:
        raise OncelogError(missing)


@command.command("abort")
@click.option("--topic", "-t", required=True, type=text, help="Topic of the hanging transaction.")
@click.option("--partition", required=True, type=click.IntRange(min=0), help="Its partition.")
@click.option(
    "--start-offset", required=True, type=click.IntRange(min=0), help="The transaction's first offset in the partition."
)
@click.option("--force", is_flag=True, help="Abort even if a coordinator still knows the transaction.")
@cluster_options
def abort(cluster: ConnectionOptions, topic: str, partition: int, start_offset: int, force: bool) -> None:
    """End a hanging transaction in one partition, as find-hanging names it.

    A transaction that its coordinator knows is refused, because it ends with its producer or after its timeout.

    \b
    Example:
      oncelog transactions abort --topic orders --partition 0 --start-offset 17
    """
    name = TopicPartition(topic, partition)
    with cluster.admin() as admin:
        if not force:
            open_here = [
                s for s in admin.describe_producers([name])[name] if s.transaction_start_offset == start_offset
            ]
            hanging = _hanging(admin, name)
            if any(state not in hanging for state in open_here):
                raise OncelogError(
                    f"the transaction in {name} at offset {start_offset} does not hang: its coordinator knows it; "
                    "stop its producer with oncelog transactions fence, or give --force"
                )
        admin.abort_transaction(name, start_offset=start_offset)
    if cluster.as_json:
        show_json({"aborted": {"topic": topic, "partition": partition, "start_offset": start_offset}})
    else:
        click.echo(f"aborted the transaction in {name} from offset {start_offset} on")


def _hanging(admin: Admin, name: TopicPartition) -> list[ProducerState]:
    try:
        return [state for _, state in admin.find_hanging_transactions([name])]
    except KafkaError as error:
        if error.error is not Error.UNSUPPORTED_VERSION:
            raise
        raise OncelogError(
            f"it is unknown whether the transaction in {name} hangs ({error}): if it has been open for longer than the "
            "brokers' transaction.max.timeout.ms, it does, so give --force"
        ) from error


@command.command("fence")
@click.argument("transactional_ids", nargs=-1, required=True, type=text, shell_complete=complete_transactional_ids)
@click.option("--force", is_flag=True, help="Abort even a prepared transaction, whatever its database has decided.")
@cluster_options
def fence(cluster: ConnectionOptions, transactional_ids: tuple[str, ...], force: bool) -> None:
    """Fence the producers of these ids, and abort their open transactions.

    An open transaction of two-phase commit is refused, because its database may have committed its part. Apache Kafka
    before 3.0 cannot describe transactions: on such a cluster an unused id is not refused, but created.

    \b
    Example:
      oncelog transactions fence load-1
    """
    with cluster.admin() as admin:
        for item in _described(admin, transactional_ids):  # checked first, because fencing an unused id would create it
            if item.two_phase_commit and item.state == "Ongoing" and not force:
                raise OncelogError(
                    f"the transaction of {item.transactional_id!r} may be prepared, and its database may have "
                    "committed; end it with oncelog transactions complete and the database's token, or give --force "
                    "to abort it"
                )
        found = admin.fence_producers(transactional_ids)
    rows: list[Row] = [
        {"transactional_id": name, "producer_id": number, "producer_epoch": epoch}
        for name, (number, epoch) in found.items()
    ]
    show_rows(cluster.as_json, rows, ["transactional_id", "producer_id", "producer_epoch"], "")


def _described(admin: Admin, transactional_ids: tuple[str, ...]) -> list[TransactionDescription]:
    """The descriptions of the transactions; empty if coordinators cannot describe them, as in brokers that do not have
    two-phase commit either."""
    try:
        return admin.describe_transactions(transactional_ids)
    except KafkaError as error:
        if error.error is not Error.UNSUPPORTED_VERSION:
            raise
        return []


@command.command("complete")
@click.argument("transactional_id", type=text, shell_complete=complete_transactional_ids)
@click.option(
    "--token", required=True, help="The token of prepare() that the database has stored; '' if there is none."
)
@cluster_options
def complete(cluster: ConnectionOptions, transactional_id: str, token: str) -> None:
    """End a prepared transaction as its database decided: commit it if the token belongs to it, otherwise abort it.

    Use it if the program will not start again; otherwise it ends its prepared transaction when it starts. The producer
    is fenced.

    \b
    Example:
      oncelog transactions complete orders-1 --token 42:7
    """
    from oncelog.client.blocking import Producer
    from oncelog.client.core.config import ProducerConfig
    from oncelog.client.core.transactions.two_phase import producer_of

    try:
        producer_of(token)  # raises ValueError for an invalid token before the producer is fenced
    except ValueError as error:
        raise ConfigError(f"--token: {error}") from None
    config = cluster.settings(
        ProducerConfig, transactional_id=transactional_id, transaction_two_phase_commit_enable="true"
    )
    with cluster.admin() as admin:
        # raises if the id is unused, which the producer below would otherwise create
        admin.describe_transactions([transactional_id])
    with Producer(config=config) as producer:
        prepared = producer.prepared
        producer.complete(token)
    outcome = "nothing was prepared" if prepared is None else "committed" if prepared == token else "aborted"
    if cluster.as_json:
        show_json({"transactional_id": transactional_id, "prepared": prepared, "outcome": outcome})
    else:
        click.echo(f"{transactional_id}: {outcome}")


_PRODUCER_FIELDS = [
    "topic",
    "partition",
    "producer_id",
    "producer_epoch",
    "last_sequence",
    "last_timestamp",
    "coordinator_epoch",
    "open_from_offset",
]


def _producer_row(name: TopicPartition, state: ProducerState) -> Row:
    start = state.transaction_start_offset
    return {
        "topic": name.topic,
        "partition": name.partition,
        "producer_id": state.producer_id,
        "producer_epoch": state.producer_epoch,
        "last_sequence": state.last_sequence,
        "last_timestamp": show_time(state.last_timestamp),
        "coordinator_epoch": state.coordinator_epoch,
        "open_from_offset": start if start >= 0 else None,
    }


def _partitions(admin: Admin, topics: tuple[str, ...]) -> list[TopicPartition]:
    names: list[TopicPartition] = []
    for topic, numbers in partition_numbers(topics).items():
        there = admin.partitions(topic)
        names += there if numbers is None else [TopicPartition(topic, number) for number in numbers]
    return names


# --- history


@command.command("history")
@click.argument("transactional_ids", nargs=-1, type=text, shell_complete=complete_transactional_ids)
@cluster_options
def history(cluster: ConnectionOptions, transactional_ids: tuple[str, ...]) -> None:
    """Every change of state that __transaction_state still holds, oldest first; compaction removes old ones.

    \b
    Example:
      oncelog transactions history load-1
    """
    from oncelog.client import aio

    admin = aio.Admin(config=cluster.admin_settings())
    rows = asyncio.run(_history(admin, transactional_ids))
    rows.sort(key=lambda row: (str(row["timestamp"]), row["partition"], row["offset"]))
    unknown = [name for name in transactional_ids if not any(row["transactional_id"] == name for row in rows)]
    if unknown:
        raise OncelogError(f"no history of {', '.join(map(repr, unknown))}; see oncelog transactions list")
    if cluster.as_json:
        show_json(rows)
        return
    for row in rows:
        fields = [f"{name}={row[name]}" for name in _HISTORY_FIELDS if name in row]
        partitions = row.get("partitions")
        if isinstance(partitions, list) and partitions:
            fields.append(f"partitions={','.join(partitions)}")
        click.echo("  ".join([str(row["timestamp"]), *map(show_text, fields)]))
    if not rows:
        remark("no history")


_HISTORY_FIELDS = ("transactional_id", "state", "producer_id", "producer_epoch", "timeout_ms")


async def _history(admin: aio.Admin, transactional_ids: tuple[str, ...]) -> list[Row]:
    async with admin:
        if TRANSACTION_STATE_TOPIC not in await admin.list_topics(internal=True):
            return []
        names = await admin.partitions(TRANSACTION_STATE_TOPIC)
        if transactional_ids:
            names = sorted({names[java_hash_partition(name, len(names))] for name in transactional_ids})
        return [
            row
            async for row in _transitions(admin, names)
            if not transactional_ids or row["transactional_id"] in transactional_ids
        ]


async def _transitions(admin: aio.Admin, names: list[TopicPartition]) -> AsyncIterator[Row]:
    from oncelog.client.aio.admin.log_reader import stored_batches

    first = await admin.list_offsets(dict.fromkeys(names, -2))
    end = await admin.list_offsets(dict.fromkeys(names, -1))
    for name in names:
        async for batch in stored_batches(admin, name, first[name].offset, end[name].offset):
            for record in batch.records:
                row = _row(record)
                if row is not None:
                    yield {**row, "partition": name.partition, "offset": record.offset}


def _row(record: Record) -> Row | None:
    """A row for a record of ``__transaction_state``; None for an unknown kind of record. The state ``Dead`` stands for
    a tombstone."""
    from oncelog.broker.coordinator.shown_records import transition

    found = transition(record)
    if found is None:
        return None
    transactional_id, txn = found
    row: Row = {"timestamp": show_time(record.timestamp), "transactional_id": transactional_id}
    if txn is None:
        return {**row, "state": "Dead"}
    return {
        **row,
        "state": txn.state.label,
        "producer_id": txn.producer_id,
        "producer_epoch": txn.producer_epoch,
        "timeout_ms": txn.timeout_ms,
        "partitions": [str(name) for name in sorted(txn.partitions)],
    }
