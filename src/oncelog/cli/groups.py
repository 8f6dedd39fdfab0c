"""``oncelog groups``: consumer groups, their members, offsets and lag."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import click

from oncelog.cli.completion import complete_groups
from oncelog.cli.options import Cluster, cluster_options, partition_numbers
from oncelog.cli.output import show_json, show_rows, show_table
from oncelog.client.positions import parse_time
from oncelog.errors import ConfigError, OncelogError
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.client.blocking import Admin
    from oncelog.client.core.admin_types import GroupDescription

Row = dict[str, object]
IDLE = ("Empty", "Dead")


class GroupRefused(OncelogError):
    """The group does not exist, or has members that stand in the way."""


@click.group("groups")
def command() -> None:
    """Consumer groups: list, describe with lag, move and forget offsets, delete.

    \b
    Example:
      oncelog groups describe billing
    """


@command.command("list")
@click.option("--state", "states", multiple=True, metavar="NAME", help="Only groups in this state; may be repeated.")
@cluster_options
def list_groups(cluster: Cluster, states: tuple[str, ...]) -> None:
    """All groups.

    Example: oncelog groups list --state Stable
    """
    with cluster.admin() as admin:
        found = admin.list_consumer_groups(states=states)
    rows: list[Row] = [
        {"group": item.group_id, "type": item.type, "protocol": item.protocol_type, "state": item.state}
        for item in found
    ]
    show_rows(cluster.as_json, rows, ["group", "type", "protocol", "state"], "no groups")


@command.command("describe")
@click.argument("groups", nargs=-1, required=True, shell_complete=complete_groups)
@cluster_options
def describe(cluster: Cluster, groups: tuple[str, ...]) -> None:
    """State, members and, for each partition, committed offset, end and lag.

    The end is the last stable offset: where a read_committed reader could be.

    Example: oncelog groups describe billing
    """
    with cluster.admin() as admin:
        described = [_described(admin, group) for group in groups]
    if cluster.as_json:
        show_json(described)
        return
    for number, group in enumerate(described):
        if number:
            click.echo()
        _show_group(group)


def _existing(admin: Admin, group: str) -> tuple[GroupDescription, dict[TopicPartition, int]]:
    """The group and its committed offsets.

    :raises GroupRefused: the group does not exist.
    """
    found = admin.describe_consumer_groups([group])[0]
    offsets = admin.list_consumer_group_offsets(group)
    if found.state == "Dead" and not offsets:
        raise GroupRefused(f"group {group!r} does not exist; see oncelog groups list")
    return found, {name: committed.offset for name, committed in offsets.items()}


def _described(admin: Admin, group: str) -> Row:
    found, committed = _existing(admin, group)
    owners = {name: member for member in found.members for name in member.assignment}
    names = sorted({*committed, *owners})
    there = set(admin.list_topics(internal=True))
    known = [name for name in names if name.topic in there]
    ends = admin.list_offsets(dict.fromkeys(known, -1), read_committed=True) if known else {}
    rows: list[Row] = []
    for name in names:
        end = ends[name].offset if name in ends else None
        offset = committed.get(name)
        owner = owners.get(name)
        rows.append(
            {
                "topic": name.topic,
                "partition": name.partition,
                "committed": offset,
                "end": end,
                "lag": None if end is None or offset is None else max(0, end - offset),
                "member": owner.member_id if owner else None,
                "host": owner.client_host if owner else None,
            }
        )
    return {
        "group": group,
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
    }


def _show_group(group: Row) -> None:
    members, offsets = group["members"], group["offsets"]
    if not isinstance(members, list) or not isinstance(offsets, list):
        raise TypeError("a described group has members and offsets")
    assignor = f", assignor {group['assignor']}" if group["assignor"] else ""
    click.echo(
        f"{group['group']}  {group['state']}, {group['type']}{assignor}, "
        f"coordinator {group['coordinator']}, {len(members)} members"
    )
    if members:
        rows = [
            [m["member"], m["instance"], m["client"], m["host"], " ".join(m["partitions"]) or None] for m in members
        ]
        show_table(["MEMBER", "INSTANCE", "CLIENT", "HOST", "PARTITIONS"], rows)
    if offsets:
        headings = ["topic", "partition", "committed", "end", "lag", "member"]
        show_table([heading.upper() for heading in headings], [[row[name] for name in headings] for row in offsets])


@command.command("reset-offsets")
@click.argument("group", shell_complete=complete_groups)
@click.option("--topic", "topics", multiple=True, metavar="TOPIC[:0,1]", help="Topic, or some partitions of it.")
@click.option("--all-topics", is_flag=True, help="Every partition the group has a position in.")
@click.option("--to-earliest", is_flag=True, help="To the first record.")
@click.option("--to-latest", is_flag=True, help="Behind the last record.")
@click.option("--to-offset", type=click.IntRange(min=0), metavar="N", help="To this offset.")
@click.option("--shift-by", type=int, metavar="N", help="So many records on, or back where negative.")
@click.option("--to-datetime", metavar="TIME", help="To the first record not older, such as 2026-01-31T12:00 (UTC).")
@click.option("--dry-run", is_flag=True, help="Only show what would be.")
@cluster_options
def reset_offsets(
    cluster: Cluster,
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
    """Move the committed offsets of a group without members.

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
    time_ms = -2 if to_earliest else -1
    if to_datetime is not None:
        time_ms = parse_time("--to-datetime", to_datetime)
    with cluster.admin() as admin:
        before = _idle_offsets(admin, group)
        names = sorted(before) if all_topics else _named(admin, topics)
        if shift_by is not None:
            new = {name: before[name] + shift_by for name in names if name in before}
            missing = [str(name) for name in names if name not in before]
            if missing:
                raise GroupRefused(f"group {group!r} has no position in {', '.join(missing)} that could be shifted")
        elif to_offset is not None:
            new = dict.fromkeys(names, to_offset)
        else:
            new = _by_time(admin, names, time_ms)
        new = _within(admin, new)
        if not dry_run and new:
            admin.alter_consumer_group_offsets(group, new)
    rows: list[Row] = [
        {"topic": name.topic, "partition": name.partition, "before": before.get(name), "after": new[name]}
        for name in sorted(new)
    ]
    show_rows(cluster.as_json, rows, ["topic", "partition", "before", "after"], "the group has no positions")


