"""Logins and permissions."""

from __future__ import annotations

from oncelog.client.core.response_errors.base import BrokerResponseError
from oncelog.errors import Error


class TopicAuthorizationFailedError(BrokerResponseError):
    """The principal may not use the topic."""

    default = Error.TOPIC_AUTHORIZATION_FAILED


class GroupAuthorizationFailedError(BrokerResponseError):
    """The principal may not use the group."""

    default = Error.GROUP_AUTHORIZATION_FAILED


class ClusterAuthorizationFailedError(BrokerResponseError):
    """The principal may not do this to the cluster."""

    default = Error.CLUSTER_AUTHORIZATION_FAILED


class UnsupportedSaslMechanismError(BrokerResponseError):
    """The broker does not offer the SASL mechanism."""

    default = Error.UNSUPPORTED_SASL_MECHANISM


class IllegalSaslStateError(BrokerResponseError):
    """The request is not allowed during the login."""

    default = Error.ILLEGAL_SASL_STATE


class SecurityDisabled(BrokerResponseError):
    """The broker has no authorizer."""

    default = Error.SECURITY_DISABLED


class SaslAuthenticationFailed(BrokerResponseError):
    """User and password were refused."""

    default = Error.SASL_AUTHENTICATION_FAILED


class DelegationTokenAuthDisabled(BrokerResponseError):
    """The broker does not support delegation tokens."""

    default = Error.DELEGATION_TOKEN_AUTH_DISABLED


class DelegationTokenNotFound(BrokerResponseError):
    """The delegation token does not exist."""

    default = Error.DELEGATION_TOKEN_NOT_FOUND


class DelegationTokenOwnerMismatch(BrokerResponseError):
    """The delegation token belongs to someone else."""

    default = Error.DELEGATION_TOKEN_OWNER_MISMATCH


class DelegationTokenRequestNotAllowed(BrokerResponseError):
    """Delegation tokens may not be requested over this connection."""

    default = Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


class DelegationTokenAuthorizationFailed(BrokerResponseError):
    """The principal may not use the delegation token."""

    default = Error.DELEGATION_TOKEN_AUTHORIZATION_FAILED


class DelegationTokenExpired(BrokerResponseError):
    """The delegation token has expired."""

    default = Error.DELEGATION_TOKEN_EXPIRED


class InvalidPrincipalType(BrokerResponseError):
    """The type of principal is not supported."""

    default = Error.INVALID_PRINCIPAL_TYPE


__all__ = [
    "ClusterAuthorizationFailedError",
    "DelegationTokenAuthDisabled",
    "DelegationTokenAuthorizationFailed",
    "DelegationTokenExpired",
    "DelegationTokenNotFound",
    "DelegationTokenOwnerMismatch",
    "DelegationTokenRequestNotAllowed",
    "GroupAuthorizationFailedError",
    "IllegalSaslStateError",
    "InvalidPrincipalType",
    "SaslAuthenticationFailed",
    "SecurityDisabled",
    "TopicAuthorizationFailedError",
    "UnsupportedSaslMechanismError",
]
