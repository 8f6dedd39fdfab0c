"""``aiokafka.errors``: its names for what this client raises, and names of what it never raises.

Those below mean situations that do not come about here, because the client handles them itself (it repeats, connects
again, looks up the coordinator), or because another of these classes stands for them. They exist so that an ``except``
clause may name them.
"""

from __future__ import annotations

from oncelog.client.core.errors import *  # noqa: F403
from oncelog.client.core.errors import Error, IllegalStateError, KafkaError, error_for
from oncelog.client.core.response_errors import *  # noqa: F403
from oncelog.client.core.response_errors import BrokerResponseError


class IllegalArgumentError(IllegalStateError, ValueError):
    """An argument has a value that is not allowed."""


class KafkaConfigurationError(KafkaError):
    """Here ``oncelog.errors.ConfigError``, a ValueError, is raised instead, before anything is sent."""


class NoBrokersAvailable(KafkaError):
    """Here KafkaConnectionError."""


class KafkaUnavailableError(KafkaError):
    """Here KafkaConnectionError."""


class NodeNotReadyError(KafkaError):
    """Handled by the client."""


class KafkaProtocolError(KafkaError):
    """Here KafkaConnectionError: the connection is closed."""


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
    """Here UnsupportedVersionError, which names the request."""


class IncompatibleBrokerVersion(KafkaError):
    """Here UnsupportedVersionError, which names the request."""


class AuthenticationMethodNotSupported(KafkaError):
    """Here UnsupportedSaslMechanismError."""


class AuthenticationFailedError(KafkaError):
    """Here SaslAuthenticationFailed."""


class UnsupportedCodecError(KafkaError):
    """A batch is packed with a codec that is not installed; all of Kafka's are part of oncelog."""


class QuotaViolationError(KafkaError):
    """Handled by the client."""


class StaleLeaderEpochCodeError(BrokerResponseError):
    """Code 13, which brokers have never answered under this name."""

    default = Error.NETWORK_EXCEPTION


def for_code(error_code: int) -> type[KafkaError]:
    """The class for a code that a broker answered."""
    try:
        return type(error_for(Error(error_code), ""))
    except ValueError:
        return BrokerResponseError
