"""An exception for each code that a broker answers, under aiokafka's names.

Raised through ``client.core.errors.error_for``; those that mean something special to a client are defined there.
"""

from __future__ import annotations

from oncelog.errors import Error, KafkaError


class BrokerResponseError(KafkaError):
    """A broker refused a request; ``errno`` is the code."""

    @property
    def errno(self) -> int:
        return int(self.error)

    @property
    def description(self) -> str:
        return type(self).__doc__ or ""


class UnknownError(BrokerResponseError):
    """The broker failed in a way it has no code for."""

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
    """The broker is not there."""

    default = Error.BROKER_NOT_AVAILABLE


class ReplicaNotAvailableError(BrokerResponseError):
    """The replica is not there."""

    default = Error.REPLICA_NOT_AVAILABLE


class StaleControllerEpochError(BrokerResponseError):
    """The controller has changed."""

    default = Error.STALE_CONTROLLER_EPOCH


class OffsetMetadataTooLargeError(BrokerResponseError):
    """The text stored with an offset is too long."""

    default = Error.OFFSET_METADATA_TOO_LARGE


class GroupLoadInProgressError(BrokerResponseError):
    """The coordinator is still reading its log."""

    default = Error.COORDINATOR_LOAD_IN_PROGRESS


class GroupCoordinatorNotAvailableError(BrokerResponseError):
    """There is no coordinator at the moment."""

    default = Error.COORDINATOR_NOT_AVAILABLE


class NotCoordinatorForGroupError(BrokerResponseError):
    """The broker is not the coordinator (any more)."""

    default = Error.NOT_COORDINATOR


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
    """Fewer replicas are in sync than demanded; the batch was written to those."""

    default = Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND


class InvalidRequiredAcksError(BrokerResponseError):
    """``acks`` is none of 0, 1 and -1."""

    default = Error.INVALID_REQUIRED_ACKS


class IllegalGenerationError(BrokerResponseError):
    """The group has moved on to another generation."""

    default = Error.ILLEGAL_GENERATION


class InconsistentGroupProtocolError(BrokerResponseError):
    """The group's members have no assignor in common."""

    default = Error.INCONSISTENT_GROUP_PROTOCOL


class InvalidGroupIdError(BrokerResponseError):
    """The group's name is not allowed."""

    default = Error.INVALID_GROUP_ID


class UnknownMemberIdError(BrokerResponseError):
    """The coordinator does not know the member (any more)."""

    default = Error.UNKNOWN_MEMBER_ID


class InvalidSessionTimeoutError(BrokerResponseError):
    """``session.timeout.ms`` is outside of what the broker allows."""

    default = Error.INVALID_SESSION_TIMEOUT


class RebalanceInProgressError(BrokerResponseError):
    """The group is rebalancing; the call may be repeated when it has ended."""

    default = Error.REBALANCE_IN_PROGRESS


class InvalidCommitOffsetSizeError(BrokerResponseError):
    """What was committed is too large to be stored."""

    default = Error.INVALID_COMMIT_OFFSET_SIZE


class TopicAuthorizationFailedError(BrokerResponseError):
    """The principal may not use the topic."""

    default = Error.TOPIC_AUTHORIZATION_FAILED


class GroupAuthorizationFailedError(BrokerResponseError):
    """The principal may not use the group."""

    default = Error.GROUP_AUTHORIZATION_FAILED


class ClusterAuthorizationFailedError(BrokerResponseError):
    """The principal may not do this to the cluster."""

    default = Error.CLUSTER_AUTHORIZATION_FAILED


class InvalidTimestampError(BrokerResponseError):
    """A record's timestamp is not allowed in the topic."""

    default = Error.INVALID_TIMESTAMP


class UnsupportedSaslMechanismError(BrokerResponseError):
    """The broker does not offer the SASL mechanism."""

    default = Error.UNSUPPORTED_SASL_MECHANISM


class IllegalSaslStateError(BrokerResponseError):
    """The request does not belong into the login."""

    default = Error.ILLEGAL_SASL_STATE


class UnsupportedVersionError(BrokerResponseError):
    """The broker does not offer what was asked for."""

    default = Error.UNSUPPORTED_VERSION


class TopicAlreadyExistsError(BrokerResponseError):
    """A topic of that name exists."""

    default = Error.TOPIC_ALREADY_EXISTS


