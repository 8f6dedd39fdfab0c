"""AlterReplicaLogDirs (key 34), versions 1-2: there is one data folder; a partition that is to stay there stays.

Source: Kafka's ``ReplicaManager.alterReplicaLogDirs``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.apis.describe_log_dirs import log_dir
from oncelog.broker.context import RequestContext
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


def handle(broker: Broker, context: RequestContext, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    answers: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    for folder in request.dirs:
        for topic in folder.topics:
            for index in topic.partitions:
                error = Error.NONE
                if folder.path != log_dir(broker):
                    error = Error.LOG_DIR_NOT_FOUND
                elif broker.partition(TopicPartition(topic.name, index)) is None:
                    error = Error.UNKNOWN_TOPIC_OR_PARTITION
                result = AlterReplicaLogDirPartitionResult(partition_index=index, error_code=error)
                answers.setdefault(topic.name, []).append(result)
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(topic_name=name, partitions=partitions)
            for name, partitions in answers.items()
        ]
    )
