"""``oncelog reassign``: other nodes hold partitions, or more of them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from oncelog.cli.completion import complete_topics
from oncelog.cli.options import Cluster, cluster_options, partition_numbers, text
from oncelog.cli.output import counted, progress, remark, show_json, show_table
from oncelog.errors import ConfigError, Error, KafkaError
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.client.blocking import Admin
    from oncelog.client.core.admin_types import PartitionDescription, PartitionReassignment
    from oncelog.client.core.replica_placement import Nodes

POLL_S = 0.5
AT_ONCE = 1000
"""Partitions in one request: Kafka's controller refuses a change of more than 10,000 records."""
Replicas = Mapping[TopicPartition, Sequence[int]]


@click.command("reassign")
@click.argument("topics", nargs=-1, type=text, metavar="[TOPIC[:0,1]]...", shell_complete=complete_topics)
@click.option("--replication-factor", type=click.IntRange(min=1), help="Replicas of each. Default: as many as it has.")
@click.option("--nodes", "node_ids", metavar="1,2,3", help="The nodes that shall hold them. Default: all that are up.")
@click.option("--dry-run", is_flag=True, help="Say what would be moved.")
@click.option("--no-wait", is_flag=True, help="Return as soon as the moves have begun.")
@click.option("--show", "action", flag_value="show", help="Say which moves are under way, and change nothing.")
@click.option("--cancel", "action", flag_value="cancel", help="End the moves that are under way.")
@cluster_options
def command(
    cluster: Cluster,
    topics: tuple[str, ...],
    replication_factor: int | None,
    node_ids: str | None,
    dry_run: bool,
    no_wait: bool,
    action: str | None,
) -> None:
    """Spread partitions over nodes; of TOPICs, or of all, the coordinators' own too.

    Replicas that may stay where they are stay. It waits until the new replicas have caught up and then has the first of
    each partition lead. Broken off, the cluster goes on with the moves.

    \b
    Examples:
      oncelog reassign --replication-factor 3
      oncelog reassign orders payments:0,1 --nodes 2,3,4
    """
    if action and (replication_factor or node_ids or dry_run or no_wait):
        raise ConfigError(f"--{action} changes no replicas: leave out what says which there shall be")
    with cluster.admin() as admin:
        current = _current(admin, topics)
        if action == "show":
            _show_under_way(cluster, admin.list_partition_reassignments(current))
        elif action == "cancel":
            under_way = admin.list_partition_reassignments(current)
            _cancel(admin, under_way)
            _say(cluster, "cancelled", [_row(name, move.replicas, None) for name, move in under_way.items()])
        else:
            _reassign(cluster, admin, current, _nodes(admin, node_ids), replication_factor, dry_run, no_wait)


def _current(admin: Admin, topics: tuple[str, ...]) -> dict[TopicPartition, PartitionDescription]:
    wanted = partition_numbers(topics, "TOPIC")
    found = {
        TopicPartition(topic.name, item.partition): item
        for topic in admin.describe_topics(list(wanted) or admin.list_topics(internal=True))
        for item in topic.partitions
    }
    for topic, numbers in wanted.items():
        missing = [number for number in numbers or () if TopicPartition(topic, number) not in found]
        if missing:
            raise ConfigError(f"topic {topic!r} has no partition {missing[0]}")
    return {
        name: item
        for name, item in found.items()
        if not wanted or (chosen := wanted[name.topic]) is None or name.partition in chosen
    }


def _nodes(admin: Admin, given: str | None) -> Nodes:
    """The nodes to use, with their racks."""
    there = {node.node_id: node.rack for node in admin.describe_cluster().nodes}
    if given is None:
        return there
    try:
        wanted = sorted({int(number) for number in given.split(",")})
    except ValueError:
        raise ConfigError(f"--nodes takes numbers of nodes with commas, as 1,2,3, not {given!r}") from None
    missing = [number for number in wanted if number not in there]
    if missing:
        raise ConfigError(f"there is no node {missing[0]} in the cluster now; it has {', '.join(map(str, there))}")
    return {number: there[number] for number in wanted}


