"""What the client raises, and which exception stands for which code of the protocol.

Three kinds matter to a producer. Retriable errors are handled inside and only surface as a timeout. After an
``AbortableTransactionError`` the transaction must be aborted, then work goes on. After a ``FatalProducerError`` only
closing the producer is left. Names are aiokafka's where it has one.
"""

from __future__ import annotations

from oncelog.errors import ConfigError, Error, KafkaError, OncelogError

__all__ = [
    "AbortableTransactionError",
    "CommitFailedError",
    "ConcurrentTransactions",
    "ConfigError",
    "ConsumerStoppedError",
    "Error",
    "FatalProducerError",
    "FencedInstanceIdError",
    "GroupAuthorizationFailedError",
    "IllegalGenerationError",
    "IllegalOperation",
    "IllegalStateError",
    "InvalidProducerEpoch",
    "InvalidTopicError",
    "KafkaConnectionError",
    "KafkaError",
    "KafkaTimeoutError",
    "LogTruncationError",
    "MessageSizeTooLargeError",
    "NoOffsetForPartitionError",
    "OffsetOutOfRangeError",
    "OncelogError",
    "OutOfOrderSequenceNumber",
    "ProducerClosed",
    "ProducerFenced",
    "RebalanceInProgressError",
    "RecordDeserializationError",
    "RecordTooLargeError",
    "TopicAlreadyExistsError",
    "TopicAuthorizationFailedError",
    "TransactionalIdAuthorizationFailed",
    "UnknownMemberIdError",
    "UnknownTopicOrPartitionError",
    "UnsupportedVersionError",
    "error_for",
]


class IllegalStateError(OncelogError, RuntimeError):
    """A method was called when it makes no sense; the text says what to call instead."""


IllegalOperation = IllegalStateError


class ProducerClosed(IllegalStateError):
    """The producer was stopped."""


class ConsumerStoppedError(IllegalStateError):
    """The consumer was stopped."""


class KafkaTimeoutError(KafkaError):
    """Something took longer than its setting allows; the text names the setting."""

    def __init__(self, message: str) -> None:
        super().__init__(Error.REQUEST_TIMED_OUT, message)


class KafkaConnectionError(KafkaError):
    """No broker could be reached, or the connection broke."""

    def __init__(self, message: str) -> None:
        super().__init__(Error.NETWORK_EXCEPTION, message)


class AbortableTransactionError(KafkaError):
    """The open transaction cannot be committed any more. Call ``abort_transaction()``, then begin it again."""


class FatalProducerError(KafkaError):
    """The producer cannot go on. Close it and start a new one."""


class ProducerFenced(FatalProducerError):
    """A newer producer has taken this ``transactional.id``, or the transaction timed out. Close this one."""


class TransactionalIdAuthorizationFailed(FatalProducerError):
    """The principal may not write with this ``transactional.id``."""


class RecordTooLargeError(KafkaError):
    """One record exceeds ``max.request.size`` or ``buffer.memory``."""

    def __init__(self, message: str) -> None:
        super().__init__(Error.MESSAGE_TOO_LARGE, message)


MessageSizeTooLargeError = RecordTooLargeError


class CommitFailedError(KafkaError):
    """Offsets were not committed: the group has rebalanced and the partitions belong to another member now."""


class NoOffsetForPartitionError(KafkaError):
    """A partition has no committed offset and ``auto.offset.reset`` is ``none``."""

    def __init__(self, message: str) -> None:
        super().__init__(Error.OFFSET_OUT_OF_RANGE, message)


class OffsetOutOfRangeError(KafkaError):
    """The position does not exist in the log and ``auto.offset.reset`` is ``none``."""


class LogTruncationError(OffsetOutOfRangeError):
    """Records that were read are gone from the log, and ``auto.offset.reset`` is ``none`` (KIP-320).

    ``divergent_offset``: the first one that is gone, or None where the broker cannot tell.
    """

    def __init__(self, partition: object, position: int, divergent_offset: int | None) -> None:
        kept = "" if divergent_offset is None else f" from offset {divergent_offset} on"
        super().__init__(
            Error.OFFSET_OUT_OF_RANGE,
            f"{partition} was read to offset {position} and has lost records{kept} since: its new leader did not have "
            "them; auto.offset.reset is none, so seek to where reading shall go on",
        )
        self.divergent_offset = divergent_offset


