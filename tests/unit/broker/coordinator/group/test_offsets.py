"""Offsets: who may commit, what a transaction hides, what fetches return, and when offsets expire."""

from __future__ import annotations

import pytest

from oncelog.broker.coordinator.group.offsets import CommittedOffset
from oncelog.broker.coordinator.group.shard import GROUPS_IN_A_CHUNK
from oncelog.broker.core.requests.work import finished
from oncelog.errors import Error
from oncelog.protocol.generated.delete_groups_response import DeletableGroupResult
from oncelog.protocol.generated.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from oncelog.protocol.generated.offset_delete_response import OffsetDeleteResponse
from oncelog.protocol.generated.offset_fetch_request import OffsetFetchRequestGroup
from oncelog.types import ProducerIdAndEpoch
from tests.support.group_host import GroupClient, MemoryGroupHost, subscription
from tests.support.work import calls_of

DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS
CHECK_MS = 600_000
A, B = ProducerIdAndEpoch(1000, 0), ProducerIdAndEpoch(1001, 5)


@pytest.fixture
def host() -> MemoryGroupHost:
    return MemoryGroupHost({"t": 3, "u": 2})


@pytest.fixture
def g(host: MemoryGroupHost) -> GroupClient:
    return GroupClient(host)


def committed(g: GroupClient, topic: str = "t", partition: int = 0) -> CommittedOffset:
    found = g.host.shard(g.group_id).offsets.get(g.group_id, topic, partition)
    assert found is not None
    return found


# Commits


def test_a_commit_to_an_unknown_group_creates_a_simple_group(g: GroupClient) -> None:
    assert g.commit(42, metadata="note").value == Error.NONE
    assert g.offset() == 42
    row = committed(g)
    assert (row.metadata, row.commit_timestamp_ms, row.topic_id) == ("note", g.host.now_ms, g.host.topic_id("t"))
    assert g.host.shard("g").groups["g"].empty


@pytest.mark.parametrize("settings", [{}, {"version": 3, "retention_ms": 5_000}])
def test_a_committed_offset_is_the_same_after_a_restart(g: GroupClient, settings: dict[str, int]) -> None:
    g.commit(41)
    g.commit(42, metadata="note", **settings)  # type: ignore[arg-type]
    g.commit(7, partition=1, **settings)  # type: ignore[arg-type]
    before = committed(g), committed(g, partition=1)
    g.host.restart()
    assert (committed(g), committed(g, partition=1)) == before


def test_null_metadata_is_stored_as_empty(g: GroupClient) -> None:
    g.commit(1, metadata=None)
    assert committed(g).metadata == ""


@pytest.mark.parametrize(
    ("version", "error"), [(8, Error.ILLEGAL_GENERATION), (9, Error.GROUP_ID_NOT_FOUND), (10, Error.GROUP_ID_NOT_FOUND)]
)
def test_a_commit_with_a_generation_of_an_unknown_group_is_refused(g: GroupClient, version: int, error: Error) -> None:
    assert g.commit(1, member_id="m", generation=1, version=version).value == error


def test_a_commit_of_a_stale_member_is_refused(g: GroupClient) -> None:
    (member,) = g.stable(1)
    assert g.commit(1, member_id=member, generation=1).value == Error.NONE
    assert g.commit(2, member_id=member, generation=2).value == Error.ILLEGAL_GENERATION
    assert g.commit(3, member_id="x", generation=1).value == Error.UNKNOWN_MEMBER_ID
    assert g.commit(4).value == Error.UNKNOWN_MEMBER_ID
    assert g.commit(5, member_id=member, generation=1, instance_id="i").value == Error.UNKNOWN_MEMBER_ID
    assert g.offset() == 1


def test_members_may_commit_while_the_group_prepares_a_rebalance_but_not_while_it_completes(g: GroupClient) -> None:
    lead, follower = g.stable(2)
    g.join(lead)
    assert g.commit(1, member_id=follower, generation=1).value == Error.NONE
    g.join(follower)
    assert g.commit(2, member_id=follower, generation=2).value == Error.REBALANCE_IN_PROGRESS
    assert g.offset() == 1


