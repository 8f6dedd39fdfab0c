"""What a caller may not describe does not show indirectly: through groups' expressions, or through response times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.bodies import RawFetchPosition
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.protocol.acls import AclResourceType as Kind
from oncelog.protocol.acls import Operation, PatternType, Permission
from oncelog.protocol.generated.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from tests.integration.security.sides import Rule, Side, kafka_side, oncelog_side

TOPIC_AUTHORIZATION_FAILED = 29


@pytest.fixture(scope="module", params=[oncelog_side, pytest.param(kafka_side, marks=pytest.mark.kafka)])
def side(request: pytest.FixtureRequest) -> Iterator[Side]:
    with request.param({}) as found:
        yield found


def allow(kind: Kind, name: str, operation: Operation) -> Rule:
    return Rule(kind, name, PatternType.LITERAL, "User:alice", "*", operation, Permission.ALLOW)


def member_of(connection: RawConnection, group: str, regex: str) -> Any:
    """The answer that assigns something to the only member of ``group``."""
    find = FindCoordinatorRequest(key="", key_type=0, coordinator_keys=[group])
    connection.ask_until(find, 4, lambda answer: answer.coordinators[0].error_code == 0)
    member_id, epoch = "AAAAAAAAAAAAAAAAAAAAAA", 0
    assigned: dict[bytes, list[int]] = {}

    def probe() -> dict[bytes, list[int]] | None:
        nonlocal member_id, epoch, assigned
        joining = {"rebalance_timeout_ms": 60_000, "topic_partitions": [], "subscribed_topic_regex": regex}
        beat = ConsumerGroupHeartbeatRequest(
            group_id=group, member_id=member_id, member_epoch=epoch, **(joining if epoch == 0 else {})
        )
        answer = connection.ask(beat, 1)
        if answer.error_code in (14, 15, 16):
            return None
        assert answer.error_code == 0, answer
        member_id, epoch = answer.member_id, answer.member_epoch
        if answer.assignment is not None:
            assigned = {part.topic_id: part.partitions for part in answer.assignment.topic_partitions}
        return assigned or None

    return eventually(probe)


def test_a_subscription_regex_matches_only_topics_that_the_member_may_describe(side: Side) -> None:
    seen, hidden = side.admin.create_topic("expr-seen"), side.admin.create_topic("expr-hidden")
    side.set_rules(allow(Kind.GROUP, "expr", Operation.READ), allow(Kind.TOPIC, "expr-seen", Operation.READ))
    with side.connect("alice") as alice:
        assert member_of(alice, "expr", "expr-.*") == {seen: [0]}
    assert member_of(side.admin, "expr-all", "expr-.*") == {seen: [0], hidden: [0]}


def test_the_wait_of_a_fetch_does_not_reveal_whether_hidden_topics_exist(side: Side) -> None:
    """Both are answered at once, however long the request may wait: the socket's timeout is shorter."""
    side.admin.create_topic("wait-hidden")
    side.set_rules(allow(Kind.TOPIC, "wait-seen", Operation.READ))
    with side.connect("alice") as alice:
        for name in ("wait-hidden", "wait-absent"):
            answer = alice.fetch_all({(name, 0): RawFetchPosition(0)}, max_wait_ms=60_000, min_bytes=1)
            assert answer.partitions[name, 0].error == TOPIC_AUTHORIZATION_FAILED
