"""Our group coordinator beside a real Apache Kafka: the same requests, the same answers, the same log records.

Each script runs on both. What is decided by chance or by the clock is compared by what matters: member ids by the order
in which they appear, topic ids by the topic, times by whether they are set, the metadata hash by whether it is there.
Afterwards the group's records are read from ``__consumer_offsets`` on both sides and compared field by field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.wire import TRANSIENT, RawConnection
from oncelog.errors import Error
from oncelog.protocol.codec_errors import UnsupportedField
from oncelog.protocol.framing import decode_response_header
from oncelog.protocol.generated.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from oncelog.protocol.generated.consumer_group_describe_request import ConsumerGroupDescribeRequest
from oncelog.protocol.generated.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from oncelog.protocol.generated.delete_groups_request import DeleteGroupsRequest
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.heartbeat_request import HeartbeatRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from oncelog.protocol.generated.leave_group_request import LeaveGroupRequest, MemberIdentity
from oncelog.protocol.generated.list_groups_request import ListGroupsRequest
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
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
from oncelog.protocol.generated.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from oncelog.protocol.generated.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from oncelog.protocol.generated.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from oncelog.protocol.internal_records import InternalRecord, decode_group_record
from oncelog.protocol.messages import response_type
from oncelog.protocol.struct_fields import ZERO_UUID, Struct
from oncelog.protocol.wire import Message
from oncelog.records.batch import decode_records, iter_headers
from oncelog.types import java_hash_partition
from tests.integration.conformance.nodes import Node, new_node
from tests.support.group_host import subscription

pytestmark = pytest.mark.kafka

SETTINGS = {"group.initial.rebalance.delay.ms": "0", "group.consumer.assignment.interval.ms": "0"}
TOPICS = {"group-log-a": 4, "group-log-b": 2}
A, B = TOPICS
OFFSETS_TOPIC = "__consumer_offsets"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
MADE_ID = re.compile(r"^[A-Za-z0-9_-]{22}$")
UNORDERED = {
    "members",
    "topic_partitions",
    "assigned_partitions",
    "partitions_pending_revocation",
    "topics",
    "partitions",
    "groups",
}
"""Lists whose order follows Java's hash tables, or what Kafka looked at first."""
TIMES = {"current_state_timestamp", "commit_timestamp", "assignment_timestamp", "timestamp", "expire_timestamp"}
IGNORED = {"throttle_time_ms", "error_message", "version"}


