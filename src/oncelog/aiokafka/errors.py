"""``aiokafka.errors``: its names for the errors that this client raises, and names for some it never raises.

The classes defined below stand for situations that do not arise here, because the client handles them itself (it
retries, reconnects, looks up the coordinator) or raises another class for them. They exist so that an ``except`` clause
can name them.
"""

from __future__ import annotations

from oncelog.client.core.errors import *  # noqa: F403
from oncelog.client.core.errors import Error, IllegalStateError, KafkaError, error_for
from oncelog.client.core.response_errors import *  # noqa: F403
from oncelog.client.core.response_errors import BrokerResponseError


class IllegalArgumentError(IllegalStateError, ValueError):
    """An argument has a value that is not allowed."""


class KafkaConfigurationError(KafkaError):
    """Never raised: ``oncelog.errors.ConfigError``, a ValueError, is raised instead, before anything is sent."""


class NoBrokersAvailable(KafkaError):
    """Never raised: see KafkaConnectionError."""


class KafkaUnavailableError(KafkaError):
    """Never raised: see KafkaConnectionError."""


class NodeNotReadyError(KafkaError):
    """Handled by the client."""


class KafkaProtocolError(KafkaError):
    """Never raised: the connection is closed with a KafkaConnectionError."""


class CorrelationIdError(KafkaProtocolError):
    """Handled by the client."""


class Cancelled(KafkaError):
    """Handled by the client."""


class TooManyInFlightRequests(KafkaError):
    """Handled by the client."""


class StaleMetadata(KafkaError):
    """Handled by the client."""


class MetadataEmptyBrokerList(KafkaError):
    """Handled by the client."""


class UnrecognizedBrokerVersion(KafkaError):
    """Never raised: see UnsupportedVersionError, which names the request."""


class IncompatibleBrokerVersion(KafkaError):
    """Never raised: see UnsupportedVersionError, which names the request."""


class AuthenticationMethodNotSupported(KafkaError):
    """Never raised: see UnsupportedSaslMechanismError."""


class AuthenticationFailedError(KafkaError):
    """Never raised: see SaslAuthenticationFailed."""


class UnsupportedCodecError(KafkaError):
    """A batch is compressed with a codec that is not installed; oncelog comes with all of Kafka's."""


class QuotaViolationError(KafkaError):
    """Handled by the client."""


class StaleLeaderEpochCodeError(BrokerResponseError):
    """Code 13, which brokers have never sent under this name."""

    default = Error.NETWORK_EXCEPTION


def for_code(error_code: int) -> type[KafkaError]:
    """The exception class for an error code from a broker."""
    try:
        return type(error_for(Error(error_code), ""))
    except ValueError:
        return BrokerResponseError
