"""The client's exceptions, and the table that chooses one for each error code of the protocol.

Producers distinguish three kinds. Retriable errors are handled inside the client and only surface as a timeout. After
an ``AbortableTransactionError`` the transaction must be aborted; then work continues. After a ``FatalProducerError``
the producer can only be closed. Exceptions have aiokafka's names where aiokafka has the same one.
"""

from __future__ import annotations

from oncelog.client.core.response_errors import *  # noqa: F403
from oncelog.client.core.response_errors import (
    BrokerResponseError,
    OffsetOutOfRangeError,
    UnknownTopicOrPartitionError,
)
from oncelog.errors import ConfigError, Error, KafkaError, OncelogError

__all__ = [
    "AbortableTransactionError",
    "CommitFailedError",
    "ConfigError",
    "ConsumerStoppedError",
    "Error",
    "FatalProducerError",
    "IllegalOperation",
    "IllegalStateError",
    "KafkaConnectionError",
    "KafkaError",
    "KafkaTimeoutError",
    "LogTruncationError",
    "MessageSizeTooLargeError",
    "NoOffsetForPartitionError",
    "NumberOutOfRangeError",
    "OncelogError",
    "ProducerClosed",
    "ProducerFenced",
    "RecordDeserializationError",
    "RecordTooLargeError",
    "RequestTimedOutError",
    "TransactionalIdAuthorizationFailed",
    "error_for",
]


class IllegalStateError(KafkaError):
    """A method was called in the wrong state; the text names the method to call instead."""

    default = Error.INVALID_REQUEST

    def __str__(self) -> str:
        # Without Kafka's error code in the text, because the error does not come from a broker.
        return Exception.__str__(self) or type(self).__name__


IllegalOperation = IllegalStateError


class NumberOutOfRangeError(OncelogError, ValueError):
    """A number that no request can carry; the text gives the allowed range."""


class ProducerClosed(IllegalStateError):
    """The producer was stopped."""


class ConsumerStoppedError(OncelogError, RuntimeError):
    """The consumer was stopped. As in aiokafka this is not a KafkaError, which a reading loop may catch and ignore."""


class KafkaTimeoutError(KafkaError):
    """Something took longer than its setting allows; the text names the setting."""

    default = Error.REQUEST_TIMED_OUT


class RequestTimedOutError(KafkaTimeoutError, BrokerResponseError):
    """A broker, or the network, took longer than ``request.timeout.ms``."""


class KafkaConnectionError(KafkaError):
    """No broker could be reached, or the connection broke."""

    default = Error.NETWORK_EXCEPTION


class AbortableTransactionError(KafkaError):
    """The open transaction can no longer be committed. Call ``abort_transaction()``, then start it again."""

    default = Error.TRANSACTION_ABORTABLE


class FatalProducerError(KafkaError):
    """The producer cannot continue. Close it and start a new one."""


class ProducerFenced(FatalProducerError):
    """A newer producer has taken this ``transactional.id``, or the transaction timed out. Close this one."""

    default = Error.PRODUCER_FENCED


class TransactionalIdAuthorizationFailed(FatalProducerError, BrokerResponseError):
    """The principal may not write with this ``transactional.id``."""

    default = Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


class RecordTooLargeError(BrokerResponseError):
    """A record exceeds ``max.request.size``, ``buffer.memory`` or the broker's limit."""

    default = Error.MESSAGE_TOO_LARGE


MessageSizeTooLargeError = RecordTooLargeError


class CommitFailedError(KafkaError):
    """Offsets were not committed: the group has rebalanced and another member owns the partitions now."""

    default = Error.ILLEGAL_GENERATION


class NoOffsetForPartitionError(KafkaError):
    """A partition has no committed offset and ``auto.offset.reset`` is ``none``."""

    default = Error.OFFSET_OUT_OF_RANGE


class LogTruncationError(OffsetOutOfRangeError):
    """Records that were already read are gone from the log, and ``auto.offset.reset`` is ``none`` (KIP-320).

    ``divergent_offset`` is the first lost offset, or None if the broker does not know it.
    """

    def __init__(self, partition: object, position: int, divergent_offset: int | None) -> None:
        kept = "" if divergent_offset is None else f" from offset {divergent_offset} on"
        super().__init__(
            f"{partition} was read to offset {position} and has lost records{kept} since: its new leader did not have "
            "them; auto.offset.reset is none, so seek to where reading should continue"
        )
        self.divergent_offset = divergent_offset
        self._made_of = partition, position, divergent_offset

    def __reduce__(self) -> tuple[type[LogTruncationError], tuple[object, int, int | None]]:
        return type(self), self._made_of


class RecordDeserializationError(KafkaError):
    """A deserializer refused a record; the text names it. The position stays at the record."""


_CLASSES: dict[Error, type[KafkaError]] = {
    **{kind.default: kind for kind in BrokerResponseError.__subclasses__()},
    Error.NETWORK_EXCEPTION: KafkaConnectionError,
    Error.PRODUCER_FENCED: ProducerFenced,
    Error.TRANSACTION_ABORTABLE: AbortableTransactionError,
    Error.UNKNOWN_TOPIC_ID: UnknownTopicOrPartitionError,
}


_TOPIC_NAMES = "a topic's name is 1 to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-', and neither '.' nor '..'"


def error_for(error: Error, message: str) -> KafkaError:
    """The exception for an error code from a broker."""
    return _CLASSES.get(error, BrokerResponseError)(error, message)


def topic_error(error: Error, name: str) -> KafkaError:
    """The exception for a topic that brokers refuse with an error code but without a message."""
    why = f": {_TOPIC_NAMES}" if error is Error.INVALID_TOPIC_EXCEPTION else ""
    return error_for(error, f"topic {name!r} cannot be used{why}")


def error_of(code: int) -> Error:
    """The error with this code; UNKNOWN_SERVER_ERROR for a code that only newer brokers have."""
    try:
        return Error(code)
    except ValueError:
        return Error.UNKNOWN_SERVER_ERROR