def _reassign(
    cluster: Cluster,
    admin: Admin,
    there: Mapping[TopicPartition, PartitionDescription],
    nodes: Nodes,
    replication_factor: int | None,
    dry_run: bool,
    no_wait: bool,
) -> None:
    from oncelog.client.core.replica_placement import spread

    current = {name: item.replicas for name, item in there.items()}
    under_way = admin.list_partition_reassignments(current)
    wanted = {name: _without(replicas, under_way.get(name)) for name, replicas in current.items()}
    target = spread(wanted, nodes, replication_factor)
    moves = {name: replicas for name, replicas in target.items() if replicas != current[name] or name in under_way}
    rows = [_row(name, current[name], replicas) for name, replicas in moves.items()]
    if dry_run:
        _say(cluster, "would be moved", rows)
        return
    for names in _parts(moves):
        admin.alter_partition_reassignments({name: moves[name] for name in names})
    if not no_wait:
        for name in moves:
            if there[name].leader < 0:
                remark(f"{name} has no leader, and is moved once it has one; --cancel ends the moves that wait")
        _wait(admin, moves)
        _have_first_lead(admin, moves)
    _say(cluster, "moves begun" if no_wait else "moved", rows)


def _without(replicas: Sequence[int], move: PartitionReassignment | None) -> list[int]:
    """The replicas that a partition has once its move is done: until then it has both, the old and the new."""
    return [node for node in replicas if move is None or node not in move.removing]


def _parts(partitions: Iterable[TopicPartition]) -> Iterator[list[TopicPartition]]:
    names = list(partitions)
    return (names[first : first + AT_ONCE] for first in range(0, len(names), AT_ONCE))


def _cancel(admin: Admin, under_way: Iterable[TopicPartition]) -> None:
    for names in _parts(under_way):
        try:
            admin.alter_partition_reassignments(dict.fromkeys(names))
        except KafkaError as error:
            if error.error is not Error.NO_REASSIGNMENT_IN_PROGRESS:  # one that was done meanwhile
                raise


def _have_first_lead(admin: Admin, moved: Iterable[TopicPartition]) -> None:
    for names in _parts(moved):
        for name, error in admin.elect_leaders(names).items():
            if error not in (Error.NONE, Error.ELECTION_NOT_NEEDED):
                remark(f"the first replica of {name} does not lead: {error.name}")


def _wait(admin: Admin, moves: Iterable[TopicPartition]) -> None:
    names = list(moves)
    with progress("moving", len(names)) as advance:
        left = len(names)
        while left:
            still = len(admin.list_partition_reassignments(names))
            advance(left - still, f"{still} to go")
            left = still
            if left:
                time.sleep(POLL_S)


def _row(name: TopicPartition, before: Sequence[int], after: Sequence[int] | None) -> dict[str, Any]:
    row: dict[str, Any] = {"topic": name.topic, "partition": name.partition, "replicas": list(before)}
    return row if after is None else {**row, "new_replicas": list(after)}


def _say(cluster: Cluster, what: str, rows: Sequence[Mapping[str, Any]]) -> None:
    if cluster.as_json:
        show_json([dict(row) for row in rows])
        return
    remark(f"{counted(len(rows), 'partition')} {what}")
    _table(rows)


def _show_under_way(cluster: Cluster, moves: Mapping[TopicPartition, PartitionReassignment]) -> None:
    rows = [
        {**_row(name, move.replicas, None), "adding": list(move.adding), "removing": list(move.removing)}
        for name, move in sorted(moves.items())
    ]
    _say(cluster, "on the move", rows)


def _table(rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        show_table(
            [heading.upper().replace("_", "-") for heading in rows[0]],
            [[" ".join(map(str, cell)) if isinstance(cell, list) else cell for cell in row.values()] for row in rows],
        )