class Side:
    """One broker: requests about one group, with everything that was asked and answered in ``told``."""

    def __init__(self, bootstrap_servers: str, group: str) -> None:
        self.connection = RawConnection(bootstrap_servers)
        self.group = group
        self.reported: list[Any] = []
        self.aliases: dict[str, str] = {}
        self._opened = [self.connection]
        self.topic_ids = self._topic_ids()

    def close(self) -> None:
        for connection in self._opened:
            connection.close()

    def _topic_ids(self) -> dict[str, bytes]:
        request = MetadataRequest([MetadataRequestTopic(name=topic) for topic in TOPICS])
        answer = self.connection.ask_until(request, 12, lambda a: all(not t.error_code for t in a.topics))
        return {topic.name: topic.topic_id for topic in answer.topics}

    def ask(self, message: Message, version: int) -> Any:
        """Send a request, note the answer, and return it."""
        answer = self.connection.ask(message, version)
        self.reported.append((type(message).__name__, version, self.plain(answer)))
        return answer

    def later(self, message: Message, version: int) -> Callable[[], Any]:
        """Send a request on a connection of its own; the returned call waits for the answer."""
        connection = self.connection.another()
        self._opened.append(connection)
        correlation_id = connection.send(message.API_KEY, version, message.encode(version))

        def answer() -> Any:
            frame = connection.receive_frame()
            got, at = decode_response_header(frame, message.API_KEY, version)
            assert got == correlation_id
            decoded = response_type(message.API_KEY).decode(frame, version, at)
            self.reported.append((type(message).__name__, version, self.plain(decoded)))
            return decoded

        return answer

    def plain(self, value: Any, name: str = "") -> Any:
        """The parts that can be compared with the other side."""
        if isinstance(value, Struct):
            return {n: self.plain(getattr(value, n), n) for n in value.__slots__ if n not in IGNORED}
        if isinstance(value, list):
            items = [self.plain(item, name) for item in value]
            return sorted(items, key=repr) if name in UNORDERED else items
        if isinstance(value, str):
            made = UUID if name not in ("member_id", "leader") or "-" in value[:-22] else MADE_ID
            return made.sub(lambda m: self.aliases.setdefault(m[0], f"<{len(self.aliases)}>"), value)
        if name == "topic_id":
            return next((topic for topic, topic_id in self.topic_ids.items() if topic_id == value), value)
        if name in TIMES:
            return value > 1_500_000_000_000 or value
        return bool(value) if name == "metadata_hash" else value

    def log(self) -> list[Any]:
        """The group's records, oldest first, once all are committed: a fetch of offsets waits for that."""
        self.connection.ask(self.fetch(9), 9)
        partition = java_hash_partition(self.group, 50)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=10_000_000,
            topics=[FetchTopic(OFFSETS_TOPIC, ZERO_UUID, [FetchPartition(partition, -1, 0, -1, -1, 10_000_000)])],
        )
        answer = self.connection.ask_until(request, 11, lambda a: not a.responses[0].partitions[0].error_code)
        data = bytes(answer.responses[0].partitions[0].records or b"")
        rows: list[Any] = []
        for position, header in iter_headers(data):
            if header.is_control:
                continue
            batch = data[position : position + header.size_bytes]
            rows += [self._row(record, header.is_transactional) for record in decode_records(batch)]
        return [row for row in rows if row is not None]

    def _row(self, record: Any, transactional: bool) -> Any:
        decoded = decode_group_record(bytes(record.key), None if record.value is None else bytes(record.value))
        assert isinstance(decoded, InternalRecord)
        if getattr(decoded.key, "group", None) != self.group and getattr(decoded.key, "group_id", None) != self.group:
            return None
        version = None if record.value is None else int.from_bytes(bytes(record.value)[:2], "big")
        return (type(decoded.key).__name__, self.plain(decoded.key), version, self.plain(decoded.value), transactional)

    # Requests

    def join(
        self,
        member_id: str = "",
        version: int = 9,
        *,
        instance_id: str | None = None,
        protocols: Mapping[str, bytes] | None = None,
        protocol_type: str = "consumer",
        session_timeout_ms: int = 30_000,
        rebalance_timeout_ms: int = 60_000,
    ) -> JoinGroupRequest:
        chosen = {"range": subscription(A)} if protocols is None else protocols
        return JoinGroupRequest(
            self.group,
            session_timeout_ms,
            rebalance_timeout_ms if version else -1,
            member_id,
            instance_id,
            protocol_type,
            [JoinGroupRequestProtocol(name, metadata) for name, metadata in chosen.items()],
        )

    def joined(self, version: int = 9, **options: Any) -> Any:
        """How a member joins: twice if it has to; returns the last answer."""
        answer = self.ask(self.join("", version, **options), version)
        if answer.error_code == Error.MEMBER_ID_REQUIRED:
            answer = self.ask(self.join(answer.member_id, version, **options), version)
        return answer

    def sync(
        self,
        member_id: str,
        generation: int,
        assignments: Mapping[str, bytes] | None = None,
        *,
        version: int = 5,
        instance_id: str | None = None,
        protocol: tuple[str | None, str | None] = ("consumer", "range"),
    ) -> SyncGroupRequest:
        given = [SyncGroupRequestAssignment(*item) for item in (assignments or {}).items()]
        names = protocol if version >= 5 else (None, None)
        return SyncGroupRequest(self.group, generation, member_id, instance_id, *names, given)

    def beat(self, member_id: str, generation: int, instance_id: str | None = None) -> HeartbeatRequest:
        return HeartbeatRequest(self.group, generation, member_id, instance_id)

    def leave(self, *members: tuple[str, str | None]) -> LeaveGroupRequest:
        return LeaveGroupRequest(self.group, "", [MemberIdentity(*member) for member in members])

    def commit(
        self,
        offset: int,
        version: int = 9,
        *,
        member_id: str = "",
        generation: int = -1,
        instance_id: str | None = None,
        topic: str = A,
        partition: int = 0,
        metadata: str | None = "",
        retention_ms: int = -1,
    ) -> OffsetCommitRequest:
        row = OffsetCommitRequestPartition(partition, offset, 0 if version >= 6 else -1, metadata)
        topic_id = self.topic_ids.get(topic, b"?" * 16) if version >= 10 else ZERO_UUID
        rows = [OffsetCommitRequestTopic("" if version >= 10 else topic, topic_id, [row])]
        return OffsetCommitRequest(self.group, generation, member_id, instance_id, retention_ms, rows)

    def fetch(
        self,
        version: int = 9,
        *,
        topics: Mapping[str, list[int]] | None = None,
        stable: bool = False,
        member_id: str | None = None,
        epoch: int = -1,
    ) -> OffsetFetchRequest:
        if version < 8:
            asked = None if topics is None else [OffsetFetchRequestTopic(t, p) for t, p in topics.items()]
            return OffsetFetchRequest(self.group, asked, require_stable=stable)
        by_id = version >= 10
        rows = (
            None
            if topics is None
            else [
                OffsetFetchRequestTopics(
                    "" if by_id else t, self.topic_ids.get(t, b"?" * 16) if by_id else ZERO_UUID, p
                )
                for t, p in topics.items()
            ]
        )
        return OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(self.group, member_id, epoch, rows)], require_stable=stable
        )

    def txn_commit(
        self,
        offset: int,
        producer: tuple[int, int],
        version: int = 3,
        *,
        transactional_id: str,
        member_id: str = "",
        generation: int = -1,
        instance_id: str | None = None,
        topic: str = A,
        partition: int = 0,
    ) -> TxnOffsetCommitRequest:
        rows = [TxnOffsetCommitRequestTopic(topic, partitions=[TxnOffsetCommitRequestPartition(partition, offset)])]
        return TxnOffsetCommitRequest(transactional_id, self.group, *producer, generation, member_id, instance_id, rows)

    def consumer_beat(
        self,
        member_id: str,
        epoch: int,
        *,
        topics: list[str] | None = None,
        regex: str | None = None,
        owned: list[int] | None = None,
        instance_id: str | None = None,
        assignor: str | None = None,
        rebalance_timeout_ms: int | None = None,
    ) -> ConsumerGroupHeartbeatRequest:
        joins = epoch == 0
        if rebalance_timeout_ms is None:
            rebalance_timeout_ms = 60_000 if joins else -1
        partitions: list[TopicPartitions] | None = [] if joins else None
        if owned is not None:
            partitions = [TopicPartitions(self.topic_ids[A], owned)] if owned else []
        if joins and topics is None and regex is None:
            topics = [A]
        return ConsumerGroupHeartbeatRequest(
            self.group, member_id, epoch, instance_id, None, rebalance_timeout_ms, topics, regex, assignor, partitions
        )


