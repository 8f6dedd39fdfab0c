"""``oncelog top``: shows the current activity of a cluster in the terminal.

It needs no metrics, so it works on Apache Kafka, too. Each measurement requests the ends of all partitions, the open
transactions and the groups' positions; rates are the difference of two measurements.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

import click

from oncelog.cli.shared.held_back import UNFINISHED
from oncelog.cli.shared.options import ConnectionOptions, Seconds, cluster_options
from oncelog.cli.shared.output import show_json
from oncelog.errors import Error, KafkaError, OncelogError
from oncelog.runtime import real_time
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from rich.console import Console, Group

    from oncelog.client.blocking import Admin

LATEST = -1
VANISHED = (Error.UNKNOWN_TOPIC_OR_PARTITION, Error.TRANSACTIONAL_ID_NOT_FOUND, Error.GROUP_ID_NOT_FOUND)
HIDDEN = (Error.GROUP_AUTHORIZATION_FAILED, Error.TOPIC_AUTHORIZATION_FAILED)
ATTEMPTS = 3
"""How often a measurement is tried if topics or groups disappear meanwhile."""
TRYING = "no answer, trying again: "
Row = dict[str, Any]
T = TypeVar("T")
SHARE = "share"
"""The type of share groups, as brokers name it."""


@dataclass(frozen=True, slots=True)
class TopScreen:
    """One measurement of a cluster, at ``at_s`` by a monotonic clock: log ends, last stable offsets, groups' positions.

    :ivar transactions: the open transactions; None if the cluster's coordinators cannot list them.
    """

    at_s: float
    ends: Mapping[TopicPartition, int]
    stable: Mapping[TopicPartition, int]
    transactions: tuple[Row, ...] | None
    groups: Mapping[str, Mapping[TopicPartition, int]]
    share_lags: Mapping[str, int]
    """The lag of each share group, counted from its start offset; it includes records that may be processed already."""


@click.command("top")
@click.option("--interval", type=Seconds(0.1), default=2.0, show_default=True, help="Seconds between looks.")
@click.option(
    "--lines", type=click.IntRange(min=1), default=15, show_default=True, help="Number of lines in each table."
)
@click.option("--once", is_flag=True, help="Measure once, print the result, and end.")
@click.option("--internal", is_flag=True, help="Show internal topics too.")
@cluster_options
def command(cluster: ConnectionOptions, interval: float, lines: int, once: bool, internal: bool) -> None:
    """Show rates, offsets that are held back, open transactions and groups' lag, live, until Ctrl-C.

    Apache Kafka before 3.0 cannot list transactions; the offsets that they hold back are shown even then.

    With --json, it prints a line for each measurement, and {"trouble": ...} while the cluster does not answer.

    \b
    Examples:
      oncelog top --bootstrap-server 127.0.0.1:9092
      oncelog top --once --json
    """
    if not cluster.as_json and find_spec("rich") is None:
        raise OncelogError("oncelog top draws with rich: install it with pip install 'oncelog[cli]', or use --json")
    with cluster.admin() as admin:
        if cluster.as_json:
            _print(admin, interval, lines, once, internal, show_json, lambda text: show_json({"trouble": text}))
            return
        from rich.console import Console

        console = Console()
        if once or not console.is_terminal:

            def show(found: Row) -> None:
                console.print(_tables(found))

            _print(admin, interval, lines, once, internal, show, lambda text: console.print(TRYING + text))
        else:
            _draw(admin, interval, lines, internal, console)


def _print(
    admin: Admin,
    interval: float,
    lines: int,
    once: bool,
    internal: bool,
    show: Callable[[Row], None],
    report: Callable[[str], None],
) -> None:
    """Print each measurement below the one before, for a file, a pipe or a program."""
    before = look(admin, internal)
    while True:
        time.sleep(interval)
        try:
            after = look(admin, internal)
        except OncelogError as error:
            if once:
                raise
            report(str(error))
            continue
        show(screen_row(before, after, lines))
        if once:
            return
        before = after


def _draw(admin: Admin, interval: float, lines: int, internal: bool, console: Console) -> None:
    """Draw each measurement in the place of the one before, for a terminal."""
    from rich.live import Live

    before = look(admin, internal)
    trouble = ""
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            time.sleep(interval)
            try:
                after = look(admin, internal)
            except OncelogError as error:
                if str(error) != trouble:
                    trouble = str(error)
                    live.update(TRYING + trouble, refresh=True)
                continue
            trouble = ""
            live.update(_tables(screen_row(before, after, lines)), refresh=True)
            before = after


def look(admin: Admin, internal: bool) -> TopScreen:
    """Take a measurement; it is repeated if a topic or group disappears meanwhile."""
    for _ in range(ATTEMPTS - 1):
        try:
            return _look(admin, internal)
        except KafkaError as error:
            if error.error not in VANISHED:
                raise
    return _look(admin, internal)


def _look(admin: Admin, internal: bool) -> TopScreen:
    topics = admin.describe_topics(admin.list_topics(internal=internal))
    led = [TopicPartition(topic.name, one.partition) for topic in topics for one in topic.partitions if one.leader >= 0]
    asked = dict.fromkeys(led, LATEST)
    at_s = real_time.monotonic()
    ends = {name: found.offset for name, found in admin.list_offsets(asked).items()} if asked else {}
    stable = (
        {name: found.offset for name, found in admin.list_offsets(asked, read_committed=True).items()} if asked else {}
    )
    groups: dict[str, Mapping[TopicPartition, int]] = {}
    share_lags: dict[str, int] = {}
    for listing in admin.list_consumer_groups():
        if listing.type == SHARE:
            shared = _visible(admin.list_share_group_offsets, listing.group_id)
            groups[listing.group_id] = {
                name: found.start_offset for name, found in shared.items() if found.start_offset is not None
            }
            share_lags[listing.group_id] = sum(found.lag or 0 for found in shared.values())
        else:
            committed = _visible(admin.list_consumer_group_offsets, listing.group_id)
            groups[listing.group_id] = {name: found.offset for name, found in committed.items()}
    return TopScreen(at_s, ends, stable, _unfinished(admin), groups, share_lags)


def _unfinished(admin: Admin) -> tuple[Row, ...] | None:
    try:
        names = [one.transactional_id for one in admin.list_transactions() if one.state in UNFINISHED]
    except KafkaError as error:
        if error.error is not Error.UNSUPPORTED_VERSION:
            raise
        return None
    now_ms = real_time.time_ms()
    return tuple(
        {
            "transactional_id": one.transactional_id,
            "state": one.state,
            "age_s": round(max(now_ms - one.start_time_ms, 0) / 1000, 1) if one.start_time_ms >= 0 else None,
            "producer_id": one.producer_id,
            "epoch": one.producer_epoch,
            "partitions": len(one.partitions),
        }
        for one in (admin.describe_transactions(names) if names else [])
    )


def _visible(offsets_of: Callable[[str], dict[TopicPartition, T]], group_id: str) -> dict[TopicPartition, T]:
    """The committed offsets of a group; empty if the user may not see them."""
    try:
        return offsets_of(group_id)
    except KafkaError as error:
        if error.error not in HIDDEN:
            raise
        return {}


def screen_row(before: TopScreen, after: TopScreen, lines: int) -> Row:
    """The difference of two measurements: rates in records per second. Topics with the highest rate, transactions open
    for the longest time and groups with the largest lag come first."""
    passed_s = max(after.at_s - before.at_s, 1e-9)
    topics: dict[str, Row] = {}
    for name, end in after.ends.items():
        row = topics.setdefault(
            name.topic, {"topic": name.topic, "partitions": 0, "records_per_s": 0.0, "end": 0, "held_back": 0}
        )
        row["partitions"] += 1
        row["end"] += end
        row["records_per_s"] += max(end - before.ends.get(name, end), 0) / passed_s
        row["held_back"] += max(end - after.stable.get(name, end), 0)
    groups = []
    for group_id, positions in after.groups.items():
        known = {name: offset for name, offset in positions.items() if name in after.ends}
        earlier = before.groups.get(group_id, {})
        groups.append(
            {
                "group": group_id,
                "partitions": len(known),
                "records_per_s": round(
                    sum(max(offset - earlier.get(name, offset), 0) for name, offset in known.items()) / passed_s, 1
                ),
                "lag": after.share_lags.get(
                    group_id, sum(max(after.ends[name] - offset, 0) for name, offset in known.items())
                ),
                "stable_lag": None
                if group_id in after.share_lags
                else sum(max(after.stable.get(name, offset) - offset, 0) for name, offset in known.items()),
            }
        )
    for row in topics.values():
        row["records_per_s"] = round(row["records_per_s"], 1)
    return {
        "records_per_s": round(sum(row["records_per_s"] for row in topics.values()), 1),
        "partitions": len(after.ends),
        "topics": sorted(topics.values(), key=lambda row: (-row["records_per_s"], row["topic"]))[:lines],
        "transactions": None
        if after.transactions is None
        else sorted(after.transactions, key=lambda row: -(row["age_s"] or 0))[:lines],
        "groups": sorted(groups, key=lambda row: (-int(str(row["lag"])), str(row["group"])))[:lines],
    }


def _tables(found: Row) -> Group:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[Table | Text] = [Text(f"{found['records_per_s']:,.1f} records/s in {found['partitions']} partitions")]
    for title, headings in (
        ("topics", ("topic", "partitions", "records_per_s", "end", "held_back")),
        ("transactions", ("transactional_id", "state", "age_s", "producer_id", "epoch", "partitions")),
        ("groups", ("group", "partitions", "records_per_s", "lag", "stable_lag")),
    ):
        if found[title] is None:
            parts.append(Text(f"{title}: not listed by this cluster; Apache Kafka lists them since 3.0"))
            continue
        table = Table(title=title, title_justify="left", expand=True)
        for number, heading in enumerate(headings):
            table.add_column(heading.replace("_", " "), justify="right" if number else "left")
        for row in found[title]:
            table.add_row(*(Text(_shown(row[heading])) for heading in headings))
        parts.append(table)
    return Group(*parts)


def _shown(value: object) -> str:
    """A value as text. A name chosen by a client may contain anything, so it is escaped if a character is
    unprintable."""
    if isinstance(value, str):
        return value if value.isprintable() else repr(value)
    return "-" if value is None else f"{value:,}" if isinstance(value, int | float) else str(value)
