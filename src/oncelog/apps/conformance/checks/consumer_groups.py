"""Checks of groups of the newer protocol (KIP-848): heartbeats, epochs, assignments and offsets."""

from __future__ import annotations

from typing import Any

from oncelog.apps.conformance.expect import among, eventually, holds, same
from oncelog.apps.conformance.fixture import Fixture
from oncelog.apps.conformance.raw.group_members import (
    commit,
    committed,
    committed_once_stable,
    describe_group,
    fetch_offsets,
    stable_alone,
    until,
)
from oncelog.apps.conformance.raw.transactional_producer import LOADING, RawTransactionalProducer, find_coordinator
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.apps.conformance.registry import check, each
from oncelog.errors import Error
from oncelog.protocol.generated.consumer_group_describe_request import ConsumerGroupDescribeRequest
from oncelog.protocol.generated.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from oncelog.protocol.generated.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from oncelog.runtime.chance import uuid4

FENCED_EPOCH = Error.FENCED_MEMBER_EPOCH
UNKNOWN_MEMBER = Error.UNKNOWN_MEMBER_ID
STALE_EPOCH = Error.STALE_MEMBER_EPOCH
INVALID_REQUEST = Error.INVALID_REQUEST
UNSUPPORTED_ASSIGNOR = Error.UNSUPPORTED_ASSIGNOR
UNSUPPORTED_VERSION = Error.UNSUPPORTED_VERSION
GROUP_NOT_FOUND = Error.GROUP_ID_NOT_FOUND
ILLEGAL_GENERATION = Error.ILLEGAL_GENERATION
UNRELEASED_INSTANCE = Error.UNRELEASED_INSTANCE_ID
INVALID_GROUP = Error.INVALID_GROUP_ID


class NewMember:
    """A member of a group of the newer protocol; it sends ConsumerGroupHeartbeat and keeps its epoch and its owned
    partitions."""

    def __init__(
        self, connection: RawConnection, group: str, topics: list[str], *, instance: str | None = None
    ) -> None:
        self.connection, self.group, self.topics, self.instance = connection, group, topics, instance
        self.id = str(uuid4())
        self.epoch = 0
        self.owned: dict[bytes, list[int]] = {}

    def beat_once(self, version: int = 1, **changes: Any) -> Any:
        fields: dict[str, Any] = {
            "group_id": self.group,
            "member_id": self.id,
            "member_epoch": self.epoch,
            "instance_id": self.instance,
        }
        if self.epoch == 0:
            fields |= {
                "rebalance_timeout_ms": 30_000,
                "subscribed_topic_names": self.topics,
                "topic_partitions": [],
            }

        def probe() -> Any:
            answer = self.connection.ask(ConsumerGroupHeartbeatRequest(**(fields | changes)), version)
            return None if answer.error_code in LOADING else answer

        return eventually(probe)

    def beat(self, **changes: Any) -> Any:
        """Send one heartbeat with the owned partitions, and apply the assignment in its answer."""
        owned = [TopicPartitions(topic_id=topic, partitions=parts) for topic, parts in self.owned.items()]
        answer = self.beat_once(**({"topic_partitions": owned} | changes))
        same(answer.error_code, 0)
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.owned = {part.topic_id: sorted(part.partitions) for part in answer.assignment.topic_partitions}
        return answer

    def partitions(self, topic_id: bytes) -> list[int]:
        return self.owned.get(topic_id, [])


