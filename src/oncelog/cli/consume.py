"""``oncelog consume``: shows the records of topics."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from oncelog.cli.cluster import Cluster, cluster_options
from oncelog.cli.output import json_bytes, remark, show_bytes, show_time
from oncelog.errors import ConfigError, OncelogError
from oncelog.server.loops import on_stop_signals
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.cli.log_reader import LogReader, StoredRecord
    from oncelog.client.blocking import Consumer
    from oncelog.client.core.structs import ConsumerRecord

FateLine = Callable[[TopicPartition, "StoredRecord"], str]
FIELDS = ("topic", "partition", "offset", "timestamp", "key", "headers")
POLL_MS = 500


@dataclass(frozen=True, slots=True)
class What:
    """What to read and when to stop; ``timeout`` in seconds without a record."""

    topics: tuple[str, ...]
    partitions: tuple[int, ...]
    offset: str
    max_messages: int | None
    timeout: float | None
    to_end: bool


@click.command("consume")
@click.option("--topic", "topics", multiple=True, required=True, help="Topic to read; may be repeated.")
@click.option("--from-beginning", is_flag=True, help="From the first record, where a group has no position yet.")
@click.option(
    "--partition", "partitions", multiple=True, type=click.IntRange(min=0), help="Only this; may be repeated."
)
@click.option("--offset", metavar="N", help="Where to begin in each partition: a number, beginning or end.")
@click.option("--group", metavar="ID", help="Read as a member of this group, and commit what was shown.")
@click.option(
    "--isolation",
    type=click.Choice(["read_committed", "read_uncommitted"]),
    help="read_uncommitted shows open and aborted transactions too.  [default: read_committed]",
)
@click.option("--max-messages", type=click.IntRange(min=1), metavar="N", help="Stop after so many records.")
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Stop when nothing came for so long.")
@click.option("--to-end", is_flag=True, help="Stop at what is the end now.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="--json means the same.")
@click.option("--key-separator", metavar="TEXT", help="Show keys too, with this between key and value.")
@click.option("--show", "fields", multiple=True, type=click.Choice(FIELDS), help="Show this before the value.")
@click.option("--show-transactions", is_flag=True, help="Every stored record with its fate, and the markers.")
@cluster_options
def command(
    cluster: Cluster,
    topics: tuple[str, ...],
    from_beginning: bool,
    partitions: tuple[int, ...],
    offset: str | None,
    group: str | None,
    isolation: str | None,
    max_messages: int | None,
    timeout: float | None,
    to_end: bool,
    form: str,
    key_separator: str | None,
    fields: tuple[str, ...],
    show_transactions: bool,
) -> None:
    """Show the records of topics, until Ctrl-C or until --max-messages, --timeout or --to-end ends it.

    With --show-transactions: partition:offset, fate (committed, aborted, open, not transactional), producer, key and
    value of everything that is stored, with the markers that ended the transactions.

    \b
    Examples:
      oncelog consume --topic orders --from-beginning --max-messages 10
      oncelog consume --topic orders --group billing --json
      oncelog consume --topic orders --partition 0 --offset 100 --to-end --show offset
      oncelog consume --topic orders --show-transactions --to-end
    """
    group = group or cluster.properties.get("group.id")
    _check_options(group, partitions, offset, isolation, to_end, show_transactions)
    start = offset or ("beginning" if from_beginning or show_transactions else "end")
    what = What(topics, partitions, start, max_messages, timeout, to_end)
    as_json = cluster.as_json or form == "json"
    if show_transactions:
        from oncelog.cli.log_reader import LogReader

        reader = LogReader(config=cluster.admin_settings())
        asyncio.run(_show_fates(reader, what, _fate_line_json if as_json else _fate_line))
        return
    line = _json_line if as_json else _text_line(fields, key_separator)
    _consume(cluster, what, group, isolation, line)


def _check_options(
    group: str | None,
    partitions: tuple[int, ...],
    offset: str | None,
    isolation: str | None,
    to_end: bool,
    show_transactions: bool,
) -> None:
    if group is not None and (partitions or offset is not None or to_end):
        raise ConfigError(
            "--group leaves partitions and positions to the group: drop --partition, --offset and --to-end"
        )
    if offset is not None and offset not in ("beginning", "end") and not offset.isdecimal():
        raise ConfigError(f"--offset takes a number, beginning or end, not {offset!r}")
    if show_transactions and group is not None:
        raise ConfigError("--show-transactions reads without a group: drop --group")
    if show_transactions and isolation == "read_committed":
        raise ConfigError("--show-transactions shows what read_committed hides: drop --isolation")


class Stop:
    """Asked by Ctrl-C or SIGTERM, the end of a consumer that ran until then; a second signal interrupts at once."""

    def __init__(self) -> None:
        self.asked = False
        self._before = {number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM)}

    def _ask(self, number: int, frame: Any) -> None:
        self.asked = True
        for known, handler in self._before.items():
            signal.signal(known, handler)


# --- with a consumer


def _consume(
    cluster: Cluster,
    what: What,
    group: str | None,
    isolation: str | None,
    line: Callable[[ConsumerRecord], str],
) -> None:
    from oncelog.client.blocking import Admin, Consumer
    from oncelog.client.core.config import ConsumerConfig

    level = isolation or (None if "isolation.level" in cluster.properties else "read_committed")
    reset = {"beginning": "earliest", "end": "latest"}.get(what.offset)
    config = cluster.settings(ConsumerConfig, group_id=group, isolation_level=level, auto_offset_reset=reset)
    with Admin(config=cluster.admin_settings()) as admin:
        names = _partitions(what, {topic: len(admin.partitions(topic)) for topic in what.topics})
    shown = 0
    with Consumer(config=config) as consumer:
        ends = None
        if config.group_id is not None:
            consumer.subscribe(what.topics)
        else:
            ends = _begin(consumer, names, what)
        for record in _records(consumer, what, ends, Stop()):
            sys.stdout.write(line(record))
            shown += 1
        sys.stdout.flush()
    remark(f"{shown} records")


def _begin(consumer: Consumer, names: list[TopicPartition], what: What) -> dict[TopicPartition, int] | None:
    """Assign and position; where to stop."""
    consumer.assign(names)
    if what.offset.isdecimal():
        for name in names:
            consumer.seek(name, int(what.offset))
    elif what.offset == "beginning":
        consumer.seek_to_beginning(*names)
    else:
        consumer.seek_to_end(*names)
    return consumer.end_offsets(names) if what.to_end else None


def _records(
    consumer: Consumer, what: What, ends: Mapping[TopicPartition, int] | None, stop: Stop
) -> Iterable[ConsumerRecord]:
    """Records as they come, until one of the reasons to stop; output is flushed after each answer."""
    left = what.max_messages
    quiet_since = time.monotonic()
    while not stop.asked and (left is None or left > 0):
        if ends is not None and all(consumer.position(name) >= end for name, end in ends.items()):
            return
        wait_ms = POLL_MS if what.timeout is None else min(POLL_MS, int(what.timeout * 1000))
        found = consumer.getmany(timeout_ms=wait_ms, max_records=left)
        for name, records in found.items():
            for record in records:
                if ends is None or record.offset < ends[name]:
                    yield record
                    left = None if left is None else left - 1
        if found:
            quiet_since = time.monotonic()
        elif what.timeout is not None and time.monotonic() - quiet_since >= what.timeout:
            return
        sys.stdout.flush()


def _partitions(what: What, counts: Mapping[str, int]) -> list[TopicPartition]:
    """The partitions to read.

    :raises OncelogError: a topic does not have one of them.
    """
    for number in what.partitions:
        for topic, count in counts.items():
            if number >= count:
                raise OncelogError(f"topic {topic!r} has no partition {number}; its partitions are 0 to {count - 1}")
    return [
        TopicPartition(topic, number) for topic, count in counts.items() for number in (what.partitions or range(count))
    ]


def _json_line(record: ConsumerRecord) -> str:
    return _dumped(
        {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp,
            "timestamp_type": record.timestamp_type,
            "key": json_bytes(record.key),
            "value": json_bytes(record.value),
            "headers": [[name, json_bytes(value)] for name, value in record.headers],
        }
    )


def _dumped(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False) + "\n"


def _text_line(fields: tuple[str, ...], key_separator: str | None) -> Callable[[ConsumerRecord], str]:
    def line(record: ConsumerRecord) -> str:
        before = [_SHOWN[field](record) for field in fields]
        value = show_bytes(record.value)
        if key_separator is not None:
            value = f"{show_bytes(record.key)}{key_separator}{value}"
        return "\t".join([*before, value]) + "\n"

    return line


def _headers(headers: Iterable[tuple[str, bytes | None]]) -> str:
    return ",".join(f"{name}={show_bytes(value)}" for name, value in headers)


_SHOWN: dict[str, Callable[[Any], str]] = {
    "topic": lambda record: record.topic,
    "partition": lambda record: str(record.partition),
    "offset": lambda record: str(record.offset),
    "timestamp": lambda record: show_time(record.timestamp) or "-",
    "key": lambda record: show_bytes(record.key),
    "headers": lambda record: _headers(record.headers),
}


# --- with the fate of every record


async def _show_fates(reader: LogReader, what: What, line: FateLine) -> None:
    """Show until a reason to stop, or until a signal cancels this."""
    task = asyncio.current_task()
    if task is not None:
        on_stop_signals(asyncio.get_running_loop(), task.cancel)
    shown = 0
    try:
        async with reader:
            async for name, stored in _fates(reader, what):
                sys.stdout.write(line(name, stored))
                shown += 1
    except asyncio.CancelledError:
        pass
    sys.stdout.flush()
    remark(f"{shown} records, control records included")


async def _fates(reader: LogReader, what: What) -> AsyncIterator[tuple[TopicPartition, StoredRecord]]:
    """Stored records of the partitions in turn, until one of the reasons to stop."""
    from oncelog.cli.log_reader import FateReader

    names = _partitions(what, {topic: len(await reader.partitions(topic)) for topic in what.topics})
    first = await reader.list_offsets(dict.fromkeys(names, -2))
    found = await reader.list_offsets(dict.fromkeys(names, -1))
    end = {name: found[name].offset for name in names}
    starts = {"beginning": {name: first[name].offset for name in names}, "end": end}
    start = starts.get(what.offset) or dict.fromkeys(names, int(what.offset) if what.offset.isdecimal() else 0)
    walkers = [FateReader(reader, name, start[name]) for name in names]
    left, quiet_since = what.max_messages, time.monotonic()
    while True:
        came = False
        for walker in walkers:
            if what.to_end and walker.position >= end[walker.name]:
                continue
            for stored in await walker.step():
                if not what.to_end or stored.record.offset < end[walker.name]:
                    yield walker.name, stored
                    came = True
                    left = None if left is None else left - 1
                    if left == 0:
                        return
        if what.to_end and all(walker.position >= end[walker.name] for walker in walkers):
            return
        if came:
            quiet_since = time.monotonic()
            continue
        if what.timeout is not None and time.monotonic() - quiet_since >= what.timeout:
            return
        sys.stdout.flush()
        await asyncio.sleep(POLL_MS / 1000)


def _fate_line(name: TopicPartition, stored: StoredRecord) -> str:
    header, record, fate = stored
    producer = f"{header.producer_id}/{header.producer_epoch}" if header.has_producer_id else "-"
    place = f"{name}:{record.offset}"
    if header.is_control:
        return f"{place}\t{fate.value}\t{producer}\n"
    return f"{place}\t{fate.value}\t{producer}\t{show_bytes(record.key)}\t{show_bytes(record.value)}\n"


def _fate_line_json(name: TopicPartition, stored: StoredRecord) -> str:
    header, record, fate = stored
    fields: dict[str, Any] = {
        "topic": name.topic,
        "partition": name.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "fate": fate.value,
        "control": header.is_control,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "sequence": record.sequence,
    }
    if not header.is_control:
        fields["key"] = json_bytes(record.key)
        fields["value"] = json_bytes(record.value)
        fields["headers"] = [[key, json_bytes(value)] for key, value in record.headers]
    return _dumped(fields)