@pytest.mark.parametrize(("metadata", "error"), [("x" * 4096, 0), ("x" * 4097, 12), ("\N{PARTY POPPER}" * 2049, 12)])
def test_metadata_above_the_limit_refuses_its_partition(g: GroupClient, metadata: str, error: int) -> None:
    """Java counts UTF-16 code units."""
    assert g.commit(1, metadata=metadata).value == error


@pytest.mark.parametrize(
    ("logged", "reported"),
    [
        (Error.UNKNOWN_TOPIC_OR_PARTITION, Error.COORDINATOR_NOT_AVAILABLE),
        (Error.REQUEST_TIMED_OUT, Error.COORDINATOR_NOT_AVAILABLE),
        (Error.NOT_ENOUGH_REPLICAS, Error.COORDINATOR_NOT_AVAILABLE),
        (Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND, Error.COORDINATOR_NOT_AVAILABLE),
        (Error.NOT_LEADER_OR_FOLLOWER, Error.NOT_COORDINATOR),
        (Error.KAFKA_STORAGE_ERROR, Error.NOT_COORDINATOR),
        (Error.NETWORK_EXCEPTION, Error.COORDINATOR_LOAD_IN_PROGRESS),
        (Error.MESSAGE_TOO_LARGE, Error.UNKNOWN_SERVER_ERROR),
        (Error.RECORD_LIST_TOO_LARGE, Error.UNKNOWN_SERVER_ERROR),
    ],
)
def test_log_errors_are_mapped_to_coordinator_errors(g: GroupClient, logged: Error, reported: Error) -> None:
    g.host.append_error = logged
    assert g.commit(1).value == reported
    g.host.append_error = Error.NONE
    assert g.offset() == -1


def test_a_commit_is_answered_and_reported_only_when_it_is_durable(g: GroupClient) -> None:
    g.host.sync_at_once = False
    answer = g.commit(7)
    assert not answer.done
    waiting = g.host.coordinator.fetch_offsets(
        OffsetFetchRequestGroup("g", topics=None), False, g.host.now_ms, node_id=None
    )
    assert not waiting.settled.done
    g.host.sync()
    assert answer.value == Error.NONE
    assert waiting.known(waiting.settled.value).topics[0].partitions[0].committed_offset == 7


def test_an_offset_commit_that_cannot_be_synced_is_neither_acknowledged_nor_fetched(g: GroupClient) -> None:
    g.host.sync_at_once = False
    answer = g.commit(7)
    g.host.fail_sync(Error.KAFKA_STORAGE_ERROR)
    assert answer.value == Error.NOT_COORDINATOR
    assert g.fetch(None).error_code == Error.NOT_COORDINATOR


# Fetches


def test_fetching_offsets_of_an_unknown_group_returns_no_offsets_and_no_error(g: GroupClient) -> None:
    answer = g.fetch({"t": [0, 1]})
    assert answer.error_code == Error.NONE
    rows = answer.topics[0].partitions
    assert [(p.partition_index, p.committed_offset, p.committed_leader_epoch, p.metadata) for p in rows] == [
        (0, -1, -1, ""),
        (1, -1, -1, ""),
    ]
    assert g.fetch(None).topics == []


def test_all_offsets_of_a_group_can_be_requested(g: GroupClient) -> None:
    g.commit(1, topic="t", partition=2)
    g.commit(2, topic="t", partition=0)
    g.commit(3, topic="u", partition=1)
    GroupClient(g.host, "other").commit(9)
    answer = g.fetch(None)
    assert [(t.name, [(p.partition_index, p.committed_offset) for p in t.partitions]) for t in answer.topics] == [
        ("t", [(0, 2), (2, 1)]),
        ("u", [(1, 3)]),
    ]


# Transactions


