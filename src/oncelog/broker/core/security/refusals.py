"""Answers to requests that are refused as a whole: the error is in every field where the API has one.

Called by ``request_rules`` for callers without the permission, and by ``sasl_authenticator`` for unexpected requests
during a login. Source: the ``getErrorResponse`` of Kafka's requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, Final, NamedTuple, TypeVar

from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.messages import response_type
from oncelog.protocol.wire import Message

MESSAGES = {
    Error.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    Error.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    Error.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
    Error.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    Error.INVALID_REQUEST: "This most likely occurs because of a request being malformed by the client library or the "
    "message was sent to an incompatible broker. See the broker logs for more details.",
    Error.ILLEGAL_SASL_STATE: "Request is not valid given the current SASL state.",
}
"""Kafka's default message for each error."""
WITHOUT_MESSAGE: Final = frozenset(
    {
        *(ApiKey.DELETE_TOPICS, ApiKey.DESCRIBE_GROUPS, ApiKey.DESCRIBE_PRODUCERS),
        *(ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.CONSUMER_GROUP_DESCRIBE),
        *(ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE),
    }
)
WITH_DEFAULT_MESSAGE: Final = frozenset(
    {
        *(ApiKey.FIND_COORDINATOR, ApiKey.DESCRIBE_CONFIGS, ApiKey.ALTER_CLIENT_QUOTAS, ApiKey.DESCRIBE_QUORUM),
        *(ApiKey.ALTER_SHARE_GROUP_OFFSETS, ApiKey.DELETE_SHARE_GROUP_OFFSETS),
    }
)
"""APIs that return the error's default message in Kafka; all others return the exception's message."""
T = TypeVar("T")
ITSELF = ""


class AnswerEntries(NamedTuple):
    """How to build a list in the answer that has one entry for each entry in the request.

    :ivar field: the field with the answer's list; ``kind`` is the class of its entries.
    :ivar asked: the field with the request's list, or a function that builds the list.
    :ivar same: fields of the answer's entry that take their value from the request's entry: from the field named, or,
        with ``ITSELF``, the entry itself.
    :ivar fixed: fields with the same value in each entry.
    """

    field: str
    kind: str
    asked: str | Callable[[Any], Iterable[Any]]
    same: Mapping[str, str]
    inner: AnswerEntries | None = None
    fixed: Mapping[str, Any] = {}


def refusal(api_key: int, version: int, request: Any, error: Error, message: str | None = None) -> Message | None:
    """The answer to a refused request, with nothing but ``error``; None for a request that gets no answer.

    :param message: the message, for APIs that do not always return the error's default message.
    """
    key = ApiKey(api_key)
    if key == ApiKey.PRODUCE and request.acks == 0:
        return None
    default = MESSAGES[error]
    message = None if key in WITHOUT_MESSAGE else default if key in WITH_DEFAULT_MESSAGE else message or default
    kind = response_type(key)
    values = {**_errors(kind, error, message), **(_of_version(_FIXED.get(key, ()), version) or {})}
    each = _of_version(_ENTRIES.get(key, ()), version)
    if each is not None:
        responses = import_module(f"oncelog.protocol.generated.{key.name.lower()}_response")
        values[each.field] = _entries(responses, each, request, error, message)
    return kind(**values)


def _of_version(rows: Sequence[tuple[int, T]], version: int) -> T | None:
    """The last of ``rows``, which are in ascending order of version, that applies to ``version``."""
    return next((row for first, row in reversed(rows) if version >= first), None)


def _errors(kind: type, error: Error, message: str | None) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for field in getattr(kind, "__slots__", ()):
        if field in ("error_code", "partition_error_code"):
            values[field] = error
        elif field == "error_message":
            values[field] = message
    return values


def _entries(responses: ModuleType, each: AnswerEntries, request: Any, error: Error, message: str | None) -> list[Any]:
    kind = getattr(responses, each.kind)
    always = {**_errors(kind, error, message), **each.fixed}
    made = []
    for asked in (each.asked(request) if callable(each.asked) else getattr(request, each.asked)) or ():
        values = always | {
            field: asked if name == ITSELF else getattr(asked, name) for field, name in each.same.items()
        }
        if each.inner is not None:
            values[each.inner.field] = _entries(responses, each.inner, asked, error, message)
        made.append(kind(**values))
    return made


def _named(*names: str) -> dict[str, str]:
    return {name: name for name in names}


def _topics(kind: str, inner: AnswerEntries | None = None, same: Mapping[str, str] | None = None) -> AnswerEntries:
    return AnswerEntries("topics", kind, "topics", same or _named("name"), inner)


