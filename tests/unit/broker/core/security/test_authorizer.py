"""StandardAuthorizer's rules, one by one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.broker.core.security.authorizer import Authorizer
from oncelog.protocol.acls import Acl, AclFilter, AclResourceType, Operation, PatternType, Permission, acl_refusal
from tests.support.work import calls_of

TOPIC = AclResourceType.TOPIC
HOST = "192.0.2.7"


def acl(operation: Operation = Operation.READ, **other: object) -> Acl:
    base = Acl(TOPIC, "orders", PatternType.LITERAL, "User:alice", "*", operation, Permission.ALLOW)
    return base._replace(**other)  # type: ignore[arg-type]


def allows(*acls: Acl, operation: Operation = Operation.READ, name: str = "orders", everyone: bool = False) -> bool:
    authorizer = Authorizer({"User:root"}, allow_without_acls=everyone, acls=acls)
    return authorizer.allows("User:alice", HOST, operation, TOPIC, name)


def test_without_acls_the_setting_allow_everyone_decides() -> None:
    assert not allows()
    assert allows(everyone=True)
    assert not allows(acl(principal="User:bob"), everyone=True)


def test_a_super_user_may_do_everything() -> None:
    denying = acl(Operation.ALL, principal="User:*", permission=Permission.DENY)
    authorizer = Authorizer({"User:root"}, allow_without_acls=False, acls=[denying])
    assert authorizer.allows("User:root", HOST, Operation.WRITE, TOPIC, "orders")


@pytest.mark.parametrize(
    "rule",
    [
        acl(),
        acl(Operation.ALL),
        acl(principal="User:*"),
        acl(host=HOST),
        acl(resource_name="*"),
        acl(resource_name="ord", pattern_type=PatternType.PREFIXED),
        acl(resource_name="orders", pattern_type=PatternType.PREFIXED),
    ],
)
def test_a_matching_allow_acl_allows_the_operation(rule: Acl) -> None:
    assert allows(rule)


@pytest.mark.parametrize(
    "rule",
    [
        acl(Operation.WRITE),
        acl(principal="User:alice2"),
        acl(principal="user:alice"),
        acl(host="192.0.2.8"),
        acl(resource_name="order"),
        acl(resource_name="orders-", pattern_type=PatternType.PREFIXED),
        acl(resource_name="*", pattern_type=PatternType.PREFIXED),
        acl(resource_type=AclResourceType.GROUP),
    ],
)
def test_an_allow_acl_that_does_not_match_does_not_allow_the_operation(rule: Acl) -> None:
    assert not allows(rule)


def test_one_deny_acl_overrides_all_allow_acls() -> None:
    denial = acl(resource_name="o", pattern_type=PatternType.PREFIXED, permission=Permission.DENY)
    assert not allows(acl(), acl(Operation.ALL, resource_name="*"), denial)


@pytest.mark.parametrize("operation", [Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER])
def test_describe_is_implied_by_allow_acls_and_not_by_deny_acls(operation: Operation) -> None:
    assert allows(acl(operation), operation=Operation.DESCRIBE)
    denial = acl(operation, permission=Permission.DENY)
    assert allows(acl(Operation.DESCRIBE), denial, operation=Operation.DESCRIBE)


def test_an_acl_change_applies_at_once() -> None:
    authorizer = Authorizer((), allow_without_acls=False)
    assert not authorizer.allows("User:alice", HOST, Operation.READ, TOPIC, "orders")
    authorizer.change(added=[acl()])
    assert authorizer.allows("User:alice", HOST, Operation.READ, TOPIC, "orders")
    authorizer.change(removed=[acl()])
    assert not authorizer.allows("User:alice", HOST, Operation.READ, TOPIC, "orders")


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_after_successive_acl_changes_the_remaining_acls_decide(data: st.DataObject) -> None:
    each = [
        acl(operation, resource_name=name, pattern_type=pattern, permission=permission)
        for operation in (Operation.READ, Operation.WRITE)
        for name in ("o", "or", "orders", "*")
        for pattern in (PatternType.LITERAL, PatternType.PREFIXED)
        for permission in (Permission.ALLOW, Permission.DENY)
    ]
    some = st.lists(st.sampled_from(each), max_size=6)
    authorizer, there = Authorizer((), allow_without_acls=True), dict[Acl, None]()
    for _ in range(data.draw(st.integers(1, 8))):
        added, removed = data.draw(some), data.draw(some)
        authorizer.change(added, removed)
        there = {known: None for known in there if known not in removed} | dict.fromkeys(added)
        fresh = Authorizer((), allow_without_acls=True, acls=there)
        for operation in (Operation.READ, Operation.DESCRIBE):
            for name in ("o", "orders", "x"):
                question = "User:alice", HOST, operation, TOPIC, name
                assert authorizer.allows(*question) == fresh.allows(*question)
            assert authorizer.allows_some(*question[:4]) == fresh.allows_some(*question[:4])


def test_the_cost_of_an_acl_change_does_not_depend_on_the_number_of_acls() -> None:
    def cost(others: int) -> int:
        many = [acl(resource_name=f"t{number}", pattern_type=PatternType.PREFIXED) for number in range(others)]
        authorizer = Authorizer((), allow_without_acls=False, acls=many)
        return calls_of(
            lambda: authorizer.change([acl(resource_name="t", pattern_type=PatternType.PREFIXED)], many[:2])
        )

    assert cost(5000) == cost(10)


def test_a_permission_for_some_resource_is_enough_for_a_question_about_any_resource() -> None:
    def some(*acls: Acl) -> bool:
        authorizer = Authorizer((), allow_without_acls=False, acls=acls)
        return authorizer.allows_some("User:alice", HOST, Operation.WRITE, TOPIC)

    wide = acl(Operation.WRITE, resource_name="or", pattern_type=PatternType.PREFIXED, permission=Permission.DENY)
    assert not some()
    assert some(acl(Operation.WRITE))
    assert not some(acl(Operation.WRITE), wide)
    assert not some(acl(Operation.WRITE), acl(Operation.WRITE, resource_name="*", permission=Permission.DENY))
    assert some(acl(Operation.WRITE, resource_name="o", pattern_type=PatternType.PREFIXED), wide)


def test_a_matching_filter_finds_every_acl_that_applies_to_a_name() -> None:
    wanted = AclFilter(TOPIC, "orders", PatternType.MATCH, None, None, Operation.ANY, Permission.ANY)
    prefix = acl(resource_name="ord", pattern_type=PatternType.PREFIXED)
    assert [
        one for one in (acl(), acl(resource_name="*"), prefix, acl(resource_name="other")) if wanted.finds(one)
    ] == [
        acl(),
        acl(resource_name="*"),
        prefix,
    ]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (acl(resource_name=""), "Invalid empty resource name"),
        (acl(resource_type=AclResourceType.CLUSTER), "The only valid name for the CLUSTER resource is kafka-cluster"),
        (acl(pattern_type=PatternType.MATCH), "Invalid patternType MATCH"),
        (acl(Operation.ANY), "Invalid operation ANY"),
        (acl(permission=Permission.ANY), "Invalid permissionType ANY"),
        (acl(resource_type=99), "Invalid resourceType UNKNOWN"),
    ],
)
def test_an_invalid_acl_is_refused_in_kafkas_words(bad: Acl, words: str) -> None:
    assert acl_refusal(bad) == words
