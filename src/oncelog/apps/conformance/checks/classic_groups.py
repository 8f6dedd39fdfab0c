"""Checks of offsets committed in transactions, and of groups of the classic protocol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from oncelog.apps.conformance.expect import CheckFailed, among, eventually, holds, same
from oncelog.apps.conformance.fixture import Fixture
from oncelog.apps.conformance.raw.group_members import (
    MEMBER_ID_REQUIRED,
    Member,
    commit,
    committed,
    committed_once_stable,
    describe_group,
    fetch_offsets,
    stable_alone,
    subscription,
    until,
)
from oncelog.apps.conformance.raw.transactional_producer import RawTransactionalProducer, find_coordinator
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.apps.conformance.registry import PROTOCOL, check, each
from oncelog.errors import Error
from oncelog.protocol.generated.delete_groups_request import DeleteGroupsRequest
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest
from oncelog.protocol.struct_fields import ZERO_UUID

UNSTABLE = Error.UNSTABLE_OFFSET_COMMIT
ILLEGAL_GENERATION = Error.ILLEGAL_GENERATION
UNKNOWN_MEMBER = Error.UNKNOWN_MEMBER_ID
FENCED_INSTANCE = Error.FENCED_INSTANCE_ID
REBALANCING = Error.REBALANCE_IN_PROGRESS
INVALID_GROUP = Error.INVALID_GROUP_ID
INVALID_SESSION = Error.INVALID_SESSION_TIMEOUT
INCONSISTENT = Error.INCONSISTENT_GROUP_PROTOCOL
GROUP_NOT_FOUND = Error.GROUP_ID_NOT_FOUND
NON_EMPTY = Error.NON_EMPTY_GROUP
UNKNOWN_TOPIC = Error.UNKNOWN_TOPIC_OR_PARTITION
UNKNOWN_TOPIC_ID = Error.UNKNOWN_TOPIC_ID


# --- offsets in transactions


@check("KIP-447")
@each("version", values=[7, 8, 9])
def a_pending_offset_is_unstable_and_gone_after_an_abort(fixture: Fixture, version: int) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    group = fixture.group()
    producer = RawTransactionalProducer(fixture.connection, fixture.name + "-id").init()
    same(commit(connection, group, {(topic, 0): 5}), [0])
    producer.send_offsets(group, {(topic, 0): 9})
    error, found = fetch_offsets(connection, group, [(topic, 0)], version=version, stable=True)
    same((error, found), (0, {(topic, 0): (UNSTABLE, -1, "")}))
    same(committed(connection, group, topic), 5)
    producer.abort()
    same(committed_once_stable(connection, group, topic), 5)


@check("KIP-447")
@each("version_2", values=[False, True])
def a_pending_offset_counts_after_the_commit(fixture: Fixture, version_2: bool) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    group = fixture.group()
    producer = RawTransactionalProducer(connection, group + "-id", version_2=version_2).init()
    producer.send_offsets(group, {(topic, 0): 9})
    same(committed(connection, group, topic), -1)
    same(committed(connection, group, topic, stable=True), -UNSTABLE)
    producer.commit()
    same(committed_once_stable(connection, group, topic), 9)


@check("KIP-447")
def only_the_pending_partitions_are_unstable(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    group = fixture.group()
    producer = RawTransactionalProducer(fixture.connection, fixture.name + "-id").init()
    connection.create_topic(unique_name, 2)
    commit(connection, group, {(unique_name, 0): 1, (unique_name, 1): 2})
    producer.send_offsets(group, {(unique_name, 1): 7})
    _, found = fetch_offsets(connection, group, [(unique_name, 0), (unique_name, 1)], stable=True)
    same(
        {key: value[:2] for key, value in found.items()},
        {
            (unique_name, 0): (0, 1),
            (unique_name, 1): (UNSTABLE, -1),
        },
    )
    _, everything = fetch_offsets(connection, group, None, stable=True)
    same(
        {key: value[:2] for key, value in everything.items()},
        {
            (unique_name, 0): (0, 1),
            (unique_name, 1): (UNSTABLE, -1),
        },
    )
    producer.abort()


@check("KIP-447")
def a_later_offset_of_the_same_transaction_wins(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    group = fixture.group()
    producer = RawTransactionalProducer(fixture.connection, fixture.name + "-id").init()
    producer.send_offsets(group, {(topic, 0): 9})
    producer.send_offsets(group, {(topic, 0): 4}, metadata="rewound")
    producer.commit()
    same(committed_once_stable(connection, group, topic), 4)


@check("KIP-447")
def offsets_of_a_member_are_checked(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    group = fixture.group()
    producer = RawTransactionalProducer(fixture.connection, fixture.name + "-id").init()
    member = stable_alone(connection, group, instance="one")
    offsets = {(topic, 0): 3}
    producer.add_offsets(group)

    def send(**who: object) -> list[int]:
        return producer.commit_offsets_once(group, offsets, **who)  # type: ignore[arg-type]

    same(send(generation=member.generation - 1, member=member.id), [ILLEGAL_GENERATION])
    same(send(generation=member.generation + 1, member=member.id), [ILLEGAL_GENERATION])
    same(send(generation=member.generation, member="someone"), [UNKNOWN_MEMBER])
    same(send(generation=member.generation, member="other", instance="one"), [FENCED_INSTANCE])
    if connection.is_since("3.0"):
        same(send(generation=member.generation, member=member.id, instance="two"), [UNKNOWN_MEMBER])
    same(send(), [0])
    same(send(generation=member.generation, member=member.id, instance="one"), [0])
    same(send(generation=member.generation, member=member.id), [0])
    producer.commit()
    same(committed_once_stable(connection, group, topic), 3)


@check("KIP-447")
def a_generation_of_a_group_that_is_not_there(fixture: Fixture) -> None:
    topic = fixture.topic()
    group = fixture.group()
    producer = RawTransactionalProducer(fixture.connection, fixture.name + "-id").init()
    producer.add_offsets(group)
    # Apache Kafka up to 3.9 creates the missing group, does not find the member in it, and answers UNKNOWN_MEMBER_ID.
    expected = ILLEGAL_GENERATION if fixture.connection.is_since("4.0") else UNKNOWN_MEMBER
    same(producer.commit_offsets_once(group, {(topic, 0): 3}, generation=4, member="m"), [expected])
    same(producer.commit_offsets_once(group, {(topic, 0): 3}), [0])
    producer.abort()


@check("KIP-1319")
@each("version", values=[5, 6])
def the_coordinators_word_for_a_group_that_is_not_there(fixture: Fixture, version: int) -> None:
    topic = fixture.topic()
    group = fixture.group()
    producer = RawTransactionalProducer(fixture.connection, fixture.name + "-id").init()
    producer.add_offsets(group)
    expected = GROUP_NOT_FOUND if version >= 6 else ILLEGAL_GENERATION
    found = producer.commit_offsets_once(group, {(topic, 0): 3}, version=version, generation=4, member="m")
    same(found, [expected])
    same(producer.commit_offsets_once(group, {(topic, 0): 3}, version=version), [0])
    producer.abort()


@check("KIP-1319")
def offsets_are_committed_by_topic_id(fixture: Fixture) -> None:
    connection = fixture.connection
    topic, other = fixture.name, fixture.name + "-made-again"
    connection.create_topic(topic)
    gone = connection.create_topic(other)
    group = fixture.group()
    producer = RawTransactionalProducer(connection, fixture.name + "-id").init()
    producer.add_offsets(group)
    offsets = {(topic, 0): 3, (topic, 7): 3, (other, 0): 4}
    here = {topic: connection.topic_id(topic)}

    def send(topic_id: bytes) -> Mapping[int, int]:
        return Counter(producer.commit_offsets_once(group, offsets, version=6, ids={**here, other: topic_id}))

    same(send(gone), {0: 2, UNKNOWN_TOPIC: 1})
    same(send(ZERO_UUID), {0: 1, UNKNOWN_TOPIC: 1, UNKNOWN_TOPIC_ID: 1})
    connection.ask(DeleteTopicsRequest(topic_names=[other], timeout_ms=30_000), 4)
    until(lambda: connection.topic_id(other) == ZERO_UUID)
    again = _make_again(connection, other)
    until(lambda: UNKNOWN_TOPIC_ID in send(gone))
    same(send(again), {0: 2, UNKNOWN_TOPIC: 1})
    producer.commit()
    same(committed_once_stable(connection, group, topic), 3)
    same(committed_once_stable(connection, group, other), 4)


def _make_again(connection: RawConnection, topic: str) -> bytes:
    """Create a topic with the name of a topic that is being deleted; the request is repeated while the name is still in
    use."""

    def made() -> bytes | None:
        try:
            return connection.create_topic(topic)
        except CheckFailed as failed:
            if Error.TOPIC_ALREADY_EXISTS.name not in str(failed):
                raise
            return None

    return eventually(made)


@check("KIP-98")
@each("version", values=[3, 6])
def pending_offsets_of_a_deleted_topic_are_dropped(fixture: Fixture, version: int) -> None:
    connection = fixture.connection
    topic, group = fixture.name, fixture.group()
    connection.create_topic(topic)
    producer = RawTransactionalProducer(connection, fixture.name + "-id").init()
    producer.add_offsets(group)
    same(producer.commit_offsets_once(group, {(topic, 0): 3}, version=version), [0])
    connection.ask(DeleteTopicsRequest(topic_names=[topic], timeout_ms=30_000), 4)
    until(lambda: connection.topic_id(topic) == ZERO_UUID)
    until(lambda: committed(connection, group, topic, stable=True) == -1)
    _make_again(connection, topic)
    producer.commit()
    same(committed_once_stable(connection, group, topic), -1)


@check("KIP-1319")
def members_of_the_classic_protocol_have_no_epochs(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    group = fixture.group()
    producer = RawTransactionalProducer(connection, fixture.name + "-id").init()
    producer.add_offsets(group)
    member = stable_alone(connection, group)

    def send(generation: int, name: str) -> list[int]:
        offsets = {(topic, 0): 3}
        return producer.commit_offsets_once(group, offsets, version=6, generation=generation, member=name)

    same(send(member.generation + 1, member.id), [ILLEGAL_GENERATION])
    same(send(member.generation, "someone"), [UNKNOWN_MEMBER])
    same(send(member.generation, member.id), [0])
    producer.abort()


@check("KIP-890", assumes="transaction.partition.verification.enable is true", since="3.7")
@each("version", values=range(5))
def offsets_without_the_group_in_the_transaction_are_refused(fixture: Fixture, version: int) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    group = fixture.group()
    producer = RawTransactionalProducer(fixture.connection, fixture.name + "-id").init()
    expected = 120 if version >= 4 else 48
    found = producer.commit_offsets_once(group, {(topic, 0): 3}, version=version)
    if found == [0]:
        producer.take_back_offsets(group)
    same(found, [expected])
    same(committed(connection, group, topic, stable=True), -1)


@check("KIP-98")
@each("version", values=range(7))
def offsets_of_a_fenced_producer_are_refused(fixture: Fixture, version: int) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    group = fixture.group()
    producer = RawTransactionalProducer(fixture.connection, fixture.name + "-id").init()
    producer.add_offsets(group)
    same(producer.commit_offsets_once(group, {(topic, 0): 3}, version=version), [0])
    RawTransactionalProducer(connection, producer.id).init()
    (error,) = producer.commit_offsets_once(group, {(topic, 0): 4}, version=version)
    same(error, 47)
    same(committed_once_stable(connection, group, topic), -1)


@check("KIP-890")
@each("version", values=[5, 6])
def newer_txn_offset_commits_add_the_group_themselves(fixture: Fixture, version: int) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    group = fixture.group()
    producer = RawTransactionalProducer(connection, group + "-id", version_2=True).init()
    find_coordinator(connection, group, 0)
    same(producer.commit_offsets_once(group, {(topic, 0): 3}, version=version), [0])
    same([added.topic for added in producer.describe().topics], ["__consumer_offsets"])
    producer.commit()
    same(committed_once_stable(connection, group, topic), 3)


@check(PROTOCOL, assumes="offset.metadata.max.bytes is 4096")
def offsets_with_metadata_that_is_too_large(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    group = fixture.group()
    producer = RawTransactionalProducer(fixture.connection, fixture.name + "-id").init()
    producer.add_offsets(group)
    same(producer.commit_offsets_once(group, {(topic, 0): 3}, metadata="x" * 4097), [12])
    same(producer.commit_offsets_once(group, {(topic, 0): 3}, metadata="x" * 4096), [0])
    same(commit(connection, group, {(topic, 0): 3}, metadata="x" * 4097), [12])
    producer.abort()


@check("KIP-98")
def a_plain_commit_behind_the_pending_one_wins(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    group = fixture.group()
    producer = RawTransactionalProducer(fixture.connection, fixture.name + "-id").init()
    producer.send_offsets(group, {(topic, 0): 9})
    same(commit(connection, group, {(topic, 0): 4}), [0])
    same(committed(connection, group, topic), 4)
    same(committed(connection, group, topic, stable=True), -UNSTABLE)
    producer.commit()
    same(committed_once_stable(connection, group, topic), 4)


@check("KIP-98")
def a_plain_commit_before_the_pending_one_loses(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    group = fixture.group()
    producer = RawTransactionalProducer(fixture.connection, fixture.name + "-id").init()
    commit(connection, group, {(topic, 0): 4})
    producer.send_offsets(group, {(topic, 0): 9})
    producer.commit()
    same(committed_once_stable(connection, group, topic), 9)


@check("KIP-98")
def a_group_with_pending_offsets_is_not_deleted(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    group = fixture.group()
    producer = RawTransactionalProducer(fixture.connection, fixture.name + "-id").init()
    producer.send_offsets(group, {(topic, 0): 9})
    (answer,) = connection.ask(DeleteGroupsRequest(groups_names=[group]), 2).results
    first = answer.error_code
    producer.commit()
    among(committed_once_stable(connection, group, topic), (9, -1))
    among(first, (0, NON_EMPTY))
    same(committed(connection, group, topic), 9 if first else committed(connection, group, topic))


# --- the classic protocol


@check(PROTOCOL)
def heartbeats_in_every_state(fixture: Fixture) -> None:
    connection = fixture.connection
    group = fixture.group()
    second = fixture.second()
    one, two = Member(connection, group), Member(second, group)
    one.join()
    same(one.heartbeat(), 0)
    same(one.sync({one.id: b"all"}).error_code, 0)
    same(one.heartbeat(), 0)
    two.identify()
    waiting = two.send_join()
    until(lambda: one.heartbeat() == REBALANCING)
    one.join()
    two.receive_join(waiting)
    same((one.generation, two.generation), (2, 2))
    same(one.heartbeat(), 0)
    same(two.heartbeat(), 0)
    same(two.heartbeat(generation_id=1), ILLEGAL_GENERATION)
    same(two.heartbeat(member_id="nobody"), UNKNOWN_MEMBER)
    same(Member(connection, group + "-other").heartbeat(member_id="nobody", generation_id=1), UNKNOWN_MEMBER)


@check(PROTOCOL)
def the_leader_alone_receives_the_members_and_assigns(fixture: Fixture) -> None:
    connection = fixture.connection
    group = fixture.group()
    second = fixture.second()
    one, two = Member(connection, group), Member(second, group)
    one.join(metadata=subscription(b"first"))
    one.sync({one.id: b"x"})
    two.identify()
    waiting = two.send_join(metadata=subscription(b"second"))
    until(lambda: one.heartbeat() == REBALANCING)
    led = one.join(metadata=subscription(b"first"))
    followed = two.receive_join(waiting)
    holds(led.leader == followed.leader == one.id, "both members get the same leader, the first one")
    same(
        {member.member_id: member.metadata for member in led.members},
        {
            one.id: subscription(b"first"),
            two.id: subscription(b"second"),
        },
    )
    same(followed.members, [])
    pending = two.send_sync()
    same(one.sync({one.id: b"A", two.id: b"B"}).assignment, b"A")
    same(two.receive_sync(pending).assignment, b"B")
    same(two.sync().assignment, b"B")
    state = describe_group(connection, group)
    same((state.group_state, state.protocol_type, state.protocol_data), ("Stable", "consumer", "range"))
    same({member.member_id: member.member_assignment for member in state.members}, {one.id: b"A", two.id: b"B"})


@check(PROTOCOL)
def a_follower_that_joins_again_unchanged_keeps_the_generation(fixture: Fixture) -> None:
    connection = fixture.connection
    group = fixture.group()
    second = fixture.second()
    one, two = Member(connection, group), Member(second, group)
    one.join()
    one.sync({one.id: b"x"})
    two.identify()
    waiting = two.send_join()
    until(lambda: one.heartbeat() == REBALANCING)
    one.join()
    two.receive_join(waiting)
    pending = two.send_sync()
    one.sync({one.id: b"A", two.id: b"B"})
    two.receive_sync(pending)
    same(two.join().generation_id, 2)
    same(one.heartbeat(), 0)


@check(PROTOCOL)
def a_leader_that_joins_again_begins_a_rebalance(fixture: Fixture) -> None:
    connection = fixture.connection
    group = fixture.group()
    member = stable_alone(connection, group)
    same(member.join().generation_id, 2)


@check(PROTOCOL)
@each("version", values=range(10))
def join_in_every_version(fixture: Fixture, version: int) -> None:
    connection = fixture.connection
    group = fixture.group()
    member = Member(connection, group)
    answer = member.join(version)
    same((answer.generation_id, answer.leader, answer.protocol_name), (1, member.id, "range"))
    same([found.member_id for found in answer.members], [member.id])
    same(member.sync({member.id: b"all"}).assignment, b"all")
    same(member.leave()[0], 0)
    same(describe_group(connection, group).group_state, "Empty")


@check("KIP-394", assumes="group.min.session.timeout.ms is 6000 and group.max.session.timeout.ms is 1800000")
def joins_that_are_refused(fixture: Fixture) -> None:
    connection = fixture.connection
    group = fixture.group()
    member = Member(connection, group)
    same(member.join_once(session_timeout_ms=5999).error_code, INVALID_SESSION)
    same(member.join_once(session_timeout_ms=1_800_001).error_code, INVALID_SESSION)
    same(member.join_once(member_id="unknown").error_code, UNKNOWN_MEMBER)
    same(Member(connection, "").join_once().error_code, INVALID_GROUP)
    same(member.join_once().error_code, MEMBER_ID_REQUIRED)
    member.id = ""
    stable_alone(connection, group)
    same(member.join_once(version=3, protocol="other").error_code, INCONSISTENT)
    same(member.join_once(version=3, protocol_type="connect").error_code, INCONSISTENT)
    same(member.join_once(version=3, protocols=[]).error_code, INCONSISTENT)
    same(member.join_once(version=5, member_id="unknown").error_code, UNKNOWN_MEMBER)


@check(PROTOCOL)
def syncs_that_are_refused(fixture: Fixture) -> None:
    connection = fixture.connection
    group = fixture.group()
    member = Member(connection, group)
    member.join()
    same(member.sync(generation_id=7).error_code, ILLEGAL_GENERATION)
    same(member.sync(member_id="nobody").error_code, UNKNOWN_MEMBER)
    same(member.sync(version=5, protocol_type="connect", protocol_name="range").error_code, INCONSISTENT)
    same(member.sync(version=5, protocol_type="consumer", protocol_name="other").error_code, INCONSISTENT)
    same(member.sync({member.id: b"all"}, version=5, protocol_type="consumer", protocol_name="range").error_code, 0)


@check(PROTOCOL)
@each("version", values=range(6))
def leave_in_every_version(fixture: Fixture, version: int) -> None:
    connection = fixture.connection
    group = fixture.group()
    member = stable_alone(connection, group)
    same(member.leave(version), (0, []) if version < 3 else (0, [0]))
    same(member.heartbeat(), UNKNOWN_MEMBER)
    again = member.leave(version)
    same(again, (UNKNOWN_MEMBER, []) if version < 3 else (0, [UNKNOWN_MEMBER]))


@check("KIP-345")
def a_static_member_that_comes_back_takes_over_without_a_rebalance(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    group = fixture.group()
    second = fixture.second()
    old = stable_alone(connection, group, instance="one")
    new = Member(second, group, instance="one")
    answer = new.join()
    same(answer.generation_id, 1)
    holds(new.id != old.id, "the new member gets another member id")
    same(old.heartbeat(), FENCED_INSTANCE)
    same(old.commit({(topic, 0): 1}), [FENCED_INSTANCE])
    same(old.sync().error_code, FENCED_INSTANCE)
    same(new.heartbeat(), 0)
    same(new.sync().assignment, b"all")


@check("KIP-345")
def a_static_member_leaves_by_its_instance(fixture: Fixture) -> None:
    connection = fixture.connection
    group = fixture.group()
    member = stable_alone(connection, group, instance="one")
    member.id = ""
    same(member.leave(), (0, [0]))
    same(describe_group(connection, group).members, [])
