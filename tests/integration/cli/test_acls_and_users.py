"""``oncelog acls`` and ``oncelog users``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.cli.conftest import Outcome, Served


@pytest.fixture(scope="module")
def guarded() -> Iterator[Served]:
    """A broker with an authorizer, on which the commands may do everything."""
    authorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    broker = Served("--set", f"authorizer.class.name={authorizer}", "--set", "super.users=User:ANONYMOUS")
    yield broker
    broker.stop()


def acls(guarded: Served, *words: str) -> list[tuple[str, ...]]:
    rows = guarded.run("acls", "list", *words, "--json").done().json
    return [tuple(row.values()) for row in rows]


def test_acls_are_added_listed_and_removed(guarded: Served) -> None:
    add = ("acls", "add", "--topic", "orders")
    guarded.run(*add, "--allow", "User:alice", "--operation", "read", "--operation", "describe").done()
    guarded.run(*add, "--deny", "User:bob", "--host", "192.0.2.1", "--operation", "all").done()
    guarded.run("acls", "add", "--allow", "User:*", "--operation", "write", "--topic", "or", "--prefixed").done()
    guarded.run("acls", "add", "--allow", "User:alice", "--operation", "read", "--group", "*").done()
    guarded.run("acls", "add", "--allow", "User:alice", "--operation", "write", "--transactional-id", "t").done()
    guarded.run("acls", "add", "--allow", "User:ops", "--operation", "alter-configs", "--cluster-resource").done()
    orders = {
        ("topic", "orders", "literal", "User:alice", "*", "read", "allow"),
        ("topic", "orders", "literal", "User:alice", "*", "describe", "allow"),
        ("topic", "orders", "literal", "User:bob", "192.0.2.1", "all", "deny"),
    }
    prefixed = ("topic", "or", "prefixed", "User:*", "*", "write", "allow")
    others = {
        ("group", "*", "literal", "User:alice", "*", "read", "allow"),
        ("transactional_id", "t", "literal", "User:alice", "*", "write", "allow"),
        ("cluster", "kafka-cluster", "literal", "User:ops", "*", "alter_configs", "allow"),
    }
    assert set(acls(guarded)) == orders | {prefixed} | others
    assert set(acls(guarded, "--topic", "orders")) == orders | {prefixed}
    assert acls(guarded, "--topic", "or", "--prefixed") == [prefixed]
    assert [row[3] for row in acls(guarded, "--topic", "orders", "--principal", "User:bob")] == ["User:bob"]
    table = guarded.run("acls", "list", "--cluster-resource").done().out.splitlines()
    assert table[0].split() == ["RESOURCE", "NAME", "PATTERN", "PRINCIPAL", "HOST", "OPERATION", "PERMISSION"]
    assert table[1].split() == ["cluster", "kafka-cluster", "literal", "User:ops", "*", "alter_configs", "allow"]

    removed = guarded.run("acls", "remove", "--topic", "orders", "--principal", "User:alice", "--json").done().json
    assert {tuple(row.values()) for row in removed} == {row for row in orders if row[3] == "User:alice"}
    assert prefixed in acls(guarded), "removing takes the names that were given, not those that apply"
    guarded.run("acls", "remove", "--all").done()
    assert acls(guarded) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("add", "--allow", "User:a", "--operation", "read"), "name a resource"),
        (("add", "--topic", "t", "--operation", "read"), "name one principal"),
        (("add", "--topic", "t", "--allow", "User:a", "--deny", "User:b", "--operation", "read"), "name one principal"),
        (("add", "--topic", "t", "--group", "g", "--allow", "User:a", "--operation", "read"), "name one resource"),
        (("add", "--topic", "t", "--allow", "User:a"), "--operation"),
        (("add", "--topic", "t", "--allow", "User:a", "--operation", "fly"), "fly"),
        (("add", "--topic", "t", "--allow", "alice", "--operation", "read"), "alice"),
        (("remove",), "name what to remove"),
    ],
)
def test_acls_that_make_no_sense_are_refused_in_one_sentence(
    guarded: Served, words: tuple[str, ...], says: str
) -> None:
    assert says.lower() in guarded.run("acls", *words).sentence().lower()


def test_acls_are_refused_without_an_authorizer(served: Served) -> None:
    reported = served.run("acls", "list").sentence()
    assert "SECURITY_DISABLED" in reported
    assert "StandardAuthorizer (kafka.security.authorizer.AclAuthorizer on a cluster with ZooKeeper)" in reported


def users(guarded: Served, *names: str) -> list[tuple[str, str, int]]:
    return [tuple(row.values()) for row in guarded.run("users", "list", *names, "--json").done().json]


def set_password(guarded: Served, name: str, *more: str, password: str = "secret\n") -> Outcome:
    return guarded.run("users", "set", name, "--password-file", "-", *more, stdin=password)


def test_changes_of_a_user_are_reported(guarded: Served) -> None:
    """Both commands ended without a word, also with --json."""
    assert set_password(guarded, "alice").done().out == "set the SCRAM-SHA-512 password of user alice\n"
    reported = (
        set_password(guarded, "alice", "--mechanism", "SCRAM-SHA-256", "--iterations", "5000", "--json").done().json
    )
    assert reported == {"user": "alice", "mechanism": "SCRAM-SHA-256", "iterations": 5000}
    removed = guarded.run("users", "remove", "alice").done().out
    assert removed == "removed the SCRAM-SHA-512 password of user alice\n"
    reported = guarded.run("users", "remove", "alice", "--mechanism", "SCRAM-SHA-256", "--json").done().json
    assert reported == {"user": "alice", "mechanism": "SCRAM-SHA-256"}


def test_users_are_created_listed_and_removed(guarded: Served) -> None:
    set_password(guarded, "alice").done()
    set_password(guarded, "alice", "--mechanism", "SCRAM-SHA-256", "--iterations", "8192").done()
    set_password(guarded, "bob").done()
    mine = [("alice", "SCRAM-SHA-256", 8192), ("alice", "SCRAM-SHA-512", 4096)]
    assert users(guarded) == [*mine, ("bob", "SCRAM-SHA-512", 4096)]
    assert users(guarded, "alice") == mine
    guarded.run("users", "remove", "alice", "--mechanism", "SCRAM-SHA-256").done()
    assert users(guarded, "alice") == mine[1:]
    guarded.run("users", "remove", "alice").done()
    guarded.run("users", "remove", "bob").done()
    assert users(guarded) == []


def test_the_error_names_a_user_that_does_not_exist(guarded: Served) -> None:
    refused = guarded.run("users", "remove", "nobody").sentence()
    assert "RESOURCE_NOT_FOUND" in refused and "see oncelog users list" in refused


def test_an_empty_password_and_bad_iterations_are_refused(guarded: Served) -> None:
    assert "the password is empty" in set_password(guarded, "alice", password="\n").sentence()
    assert "4096" in set_password(guarded, "alice", "--iterations", "1").sentence()
    assert users(guarded) == []
