"""What share groups answer to requests of every kind, in order and out of order, on both brokers (KIP-932)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from oncelog.apps.conformance.expect import eventually
from oncelog.errors import NONE, Error
from oncelog.protocol.generated import alter_share_group_offsets_request as altering
from oncelog.protocol.generated import delete_share_group_offsets_request as deleting
from oncelog.protocol.generated import describe_share_group_offsets_request as describing
from oncelog.protocol.generated.alter_share_group_offsets_request import AlterShareGroupOffsetsRequest
from oncelog.protocol.generated.delete_groups_request import DeleteGroupsRequest
from oncelog.protocol.generated.delete_share_group_offsets_request import DeleteShareGroupOffsetsRequest
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from oncelog.protocol.generated.describe_share_group_offsets_request import DescribeShareGroupOffsetsRequest
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.protocol.generated.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from oncelog.protocol.generated.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.conftest import RunningBroker
from tests.support.both_brokers import KAFKA_IN_SOAK
from tests.support.share_members import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    Fetched,
    ShareMember,
    ShareTopic,
)

pytestmark = [pytest.mark.kafka, KAFKA_IN_SOAK]
_numbers = itertools.count()
NewTopic = Callable[..., ShareTopic]
NOTHING = -1, -1
"""Start offset and lag of a partition of which nothing is stored."""


@pytest.fixture
def new_topic(broker: RunningBroker, unique_name: str) -> NewTopic:
    def made(*sizes: int, **settings: str) -> ShareTopic:
        """A topic with batches of so many records."""
        topic = ShareTopic(broker.bootstrap_servers, f"{unique_name}-{next(_numbers)}", **settings)
        topic.produce(*sizes)
        return topic

    return made


def offsets(topic: ShareTopic, name: str | None = None, partition: int = 0) -> tuple[int, int]:
    """Start offset and lag of a partition."""
    asked = describing.DescribeShareGroupOffsetsRequestTopic(name or topic.name, [partition])
    request = DescribeShareGroupOffsetsRequest([describing.DescribeShareGroupOffsetsRequestGroup(topic.name, [asked])])
    (group,) = topic.client.ask(request, 1).groups
    ((found,),) = [each.partitions for each in group.topics]
    assert (group.error_code, found.error_code) == (0, 0)
    return found.start_offset, found.lag


def all_offsets(topic: ShareTopic) -> list[tuple[str, int]]:
    request = DescribeShareGroupOffsetsRequest([describing.DescribeShareGroupOffsetsRequestGroup(topic.name, None)])
    (group,) = topic.client.ask(request, 1).groups
    assert group.error_code == 0
    return [(each.topic_name, part.start_offset) for each in group.topics for part in each.partitions]


def alter(topic: ShareTopic, offset: int, name: str | None = None, partition: int = 0) -> tuple[Error, Error | None]:
    """The error of the request, and of the partition."""
    place = altering.AlterShareGroupOffsetsRequestPartition(partition, offset)
    asked = altering.AlterShareGroupOffsetsRequestTopic(name or topic.name, [place])
    answer = topic.client.ask(AlterShareGroupOffsetsRequest(topic.name, [asked]), 0)
    codes = [part.error_code for each in answer.responses for part in each.partitions]
    return Error(answer.error_code), Error(codes[0]) if codes else None


def delete(topic: ShareTopic, name: str | None = None) -> tuple[Error, Error | None]:
    asked = deleting.DeleteShareGroupOffsetsRequestTopic(name or topic.name)
    answer = topic.client.ask(DeleteShareGroupOffsetsRequest(topic.name, [asked]), 0)
    return Error(answer.error_code), Error(answer.responses[0].error_code) if answer.responses else None


def delete_group(topic: ShareTopic) -> Error:
    return Error(topic.client.ask(DeleteGroupsRequest([topic.name]), 2).results[0].error_code)


def begins_at(topic: ShareTopic) -> int:
    """The first record that a new member gets and gives back; Apache Kafka's leader learns of changes with delay."""
    member = ShareMember(topic, f"m{next(_numbers)}")
    (first, *_), *_ = member.acquired()
    assert member.say(epoch=-1) is NONE
    member.leave()
    return first


# --- sessions