@pytest.fixture(scope="module")
def nodes() -> Iterator[tuple[Node, Node]]:
    """Our broker and Kafka, with the topics and the offsets topic created."""
    both = (new_node("oncelog", SETTINGS), new_node("kafka", SETTINGS))
    try:
        for node in both:
            node.start()
            with RawConnection(node.bootstrap_servers) as connection:
                for topic, partitions in TOPICS.items():
                    connection.create_topic(topic, partitions)
                for key_type in (0, 1):
                    find = FindCoordinatorRequest("warm-up", key_type)
                    connection.ask_until(find, 1, lambda a: not a.error_code)
                delete = DeleteGroupsRequest([f"warm-up-{n}" for n in range(200)])
                connection.ask_until(delete, 2, lambda a: not {r.error_code for r in a.results} & TRANSIENT)
        yield both
    finally:
        for node in both:
            node.close()


Script = Callable[[Side], None]
SCRIPTS: dict[str, Script] = {}


def script(function: Script) -> Script:
    SCRIPTS[function.__name__] = function
    return function


@script
def a_classic_group_from_its_first_member_to_its_last(side: Side) -> None:
    ask = side.ask
    lead = side.joined()
    ask(side.commit(1, member_id=lead.member_id, generation=1), 9)
    ask(side.beat(lead.member_id, 1), 4)
    ask(side.sync(lead.member_id, 1, {lead.member_id: b"all"}), 5)
    ask(side.sync(lead.member_id, 1), 5)
    for version in range(5):
        ask(side.beat(lead.member_id, 1), version)
    ask(DescribeGroupsRequest([side.group]), 5)
    pending = ask(side.join(), 9)
    waiting = side.later(side.join(pending.member_id), 9)
    eventually(lambda: side.connection.ask(side.beat(lead.member_id, 1), 4).error_code == 27)
    ask(DescribeGroupsRequest([side.group]), 5)
    ask(side.commit(2, member_id=lead.member_id, generation=1), 9)
    ask(side.sync(lead.member_id, 1), 5)
    ask(side.join(lead.member_id), 9)
    waiting()
    ask(side.beat(lead.member_id, 1), 4)
    ask(side.beat(lead.member_id, 2), 4)
    ask(DescribeGroupsRequest([side.group]), 5)
    synced = side.later(side.sync(pending.member_id, 2), 5)
    ask(side.sync(lead.member_id, 2, {lead.member_id: b"one", pending.member_id: b"two"}), 5)
    synced()
    ask(side.join(pending.member_id), 9)
    ask(side.leave((pending.member_id, None), ("stranger", None), ("", "nobody")), 5)
    ask(side.join(lead.member_id), 9)
    ask(side.leave((lead.member_id, None)), 5)
    ask(DescribeGroupsRequest([side.group]), 5)
    ask(side.fetch(topics={A: [0, 1]}), 9)
    ask(DeleteGroupsRequest([side.group]), 2)
    ask(DescribeGroupsRequest([side.group]), 6)


