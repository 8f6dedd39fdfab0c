"""``aiokafka.errors``: aiokafka's names for the errors that this client raises, and for some that it never raises.

Most classes defined below are never raised, because the client handles the situation itself (it retries, reconnects,
looks up the coordinator) or raises another class. They exist so that an ``except`` clause can name them.
"""

from __future__ import annotations

from oncelog.client.core.client_errors import *  # noqa: F403
from oncelog.client.core.client_errors import Error, KafkaError
from oncelog.client.core.response_errors import *  # noqa: F403
from oncelog.client.core.response_errors import BrokerResponseError, UnknownError


class IllegalArgumentError(KafkaError):
    """An argument has a value that is not allowed."""

    default = Error.INVALID_REQUEST


class KafkaConfigurationError(KafkaError):
    """Never raised: contradictory settings raise ``oncelog.errors.ConfigError``, which is a ValueError, before anything
    is sent."""


class NoBrokersAvailable(KafkaError):
    """Never raised: a client that reaches no broker raises KafkaConnectionError."""

    retriable = True
    invalid_metadata = True


class KafkaUnavailableError(KafkaError):
    """Never raised: a client that reaches no broker raises KafkaConnectionError."""


class NodeNotReadyError(KafkaError):
    """Never raised: a request waits until the connection to its node is ready."""

    retriable = True


class KafkaProtocolError(KafkaError):
    """Never raised: an answer that violates the protocol ends its connection, and its requests fail with
    KafkaConnectionError or are repeated."""

    retriable = True


class CorrelationIdError(KafkaProtocolError):
    """Never raised: an answer with a wrong correlation id ends its connection, and its requests fail with
    KafkaConnectionError or are repeated."""


class Cancelled(KafkaError):
    """Never raised: the requests of a lost connection fail with KafkaConnectionError or are repeated."""

    retriable = True


class TooManyInFlightRequests(KafkaError):
    """Never raised: a request waits while too many others are in flight."""

    retriable = True


class StaleMetadata(KafkaError):
    """Never raised: the client fetches new metadata and repeats the request."""

    retriable = True
    invalid_metadata = True


class MetadataEmptyBrokerList(KafkaError):
    """Never raised: the client requests the metadata again."""

    retriable = True


class UnrecognizedBrokerVersion(KafkaError):
    """Never raised: UnsupportedVersionError, which names the request, is raised instead."""


class IncompatibleBrokerVersion(KafkaError):
    """The broker's versions lack a requested feature. For a request that a broker does not serve,
    UnsupportedVersionError is raised."""


class AuthenticationMethodNotSupported(KafkaError):
    """Never raised: UnsupportedSaslMechanismError is raised instead."""


class AuthenticationFailedError(KafkaError):
    """Never raised: SaslAuthenticationFailed is raised instead."""


class UnsupportedCodecError(KafkaError):
    """Never raised: a batch cannot be compressed with a codec that is missing, because oncelog comes with all codecs of
    Kafka."""


class QuotaViolationError(KafkaError):
    """Never raised: the client waits for the throttle time that a broker demands."""


class StaleLeaderEpochCodeError(BrokerResponseError):
    """aiokafka's name for error code 13, which is NETWORK_EXCEPTION in Apache Kafka."""

    default = Error.NETWORK_EXCEPTION
    retriable = False
    invalid_metadata = False
    message = "STALE_LEADER_EPOCH_CODE"


kafka_errors: dict[int, type[BrokerResponseError]] = {
    int(kind.default): kind
    for kind in list(globals().values())
    if isinstance(kind, type) and issubclass(kind, BrokerResponseError) and BrokerResponseError in kind.__bases__
}
"""The exception class of each error code that brokers send."""


def for_code(error_code: int) -> type[BrokerResponseError]:
    """The class for an error code from a broker; UnknownError for a code that has no class of its own."""
    return kafka_errors.get(error_code, UnknownError)
