"""Runs the checks against a cluster, one after another, and removes what they leave behind.

Called by ``oncelog conformance``. Every name that a check uses begins with the run's own prefix. Topics are deleted
after each check, groups at the end; a transactional id cannot be deleted, but expires. Transactions that failed checks
left open in ``__consumer_offsets`` are aborted at the end, because a broker may have accepted them without a
coordinator that knows them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum
from time import sleep
from typing import Any

from oncelog.apps.conformance.expect import TIMEOUT_S, CheckFailed, NotOffered
from oncelog.apps.conformance.fixture import Fixture
from oncelog.apps.conformance.raw.share_members import send_members_away
from oncelog.apps.conformance.raw.single_node import single_node
from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection, TestedCluster
from oncelog.apps.conformance.registry import Check, case_name
from oncelog.client.blocking import Admin
from oncelog.client.core.admin.admin_types import ProducerState
from oncelog.client.core.config import AdminConfig
from oncelog.errors import Error, KafkaError, OncelogError
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.codec_errors import ProtocolError
from oncelog.protocol.generated.consumer_group_describe_request import ConsumerGroupDescribeRequest
from oncelog.protocol.generated.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.describe_producers_request import DescribeProducersRequest
from oncelog.protocol.generated.leave_group_request import LeaveGroupRequest, MemberIdentity
from oncelog.runtime import real_time
from oncelog.runtime.chance import uuid4
from oncelog.types import CONSUMER_OFFSETS_TOPIC, TopicPartition

_SHORTEST_ANSWER_S = 20.0
_REBALANCE_S = 10.0
_NO_ANSWER = (ProtocolError, OSError, ValueError, LookupError, TypeError, AttributeError, struct.error)
"""The exceptions that an answer of an unexpected form raises while it is parsed."""


class CheckOutcome(Enum):
    """The outcome of one case of a check."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_OFFERED = "not offered"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One case of a check and its outcome; ``text`` says why it did not pass."""

    check: Check
    case: Mapping[str, Any]
    outcome: CheckOutcome
    text: str

    @property
    def name(self) -> str:
        return case_name(self.check, self.case)


@dataclass(slots=True)
class ConformanceReport:
    """All results, and what could not be removed."""

    broker: str
    nodes: int
    results: list[CheckResult] = field(default_factory=list)
    left_behind: list[str] = field(default_factory=list)

    def count(self, outcome: CheckOutcome, area: str | None = None) -> int:
        return sum(result.outcome is outcome and area in (None, result.check.area) for result in self.results)


def run(
    config: AdminConfig,
    cases: Iterable[tuple[Check, Mapping[str, Any]]],
    *,
    timeout_s: float = 30,
    on_result: Callable[[CheckResult], None] = lambda result: None,
) -> ConformanceReport:
    """Run the cases against the cluster of ``config``.

    :param timeout_s: how long to wait for conditions.
    :param on_result: called with each result.
    :raises OncelogError: the cluster cannot be reached.
    """
    prefix = f"oncelog-conformance-{uuid4().hex[:8]}"
    before = TIMEOUT_S.set(timeout_s)
    try:
        with single_node(config) as (address, world):
            report = ConformanceReport(",".join(config.bootstrap_servers), world.nodes)
            try:
                for number, (check, case) in enumerate(cases):
                    result = _one(address, world, f"{prefix}-{number}", check, case)
                    report.results.append(result)
                    on_result(result)
                    report.left_behind += _delete_topics(address, world)
            finally:
                report.left_behind += _delete_topics(address, world)
                report.left_behind += _end_transactions(config, world)
                report.left_behind += _delete_groups(config, prefix, address, world)
    finally:
        TIMEOUT_S.reset(before)
    return report


def _one(address: str, world: TestedCluster, name: str, check: Check, case: Mapping[str, Any]) -> CheckResult:
    try:
        with RawConnection(address, timeout_s=max(_SHORTEST_ANSWER_S, TIMEOUT_S.get()), world=world) as connection:
            fixture = Fixture(connection, name)
            try:
                if check.since:
                    connection.needs_release(check.since)
                check.function(fixture, **case)
            finally:
                fixture.close()
    except NotOffered as error:
        return CheckResult(check, case, CheckOutcome.NOT_OFFERED, str(error))
    except CheckFailed as error:
        return CheckResult(check, case, CheckOutcome.FAILED, str(error))
    except ConnectionClosed:
        return CheckResult(check, case, CheckOutcome.FAILED, "the broker ended the connection instead of answering")
    except TimeoutError:
        return CheckResult(check, case, CheckOutcome.FAILED, "the broker did not answer")
    except (OncelogError, *_NO_ANSWER) as error:
        return CheckResult(
            check, case, CheckOutcome.FAILED, f"the answer is unexpected: {type(error).__name__}: {error}"
        )
    return CheckResult(check, case, CheckOutcome.PASSED, "")


