"""Which nodes hold and lead partitions (KIP-455, KIP-460): one part of the admin client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from oncelog.client.aio.admin.admin_connection import AdminConnection
from oncelog.client.aio.connection.cluster_access import UnknownPartition, check
from oncelog.client.core import arguments
from oncelog.client.core.admin import admin_arguments
from oncelog.client.core.admin.admin_types import PartitionReassignment
from oncelog.client.core.client_errors import error_for, error_of
from oncelog.client.core.connection.wire import Api
from oncelog.client.core.structs import TopicPartition
from oncelog.errors import Error, KafkaError
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from oncelog.protocol.generated.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse
from oncelog.protocol.generated.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from oncelog.protocol.generated.elect_leaders_response import ElectLeadersResponse
from oncelog.protocol.generated.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from oncelog.protocol.generated.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from oncelog.types import by_topic

ALTER_REASSIGNMENTS = Api(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, 1)
LIST_REASSIGNMENTS = Api(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, 0)
ELECT_LEADERS = Api(ApiKey.ELECT_LEADERS, 1, 2)

_PREFERRED, _UNCLEAN = 0, 1


class ReplicasAdmin(AdminConnection):
    """The admin client's methods for replicas and leaders. A call that names several partitions tries all of them and
    then raises the first refusal. A cancelled move that did not exist (NO_REASSIGNMENT_IN_PROGRESS) is raised only if
    nothing else was refused."""

    async def alter_partition_reassignments(self, wanted: Mapping[TopicPartition, Sequence[int] | None]) -> None:
        """Move a partition to these nodes, the preferred leader first; None cancels a move that is under way.

        Returns once the moves have begun; :meth:`list_partition_reassignments` lists those still under way.

        :raises KafkaError: a node or a partition does not exist, or there is no move to cancel.
        """
        left = admin_arguments.reassignments(wanted)
        refused: list[KafkaError] = []

        async def attempt() -> None:
            request = AlterPartitionReassignmentsRequest(
                timeout_ms=self.config.request_timeout_ms,
                topics=[
                    ReassignableTopic(
                        topic,
                        [ReassignablePartition(number, left[TopicPartition(topic, number)]) for number in numbers],
                    )
                    for topic, numbers in by_topic(left).items()
                ],
            )
            answer: AlterPartitionReassignmentsResponse = await self.cluster.ask_any(ALTER_REASSIGNMENTS, request)
            check(answer.error_code, "the reassignment was refused", answer.error_message)
            again: list[KafkaError] = []
            for topic in answer.responses:
                for item in topic.partitions:
                    name = TopicPartition(topic.name, item.partition_index)
                    refusal = _refusal(item.error_code, item.error_message, f"{name} was not reassigned")
                    if refusal is not None and refusal.retriable:
                        again.append(refusal)
                        continue
                    left.pop(name, None)
                    if refusal is not None:
                        refused.append(refusal)
            if again:
                raise again[0]

        if left:
            await self.cluster.repeat("alter_partition_reassignments", attempt)
            self.cluster.metadata.request_update()
        if refused:
            raise min(refused, key=lambda refusal: refusal.error is Error.NO_REASSIGNMENT_IN_PROGRESS)

    async def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        """Moves under way, of these partitions or of all."""
        wanted = None if partitions is None else by_topic(arguments.partitions(partitions))

        async def attempt() -> dict[TopicPartition, PartitionReassignment]:
            request = ListPartitionReassignmentsRequest(
                timeout_ms=self.config.request_timeout_ms,
                topics=None
                if wanted is None
                else [ListPartitionReassignmentsTopics(topic, numbers) for topic, numbers in wanted.items()],
            )
            answer: ListPartitionReassignmentsResponse = await self.cluster.ask_any(LIST_REASSIGNMENTS, request)
            check(answer.error_code, "reassignments were not listed", answer.error_message)
            return {
                TopicPartition(topic.name, item.partition_index): PartitionReassignment(
                    tuple(item.replicas), tuple(item.adding_replicas), tuple(item.removing_replicas)
                )
                for topic in answer.topics
                for item in topic.partitions
            }

        return await self.cluster.repeat("list_partition_reassignments", attempt)

    async def elect_leaders(
        self, partitions: Iterable[TopicPartition], *, unclean: bool = False
    ) -> dict[TopicPartition, Error]:
        """Make the preferred replica of each partition its leader; raises ELECTION_NOT_NEEDED if it already leads.

        :param unclean: if no replica leads, elect any: **records that only the others have are lost**.
        """
        wanted = by_topic(arguments.partitions(partitions))

        async def attempt() -> dict[TopicPartition, Error]:
            request = ElectLeadersRequest(
                election_type=_UNCLEAN if unclean else _PREFERRED,
                topic_partitions=[TopicPartitions(topic, numbers) for topic, numbers in wanted.items()],
                timeout_ms=self.config.request_timeout_ms,
            )
            answer: ElectLeadersResponse = await self.cluster.ask_any(ELECT_LEADERS, request)
            check(answer.error_code, "no leaders were elected")
            return {
                TopicPartition(topic.topic, item.partition_id): error_of(item.error_code)
                for topic in answer.replica_election_results
                for item in topic.partition_result
            }

        if not wanted:
            return {}
        found = await self.cluster.repeat("elect_leaders", attempt)
        self.cluster.metadata.request_update()
        return found


def _refusal(code: int, message: str | None, text: str) -> KafkaError | None:
    error = error_of(code)
    if error is Error.NONE:
        return None
    full = f"{text}: {message}" if message else text
    return UnknownPartition(full) if error is Error.UNKNOWN_TOPIC_OR_PARTITION else error_for(error, full)
