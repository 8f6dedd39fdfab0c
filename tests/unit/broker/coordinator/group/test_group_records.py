"""Records of ``__consumer_offsets`` byte for byte as Apache Kafka 4.3.1 wrote them, and logs of other versions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from oncelog.broker.coordinator.group import records
from oncelog.broker.coordinator.group.classic.classic_group import ClassicGroup, ClassicMember
from oncelog.broker.coordinator.group.consumer.consumer_group import (
    ClassicMembership,
    ConsumerGroup,
    ConsumerMember,
    ResolvedRegex,
)
from oncelog.broker.coordinator.group.states import ClassicState, ConsumerState, MemberState
from oncelog.broker.coordinator.runtime import CoordinatorRecord, LoggedRecord
from oncelog.errors import Error
from oncelog.protocol.generated.group_metadata_key import GroupMetadataKey
from oncelog.protocol.generated.group_metadata_value import GroupMetadataValue, MemberMetadata
from oncelog.protocol.generated.offset_commit_key import OffsetCommitKey
from oncelog.protocol.generated.offset_commit_value import OffsetCommitValue
from oncelog.types import NO_PRODUCER, ProducerIdAndEpoch
from tests.support.group_host import GroupClient, MemoryGroupHost

A = bytes.fromhex("dfabe06116ce4a99b794187511cb8324")
B = bytes.fromhex("3893f75084f94d5da1063fd26255e8bf")
LEADER = "cl0-71bdbff4-30ef-4160-922f-83136301be96"
SUBSCRIPTION = bytes.fromhex("0003000000020001610001620000000000000000ffffffff0000")
ASSIGNMENT = bytes.fromhex("0000000000020001620000000200000000000000010001610000000300000000000000010000000200000000")
HOST = "/127.0.0.1"
MEMBER = "0YQKOFSPRMqGQ5pIG6LfCg"
OTHER = "BkOJ4Kl/QkapGu7RzkrikQ"


def classic() -> ClassicGroup:
    group = ClassicGroup("classic1", ClassicState.COMPLETING_REBALANCE, state_timestamp_ms=0x1A1FDC357EA, generation=1)
    protocols = {"range": SUBSCRIPTION, "roundrobin": SUBSCRIPTION}
    group.add(ClassicMember(LEADER, None, "cl0", HOST, 300_000, 45_000, "consumer", protocols))
    group.protocol_name = "range"
    return group


def member(member_id: str, client_id: str = "cl0") -> ConsumerMember:
    return ConsumerMember(
        member_id,
        rebalance_timeout_ms=300_000,
        client_id=client_id,
        client_host=HOST,
        topics=frozenset({"a", "b"}),
    )


OFFSET = OffsetCommitValue(0, -1, "m\0", 0x1A1FDC36B75, -1, A)
RE1 = replace(member("nf7tWjzCR/qIPAcrivOqKg", "rdkafka"), topics=frozenset(), regex="(^[ab]$)")
REVOKING = replace(
    member(MEMBER),
    epoch=2,
    previous_epoch=2,
    state=MemberState.UNREVOKED_PARTITIONS,
    assigned={A: {0: 2, 1: 2, 2: 2}},
    revoking={B: {0: 2, 1: 2}},
)
WAITING = replace(member(OTHER), epoch=3, previous_epoch=0, state=MemberState.UNRELEASED_PARTITIONS)

KAFKA = {
    "a new classic group": (
        records.empty_group_metadata(ClassicGroup("classic1", state_timestamp_ms=0x1A1FDC357D5)),
        "00020008636c617373696331",
        "0003000000000000ffffffff000001a1fdc357d500000000",
    ),
    "a generation of a classic group": (
        records.group_metadata(classic(), {LEADER: ASSIGNMENT}),
        "00020008636c617373696331",
        "00030008636f6e73756d657200000001000572616e67650028636c302d37316264626666342d333065662d343136302d393232662d"
        "383331333633303162653936000001a1fdc357ea000000010028636c302d37316264626666342d333065662d343136302d39323266"
        "2d383331333633303162653936ffff0003636c30000a2f3132372e302e302e31000493e00000afc80000001a"
        + SUBSCRIPTION.hex()
        + "0000002c"
        + ASSIGNMENT.hex(),
    ),
    "an offset": (
        records.offset_commit(OffsetCommitKey("classic1", "a", 0), OFFSET),
        "00010008636c61737369633100016100000000",
        "00040000000000000000ffffffff036d00000001a1fdc36b75010010dfabe06116ce4a99b794187511cb8324",
    ),
    "a subscription by names": (
        records.member_subscription("cons1", member(MEMBER)),
        "00050005636f6e733100163059514b4f465350524d71475135704947364c664367",
        "0000000004636c300b2f3132372e302e302e31030261026201000493e00001000100",
    ),
    "a subscription by expression": (
        records.member_subscription("re1", replace(RE1, regex="(^[ab]$)")),
        "0005000372653100166e663774576a7a43522f71495041637269764f714b67",
        "000000000872646b61666b610b2f3132372e302e302e310109285e5b61625d2429000493e00001000100",
    ),
    "a group epoch": (
        records.consumer_epoch("cons1", 2, 0x0C960D4F538E8189),
        "00030005636f6e7331",
        "0000000000020100080c960d4f538e8189",
    ),
    "the epoch of a group without topics": (
        records.consumer_epoch("re1", 3, 0),
        "00030003726531",
        "00000000000300",
    ),
    "a target": (
        records.member_target("cons1", OTHER, {B: frozenset({0, 1})}),
        "00070005636f6e73310016426b4f4a344b6c2f516b6170477537527a6b72696b51",
        "0000023893f75084f94d5da1063fd26255e8bf0300000000000000010000",
    ),
    "an epoch of targets": (
        records.target_epoch("cons1", 3, 0x1A1FDC3833C),
        "00060005636f6e7331",
        "000000000003010008000001a1fdc3833c",
    ),
    "a member that revokes": (
        records.member_assignment("cons1", REVOKING),
        "00080005636f6e733100163059514b4f465350524d71475135704947364c664367",
        "000000000002000000020102dfabe06116ce4a99b794187511cb83240400000000000000010000000201000d0400000002000000"
        "020000000202"
        "3893f75084f94d5da1063fd26255e8bf03000000000000000101000903000000020000000200",
    ),
    "a member that waits": (
        records.member_assignment("cons1", WAITING),
        "00080005636f6e73310016426b4f4a344b6c2f516b6170477537527a6b72696b51",
        "0000000000030000000002010100",
    ),
    "a resolved expression": (
        records.regex_resolution("re1", "(^[ab]$)", ResolvedRegex(frozenset({"a", "b"}), 0xB8, 0x1A1FDC39B3E)),
        "001000037265310008285e5b61625d2429",
        "0000030261026200000000000000b8000001a1fdc39b3e00",
    ),
    "the end of an expression": (
        records.regex_tombstone("re1", "(^[ab]$)"),
        "001000037265310008285e5b61625d2429",
        None,
    ),
}
"""Our record, and key and value that a real Apache Kafka 4.3.1 wrote (librdkafka's consumers, topics a and b)."""


@pytest.mark.parametrize("case", KAFKA)
def test_group_records_equal_kafkas_byte_for_byte(case: str) -> None:
    record, key, value = KAFKA[case]
    assert record == CoordinatorRecord(bytes.fromhex(key), None if value is None else bytes.fromhex(value))


def test_removing_a_member_writes_three_tombstones_in_kafkas_order() -> None:
    written = records.member_tombstones("cons1", MEMBER)
    assert [(r.key[:2].hex(), r.value) for r in written] == [("0008", None), ("0007", None), ("0005", None)]


def test_a_deleted_consumer_group_leaves_no_records_and_its_own_record_is_removed_last() -> None:
    group = ConsumerGroup("g", members={"m": ConsumerMember("m")}, regexes={"x": ResolvedRegex(frozenset(), 0, 0)})
    types = [int.from_bytes(r.key[:2]) for r in records.consumer_group_tombstones(group)]
    assert types == [8, 7, 6, 5, 16, 4, 3]


def load(*written: CoordinatorRecord, group_id: str = "g") -> MemoryGroupHost:
    """A coordinator that found these records in its log."""
    host = MemoryGroupHost({"a": 3, "b": 2})
    index = host.coordinator.runtime.partition_for(group_id).partition
    host.log[index] = [
        LoggedRecord(offset, host.now_ms, NO_PRODUCER, key, value) for offset, (key, value) in enumerate(written)
    ]
    host.restart(lose_unsynced=0)
    return host


def test_a_loaded_classic_group_equals_the_stored_group() -> None:
    host = load(KAFKA["a new classic group"][0], KAFKA["a generation of a classic group"][0], group_id="classic1")
    group = host.shard("classic1").groups["classic1"]
    assert isinstance(group, ClassicGroup)
    assert (group.state, group.generation, group.leader_id) == (ClassicState.STABLE, 1, LEADER)
    assert group.members[LEADER].assignment == ASSIGNMENT
    assert group.subscribed_topics == frozenset({"a", "b"})


def test_a_loaded_consumer_group_equals_the_stored_group() -> None:
    host = load(
        KAFKA["a subscription by names"][0],
        records.member_subscription("cons1", member(OTHER)),
        records.consumer_epoch("cons1", 3, 7),
        records.member_target("cons1", MEMBER, {A: frozenset({0, 1, 2})}),
        KAFKA["a target"][0],
        KAFKA["an epoch of targets"][0],
        KAFKA["a member that waits"][0],
        KAFKA["a member that revokes"][0],
        group_id="cons1",
    )
    group = host.shard("cons1").groups["cons1"]
    assert isinstance(group, ConsumerGroup)
    assert group.members == {MEMBER: REVOKING, OTHER: WAITING}
    assert (group.epoch, group.assignment_epoch, group.state) == (3, 3, ConsumerState.RECONCILING)
    assert group.targets == {MEMBER: {A: frozenset({0, 1, 2})}, OTHER: {B: frozenset({0, 1})}}
    assert (group.owner_epoch(A, 0), group.owner_epoch(B, 1), group.owner_epoch(B, 2)) == (2, 2, -1)


def test_a_member_of_the_classic_protocol_is_stored_with_its_protocols() -> None:
    classic_member = replace(member("m"), classic=ClassicMembership(45_000, {"range": SUBSCRIPTION}))
    host = load(records.member_subscription("g", classic_member), records.consumer_epoch("g", 1, 0))
    group = host.shard("g").groups["g"]
    assert isinstance(group, ConsumerGroup)
    assert group.members["m"] == classic_member


def test_a_stored_leader_that_is_not_a_member_is_ignored() -> None:
    member = MemberMetadata("m", None, "cl0", HOST, 300_000, 45_000, SUBSCRIPTION, ASSIGNMENT)
    value = GroupMetadataValue("consumer", 1, "range", "somebody else", 0, [member])
    group = records.classic_group_from("classic1", value)
    assert group.leader_id == "m"
    group.members["m"].awaiting_join = True
    assert group.elect_joined_leader()


@pytest.mark.parametrize("version", range(5))
def test_group_metadata_of_every_version_is_loaded(version: int) -> None:
    instance = "i" if version >= 3 else None
    stored = MemberMetadata("m", instance, "c", HOST, 5000, 10_000, SUBSCRIPTION, ASSIGNMENT)
    value = GroupMetadataValue("consumer", 4, "range", "m", 99, [stored])
    host = load(records.record(GroupMetadataKey("g"), value, version))
    group = host.shard("g").groups["g"]
    assert isinstance(group, ClassicGroup)
    assert group.generation == 4
    assert group.state_timestamp_ms == (99 if version >= 2 else -1)
    loaded = group.members["m"]
    assert loaded.rebalance_timeout_ms == (5000 if version >= 1 else 10_000)
    assert loaded.instance_id == instance


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("key_type", [0, 1])
def test_offsets_of_every_version_are_loaded(version: int, key_type: int) -> None:
    expire = 77 if version == 1 else -1
    value = OffsetCommitValue(5, 3 if version >= 3 else -1, "m", 66, expire)
    key, data = records.record(OffsetCommitKey("g", "a", 1), value, version)
    host = load(CoordinatorRecord(key_type.to_bytes(2) + key[2:], data))
    committed = host.shard("g").offsets.get("g", "a", 1)
    assert committed is not None
    assert committed[:5] == (5, value.leader_epoch, "m", 66, expire)


def test_records_of_unsupported_group_types_are_ignored() -> None:
    """Streams groups (17) and types that are not known yet."""
    host = load(
        CoordinatorRecord(bytes.fromhex("0011000167"), bytes.fromhex("000000000001000000000000000000")),
        CoordinatorRecord(bytes.fromhex("03e7000167"), b"anything"),
        records.offset_commit(OffsetCommitKey("g", "a", 0), OFFSET),
    )
    assert GroupClient(host).offset("a") == 0


def test_partitions_assigned_before_4_3_get_the_members_epoch() -> None:
    bare = bytes.fromhex(
        "0000"  # version
        "00000005" "00000004" "00"  # epoch, previous epoch, stable
        "02" + A.hex() + "02" "00000001" "00"  # one topic, partition 1, no tags
        "01" "00"  # nothing pending, no tags
    )  # fmt: skip
    key = records.member_assignment("g", ConsumerMember("m")).key
    host = load(
        records.member_subscription("g", member("m")), records.consumer_epoch("g", 5, 0), CoordinatorRecord(key, bare)
    )
    group = host.shard("g").groups["g"]
    assert isinstance(group, ConsumerGroup)
    assert group.members["m"].assigned == {A: {1: 5}}


def test_partition_metadata_from_before_4_1_is_removed_when_the_group_changes() -> None:
    key = records.partition_metadata_tombstone("g").key
    host = load(
        records.member_subscription("g", member("m")),
        CoordinatorRecord(key, bytes.fromhex("00000100")),
        records.consumer_epoch("g", 5, 0),
        records.target_epoch("g", 5, 1),
        records.member_assignment("g", replace(member("m"), epoch=5, previous_epoch=4)),
    )
    assert GroupClient(host).beat("m", 5).value.member_epoch == 6
    log = host.log[host.shard("g").partition.partition]
    assert [e.value for e in log if isinstance(e, LoggedRecord) and e.key == key] == [bytes.fromhex("00000100"), None]


CONSUMER_TOMBSTONES = records.consumer_group_tombstones(
    ConsumerGroup("g", members={"m": ConsumerMember("m")}, regexes={"x": ResolvedRegex(frozenset(), 0, 0)})
)


def test_tombstones_of_records_no_longer_in_the_log_are_ignored() -> None:
    """Compaction has removed the records, and not yet their tombstones."""
    host = load(*CONSUMER_TOMBSTONES, records.group_tombstone("g"))
    assert host.shard("g").groups == {}


def test_tombstones_of_unknown_members_change_nothing() -> None:
    host = load(
        records.consumer_epoch("g", 3, 0), records.target_epoch("g", 3, 5), *CONSUMER_TOMBSTONES[:-1],
        records.group_tombstone("g"),
    )  # fmt: skip
    group = host.shard("g").groups["g"]
    assert isinstance(group, ConsumerGroup)
    assert (group.epoch, group.assignment_epoch, group.members, group.targets, group.regexes) == (3, -1, {}, {}, {})


def test_a_member_whose_assignment_was_deleted_owns_nothing_until_the_member_is_removed() -> None:
    tombstones = records.member_tombstones("g", "m")
    stored = replace(member("m"), epoch=2, assigned={A: {0: 2}})
    host = load(
        records.member_subscription("g", stored), records.member_assignment("g", stored),
        records.member_target("g", "m", {A: frozenset({0})}), records.consumer_epoch("g", 2, 0), *tombstones[:2],
    )  # fmt: skip
    group = host.shard("g").groups["g"]
    assert isinstance(group, ConsumerGroup)
    assert (group.members["m"].epoch, group.members["m"].assigned, group.targets) == (-1, {}, {})
    assert group.owner_epoch(A, 0) == -1


def test_the_epoch_record_of_a_consumer_group_replaces_a_simple_group_and_keeps_its_offsets() -> None:
    host = load(records.offset_commit(OffsetCommitKey("g", "a", 0), OFFSET), records.consumer_epoch("g", 3, 0))
    assert isinstance(host.shard("g").groups["g"], ConsumerGroup)
    assert GroupClient(host).offset("a") == 0


def test_a_transactional_offset_of_an_unknown_group_creates_the_group() -> None:
    host = MemoryGroupHost({"t": 1})
    g, producer = GroupClient(host), ProducerIdAndEpoch(7, 0)
    assert g.commit_in_transaction(5, producer).value is Error.NONE
    assert isinstance(host.shard("g").groups["g"], ClassicGroup)
    host.end_transaction("g", producer, commit=True)
    assert g.offset() == 5
