"""Offsets asked of the cluster: ListOffsets by leader, OffsetFetch and OffsetCommit at a group's coordinator.

Called by consumer, admin client and transaction session. Everything is repeated until it is definite or its time is up.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from oncelog.client.aio.network import Network
from oncelog.client.core.coordinator import CoordinatorFinder
from oncelog.client.core.errors import CommitFailedError, KafkaTimeoutError, error_for, error_of
from oncelog.client.core.metadata import NO_NODE, ClusterMetadata
from oncelog.client.core.structs import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition
from oncelog.client.core.transaction_requests import by_topic
from oncelog.client.core.wire import LIST_OFFSETS, OFFSET_COMMIT, OFFSET_FETCH
from oncelog.deferred import Deferred
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

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
GIVE_UP_ON_UNKNOWN_SECONDS = 5.0

_COORDINATOR_MOVED = frozenset(
    {Error.COORDINATOR_NOT_AVAILABLE, Error.NOT_COORDINATOR, Error.NETWORK_EXCEPTION, Error.REQUEST_TIMED_OUT}
)
_MEMBER_GONE = frozenset(
    {
        Error.ILLEGAL_GENERATION,
        Error.UNKNOWN_MEMBER_ID,
        Error.STALE_MEMBER_EPOCH,
        Error.FENCED_MEMBER_EPOCH,
        Error.REBALANCE_IN_PROGRESS,
    }
)


async def settled(deferred: Deferred[Any], seconds: float | None = None) -> Any:
    """The value of a deferred.

    :raises TimeoutError: it took longer than ``seconds``.
    """
    if deferred.done:
        return deferred.value
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def resolved(value: Any) -> None:
        if not future.done():
            future.set_result(value)

    deferred.then(resolved)
    async with asyncio.timeout(seconds):
        return await future


class Deadline:
    """Time left of a call."""

    def __init__(self, timeout_ms: float, what: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._what = what
        self._timeout_ms = timeout_ms
        self._begin = self._loop.time()

    @property
    def waited(self) -> float:
        """Seconds since the call began."""
        return self._loop.time() - self._begin

    async def pause(self, backoff_ms: int, error: KafkaError | None) -> None:
        """Wait before the next attempt.

        :raises KafkaTimeoutError: there is no time for one.
        """
        if (self.waited * 1000) + backoff_ms > self._timeout_ms:
            raise KafkaTimeoutError(
                f"{self._what} did not succeed within {self._timeout_ms:g} ms" + (f": {error}" if error else "")
            ) from error
        await asyncio.sleep(backoff_ms / 1000)


class FoundOffset(NamedTuple):
    """An answer of ListOffsets; offset -1 where no record is that late."""

    offset: int
    timestamp: int
    leader_epoch: int


async def list_offsets(
    network: Network,
    metadata: ClusterMetadata,
    wanted: Mapping[TopicPartition, int],
    *,
    read_committed: bool,
    timeout_ms: int,
) -> dict[TopicPartition, FoundOffset]:
    """Offsets by timestamp (or ``LATEST``, ``EARLIEST``, ``MAX_TIMESTAMP``), from each partition's leader.

    :raises KafkaError: a partition does not exist, may not be read, or gave no answer in time.
    """
    deadline = Deadline(timeout_ms, "ListOffsets")
    left = dict(wanted)
    found: dict[TopicPartition, FoundOffset] = {}
    last: KafkaError | None = None
    while left:
        missing = metadata.want({name.topic for name in left})
        if missing or last is not None:
            await settled(metadata.refresh())
        _check_known(metadata, left, deadline)
        by_leader: dict[int, dict[TopicPartition, int]] = defaultdict(dict)
        for name, timestamp in left.items():
            leader = metadata.leader(name)
            if leader != NO_NODE:
                by_leader[leader][name] = timestamp
        answers = await asyncio.gather(
            *(_ask_leader(network, node, items, read_committed) for node, items in by_leader.items())
        )
        last = None
        for answer in answers:
            for name, result in answer.items():
                if isinstance(result, FoundOffset):
                    found[name] = result
                    del left[name]
                elif result.retriable:
                    last = result
                else:
                    raise result
        if left:
            last = last or error_for(Error.LEADER_NOT_AVAILABLE, f"{min(left)} has no leader")
            await deadline.pause(network.config.retry_backoff_ms, last)
    return found


def _check_known(metadata: ClusterMetadata, names: Iterable[TopicPartition], deadline: Deadline) -> None:
    """Raise for a topic or partition that does not exist, once it had the time to come into being."""
    for name in names:
        error = metadata.errors.get(name.topic)
        picture = metadata.topics.get(name.topic)
        if error is not None and not error.retriable:
            raise error_for(error, f"topic {name.topic!r} cannot be read")
        beyond = picture is not None and name.partition >= picture.partition_count
        if (beyond or error is Error.UNKNOWN_TOPIC_OR_PARTITION) and deadline.waited > GIVE_UP_ON_UNKNOWN_SECONDS:
            raise error_for(Error.UNKNOWN_TOPIC_OR_PARTITION, f"{name} does not exist")


async def _ask_leader(
    network: Network, node: int, wanted: Mapping[TopicPartition, int], read_committed: bool
) -> dict[TopicPartition, FoundOffset | KafkaError]:
    topics: dict[str, list[ListOffsetsPartition]] = defaultdict(list)
    for name, timestamp in wanted.items():
        topics[name.topic].append(ListOffsetsPartition(partition_index=name.partition, timestamp=timestamp))

    def build(version: int) -> ListOffsetsRequest:
        return ListOffsetsRequest(
            replica_id=-1,
            isolation_level=int(read_committed) if version >= 2 else 0,
            topics=[ListOffsetsTopic(name=topic, partitions=items) for topic, items in topics.items()],
            timeout_ms=network.config.request_timeout_ms,
        )

    try:
        answer, _ = await network.call(node, LIST_OFFSETS, build, channel=1)
    except KafkaError as error:
        return dict.fromkeys(wanted, error)
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


class GroupOffsets:
    """Committed positions of one group."""

    def __init__(self, network: Network, finder: CoordinatorFinder, group_id: str) -> None:
        self._network = network
        self._finder = finder
        self._group_id = group_id

    async def _coordinator(self, deadline: Deadline, timeout_ms: float) -> int:
        while self._finder.node is None:
            try:
                refused = await settled(self._finder.found(), max(0.0, timeout_ms / 1000 - deadline.waited))
            except TimeoutError:
                raise KafkaTimeoutError(
                    f"the coordinator of group {self._group_id!r} was not found within {timeout_ms:g} ms"
                ) from None
            if refused is not None:
                raise refused
        return self._finder.node

    async def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        identity: Callable[[], ConsumerGroupMetadata],
        timeout_ms: float,
    ) -> None:
        """Commit, all or (where partitions are refused) as many as were accepted.

        :raises CommitFailedError: the member has lost its place.
        """
        deadline = Deadline(timeout_ms, f"the commit of group {self._group_id!r}")
        left = dict(offsets)
        while left:
            node = await self._coordinator(deadline, timeout_ms)
            member = identity()
            topics: dict[str, list[OffsetCommitRequestPartition]] = defaultdict(list)
            for name, position in left.items():
                topics[name.topic].append(
                    OffsetCommitRequestPartition(
                        partition_index=name.partition,
                        committed_offset=position.offset,
                        committed_leader_epoch=position.leader_epoch,
                        committed_metadata=position.metadata,
                    )
                )

            def build(
                version: int,
                member: ConsumerGroupMetadata = member,
                topics: Mapping[str, list[OffsetCommitRequestPartition]] = topics,
            ) -> OffsetCommitRequest:
                return OffsetCommitRequest(
                    group_id=self._group_id,
                    generation_id_or_member_epoch=member.generation_id,
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id if version >= 7 else None,
                    topics=[OffsetCommitRequestTopic(name=topic, partitions=items) for topic, items in topics.items()],
                )

            last: KafkaError | None = None
            try:
                answer, _ = await self._network.call(node, OFFSET_COMMIT, build, channel=1)
                last = self._read_commit(answer, left)
            except KafkaError as error:
                if not error.retriable:
                    raise
                last = error
            if last is not None:
                if last.error in _COORDINATOR_MOVED:
                    self._finder.forget()
                await deadline.pause(self._network.config.retry_backoff_ms, last)

    def _read_commit(self, answer: Any, left: dict[TopicPartition, OffsetAndMetadata]) -> KafkaError | None:
        """Take what was accepted off ``left``; the retriable error of the rest."""
        last: KafkaError | None = None
        for topic in answer.topics:
            for item in topic.partitions:
                name = TopicPartition(topic.name, item.partition_index)
                error = error_of(item.error_code)
                if error is Error.NONE:
                    left.pop(name, None)
                elif error in _MEMBER_GONE:
                    raise CommitFailedError(
                        error,
                        f"offsets of group {self._group_id!r} were not committed: the group has rebalanced; read on, "
                        "the records are delivered again to whoever has the partitions now",
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
        timeout_ms: float,
        identity: Callable[[], ConsumerGroupMetadata] | None = None,
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Committed positions; partitions without one are left out. None asks for all of the group's.

        :param require_stable: wait while a transaction that would change one of them is open (KIP-447).
        """
        deadline = Deadline(timeout_ms, f"OffsetFetch of group {self._group_id!r}")
        wanted = None if partitions is None else by_topic(partitions)
        while True:
            node = await self._coordinator(deadline, timeout_ms)
            member = identity() if identity is not None else None

            def build(version: int, member: ConsumerGroupMetadata | None = member) -> OffsetFetchRequest:
                return self._fetch_request(version, wanted, require_stable, member)

            try:
                answer, version = await self._network.call(node, OFFSET_FETCH, build, channel=1)
                return self._read_fetch(answer, version)
            except KafkaError as error:
                if not error.retriable:
                    raise
                if error.error in _COORDINATOR_MOVED:
                    self._finder.forget()
                await deadline.pause(self._network.config.retry_backoff_ms, error)

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

    def _read_fetch(self, answer: Any, version: int) -> dict[TopicPartition, OffsetAndMetadata]:
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
                if item.committed_offset >= 0:
                    found[name] = OffsetAndMetadata(
                        item.committed_offset, item.metadata or "", item.committed_leader_epoch
                    )
        return found


__all__ = [
    "EARLIEST",
    "LATEST",
    "MAX_TIMESTAMP",
    "Deadline",
    "FoundOffset",
    "GroupOffsets",
    "list_offsets",
    "settled",
]
