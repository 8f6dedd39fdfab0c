"""``oncelog reassign``: other nodes hold partitions, or more of them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from oncelog.cli.completion import complete_topics
from oncelog.cli.options import Cluster, Seconds, cluster_options, partition_numbers, text
from oncelog.cli.output import counted, draws_progress, progress, remark, show_json, show_table
from oncelog.cli.reassign_throttle import lift
from oncelog.cli.reassign_throttle import throttle as set_throttle
from oncelog.errors import ConfigError, Error, KafkaError, OncelogError
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.client.blocking import Admin
    from oncelog.client.core.admin_types import PartitionDescription, PartitionReassignment
    from oncelog.client.core.replica_placement import Nodes

POLL_S = 0.5
SAY_EVERY_S = 30.0
LAG_S = 10.0
"""How long to ask a broker again that does not know yet that a move has ended."""
NAMED = 3
"""How many partitions a sentence names; others are only counted."""
AT_ONCE = 1000
"""The most partitions in one request: Kafka's controller refuses a change of more than 10,000 records."""
Replicas = Mapping[TopicPartition, Sequence[int]]


class MoveError(OncelogError):
    """Partitions are not, or not yet, where they should be; the text names them."""


@click.command("reassign")
@click.argument("topics", nargs=-1, type=text, metavar="[TOPIC[:0,1]]...", shell_complete=complete_topics)
@click.option(
    "--replication-factor", type=click.IntRange(min=1), help="Replicas of each partition. Default: as many as it has."
)
@click.option(
    "--nodes",
    "node_ids",
    metavar="1,2,3",
    help="The nodes that are to hold the replicas. Default: all nodes that are up.",
)
@click.option("--dry-run", is_flag=True, help="Print what would be moved.")
@click.option("--no-wait", is_flag=True, help="Return as soon as the moves have begun.")
@click.option(
    "--timeout", type=Seconds(), metavar="SECONDS", help="How long to wait. Default: until the moves have ended."
)
@click.option(
    "--throttle",
    type=click.IntRange(min=1),
    metavar="BYTES/S",
    help="The most bytes per second that copying may use on each node.",
)
@click.option("--show", "action", flag_value="show", help="Print which moves are in progress, and change nothing.")
@click.option("--cancel", "action", flag_value="cancel", help="Cancel the moves that are in progress.")
@click.option(
    "--lift-throttle",
    "action",
    flag_value="lift-throttle",
    help="Remove a throttle that an interrupted command left behind.",
)
@cluster_options
def command(
    cluster: Cluster,
    topics: tuple[str, ...],
    replication_factor: int | None,
    node_ids: str | None,
    dry_run: bool,
    no_wait: bool,
    timeout: float | None,
    throttle: int | None,
    action: str | None,
) -> None:
    """Spread partitions over nodes; of TOPICs, or of all, the coordinators' own too.

    Replicas that may stay where they are stay. It waits until the new replicas have caught up and then has the first of
    each partition lead; every 30 s it says what is still to be moved. If interrupted, the cluster continues, and
    with --throttle: the same command waits again, and takes the throttle back at the end.

    \b
    Examples:
      oncelog reassign --replication-factor 3
      oncelog reassign orders payments:0,1 --nodes 2,3,4 --throttle 50000000
    """
    if action and (replication_factor or node_ids or dry_run or no_wait or timeout is not None or throttle):
        raise ConfigError(
            f"--{action} changes no replicas: leave out the options that say which nodes are to hold them"
        )
    if no_wait and timeout is not None:
        raise ConfigError("--no-wait does not wait: leave out --timeout")
    with cluster.admin() as admin:
        current = _current(admin, topics)
        if action == "show":
            _show_under_way(cluster, admin.list_partition_reassignments(current))
        elif action == "cancel":
            under_way = admin.list_partition_reassignments(current)
            _cancel(admin, under_way)
            _say(cluster, "cancelled", [_row(name, move.replicas, None) for name, move in under_way.items()])
        elif action == "lift-throttle":
            topics_now = sorted({name.topic for name in current})
            lift(admin, topics_now)
            if cluster.as_json:
                show_json({"lifted": topics_now})
            else:
                remark(f"the throttle of {counted(len(topics_now), 'topic')} is lifted")
        else:
            rows, moves, moving = _plan(admin, current, node_ids, replication_factor)
            if dry_run:
                _say(cluster, "would be moved", rows)
                return
            if throttle is not None and moves:
                set_throttle(admin, {name: current[name].replicas for name in moves}, moving, moves, throttle)
            _move(cluster, admin, current, rows, moves, no_wait, timeout)
            if throttle is not None and not no_wait:
                lift(admin, {name.topic for name in current})


