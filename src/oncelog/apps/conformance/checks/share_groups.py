"""Checks of share groups (KIP-932): acquisitions, acknowledgements, sessions, transactions and offsets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oncelog.apps.conformance.expect import eventually, holds, same
from oncelog.apps.conformance.fixture import Fixture
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.group_members import Member, commit, describe_group, fetch_offsets, stable_alone
from oncelog.apps.conformance.raw.share_members import (
    ACCEPT,
    FINAL_EPOCH,
    GAP,
    RECORD_LIMIT,
    REJECT,
    RELEASE,
    RENEW,
    Acks,
    RawShareMember,
    needs_share_groups,
)
from oncelog.apps.conformance.raw.transactional_producer import LOADING, RawTransactionalProducer
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.apps.conformance.registry import check, each
from oncelog.errors import Error
from oncelog.protocol.generated import alter_share_group_offsets_request as alter
from oncelog.protocol.generated import delete_share_group_offsets_request as delete
from oncelog.protocol.generated import describe_share_group_offsets_request as describe
from oncelog.protocol.generated.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from oncelog.protocol.generated.list_groups_request import ListGroupsRequest
from oncelog.protocol.generated.share_group_describe_request import ShareGroupDescribeRequest

INVALID_STATE = Error.INVALID_RECORD_STATE
INVALID_REQUEST = Error.INVALID_REQUEST
INVALID_EPOCH = Error.INVALID_SHARE_SESSION_EPOCH
NO_SESSION = Error.SHARE_SESSION_NOT_FOUND


class Queue:
    """A new topic, and a new share group that has begun to read the topic from its beginning."""

    def __init__(self, fixture: Fixture, partitions: int = 1) -> None:
        self.fixture = fixture
        self.connection = fixture.connection
        needs_share_groups(self.connection)
        self.topic = fixture.name
        self.topic_id = self.connection.create_topic(self.topic, partitions)
        self.group = fixture.group()
        fixture.set_group(self.group, "share.auto.offset.reset", "earliest")
        self.partitions = partitions

    def member(self, connection: RawConnection | None = None) -> RawShareMember:
        """A member of the share group that has begun to read, on a connection of its own."""
        at = self.fixture.second() if connection is None else connection
        return RawShareMember(at, self.group, self.topic, self.topic_id).begin(range(self.partitions))

    def produce(self, *values: bytes) -> None:
        same(self.connection.produce(self.topic, batch(*values)).error, Error.NONE)


# --- acquiring


@check("KIP-932")
def a_record_is_acquired_by_one_member_at_a_time(fixture: Fixture) -> None:
    queue = Queue(fixture)
    one, two = queue.member(), queue.member()
    queue.produce(b"a", b"b")
    found = one.fetch()
    same((found.acquired, found.values), ([(0, 1, 1)], {0: b"a", 1: b"b"}))
    two.finds_nothing()
    queue.produce(b"c")
    same(two.fetch().acquired, [(2, 2, 1)])


@check("KIP-932")
def a_batch_is_acquired_whole_unless_the_limit_is_strict(fixture: Fixture) -> None:
    """KIP-1206: in the acquire mode record_limit the number of records is exact."""
    queue = Queue(fixture)
    one, two = queue.member(), queue.member()
    queue.produce(b"a", b"b", b"c")
    same(one.fetch(max_records=1, acquire_mode=RECORD_LIMIT).acquired, [(0, 0, 1)])
    same(two.fetch(max_records=1).acquired, [(1, 2, 1)])


@check("KIP-932")
def members_share_the_partitions_of_a_topic(fixture: Fixture) -> None:
    """With more members than partitions, a partition has several members."""
    queue = Queue(fixture)
    one, two = queue.member(), queue.member()
    (described,) = queue.connection.ask(ShareGroupDescribeRequest(group_ids=[queue.group]), 1).groups
    same((described.error_code, described.group_state, described.assignor_name), (0, "Stable", "simple"))
    assigned = {
        member.member_id: [part for topic in member.assignment.topic_partitions for part in topic.partitions]
        for member in described.members
    }
    same(assigned, {one.id: [0], two.id: [0]})


@check("KIP-932", assumes="share.partition.max.record.locks is 2000")
def a_hundred_thousand_records_are_in_flight_and_no_partition_exceeds_its_limit(fixture: Fixture) -> None:
    """A member acquires exactly 2,000 of the 2,500 records in each of 50 partitions: batches are acquired whole, and
    the limit is a whole number of batches."""
    partitions, records, limit = 50, 2500, 2000
    queue = Queue(fixture, partitions)
    member = queue.member()
    data = batch(*[b"x"] * (records // 5))
    for _ in range(5):
        answer = queue.connection.produce_all({(queue.topic, index): data for index in range(partitions)})
        same({found.error for found in answer.values()}, {0})
    held = dict.fromkeys(range(partitions), 0)

    def full() -> bool:
        error, found = member.fetch_once(range(partitions), max_records=10_000)
        same(error, Error.NONE)
        for index, part in found.items():
            same(part.error, Error.NONE)
            held[index] += sum(last - first + 1 for first, last, _ in part.acquired)
        return all(count >= limit for count in held.values())

    eventually(full)
    same(set(held.values()), {limit})
    error, found = member.fetch_once(range(partitions), max_records=10_000)
    same((error, [part.acquired for part in found.values() if part.acquired]), (0, []))
    error, codes = member.acknowledge_once({index: [(0, limit - 1, [ACCEPT])] for index in range(partitions)})
    same((error, set(codes.values())), (0, {0}))
    error, found = member.fetch_once(range(partitions), max_records=10_000)
    same(error, Error.NONE)
    holds(any(part.acquired for part in found.values()), "once records are acknowledged, others are acquired")


# --- acknowledging


@check("KIP-932")
def a_released_record_comes_again_and_accepted_and_rejected_ones_do_not(fixture: Fixture) -> None:
    queue = Queue(fixture)
    member = queue.member()
    queue.produce(b"accepted", b"released", b"rejected", b"gap")
    same(member.fetch().acquired, [(0, 3, 1)])
    same(member.acknowledge(0, 3, ACCEPT, RELEASE, REJECT, GAP), Error.NONE)
    found = member.fetch()
    same((found.acquired, found.values), ([(1, 1, 2)], {1: b"released"}))
    same(member.acknowledge(1, 1, ACCEPT), Error.NONE)
    member.finds_nothing()


@check("KIP-932")
def acknowledgements_ride_on_a_fetch(fixture: Fixture) -> None:
    queue = Queue(fixture)
    member = queue.member()
    queue.produce(b"a")
    same(member.fetch().acquired, [(0, 0, 1)])
    queue.produce(b"b")
    error, found = member.fetch_once(acks={0: [(0, 0, [RELEASE])]})
    same((error, found[0].error, found[0].acknowledge_error), (0, 0, 0))
    acquired = list(found[0].acquired)
    while sum(last - first + 1 for first, last, _ in acquired) < 2:
        acquired += member.fetch().acquired
    same(sorted(acquired), [(0, 0, 2), (1, 1, 1)])


_REFUSED: Mapping[str, tuple[Acks, Error]] = {
    "past the end": ([(0, 9, [ACCEPT])], INVALID_REQUEST),
    "not acquired": ([(7, 8, [ACCEPT])], INVALID_REQUEST),
    "overlapping": ([(0, 1, [ACCEPT]), (0, 2, [ACCEPT])], INVALID_REQUEST),
    "overlapping by one": ([(0, 1, [ACCEPT]), (1, 2, [ACCEPT])], INVALID_STATE),
    "twice": ([(0, 0, [ACCEPT]), (0, 0, [ACCEPT])], INVALID_STATE),
    "out of order": ([(2, 2, [ACCEPT]), (0, 1, [ACCEPT])], INVALID_REQUEST),
    "backwards": ([(2, 1, [ACCEPT])], INVALID_REQUEST),
    "without a type": ([(0, 2, [])], INVALID_REQUEST),
    "two types for three": ([(0, 2, [ACCEPT, ACCEPT])], INVALID_REQUEST),
    "an unknown type": ([(0, 2, [9])], INVALID_REQUEST),
    "a negative type": ([(0, 2, [-1])], INVALID_REQUEST),
    "a renewal in a request that renews nothing": ([(0, 2, [RENEW])], INVALID_REQUEST),
}


@check("KIP-932")
@each("acks", values=_REFUSED)
def acknowledgements_that_are_refused_change_nothing(fixture: Fixture, acks: str) -> None:
    given, error = _REFUSED[acks]
    queue = Queue(fixture)
    member = queue.member()
    queue.produce(b"a", b"b", b"c")
    same(member.fetch().acquired, [(0, 2, 1)])
    same(member.acknowledge_once({0: given}), (0, {0: error}))
    same(member.acknowledge(0, 2, ACCEPT), Error.NONE)
    member.finds_nothing()


@check("KIP-932")
def one_wrong_batch_refuses_all_of_a_partition(fixture: Fixture) -> None:
    queue = Queue(fixture)
    member = queue.member()
    queue.produce(b"a", b"b", b"c", b"d")
    same(member.fetch().acquired, [(0, 3, 1)])
    same(member.acknowledge(1, 1, ACCEPT), Error.NONE)
    same(member.acknowledge_once({0: [(0, 0, [ACCEPT]), (1, 2, [ACCEPT])]}), (0, {0: INVALID_STATE}))
    same(member.acknowledge_once({0: [(0, 0, [ACCEPT]), (2, 3, [ACCEPT])]}), (0, {0: Error.NONE}))


@check("KIP-932")
def a_record_is_acknowledged_once(fixture: Fixture) -> None:
    queue = Queue(fixture)
    member = queue.member()
    queue.produce(b"a", b"b")
    same(member.fetch().acquired, [(0, 1, 1)])
    same(member.acknowledge(1, 1, ACCEPT), Error.NONE)
    same(member.acknowledge(1, 1, ACCEPT), INVALID_STATE)
    same(member.acknowledge(1, 1, RELEASE), INVALID_STATE)
    same(member.acknowledge(0, 0, ACCEPT), Error.NONE)


@check("KIP-932")
def only_its_owner_acknowledges_a_record(fixture: Fixture) -> None:
    queue = Queue(fixture)
    one, two = queue.member(), queue.member()
    queue.produce(b"a")
    same(one.fetch().acquired, [(0, 0, 1)])
    same(two.acknowledge(0, 0, ACCEPT), INVALID_STATE)
    same(one.acknowledge(0, 0, ACCEPT), Error.NONE)


@check("KIP-932")
def a_lock_can_be_renewed(fixture: Fixture) -> None:
    """KIP-1222: a ShareAcknowledge that announces renewals extends an acquisition lock; a ShareFetch that announces
    renewals and also fetches is refused with INVALID_REQUEST."""
    queue = Queue(fixture)
    one, two = queue.member(), queue.member()
    queue.produce(b"a")
    same(one.fetch().acquired, [(0, 0, 1)])
    same(one.acknowledge_once({0: [(0, 0, [RENEW])]}, renews=True), (0, {0: Error.NONE}))
    two.finds_nothing()
    same(one.fetch_once(acks={0: [(0, 0, [RENEW])]}, renews=True)[0], INVALID_REQUEST)
    same(one.acknowledge(0, 0, ACCEPT), Error.NONE)


@check("KIP-932", assumes="group.share.delivery.count.limit is 5")
def a_record_is_given_up_after_its_last_delivery(fixture: Fixture) -> None:
    queue = Queue(fixture)
    member = queue.member()
    queue.produce(b"poison")
    for count in range(1, 6):
        same(member.fetch().acquired, [(0, 0, count)])
        same(member.acknowledge(0, 0, RELEASE), Error.NONE)
    queue.produce(b"next")
    same(member.fetch().acquired, [(1, 1, 1)])


@check("KIP-932")
def topics_and_partitions_that_do_not_exist(fixture: Fixture) -> None:
    queue = Queue(fixture)
    member = queue.member()
    error, found = member.fetch_once([0, 7])
    same((error, found[7].error), (0, Error.UNKNOWN_TOPIC_OR_PARTITION))
    same(member.acknowledge_once({7: [(0, 0, [ACCEPT])]}), (0, {7: Error.UNKNOWN_TOPIC_OR_PARTITION}))
    member.topic_id = bytes(15) + b"\1"
    error, found = member.fetch_once([0])
    if fixture.connection.is_since("4.4"):
        same((error, found[0].error), (0, Error.UNKNOWN_TOPIC_ID))
    else:  # Apache Kafka before 4.4 refuses the whole request
        same((error, found), (Error.UNKNOWN_SERVER_ERROR, {}))


# --- sessions


@check("KIP-932")
def a_session_goes_on_epoch_by_epoch(fixture: Fixture) -> None:
    queue = Queue(fixture)
    member = queue.member()
    same(member.session_epoch, 1)
    for wrong in (2, 3, 2**31 - 1):
        same(member.fetch_once(epoch=wrong)[0], INVALID_EPOCH)
        same(member.acknowledge_once({0: [(0, 0, [ACCEPT])]}, epoch=wrong)[0], INVALID_EPOCH)
    member.finds_nothing()
    same(member.fetch_once(epoch=1)[0], INVALID_EPOCH)
    same(member.acknowledge_once({0: [(0, 0, [ACCEPT])]}, epoch=0)[0], INVALID_EPOCH)
    same(member.fetch_once(epoch=0)[0], Error.NONE)
    same(member.session_epoch, 1)


@check("KIP-932")
def requests_without_a_session_are_refused(fixture: Fixture) -> None:
    queue = Queue(fixture)
    member = queue.member()
    member.id = "00000000-0000-0000-0000-000000000000"
    same(member.fetch_once(epoch=1)[0], NO_SESSION)
    same(member.fetch_once(epoch=FINAL_EPOCH)[0], NO_SESSION)
    same(member.acknowledge_once({0: [(0, 0, [ACCEPT])]}, epoch=1)[0], NO_SESSION)
    same(member.acknowledge_once({0: [(0, 0, [ACCEPT])]}, epoch=FINAL_EPOCH)[0], NO_SESSION)


@check("KIP-932")
def a_new_session_carries_no_acknowledgements(fixture: Fixture) -> None:
    queue = Queue(fixture)
    member = queue.member()
    same(member.fetch_once(epoch=0, acks={0: [(0, 0, [ACCEPT])]})[0], INVALID_REQUEST)


@check("KIP-932")
@each("by", values=["ShareFetch", "ShareAcknowledge"])
def the_last_request_of_a_session_releases_what_is_left(fixture: Fixture, by: str) -> None:
    queue = Queue(fixture)
    one, two = queue.member(), queue.member()
    queue.produce(b"accepted", b"left")
    same(one.fetch().acquired, [(0, 1, 1)])
    acks = {0: [(0, 0, [ACCEPT])]}
    if by == "ShareFetch":
        error, found = one.fetch_once(acks=acks, epoch=FINAL_EPOCH, max_records=0, wait_ms=0)
        same((error, found[0].acknowledge_error), (0, 0))
    else:
        same(one.acknowledge_once(acks, epoch=FINAL_EPOCH), (0, {0: Error.NONE}))
    found_again = two.fetch()
    same((found_again.acquired, found_again.values), ([(1, 1, 2)], {1: b"left"}))
    same(one.fetch_once(epoch=one.session_epoch + 1)[0], NO_SESSION)


@check("KIP-932")
def a_member_that_dies_in_the_middle_of_a_batch_releases_the_rest(fixture: Fixture) -> None:
    """When a member's connection ends, other members can acquire its records without waiting for the acquisition locks
    to expire."""
    queue = Queue(fixture)
    two = queue.member()
    dying = queue.connection.another()
    one = queue.member(dying)
    queue.produce(b"a", b"b", b"c", b"d")
    same(one.fetch().acquired, [(0, 3, 1)])
    same(one.acknowledge(1, 1, ACCEPT), Error.NONE)
    dying.close()
    acquired: list[tuple[int, int, int]] = []

    def all_of_it() -> bool:
        acquired.extend(two.fetch().acquired)
        return sum(last - first + 1 for first, last, _ in acquired) >= 3

    eventually(all_of_it)
    same(sorted(acquired), [(0, 0, 2), (2, 3, 2)])


@check("KIP-932")
@each("group", "member", values=[(None, "m"), ("g", ""), ("g", None)])
def requests_without_a_group_or_member_are_refused(fixture: Fixture, group: str | None, member: str | None) -> None:
    queue = Queue(fixture)
    asking = queue.member()
    given: Any = asking
    given.group, given.id = group, member
    same(asking.fetch_once(epoch=0)[0], INVALID_REQUEST)
    same(asking.acknowledge_once({0: [(0, 0, [ACCEPT])]}, epoch=1)[0], INVALID_REQUEST)


# --- transactions


@check("KIP-932")
def a_read_uncommitted_group_sees_records_of_every_outcome_and_no_markers(fixture: Fixture) -> None:
    queue = Queue(fixture)
    member = queue.member()
    producer = RawTransactionalProducer(queue.connection, fixture.on_this_node(f"{fixture.name}-id")).init()
    for value, commits in ((b"aborted", False), (b"committed", True)):
        producer.send(queue.topic, value)
        producer.end(commit=commits)
    producer.send(queue.topic, b"open")
    same(member.values(3), {0: b"aborted", 2: b"committed", 4: b"open"})
    producer.abort()
    member.finds_no_record()


@check("KIP-932")
def a_read_committed_group_waits_for_open_transactions_and_skips_aborted_records(fixture: Fixture) -> None:
    queue = Queue(fixture)
    fixture.set_group(queue.group, "share.isolation.level", "read_committed")
    member = queue.member()
    ids = [fixture.on_this_node(f"{fixture.name}-{part}") for part in "ab"]
    ends, open_one = (RawTransactionalProducer(queue.connection, name).init() for name in ids)
    ends.send(queue.topic, b"aborted")
    ends.abort()
    ends.send(queue.topic, b"committed")
    ends.commit()
    open_one.send(queue.topic, b"open")
    queue.produce(b"behind")
    same(member.values(1), {2: b"committed"})
    member.finds_no_record()
    open_one.abort()
    same(member.values(1), {5: b"behind"})
    member.finds_no_record()


# --- groups of another kind


@check("KIP-932")
def a_share_group_is_no_consumer_group(fixture: Fixture) -> None:
    queue = Queue(fixture)
    member = queue.member()
    connection = queue.connection
    classic = Member(connection, queue.group)
    same(classic.join_once().error_code, Error.INCONSISTENT_GROUP_PROTOCOL)
    heartbeat = ConsumerGroupHeartbeatRequest(
        group_id=queue.group,
        member_id=member.id,
        member_epoch=0,
        rebalance_timeout_ms=30_000,
        subscribed_topic_names=[queue.topic],
        topic_partitions=[],
    )
    same(connection.ask(heartbeat, 1).error_code, Error.GROUP_ID_NOT_FOUND)
    same(commit(connection, queue.group, {(queue.topic, 0): 1}, 9), [Error.GROUP_ID_NOT_FOUND])
    same(fetch_offsets(connection, queue.group, None, version=8), (0, {}))
    same(describe_group(connection, queue.group, 6).error_code, Error.GROUP_ID_NOT_FOUND)
    listed = connection.ask(ListGroupsRequest(types_filter=["share"]), 5).groups
    same([found.group_type for found in listed if found.group_id == queue.group], ["share"])


@check("KIP-932")
def a_consumer_group_is_no_share_group(fixture: Fixture) -> None:
    needs_share_groups(fixture.connection)
    topic_id = fixture.connection.create_topic(fixture.name)
    group = fixture.group()
    stable_alone(fixture.connection, group)
    member = RawShareMember(fixture.connection, group, fixture.name, topic_id)
    same(member.beat_once().error_code, Error.GROUP_ID_NOT_FOUND)
    (described,) = fixture.connection.ask(ShareGroupDescribeRequest(group_ids=[group]), 1).groups
    same(described.error_code, Error.GROUP_ID_NOT_FOUND)
    same(_described(fixture.connection, group), (0, {}))
    asked = [describe.DescribeShareGroupOffsetsRequestTopic(fixture.name, [0])]
    same(_described(fixture.connection, group, asked), (0, {0: (-1, -1)}))
    same(_altered(fixture.connection, group, fixture.name, {0: 1})[0], Error.GROUP_ID_NOT_FOUND)


# --- heartbeats


_HEARTBEATS: Mapping[str, tuple[dict[str, Any], Error]] = {
    "no group": ({"group_id": ""}, INVALID_REQUEST),
    "no member": ({"member_id": ""}, INVALID_REQUEST),
    "joins without topics": ({"member_epoch": 0, "subscribed_topic_names": None}, INVALID_REQUEST),
    "joins with an empty list of topics": ({"member_epoch": 0, "subscribed_topic_names": []}, INVALID_REQUEST),
    "an epoch below -1": ({"member_epoch": -2}, INVALID_REQUEST),
    "an epoch that is too high": ({"member_epoch": 1000}, Error.FENCED_MEMBER_EPOCH),
    "an unknown member": ({"member_id": "unknown"}, Error.UNKNOWN_MEMBER_ID),
    "an unknown member that leaves": ({"member_id": "unknown", "member_epoch": -1}, Error.UNKNOWN_MEMBER_ID),
}


@check("KIP-932")
@each("heartbeat", values=_HEARTBEATS)
def share_heartbeats_that_are_refused(fixture: Fixture, heartbeat: str) -> None:
    changes, error = _HEARTBEATS[heartbeat]
    member = Queue(fixture).member()
    same(member.beat_once(**changes).error_code, error)


@check("KIP-932")
def a_member_that_leaves_is_gone(fixture: Fixture) -> None:
    queue = Queue(fixture)
    one, two = queue.member(), queue.member()
    same(one.leave(), Error.NONE)
    (described,) = queue.connection.ask(ShareGroupDescribeRequest(group_ids=[queue.group]), 1).groups
    same([member.member_id for member in described.members], [two.id])
    same(one.beat_once().error_code, Error.UNKNOWN_MEMBER_ID)


# --- offsets


def _described(connection: RawConnection, group: str, topics: Any = None) -> tuple[int, dict[int, tuple[int, int]]]:
    """Send DescribeShareGroupOffsets; returns the group's error, and the start offset and lag of each partition of one
    topic."""
    asked = describe.DescribeShareGroupOffsetsRequestGroup(group, topics)
    request = describe.DescribeShareGroupOffsetsRequest([asked])
    version = connection.best(request.API_KEY, 1)
    answer = connection.ask_until(request, version, lambda found: found.groups[0].error_code not in LOADING)
    (found,) = answer.groups
    return found.error_code, {
        part.partition_index: (part.start_offset, part.lag if version >= 1 else -1)
        for topic in found.topics
        for part in topic.partitions
    }


@check("KIP-932")
def the_lag_counts_what_is_not_delivered_for_good(fixture: Fixture) -> None:
    """KIP-1226: the lag leaves out records after the start offset that have already been accepted or rejected."""
    queue = Queue(fixture)
    member = queue.member()
    queue.produce(b"a", b"b", b"c", b"d")
    same(member.fetch().acquired, [(0, 3, 1)])
    same(member.acknowledge(1, 2, ACCEPT, REJECT), Error.NONE)
    eventually(lambda: _described(queue.connection, queue.group)[1] == {0: (0, 2)})


def _altered(connection: RawConnection, group: str, topic: str, offsets: dict[int, int]) -> tuple[int, list[int]]:
    parts = [alter.AlterShareGroupOffsetsRequestPartition(index, offset) for index, offset in offsets.items()]
    request = alter.AlterShareGroupOffsetsRequest(group, [alter.AlterShareGroupOffsetsRequestTopic(topic, parts)])
    answer = connection.ask(request, 0)
    return answer.error_code, [part.error_code for found in answer.responses for part in found.partitions]


@check("KIP-932")
def offsets_are_altered_once_the_group_is_empty(fixture: Fixture) -> None:
    queue = Queue(fixture)
    ending = queue.connection.another()
    member = queue.member(ending)
    queue.produce(b"a", b"b", b"c")
    same(member.fetch().acquired, [(0, 2, 1)])
    same(member.acknowledge(0, 2, ACCEPT), Error.NONE)
    connection, group = queue.connection, queue.group
    same(_altered(connection, group, queue.topic, {0: 1})[0], Error.NON_EMPTY_GROUP)
    member.end()
    ending.close()
    same(_altered(connection, group, queue.topic, {0: 1}), (0, [0]))
    same(_altered(connection, group, queue.topic, {5: 1}), (0, [Error.UNKNOWN_TOPIC_OR_PARTITION]))
    same(_described(connection, group)[1][0][0], 1)
    again = RawShareMember(fixture.second(), group, queue.topic, queue.topic_id).join().fetch(epoch=0)
    same((again.acquired, again.values), ([(1, 2, 1)], {1: b"b", 2: b"c"}))


@check("KIP-932")
def offsets_are_deleted_once_the_group_is_empty(fixture: Fixture) -> None:
    queue = Queue(fixture)
    member = queue.member()
    topics = [delete.DeleteShareGroupOffsetsRequestTopic(queue.topic)]
    request = delete.DeleteShareGroupOffsetsRequest(queue.group, topics)
    same(queue.connection.ask(request, 0).error_code, Error.NON_EMPTY_GROUP)
    member.end()
    answer = queue.connection.ask(request, 0)
    same((answer.error_code, [topic.error_code for topic in answer.responses]), (0, [0]))
    same(_described(queue.connection, queue.group), (0, {}))
