"""The handlers of the security APIs over their ports: ACLs (KIP-140, KIP-290) and SCRAM credentials (KIP-554)."""

from __future__ import annotations

from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

import pytest

from oncelog.broker.core.limits.answer_memory import AnswerMemory
from oncelog.broker.core.limits.request_memory import RequestMemory
from oncelog.broker.core.registry import handler_for
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.tasks import Tasks
from oncelog.errors import Error, StorageError
from oncelog.protocol.acls import Acl, AclResourceType, Operation, PatternType
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
from oncelog.protocol.messages import request_type, response_type
from oncelog.protocol.scram import ScramCredential
from oncelog.protocol.wire import Message
from oncelog.runtime.deferred import Deferred
from tests.unit.broker.core.conftest import RecordingChannel

NOW = 5_000
DENY, ALLOW = 2, 3
ANY_PERMISSION = 1
SHA_256, SHA_512 = 1, 2
READ_ORDERS = Acl(AclResourceType.TOPIC, "orders", PatternType.LITERAL, "User:a", "*", Operation.READ, ALLOW)
WRITE_ORDERS = Acl(AclResourceType.TOPIC, "orders", PatternType.LITERAL, "User:b", "*", Operation.WRITE, DENY)
READ_GROUP = Acl(AclResourceType.GROUP, "g", PatternType.PREFIXED, "User:a", "*", Operation.READ, ALLOW)


class SecurityAsker:
    """Has a handler answer a request over ports that keep ACLs and credentials in memory, in one version."""

    def __init__(self, *acls: Acl, authorizer: bool = True) -> None:
        self.acls = set(acls)
        self.credentials: dict[tuple[str, int], ScramCredential] = {}
        self.failure: StorageError | None = None
        self._ports: Any = SimpleNamespace(
            authorizer=object() if authorizer else None,
            tasks=Tasks(),
            answer_memory=AnswerMemory(RequestMemory(0, 0)),
            metadata=SimpleNamespace(
                acls=lambda: self.acls,
                scram_credentials=lambda: self.credentials,
                set_scram_credentials=self._set_credentials,
            ),
            change_acls=self._change_acls,
        )

    def _change_acls(self, added: Collection[Acl] = (), removed: Collection[Acl] = ()) -> None:
        if self.failure is not None:
            raise self.failure
        self.acls = (self.acls - set(removed)) | set(added)

    def _set_credentials(self, changes: dict[tuple[str, int], ScramCredential | None]) -> None:
        if self.failure is not None:
            raise self.failure
        for key, new in changes.items():
            if new is None:
                del self.credentials[key]
            else:
                self.credentials[key] = new

    def ask(self, key: ApiKey, version: int, request: Message) -> Any:
        context = RequestContext(RecordingChannel(), 0, key, version, 0, "test", NOW)
        received = request_type(key).decode(request.encode(version), version)
        response = handler_for(key)(self._ports, context, received)
        self._ports.tasks.finish()
        if isinstance(response, Deferred):
            response = response.value
        return response_type(key).decode(response.encode(version), version)

    def alter(
        self, *changes: ScramCredentialDeletion | ScramCredentialUpsertion
    ) -> dict[str, tuple[Error, str | None]]:
        """The answer for each user."""
        request = AlterUserScramCredentialsRequest(
            deletions=[change for change in changes if isinstance(change, ScramCredentialDeletion)],
            upsertions=[change for change in changes if isinstance(change, ScramCredentialUpsertion)],
        )
        answer = self.ask(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, request)
        return {result.user: (Error(result.error_code), result.error_message) for result in answer.results}


def creation(acl: Acl) -> AclCreation:
    return AclCreation(*acl)


def filter_of(
    resource_type: int = AclResourceType.ANY,
    name: str | None = None,
    pattern: int = PatternType.ANY,
    principal: str | None = None,
    operation: int = Operation.ANY,
) -> tuple[Any, ...]:
    return resource_type, name, pattern, principal, None, operation, ANY_PERMISSION