@script
def old_versions_of_every_classic_request(side: Side) -> None:
    ask = side.ask
    for version in range(4):
        lead = side.joined(version)
        generation = lead.generation_id
        ask(side.sync(lead.member_id, generation, {lead.member_id: b"x"}, version=version), version)
        ask(side.beat(lead.member_id, generation), version)
        ask(side.commit(version, 2 + version, member_id=lead.member_id, generation=generation), 2 + version)
        ask(LeaveGroupRequest(side.group, "stranger"), min(version, 2))
        ask(LeaveGroupRequest(side.group, lead.member_id), min(version, 2))
        ask(side.beat(lead.member_id, generation), version)
    for version in range(1, 11):
        topics = {A: [0, 3], "absent": [0]}
        ask(side.fetch(version, topics=topics), version)
        if version >= 2:
            ask(side.fetch(version), version)


@script
def a_member_that_is_alone_rejoins(side: Side) -> None:
    lead = side.joined(protocols={"range": subscription(A), "sticky": b"x"})
    side.ask(side.sync(lead.member_id, 1, {}), 5)
    side.ask(side.join(lead.member_id, protocols={"sticky": b"y"}), 9)
    side.ask(side.sync(lead.member_id, 2, {}, protocol=("consumer", "range")), 5)
    side.ask(side.sync(lead.member_id, 2, {}, protocol=("connect", "sticky")), 5)
    side.ask(side.sync(lead.member_id, 2, {}, protocol=(None, None)), 5)
    side.ask(side.sync(lead.member_id, 2, {lead.member_id: b"s"}, protocol=("consumer", "sticky")), 5)
    side.ask(side.join(lead.member_id, protocols={"range": b""}), 9)
    side.ask(side.join(protocols={"range": b"z"}, protocol_type="connect"), 9)
    side.ask(side.join(protocols={}), 9)


@script
def static_members(side: Side) -> None:
    ask = side.ask
    for version in (5, 8, 9):
        answer = ask(side.join("", version, instance_id=f"i{version}", protocols={"range": subscription(A)}), version)
        member, instance, generation = answer.member_id, f"i{version}", answer.generation_id
        ask(side.sync(member, generation, {member: b"mine"}, instance_id=instance), 5)
        again = ask(side.join("", version, instance_id=instance), version)
        ask(side.sync(again.member_id, again.generation_id, instance_id=instance), 5)
        ask(side.beat(member, generation, instance), 4)
        ask(side.beat(member, generation), 4)
        ask(side.beat(again.member_id, generation, "other"), 4)
        ask(side.join(member, version, instance_id=instance), version)
        ask(side.commit(1, member_id=member, generation=generation, instance_id=instance), 9)
        ask(side.leave((member, instance)), 5)
        ask(side.leave(("", instance)), 5)
    ask(DescribeGroupsRequest([side.group]), 5)


@script
def a_static_member_is_taken_over_while_it_waits(side: Side) -> None:
    """A waiting member learns at once that another one has taken its name, and again with every later request."""
    ask, connection = side.ask, side.connection
    lead = side.joined()
    ask(side.sync(lead.member_id, 1, {lead.member_id: b""}), 5)
    joins = side.later(side.join(instance_id="i"), 9)
    eventually(lambda: connection.ask(side.beat(lead.member_id, 1), 4).error_code == Error.REBALANCE_IN_PROGRESS)
    takes_over = side.later(side.join(instance_id="i"), 9)
    joins()
    ask(side.join(lead.member_id), 9)
    first = takes_over()
    syncs = side.later(side.sync(first.member_id, 2, instance_id="i"), 5)
    takes_over = side.later(side.join(instance_id="i"), 9)
    syncs()
    eventually(lambda: connection.ask(side.beat(lead.member_id, 2), 4).error_code == Error.REBALANCE_IN_PROGRESS)
    ask(side.join(lead.member_id), 9)
    second = takes_over()
    ask(side.sync(lead.member_id, 3, {lead.member_id: b"", second.member_id: b"static"}), 5)
    ask(side.sync(second.member_id, 3, instance_id="i"), 5)
    for old, generation in ((first.member_id, 2), (first.member_id, 3)):
        ask(side.sync(old, generation, instance_id="i"), 5)
        ask(side.beat(old, generation, "i"), 4)
        ask(side.join(old, instance_id="i"), 9)
        for version in (8, 9):
            ask(side.commit(1, version, member_id=old, generation=generation, instance_id="i"), version)
        ask(side.leave((old, "i")), 5)
    ask(side.commit(2, member_id=second.member_id, generation=3, instance_id="i"), 9)
    ask(DescribeGroupsRequest([side.group]), 5)


