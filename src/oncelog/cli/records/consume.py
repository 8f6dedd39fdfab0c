"""``oncelog consume``: shows the records of topics."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from oncelog.cli.records.consume_range import POLL_MS, ConsumeRange, bounds, partitions_of
from oncelog.cli.shared.completers import complete_groups, complete_topics
from oncelog.cli.shared.held_back import held_back
from oncelog.cli.shared.options import ConnectionOptions, Seconds, cluster_options, text
from oncelog.cli.shared.output import counted, remark
from oncelog.cli.shared.record_lines import FIELDS, FORMAT_HELP, Line, as_json, as_text, by_format
from oncelog.cli.shared.registry_option import RegistryAccess, registry, registry_option
from oncelog.cli.shared.stop_signal import Stop
from oncelog.client.core.client_errors import IllegalStateError
from oncelog.client.core.waiting import still_waiting
from oncelog.client.positions import BEGINNING, EARLIEST, END, LATEST, LogPlace, PositionKind, parse_offset, parse_time
from oncelog.errors import ConfigError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time
from oncelog.runtime.shown import NULL
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.cli.shared.schema_values import Decoding
    from oncelog.client.blocking import Admin, Consumer
    from oncelog.client.core.structs import ConsumerRecord

REPORT_AFTER_S = 10
"""The time in seconds after which ``consume`` explains why it shows nothing.