def _current(admin: Admin, topics: tuple[str, ...]) -> dict[TopicPartition, PartitionDescription]:
    wanted = partition_numbers(topics, "TOPIC")
    found = _partitions(admin, list(wanted) or admin.list_topics(internal=True))
    for topic, numbers in wanted.items():
        missing = [number for number in numbers or () if TopicPartition(topic, number) not in found]
        if missing:
            raise ConfigError(f"topic {topic!r} has no partition {missing[0]}")
    return {
        name: item
        for name, item in found.items()
        if not wanted or (chosen := wanted[name.topic]) is None or name.partition in chosen
    }


def _partitions(admin: Admin, topics: list[str]) -> dict[TopicPartition, PartitionDescription]:
    return {
        TopicPartition(topic.name, item.partition): item
        for topic in admin.describe_topics(topics)
        for item in topic.partitions
    }


def _left_of(admin: Admin, names: Iterable[TopicPartition]) -> dict[TopicPartition, PartitionDescription]:
    """The current partitions, without those whose topic was deleted."""
    topics = {name.topic for name in names}
    return _partitions(admin, [topic for topic in admin.list_topics(internal=True) if topic in topics])


def _nodes(admin: Admin, given: str | None) -> Nodes:
    """The nodes to use, with their racks."""
    there = {node.node_id: node.rack for node in admin.describe_cluster().nodes}
    if given is None:
        return there
    try:
        wanted = sorted({int(number) for number in given.split(",")})
    except ValueError:
        raise ConfigError(f"--nodes takes node numbers separated by commas, such as 1,2,3, not {given!r}") from None
    missing = [number for number in wanted if number not in there]
    if missing:
        raise ConfigError(f"the cluster has no node {missing[0]} now; it has {', '.join(map(str, there))}")
    return {number: there[number] for number in wanted}


def _plan(
    admin: Admin,
    there: Mapping[TopicPartition, PartitionDescription],
    node_ids: str | None,
    replication_factor: int | None,
) -> tuple[list[dict[str, Any]], Replicas, Mapping[TopicPartition, PartitionReassignment]]:
    """The moves as they are shown, the new replicas of these partitions, and the moves under way."""
    from oncelog.client.core.replica_placement import spread

    nodes = _nodes(admin, node_ids)
    current = {name: item.replicas for name, item in there.items()}
    under_way = admin.list_partition_reassignments(current)
    wanted = {name: _without(replicas, under_way.get(name)) for name, replicas in current.items()}
    if node_ids is None:
        _refuse_if_down(wanted, nodes)
    target = spread(wanted, nodes, replication_factor)
    moves = {name: replicas for name, replicas in target.items() if replicas != current[name] or name in under_way}
    return [_row(name, current[name], replicas) for name, replicas in moves.items()], moves, under_way


def _refuse_if_down(wanted: Replicas, nodes: Nodes) -> None:
    """Refuse if a node is down, because a restarting node keeps its replicas, unless the nodes were given
    explicitly."""
    for name, replicas in sorted(wanted.items()):
        for node in replicas:
            if node not in nodes:
                raise ConfigError(
                    f"node {node} holds replicas, of {name} for one, and is not in the cluster now: start it, or say "
                    f"with --nodes which nodes are to hold them instead; there are {', '.join(map(str, sorted(nodes)))}"
                )


