"""Delegation tokens (KIP-48): this broker issues none, and answers like Apache Kafka without
``delegation.token.secret.key``.

Called by the four APIs for tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.security.authorizer import ANONYMOUS
from oncelog.errors import Error

if TYPE_CHECKING:
    from oncelog.broker.security.session import Session

SECRET_KEY = "delegation.token.secret.key"


def refusal_of_tokens(session: Session) -> Error:
    """The error: only an authenticated caller may ask for tokens, and even then there are none."""
    if session.gate is None and session.principal == ANONYMOUS:
        return Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    return Error.DELEGATION_TOKEN_AUTH_DISABLED