@script
def a_static_member_that_changes_what_it_reads(side: Side) -> None:
    first = side.ask(side.join(instance_id="i", protocols={"range": subscription(A)}), 9)
    side.ask(side.sync(first.member_id, 1, {first.member_id: b"a"}, instance_id="i"), 5)
    side.ask(side.join(instance_id="i", protocols={"range": subscription(B)}), 9)
    side.ask(DescribeGroupsRequest([side.group]), 5)


@script
def requests_about_a_group_that_is_not_there(side: Side) -> None:
    ask = side.ask
    ask(side.join("made-up"), 9)
    ask(side.join("made-up", instance_id="i"), 9)
    ask(side.join(session_timeout_ms=1), 9)
    ask(side.sync("m", 1), 5)
    ask(side.beat("m", 1), 4)
    ask(side.leave(("m", None), ("", "i")), 5)
    ask(LeaveGroupRequest(side.group, "m"), 1)
    ask(DeleteGroupsRequest([side.group]), 2)
    ask(OffsetDeleteRequest(side.group, [OffsetDeleteRequestTopic(A, [OffsetDeleteRequestPartition(0)])]), 0)
    for version in range(7):
        ask(DescribeGroupsRequest([side.group]), version)
    for version in range(2, 11):
        ask(side.commit(1, version, member_id="m", generation=1), version)
    for version in range(1, 11):
        ask(side.fetch(version, topics={A: [0]}), version)
    for version in (9, 10):
        ask(side.fetch(version, topics={A: [0]}, member_id="m", epoch=1), version)
    ask(side.consumer_beat("m", 1), 1)
    ask(side.consumer_beat("m", -1), 1)
    ask(ConsumerGroupDescribeRequest([side.group, ""]), 1)


@script
def an_empty_group_id(side: Side) -> None:
    group, side.group = side.group, ""
    side.ask(side.join(), 9)
    side.ask(side.sync("m", 1), 5)
    side.ask(side.beat("m", 1), 4)
    side.ask(side.leave(("m", None)), 5)
    side.ask(OffsetDeleteRequest("", [OffsetDeleteRequestTopic(A, [OffsetDeleteRequestPartition(0)])]), 0)
    side.group = group


@script
def commits_without_members(side: Side) -> None:
    ask = side.ask
    for version in range(2, 11):
        ask(side.commit(version, version, metadata=None if version == 2 else "note"), version)
        ask(side.commit(version, version, partition=99), version)
        ask(side.commit(version, version, topic="absent"), version)
        ask(side.commit(version, version, metadata="x" * 4097), version)
    ask(side.commit(1, 4, partition=1, retention_ms=3_600_000), 4)
    ask(side.fetch(9, topics={A: [0, 1, 99], "absent": [0]}), 9)
    ask(side.fetch(10), 10)
    ask(DescribeGroupsRequest([side.group]), 5)
    topics = [
        OffsetDeleteRequestTopic(A, [OffsetDeleteRequestPartition(p) for p in (0, 2, 99)]),
        OffsetDeleteRequestTopic("absent", [OffsetDeleteRequestPartition(0)]),
    ]
    ask(OffsetDeleteRequest(side.group, topics), 0)
    ask(side.fetch(9), 9)


@script
def commits_with_members(side: Side) -> None:
    lead = side.joined()
    side.ask(side.sync(lead.member_id, 1, {lead.member_id: b""}), 5)
    for version in range(2, 11):
        side.ask(side.commit(1, version, member_id=lead.member_id, generation=1), version)
        side.ask(side.commit(2, version, member_id=lead.member_id, generation=0), version)
        side.ask(side.commit(3, version, member_id="x", generation=1), version)
        side.ask(side.commit(4, version), version)
    side.ask(side.commit(5, topic=B, member_id=lead.member_id, generation=1), 9)
    rows = [OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(0)]) for topic in (A, B)]
    side.ask(OffsetDeleteRequest(side.group, rows), 0)
    side.ask(DeleteGroupsRequest([side.group]), 2)
    side.ask(side.fetch(9), 9)


