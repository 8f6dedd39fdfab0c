"""Looks up offsets: ListOffsets and OffsetForLeaderEpoch at leaders, a group's committed offsets at its coordinator.

Called by consumer, admin client and Spark's workers. Requests are repeated until the answer is definite or time is up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from oncelog.client.aio.connection.cluster_access import GIVE_UP_ON_UNKNOWN_SECONDS, ClusterAccess
from oncelog.client.core.client_errors import CommitFailedError, error_for, error_of
from oncelog.client.core.connection.coordinator_lookup import CoordinatorFinder
from oncelog.client.core.connection.wire import (
    LIST_OFFSETS,
    LIST_OFFSETS_BY_MAX_TIMESTAMP,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    OFFSET_FOR_LEADER_EPOCH,
)
from oncelog.client.core.consumer.truncation import CONSUMER
from oncelog.client.core.group.membership import MEMBER_REFUSED
from oncelog.client.core.structs import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.protocol.generated.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from oncelog.protocol.generated.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from oncelog.types import by_topic

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3

_MEMBER_MOVED = frozenset({Error.STALE_MEMBER_EPOCH, Error.UNKNOWN_MEMBER_ID})


class MemberEpochChanged(KafkaError):
    """The member's epoch changed during the request. Unlike STALE_MEMBER_EPOCH from a broker, this error is retriable:
    the member is still in the group."""

    retriable = True


class FoundOffset(NamedTuple):
    """An answer of ListOffsets; offset -1 if no record is that late."""

    offset: int
    timestamp: int
    leader_epoch: int


async def list_offsets(
    cluster: ClusterAccess,
    wanted: Mapping[TopicPartition, int],
    *,
    read_committed: bool,
    wait_for_unknown_s: float = GIVE_UP_ON_UNKNOWN_SECONDS,
) -> dict[TopicPartition, FoundOffset]:
    """Offsets by timestamp (or ``LATEST``, ``EARLIEST``, ``MAX_TIMESTAMP``), from each partition's leader.

    :raises KafkaError: a partition does not exist, may not be read, or gave no answer in time; its leader does not know
        ``MAX_TIMESTAMP``.
    """
    api = LIST_OFFSETS_BY_MAX_TIMESTAMP if MAX_TIMESTAMP in wanted.values() else LIST_OFFSETS

    async def ask(node: int, names: list[TopicPartition]) -> dict[TopicPartition, FoundOffset | KafkaError]:
        topics: dict[str, list[ListOffsetsPartition]] = defaultdict(list)
        for name in names:
            topics[name.topic].append(ListOffsetsPartition(partition_index=name.partition, timestamp=wanted[name]))

        def build(version: int) -> ListOffsetsRequest:
            return ListOffsetsRequest(
                replica_id=-1,
                isolation_level=int(read_committed) if version >= 2 else 0,
                topics=[ListOffsetsTopic(name=topic, partitions=items) for topic, items in topics.items()],
                timeout_ms=cluster.config.request_timeout_ms,
            )

        answer = await cluster.ask(node, api, build, channel=1)
        results: dict[TopicPartition, FoundOffset | KafkaError] = {}
        for topic in answer.topics:
            for item in topic.partitions:
                name = TopicPartition(topic.name, item.partition_index)
                code = error_of(item.error_code)
                if code is Error.NONE:
                    results[name] = FoundOffset(item.offset, item.timestamp, item.leader_epoch)
                else:
                    results[name] = error_for(code, f"the offset of {name} was refused")
        return results

    return await cluster.at_leaders("ListOffsets", wanted, ask, wait_for_unknown_s=wait_for_unknown_s)


async def epoch_ends(cluster: ClusterAccess, epochs: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """The offset at which the leader's log of each partition diverges from a log with the given leader epoch (KIP-320);
    -1 if all epochs of the log are older.

    :raises KafkaError: a partition does not exist, may not be seen, or gave no answer in time.
    """

    async def ask(node: int, names: list[TopicPartition]) -> dict[TopicPartition, int | KafkaError]:
        topics: dict[str, list[OffsetForLeaderPartition]] = defaultdict(list)
        for name in names:
            topics[name.topic].append(OffsetForLeaderPartition(name.partition, -1, epochs[name]))
        request = OffsetForLeaderEpochRequest(
            CONSUMER, [OffsetForLeaderTopic(topic, items) for topic, items in topics.items()]
        )
        results: dict[TopicPartition, int | KafkaError] = {}
        for topic in (await cluster.ask(node, OFFSET_FOR_LEADER_EPOCH, request, channel=1)).topics:
            for item in topic.partitions:
                name = TopicPartition(topic.topic, item.partition)
                code = error_of(item.error_code)
                if code is Error.NONE:
                    results[name] = item.end_offset
                else:
                    results[name] = error_for(
                        code, f"the end offset of leader epoch {epochs[name]} of {name} cannot be looked up"
                    )
        return results

    return await cluster.at_leaders("OffsetForLeaderEpoch", epochs, ask)


class OffsetLookups:
    """Fetches and commits the offsets of one group."""

    def __init__(self, cluster: ClusterAccess, finder: CoordinatorFinder, group_id: str) -> None:
        self._cluster = cluster
        self._finder = finder
        self._group_id = group_id

    async def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        identity: Callable[[], ConsumerGroupMetadata],
        timeout_ms: float | None = None,
        refused: Callable[[Error, ConsumerGroupMetadata], None] = lambda error, member: None,
    ) -> None:
        """Commit all offsets, or, if some partitions are refused, those that are accepted.

        :param refused: called with an error that refuses the commit, and with the member that it names.
        :raises CommitFailedError: the member is no longer in the group.
        """
        left = dict(offsets)

        async def ask(node: int) -> None:
            member = identity()
            build = self._commit_request(left, member)
            answer = await self._cluster.ask(node, OFFSET_COMMIT, build, channel=1)
            try:
                last = self._read_commit(answer, left)
            except KafkaError as error:
                refused(error.error, member)
                raise
            if last is not None:
                raise last

        if left:
            what = f"the commit of group {self._group_id!r}"
            await self._cluster.at_coordinator(what, self._finder, ask, timeout_ms=timeout_ms)

    def _commit_request(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], member: ConsumerGroupMetadata
    ) -> Callable[[int], OffsetCommitRequest]:
        topics: dict[str, list[OffsetCommitRequestPartition]] = defaultdict(list)
        for name, position in offsets.items():
            topics[name.topic].append(
                OffsetCommitRequestPartition(
                    partition_index=name.partition,
                    committed_offset=position.offset,
                    committed_leader_epoch=position.leader_epoch,
                    committed_metadata=position.metadata,
                )
            )

        def build(version: int) -> OffsetCommitRequest:
            return OffsetCommitRequest(
                group_id=self._group_id,
                generation_id_or_member_epoch=member.generation_id,
                member_id=member.member_id,
                group_instance_id=member.group_instance_id if version >= 7 else None,
                topics=[OffsetCommitRequestTopic(name=topic, partitions=items) for topic, items in topics.items()],
            )

        return build

    def _read_commit(self, answer: Any, left: dict[TopicPartition, OffsetAndMetadata]) -> KafkaError | None:
        """Remove the accepted partitions from ``left``; returns a retriable error of the remaining ones, or None."""
        last: KafkaError | None = None
        for topic in answer.topics:
            for item in topic.partitions:
                name = TopicPartition(topic.name, item.partition_index)
                error = error_of(item.error_code)
                if error is Error.NONE:
                    left.pop(name, None)
                elif error is Error.STALE_MEMBER_EPOCH:
                    raise MemberEpochChanged(error, f"group {self._group_id!r} has rebalanced meanwhile")
                elif error in MEMBER_REFUSED and error is not Error.FENCED_INSTANCE_ID:
                    raise CommitFailedError(
                        error,
                        f"offsets of group {self._group_id!r} were not committed: the group has rebalanced; continue "
                        "reading, the records are delivered again to the partitions' current owners",
                    )
                elif error.retriable and error is not Error.UNKNOWN_TOPIC_OR_PARTITION:
                    last = error_for(error, f"the commit for {name} was refused")
                else:
                    raise error_for(error, f"the commit of group {self._group_id!r} for {name} was refused")
        return last

    async def fetch(
        self,
        partitions: Iterable[TopicPartition] | None,
        *,
        require_stable: bool,
        identity: Callable[[], ConsumerGroupMetadata] | None = None,
        negative: bool = False,
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Committed positions; partitions without one are left out. None asks for all partitions of the group.

        :param require_stable: wait while a transaction that would change one of them is open (KIP-447).
        :param identity: the member that asks, if it uses the consumer protocol; its current epoch is sent.
        :param negative: also what was committed with an offset below 0, which is not a position: Spark sinks keep their
            markers so.
        """
        wanted = None if partitions is None else by_topic(partitions)

        async def ask(node: int) -> dict[TopicPartition, OffsetAndMetadata]:
            member = identity() if identity is not None else None

            def build(version: int) -> OffsetFetchRequest:
                return self._fetch_request(version, wanted, require_stable, member)

            answer, version = await self._cluster.network.call(node, OFFSET_FETCH, build, channel=1)
            try:
                return self._read_fetch(answer, version, negative)
            except KafkaError as error:
                if member is not None and error.error in _MEMBER_MOVED:
                    raise MemberEpochChanged(
                        error.error, f"group {self._group_id!r} has rebalanced meanwhile"
                    ) from None
                raise

        return await self._cluster.at_coordinator(f"OffsetFetch of group {self._group_id!r}", self._finder, ask)

    def _fetch_request(
        self,
        version: int,
        wanted: Mapping[str, list[int]] | None,
        require_stable: bool,
        member: ConsumerGroupMetadata | None,
    ) -> OffsetFetchRequest:
        stable = require_stable and version >= 7
        if version >= 8:
            group = OffsetFetchRequestGroup(group_id=self._group_id)
            group.topics = (
                None
                if wanted is None
                else [OffsetFetchRequestTopics(name=t, partition_indexes=n) for t, n in wanted.items()]
            )
            if member is not None and version >= 9 and member.member_id:
                group.member_id, group.member_epoch = member.member_id, member.generation_id
            return OffsetFetchRequest(groups=[group], require_stable=stable)
        topics = (
            None
            if wanted is None
            else [OffsetFetchRequestTopic(name=t, partition_indexes=n) for t, n in wanted.items()]
        )
        return OffsetFetchRequest(group_id=self._group_id, topics=topics, require_stable=stable)

    def _read_fetch(self, answer: Any, version: int, negative: bool) -> dict[TopicPartition, OffsetAndMetadata]:
        group = answer.groups[0] if version >= 8 else answer
        error = error_of(group.error_code)
        if error is not Error.NONE:
            raise error_for(error, f"offsets of group {self._group_id!r} were refused")
        found: dict[TopicPartition, OffsetAndMetadata] = {}
        for topic in group.topics:
            for item in topic.partitions:
                name = TopicPartition(topic.name, item.partition_index)
                error = error_of(item.error_code)
                if error is not Error.NONE:
                    raise error_for(error, f"the committed offset of {name} was refused")
                if item.committed_offset >= 0 or (negative and item.metadata):
                    found[name] = OffsetAndMetadata(
                        item.committed_offset, item.metadata or "", item.committed_leader_epoch
                    )
        return found


__all__ = ["EARLIEST", "LATEST", "MAX_TIMESTAMP", "FoundOffset", "OffsetLookups", "list_offsets"]
