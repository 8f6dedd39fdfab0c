"""AlterReplicaLogDirs (key 34), versions 1-2: there is only one data folder, so a partition can only stay there.

Source: Kafka's ``ReplicaManager.alterReplicaLogDirs``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.apis.data.describe_log_dirs import log_dir
from oncelog.broker.core.requests.context import RequestContext
from oncelog.errors import Error
from oncelog.protocol.generated.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from oncelog.protocol.generated.alter_replica_log_dirs_response import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import PartitionPorts

FUTURE_SUFFIX = len("-future") + 32
"""Length of the suffix that a replica's folder gets in Kafka while the replica moves to another data folder; the name
may become too long."""
LONGEST_FOLDER_NAME = 255


def handle(
    ports: PartitionPorts, _: RequestContext, request: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse:
    answers: dict[str, dict[int, Error]] = {}
    for folder in request.dirs:
        here = folder.path == log_dir(ports.metadata)
        for topic in folder.topics:
            for index in topic.partitions:
                error = Error.NONE if here else Error.LOG_DIR_NOT_FOUND
                if len(f"{topic.name}-{index}.") + FUTURE_SUFFIX > LONGEST_FOLDER_NAME:
                    error = Error.INVALID_TOPIC_EXCEPTION
                elif here and ports.partition(TopicPartition(topic.name, index)) is None:
                    error = Error.UNKNOWN_TOPIC_OR_PARTITION
                answers.setdefault(topic.name, {})[index] = error
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(
                topic_name=name,
                partitions=[AlterReplicaLogDirPartitionResult(index, error) for index, error in errors.items()],
            )
            for name, errors in answers.items()
        ]
    )