@check("KIP-848", assumes="group.consumer.heartbeat.interval.ms is 5000")
def a_lone_member_gets_every_partition(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic_id = fixture.connection.create_topic(fixture.name, 4)
    group = fixture.group()
    member = NewMember(connection, group, [unique_name])
    answer = member.beat()
    same(answer.member_id, member.id)
    holds(answer.member_epoch > 0, "a member that joined has an epoch above 0")
    same(answer.heartbeat_interval_ms, 5000)
    until(lambda: member.beat() and member.partitions(topic_id) == [0, 1, 2, 3])


@check("KIP-848")
@each("assignor", values=["uniform", "range"])
def two_members_share_and_the_second_waits_for_what_the_first_gives_up(fixture: Fixture, assignor: str) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic_id = fixture.connection.create_topic(fixture.name, 4)
    group = fixture.group()
    one, two = (NewMember(connection, group, [unique_name]) for _ in range(2))
    one.beat(server_assignor=assignor)
    until(lambda: one.beat() and one.partitions(topic_id) == [0, 1, 2, 3])
    two.beat(server_assignor=assignor)
    same(two.partitions(topic_id), [])

    def shared() -> bool:
        one.beat()
        two.beat()
        return len(one.partitions(topic_id)) == len(two.partitions(topic_id)) == 2

    until(shared)
    same(sorted(one.partitions(topic_id) + two.partitions(topic_id)), [0, 1, 2, 3])
    described = eventually(lambda: _stable(connection, group))
    same((described.assignor_name, len(described.members)), (assignor, 2))
    two.beat_once(member_epoch=-1)
    until(lambda: one.beat() and one.partitions(topic_id) == [0, 1, 2, 3])


def _stable(connection: RawConnection, group: str) -> Any:
    (found,) = connection.ask(ConsumerGroupDescribeRequest(group_ids=[group]), 1).groups
    return found if found.group_state == "Stable" else None


@check("KIP-848")
def heartbeats_that_are_refused(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    fixture.connection.create_topic(fixture.name, 4)
    group = fixture.group()
    stranger = NewMember(connection, group, [unique_name])
    among(stranger.beat_once(member_epoch=5).error_code, (UNKNOWN_MEMBER, GROUP_NOT_FOUND))
    member = NewMember(connection, group, [unique_name])
    member.beat()
    same(stranger.beat_once(member_epoch=1).error_code, UNKNOWN_MEMBER)
    same(member.beat_once(member_epoch=member.epoch + 1).error_code, FENCED_EPOCH)
    same(member.beat_once(member_epoch=-3).error_code, INVALID_REQUEST)
    same(NewMember(connection, group, [unique_name]).beat_once(server_assignor="nope").error_code, UNSUPPORTED_ASSIGNOR)
    same(NewMember(connection, group, [unique_name]).beat_once(rebalance_timeout_ms=-1).error_code, INVALID_REQUEST)
    same(NewMember(connection, group, [unique_name]).beat_once(subscribed_topic_names=None).error_code, INVALID_REQUEST)
    same(NewMember(connection, "", [unique_name]).beat_once().error_code, INVALID_REQUEST)
    nameless = NewMember(connection, group, [unique_name])
    nameless.id = ""
    same(nameless.beat_once().error_code, INVALID_REQUEST)


@check("KIP-848")
def offsets_carry_the_epoch_of_the_member(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic_id = fixture.connection.create_topic(fixture.name, 4)
    group = fixture.group()
    member = NewMember(connection, group, [unique_name])
    until(lambda: member.beat() and member.partitions(topic_id) == [0, 1, 2, 3])
    offsets = {(unique_name, 0): 5}
    same(commit(connection, group, offsets, 9, generation=member.epoch, member=member.id), [0])
    same(commit(connection, group, offsets, 9, generation=member.epoch + 1, member=member.id), [STALE_EPOCH])
    same(commit(connection, group, offsets, 9, generation=member.epoch, member="someone"), [UNKNOWN_MEMBER])
    same(commit(connection, group, offsets, 9), [UNKNOWN_MEMBER])
    same(commit(connection, group, offsets, 8, generation=member.epoch, member=member.id), [UNSUPPORTED_VERSION])
    same(committed(connection, group, unique_name), 5)
    same(fetch_offsets(connection, group, [(unique_name, 0)], version=9)[1][unique_name, 0][:2], (0, 5))


@check("KIP-1319")
@each("version", values=[3, 5, 6])
def offsets_in_a_transaction_carry_the_epoch_too(fixture: Fixture, version: int) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic_id = fixture.connection.create_topic(fixture.name, 4)
    group = fixture.group()
    member = NewMember(connection, group, [unique_name])
    until(lambda: member.beat() and member.partitions(topic_id) == [0, 1, 2, 3])
    producer = RawTransactionalProducer(connection, unique_name + "-id").init()
    producer.add_offsets(group)
    offsets = {(unique_name, 0): 8}

    def send(epoch: int, name: str) -> list[int]:
        return producer.commit_offsets_once(group, offsets, version=version, generation=epoch, member=name)

    same(send(member.epoch + 1, member.id), [STALE_EPOCH if version >= 6 else ILLEGAL_GENERATION])
    same(send(member.epoch, "someone"), [UNKNOWN_MEMBER])
    same(send(member.epoch, member.id), [0])
    producer.commit()
    same(committed_once_stable(connection, group, unique_name), 8)


@check("KIP-848")
def a_static_member_keeps_its_partitions_over_a_leave(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic_id = fixture.connection.create_topic(fixture.name, 4)
    group = fixture.group()
    old = NewMember(connection, group, [unique_name], instance="one")
    until(lambda: old.beat() and old.partitions(topic_id) == [0, 1, 2, 3])
    second = NewMember(connection, group, [unique_name], instance="one")
    same(second.beat_once().error_code, UNRELEASED_INSTANCE)
    same(old.beat_once(member_epoch=-2).error_code, 0)
    until(lambda: second.beat() and second.partitions(topic_id) == [0, 1, 2, 3])
    same(old.beat_once().error_code, 82)


@check("KIP-848")
def both_protocols_tell_of_each_others_groups(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    fixture.connection.create_topic(fixture.name, 4)
    group = fixture.group()
    member = NewMember(connection, group, [unique_name])
    member.beat()
    (found,) = connection.ask(ConsumerGroupDescribeRequest(group_ids=[group]), 1).groups
    same(found.error_code, 0)
    same([entry.member_id for entry in found.members], [member.id])
    classic = describe_group(connection, group, 6)
    same((classic.error_code, classic.group_state), (GROUP_NOT_FOUND, "Dead"))
    find_coordinator(connection, group + "-classic", 0)
    stable_alone(connection, group + "-classic")
    (other,) = connection.ask(ConsumerGroupDescribeRequest(group_ids=[group + "-classic"]), 1).groups
    same(other.error_code, GROUP_NOT_FOUND)


GROUP_RESOURCE, SET, DELETE = 32, 0, 1


@check("KIP-848")
def what_is_set_for_a_group_holds_for_it_alone(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    group = fixture.group()

    def change(operation: int, value: str | None) -> None:
        configs = [AlterableConfig("consumer.heartbeat.interval.ms", operation, value)]
        request = IncrementalAlterConfigsRequest([AlterConfigsResource(GROUP_RESOURCE, group, configs)])
        (answer,) = connection.ask(request, 1).responses
        same(answer.error_code, 0)

    member, other = (NewMember(connection, name, [unique_name]) for name in (group, group + "-other"))
    find_coordinator(connection, other.group, 0)
    usual = member.beat().heartbeat_interval_ms
    change(SET, "7000")
    until(lambda: member.beat().heartbeat_interval_ms == 7000)
    same(other.beat().heartbeat_interval_ms, usual)
    change(DELETE, None)
    until(lambda: member.beat().heartbeat_interval_ms == usual)


@check("KIP-848")
def topics_by_name_come_before_those_by_expression(fixture: Fixture) -> None:
    """Topics subscribed by name are assigned at once; those that match the expression follow in a later heartbeat,
    because the coordinator evaluates expressions asynchronously."""
    connection = fixture.connection
    unique_name = fixture.name
    group = fixture.group()
    named, matched = f"{unique_name}-named", f"{unique_name}-matched"
    ids = {topic: connection.create_topic(topic) for topic in (named, matched)}
    member = NewMember(connection, group, [named])
    answer = member.beat(subscribed_topic_regex=f"{unique_name}-match.*")
    same([topic.topic_id for topic in answer.assignment.topic_partitions], [ids[named]])

    def probe() -> Any:
        return member.beat().assignment

    same({topic.topic_id for topic in eventually(probe).topic_partitions}, set(ids.values()))