class InvalidPartitionsError(BrokerResponseError):
    """The number of partitions is not allowed."""

    default = Error.INVALID_PARTITIONS


class InvalidReplicationFactorError(BrokerResponseError):
    """The replication factor is not allowed: there are not so many brokers."""

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
    """The request makes no sense."""

    default = Error.INVALID_REQUEST


class UnsupportedForMessageFormatError(BrokerResponseError):
    """The format of the stored records does not allow this."""

    default = Error.UNSUPPORTED_FOR_MESSAGE_FORMAT


class PolicyViolationError(BrokerResponseError):
    """A policy of the cluster forbids this."""

    default = Error.POLICY_VIOLATION


class OutOfOrderSequenceNumber(BrokerResponseError):
    """A batch did not follow the last stored one."""

    default = Error.OUT_OF_ORDER_SEQUENCE_NUMBER


class DuplicateSequenceNumber(BrokerResponseError):
    """A batch repeats one that is stored, and older than those the broker remembers."""

    default = Error.DUPLICATE_SEQUENCE_NUMBER


class InvalidProducerEpoch(BrokerResponseError):
    """A batch came from an older instance of the producer."""

    default = Error.INVALID_PRODUCER_EPOCH


class InvalidTxnState(BrokerResponseError):
    """The transaction is in a state in which this makes no sense."""

    default = Error.INVALID_TXN_STATE


class InvalidProducerIdMapping(BrokerResponseError):
    """The ``transactional.id`` has another producer id now."""

    default = Error.INVALID_PRODUCER_ID_MAPPING


class InvalidTransactionTimeout(BrokerResponseError):
    """``transaction.timeout.ms`` is larger than the broker allows."""

    default = Error.INVALID_TRANSACTION_TIMEOUT


class ConcurrentTransactions(BrokerResponseError):
    """The last transaction of the ``transactional.id`` is not finished yet."""

    default = Error.CONCURRENT_TRANSACTIONS


class TransactionCoordinatorFenced(BrokerResponseError):
    """The transaction's coordinator has changed."""

    default = Error.TRANSACTION_COORDINATOR_FENCED


class SecurityDisabled(BrokerResponseError):
    """The broker has no authorizer."""

    default = Error.SECURITY_DISABLED


class OperationNotAttempted(BrokerResponseError):
    """Something before it in the same request failed."""

    default = Error.OPERATION_NOT_ATTEMPTED


class KafkaStorageError(BrokerResponseError):
    """The broker's disk refused."""

    default = Error.KAFKA_STORAGE_ERROR


class LogDirNotFound(BrokerResponseError):
    """The broker has no such folder."""

    default = Error.LOG_DIR_NOT_FOUND


class SaslAuthenticationFailed(BrokerResponseError):
    """User and password were refused."""

    default = Error.SASL_AUTHENTICATION_FAILED


class UnknownProducerId(BrokerResponseError):
    """The partition does not know the producer (any more)."""

    default = Error.UNKNOWN_PRODUCER_ID


class ReassignmentInProgress(BrokerResponseError):
    """The partition is being moved."""

    default = Error.REASSIGNMENT_IN_PROGRESS


class DelegationTokenAuthDisabled(BrokerResponseError):
    """The broker knows no delegation tokens."""

    default = Error.DELEGATION_TOKEN_AUTH_DISABLED


class DelegationTokenNotFound(BrokerResponseError):
    """There is no such delegation token."""

    default = Error.DELEGATION_TOKEN_NOT_FOUND


class DelegationTokenOwnerMismatch(BrokerResponseError):
    """The delegation token is somebody else's."""

    default = Error.DELEGATION_TOKEN_OWNER_MISMATCH


class DelegationTokenRequestNotAllowed(BrokerResponseError):
    """Delegation tokens may not be asked for over this connection."""

    default = Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


class DelegationTokenAuthorizationFailed(BrokerResponseError):
    """The principal may not use the delegation token."""

    default = Error.DELEGATION_TOKEN_AUTHORIZATION_FAILED


class DelegationTokenExpired(BrokerResponseError):
    """The delegation token has expired."""

    default = Error.DELEGATION_TOKEN_EXPIRED


class InvalidPrincipalType(BrokerResponseError):
    """The kind of principal is not supported."""

    default = Error.INVALID_PRINCIPAL_TYPE


