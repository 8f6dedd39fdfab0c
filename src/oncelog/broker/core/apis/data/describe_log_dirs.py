"""DescribeLogDirs (key 35), versions 1-5: the size of each partition in the data folder.

Null topics mean all topics; partitions that do not exist are left out. Version 4 adds the size and the free space of
the volume (KIP-827), which are unknown if everything is in memory. Source: Kafka's ``ReplicaManager.describeLogDirs``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work
from oncelog.errors import Error
from oncelog.protocol.generated.describe_log_dirs_request import DescribeLogDirsRequest
from oncelog.protocol.generated.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from oncelog.runtime.deferred import Deferred
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import PartitionPorts
    from oncelog.broker.metadata.store import MetadataStore


FIRST_WITH_SPACE = 4


def handle(
    ports: PartitionPorts, context: RequestContext, request: DescribeLogDirsRequest
) -> Deferred[DescribeLogDirsResponse]:
    return ports.tasks.begin(_describe(ports, context, request), context)


def _describe(
    ports: PartitionPorts, context: RequestContext, request: DescribeLogDirsRequest
) -> Work[DescribeLogDirsResponse]:
    asked: dict[str, Sequence[int]] = {}
    if request.topics is None:
        asked = {info.name: range(info.partitions) for info in ports.metadata.topics()}
    else:
        for topic in request.topics:
            asked[topic.topic] = list(dict.fromkeys(topic.partitions))
    topics = []
    for name, indexes in asked.items():
        partitions = _sizes(ports, name, indexes)
        yield
        if partitions:
            topics.append(DescribeLogDirsTopic(name=name, partitions=partitions))
    folder = DescribeLogDirsResult(error_code=Error.NONE, log_dir=log_dir(ports.metadata), topics=topics)
    space = ports.logs.disk.space() if context.api_version >= FIRST_WITH_SPACE else None
    if space is not None:
        folder.total_bytes, folder.usable_bytes = space
    return DescribeLogDirsResponse(error_code=Error.NONE, results=[folder])


def log_dir(metadata: MetadataStore) -> str:
    """The path of the data folder as reported to clients."""
    return metadata.file.path.rpartition("/")[0] or metadata.file.path


def _sizes(ports: PartitionPorts, name: str, indexes: Iterable[int]) -> list[DescribeLogDirsPartition]:
    found = []
    for index in indexes:
        partition = ports.partition(TopicPartition(name, index))
        if partition is not None:
            found.append(
                DescribeLogDirsPartition(
                    partition_index=index,
                    partition_size=partition.log.size_bytes,
                    offset_lag=0,
                    is_future_key=False,
                )
            )
    return found