@script
def offsets_in_transactions(side: Side) -> None:
    ask, tid = side.ask, side.group
    init = InitProducerIdRequest(tid, 60_000)
    started = side.connection.ask_until(init, 2, lambda a: a.error_code not in TRANSIENT)
    producer = (started.producer_id, started.producer_epoch)

    def end(commit: bool) -> None:
        ask(EndTxnRequest(tid, *producer, commit), 2)
        stable = side.fetch(9, topics={A: [0, 1]}, stable=True)
        eventually(lambda: not any(p.error_code for p in side.connection.ask(stable, 9).groups[0].topics[0].partitions))

    def begin() -> None:
        add = AddOffsetsToTxnRequest(tid, *producer, side.group)
        side.connection.ask_until(add, 2, lambda a: a.error_code != Error.CONCURRENT_TRANSACTIONS)

    for version in (0, 1, 2, 3):
        begin()
        ask(side.txn_commit(version, producer, version, transactional_id=tid), version)
        ask(side.txn_commit(9, producer, version, transactional_id=tid, topic="absent"), version)
        ask(side.txn_commit(9, producer, version, transactional_id=tid, partition=99), version)
        ask(side.fetch(9, topics={A: [0, 1]}), 9)
        ask(side.fetch(9, topics={A: [0, 1]}, stable=True), 9)
        end(commit=version != 2)
        ask(side.fetch(9, topics={A: [0, 1]}, stable=True), 9)
    begin()
    ask(side.txn_commit(50, producer, 3, transactional_id=tid), 3)
    ask(side.commit(40), 9)
    end(commit=True)
    ask(side.fetch(9, topics={A: [0]}), 9)
    begin()
    ask(side.txn_commit(60, producer, 3, transactional_id=tid), 3)
    ask(DeleteGroupsRequest([side.group]), 2)
    end(commit=True)
    ask(side.fetch(9, topics={A: [0]}), 9)


@script
def who_may_commit_in_a_transaction(side: Side) -> None:
    ask, tid = side.ask, side.group
    started = side.connection.ask_until(InitProducerIdRequest(tid, 60_000), 2, lambda a: a.error_code not in TRANSIENT)
    producer = (started.producer_id, started.producer_epoch)
    ask(side.txn_commit(1, producer, 3, transactional_id=tid), 3)
    ask(side.txn_commit(1, producer, 4, transactional_id=tid), 4)
    side.connection.ask_until(AddOffsetsToTxnRequest(tid, *producer, side.group), 2, lambda a: not a.error_code)
    ask(side.txn_commit(1, producer, 3, transactional_id=tid, generation=4), 3)
    lead = ask(side.join(instance_id="i"), 9)
    for member, generation, instance in (
        (lead.member_id, 0, "i"),
        ("x", 1, "i"),
        ("x", 1, "j"),
        ("x", 1, None),
        (lead.member_id, 2, None),
        (lead.member_id, 1, "i"),
        (lead.member_id, 1, None),
        ("", -1, None),
        ("", -1, "i"),
    ):
        ask(
            side.txn_commit(
                1, producer, 3, transactional_id=tid, member_id=member, generation=generation, instance_id=instance
            ),
            3,
        )
    ask(side.txn_commit(1, (producer[0], producer[1] + 1), 3, transactional_id=tid), 3)
    ask(side.txn_commit(1, (producer[0] + 1_000_000, 0), 3, transactional_id=tid), 3)
    ask(side.txn_commit(1, producer, 3, transactional_id="somebody-else"), 3)
    ask(EndTxnRequest(tid, *producer, False), 2)


@script
def a_consumer_group_from_its_first_member_to_its_last(side: Side) -> None:
    ask = side.ask
    ask(side.consumer_beat("a", 0), 1)
    ask(side.consumer_beat("a", 2), 1)
    ask(side.consumer_beat("a", 2, topics=[A], owned=[0, 1, 2, 3], rebalance_timeout_ms=50_000), 1)
    ask(side.consumer_beat("b", 0), 1)
    ask(ConsumerGroupDescribeRequest([side.group]), 1)
    ask(side.consumer_beat("b", 3), 1)
    ask(side.consumer_beat("a", 2, owned=[0, 1, 2, 3]), 1)
    ask(side.consumer_beat("a", 2, owned=[0, 1, 2]), 1)
    ask(side.consumer_beat("a", 2, owned=[0, 1]), 1)
    ask(side.consumer_beat("a", 2, owned=[0, 1]), 1)
    ask(side.consumer_beat("a", 2, owned=[0, 1, 2]), 1)
    ask(side.consumer_beat("b", 3, owned=[]), 1)
    ask(side.consumer_beat("b", 4), 1)
    ask(side.consumer_beat("b", 1), 1)
    ask(side.consumer_beat("x", 3), 1)
    for version in (8, 9, 10):
        ask(side.commit(1, version, member_id="a", generation=3), version)
        ask(side.commit(1, version, member_id="a", generation=2), version)
        ask(side.commit(1, version, member_id="a", generation=2, partition=3), version)
        ask(side.commit(1, version, member_id="a", generation=4), version)
        ask(side.commit(1, version, member_id="x", generation=3), version)
        ask(side.commit(1, version), version)
    for version in (9, 10):
        ask(side.fetch(version, topics={A: [0]}, member_id="a", epoch=3), version)
        ask(side.fetch(version, topics={A: [0]}, member_id="a", epoch=2), version)
        ask(side.fetch(version, topics={A: [0]}, member_id="x", epoch=3), version)
        ask(side.fetch(version, topics={A: [0]}), version)
    ask(ConsumerGroupDescribeRequest([side.group]), 0)
    ask(DescribeGroupsRequest([side.group]), 6)
    ask(DescribeGroupsRequest([side.group]), 5)
    ask(DeleteGroupsRequest([side.group]), 2)
    ask(side.consumer_beat("b", 3, topics=[A, B]), 1)
    ask(side.consumer_beat("b", -1), 1)
    ask(side.consumer_beat("a", 3, owned=[0, 1]), 1)
    ask(side.consumer_beat("a", -1), 1)
    ask(ConsumerGroupDescribeRequest([side.group]), 1)
    ask(DeleteGroupsRequest([side.group]), 2)


