"""Answers for callers that may not make a request at all: the error in each place where the API has one.

Called by ``request_rules``. Source: the ``getErrorResponse`` of Kafka's requests.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.messages import response_type
from oncelog.protocol.wire import Message

if TYPE_CHECKING:
    from oncelog.broker.context import RequestContext

MESSAGES = {
    Error.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    Error.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    Error.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
    Error.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    Error.INVALID_REQUEST: "This most likely occurs because of a request being malformed by the client library or the "
    "message was sent to an incompatible broker. See the broker logs for more details.",
}
"""Kafka's default message for an error."""
FIRST_ADD_PARTITIONS_FROM_BROKERS = 4
FIRST_JOIN_WITH_NULL_PROTOCOL = 7


def refusal(context: RequestContext, request: Any, error: Error) -> Message:
    """The answer of the request's API with only ``error``."""
    api_key = ApiKey(context.api_key)
    responses = import_module(f"oncelog.protocol.generated.{api_key.name.lower()}_response")
    build = _SHAPES.get(api_key)
    if build is not None:
        built: Message = build(responses, context, request, error)
        return built
    kind = response_type(api_key)
    fields = kind.__slots__
    values: dict[str, Any] = {"error_code": error}
    if "error_message" in fields:
        values["error_message"] = MESSAGES[error]
    return kind(**values)


