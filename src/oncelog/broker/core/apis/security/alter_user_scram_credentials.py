"""AlterUserScramCredentials (key 51), version 0: set and remove users' SCRAM credentials (KIP-554).

A request may change each user only once: the answer for a user is its first error, and the changes of other users still
apply. The messages are those of Kafka's ``ScramControlManager``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.requests.context import RequestContext
from oncelog.errors import Error, StorageError
from oncelog.protocol.generated.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from oncelog.protocol.generated.alter_user_scram_credentials_response import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from oncelog.protocol.scram import (
    HASH_OF_MECHANISM,
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    ScramCredential,
    credential,
)

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import SecurityPorts


Refusal = tuple[Error, str]
Change = ScramCredentialDeletion | ScramCredentialUpsertion
TWICE = Error.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request"


def handle(
    ports: SecurityPorts, context: RequestContext, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    refusals: dict[str, Refusal | None] = {}
    changes: dict[str, tuple[int, ScramCredential | None]] = {}
    wanted: list[Change] = [*request.deletions, *request.upsertions]
    for change in wanted:
        user = change.name
        if refusals.get(user) is not None:
            continue
        refusals[user] = TWICE if user in refusals else _refusal(ports, change)
        if isinstance(change, ScramCredentialUpsertion):
            changes[user] = change.mechanism, _credential(change) if refusals[user] is None else None
        else:
            changes[user] = change.mechanism, None
    users = sorted(refusals)
    failure = _apply(ports, {user: changes[user] for user in users if refusals[user] is None})
    return AlterUserScramCredentialsResponse(results=[_result(user, refusals[user] or failure) for user in users])


def _refusal(ports: SecurityPorts, change: Change) -> Refusal | None:
    if not change.name:
        return Error.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"
    if change.mechanism not in HASH_OF_MECHANISM:
        return Error.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"
    if isinstance(change, ScramCredentialDeletion):
        if (change.name, change.mechanism) not in ports.metadata.scram_credentials():
            return Error.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist"
    elif change.iterations < MIN_ITERATIONS:
        return Error.UNACCEPTABLE_CREDENTIAL, "Too few iterations"
    elif change.iterations > MAX_ITERATIONS:
        return Error.UNACCEPTABLE_CREDENTIAL, "Too many iterations"
    elif not change.salted_password:
        return Error.UNACCEPTABLE_CREDENTIAL, "Salted password must not be empty"
    return None


def _credential(change: ScramCredentialUpsertion) -> ScramCredential:
    return credential(change.mechanism, change.iterations, bytes(change.salt), bytes(change.salted_password))


def _apply(ports: SecurityPorts, accepted: dict[str, tuple[int, ScramCredential | None]]) -> Refusal | None:
    try:
        ports.metadata.set_scram_credentials({(user, mechanism): new for user, (mechanism, new) in accepted.items()})
    except StorageError as error:
        return Error.KAFKA_STORAGE_ERROR, str(error)
    return None


def _result(user: str, refusal: Refusal | None) -> AlterUserScramCredentialsResult:
    error, message = refusal if refusal is not None else (Error.NONE, None)
    return AlterUserScramCredentialsResult(user=user, error_code=error, error_message=message)