@script
def static_members_of_a_consumer_group(side: Side) -> None:
    ask = side.ask
    ask(side.consumer_beat("a", 0, instance_id="i"), 1)
    ask(side.consumer_beat("b", 0, instance_id="i"), 1)
    ask(side.consumer_beat("a", 0, instance_id="i"), 1)
    ask(side.consumer_beat("b", 2, instance_id="i"), 1)
    ask(side.consumer_beat("b", -1, instance_id="i"), 1)
    ask(side.consumer_beat("a", 2, instance_id="j"), 1)
    ask(side.consumer_beat("a", -2, instance_id="i"), 1)
    ask(ConsumerGroupDescribeRequest([side.group]), 1)
    ask(side.consumer_beat("b", 0, instance_id="i"), 1)
    ask(side.consumer_beat("a", 2, instance_id="i"), 1)
    ask(side.consumer_beat("b", -2, instance_id="i"), 1)
    ask(side.consumer_beat("b", 0, instance_id="i"), 1)
    ask(side.consumer_beat("b", -1, instance_id="i"), 1)


@script
def heartbeats_that_contradict_themselves(side: Side) -> None:
    good = side.consumer_beat("m", 0)
    for change in (
        {"member_id": ""},
        {"instance_id": ""},
        {"rack_id": ""},
        {"rebalance_timeout_ms": -1},
        {"topic_partitions": None},
        {"subscribed_topic_names": None},
        {"member_epoch": -2},
        {"member_epoch": -3},
        {"server_assignor": "sticky"},
        {"subscribed_topic_regex": "["},
    ):
        side.ask(good.replace(**change), 1)
    side.ask(side.consumer_beat("m", 0, assignor="range"), 1)
    side.ask(side.consumer_beat("n", 0, assignor="range"), 1)


@script
def members_with_different_topics(side: Side) -> None:
    side.ask(side.consumer_beat("a", 0, topics=[A]), 1)
    side.ask(side.consumer_beat("b", 0, topics=[B]), 1)
    side.ask(side.consumer_beat("a", 2, owned=[0, 1, 2, 3]), 1)
    side.ask(side.consumer_beat("b", 3, topics=[]), 1)
    side.ask(side.consumer_beat("b", 3, owned=[]), 1)
    side.ask(ConsumerGroupDescribeRequest([side.group]), 1)


@script
def a_group_is_upgraded_and_downgraded(side: Side) -> None:
    ask = side.ask
    lead = side.joined()
    assignment = bytes.fromhex("0001" "00000001") + len(A).to_bytes(2) + A.encode()  # fmt: skip
    assignment += (4).to_bytes(4) + b"".join(n.to_bytes(4) for n in range(4)) + b"\xff" * 4
    old = lead.member_id
    ask(side.sync(old, 1, {old: assignment}), 5)
    ask(side.commit(7, member_id=old, generation=1), 9)
    ask(side.consumer_beat("new", 0), 1)
    ask(side.beat(old, 1), 4)
    owned = {"range": subscription(A, owned={A: [0, 1, 2, 3]})}
    ask(side.join(old, protocols=owned), 9)
    ask(side.sync(old, 1), 5)
    ask(side.beat(old, 1), 4)
    half = {"range": subscription(A, owned={A: [0, 1]})}
    ask(side.join(old, protocols=half), 9)
    ask(side.sync(old, 2), 5)
    ask(side.sync(old, 2, protocol=("consumer", "sticky")), 5)
    ask(side.beat(old, 2), 4)
    ask(side.beat(old, 1), 4)
    ask(side.beat("new", 2), 4)
    ask(side.consumer_beat("new", 2), 1)
    ask(ConsumerGroupDescribeRequest([side.group]), 1)
    ask(side.join(protocols={"sticky": b""}), 9)
    ask(side.commit(8, member_id=old, generation=2), 8)
    ask(side.consumer_beat("new", -1), 1)
    ask(side.beat(old, 2), 4)
    ask(DescribeGroupsRequest([side.group]), 5)
    ask(side.join(old), 9)
    ask(side.fetch(9), 9)
    ask(side.leave((old, None)), 5)
    ask(side.consumer_beat("later", 0), 1)
    ask(side.consumer_beat("later", -1), 1)


