"""Errors of groups and transactions: from their coordinators, and from partitions to idempotent producers."""

from __future__ import annotations

from oncelog.client.core.response_errors.base import BrokerResponseError
from oncelog.errors import Error


class OffsetMetadataTooLargeError(BrokerResponseError):
    """The metadata stored with an offset is too long."""

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
    """The offsets committed together are too large to be stored."""

    default = Error.INVALID_COMMIT_OFFSET_SIZE


class OutOfOrderSequenceNumber(BrokerResponseError):
    """A batch's sequence did not follow the last stored batch of its producer."""

    default = Error.OUT_OF_ORDER_SEQUENCE_NUMBER


class DuplicateSequenceNumber(BrokerResponseError):
    """A duplicate of a stored batch that is older than those the broker caches."""

    default = Error.DUPLICATE_SEQUENCE_NUMBER


class InvalidProducerEpoch(BrokerResponseError):
    """A batch came from an older instance of the producer."""

    default = Error.INVALID_PRODUCER_EPOCH


class InvalidTxnState(BrokerResponseError):
    """The transaction's state does not allow the request."""

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


class UnknownProducerId(BrokerResponseError):
    """The partition does not know the producer (any more)."""

    default = Error.UNKNOWN_PRODUCER_ID


class NonEmptyGroup(BrokerResponseError):
    """The group has members, so the request is refused."""

    default = Error.NON_EMPTY_GROUP


class GroupIdNotFound(BrokerResponseError):
    """The group does not exist."""

    default = Error.GROUP_ID_NOT_FOUND


class MemberIdRequired(BrokerResponseError):
    """The member must join with the id it was given."""

    default = Error.MEMBER_ID_REQUIRED


class FencedInstanceIdError(BrokerResponseError):
    """Another consumer uses the same ``group.instance.id``."""

    default = Error.FENCED_INSTANCE_ID


CoordinatorLoadInProgressError = GroupLoadInProgressError
CoordinatorNotAvailableError = GroupCoordinatorNotAvailableError
NotCoordinatorError = NotCoordinatorForGroupError

__all__ = [
    "ConcurrentTransactions",
    "CoordinatorLoadInProgressError",
    "CoordinatorNotAvailableError",
    "DuplicateSequenceNumber",
    "FencedInstanceIdError",
    "GroupCoordinatorNotAvailableError",
    "GroupIdNotFound",
    "GroupLoadInProgressError",
    "IllegalGenerationError",
    "InconsistentGroupProtocolError",
    "InvalidCommitOffsetSizeError",
    "InvalidGroupIdError",
    "InvalidProducerEpoch",
    "InvalidProducerIdMapping",
    "InvalidSessionTimeoutError",
    "InvalidTransactionTimeout",
    "InvalidTxnState",
    "MemberIdRequired",
    "NonEmptyGroup",
    "NotCoordinatorError",
    "NotCoordinatorForGroupError",
    "OffsetMetadataTooLargeError",
    "OutOfOrderSequenceNumber",
    "RebalanceInProgressError",
    "TransactionCoordinatorFenced",
    "UnknownMemberIdError",
    "UnknownProducerId",
]
