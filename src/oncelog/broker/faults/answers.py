"""Answers in place of the broker's: the refusal of a whole request, in the form of each API.

Called by the proxy. An API with a single error for the whole answer needs no function here; other APIs repeat the error
for each topic, partition or group requested. Metadata is refused within its real answer, because clients need its list
of brokers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from oncelog.protocol.generated.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from oncelog.protocol.generated.delete_records_response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from oncelog.protocol.generated.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from oncelog.protocol.generated.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from oncelog.protocol.generated.find_coordinator_response import Coordinator, FindCoordinatorResponse
from oncelog.protocol.generated.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from oncelog.protocol.generated.metadata_response import MetadataResponse
from oncelog.protocol.generated.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from oncelog.protocol.generated.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from oncelog.protocol.generated.produce_response import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from oncelog.protocol.generated.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from oncelog.protocol.messages import response_type
from oncelog.protocol.wire import Message

Build = Callable[[Any, int, Error], Message]


def _produce(request: Any, version: int, error: Error) -> Message:
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    PartitionProduceResponse(index=data.index, error_code=error, base_offset=-1)
                    for data in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )


def _fetch(request: Any, version: int, error: Error) -> Message:
    return FetchResponse(
        responses=[
            FetchableTopicResponse(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=[
                    PartitionData(partition_index=data.partition, error_code=error, high_watermark=-1, records=b"")
                    for data in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _list_offsets(request: Any, version: int, error: Error) -> Message:
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                topic.name, [ListOffsetsPartitionResponse(p.partition_index, error) for p in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _offset_commit(request: Any, version: int, error: Error) -> Message:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                topic.name,
                topic.topic_id,
                [OffsetCommitResponsePartition(p.partition_index, error) for p in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _offset_fetch(request: Any, version: int, error: Error) -> Message:
    if version >= 8:
        return OffsetFetchResponse(
            groups=[OffsetFetchResponseGroup(group_id=group.group_id, error_code=error) for group in request.groups]
        )
    if version >= 2:
        return OffsetFetchResponse(error_code=error)
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                topic.name,
                [
                    OffsetFetchResponsePartition(index, -1, metadata="", error_code=error)
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics or ()
        ]
    )


def _find_coordinator(request: Any, version: int, error: Error) -> Message:
    if version < 4:
        return FindCoordinatorResponse(error_code=error, node_id=-1, port=-1)
    nobody = [Coordinator(key, -1, "", -1, error) for key in request.coordinator_keys]
    return FindCoordinatorResponse(coordinators=nobody)


def _create_topics(request: Any, version: int, error: Error) -> Message:
    return CreateTopicsResponse(
        topics=[CreatableTopicResult(name=topic.name, error_code=error) for topic in request.topics]
    )


def _delete_topics(request: Any, version: int, error: Error) -> Message:
    named = [DeletableTopicResult(name=name, error_code=error) for name in request.topic_names]
    with_ids = [DeletableTopicResult(name=t.name, topic_id=t.topic_id, error_code=error) for t in request.topics]
    return DeleteTopicsResponse(responses=named + with_ids)


def _delete_records(request: Any, version: int, error: Error) -> Message:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                topic.name, [DeleteRecordsPartitionResult(p.partition_index, -1, error) for p in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _txn_offset_commit(request: Any, version: int, error: Error) -> Message:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                topic.name,
                topic.topic_id,
                [TxnOffsetCommitResponsePartition(p.partition_index, error) for p in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _add_partitions_to_txn(request: Any, version: int, error: Error) -> Message:
    def results(topics: Any) -> list[AddPartitionsToTxnTopicResult]:
        return [
            AddPartitionsToTxnTopicResult(
                topic.name, [AddPartitionsToTxnPartitionResult(index, error) for index in topic.partitions]
            )
            for topic in topics
        ]

    if version < 4:
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results(request.v3_and_below_topics))
    return AddPartitionsToTxnResponse(
        results_by_transaction=[
            AddPartitionsToTxnResult(transaction.transactional_id, results(transaction.topics))
            for transaction in request.transactions
        ]
    )


_BUILDERS: Final[Mapping[int, Build]] = {
    ApiKey.PRODUCE: _produce,
    ApiKey.FETCH: _fetch,
    ApiKey.LIST_OFFSETS: _list_offsets,
    ApiKey.OFFSET_COMMIT: _offset_commit,
    ApiKey.OFFSET_FETCH: _offset_fetch,
    ApiKey.FIND_COORDINATOR: _find_coordinator,
    ApiKey.CREATE_TOPICS: _create_topics,
    ApiKey.DELETE_TOPICS: _delete_topics,
    ApiKey.DELETE_RECORDS: _delete_records,
    ApiKey.TXN_OFFSET_COMMIT: _txn_offset_commit,
    ApiKey.ADD_PARTITIONS_TO_TXN: _add_partitions_to_txn,
}


def can_refuse(api_key: int) -> bool:
    """Whether :func:`refusal` knows which fields of the API's answer have its errors."""
    return api_key in _BUILDERS or "error_code" in response_type(api_key).__slots__


def refusal(api_key: int, version: int, request: Message, error: Error) -> bytes:
    """The encoded body of an answer that refuses everything in the request with ``error``."""
    build = _BUILDERS.get(api_key)
    if build is not None:
        return build(request, version, error).encode(version)
    answer = response_type(api_key)()
    answer.error_code = error  # type: ignore[attr-defined]
    return answer.encode(version)


def refuse_metadata(answer: MetadataResponse, error: Error) -> None:
    """Set this error for every topic of the answer, and remove the partitions."""
    for topic in answer.topics:
        topic.error_code, topic.partitions = error, []
