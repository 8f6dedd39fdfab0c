"""Checks of groups' offsets committed outside transactions, and of the descriptions of groups."""

from __future__ import annotations

from oncelog.apps.conformance.expect import holds, same
from oncelog.apps.conformance.fixture import Fixture
from oncelog.apps.conformance.raw.group_members import (
    Member,
    commit,
    committed,
    describe_group,
    fetch_offsets,
    stable_alone,
    until,
)
from oncelog.apps.conformance.registry import PROTOCOL, check, each
from oncelog.errors import Error
from oncelog.protocol.generated.delete_groups_request import DeleteGroupsRequest
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.list_groups_request import ListGroupsRequest
from oncelog.protocol.generated.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from oncelog.protocol.generated.offset_fetch_request import OffsetFetchRequest

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


@check(PROTOCOL)
@each("version", values=range(2, 10))
def offset_commit_in_every_version(fixture: Fixture, version: int) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    group = fixture.group()
    same(commit(connection, group, {(topic, 0): version}, version, metadata="meta"), [0])
    for fetch_version in connection.versions(OffsetFetchRequest.API_KEY, range(1, 10)):
        _, found = fetch_offsets(connection, group, [(topic, 0), (topic, 3)], version=fetch_version)
        same(found, {(topic, 0): (0, version, "meta"), (topic, 3): (0, -1, "")})


@check("KIP-1043")
def offset_commits_that_are_refused(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    group = fixture.group()
    offsets = {(topic, 0): 1}
    same(commit(connection, group, offsets, generation=3, member="m"), [ILLEGAL_GENERATION])
    if connection.is_since("4.0"):
        same(commit(connection, group, offsets, 9, generation=3, member="m"), [GROUP_NOT_FOUND])
    same(commit(connection, group, {(topic, 8): 1, (topic + "-missing", 0): 1}), [3, 3])
    member = stable_alone(connection, group)
    same(commit(connection, group, offsets), [UNKNOWN_MEMBER])
    same(member.commit(offsets, generation=0), [ILLEGAL_GENERATION])
    same(member.commit(offsets, member="someone"), [UNKNOWN_MEMBER])
    same(member.commit(offsets), [0])


@check(PROTOCOL)
def offset_commit_while_the_group_rebalances(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    group = fixture.group()
    second = fixture.second()
    one, two = Member(connection, group), Member(second, group)
    one.join()
    same(one.commit({(topic, 0): 1}), [REBALANCING])
    one.sync({one.id: b"x"})
    same(one.commit({(topic, 0): 2}), [0])
    two.identify()
    waiting = two.send_join()
    until(lambda: one.heartbeat() == REBALANCING)
    same(one.commit({(topic, 0): 3}), [0])
    one.join()
    two.receive_join(waiting)
    same(one.commit({(topic, 0): 4}, generation=1), [ILLEGAL_GENERATION])


@check(PROTOCOL)
def offsets_of_an_unknown_group(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    group = fixture.group()
    for version in connection.versions(OffsetFetchRequest.API_KEY, range(1, 10)):
        same(fetch_offsets(connection, group, [(topic, 0)], version=version), (0, {(topic, 0): (0, -1, "")}))
    same(fetch_offsets(connection, group, None), (0, {}))


@check("KIP-229")
def groups_are_listed_described_and_deleted(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    group = fixture.group()
    dead = describe_group(connection, group)
    same((dead.error_code, dead.group_state, dead.members), (0, "Dead", []))
    if connection.offers(DescribeGroupsRequest.API_KEY, 6):
        unknown = describe_group(connection, group, 6)
        same((unknown.error_code, unknown.group_state), (GROUP_NOT_FOUND, "Dead"))
    member = stable_alone(connection, group)
    member.commit({(topic, 0): 1})
    version = connection.best(ListGroupsRequest.API_KEY, 5)
    listed = {found.group_id: found for found in connection.ask(ListGroupsRequest(), version).groups}
    same((listed[group].group_state, listed[group].protocol_type), ("Stable", "consumer"))
    if version >= 5:
        same(listed[group].group_type, "classic")
    filtered = connection.ask(ListGroupsRequest(states_filter=["Empty"]), 4).groups
    holds(group not in {found.group_id for found in filtered}, "a filter of states leaves out groups of other states")

    def delete() -> int:
        code: int = connection.ask(DeleteGroupsRequest(groups_names=[group]), 2).results[0].error_code
        return code

    same(delete(), NON_EMPTY)
    member.leave()
    same(delete(), 0)
    same(delete(), GROUP_NOT_FOUND)
    same(committed(connection, group, topic), -1)


@check("KIP-496")
def offsets_are_deleted_one_by_one(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    group = fixture.group()
    connection.create_topic(unique_name, 2)
    commit(connection, group, {(unique_name, 0): 1, (unique_name, 1): 2})

    def delete(index: int) -> tuple[int, list[int]]:
        request = OffsetDeleteRequest(
            group_id=group,
            topics=[
                OffsetDeleteRequestTopic(
                    name=unique_name, partitions=[OffsetDeleteRequestPartition(partition_index=index)]
                )
            ],
        )
        answer = connection.ask(request, 0)
        return answer.error_code, [part.error_code for found in answer.topics for part in found.partitions]

    same(delete(0), (0, [0]))
    same(committed(connection, group, unique_name, 0), -1)
    same(committed(connection, group, unique_name, 1), 2)
