"""The offset at which a read_committed reader has read everything: the last stable offset, once it has caught up with
ending transactions.

Called by readers of a topic up to its end: the admin client, and through it exports, mirrors and commands, and Spark.

A coordinator acknowledges the end of a transaction as soon as its own log has it, and writes the markers to the
partitions afterwards (KIP-98). So the last stable offset may lag behind a commit that its producer knows of.
Coordinators report whether a transaction is still open or is being completed (ListTransactions, KIP-664, from Apache
Kafka 3.0 on, with DESCRIBE on the transactional id). If none reports it, the reader waits ``WAIT_FOR_UNKNOWN_S`` for
the last stable offset to move.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from oncelog.client.aio.connection.cluster_access import GIVE_UP_ON_UNKNOWN_SECONDS, ClusterAccess
from oncelog.client.aio.offset_lookups import LATEST, FoundOffset, list_offsets
from oncelog.client.aio.transaction_lookups import describe_producers, list_transactions
from oncelog.client.core.structs import TopicPartition
from oncelog.errors import Error, KafkaError
from oncelog.runtime import real_asyncio as asyncio

log = logging.getLogger(__name__)

WAIT_FOR_MARKERS_S = 30.0
"""How long to wait for the markers of a transaction that is being ended; meanwhile a partition may have no leader."""
WAIT_FOR_UNKNOWN_S = 1.0
"""How long to wait for a transaction whose state no coordinator reports to this client."""
LOOKUP_S = 5.0
"""The time limit for coordinators to report the states of transactions."""
_PAUSE_S = 0.005
_MAX_PAUSE_S = 0.1
_OPEN = frozenset({"Ongoing"})
_BEING_ENDED = frozenset({"PrepareCommit", "PrepareAbort", "PrepareEpochFence"})
_NOT_REPORTED = (
    Error.UNSUPPORTED_VERSION,
    Error.TOPIC_AUTHORIZATION_FAILED,
    Error.CLUSTER_AUTHORIZATION_FAILED,
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)

Offsets = Mapping[TopicPartition, int]


class SettledEnds:
    """Finds the ends of one cluster's partitions for read_committed readers.

    The object keeps which transaction holds an end back and which has been awaited in vain, so that a caller that asks
    repeatedly, such as a streaming query, waits only once for each transaction. It also keeps the ends that no
    transaction held back: while a log still ends there under the same leader epoch, one request suffices.
    """

    def __init__(self, cluster: ClusterAccess) -> None:
        self._cluster = cluster
        self._holders: dict[TopicPartition, tuple[int, int]] = {}
        self._in_vain: dict[TopicPartition, int] = {}
        self._free: dict[TopicPartition, FoundOffset] = {}

    async def of(
        self,
        partitions: Iterable[TopicPartition],
        *,
        read: Offsets | None = None,
        wait_for_unknown_s: float = GIVE_UP_ON_UNKNOWN_SECONDS,
    ) -> dict[TopicPartition, FoundOffset]:
        """The last stable offset of each partition, after the markers of all transactions whose end was acknowledged
        before this call.

        A transaction that is open is not waited for. A transaction that is being ended is awaited for
        ``WAIT_FOR_MARKERS_S``; a transaction whose state no coordinator reports, for ``WAIT_FOR_UNKNOWN_S``. If no
        transaction holds an end back, this takes as long as one request, or two in sequence if this object knew an
        earlier end.

        :param read: the offsets up to which the caller has read; there is no waiting while a partition can be read
            beyond them.
        :raises KafkaError: as :func:`~oncelog.client.aio.offset_lookups.list_offsets`.
        """
        names = list(partitions)
        if self._free.keys() >= {*names}:
            ends = await self._ends(names, False, wait_for_unknown_s)
            if all(ends[name] == self._free[name] for name in names):
                return ends
            stable = await self._ends(names, True, wait_for_unknown_s)
        else:
            stable, ends = await asyncio.gather(
                self._ends(names, True, wait_for_unknown_s), self._ends(names, False, wait_for_unknown_s)
            )
        now_s = asyncio.get_running_loop().time
        since = {name: (stable[name].offset, now_s()) for name in names}
        pause_s = _PAUSE_S
        while behind := {name: stable[name].offset for name in names if stable[name].offset < ends[name].offset}:
            if read is not None and any(stable[name].offset != read.get(name) for name in names):
                break
            waits_s = await self._waits(behind)
            stable |= await self._ends(list(behind), True, wait_for_unknown_s)
            since |= {name: (stable[name].offset, now_s()) for name in behind if stable[name].offset != since[name][0]}
            stuck = {
                name: offset
                for name, offset in behind.items()
                if stable[name].offset == offset and now_s() - since[name][1] >= waits_s[name]
            }
            self._give_up({name: offset for name, offset in stuck.items() if waits_s[name]}, waits_s)
            if len(stuck) == len(behind):
                break
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _MAX_PAUSE_S)
        self._free = {name: end for name, end in ends.items() if stable[name] == end}
        return stable

    async def _ends(
        self, names: list[TopicPartition], read_committed: bool, wait_for_unknown_s: float
    ) -> dict[TopicPartition, FoundOffset]:
        return await list_offsets(
            self._cluster,
            dict.fromkeys(names, LATEST),
            read_committed=read_committed,
            wait_for_unknown_s=wait_for_unknown_s,
        )

    def _give_up(self, late: Offsets, waits_s: Mapping[TopicPartition, float]) -> None:
        self._in_vain |= late
        for name, offset in late.items():
            if waits_s[name] == WAIT_FOR_MARKERS_S:
                log.warning(
                    "the records of %s from offset %d on are left for a later read: the transaction that has them was "
                    "ended %.0f s ago, and its coordinator has not written that into the partition yet",
                    name,
                    offset,
                    WAIT_FOR_MARKERS_S,
                )

    async def _waits(self, behind: Offsets) -> dict[TopicPartition, float]:
        """How long to wait for the transaction at each last stable offset, in seconds; 0 for not at all."""
        asked = {name: offset for name, offset in behind.items() if self._in_vain.get(name) != offset}
        states: Mapping[TopicPartition, str | None] = {}
        try:
            async with asyncio.timeout(LOOKUP_S):
                states = await self._states(asked)
        except TimeoutError:
            log.debug("the states of transactions were not received within %.0f s", LOOKUP_S)
        except KafkaError as error:
            if error.error not in _NOT_REPORTED:
                raise
            log.debug("the states of transactions could not be requested: %s", error)
        return {name: _wait_s(states.get(name)) if name in asked else 0.0 for name in behind}

    async def _states(self, asked: Offsets) -> dict[TopicPartition, str | None]:
        """The state of the transaction that begins at each of these offsets, as its coordinator reports it."""
        unknown = [name for name, offset in asked.items() if self._holders.get(name, (-1, -1))[0] != offset]
        for name, producers in (await describe_producers(self._cluster, unknown)).items():
            first = [one for one in producers if 0 <= one.transaction_start_offset <= asked[name]]
            if first:
                holder = min(first, key=lambda one: one.transaction_start_offset)
                self._holders[name] = asked[name], holder.producer_id
        held = {
            name: producer_id
            for name, (offset, producer_id) in self._holders.items()
            if name in asked and asked[name] == offset
        }
        if not held:
            return {}
        listed = await list_transactions(self._cluster, producer_ids=sorted(set(held.values())))
        states = {one.producer_id: one.state for one in listed}
        return {name: states.get(producer_id) for name, producer_id in held.items()}


def _wait_s(state: str | None) -> float:
    """How long to wait for a transaction in this state, in seconds. A complete one already has its markers, so
    replication holds the offset back, or the transaction hangs."""
    if state in _OPEN:
        return 0.0
    return WAIT_FOR_MARKERS_S if state in _BEING_ENDED else WAIT_FOR_UNKNOWN_S


__all__ = ["SettledEnds"]