def setting(user: str, iterations: int = 4096, mechanism: int = SHA_256, password: bytes = b"p" * 32) -> Any:
    return ScramCredentialUpsertion(user, mechanism, iterations, b"salt", password)


# --- ACLs


def test_without_an_authorizer_each_acl_api_is_refused() -> None:
    asker = SecurityAsker(authorizer=False)
    described = asker.ask(ApiKey.DESCRIBE_ACLS, 3, DescribeAclsRequest(*filter_of()))
    created = asker.ask(ApiKey.CREATE_ACLS, 3, CreateAclsRequest([creation(READ_ORDERS), creation(READ_GROUP)]))
    deleted = asker.ask(ApiKey.DELETE_ACLS, 3, DeleteAclsRequest([DeleteAclsFilter(*filter_of())]))
    assert described.error_code == Error.SECURITY_DISABLED
    assert [one.error_code for one in created.results] == [Error.SECURITY_DISABLED] * 2
    assert [one.error_code for one in deleted.filter_results] == [Error.SECURITY_DISABLED]
    assert asker.acls == set()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_acls_are_described_by_resource_in_order(version: int) -> None:
    asker = SecurityAsker(READ_GROUP, WRITE_ORDERS, READ_ORDERS)
    answer = asker.ask(ApiKey.DESCRIBE_ACLS, version, DescribeAclsRequest(*filter_of()))
    assert answer.error_code == Error.NONE
    assert [(one.resource_name, one.pattern_type, len(one.acls)) for one in answer.resources] == [
        ("orders", PatternType.LITERAL, 2),
        ("g", PatternType.PREFIXED, 1),
    ]
    assert [(one.principal, one.permission_type) for one in answer.resources[0].acls] == [
        ("User:a", ALLOW),
        ("User:b", DENY),
    ]


def test_a_filter_describes_only_acls_that_match_it() -> None:
    asker = SecurityAsker(READ_GROUP, WRITE_ORDERS, READ_ORDERS)
    answer = asker.ask(ApiKey.DESCRIBE_ACLS, 3, DescribeAclsRequest(*filter_of(principal="User:b")))
    assert [one.resource_name for one in answer.resources] == ["orders"]
    none = asker.ask(ApiKey.DESCRIBE_ACLS, 3, DescribeAclsRequest(*filter_of(name="absent")))
    assert (none.error_code, none.resources) == (Error.NONE, [])


@pytest.mark.parametrize("wrong", [filter_of(0), filter_of(operation=0), filter_of(pattern=0)])
def test_a_filter_with_an_unknown_code_is_refused_and_removes_nothing(wrong: tuple[Any, ...]) -> None:
    asker = SecurityAsker(READ_ORDERS)
    described = asker.ask(ApiKey.DESCRIBE_ACLS, 3, DescribeAclsRequest(*wrong))
    deleted = asker.ask(ApiKey.DELETE_ACLS, 3, DeleteAclsRequest([DeleteAclsFilter(*wrong)]))
    assert described.error_code == Error.INVALID_REQUEST
    assert [one.error_code for one in deleted.filter_results] == [Error.INVALID_REQUEST]
    assert asker.acls == {READ_ORDERS}


def test_an_invalid_acl_is_refused_and_the_others_are_created() -> None:
    asker = SecurityAsker()
    invalid = READ_ORDERS._replace(resource_name="")
    answer = asker.ask(ApiKey.CREATE_ACLS, 3, CreateAclsRequest([creation(invalid), creation(READ_ORDERS)]))
    assert [one.error_code for one in answer.results] == [Error.INVALID_REQUEST, Error.NONE]
    assert asker.acls == {READ_ORDERS}


