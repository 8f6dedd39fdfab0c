"""The same requests by callers with the same rights, to our broker and to Apache Kafka: the same answers.

Compared are errors, names and authorized operations of every API, for a caller without any right, with one right after
another, and with rights that deny.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.protocol.acls import AclResourceType as Kind
from oncelog.protocol.acls import Operation, PatternType, Permission
from tests.integration.security.requests import ASKS, GROUP, OTHER, TOPIC, TXN_ID, Ask
from tests.integration.security.sides import Rule, Side, kafka_side, oncelog_side

ALICE = "User:alice"
NAMES = {"name", "topic", "group_id", "transactional_id", "topic_name", "resource_name", "user", "key", "resource_type"}
CODES = {"error_code", "partition_error_code", "topic_config_error_code"}
TOKENS = {"principal_type", "principal_name", "issue_timestamp_ms", "expiry_timestamp_ms", "max_timestamp_ms"}
FIELDS = (
    NAMES | CODES | TOKENS | {"topic_authorized_operations", "cluster_authorized_operations", "authorized_operations"}
)
LATE = {5, 6, 14, 15, 16, 51}
"""Errors that a new coordinator or topic answers for a moment only."""


def allow(kind: Kind, name: str, operation: Operation, **other: Any) -> Rule:
    return Rule(
        kind,
        name,
        other.get("pattern", PatternType.LITERAL),
        other.get("principal", ALICE),
        other.get("host", "*"),
        operation,
        other.get("permission", Permission.ALLOW),
    )


def _each(kind: Kind, name: str, *operations: Operation) -> dict[str, tuple[Rule, ...]]:
    return {f"{kind.name} {operation.name}": (allow(kind, name, operation),) for operation in operations}


O = Operation  # noqa: E741 - the table below reads better
EVERYTHING = (
    allow(Kind.TOPIC, "*", O.ALL),
    allow(Kind.GROUP, "*", O.ALL),
    allow(Kind.CLUSTER, "kafka-cluster", O.ALL),
    allow(Kind.TRANSACTIONAL_ID, "*", O.ALL),
)
RIGHTS: dict[str, tuple[Rule, ...]] = {
    "none": (),
    **_each(Kind.TOPIC, TOPIC, O.READ, O.WRITE, O.CREATE, O.DELETE, O.ALTER, O.DESCRIBE, O.DESCRIBE_CONFIGS),
    **_each(Kind.TOPIC, TOPIC, O.ALTER_CONFIGS, O.ALL),
    **_each(Kind.GROUP, GROUP, O.READ, O.DELETE, O.DESCRIBE, O.DESCRIBE_CONFIGS, O.ALTER_CONFIGS),
    **_each(Kind.CLUSTER, "kafka-cluster", O.CREATE, O.ALTER, O.DESCRIBE, O.CLUSTER_ACTION, O.DESCRIBE_CONFIGS),
    **_each(Kind.CLUSTER, "kafka-cluster", O.ALTER_CONFIGS, O.IDEMPOTENT_WRITE, O.DELETE),
    **_each(Kind.TRANSACTIONAL_ID, TXN_ID, O.WRITE, O.DESCRIBE),
    **_each(Kind.USER, "User:bob", O.CREATE_TOKENS, O.DESCRIBE_TOKENS),
    "group and topic to read": (allow(Kind.GROUP, GROUP, O.READ), allow(Kind.TOPIC, TOPIC, O.READ)),
    "id and topic to write": (allow(Kind.TRANSACTIONAL_ID, TXN_ID, O.WRITE), allow(Kind.TOPIC, TOPIC, O.WRITE)),
    "id and group": (
        allow(Kind.TRANSACTIONAL_ID, TXN_ID, O.WRITE),
        allow(Kind.GROUP, GROUP, O.READ),
        allow(Kind.TOPIC, TOPIC, O.READ),
    ),
    "a prefix": (allow(Kind.TOPIC, "se", O.ALL, pattern=PatternType.PREFIXED),),
    "any topic to write": (allow(Kind.TOPIC, "*", O.WRITE),),
    "another host": (allow(Kind.TOPIC, TOPIC, O.ALL, host="192.0.2.1"),),
    "this host": (allow(Kind.TOPIC, TOPIC, O.ALL, host="127.0.0.1"),),
    "everybody": (allow(Kind.TOPIC, TOPIC, O.READ, principal="User:*"),),
    "somebody else": (allow(Kind.TOPIC, TOPIC, O.ALL, principal="User:bob"),),
    "everything": EVERYTHING,
    "everything but reading": (*EVERYTHING, allow(Kind.TOPIC, TOPIC, O.READ, permission=Permission.DENY)),
    "everything but describing": (*EVERYTHING, allow(Kind.TOPIC, TOPIC, O.DESCRIBE, permission=Permission.DENY)),
    "everything but one prefix": (
        *EVERYTHING,
        allow(Kind.TOPIC, "hid", O.ALL, pattern=PatternType.PREFIXED, permission=Permission.DENY),
    ),
}


@pytest.fixture(scope="module")
def sides() -> Iterator[tuple[Side, Side]]:
    with oncelog_side({}) as ours, kafka_side({}) as theirs:
        for side in (ours, theirs):
            for name in (TOPIC, OTHER):
                side.admin.create_topic(name)
            _settle(side)
        yield ours, theirs


def _settle(side: Side) -> None:
    """Send each request once as a super user, until both coordinators are up."""
    for names in ("FindCoordinator", ("OffsetCommit", "InitProducerId", "TxnOffsetCommit", "EndTxn")):
        for asked in ASKS:
            if asked.name.startswith(names):
                request = asked.build(_topic_id(side))
                side.admin.ask_until(request, asked.version, lambda answer: not LATE & set(_codes(answer)))


def _topic_id(side: Side) -> bytes:
    answer = side.admin.ask(next(a for a in ASKS if a.name == "Metadata 12").build(b""), 12)
    return next(topic.topic_id for topic in answer.topics if topic.name == TOPIC)


def _codes(answer: Any) -> list[int]:
    if isinstance(answer, list):
        return [code for item in answer for code in _codes(item)]
    slots = getattr(type(answer), "__slots__", ())
    own = [getattr(answer, slot) for slot in slots if slot in CODES]
    return own + [code for slot in slots if slot not in CODES for code in _codes(getattr(answer, slot))]


def shape(answer: Any) -> Any:
    """What an answer says about rights, without the order of lists and without numbers that differ from run to run."""
    if isinstance(answer, (list, tuple)):
        return sorted((shape(item) for item in answer), key=repr)
    slots = getattr(type(answer), "__slots__", None)
    if slots is None:
        return None
    found = {slot: getattr(answer, slot) for slot in slots if slot in FIELDS}
    deeper = {slot: shape(getattr(answer, slot)) for slot in slots if slot not in FIELDS}
    return found | {slot: value for slot, value in deeper.items() if value}


def ask(connection: RawConnection, asked: Ask, topic_id: bytes) -> Any:
    answer = connection.ask(asked.build(topic_id), asked.version)
    for _ in range(100):
        if not LATE & set(_codes(answer)):
            break
        answer = connection.ask(asked.build(topic_id), asked.version)
    return _without_variations(asked, shape(answer))


def _without_variations(asked: Ask, found: Any) -> Any:
    if asked.name in ("Metadata of all", "DescribeTopicPartitions of all"):
        # Which internal and automatic topics there are is not a matter of rights.
        found["topics"] = [topic for topic in found.get("topics", []) if topic["name"] in (TOPIC, OTHER)]
    if asked.name == "Metadata that creates" and found["topics"][0]["error_code"] in (0, 3):
        # We answer a topic that was made on the way at once, Apache Kafka the next time it is asked for.
        found["topics"] = ["made"]
    return found


@pytest.mark.kafka
@pytest.mark.parametrize("rights", RIGHTS)
def test_every_api_answers_as_apache_kafka_does(sides: tuple[Side, Side], rights: str) -> None:
    answers = {}
    for side in sides:
        side.set_rules(*RIGHTS[rights])
        topic_id = _topic_id(side)
        with side.connect("alice") as connection:
            answers[side.name] = {asked.name: ask(connection, asked, topic_id) for asked in ASKS}
    differing = {
        name: (ours, answers["kafka"][name])
        for name, ours in answers["oncelog"].items()
        if ours != answers["kafka"][name]
    }
    assert not differing, "\n".join(f"{name}:\n  ours  {a}\n  kafka {b}" for name, (a, b) in differing.items())