@script
def classic_members_join_a_consumer_group(side: Side) -> None:
    ask = side.ask
    ask(side.consumer_beat("new", 0), 1)
    ask(side.join(protocol_type="connect"), 9)
    asked = ask(side.join(), 9)
    joined = ask(side.join(asked.member_id), 9)
    ask(side.sync(asked.member_id, joined.generation_id), 5)
    ask(side.leave((asked.member_id, None)), 5)
    static = ask(side.join(instance_id="i"), 9)
    ask(side.sync(static.member_id, static.generation_id, instance_id="i"), 5)
    ask(side.leave((static.member_id, "j"), ("x", "i"), (static.member_id, "i")), 5)
    ask(side.leave(("new", None)), 5)
    ask(DescribeGroupsRequest([side.group]), 5)


@script
def groups_are_listed(side: Side) -> None:
    side.joined()
    side.ask(DescribeGroupsRequest([side.group, "absent"], True), 5)
    side.ask(ConsumerGroupDescribeRequest([side.group], True), 1)
    for version in range(6):
        answer = side.connection.ask(ListGroupsRequest(), version)
        side.reported.append(side.plain([g for g in answer.groups if g.group_id == side.group]))
    for states, types in (
        (["completingrebalance"], []),
        (["Stable"], []),
        ([], ["classic"]),
        ([], ["Consumer"]),
        ([" COMPLETINGREBALANCE "], ["CLASSIC"]),
        ([], ["nonsense"]),
    ):
        answer = side.connection.ask(ListGroupsRequest(states, types), 5)
        side.reported.append(side.plain([answer.error_code, [g for g in answer.groups if g.group_id == side.group]]))


@pytest.mark.parametrize("name", SCRIPTS)
def test_kafka_and_we_answer_requests_alike_and_write_the_same_records(
    name: str, nodes: tuple[Node, Node], unique_name: str
) -> None:
    reported: list[list[Any]] = []
    logs: list[list[Any]] = []
    for node in nodes:
        side = Side(node.bootstrap_servers, unique_name)
        try:
            SCRIPTS[name](side)
            reported.append(side.reported)
            logs.append(side.log())
        finally:
            side.close()
    ours, kafkas = reported
    for number, (mine, theirs) in enumerate(zip(ours, kafkas, strict=True)):
        assert not list(differences(mine, theirs)), f"answer {number}, {mine[:2]}"
    assert not list(differences(sorted_runs(logs[0]), sorted_runs(logs[1])))


def differences(ours: Any, kafkas: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where the two differ, ours first."""
    if isinstance(ours, dict) and isinstance(kafkas, dict):
        for name in ours.keys() | kafkas.keys():
            yield from differences(ours.get(name), kafkas.get(name), f"{place}.{name}")
    elif isinstance(ours, (list, tuple)) and isinstance(kafkas, (list, tuple)) and len(ours) == len(kafkas):
        for index, (one, other) in enumerate(zip(ours, kafkas, strict=True)):
            yield from differences(one, other, f"{place}[{index}]")
    elif ours != kafkas:
        yield place, ours, kafkas


def sorted_runs(rows: list[Any]) -> list[Any]:
    """Records of one type next to each other in a fixed order, since the order of members within a batch means
    nothing.
    """
    runs: list[list[Any]] = []
    for row in rows:
        if runs and runs[-1][0][0] == row[0] and row[0].startswith("ConsumerGroup"):
            runs[-1].append(row)
        else:
            runs.append([row])
    return [row for run in runs for row in sorted(run, key=repr)]


def test_a_field_that_the_version_lacks_is_refused() -> None:
    """The scripts would hide a field that a version drops, so the codec must refuse it."""
    with pytest.raises(UnsupportedField):
        HeartbeatRequest("g", 1, "m", "i").encode(2)
