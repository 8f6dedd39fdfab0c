"""Errors of topics, partitions, records, nodes, and malformed requests."""

from __future__ import annotations

from oncelog.client.core.response_errors.base import BrokerResponseError
from oncelog.errors import Error


class UnknownError(BrokerResponseError):
    """The broker failed in a way for which there is no error code."""

    default = Error.UNKNOWN_SERVER_ERROR


class NoError(BrokerResponseError):
    """No error; here because aiokafka has it."""

    default = Error.NONE


class OffsetOutOfRangeError(BrokerResponseError):
    """The position does not exist in the log and ``auto.offset.reset`` is ``none``."""

    default = Error.OFFSET_OUT_OF_RANGE


class CorruptRecordException(BrokerResponseError):
    """A batch failed its checksum."""

    default = Error.CORRUPT_MESSAGE


class UnknownTopicOrPartitionError(BrokerResponseError):
    """The topic or partition does not exist."""

    default = Error.UNKNOWN_TOPIC_OR_PARTITION


class InvalidFetchRequestError(BrokerResponseError):
    """The size of a fetch was negative."""

    default = Error.INVALID_FETCH_SIZE


class LeaderNotAvailableError(BrokerResponseError):
    """The partition has no leader at the moment."""

    default = Error.LEADER_NOT_AVAILABLE


class NotLeaderForPartitionError(BrokerResponseError):
    """The broker does not lead the partition (any more)."""

    default = Error.NOT_LEADER_OR_FOLLOWER


class BrokerNotAvailableError(BrokerResponseError):
    """The broker is not available."""

    default = Error.BROKER_NOT_AVAILABLE


class ReplicaNotAvailableError(BrokerResponseError):
    """The replica is not available."""

    default = Error.REPLICA_NOT_AVAILABLE


class StaleControllerEpochError(BrokerResponseError):
    """The controller has changed."""

    default = Error.STALE_CONTROLLER_EPOCH


class InvalidTopicError(BrokerResponseError):
    """The topic's name is not allowed."""

    default = Error.INVALID_TOPIC_EXCEPTION


class RecordListTooLargeError(BrokerResponseError):
    """A batch exceeds the segment size."""

    default = Error.RECORD_LIST_TOO_LARGE


class NotEnoughReplicasError(BrokerResponseError):
    """Fewer replicas are in sync than ``min.insync.replicas`` demands."""

    default = Error.NOT_ENOUGH_REPLICAS


class NotEnoughReplicasAfterAppendError(BrokerResponseError):
    """Fewer replicas are in sync than ``min.insync.replicas`` demands; the batch was already written to those that
    are."""

    default = Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND


class InvalidRequiredAcksError(BrokerResponseError):
    """``acks`` is not 0, 1 or -1."""

    default = Error.INVALID_REQUIRED_ACKS


class InvalidTimestampError(BrokerResponseError):
    """A record's timestamp is not allowed in the topic."""

    default = Error.INVALID_TIMESTAMP


class UnsupportedVersionError(BrokerResponseError):
    """The broker does not support the request or its version."""

    default = Error.UNSUPPORTED_VERSION


class TopicAlreadyExistsError(BrokerResponseError):
    """A topic of that name exists."""

    default = Error.TOPIC_ALREADY_EXISTS


class InvalidPartitionsError(BrokerResponseError):
    """The number of partitions is not allowed."""

    default = Error.INVALID_PARTITIONS


class InvalidReplicationFactorError(BrokerResponseError):
    """The replication factor is not allowed: there are too few brokers."""

    default = Error.INVALID_REPLICATION_FACTOR


class InvalidReplicationAssignmentError(BrokerResponseError):
    """The replicas assigned by hand are not allowed."""

    default = Error.INVALID_REPLICA_ASSIGNMENT


class InvalidConfigurationError(BrokerResponseError):
    """A setting has a name or a value that is not allowed."""

    default = Error.INVALID_CONFIG


class NotControllerError(BrokerResponseError):
    """The broker is not the controller (any more)."""

    default = Error.NOT_CONTROLLER


class InvalidRequestError(BrokerResponseError):
    """The request is malformed or contradictory."""

    default = Error.INVALID_REQUEST


class UnsupportedForMessageFormatError(BrokerResponseError):
    """The format of the stored records does not allow this."""

    default = Error.UNSUPPORTED_FOR_MESSAGE_FORMAT


class PolicyViolationError(BrokerResponseError):
    """A policy of the cluster forbids the request."""

    default = Error.POLICY_VIOLATION


class OperationNotAttempted(BrokerResponseError):
    """An earlier part of the same request failed."""

    default = Error.OPERATION_NOT_ATTEMPTED


class KafkaStorageError(BrokerResponseError):
    """The broker's disk failed the operation."""

    default = Error.KAFKA_STORAGE_ERROR


class LogDirNotFound(BrokerResponseError):
    """The broker has no such log folder."""

    default = Error.LOG_DIR_NOT_FOUND


class ReassignmentInProgress(BrokerResponseError):
    """The partition is being moved."""

    default = Error.REASSIGNMENT_IN_PROGRESS


class FetchSessionIdNotFound(BrokerResponseError):
    """The broker does not know the fetch session (any more)."""

    default = Error.FETCH_SESSION_ID_NOT_FOUND


class InvalidFetchSessionEpoch(BrokerResponseError):
    """The fetch session's epoch has moved on."""

    default = Error.INVALID_FETCH_SESSION_EPOCH


class ListenerNotFound(BrokerResponseError):
    """The leader has no listener of the name that we use."""

    default = Error.LISTENER_NOT_FOUND


InvalidMessageError = CorruptRecordException

__all__ = [
    "BrokerNotAvailableError",
    "CorruptRecordException",
    "FetchSessionIdNotFound",
    "InvalidConfigurationError",
    "InvalidFetchRequestError",
    "InvalidFetchSessionEpoch",
    "InvalidMessageError",
    "InvalidPartitionsError",
    "InvalidReplicationAssignmentError",
    "InvalidReplicationFactorError",
    "InvalidRequestError",
    "InvalidRequiredAcksError",
    "InvalidTimestampError",
    "InvalidTopicError",
    "KafkaStorageError",
    "LeaderNotAvailableError",
    "ListenerNotFound",
    "LogDirNotFound",
    "NoError",
    "NotControllerError",
    "NotEnoughReplicasAfterAppendError",
    "NotEnoughReplicasError",
    "NotLeaderForPartitionError",
    "OffsetOutOfRangeError",
    "OperationNotAttempted",
    "PolicyViolationError",
    "ReassignmentInProgress",
    "RecordListTooLargeError",
    "ReplicaNotAvailableError",
    "StaleControllerEpochError",
    "TopicAlreadyExistsError",
    "UnknownError",
    "UnknownTopicOrPartitionError",
    "UnsupportedForMessageFormatError",
    "UnsupportedVersionError",
]
