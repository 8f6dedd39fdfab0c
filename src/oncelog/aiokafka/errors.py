"""``aiokafka.errors``: its names for the errors that this client raises, and names for some it never raises.

The classes defined below stand for situations that do not arise here, because the client handles them itself (it
retries, reconnects, looks up the coordinator) or raises another class for them. They exist so that an ``except`` clause
can name them.
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
    """Never raised: ``oncelog.errors.ConfigError``, a ValueError, is raised instead, before anything is sent."""


class NoBrokersAvailable(KafkaError):
    """Never raised: see KafkaConnectionError."""

    retriable = True
    invalid_metadata = True


class KafkaUnavailableError(KafkaError):
    """Never raised: see KafkaConnectionError."""


class NodeNotReadyError(KafkaError):
    """The client handles this case itself."""

    retriable = True


class KafkaProtocolError(KafkaError):
    """Never raised: the connection is closed with a KafkaConnectionError."""

    retriable = True


class CorrelationIdError(KafkaProtocolError):
    """The client handles this case itself."""


class Cancelled(KafkaError):
    """The client handles this case itself."""

    retriable = True


class TooManyInFlightRequests(KafkaError):
    """The client handles this case itself."""

    retriable = True


class StaleMetadata(KafkaError):
    """The client handles this case itself."""

    retriable = True
    invalid_metadata = True


class MetadataEmptyBrokerList(KafkaError):
    """The client handles this case itself."""

    retriable = True


class UnrecognizedBrokerVersion(KafkaError):
    """Never raised: see UnsupportedVersionError, which names the request."""


class IncompatibleBrokerVersion(KafkaError):
    """No version in use offers the requested feature; see UnsupportedVersionError, too."""


class AuthenticationMethodNotSupported(KafkaError):
    """Never raised: see UnsupportedSaslMechanismError."""


class AuthenticationFailedError(KafkaError):
    """Never raised: see SaslAuthenticationFailed."""


class UnsupportedCodecError(KafkaError):
    """A batch is compressed with a codec that is not installed; oncelog comes with all of Kafka's."""


class QuotaViolationError(KafkaError):
    """The client handles this case itself."""


class StaleLeaderEpochCodeError(BrokerResponseError):
    """Code 13, which brokers have never sent under this name."""

    default = Error.NETWORK_EXCEPTION
    retriable = False
    invalid_metadata = False
    message = "STALE_LEADER_EPOCH_CODE"


kafka_errors: dict[int, type[BrokerResponseError]] = {
    int(kind.default): kind
    for kind in list(globals().values())
    if isinstance(kind, type) and issubclass(kind, BrokerResponseError) and BrokerResponseError in kind.__bases__
}
"""The exception classes by their error codes."""


def for_code(error_code: int) -> type[BrokerResponseError]:
    """The class for an error code from a broker; UnknownError for a code that has none of its own."""
    return kafka_errors.get(error_code, UnknownError)