def _move(
    cluster: Cluster,
    admin: Admin,
    there: Mapping[TopicPartition, PartitionDescription],
    rows: Sequence[Mapping[str, Any]],
    moves: Replicas,
    no_wait: bool,
    timeout: float | None,
) -> None:
    for names in _parts(moves):
        admin.alter_partition_reassignments({name: moves[name] for name in names})
    if no_wait:
        _say(cluster, "being moved", rows)
        return
    for name in moves:
        if there[name].leader < 0:
            remark(f"{name} has no leader, and is moved once it has one; --cancel ends the moves that wait")
    _wait(admin, moves, timeout)
    wrong = _misplaced(admin, moves)
    _have_first_lead(admin, [name for name in moves if name not in wrong])
    _say(cluster, "moved", [row for row in rows if TopicPartition(row["topic"], row["partition"]) not in wrong])
    if wrong:
        raise MoveError(
            f"{counted(len(wrong), 'partition')} not moved, because someone else cancelled or changed the move or "
            f"deleted the topic ({_some(wrong.values())}): find out who did, and run the command again"
        )


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
            if error.error is not Error.NO_REASSIGNMENT_IN_PROGRESS:  # one that has ended meanwhile
                raise


def _have_first_lead(admin: Admin, moved: Iterable[TopicPartition]) -> None:
    for names in _parts(moved):
        for name, error in admin.elect_leaders(names).items():
            if error not in (Error.NONE, Error.ELECTION_NOT_NEEDED):
                remark(f"the first replica of {name} does not lead: {error.name}")


def _wait(admin: Admin, moves: Replicas, timeout: float | None) -> None:
    """Wait until no move is under way, whatever its outcome."""
    names = list(moves)
    began = said = time.monotonic()
    left, lacking = len(names), ""
    with progress("moving", left) as advance:
        while names and (still := admin.list_partition_reassignments(names)):
            now = time.monotonic()
            if timeout is not None and now - began >= timeout:
                raise MoveError(
                    f"{counted(len(still), 'partition')} still to be moved after --timeout {timeout:g} "
                    f"({_lacking(admin, still)}): the cluster continues with the moves; the same command waits again "
                    f"once all of these nodes are up, and --cancel ends them"
                )
            if now - said >= SAY_EVERY_S:
                said, lacking = now, f": {_lacking(admin, still)}"
                if not draws_progress():
                    remark(f"{counted(len(still), 'partition')} still to go{lacking}")
            advance(left - len(still), f"{len(still)} to go{lacking}")
            left = len(still)
            time.sleep(POLL_S)


def _lacking(admin: Admin, still: Mapping[TopicPartition, PartitionReassignment]) -> str:
    """Which new replicas have not caught up, and whether their nodes are up."""
    up = {node.node_id for node in admin.describe_cluster().nodes}
    there = _left_of(admin, still)

    def one(name: TopicPartition, move: PartitionReassignment) -> str:
        if (item := there.get(name)) is not None and item.leader < 0:
            return f"{name} has no leader"
        missing = [node for node in move.adding if item is None or node not in item.isr]
        nodes = [f"node {node}" if node in up else f"node {node}, which is not in the cluster now" for node in missing]
        return f"{name} waits for {' and '.join(nodes)}" if nodes else f"{name} is about to end"

    return _some([one(name, move) for name, move in sorted(still.items())])


def _misplaced(admin: Admin, moves: Replicas) -> dict[TopicPartition, str]:
    """Partitions that are not on the requested nodes, each with a text that says where it is."""
    until = time.monotonic() + LAG_S
    while moves:
        there = _left_of(admin, moves)
        found = {name: there[name].replicas if name in there else None for name in moves}
        wrong = {
            name: f"{name} is gone" if nodes is None else f"{name} is on {_ids(nodes)}, not on {_ids(moves[name])}"
            for name, nodes in found.items()
            if nodes is None or set(nodes) != set(moves[name])
        }
        if not wrong or time.monotonic() >= until:
            return wrong
        time.sleep(POLL_S)
    return {}


def _ids(nodes: Iterable[int]) -> str:
    return " ".join(map(str, nodes))


def _some(texts: Iterable[str]) -> str:
    every = list(texts)
    more = [f"and {len(every) - NAMED} more"] if len(every) > NAMED else []
    return "; ".join([*every[:NAMED], *more])


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