def _offset_commit(responses: Any, context: RequestContext, request: Any, error: Error) -> Any:
    return responses.OffsetCommitResponse(
        topics=[
            responses.OffsetCommitResponseTopic(
                topic.name,
                topic.topic_id,
                [responses.OffsetCommitResponsePartition(p.partition_index, error) for p in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _txn_offset_commit(responses: Any, context: RequestContext, request: Any, error: Error) -> Any:
    return responses.TxnOffsetCommitResponse(
        topics=[
            responses.TxnOffsetCommitResponseTopic(
                topic.name,
                [responses.TxnOffsetCommitResponsePartition(p.partition_index, error) for p in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _join_group(responses: Any, context: RequestContext, request: Any, error: Error) -> Any:
    name = None if context.api_version >= FIRST_JOIN_WITH_NULL_PROTOCOL else ""
    return responses.JoinGroupResponse(error_code=error, protocol_name=name)


def _init_producer_id(responses: Any, context: RequestContext, request: Any, error: Error) -> Any:
    return responses.InitProducerIdResponse(error_code=error, producer_id=-1, producer_epoch=0)


def _add_partitions(responses: Any, context: RequestContext, request: Any, error: Error) -> Any:
    if context.api_version >= FIRST_ADD_PARTITIONS_FROM_BROKERS:
        return responses.AddPartitionsToTxnResponse(error_code=error)
    return responses.AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=[
            responses.AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=[
                    responses.AddPartitionsToTxnPartitionResult(index, error) for index in topic.partitions
                ],
            )
            for topic in request.v3_and_below_topics
        ]
    )


def _write_markers(responses: Any, context: RequestContext, request: Any, error: Error) -> Any:
    return responses.WriteTxnMarkersResponse(
        markers=[
            responses.WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=[
                    responses.WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            responses.WritableTxnMarkerPartitionResult(index, error)
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )


def _create_acls(responses: Any, context: RequestContext, request: Any, error: Error) -> Any:
    return responses.CreateAclsResponse(
        results=[responses.AclCreationResult(error, MESSAGES[error]) for _ in request.creations]
    )


def _delete_acls(responses: Any, context: RequestContext, request: Any, error: Error) -> Any:
    return responses.DeleteAclsResponse(
        filter_results=[responses.DeleteAclsFilterResult(error, MESSAGES[error]) for _ in request.filters]
    )


def _alter_replica_log_dirs(responses: Any, context: RequestContext, request: Any, error: Error) -> Any:
    names: dict[str, list[int]] = {}
    for folder in request.dirs:
        for topic in folder.topics:
            names.setdefault(topic.name, []).extend(topic.partitions)
    return responses.AlterReplicaLogDirsResponse(
        results=[
            responses.AlterReplicaLogDirTopicResult(
                topic_name=name,
                partitions=[responses.AlterReplicaLogDirPartitionResult(index, error) for index in indexes],
            )
            for name, indexes in names.items()
        ]
    )


def _elect_leaders(responses: Any, context: RequestContext, request: Any, error: Error) -> Any:
    return responses.ElectLeadersResponse(
        error_code=error if context.api_version >= 1 else Error.NONE,
        replica_election_results=[
            responses.ReplicaElectionResult(
                topic.topic, [responses.PartitionResult(index, error, MESSAGES[error]) for index in topic.partitions]
            )
            for topic in request.topic_partitions or ()
        ],
    )


def _alter_partition_reassignments(responses: Any, context: RequestContext, request: Any, error: Error) -> Any:
    return responses.AlterPartitionReassignmentsResponse(
        error_code=error,
        error_message=MESSAGES[error],
        responses=[
            responses.ReassignableTopicResponse(
                topic.name,
                [
                    responses.ReassignablePartitionResponse(asked.partition_index, error, MESSAGES[error])
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def _list_partition_reassignments(responses: Any, context: RequestContext, request: Any, error: Error) -> Any:
    return responses.ListPartitionReassignmentsResponse(
        error_code=error,
        error_message=MESSAGES[error],
        topics=[
            responses.OngoingTopicReassignment(
                topic.name, [responses.OngoingPartitionReassignment(index) for index in topic.partition_indexes]
            )
            for topic in request.topics or ()
        ],
    )


def _describe_client_quotas(responses: Any, context: RequestContext, request: Any, error: Error) -> Any:
    return responses.DescribeClientQuotasResponse(error_code=error, error_message=MESSAGES[error], entries=None)


def _alter_client_quotas(responses: Any, context: RequestContext, request: Any, error: Error) -> Any:
    return responses.AlterClientQuotasResponse(
        entries=[
            responses.EntryData(
                error,
                MESSAGES[error],
                [responses.EntityData(part.entity_type, part.entity_name) for part in entry.entity],
            )
            for entry in request.entries
        ]
    )


def _describe_users(responses: Any, context: RequestContext, request: Any, error: Error) -> Any:
    return responses.DescribeUserScramCredentialsResponse(
        error_code=error,
        error_message=MESSAGES[error],
        results=[responses.DescribeUserScramCredentialsResult("", error, MESSAGES[error]) for _ in request.users or ()],
    )


def _alter_users(responses: Any, context: RequestContext, request: Any, error: Error) -> Any:
    users = sorted({change.name for change in (*request.deletions, *request.upsertions)})
    return responses.AlterUserScramCredentialsResponse(
        results=[responses.AlterUserScramCredentialsResult(user, error, MESSAGES[error]) for user in users]
    )


_SHAPES: dict[ApiKey, Callable[[Any, RequestContext, Any, Error], Any]] = {
    ApiKey.OFFSET_COMMIT: _offset_commit,
    ApiKey.TXN_OFFSET_COMMIT: _txn_offset_commit,
    ApiKey.JOIN_GROUP: _join_group,
    ApiKey.INIT_PRODUCER_ID: _init_producer_id,
    ApiKey.ADD_PARTITIONS_TO_TXN: _add_partitions,
    ApiKey.WRITE_TXN_MARKERS: _write_markers,
    ApiKey.CREATE_ACLS: _create_acls,
    ApiKey.DELETE_ACLS: _delete_acls,
    ApiKey.ALTER_REPLICA_LOG_DIRS: _alter_replica_log_dirs,
    ApiKey.ELECT_LEADERS: _elect_leaders,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _alter_partition_reassignments,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: _list_partition_reassignments,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: _describe_client_quotas,
    ApiKey.ALTER_CLIENT_QUOTAS: _alter_client_quotas,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: _describe_users,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _alter_users,
}
"""For APIs whose error is not only one for the whole answer."""
