"""The operator of a simulated cluster: notes markers that unclean elections cut off, ends transactions that they
left open.

A marker that was written and cut off is never written again: its coordinator has done its part. A transaction that is
left open like this hangs, as in Apache Kafka, until an operator ends it (KIP-664). If one hangs for any other reason,
that is a bug.
"""

from __future__ import annotations

from collections.abc import Sequence

from oncelog.broker.core.cluster.cluster import ClusterHost, Replicas
from oncelog.broker.server.server import Server
from oncelog.client.aio.admin.admin import Admin
from oncelog.testing.simulation import Simulation
from oncelog.types import TopicPartition
from tests.simulation.history import History


class CutMarkers:
    """Sits in front of the broker's side of its cluster, and notes the markers that are cut off."""

    def __init__(self, host: ClusterHost, server: Server, history: History) -> None:
        self._host, self._server, self._history = host, server, history
        self.end_offset = host.end_offset
        self.allows_unclean = host.allows_unclean
        self.in_sync_changed = host.in_sync_changed

    def leader_changed(self, topic_partition: TopicPartition, replicas: Replicas, truncate_to: int | None) -> None:
        partition = self._server.broker.partition(topic_partition)
        if truncate_to is not None and partition is not None:
            self._history.cut_markers.update(
                (topic_partition, header.producer_id)
                for header, _ in partition.log.batches(truncate_to)
                if header.is_control and header.base_offset >= truncate_to
            )
        self._host.leader_changed(topic_partition, replicas, truncate_to)


def note_cut_markers(server: Server, history: History) -> None:
    """Do so from now on, in this life of the broker."""
    cluster = server.broker.cluster
    if cluster is not None:
        cluster._host = CutMarkers(cluster._host, server, history)


async def end_hanging(world: Simulation, history: History, wheres: Sequence[TopicPartition]) -> None:
    """What an operator does when readers wait: find what hangs, and abort it."""
    async with Admin(bootstrap_servers=world.bootstrap_servers) as admin:
        for where, state in await admin.find_hanging_transactions(wheres):
            begin = f"offset {state.transaction_start_offset} of {where}"
            what = f"a transaction of producer {state.producer_id} from {begin} on"
            if (where, state.producer_id) in history.cut_markers:
                world.note(f"aborts {what}", "operator")
                await admin.abort_transaction(where, producer=state)
            else:
                history.unfinished.append(f"{what} hangs, though no marker of it was cut off")