class RecordDeserializationError(KafkaError):
    """A deserializer refused a record; the text names it. The position stays in front of it."""


class UnknownTopicOrPartitionError(KafkaError):
    """The topic or partition does not exist."""


class InvalidTopicError(KafkaError):
    """The topic's name is not allowed."""


class TopicAlreadyExistsError(KafkaError):
    """A topic of that name exists."""


class TopicAuthorizationFailedError(KafkaError):
    """The principal may not use the topic."""


class GroupAuthorizationFailedError(KafkaError):
    """The principal may not use the group."""


class UnsupportedVersionError(KafkaError):
    """The broker does not offer what was asked for."""


class InvalidProducerEpoch(KafkaError):
    """A batch came from an older instance of the producer."""


class OutOfOrderSequenceNumber(KafkaError):
    """A batch did not follow the last stored one."""


class ConcurrentTransactions(KafkaError):
    """The last transaction of the ``transactional.id`` is not finished yet."""


class IllegalGenerationError(KafkaError):
    """The group has moved on to another generation."""


class UnknownMemberIdError(KafkaError):
    """The coordinator does not know the member (any more)."""


class RebalanceInProgressError(KafkaError):
    """The group is rebalancing; the call may be repeated when it has ended."""


class FencedInstanceIdError(KafkaError):
    """Another consumer uses the same ``group.instance.id``."""


_CLASSES: dict[Error, type[KafkaError]] = {
    Error.UNKNOWN_TOPIC_OR_PARTITION: UnknownTopicOrPartitionError,
    Error.UNKNOWN_TOPIC_ID: UnknownTopicOrPartitionError,
    Error.INVALID_TOPIC_EXCEPTION: InvalidTopicError,
    Error.TOPIC_ALREADY_EXISTS: TopicAlreadyExistsError,
    Error.TOPIC_AUTHORIZATION_FAILED: TopicAuthorizationFailedError,
    Error.GROUP_AUTHORIZATION_FAILED: GroupAuthorizationFailedError,
    Error.OFFSET_OUT_OF_RANGE: OffsetOutOfRangeError,
    Error.UNSUPPORTED_VERSION: UnsupportedVersionError,
    Error.INVALID_PRODUCER_EPOCH: InvalidProducerEpoch,
    Error.OUT_OF_ORDER_SEQUENCE_NUMBER: OutOfOrderSequenceNumber,
    Error.CONCURRENT_TRANSACTIONS: ConcurrentTransactions,
    Error.PRODUCER_FENCED: ProducerFenced,
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: TransactionalIdAuthorizationFailed,
    Error.TRANSACTION_ABORTABLE: AbortableTransactionError,
    Error.ILLEGAL_GENERATION: IllegalGenerationError,
    Error.UNKNOWN_MEMBER_ID: UnknownMemberIdError,
    Error.REBALANCE_IN_PROGRESS: RebalanceInProgressError,
    Error.FENCED_INSTANCE_ID: FencedInstanceIdError,
}


def error_for(error: Error, message: str) -> KafkaError:
    """The exception for a code that a broker answered."""
    if error is Error.REQUEST_TIMED_OUT:
        return KafkaTimeoutError(message)
    if error is Error.NETWORK_EXCEPTION:
        return KafkaConnectionError(message)
    if error is Error.MESSAGE_TOO_LARGE:
        return RecordTooLargeError(message)
    return _CLASSES.get(error, KafkaError)(error, message)


def error_of(code: int) -> Error:
    """The row of a code; codes of brokers newer than our table count as UNKNOWN_SERVER_ERROR."""
    try:
        return Error(code)
    except ValueError:
        return Error.UNKNOWN_SERVER_ERROR