def _partitions(kind: str, name: str = "partition_index", **fixed: Any) -> AnswerEntries:
    """One entry for each partition; the field with the partition's number has the same name in request and answer."""
    return AnswerEntries("partitions", kind, "partitions", _named(name), fixed=fixed)


def _indexes(kind: str, asked: str, **fixed: Any) -> AnswerEntries:
    """One entry for each partition; in the request a partition is only a number."""
    return AnswerEntries("partitions", kind, asked, {"partition_index": ITSELF}, fixed=fixed)


class _Topic(NamedTuple):
    name: str
    topic_id: bytes


def _metadata_topics(request: Any) -> list[_Topic]:
    return [_Topic(topic.name or "", topic.topic_id) for topic in request.topics or ()]


class _MovedTopic(NamedTuple):
    topic: str
    partitions: list[int]


def _moved(request: Any) -> list[_MovedTopic]:
    names: dict[str, list[int]] = {}
    for folder in request.dirs:
        for topic in folder.topics:
            names.setdefault(topic.name, []).extend(topic.partitions)
    return [_MovedTopic(name, partitions) for name, partitions in names.items()]


def _changed_users(request: Any) -> list[str]:
    return sorted({change.name for change in (*request.deletions, *request.upsertions)})


_RESOURCE: Final = _named("resource_type", "resource_name")
_NOBODY: Final = {"principal_type": "User", "principal_name": "ANONYMOUS"}
"""The fields that describe a caller who has not logged in."""
_NO_RECORDS: Final = {"high_watermark": -1, "records": b""}
_NO_TOKEN: Final = {**_NOBODY, **dict.fromkeys(("issue_timestamp_ms", "expiry_timestamp_ms", "max_timestamp_ms"), -1)}
_FIXED: Mapping[ApiKey, tuple[tuple[int, Mapping[str, Any]], ...]] = {
    ApiKey.FIND_COORDINATOR: (
        (0, {"node_id": -1, "port": -1}),
        (4, {"error_code": Error.NONE, "error_message": ""}),
    ),
    ApiKey.JOIN_GROUP: ((7, {"protocol_name": None}),),
    ApiKey.INIT_PRODUCER_ID: ((0, {"producer_epoch": -1}),),
    ApiKey.ELECT_LEADERS: ((0, {"error_code": Error.NONE}), (1, {})),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: ((0, {"entries": None}),),
    ApiKey.CREATE_DELEGATION_TOKEN: (
        (0, _NO_TOKEN),
        (3, _NO_TOKEN | {f"token_requester_{field}": value for field, value in _NOBODY.items()}),
    ),
}
"""For each API the fields of the answer that have a fixed value, from a version on."""
_FETCHED: Final = AnswerEntries(
    "partitions", "PartitionData", "partitions", {"partition_index": "partition"}, fixed=_NO_RECORDS
)
_PRODUCED: Final = AnswerEntries(
    "partition_responses", "PartitionProduceResponse", "partition_data", _named("index"), fixed={"base_offset": -1}
)
_MARKED: Final = _topics(
    "WritableTxnMarkerTopicResult", _indexes("WritableTxnMarkerPartitionResult", "partition_indexes")
)
_ONE_PER_ENTRY: Mapping[ApiKey, AnswerEntries] = {
    ApiKey.PRODUCE: AnswerEntries(
        "responses", "TopicProduceResponse", "topic_data", _named("name", "topic_id"), _PRODUCED
    ),
    ApiKey.LIST_OFFSETS: _topics("ListOffsetsTopicResponse", _partitions("ListOffsetsPartitionResponse")),
    ApiKey.METADATA: AnswerEntries("topics", "MetadataResponseTopic", _metadata_topics, _named("name", "topic_id")),
    ApiKey.OFFSET_COMMIT: _topics(
        "OffsetCommitResponseTopic", _partitions("OffsetCommitResponsePartition"), _named("name", "topic_id")
    ),
    ApiKey.DESCRIBE_GROUPS: AnswerEntries("groups", "DescribedGroup", "groups", {"group_id": ITSELF}),
    ApiKey.DELETE_GROUPS: AnswerEntries("results", "DeletableGroupResult", "groups_names", {"group_id": ITSELF}),
    ApiKey.CREATE_TOPICS: _topics("CreatableTopicResult"),
    ApiKey.DELETE_RECORDS: _topics(
        "DeleteRecordsTopicResult", _partitions("DeleteRecordsPartitionResult", low_watermark=-1)
    ),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _topics(
        "OffsetForLeaderTopicResult", _partitions("EpochEndOffset", "partition"), _named("topic")
    ),
    ApiKey.WRITE_TXN_MARKERS: AnswerEntries(
        "markers", "WritableTxnMarkerResult", "markers", _named("producer_id"), _MARKED
    ),
    ApiKey.TXN_OFFSET_COMMIT: _topics("TxnOffsetCommitResponseTopic", _partitions("TxnOffsetCommitResponsePartition")),
    ApiKey.CREATE_ACLS: AnswerEntries("results", "AclCreationResult", "creations", {}),
    ApiKey.DELETE_ACLS: AnswerEntries("filter_results", "DeleteAclsFilterResult", "filters", {}),
    ApiKey.DESCRIBE_CONFIGS: AnswerEntries("results", "DescribeConfigsResult", "resources", _RESOURCE),
    ApiKey.ALTER_CONFIGS: AnswerEntries("responses", "AlterConfigsResourceResponse", "resources", _RESOURCE),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: AnswerEntries(
        "responses", "AlterConfigsResourceResponse", "resources", _RESOURCE
    ),
    ApiKey.ALTER_REPLICA_LOG_DIRS: AnswerEntries(
        "results",
        "AlterReplicaLogDirTopicResult",
        _moved,
        {"topic_name": "topic"},
        _indexes("AlterReplicaLogDirPartitionResult", "partitions"),
    ),
    ApiKey.CREATE_PARTITIONS: AnswerEntries("results", "CreatePartitionsTopicResult", "topics", _named("name")),
    ApiKey.ELECT_LEADERS: AnswerEntries(
        "replica_election_results",
        "ReplicaElectionResult",
        "topic_partitions",
        _named("topic"),
        AnswerEntries("partition_result", "PartitionResult", "partitions", {"partition_id": ITSELF}),
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: AnswerEntries(
        "responses",
        "ReassignableTopicResponse",
        "topics",
        _named("name"),
        _partitions("ReassignablePartitionResponse"),
    ),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: _topics(
        "OngoingTopicReassignment", _indexes("OngoingPartitionReassignment", "partition_indexes")
    ),
    ApiKey.ALTER_CLIENT_QUOTAS: AnswerEntries(
        "entries",
        "EntryData",
        "entries",
        {},
        AnswerEntries("entity", "EntityData", "entity", _named("entity_type", "entity_name")),
    ),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: AnswerEntries("results", "DescribeUserScramCredentialsResult", "users", {}),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: AnswerEntries(
        "results", "AlterUserScramCredentialsResult", _changed_users, {"user": ITSELF}
    ),
    ApiKey.DESCRIBE_PRODUCERS: _topics("TopicResponse", _indexes("PartitionResponse", "partition_indexes")),
    ApiKey.DESCRIBE_TRANSACTIONS: AnswerEntries(
        "transaction_states", "TransactionState", "transactional_ids", {"transactional_id": ITSELF}
    ),
    ApiKey.CONSUMER_GROUP_DESCRIBE: AnswerEntries("groups", "DescribedGroup", "group_ids", {"group_id": ITSELF}),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: _topics("DescribeTopicPartitionsResponseTopic"),
}
_ENTRIES: Mapping[ApiKey, tuple[tuple[int, AnswerEntries | None], ...]] = {
    **{key: ((0, each),) for key, each in _ONE_PER_ENTRY.items()},
    ApiKey.FETCH: (
        (0, AnswerEntries("responses", "FetchableTopicResponse", "topics", _named("topic"), _FETCHED)),
        (13, None),
    ),
    ApiKey.OFFSET_FETCH: (
        (
            0,
            _topics(
                "OffsetFetchResponseTopic",
                _indexes("OffsetFetchResponsePartition", "partition_indexes", committed_offset=-1),
            ),
        ),
        (2, None),
        (8, AnswerEntries("groups", "OffsetFetchResponseGroup", "groups", _named("group_id"))),
    ),
    ApiKey.FIND_COORDINATOR: (
        (0, None),
        (
            4,
            AnswerEntries(
                "coordinators", "Coordinator", "coordinator_keys", {"key": ITSELF}, fixed={"node_id": -1, "port": -1}
            ),
        ),
    ),
    ApiKey.DELETE_TOPICS: (
        (0, AnswerEntries("responses", "DeletableTopicResult", "topic_names", {"name": ITSELF})),
        (6, AnswerEntries("responses", "DeletableTopicResult", "topics", _named("name", "topic_id"))),
    ),
    ApiKey.ADD_PARTITIONS_TO_TXN: (
        (
            0,
            AnswerEntries(
                "results_by_topic_v3_and_below",
                "AddPartitionsToTxnTopicResult",
                "v3_and_below_topics",
                _named("name"),
                AnswerEntries(
                    "results_by_partition",
                    "AddPartitionsToTxnPartitionResult",
                    "partitions",
                    {"partition_index": ITSELF},
                ),
            ),
        ),
        (4, None),
    ),
}
"""For each API, from a version on, the list of entries in the answer, if errors are not returned just once for the
whole answer."""