def test_an_offset_of_an_open_transaction_is_not_reported(g: GroupClient) -> None:
    g.commit(1)
    assert g.commit_in_transaction(2, A).value == Error.NONE
    assert g.offset() == 1


def test_a_reader_of_stable_offsets_waits_for_the_transaction(g: GroupClient) -> None:
    """Check 57."""
    g.commit(1)
    g.commit_in_transaction(2, A)
    row = g.fetch({"t": [0]}, stable=True).topics[0].partitions[0]
    assert (row.error_code, row.committed_offset, row.metadata) == (Error.UNSTABLE_OFFSET_COMMIT, -1, "")
    assert g.offset(partition=1, stable=True) == -1
    assert g.fetch(None, stable=True).topics[0].partitions[0].error_code == Error.UNSTABLE_OFFSET_COMMIT
    g.host.end_transaction("g", A, commit=False)
    assert g.offset(stable=True) == 1


@pytest.mark.parametrize(("commit", "offset"), [(True, 2), (False, 1)])
def test_the_marker_decides_the_outcome_of_the_offsets_in_a_transaction(
    g: GroupClient, commit: bool, offset: int
) -> None:
    g.commit(1)
    g.commit_in_transaction(2, A)
    g.host.end_transaction("g", A, commit=commit)
    assert g.offset() == offset
    g.host.restart()
    assert g.offset(stable=True) == offset


def test_a_plain_commit_after_a_transactional_commit_remains_when_the_transaction_commits(g: GroupClient) -> None:
    """Check 59."""
    g.commit_in_transaction(10, A)
    g.commit(5)
    g.host.end_transaction("g", A, commit=True)
    assert g.offset() == 5
    g.host.restart()
    assert g.offset() == 5


def test_of_two_transactions_the_later_offset_record_wins_whichever_transaction_ends_last(g: GroupClient) -> None:
    g.commit_in_transaction(1, A)
    g.commit_in_transaction(2, B)
    g.host.end_transaction("g", B, commit=True)
    g.host.end_transaction("g", A, commit=True)
    assert g.offset() == 2


def test_a_transaction_commits_its_last_offset_of_a_partition(g: GroupClient) -> None:
    g.commit_in_transaction(1, A)
    g.commit_in_transaction(2, A)
    g.host.end_transaction("g", A, commit=True)
    assert g.offset() == 2


def test_pending_offsets_survive_a_restart(g: GroupClient) -> None:
    g.commit_in_transaction(2, A)
    g.host.restart()
    assert g.offset(stable=True) is Error.UNSTABLE_OFFSET_COMMIT
    g.host.end_transaction("g", A, commit=True)
    assert g.offset(stable=True) == 2


def test_a_marker_of_a_producer_without_offsets_changes_nothing(g: GroupClient) -> None:
    g.commit(1)
    g.host.end_transaction("g", A, commit=True)
    assert g.offset(stable=True) == 1


def test_transactional_offsets_are_logged_with_the_producers_id_and_epoch(g: GroupClient) -> None:
    g.commit_in_transaction(2, B)
    entry = g.host.log[g.host.shard("g").partition.partition][-1]
    assert entry.producer == B
    assert g.host.verified == [("txn", B, g.host.shard("g").partition, True)]


def test_a_transactional_commit_with_a_member_id_needs_a_current_member(g: GroupClient) -> None:
    """Check 58."""
    lead, _ = g.joined()
    waiting = g.join(instance_id="i")
    g.host.pass_time(0)
    static = waiting.value.member_id
    g.sync(lead, 1, {})
    commit = g.commit_in_transaction
    assert commit(1, A, member_id=lead, generation=0).value == Error.ILLEGAL_GENERATION
    assert commit(1, A, member_id="x", generation=1).value == Error.UNKNOWN_MEMBER_ID
    assert commit(1, A, member_id="x", generation=1, instance_id="i").value == Error.FENCED_INSTANCE_ID
    assert commit(1, A, member_id="x", generation=1, instance_id="j").value == Error.UNKNOWN_MEMBER_ID
    assert commit(1, A, member_id=static, generation=1, instance_id="i").value == Error.NONE
    assert commit(1, A, member_id=lead, generation=1).value == Error.NONE
    assert commit(1, A).value == Error.NONE