A member of a group without a partition prints possible reasons; the first rebalance of a group takes less time than
this. Without a new record, ``consume`` prints what open transactions hold back.
"""


@click.command("consume")
@click.option(
    "--topic", "-t", "topics", multiple=True, required=True, type=text, shell_complete=complete_topics,
    help="Topic to read; may be repeated.",
)  # fmt: skip
@click.option("--from-beginning", is_flag=True, help="Start at the first record, unless the group has a position.")
@click.option(
    "--partition",
    "-p",
    "partitions",
    multiple=True,
    type=click.IntRange(min=0),
    help="Read only this partition; may be repeated.",
)
@click.option(
    "--offset",
    "-o",
    metavar="N",
    help="Where to start in each partition: N, -N for the last N records, beginning, end.",
)
@click.option(
    "--since",
    metavar="TIME",
    help="Start at the first record at or after this time: 2026-01-31T12:00 (UTC), milliseconds since 1970, or 15m for "
    "15 minutes ago.",
)
@click.option(
    "--until",
    metavar="TIME",
    help="Stop before the first record at or after this time, and at the current end of the partitions.",
)
@click.option(
    "--group", "-g", metavar="ID", type=text, shell_complete=complete_groups,
    help="Read as a member of this group, and commit what has been shown.",
)  # fmt: skip
@click.option(
    "--isolation",
    type=click.Choice(["read_committed", "read_uncommitted"]),
    help="read_uncommitted shows open and aborted transactions too.  [default: read_committed]",
)
@click.option("--max-messages", "-c", type=click.IntRange(min=1), metavar="N", help="Stop after this many records.")
@click.option("--timeout", type=Seconds(), metavar="SECONDS", help="Stop when nothing has arrived for this long.")
@click.option("--to-end", "-e", is_flag=True, help="Stop at the current end of the partitions.")
@click.option(
    "--format", "-f", "form", default="text", metavar="text|json|FORMAT", help=f"A FORMAT has {FORMAT_HELP}; \\n, \\t."
)
@click.option(
    "--key-separator", "-K", metavar="TEXT", help="Show keys too, with this between key and value; '\\t' is a tab."
)
@click.option(
    "--null-marker", metavar="TEXT",
    help="Show null keys, values and headers as this.  [default: null; nothing in a FORMAT]",
)  # fmt: skip
@click.option("--show", "fields", multiple=True, type=click.Choice(FIELDS), help="Show this field before the value.")
@registry_option
@click.option("--show-transactions", is_flag=True, help="Show every stored record with its outcome, and the markers.")
@cluster_options
def command(
    cluster: ConnectionOptions,
    topics: tuple[str, ...],
    from_beginning: bool,
    partitions: tuple[int, ...],
    offset: str | None,
    since: str | None,
    until: str | None,
    group: str | None,
    isolation: str | None,
    max_messages: int | None,
    timeout: float | None,
    to_end: bool,
    form: str,
    key_separator: str | None,
    null_marker: str | None,
    fields: tuple[str, ...],
    schema_registry: RegistryAccess,
    show_transactions: bool,
) -> None:
    """Show the records of topics, until Ctrl-C or until --max-messages, --timeout, --until or --to-end ends it.

    With --show-transactions, it shows every stored record with its outcome (committed, aborted, open, not
    transactional), the producer that wrote it, its transactional id if the coordinator still knows it, and the markers
    that ended the transactions. Records of internal topics are shown decoded.

    Null is shown as null, and text that reads null in double quotes: "null".

    With --schema-registry, keys and values in Confluent's wire format are shown as JSON: Avro, JSON Schema and
    Protobuf. What cannot be decoded stays as it is, with the reason.

    \b
    Examples:
      oncelog consume -t orders --from-beginning --max-messages 10
      oncelog consume -t orders -o -10 -e -f '%t-%p:%o %k=%s\\n'
      oncelog consume -t orders --since 15m --show timestamp --show headers
      oncelog consume -t orders --group billing --from-beginning --json
      oncelog consume -t orders --show-transactions --to-end
      oncelog consume -t orders --from-beginning --schema-registry http://127.0.0.1:8081
    """
    named_by = "--group" if group is not None else "group.id"
    if group is None and not show_transactions:
        group = cluster.properties.get("group.id")
    if from_beginning + (offset is not None) + (since is not None) > 1:
        raise ConfigError("--from-beginning, --offset and --since exclude each other: each says where to start")
    earliest = cluster.properties.get("auto.offset.reset") == "earliest"
    start = BEGINNING if from_beginning or show_transactions or earliest else END
    if offset is not None:
        start = parse_offset(offset)
    elif since is not None:
        start = LogPlace(PositionKind.TIME, parse_time("--since", since))
    until_ms = None if until is None else parse_time("--until", until)
    what = ConsumeRange(topics, partitions, start, max_messages, timeout, to_end, until_ms)
    if group is not None:
        options = {"--partition": partitions, "--offset": offset, "--since": since}
        _check_group_options(named_by, [name for name, given in options.items() if given not in ((), None)])
    if show_transactions and group is not None:
        raise ConfigError("--show-transactions reads without a group: drop --group")
    if show_transactions and isolation == "read_committed":
        raise ConfigError("--show-transactions shows what read_committed hides: drop --isolation")
    in_json = cluster.as_json or form == "json"
    if null_marker is not None and in_json:
        raise ConfigError("--null-marker has no effect in JSON, which has a null: drop it")
    with _decoding(schema_registry) as decoding:
        if show_transactions:
            _show_outcomes(cluster, what, None if in_json else _null(null_marker), decoding)
            return
        line = _line(in_json, form, fields, key_separator, null_marker, decoding)
        _consume(cluster, what, group, isolation, line, from_beginning=from_beginning)


def _show_outcomes(cluster: ConnectionOptions, what: ConsumeRange, null: str | None, decoding: Decoding | None) -> None:
    from oncelog.cli.records.stored_records import show_outcomes

    asyncio.run(show_outcomes(cluster.admin_settings(), what, null=null, decoding=decoding))


def _null(marker: str | None) -> str:
    return NULL if marker is None else marker


def _line(
    in_json: bool,
    form: str,
    fields: tuple[str, ...],
    key_separator: str | None,
    null_marker: str | None,
    decoding: Decoding | None,
) -> Line:
    if not in_json and form != "text" and "%" not in form:
        raise ConfigError(f"--format takes text, json or a format with {FORMAT_HELP}, not {form!r}")
    if in_json:
        return as_json if decoding is None else decoding.as_json
    line = as_text(fields, key_separator, _null(null_marker)) if form == "text" else by_format(form, null_marker)
    return line if decoding is None else decoding.around(line)


@contextmanager
def _decoding(access: RegistryAccess) -> Iterator[Decoding | None]:
    """A context with the decoder of keys and values, None if no registry is named; at its end it reports how many
    values were not decoded."""
    if not access:
        yield None
        return
    asked = registry(access)
    from oncelog.cli.shared.schema_values import Decoding

    decoding = Decoding(asked)
    yield decoding
    decoding.tell_rest()


def _check_group_options(named_by: str, contradicting: Sequence[str]) -> None:
    if contradicting:
        raise ConfigError(
            f"{named_by} leaves partitions and positions to the group: drop {named_by} or {' and '.join(contradicting)}"
        )


def _consume(
    cluster: ConnectionOptions,
    what: ConsumeRange,
    group: str | None,
    isolation: str | None,
    line: Line,
    *,
    from_beginning: bool,
) -> None:
    from oncelog.client.blocking import Admin, Consumer
    from oncelog.client.core.config import ConsumerConfig

    level = isolation or (None if "isolation.level" in cluster.properties else "read_committed")
    reset = "earliest" if from_beginning else None
    config = cluster.settings(ConsumerConfig, group_id=group, isolation_level=level, auto_offset_reset=reset)
    shown = 0
    with Admin(config=cluster.admin_settings()) as admin:
        names = partitions_of(what, {topic: len(admin.partitions(topic)) for topic in what.topics})
        bounded = group is None or what.ends
        starts, ends = _bounds(admin, what, names, config.read_committed) if bounded else ({}, None)
    with Consumer(config=config) as consumer:
        if group is not None:
            consumer.subscribe(what.topics)
        else:
            consumer.assign(names)
            for name, position in starts.items():
                consumer.seek(name, position)
        output = sys.stdout.buffer
        not_assigned = None if group is None else _NotAssigned(config.bootstrap_servers, group)
        quiet = _Quiet(cluster, names if config.read_committed else [], what.timeout)
        for records in _answers(consumer, what, ends, Stop(), not_assigned, quiet):
            with _given_back_unless_shown(consumer, records):
                output.writelines(map(line, records))
                output.flush()
            shown += len(records)
    remark(counted(shown, "record"))
    if what.max_messages != shown:
        quiet.report()


def _bounds(
    admin: Admin, what: ConsumeRange, names: list[TopicPartition], read_committed: bool
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int] | None]:
    """The offsets at which reading begins, and those at which it stops, or None if it does not stop at an offset."""

    def offsets(time_ms: int) -> dict[TopicPartition, int]:
        if time_ms == LATEST and read_committed:
            found = admin.settled_ends(names)
        else:
            found = admin.list_offsets(dict.fromkeys(names, time_ms), read_committed=read_committed)
        return {name: item.offset for name, item in found.items()}

    return bounds(
        what, offsets(EARLIEST), offsets(LATEST), offsets(what.start.lookup()),
        None if what.until_ms is None else offsets(what.until_ms),
    )  # fmt: skip


class _Quiet:
    """Measures the time without a new record. After a while it reports which open transactions hold records back; to
    the user this otherwise looks as if there were no records.

    :param partitions: empty if the reader sees the records of open transactions.
    :param timeout_s: the time without a record after which reading stops; None for no limit.
    """

    def __init__(
        self, cluster: ConnectionOptions, partitions: Sequence[TopicPartition], timeout_s: float | None
    ) -> None:
        self._cluster = cluster
        self._partitions = partitions
        self._timeout_s = timeout_s
        self._since = real_time.monotonic()
        self._reported = not partitions

    def passed(self, found: bool) -> bool:
        """Note whether records have arrived; returns whether the timeout has passed without any.

        :param found: whether records have just arrived.
        """
        quiet_s = real_time.monotonic() - self._since
        if found:
            self._since = real_time.monotonic()
        elif self._timeout_s is not None and quiet_s >= self._timeout_s:
            return True
        elif quiet_s >= REPORT_AFTER_S:
            self.report()
        return False

    def report(self) -> None:
        """Once."""
        if self._reported:
            return
        self._reported = True
        with self._cluster.admin() as admin:
            for sentence in held_back(admin, self._partitions):
                remark(sentence)


class _NotAssigned:
    """Reports that a group's member has been assigned no partition for some time; to the user this otherwise looks like
    a topic without records."""

    def __init__(self, servers: Sequence[str], group: str) -> None:
        self._servers = servers
        self._group = group
        self._since: float | None = real_time.monotonic()

    def look(self, assigned: Collection[TopicPartition]) -> None:
        if assigned:
            self._since = None
        if self._since is None:
            return
        waited_s = real_time.monotonic() - self._since
        why = (
            "the members before this one have them all, or its coordinator does not answer; "
            f"see oncelog groups describe {self._group}, and the broker's log"
        )
        otherwise = "" if waited_s < REPORT_AFTER_S else why
        still_waiting(self._servers, f"a partition of group {self._group!r}", waited_s, None, otherwise)


@contextmanager
def _given_back_unless_shown(consumer: Consumer, records: Sequence[ConsumerRecord[Any, Any]]) -> Iterator[None]:
    """A context for printing records: if it fails (a full disk, a closed pipe, a registry that is gone), the consumer
    seeks back to the first of the records, because records that were not shown must not be committed."""
    try:
        yield
    except BaseException:
        for record in reversed(records):
            with suppress(IllegalStateError):  # a rebalance gave the partition to another member
                consumer.seek(TopicPartition(record.topic, record.partition), record.offset)
        raise


def _answers(
    consumer: Consumer,
    what: ConsumeRange,
    ends: Mapping[TopicPartition, int] | None,
    stop: Stop,
    not_assigned: _NotAssigned | None,
    quiet: _Quiet,
) -> Iterator[list[ConsumerRecord[Any, Any]]]:
    """The records as they arrive, until a limit is reached, a signal arrives, or the timeout passes without a
    record."""
    left = what.max_messages
    while not stop.asked and (left is None or left > 0):
        if ends is not None and _at_ends(consumer, ends):
            return
        wait_ms = POLL_MS if what.timeout is None else min(POLL_MS, int(what.timeout * 1000))
        found = consumer.getmany(timeout_ms=wait_ms, max_records=left)
        if not_assigned is not None:
            not_assigned.look(consumer.assignment())
        if ends is not None:
            _stay_at_ends(consumer, found, ends)
        records = [
            record
            for name, of_partition in found.items()
            for record in of_partition
            if ends is None or record.offset < ends.get(name, 0)
        ]
        if records:
            yield records
            left = None if left is None else left - len(records)
        if quiet.passed(bool(found)):
            return


def _at_ends(consumer: Consumer, ends: Mapping[TopicPartition, int]) -> bool:
    """Whether the consumer has partitions and has reached the end of each of them. A partition that did not exist when
    the ends were determined has the end 0."""
    assigned = consumer.assignment()
    try:
        return bool(assigned) and all(consumer.position(name) >= ends.get(name, 0) for name in assigned)
    except IllegalStateError:  # a rebalance took a partition away between the two calls
        return False


def _stay_at_ends(
    consumer: Consumer, found: Mapping[TopicPartition, Sequence[Any]], ends: Mapping[TopicPartition, int]
) -> None:
    """Seek back to the end where records after it were fetched, because records that are not shown must not be
    committed."""
    for name, records in found.items():
        end = ends.get(name, 0)
        if records and records[-1].offset >= end:
            try:
                consumer.seek(name, max(end, records[0].offset))
                consumer.pause(name)
            except IllegalStateError:  # a rebalance gave the partition to another member
                continue