def test_a_share_session_refuses_an_epoch_out_of_order(new_topic: NewTopic) -> None:
    member = ShareMember(new_topic(10), "m")
    assert member.say((0, 0, [ACCEPT]), epoch=1) is Error.SHARE_SESSION_NOT_FOUND
    assert member.say((0, 0, [ACCEPT]), epoch=0) is Error.INVALID_SHARE_SESSION_EPOCH
    assert member.say(epoch=-1) is Error.SHARE_SESSION_NOT_FOUND
    assert member.fetch(epoch=3) is Error.SHARE_SESSION_NOT_FOUND
    assert member.fetch(answers=[(0, 0, [ACCEPT])]) is Error.INVALID_REQUEST, "there is no session to acknowledge in"
    assert member.acquired(2) == [(0, 1, 1)]
    assert member.fetch(epoch=5) is Error.INVALID_SHARE_SESSION_EPOCH
    assert member.fetch(epoch=-2) is Error.INVALID_SHARE_SESSION_EPOCH
    assert member.acquired(2, epoch=0) == [(2, 3, 1)], "a new session instead; what was acquired stays so"
    assert member.say((0, 0, [ACCEPT]), epoch=9) is Error.INVALID_SHARE_SESSION_EPOCH
    assert member.say((0, 3, [ACCEPT])) is NONE


@pytest.mark.parametrize("ends", ["says so", "is cut off"])
def test_records_of_a_share_member_whose_session_ends_are_delivered_to_others(new_topic: NewTopic, ends: str) -> None:
    topic = new_topic(10)
    member = ShareMember(topic, "m")
    assert member.acquired(5) == [(0, 4, 1)]
    if ends == "says so":
        assert member.say((0, 0, [ACCEPT]), epoch=-1) is NONE
    else:
        member.disconnect()
    other = ShareMember(topic, "other")
    first = 1 if ends == "says so" else 0
    eventually(lambda: other.acquired() == [(first, 4, 2), (5, 9, 1)])


def test_a_member_may_leave_its_group_first_and_acknowledge_afterwards(new_topic: NewTopic) -> None:
    topic = new_topic(10)
    member = ShareMember(topic, "m")
    assert member.acquired() == [(0, 9, 1)]
    member.leave()
    assert member.say((0, 4, [ACCEPT]), epoch=-1) is NONE
    assert ShareMember(topic, "other").acquired() == [(5, 9, 2)]


def test_share_fetch_needs_a_share_partition_but_no_membership(new_topic: NewTopic) -> None:
    topic = new_topic(10)
    ShareMember(topic, "m")
    stranger = ShareMember(topic, "stranger", joins=False)
    assert stranger.acquired() == [(0, 9, 1)]
    assert stranger.say((0, 9, [ACCEPT])) is NONE


# --- acknowledgements


@pytest.mark.parametrize(
    "batches",
    [
        [(5, 3, [ACCEPT])],
        [(0, 2, [])],
        [(0, 2, [ACCEPT, ACCEPT])],
        [(0, 2, [9])],
        [(0, 2, [-1])],
        [(0, 2, [RENEW])],
        [(0, 4, [ACCEPT]), (3, 6, [ACCEPT])],
        [(3, 4, [ACCEPT]), (0, 1, [ACCEPT])],
        [(100, 101, [ACCEPT])],
    ],
    ids=[
        "backwards", "no type", "too few types", "unknown type", "no such type", "renewal unannounced", "overlap",
        "out of order", "past the end",
    ],
)  # fmt: skip
def test_an_invalid_acknowledgement_changes_nothing(
    new_topic: NewTopic, batches: list[tuple[int, int, list[int]]]
) -> None:
    member = ShareMember(new_topic(20), "m")
    assert member.acquired(10) == [(0, 9, 1)]
    assert member.say(*batches) is Error.INVALID_REQUEST
    found = member.fetch(1, answers=batches)
    assert found == Fetched([(10, 10, 1)], Error.INVALID_REQUEST), "the fetch itself is carried out"
    assert member.say((0, 10, [ACCEPT])) is NONE


def test_acknowledgements_of_a_partition_all_apply_or_none_does(new_topic: NewTopic) -> None:
    topic = new_topic(20)
    member, other = ShareMember(topic, "m"), ShareMember(topic, "other")
    assert member.acquired(5) == [(0, 4, 1)]
    assert other.acquired(5) == [(5, 9, 1)]
    assert member.say((0, 1, [ACCEPT]), (4, 6, [ACCEPT])) is Error.INVALID_RECORD_STATE, "5 and 6 are another's"
    assert other.say((5, 6, [RELEASE]), (8, 9, [REJECT])) is NONE
    assert other.say((5, 6, [ACCEPT])) is Error.INVALID_RECORD_STATE, "they were given up"
    assert member.say((0, 4, [ACCEPT])) is NONE
    assert member.say((0, 4, [ACCEPT])) is NONE, "what is before the start is done, whoever says so"
    assert member.acquired() == [(5, 6, 2), (10, 19, 1)]
    assert member.say((0, 1, [ACCEPT]), partition=7) is Error.UNKNOWN_TOPIC_OR_PARTITION