class NonEmptyGroup(BrokerResponseError):
    """The group has members."""

    default = Error.NON_EMPTY_GROUP


class GroupIdNotFound(BrokerResponseError):
    """There is no such group."""

    default = Error.GROUP_ID_NOT_FOUND


class FetchSessionIdNotFound(BrokerResponseError):
    """The broker does not know the fetch session (any more)."""

    default = Error.FETCH_SESSION_ID_NOT_FOUND


class InvalidFetchSessionEpoch(BrokerResponseError):
    """The fetch session has gone on."""

    default = Error.INVALID_FETCH_SESSION_EPOCH


class ListenerNotFound(BrokerResponseError):
    """The leader does not listen where we asked."""

    default = Error.LISTENER_NOT_FOUND


class MemberIdRequired(BrokerResponseError):
    """The group wants the member to join with the id it was given."""

    default = Error.MEMBER_ID_REQUIRED


class FencedInstanceIdError(BrokerResponseError):
    """Another consumer uses the same ``group.instance.id``."""

    default = Error.FENCED_INSTANCE_ID


InvalidMessageError = CorruptRecordException
CoordinatorLoadInProgressError = GroupLoadInProgressError
CoordinatorNotAvailableError = GroupCoordinatorNotAvailableError
NotCoordinatorError = NotCoordinatorForGroupError


__all__ = [
    "BrokerNotAvailableError",
    "BrokerResponseError",
    "ClusterAuthorizationFailedError",
    "ConcurrentTransactions",
    "CoordinatorLoadInProgressError",
    "CoordinatorNotAvailableError",
    "CorruptRecordException",
    "DelegationTokenAuthDisabled",
    "DelegationTokenAuthorizationFailed",
    "DelegationTokenExpired",
    "DelegationTokenNotFound",
    "DelegationTokenOwnerMismatch",
    "DelegationTokenRequestNotAllowed",
    "DuplicateSequenceNumber",
    "FencedInstanceIdError",
    "FetchSessionIdNotFound",
    "GroupAuthorizationFailedError",
    "GroupCoordinatorNotAvailableError",
    "GroupIdNotFound",
    "GroupLoadInProgressError",
    "IllegalGenerationError",
    "IllegalSaslStateError",
    "InconsistentGroupProtocolError",
    "InvalidCommitOffsetSizeError",
    "InvalidConfigurationError",
    "InvalidFetchRequestError",
    "InvalidFetchSessionEpoch",
    "InvalidGroupIdError",
    "InvalidMessageError",
    "InvalidPartitionsError",
    "InvalidPrincipalType",
    "InvalidProducerEpoch",
    "InvalidProducerIdMapping",
    "InvalidReplicationAssignmentError",
    "InvalidReplicationFactorError",
    "InvalidRequestError",
    "InvalidRequiredAcksError",
    "InvalidSessionTimeoutError",
    "InvalidTimestampError",
    "InvalidTopicError",
    "InvalidTransactionTimeout",
    "InvalidTxnState",
    "KafkaStorageError",
    "LeaderNotAvailableError",
    "ListenerNotFound",
    "LogDirNotFound",
    "MemberIdRequired",
    "NoError",
    "NonEmptyGroup",
    "NotControllerError",
    "NotCoordinatorError",
    "NotCoordinatorForGroupError",
    "NotEnoughReplicasAfterAppendError",
    "NotEnoughReplicasError",
    "NotLeaderForPartitionError",
    "OffsetMetadataTooLargeError",
    "OffsetOutOfRangeError",
    "OperationNotAttempted",
    "OutOfOrderSequenceNumber",
    "PolicyViolationError",
    "ReassignmentInProgress",
    "RebalanceInProgressError",
    "RecordListTooLargeError",
    "ReplicaNotAvailableError",
    "SaslAuthenticationFailed",
    "SecurityDisabled",
    "StaleControllerEpochError",
    "TopicAlreadyExistsError",
    "TopicAuthorizationFailedError",
    "TransactionCoordinatorFenced",
    "UnknownError",
    "UnknownMemberIdError",
    "UnknownProducerId",
    "UnknownTopicOrPartitionError",
    "UnsupportedForMessageFormatError",
    "UnsupportedSaslMechanismError",
    "UnsupportedVersionError",
]