def test_a_failed_append_is_reported_in_the_answer() -> None:
    asker = SecurityAsker(READ_ORDERS)
    asker.failure = StorageError("the disk is full")
    created = asker.ask(ApiKey.CREATE_ACLS, 3, CreateAclsRequest([creation(READ_GROUP)]))
    deleted = asker.ask(ApiKey.DELETE_ACLS, 3, DeleteAclsRequest([DeleteAclsFilter(*filter_of())]))
    assert [one.error_code for one in created.results] == [Error.KAFKA_STORAGE_ERROR]
    (result,) = deleted.filter_results
    assert (result.error_code, result.matching_acls) == (Error.KAFKA_STORAGE_ERROR, [])
    assert asker.acls == {READ_ORDERS}


def test_an_acl_that_two_filters_find_is_removed_once_and_reported_in_both_answers() -> None:
    asker = SecurityAsker(READ_ORDERS, READ_GROUP)
    filters = [filter_of(name="orders"), filter_of(principal="User:a")]
    answer = asker.ask(ApiKey.DELETE_ACLS, 3, DeleteAclsRequest([DeleteAclsFilter(*one) for one in filters]))
    assert [len(one.matching_acls) for one in answer.filter_results] == [1, 2]
    assert asker.acls == set()


# --- SCRAM


def test_credentials_that_were_set_are_described() -> None:
    asker = SecurityAsker()
    assert asker.alter(setting("alice"), setting("bob", 8192, SHA_512, b"p" * 64)) == {
        "alice": (Error.NONE, None),
        "bob": (Error.NONE, None),
    }
    answer = asker.ask(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, DescribeUserScramCredentialsRequest(None))
    assert [
        (one.user, one.credential_infos[0].mechanism, one.credential_infos[0].iterations) for one in answer.results
    ] == [
        ("alice", SHA_256, 4096),
        ("bob", SHA_512, 8192),
    ]


def test_a_user_without_credentials_and_a_user_named_twice_are_named_in_the_refusal() -> None:
    asker = SecurityAsker()
    asker.alter(setting("alice"))
    users = [UserName(name) for name in ("alice", "carol", "bob", "bob")]
    answer = asker.ask(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, DescribeUserScramCredentialsRequest(users))
    assert {one.user: Error(one.error_code) for one in answer.results} == {
        "alice": Error.NONE,
        "bob": Error.DUPLICATE_RESOURCE,
        "carol": Error.RESOURCE_NOT_FOUND,
    }


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (setting(""), Error.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        (setting("a", mechanism=7), Error.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        (setting("a", 4095), Error.UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
        (setting("a", 16385), Error.UNACCEPTABLE_CREDENTIAL, "Too many iterations"),
        (setting("a", password=b""), Error.UNACCEPTABLE_CREDENTIAL, "Salted password must not be empty"),
        (
            ScramCredentialDeletion("a", SHA_256),
            Error.RESOURCE_NOT_FOUND,
            "Attempt to delete a user credential that does not exist",
        ),
    ],
)
def test_a_refused_change_of_a_user_does_not_prevent_changes_of_others(change: Any, error: Error, message: str) -> None:
    """The messages are those of Kafka's ``ScramControlManager``."""
    asker = SecurityAsker()
    answers = asker.alter(change, setting("z"))
    assert answers == {change.name: (error, message), "z": (Error.NONE, None)}
    assert set(asker.credentials) == {("z", SHA_256)}


def test_a_user_may_be_changed_only_once_in_a_request() -> None:
    asker = SecurityAsker()
    asker.alter(setting("alice"))
    answers = asker.alter(ScramCredentialDeletion("alice", SHA_256), setting("alice", 8192))
    assert answers["alice"][0] is Error.DUPLICATE_RESOURCE
    assert asker.credentials["alice", SHA_256].iterations == 4096
    assert asker.alter(ScramCredentialDeletion("alice", SHA_256))["alice"] == (Error.NONE, None)
    assert asker.credentials == {}


def test_credentials_that_cannot_be_stored_are_reported() -> None:
    asker = SecurityAsker()
    asker.failure = StorageError("the disk is full")
    assert asker.alter(setting("alice"), setting("", 1)) == {
        "": (Error.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        "alice": (Error.KAFKA_STORAGE_ERROR, "the disk is full"),
    }