def test_each_record_of_a_batch_has_its_own_outcome(new_topic: NewTopic) -> None:
    member = ShareMember(new_topic(6), "m")
    assert member.acquired() == [(0, 5, 1)]
    assert member.say((0, 5, [ACCEPT, GAP, RELEASE, REJECT, GAP, RELEASE])) is NONE
    assert member.acquired() == [(2, 2, 2), (5, 5, 2)]


def test_a_share_fetch_that_renews_locks_says_so_and_fetches_no_records(new_topic: NewTopic) -> None:
    member = ShareMember(new_topic(6), "m")
    assert member.acquired(3) == [(0, 2, 1)]
    assert member.fetch(answers=[(0, 2, [RENEW])], renews=True) is Error.INVALID_REQUEST
    assert member.say((0, 2, [RENEW, ACCEPT, RENEW]), renews=True) is NONE
    assert member.say((0, 0, [ACCEPT]), (2, 2, [ACCEPT])) is NONE
    assert member.acquired() == [(3, 5, 1)]


def test_a_group_may_forbid_renewals(new_topic: NewTopic) -> None:
    member = ShareMember(new_topic(2, renew_acknowledge_enable="false"), "m")
    assert member.acquired() == [(0, 1, 1)]
    assert member.say((0, 1, [RENEW, ACCEPT]), renews=True) is Error.INVALID_RECORD_STATE
    assert member.say((0, 1, [ACCEPT])) is NONE


# --- deliveries


def test_without_a_strict_record_limit_a_share_fetch_delivers_a_whole_batch(new_topic: NewTopic) -> None:
    member = ShareMember(new_topic(5, 5), "m")
    assert member.acquired(3, strict=False) == [(0, 4, 1)]
    assert member.say((2, 4, [RELEASE])) is NONE
    assert member.acquired(2) == [(2, 3, 2)]
    assert member.acquired(1, strict=False) == [(4, 4, 2)]
    assert member.acquired(1, strict=False) == [(5, 9, 1)]


def test_released_records_are_delivered_before_new_records(new_topic: NewTopic) -> None:
    member = ShareMember(new_topic(*[1] * 6), "m")
    assert member.acquired(4) == [(0, 3, 1)]
    assert member.say((1, 1, [RELEASE])) is NONE
    assert member.acquired(1) == [(1, 1, 2)]
    assert member.acquired() == [(4, 5, 1)]


def test_a_batch_that_fails_again_and_again_is_delivered_in_ever_smaller_parts(new_topic: NewTopic) -> None:
    """From half of the limit on: half of the batch, a quarter, and so on; the last time each record comes alone."""
    member = ShareMember(new_topic(8), "m")
    seen: list[tuple[int, int, int]] = []
    while found := member.acquired(strict=False):
        seen += found
        assert member.say(*((first, last, [RELEASE]) for first, last, _ in found)) is NONE
    alone = [(offset, offset, 5) for offset in range(8)]
    assert seen == [(0, 7, 1), (0, 7, 2), (0, 7, 3), (0, 3, 4), *alone[:4], (4, 7, 4), *alone[4:]]


def test_no_more_records_are_in_flight_than_the_group_allows(new_topic: NewTopic) -> None:
    topic = new_topic(*[1] * 150, partition_max_record_locks="100")
    member, other = ShareMember(topic, "m"), ShareMember(topic, "other")
    assert member.acquired() == [(0, 99, 1)]
    assert other.acquired() == []
    assert member.say((1, 99, [ACCEPT])) is NONE
    assert other.acquired() == [], "they are behind one that is not done"
    assert member.say((0, 0, [ACCEPT])) is NONE
    assert other.acquired(20) == [(100, 119, 1)]


def test_records_of_a_batch_beyond_the_lock_limit_are_available_to_other_members(new_topic: NewTopic) -> None:
    """Whatever the limit of locks: it holds back batches that were not read yet."""
    topic = new_topic(150, 5, partition_max_record_locks="100")
    member, other = ShareMember(topic, "m"), ShareMember(topic, "other")
    assert member.acquired() == [(0, 99, 1)]
    assert member.say((100, 100, [ACCEPT])) is Error.INVALID_RECORD_STATE, "it is nobody's"
    assert other.acquired() == [(100, 149, 1)]
    assert member.acquired() == []


def test_a_share_fetch_with_acknowledgements_waits_for_records_too(new_topic: NewTopic) -> None:
    topic = new_topic(1)
    member = ShareMember(topic, "m")
    assert member.acquired() == [(0, 0, 1)]
    with ThreadPoolExecutor(1) as pool:
        fetched = pool.submit(member.fetch, answers=[(0, 0, [ACCEPT])], wait_ms=60_000)
        topic.produce(1)
        assert fetched.result() == Fetched([(1, 1, 1)], NONE)