def test_transactional_commits_ignore_the_state_of_the_group(g: GroupClient) -> None:
    lead, _ = g.joined()
    g.host.pass_time(0)
    assert g.commit_in_transaction(1, A, member_id=lead, generation=1).value == Error.NONE
    assert GroupClient(g.host, "new").commit_in_transaction(1, A, generation=3).value == Error.ILLEGAL_GENERATION
    assert GroupClient(g.host, "new").commit_in_transaction(1, A).value == Error.NONE


@pytest.mark.parametrize(
    ("version", "answer", "reported"),
    [
        (3, Error.TRANSACTION_ABORTABLE, Error.INVALID_TXN_STATE),
        (4, Error.TRANSACTION_ABORTABLE, Error.TRANSACTION_ABORTABLE),
        (5, Error.INVALID_PRODUCER_EPOCH, Error.INVALID_PRODUCER_EPOCH),
        (5, Error.NETWORK_EXCEPTION, Error.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
def test_a_commit_for_a_partition_that_the_transaction_does_not_include_is_refused(
    g: GroupClient, version: int, answer: Error, reported: Error
) -> None:
    g.host.verification = answer
    assert g.commit_in_transaction(1, A, version=version).value == reported
    assert g.host.verified[0][3] == (version >= 5)
    assert g.host.log == [[], []]


def test_an_empty_group_id_is_refused_in_a_transaction(host: MemoryGroupHost) -> None:
    assert GroupClient(host, "").commit_in_transaction(1, A).value == Error.INVALID_GROUP_ID


# Expiry (KIP-211)


def test_offsets_of_a_simple_group_expire_after_their_commit_and_the_group_is_removed_with_them(g: GroupClient) -> None:
    g.commit(1)
    g.host.pass_time(DAY_MS)
    g.commit(2, partition=1)
    g.host.pass_time(WEEK_MS - DAY_MS)
    assert g.offset() == -1
    assert g.offset(partition=1) == 2
    assert "g" in g.host.shard("g").groups
    g.host.pass_time(DAY_MS + CHECK_MS)
    assert g.offset(partition=1) == -1
    assert "g" not in g.host.shard("g").groups
    g.host.restart()
    assert "g" not in g.host.shard("g").groups


@pytest.mark.parametrize("how", ["expired", "topic deleted"])
def test_more_expired_offsets_than_one_batch_can_hold_are_removed(g: GroupClient, how: str) -> None:
    topic = "t" * 249
    g.host.create_topic(topic, 100)
    for partition in range(100):
        g.commit(1, topic=topic, partition=partition)
    g.host.largest_batch_bytes = 20_000
    if how == "expired":
        g.host.pass_time(WEEK_MS + CHECK_MS)
        assert "g" not in g.host.shard("g").groups
    else:
        g.host.delete_topic(topic)
    assert not list(g.host.shard("g").offsets.topics("g"))


def test_offsets_of_a_group_expire_counting_from_the_loss_of_its_last_member(g: GroupClient) -> None:
    (member,) = g.stable(1)
    g.commit(1, member_id=member, generation=1)
    g.host.pass_time(9000)
    g.leave((member, None))
    g.host.pass_time(WEEK_MS - CHECK_MS)
    assert g.offset() == 1
    g.host.pass_time(2 * CHECK_MS)
    assert g.offset() == -1
    assert "g" not in g.host.shard("g").groups


def test_only_offsets_of_topics_that_a_stable_group_does_not_read_expire(g: GroupClient) -> None:
    (member,) = g.stable(1, session_timeout_ms=1_800_000)
    g.commit(1, member_id=member, generation=1)
    g.commit(2, topic="u", member_id=member, generation=1)
    while g.offset(topic="u") == 2:
        g.host.pass_time(1_000_000)
        assert g.heartbeat(member, 1) == Error.NONE
    assert WEEK_MS <= g.host.now_ms - 1_700_000_000_000 <= WEEK_MS + 2 * CHECK_MS
    assert g.offset() == 1


def test_a_pending_offset_prevents_the_expiration_of_the_committed_offset_and_the_group(g: GroupClient) -> None:
    g.commit(1)
    g.commit_in_transaction(2, A)
    g.host.pass_time(2 * WEEK_MS)
    assert g.offset() == 1
    g.host.end_transaction("g", A, commit=False)
    g.host.pass_time(CHECK_MS)
    assert "g" not in g.host.shard("g").groups


def test_a_group_with_a_pending_offset_stays_when_its_other_offsets_expire(g: GroupClient) -> None:
    g.commit(1)
    g.commit_in_transaction(2, A, partition=1)
    g.host.pass_time(2 * WEEK_MS)
    assert g.offset() == -1
    assert "g" in g.host.shard("g").groups


def test_a_group_whose_only_offset_is_pending_stays(g: GroupClient) -> None:
    g.commit_in_transaction(2, A)
    g.host.pass_time(2 * WEEK_MS)
    assert "g" in g.host.shard("g").groups


def test_before_version_5_the_clients_own_retention_time_applies(g: GroupClient) -> None:
    g.commit(1, retention_ms=CHECK_MS // 2, version=4)
    g.host.restart()
    assert g.offset() == 1
    g.host.pass_time(CHECK_MS)
    assert g.offset() == -1


def test_an_empty_group_without_offsets_is_removed(g: GroupClient) -> None:
    (member,) = g.stable(1)
    g.leave((member, None))
    g.host.pass_time(CHECK_MS)
    assert "g" not in g.host.shard("g").groups


# Deletion


def delete_offsets(g: GroupClient, topic: str, *partitions: int) -> OffsetDeleteResponse:
    asked = [OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(p) for p in partitions])]
    return g.host.coordinator.delete_offsets(OffsetDeleteRequest(g.group_id, asked), g.host.now_ms, node_id=None).value


def delete_groups(g: GroupClient, *group_ids: str) -> list[DeletableGroupResult]:
    return g.host.coordinator.delete_groups(group_ids, g.host.now_ms, node_id=None).value


def test_offsets_of_a_topic_that_is_read_are_not_deleted(g: GroupClient) -> None:
    (member,) = g.stable(1)
    g.commit(1, member_id=member, generation=1)
    g.commit(2, topic="u", member_id=member, generation=1)
    assert delete_offsets(g, "t", 0).topics[0].partitions[0].error_code == Error.GROUP_SUBSCRIBED_TO_TOPIC
    assert delete_offsets(g, "u", 0, 1).topics[0].partitions[0].error_code == Error.NONE
    assert (g.offset(), g.offset("u")) == (1, -1)


def test_deleting_offsets_of_missing_or_non_consumer_groups_is_refused(g: GroupClient) -> None:
    assert delete_offsets(g, "t", 0).error_code == Error.GROUP_ID_NOT_FOUND
    g.joined(protocol_type="connect", protocols={"default": b""})
    g.host.pass_time(0)
    assert delete_offsets(g, "t", 0).error_code == Error.NON_EMPTY_GROUP
    assert delete_offsets(GroupClient(g.host, ""), "t", 0).error_code == Error.INVALID_GROUP_ID


def test_deleting_an_offset_also_removes_the_pending_offset(g: GroupClient) -> None:
    g.commit_in_transaction(2, A)
    delete_offsets(g, "t", 0)
    assert g.offset(stable=True) == -1
    g.host.end_transaction("g", A, commit=True)
    assert g.offset() == -1


def test_only_empty_groups_are_deleted_with_all_their_offsets(g: GroupClient) -> None:
    GroupClient(g.host, "busy").stable(1)
    g.commit(1)
    g.commit_in_transaction(2, A, partition=1)
    results = {r.group_id: r.error_code for r in delete_groups(g, "g", "busy", "absent")}
    assert results == {"g": 0, "busy": Error.NON_EMPTY_GROUP, "absent": Error.GROUP_ID_NOT_FOUND}
    assert g.offset() == -1
    g.host.end_transaction("g", A, commit=True)
    g.host.restart()
    assert g.fetch(None).topics == []
    assert "g" not in g.host.shard("g").groups


def test_offsets_of_a_deleted_topic_are_removed_and_a_new_topic_of_its_name_has_none(g: GroupClient) -> None:
    g.commit(1)
    g.commit(2, topic="u")
    g.commit_in_transaction(3, A, partition=1)
    g.host.delete_topic("t")
    g.host.create_topic("t", 3)
    g.host.end_transaction("g", A, commit=True)
    assert (g.offset(), g.offset(partition=1), g.offset("u")) == (-1, -1, 2)
    g.host.restart()
    assert (g.offset(), g.offset(partition=1), g.offset("u")) == (-1, -1, 2)


def test_the_topics_that_a_group_reads_are_the_subscriptions_of_the_chosen_protocol(g: GroupClient) -> None:
    g.stable(1, protocols={"range": subscription("t", "u", version=3)})
    group = g.host.shard("g").groups["g"]
    assert [group.reads(topic) for topic in ("t", "u", "v")] == [True, True, False]
    other = GroupClient(g.host, "other")
    other.stable(1, protocols={"range": b"\xff"})
    assert g.host.shard("other").groups["other"].reads("anything")


# Many groups


def many(host: MemoryGroupHost, count: int, topic: str = "t") -> list[GroupClient]:
    clients = [GroupClient(host, f"{topic}{number}") for number in range(count)]
    for client in clients:
        client.commit(1, topic=topic)
    return clients


def left(host: MemoryGroupHost) -> int:
    """How many groups there are."""
    return sum(len(shard.groups) for shard in host.coordinator.runtime.shards())


def test_groups_expire_in_chunks_and_a_group_that_is_used_between_two_chunks_stays(host: MemoryGroupHost) -> None:
    clients = many(host, 400)
    host.now_ms += WEEK_MS
    works = [shard.expire(host.now_ms) for shard in host.coordinator.runtime.shards()]
    for work in works:
        next(work)
    assert left(host) == 400 - 2 * GROUPS_IN_A_CHUNK
    clients[-1].commit(2)
    for work in works:
        finished(work)
    assert left(host) == 1
    host.restart()
    assert (left(host), clients[-1].offset()) == (1, 2)


def test_an_unloaded_coordinator_expires_no_further_offsets(host: MemoryGroupHost) -> None:
    many(host, 400)
    host.now_ms += WEEK_MS
    works = [shard.expire(host.now_ms) for shard in host.coordinator.runtime.shards()]
    host.unload()
    host.restart()
    for work in works:
        finished(work)
    assert left(host) == 400


def test_offsets_of_a_deleted_topic_are_removed_in_chunks(host: MemoryGroupHost) -> None:
    clients = many(host, 400)
    clients[0].commit_in_transaction(7, A, partition=1)
    work = host.coordinator.on_topic_deleted("t", host.now_ms)
    next(work)
    known = [client.offset() for client in clients]
    assert known.count(1) == 400 - GROUPS_IN_A_CHUNK
    host.end_transaction(clients[0].group_id, A, commit=True)
    finished(work)
    host.restart()
    assert {client.offset(partition=partition) for client in clients for partition in (0, 1)} == {-1}


def test_the_cost_of_deleting_a_topic_does_not_depend_on_the_number_of_groups(host: MemoryGroupHost) -> None:
    def deleted() -> None:
        finished(host.coordinator.on_topic_deleted("u", host.now_ms))

    many(host, 3, "u")
    few = calls_of(deleted)
    many(host, 3, "u")
    many(host, 1000)
    assert calls_of(deleted) == few
    assert left(host) == 1003
