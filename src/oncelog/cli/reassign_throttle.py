"""``oncelog reassign --throttle``: limits the bytes per second copied to new replicas (KIP-73).

A rate for all brokers, and for each topic the replicas that it is meant for: the ones that are copied from, and the
new ones. Kafka counts none of a replica that is in sync, so producers' writes are not held up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from oncelog.cli.output import remark

if TYPE_CHECKING:
    from oncelog.client.blocking import Admin
    from oncelog.client.core.admin_types import ConfigResource, PartitionReassignment
    from oncelog.types import TopicPartition

FROM, TO = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
AT_ONCE = 1000
Replicas = Mapping["TopicPartition", Sequence[int]]


def throttle(
    admin: Admin,
    current: Replicas,
    under_way: Mapping[TopicPartition, PartitionReassignment],
    moves: Replicas,
    bytes_a_second: int,
) -> None:
    """Set the throttle before the moves begin; :func:`lift` removes it."""
    changes: dict[ConfigResource, dict[str, str | None]] = {
        _topic(topic): {name: ",".join(replicas) for name, replicas in lists.items()}
        for topic, lists in throttled_replicas(current, under_way, moves).items()
    }
    if not changes:
        return
    _alter(admin, {**changes, _every_broker(): dict.fromkeys(RATES, str(bytes_a_second))})
    remark(
        f"copies take {bytes_a_second} bytes/s at most of each node until this command has seen them end; "
        f"if you interrupt it, run it again or use --lift-throttle"
    )


def throttled_replicas(
    current: Replicas, under_way: Mapping[TopicPartition, PartitionReassignment], moves: Replicas
) -> dict[str, dict[str, list[str]]]:
    """The settings of each topic that is copied, as ``partition:node``."""
    found: dict[str, dict[str, list[str]]] = {}
    for name, wanted in sorted(moves.items()):
        adding = under_way[name].adding if name in under_way else ()
        sources = [node for node in current[name] if node not in adding]
        new = [node for node in wanted if node not in sources]
        if not new:
            continue  # another leader, or fewer replicas: nothing is copied
        lists = found.setdefault(name.topic, {FROM: [], TO: []})
        lists[FROM] += [f"{name.partition}:{node}" for node in sources]
        lists[TO] += [f"{name.partition}:{node}" for node in new]
    return found


def lift(admin: Admin, topics: Iterable[str]) -> None:
    """Remove the throttle from all replicas of these topics, and the rate unless others still move."""
    there = set(admin.list_topics(internal=True))
    changes: dict[ConfigResource, dict[str, str | None]] = {
        _topic(topic): {FROM: None, TO: None} for topic in sorted(set(topics) & there)
    }
    if admin.list_partition_reassignments():
        remark("other partitions are being moved: the throttle's rate stays; remove it later with --lift-throttle")
    else:
        changes[_every_broker()] = dict.fromkeys(RATES)
    _alter(admin, changes)


def _alter(admin: Admin, changes: Mapping[ConfigResource, Mapping[str, str | None]]) -> None:
    """Alter in parts: Kafka's controller refuses a change of more than 10,000 records."""
    items = list(changes.items())
    for first in range(0, len(items), AT_ONCE):
        admin.alter_configs(dict(items[first : first + AT_ONCE]))


def _topic(name: str) -> ConfigResource:
    from oncelog.client.core.admin_types import ConfigResource, ConfigResourceType

    return ConfigResource(ConfigResourceType.TOPIC, name)


def _every_broker() -> ConfigResource:
    from oncelog.client.core.admin_types import ConfigResource, ConfigResourceType

    return ConfigResource(ConfigResourceType.BROKER, "")
