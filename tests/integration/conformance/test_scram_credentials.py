"""AlterUserScramCredentials and DescribeUserScramCredentials (KIP-554)."""

from __future__ import annotations

from typing import Any

import pytest

from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.protocol.generated.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from oncelog.protocol.generated.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
    UserName,
)

SHA_256, SHA_512 = 1, 2
UNSUPPORTED_SASL_MECHANISM, RESOURCE_NOT_FOUND, DUPLICATE_RESOURCE, UNACCEPTABLE_CREDENTIAL = 33, 91, 92, 93


def upsertion(user: str, mechanism: int = SHA_256, iterations: int = 4096) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(user, mechanism, iterations, b"salt", b"p" * 32)


def alter(connection: RawConnection, *changes: ScramCredentialDeletion | ScramCredentialUpsertion) -> dict[str, int]:
    """Each user's error."""
    request = AlterUserScramCredentialsRequest(
        deletions=[change for change in changes if isinstance(change, ScramCredentialDeletion)],
        upsertions=[change for change in changes if isinstance(change, ScramCredentialUpsertion)],
    )
    answer = connection.ask(request, 0)
    assert all(bool(row.error_message) == bool(row.error_code) for row in answer.results)
    return {row.user: row.error_code for row in answer.results}


def described(connection: RawConnection, users: list[str] | None) -> dict[str, Any]:
    """Each user's mechanisms with their iterations, or the error."""
    request = DescribeUserScramCredentialsRequest(None if users is None else [UserName(user) for user in users])
    answer = connection.ask(request, 0)
    assert answer.error_code == 0
    return {
        row.user: row.error_code or sorted((info.mechanism, info.iterations) for info in row.credential_infos)
        for row in answer.results
    }


def test_credentials_are_set_described_and_removed(connection: RawConnection, unique_name: str) -> None:
    other = unique_name + "-2"
    assert alter(connection, upsertion(unique_name), upsertion(other, SHA_512, 16384)) == {unique_name: 0, other: 0}
    expected = {unique_name: [(SHA_256, 4096)], other: [(SHA_512, 16384)]}
    eventually(lambda: described(connection, [unique_name, other]) == expected)
    assert described(connection, None).items() >= expected.items()
    assert described(connection, []).items() >= expected.items()

    assert alter(connection, upsertion(unique_name, SHA_512, 5000)) == {unique_name: 0}
    both = [(SHA_256, 4096), (SHA_512, 5000)]
    eventually(lambda: described(connection, [unique_name]) == {unique_name: both})
    assert alter(connection, upsertion(unique_name, SHA_256, 4097)) == {unique_name: 0}
    eventually(lambda: described(connection, [unique_name])[unique_name][0] == (SHA_256, 4097))

    for mechanism in (SHA_512, SHA_256):
        assert alter(connection, ScramCredentialDeletion(unique_name, mechanism)) == {unique_name: 0}
    eventually(lambda: described(connection, [unique_name]) == {unique_name: RESOURCE_NOT_FOUND})
    assert unique_name not in described(connection, None)


def test_users_named_twice_are_refused(connection: RawConnection, unique_name: str) -> None:
    assert described(connection, [unique_name, unique_name]) == {unique_name: DUPLICATE_RESOURCE}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (upsertion("user", iterations=4095), UNACCEPTABLE_CREDENTIAL),
        (upsertion("user", iterations=16385), UNACCEPTABLE_CREDENTIAL),
        (upsertion("user", mechanism=0), UNSUPPORTED_SASL_MECHANISM),
        (upsertion("user", mechanism=3), UNSUPPORTED_SASL_MECHANISM),
        (upsertion(""), UNACCEPTABLE_CREDENTIAL),
        (ScramCredentialDeletion("", SHA_256), UNACCEPTABLE_CREDENTIAL),
        (ScramCredentialDeletion("nobody", SHA_256), RESOURCE_NOT_FOUND),
        (ScramCredentialDeletion("nobody", 7), UNSUPPORTED_SASL_MECHANISM),
    ],
    ids=repr,
)
def test_an_impossible_change_of_scram_credentials_is_refused(
    connection: RawConnection, change: ScramCredentialDeletion | ScramCredentialUpsertion, error: int
) -> None:
    assert alter(connection, change) == {change.name: error}


def test_a_user_may_be_changed_once_per_request_and_the_first_error_is_reported(
    connection: RawConnection, unique_name: str
) -> None:
    twice = {unique_name: DUPLICATE_RESOURCE}
    assert alter(connection, upsertion(unique_name), upsertion(unique_name, SHA_512)) == twice
    few = upsertion(unique_name, SHA_512, 1)
    assert alter(connection, few, upsertion(unique_name)) == {unique_name: UNACCEPTABLE_CREDENTIAL}
    assert alter(connection, upsertion(unique_name), few) == twice
    gone = ScramCredentialDeletion(unique_name, SHA_256)
    assert alter(connection, gone, upsertion(unique_name)) == {unique_name: RESOURCE_NOT_FOUND}
    assert described(connection, [unique_name]) == {unique_name: RESOURCE_NOT_FOUND}


def test_a_refused_user_does_not_prevent_changes_to_others(connection: RawConnection, unique_name: str) -> None:
    answer = alter(connection, ScramCredentialDeletion(unique_name, SHA_256), upsertion(unique_name + "-2"))
    assert answer == {unique_name: RESOURCE_NOT_FOUND, unique_name + "-2": 0}
    eventually(lambda: described(connection, [unique_name + "-2"]) == {unique_name + "-2": [(SHA_256, 4096)]})
