"""Access control lists and SCRAM credentials: one part of the admin client.

A password is salted and hashed here (RFC 5802); it never leaves the process in clear text.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from hashlib import pbkdf2_hmac
from typing import NamedTuple

from oncelog.client.aio.admin.admin_connection import AdminConnection
from oncelog.client.core import arguments
from oncelog.client.core.admin import admin_arguments
from oncelog.client.core.client_errors import error_for, error_of
from oncelog.client.core.connection.wire import Api
from oncelog.errors import Error
from oncelog.protocol.acls import Acl, AclFilter
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from oncelog.protocol.generated.create_acls_request import AclCreation, CreateAclsRequest
from oncelog.protocol.generated.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from oncelog.protocol.generated.describe_acls_request import DescribeAclsRequest
from oncelog.protocol.generated.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from oncelog.protocol.scram import HASH_OF_MECHANISM, MAX_ITERATIONS, MIN_ITERATIONS

DESCRIBE_ACLS = Api(ApiKey.DESCRIBE_ACLS, 1, 3)
CREATE_ACLS = Api(ApiKey.CREATE_ACLS, 1, 3)
DELETE_ACLS = Api(ApiKey.DELETE_ACLS, 1, 3)
DESCRIBE_USERS = Api(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, 0)
ALTER_USERS = Api(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, 0)
SALT_BYTES = 26


class UserCredential(NamedTuple):
    """A user's credential: mechanism (Kafka's number) and iterations; its secrets never leave the broker."""

    user: str
    mechanism: int
    iterations: int


class SecurityAdmin(AdminConnection):
    """The admin client's methods for ACLs and SCRAM credentials."""

    async def describe_acls(self, wanted: AclFilter) -> list[Acl]:
        """The ACLs that match a filter, sorted."""
        request = DescribeAclsRequest(*admin_arguments.acl_filter(wanted))

        async def attempt() -> list[Acl]:
            answer = await self.cluster.ask_any(DESCRIBE_ACLS, request)
            _check(answer.error_code, answer.error_message, "the ACLs cannot be read")
            return sorted(
                Acl(
                    found.resource_type,
                    found.resource_name,
                    found.pattern_type,
                    acl.principal,
                    acl.host,
                    acl.operation,
                    acl.permission_type,
                )
                for found in answer.resources
                for acl in found.acls
            )

        return await self.cluster.repeat("describe_acls", attempt)

    async def create_acls(self, acls: Iterable[Acl]) -> None:
        """Add ACLs; those that already exist stay."""
        request = CreateAclsRequest(creations=[AclCreation(*acl) for acl in admin_arguments.acls(acls)])

        async def attempt() -> None:
            answer = await self.cluster.ask_any(CREATE_ACLS, request)
            for result in answer.results:
                _check(result.error_code, result.error_message, "the ACL cannot be created")

        await self.cluster.repeat("create_acls", attempt)

    async def delete_acls(self, wanted: AclFilter) -> list[Acl]:
        """Remove the ACLs that match a filter, and return them."""
        request = DeleteAclsRequest(filters=[DeleteAclsFilter(*admin_arguments.acl_filter(wanted))])

        async def attempt() -> list[Acl]:
            answer = await self.cluster.ask_any(DELETE_ACLS, request)
            removed = []
            for result in answer.filter_results:
                _check(result.error_code, result.error_message, "the ACLs cannot be removed")
                for acl in result.matching_acls:
                    _check(acl.error_code, acl.error_message, "an ACL cannot be removed")
                    removed.append(
                        Acl(
                            acl.resource_type,
                            acl.resource_name,
                            acl.pattern_type,
                            acl.principal,
                            acl.host,
                            acl.operation,
                            acl.permission_type,
                        )
                    )
            return sorted(removed)

        return await self.cluster.repeat("delete_acls", attempt)

    async def describe_users(self, names: Sequence[str] = ()) -> list[UserCredential]:
        """The SCRAM credentials of these users, or of all users."""
        users = [UserName(name) for name in arguments.names(names, "users")]
        request = DescribeUserScramCredentialsRequest(users=users or None)

        async def attempt() -> list[UserCredential]:
            answer = await self.cluster.ask_any(DESCRIBE_USERS, request)
            _check(answer.error_code, answer.error_message, "the users cannot be read")
            for result in answer.results:
                _check(result.error_code, result.error_message, f"the user {result.user!r} cannot be read")
            return sorted(
                UserCredential(result.user, info.mechanism, info.iterations)
                for result in answer.results
                for info in result.credential_infos
            )

        return await self.cluster.repeat("describe_users", attempt)

    async def set_password(self, user: str, mechanism: int, password: str, iterations: int = MIN_ITERATIONS) -> None:
        """Create or replace a user's credential for one mechanism."""
        name, number = arguments.name(user, "users"), _mechanism(mechanism)
        secret = arguments.text(password, "password").encode()
        rounds = arguments.whole(iterations, "iterations", 32)
        if not MIN_ITERATIONS <= rounds <= MAX_ITERATIONS:
            raise ValueError(f"iterations={rounds} must be {MIN_ITERATIONS} to {MAX_ITERATIONS}")
        salt = secrets.token_bytes(SALT_BYTES)
        salted = pbkdf2_hmac(HASH_OF_MECHANISM[number], secret, salt, rounds)
        change = ScramCredentialUpsertion(name, number, rounds, salt, salted)
        await self._alter_users(AlterUserScramCredentialsRequest(deletions=[], upsertions=[change]))

    async def delete_credential(self, user: str, mechanism: int) -> None:
        """Remove a user's credential for one mechanism."""
        change = ScramCredentialDeletion(arguments.name(user, "users"), _mechanism(mechanism))
        await self._alter_users(AlterUserScramCredentialsRequest(deletions=[change], upsertions=[]))

    async def _alter_users(self, request: AlterUserScramCredentialsRequest) -> None:
        async def attempt() -> None:
            answer = await self.cluster.ask_any(ALTER_USERS, request)
            for result in answer.results:
                _check(result.error_code, result.error_message, f"the user {result.user!r} cannot be changed")

        await self.cluster.repeat("alter_users", attempt)


def _mechanism(given: int) -> int:
    number = arguments.whole(given, "mechanism", 8)
    if number not in HASH_OF_MECHANISM:
        raise ValueError(f"mechanism={number} is unknown; 1 is SCRAM-SHA-256, 2 is SCRAM-SHA-512")
    return number


def _check(code: int, message: str | None, what: str) -> None:
    error = error_of(code)
    if error is not Error.NONE:
        raise error_for(error, f"{what}: {message or error.name}")