def test_a_lower_delivery_limit_applies_from_the_next_release_on(new_topic: NewTopic) -> None:
    member = ShareMember(new_topic(1, delivery_count_limit="2"), "m")
    for count in (1, 2):
        assert member.acquired() == [(0, 0, count)]
        assert member.say((0, 0, [RELEASE])) is NONE
    assert member.acquired() == []


# --- offsets


def test_the_start_offset_of_a_share_group_is_described(new_topic: NewTopic) -> None:
    topic = new_topic(20)
    assert (offsets(topic), all_offsets(topic)) == (NOTHING, []), "nobody knows the group"
    member = ShareMember(topic, "m")
    assert all_offsets(topic) == [(topic.name, -1)]
    assert member.acquired(10) == [(0, 9, 1)]
    assert offsets(topic) == NOTHING, "deliveries are not stored"
    assert member.say((0, 3, [ACCEPT]), (6, 7, [ACCEPT])) is NONE
    assert offsets(topic) == (0, 14)
    assert (offsets(topic, partition=5), offsets(topic, "nowhere")) == (NOTHING, NOTHING)
    assert alter(topic, 3) == (Error.NON_EMPTY_GROUP, None)
    assert delete(topic) == (Error.NON_EMPTY_GROUP, None)


def test_offsets_of_a_group_without_members_are_altered_and_deleted(new_topic: NewTopic) -> None:
    topic = new_topic(20)
    eventually(lambda: alter(topic, 20) == (NONE, NONE))  # the first group waits for the topic of all states
    assert alter(topic, 15) == (NONE, NONE), "the group is made"
    assert offsets(topic) == (15, 5)
    member = ShareMember(topic, "m")
    assert member.acquired() == [(15, 19, 1)]
    assert member.say((15, 16, [ACCEPT]), epoch=-1) is NONE
    member.leave()
    assert alter(topic, 3, "nowhere") == alter(topic, 3, partition=5) == (NONE, Error.UNKNOWN_TOPIC_OR_PARTITION)
    assert alter(topic, -1) == (NONE, NONE)
    assert offsets(topic) == NOTHING
    assert alter(topic, 18) == (NONE, NONE)
    assert delete(topic, "nowhere") == (NONE, Error.UNKNOWN_TOPIC_OR_PARTITION)
    assert delete(topic) == (NONE, NONE)
    assert (offsets(topic), all_offsets(topic)) == (NOTHING, [])
    assert delete(topic) == (NONE, Error.UNKNOWN_TOPIC_OR_PARTITION)
    eventually(lambda: begins_at(topic) == 0)


def test_a_deleted_share_group_leaves_no_state(new_topic: NewTopic) -> None:
    topic = new_topic(10)
    member = ShareMember(topic, "m")
    assert member.acquired(5) == [(0, 4, 1)]
    assert member.say((0, 4, [ACCEPT]), epoch=-1) is NONE
    assert delete_group(topic) is Error.NON_EMPTY_GROUP
    member.leave()
    assert delete_group(topic) is NONE
    assert delete_group(topic) is Error.GROUP_ID_NOT_FOUND
    assert (offsets(topic), all_offsets(topic)) == (NOTHING, [])


def test_a_deleted_topic_leaves_no_share_group_state(new_topic: NewTopic) -> None:
    topic = new_topic(10)
    member = ShareMember(topic, "m")
    assert member.acquired(5) == [(0, 4, 1)]
    (deleted,) = topic.client.ask(
        DeleteTopicsRequest(topics=[DeleteTopicState(topic.name)], timeout_ms=30_000), 6
    ).responses
    assert deleted.error_code == 0
    eventually(lambda: all_offsets(topic) == [])
    assert member.say((0, 4, [ACCEPT])) is Error.UNKNOWN_TOPIC_ID


def test_a_share_group_has_no_committed_offsets_of_a_consumer_group(new_topic: NewTopic) -> None:
    topic = new_topic(1)
    ShareMember(topic, "m").leave()
    places = [OffsetCommitRequestTopic(topic.name, partitions=[OffsetCommitRequestPartition(0, 1)])]
    answer = topic.client.ask(OffsetCommitRequest(topic.name, topics=places), 8)
    assert answer.topics[0].partitions[0].error_code == Error.GROUP_ID_NOT_FOUND
    for version, member, epoch in ((8, None, -1), (9, "someone", -1), (9, None, 3)):
        asked = OffsetFetchRequestGroup(topic.name, member, epoch, None)
        answer = topic.client.ask(OffsetFetchRequest(groups=[asked]), version)
        assert [(group.error_code, group.topics) for group in answer.groups] == [(0, [])]
    gone = [OffsetDeleteRequestTopic(topic.name, [OffsetDeleteRequestPartition(0)])]
    answer = topic.client.ask(OffsetDeleteRequest(topic.name, gone), 0)
    assert answer.error_code == Error.GROUP_ID_NOT_FOUND
