"""``oncelog groups``: shows and changes consumer groups and share groups: their members, offsets and lag."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from oncelog.cli.shared.completers import complete_groups, complete_topics
from oncelog.cli.shared.options import ConnectionOptions, cluster_options, partition_numbers, text
from oncelog.cli.shared.output import counted, show_json, show_rows, show_table
from oncelog.cli.shared.parameters import CommandGroup
from oncelog.client.positions import BEGINNING, END, LogPlace, PositionKind, parse_time
from oncelog.errors import ConfigError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime.shown import show_text
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.cli.administration.share_deliveries import DeliveredRange
    from oncelog.client.aio.admin.admin import Admin
    from oncelog.client.aio.admin.group_positions import GroupWithPositions, PositionChange
    from oncelog.client.aio.admin.sink_markers import SinkMarker
    from oncelog.client.core.admin.admin_types import GroupListing
    from oncelog.client.core.config import AdminConfig

Row = dict[str, object]
DELIVERED = ("topic", "partition", "first", "last", "state", "deliveries")
TYPES = ("classic", "consumer", "share", "streams")


@click.group("groups", cls=CommandGroup)
def command() -> None:
    """Consumer groups and share groups: list, describe with lag, move and delete offsets, delete.

    \b
    Example:
      oncelog groups describe billing
    """


@command.command("list")
@click.option("--state", "states", multiple=True, metavar="NAME", help="Only groups in this state; may be repeated.")
@click.option(
    "--type", "types", multiple=True, type=click.Choice(TYPES), help="Only groups of this type; may be repeated."
)
@cluster_options
def list_groups(cluster: ConnectionOptions, states: tuple[str, ...], types: tuple[str, ...]) -> None:
    """All groups.

    \b
    Examples:
      oncelog groups list --state Stable
      oncelog groups list --type share
    """
    found, markers = asyncio.run(_listed(cluster.admin_settings(), states, types))
    rows: list[Row] = [
        {
            "group": item.group_id,
            "type": item.type,
            "protocol": item.protocol_type,
            "state": item.state,
            "holds": str(markers[item.group_id]) if item.group_id in markers else None,
        }
        for item in found
    ]
    show_rows(cluster.as_json, rows, ["group", "type", "protocol", "state", "holds"], "no groups")


async def _listed(
    config: AdminConfig, states: Sequence[str], types: Sequence[str]
) -> tuple[Sequence[GroupListing], dict[str, SinkMarker]]:
    from oncelog.client.aio.admin.admin import Admin
    from oncelog.client.aio.admin.group_positions import sink_markers

    async with Admin(config=config) as admin:
        found = await admin.list_consumer_groups(states=states, types=types)
        return found, await sink_markers(admin, found)


@command.command("describe")
@click.argument("groups", nargs=-1, required=True, type=text, shell_complete=complete_groups)
@click.option(
    "--deliveries", is_flag=True, help="For share groups, also show the offsets whose delivery is not final, and why."
)
@cluster_options
def describe(cluster: ConnectionOptions, groups: tuple[str, ...], deliveries: bool) -> None:
    """Show state, members and, for each partition, committed offset, end and lag.

    The end is the last stable offset, which is as far as a read_committed reader can be. The marker of a Spark sink is
    shown as a marker: it is not a position and has no lag.

    A share group has a start instead of a committed offset: everything before it is delivered for good. Its end is the
    high watermark, and its lag counts the records between them that are not delivered for good. With --deliveries,
    the stored state of the offsets from its start on is shown: which are acknowledged, which will be delivered again,
    and how often they were delivered. This reads __share_group_state.

    \b
    Examples:
      oncelog groups describe billing
      oncelog groups describe workers --deliveries
    """
    with_positions = asyncio.run(_with_positions(cluster.admin_settings(), groups, deliveries))
    described = [_described(found, ranges) for found, ranges in with_positions]
    if cluster.as_json:
        show_json(described)
        return
    for number, group in enumerate(described):
        if number:
            click.echo()
        _show_group(group)


async def _with_positions(
    config: AdminConfig, groups: Iterable[str], deliveries: bool
) -> list[tuple[GroupWithPositions, list[DeliveredRange] | None]]:
    """Each group with its positions, and with ``deliveries`` the stored deliveries of a share group."""
    from oncelog.cli.administration.share_deliveries import stored_deliveries
    from oncelog.client.aio.admin.admin import Admin
    from oncelog.client.aio.admin.group_positions import SHARE, group_with_positions

    async with Admin(config=config) as admin:
        found: list[tuple[GroupWithPositions, list[DeliveredRange] | None]] = []
        for group in groups:
            one = await group_with_positions(admin, group)
            if deliveries and one.group.type != SHARE:
                raise ConfigError(f"group {group!r} is not a share group: leave --deliveries out")
            names = [position.name for position in one.shared]
            found.append((one, await stored_deliveries(admin, group, names) if deliveries else None))
        return found


def _described(group: GroupWithPositions, deliveries: Iterable[DeliveredRange] | None) -> Row:
    found = group.group
    rows: list[Row] = [
        {
            "topic": shared.name.topic,
            "partition": shared.name.partition,
            "start": shared.start,
            "end": shared.end,
            "lag": shared.lag,
        }
        for shared in group.shared
    ]
    rows += [
        {
            "topic": position.name.topic,
            "partition": position.name.partition,
            "committed": position.committed,
            "end": position.stable,
            "lag": position.lag,
            "member": position.member.member_id if position.member else None,
            "host": position.member.client_host if position.member else None,
            "marker": str(position.marker) if position.marker else None,
        }
        for position in group.positions
    ]
    return {
        "group": found.group_id,
        "state": found.state,
        "type": found.type,
        "assignor": found.assignor,
        "coordinator": found.coordinator,
        "members": [
            {
                "member": member.member_id,
                "instance": member.group_instance_id,
                "client": member.client_id,
                "host": member.client_host,
                "partitions": [str(name) for name in member.assignment],
            }
            for member in found.members
        ],
        "offsets": rows,
        **({} if deliveries is None else {"deliveries": [_range_row(found) for found in deliveries]}),
    }


def _range_row(found: DeliveredRange) -> Row:
    (topic, partition), *rest = found
    return dict(zip(DELIVERED, (topic, partition, *rest), strict=True))


def _show_group(group: Row) -> None:
    members, offsets = group["members"], group["offsets"]
    if not isinstance(members, list) or not isinstance(offsets, list):
        raise TypeError("the description of a group lacks its list of members or of offsets")
    assignor = f", assignor {show_text(str(group['assignor']))}" if group["assignor"] else ""
    click.echo(
        f"{show_text(str(group['group']))}  {group['state']}, {group['type']}{assignor}, "
        f"coordinator {group['coordinator']}, {counted(len(members), 'member')}"
    )
    if members:
        rows = [
            [m["member"], m["instance"], m["client"], m["host"], " ".join(m["partitions"]) or None] for m in members
        ]
        show_table(["MEMBER", "INSTANCE", "CLIENT", "HOST", "PARTITIONS"], rows)
    if offsets:
        headings = [name for name in offsets[0] if name not in ("host", "marker")]
        headings += ["marker"] if any(row.get("marker") for row in offsets) else []
        show_table([heading.upper() for heading in headings], [[row[name] for name in headings] for row in offsets])
    deliveries = group.get("deliveries")
    if isinstance(deliveries, list):
        show_rows(False, deliveries, DELIVERED, "no state is stored for offsets at or after the start offsets")


@command.command("reset-offsets")
@click.argument("group", type=text, shell_complete=complete_groups)
@click.option(
    "--topic", "-t", "topics", multiple=True, metavar="TOPIC[:0,1]", shell_complete=complete_topics,
    help="Topic, or some partitions of it.",
)  # fmt: skip
@click.option("--all-topics", is_flag=True, help="Every partition in which the group has committed an offset.")
@click.option("--to-earliest", is_flag=True, help="To the first record.")
@click.option("--to-latest", is_flag=True, help="To the end, after the last record.")
@click.option("--to-offset", type=click.IntRange(min=0), metavar="N", help="To this offset.")
@click.option("--shift-by", type=int, metavar="N", help="Move this many records forward, or back if negative.")
@click.option(
    "--to-datetime",
    metavar="TIME",
    help="To the first record at or after this time: 2026-01-31T12:00 (UTC), or 2h for two hours ago.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@cluster_options
def reset_offsets(
    cluster: ConnectionOptions,
    group: str,
    topics: tuple[str, ...],
    all_topics: bool,
    to_earliest: bool,
    to_latest: bool,
    to_offset: int | None,
    shift_by: int | None,
    to_datetime: str | None,
    dry_run: bool,
) -> None:
    """Move the committed offsets of a group without members, or the starts of a share group without members.

    A share group delivers everything from its new start on again, whatever was acknowledged before.

    \b
    Examples:
      oncelog groups reset-offsets billing --topic orders --to-earliest --dry-run
      oncelog groups reset-offsets billing --topic orders:0,3 --shift-by -100
    """
    chosen = [to_earliest, to_latest, to_offset is not None, shift_by is not None, to_datetime is not None]
    if sum(chosen) != 1:
        raise ConfigError("give exactly one of --to-earliest, --to-latest, --to-offset, --shift-by and --to-datetime")
    if bool(topics) == all_topics:
        raise ConfigError("give either --topic or --all-topics")
    to: LogPlace | int = BEGINNING if to_earliest else END
    if to_datetime is not None:
        to = LogPlace(PositionKind.TIME, parse_time("--to-datetime", to_datetime))
    elif to_offset is not None:
        to = LogPlace(PositionKind.OFFSET, to_offset)
    elif shift_by is not None:
        to = shift_by
    moves = asyncio.run(_reset(cluster.admin_settings(), group, None if all_topics else topics, to, dry_run))
    rows: list[Row] = [
        {"topic": name.topic, "partition": name.partition, "before": change.before, "after": change.after}
        for name, change in moves.items()
    ]
    show_rows(cluster.as_json, rows, ["topic", "partition", "before", "after"], "the group has no positions")


async def _reset(
    config: AdminConfig, group: str, topics: tuple[str, ...] | None, to: LogPlace | int, dry_run: bool
) -> dict[TopicPartition, PositionChange]:
    from oncelog.client.aio.admin.admin import Admin
    from oncelog.client.aio.admin.group_positions import move, planned_moves

    async with Admin(config=config) as admin:
        moves = await planned_moves(admin, group, None if topics is None else await _named(admin, topics), to)
        if not dry_run and moves:
            await move(admin, group, {name: change.after for name, change in moves.items()})
    return moves


async def _named(admin: Admin, topics: tuple[str, ...]) -> list[TopicPartition]:
    """The partitions that the options ``--topic`` name. A topic or partition that does not exist is reported by the
    request that uses it."""
    names: list[TopicPartition] = []
    for topic, numbers in partition_numbers(topics).items():
        there = await admin.partitions(topic)
        names += there if numbers is None else [TopicPartition(topic, number) for number in numbers]
    return names


@command.command("delete")
@click.argument("groups", nargs=-1, required=True, type=text, shell_complete=complete_groups)
@cluster_options
def delete(cluster: ConnectionOptions, groups: tuple[str, ...]) -> None:
    """Delete groups that have no members, with their offsets.

    \b
    Example:
      oncelog groups delete billing
    """
    asyncio.run(_delete(cluster.admin_settings(), groups))
    if cluster.as_json:
        show_json({"deleted": list(groups)})
    else:
        click.echo(f"deleted {', '.join(groups)}")


@command.command("delete-offsets")
@click.argument("group", type=text, shell_complete=complete_groups)
@click.option(
    "--topic",
    "-t",
    "topics",
    multiple=True,
    required=True,
    metavar="TOPIC[:0,1]",
    shell_complete=complete_topics,
    help="Topic, or some partitions of it.",
)
@cluster_options
def delete_offsets(cluster: ConnectionOptions, group: str, topics: tuple[str, ...]) -> None:
    """Delete a group's offsets in topics that no member reads; for a share group, those of all partitions.

    \b
    Example:
      oncelog groups delete-offsets billing --topic orders
    """
    names = asyncio.run(_delete_offsets(cluster.admin_settings(), group, partition_numbers(topics)))
    if cluster.as_json:
        show_json({"deleted": [str(name) for name in names]})
    else:
        click.echo(f"deleted {', '.join(map(str, names))}" if names else "there was nothing to delete")


async def _delete(config: AdminConfig, groups: tuple[str, ...]) -> None:
    from oncelog.client.aio.admin.admin import Admin
    from oncelog.client.aio.admin.group_positions import existing_group

    async with Admin(config=config) as admin:
        for group in groups:
            await existing_group(admin, group)
        await admin.delete_consumer_groups(groups)


async def _delete_offsets(config: AdminConfig, group: str, wanted: dict[str, list[int] | None]) -> list[TopicPartition]:
    from oncelog.client.aio.admin.admin import Admin
    from oncelog.client.aio.admin.group_positions import SHARE, existing_group

    async with Admin(config=config) as admin:
        found, (positions, markers, shared) = await existing_group(admin, group)
        if found.type == SHARE:
            return await _forget_topics(admin, group, wanted, sorted(shared))
        names = sorted(
            n for n in {*positions, *markers} if n.topic in wanted and n.partition in (wanted[n.topic] or [n.partition])
        )
        if names:
            await admin.delete_consumer_group_offsets(group, names)
    return names


async def _forget_topics(
    admin: Admin, group: str, wanted: dict[str, list[int] | None], there: list[TopicPartition]
) -> list[TopicPartition]:
    for topic, numbers in wanted.items():
        if numbers is not None:
            raise ConfigError(
                f"share group {group!r} has its offsets deleted by whole topics, not by partitions: give --topic "
                f"{topic}; to deliver one partition again, use reset-offsets"
            )
    names = [name for name in there if name.topic in wanted]
    if names:
        await admin.delete_share_group_offsets(group, sorted({name.topic for name in names}))
    return names