def _idle_offsets(admin: Admin, group: str) -> dict[TopicPartition, int]:
    """The committed offsets of a group that has no members; none of a group that is yet to be."""
    found = admin.describe_consumer_groups([group])[0]
    if found.state not in IDLE:
        raise GroupRefused(
            f"group {group!r} has {len(found.members)} members; stop them before its offsets are changed"
        )
    return {name: committed.offset for name, committed in admin.list_consumer_group_offsets(group).items()}


def _named(admin: Admin, topics: tuple[str, ...]) -> list[TopicPartition]:
    """The partitions of ``--topic``; client errors name a topic or partition that does not exist."""
    names: list[TopicPartition] = []
    for topic, numbers in partition_numbers(topics, "--topic").items():
        there = admin.partitions(topic)
        names += there if numbers is None else [TopicPartition(topic, number) for number in numbers]
    return names


def _by_time(admin: Admin, names: Iterable[TopicPartition], time_ms: int) -> dict[TopicPartition, int]:
    """Offsets at a time; the end where no record is that late."""
    wanted = list(names)
    found = {name: item.offset for name, item in admin.list_offsets(dict.fromkeys(wanted, time_ms)).items()}
    late = [name for name in wanted if found[name] < 0]
    if late:
        found.update({name: item.offset for name, item in admin.list_offsets(dict.fromkeys(late, -1)).items()})
    return found


def _within(admin: Admin, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """The offsets, none before the first record or behind the end."""
    if not offsets:
        return {}
    first = admin.list_offsets(dict.fromkeys(offsets, -2))
    end = admin.list_offsets(dict.fromkeys(offsets, -1))
    return {name: min(max(offset, first[name].offset), end[name].offset) for name, offset in offsets.items()}


@command.command("delete")
@click.argument("groups", nargs=-1, required=True, shell_complete=complete_groups)
@cluster_options
def delete(cluster: Cluster, groups: tuple[str, ...]) -> None:
    """Delete groups that have no members, with their offsets.

    Example: oncelog groups delete billing
    """
    with cluster.admin() as admin:
        for group in groups:
            _existing(admin, group)
        admin.delete_consumer_groups(groups)
    if cluster.as_json:
        show_json({"deleted": list(groups)})
    else:
        click.echo(f"deleted {', '.join(groups)}")


@command.command("delete-offsets")
@click.argument("group", shell_complete=complete_groups)
@click.option(
    "--topic", "topics", multiple=True, required=True, metavar="TOPIC[:0,1]", help="Topic, or some partitions of it."
)
@cluster_options
def delete_offsets(cluster: Cluster, group: str, topics: tuple[str, ...]) -> None:
    """Forget a group's offsets in topics that no member reads.

    Example: oncelog groups delete-offsets billing --topic orders
    """
    with cluster.admin() as admin:
        _, committed = _existing(admin, group)
        wanted = partition_numbers(topics, "--topic")
        names = sorted(n for n in committed if n.topic in wanted and n.partition in (wanted[n.topic] or [n.partition]))
        if names:
            admin.delete_consumer_group_offsets(group, names)
    if cluster.as_json:
        show_json({"deleted": [str(name) for name in names]})
    else:
        click.echo(f"deleted {', '.join(map(str, names))}" if names else "there was nothing to delete")