def _delete_topics(address: str, world: TestedCluster) -> Sequence[str]:
    """Delete the topics of the check that has just run; returns the names of those that could not be deleted."""
    names = list(
        world.topics
    )  # topics stay in the list until they are deleted, so that an interrupted deletion is repeated
    if not names:
        return []
    try:
        with RawConnection(address, world=world) as connection:
            request = DeleteTopicsRequest(topic_names=names, timeout_ms=30_000)
            answer = connection.ask(request, connection.best(request.API_KEY, 5))
    except (OncelogError, ConnectionClosed, *_NO_ANSWER):
        world.topics.clear()
        return [f"topic {name}" for name in names]
    world.topics.clear()
    gone = (0, 3)
    return [f"topic {entry.name}" for entry in answer.responses if entry.error_code not in gone]


def _end_transactions(config: AdminConfig, world: TestedCluster) -> Sequence[str]:
    """Abort the transactions that producers of the run have open in ``__consumer_offsets``; returns those that are
    still open.
    """
    if not world.producer_ids or DescribeProducersRequest.API_KEY not in world.offered:
        return []
    try:
        with Admin(config=config) as admin:
            for partition, producer in _open_transactions(admin, world.producer_ids):
                admin.abort_transaction(partition, producer=producer)
            left = _open_transactions(admin, world.producer_ids)
    except (OncelogError, *_NO_ANSWER) as error:
        return [f"perhaps open transactions in {CONSUMER_OFFSETS_TOPIC} ({error})"]
    return [f"an open transaction of producer {producer.producer_id} in {partition}" for partition, producer in left]


def _open_transactions(admin: Admin, producer_ids: Set[int]) -> list[tuple[TopicPartition, ProducerState]]:
    if CONSUMER_OFFSETS_TOPIC not in admin.list_topics(internal=True):
        return []
    return [
        (partition, producer)
        for partition, producers in admin.describe_producers(admin.partitions(CONSUMER_OFFSETS_TOPIC)).items()
        for producer in producers
        if producer.transaction_start_offset >= 0 and producer.producer_id in producer_ids
    ]


def _delete_groups(config: AdminConfig, prefix: str, address: str, world: TestedCluster) -> Sequence[str]:
    """Remove the members of the run's groups and delete the groups; returns those that could not be deleted."""
    left = []
    try:
        with Admin(config=config) as admin, RawConnection(address, world=world) as connection:
            for name in [group.group_id for group in admin.list_consumer_groups()]:
                if name.startswith(prefix) and (error := _delete_group(admin, connection, name)) is not None:
                    left.append(f"group {name} ({error.error.name})")
    except (OncelogError, ConnectionClosed, *_NO_ANSWER) as error:
        left.append(f"groups whose names begin with {prefix} ({error})")
    return left


def _delete_group(admin: Admin, connection: RawConnection, name: str) -> KafkaError | None:
    """Delete a group; returns the reason if that failed. Members are removed first, repeatedly, because a rebalancing
    group may get new ones meanwhile."""
    end = real_time.monotonic() + _REBALANCE_S
    while True:
        try:
            _send_members_away(connection, name)
            admin.delete_consumer_groups([name])
        except KafkaError as error:
            if error.error is Error.GROUP_ID_NOT_FOUND:
                return None
            if error.error is not Error.NON_EMPTY_GROUP or real_time.monotonic() > end:
                return error
            sleep(0.05)
        else:
            return None


def _send_members_away(connection: RawConnection, group: str) -> None:
    described = connection.ask(DescribeGroupsRequest(groups=[group]), connection.best(DescribeGroupsRequest.API_KEY, 5))
    members = [MemberIdentity(member_id=member.member_id) for member in described.groups[0].members]
    if members:
        connection.ask(LeaveGroupRequest(group_id=group, members=members), 3)
    elif described.groups[0].group_state == "Dead" and connection.offers(ConsumerGroupDescribeRequest.API_KEY, 0):
        newer = connection.ask(ConsumerGroupDescribeRequest(group_ids=[group]), 0)
        for member in newer.groups[0].members:
            leaving = ConsumerGroupHeartbeatRequest(group_id=group, member_id=member.member_id, member_epoch=-1)
            connection.ask(leaving, 0)
        if connection.offers(ApiKey.SHARE_GROUP_DESCRIBE, 1):
            send_members_away(connection, group)
