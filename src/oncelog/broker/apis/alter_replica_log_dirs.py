"""AlterReplicaLogDirs (key 34), versions 1-2: there is one data folder; a partition that is to stay there stays.

Source: Kafka's ``ReplicaManager.alterReplicaLogDirs``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.apis.describe_log_dirs import log_dir
from oncelog.broker.context import RequestContext
from oncelog.broker.slices import Work, groups_in_parts
from oncelog.deferred import Deferred
from oncelog.errors import Error
from oncelog.protocol.generated.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from oncelog.protocol.generated.alter_replica_log_dirs_response import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

PARTITIONS_IN_A_PIECE = 100


def handle(
    broker: Broker, context: RequestContext, request: AlterReplicaLogDirsRequest
) -> Deferred[AlterReplicaLogDirsResponse]:
    return broker.slices.begin(_alter_each(broker, request))


def _alter_each(broker: Broker, request: AlterReplicaLogDirsRequest) -> Work[AlterReplicaLogDirsResponse]:
    answers: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    for folder in request.dirs:
        here = folder.path == log_dir(broker)
        for piece in groups_in_parts(folder.topics, lambda topic: topic.partitions, PARTITIONS_IN_A_PIECE):
            for topic, indexes in piece:
                for index in indexes:
                    error = Error.NONE if here else Error.LOG_DIR_NOT_FOUND
                    if here and broker.partition(TopicPartition(topic.name, index)) is None:
                        error = Error.UNKNOWN_TOPIC_OR_PARTITION
                    result = AlterReplicaLogDirPartitionResult(partition_index=index, error_code=error)
                    answers.setdefault(topic.name, []).append(result)
            yield
        yield
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(topic_name=name, partitions=partitions)
            for name, partitions in answers.items()
        ]
    )
