"""Requests with many elements, for each API that the broker serves and each array that its request has.

The shapes come from the tables of the messages, so that a new API or array is measured and tested too: for each chain
of arrays (topics, their partitions) one shape with many elements in the first array, and one with many in each array
below. The values are such that the broker does the work: topics and groups exist, producers own their transactions.
Called by ``benchmarks.iterations`` and ``tests/hostile``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple

from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.broker.core.registry import SERVED
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreateTopicsRequest
from oncelog.protocol.generated.describe_transactions_request import DescribeTransactionsRequest
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.protocol.messages import TITLES, request_type
from oncelog.protocol.struct_fields import ElementLimit
from oncelog.protocol.wire import Message
from tools.codec.schema import Field, MessageDef, StructDef, load_messages

WIDE: Final = "wide"
"""A topic with many partitions; the topics ``t0``, ``t1``, ... have one each."""
INVALID_TXN_STATE: Final = 48
CREATED_AT_ONCE: Final = 5000
PIPELINED: Final = 200
VERSIONS: Final = {
    ApiKey.PRODUCE: (9, 13),
    ApiKey.FETCH: (12, 17),
    ApiKey.METADATA: (12,),
    ApiKey.OFFSET_FETCH: (7, 10),
    ApiKey.ADD_PARTITIONS_TO_TXN: (3, 5),
    ApiKey.JOIN_GROUP: (3,),
    ApiKey.DELETE_TOPICS: (5, 6),
    ApiKey.OFFSET_COMMIT: (9, 10),
    ApiKey.TXN_OFFSET_COMMIT: (5, 6),
}
"""Versions whose arrays, or whose ways to name a topic, differ; of other APIs the highest."""
LEFT_EMPTY: Final = {"assignments", "acknowledgement_batches", "broker_ids", "replicas"}
"""Arrays that a shape leaves empty unless it is about them: with them the request would mean something else."""

NOT_NULL: Final = {"topic_partitions"}
"""Nullable arrays that are empty in a shape about another array: a member that joins says that it owns no partition."""


class World:
    """What the requests name, in one broker: topics with their ids, groups and a transactional producer."""

    def __init__(self, ids: dict[str, bytes], topics: int, partitions: int, producer: tuple[int, int]) -> None:
        self.ids, self.topics, self.partitions, self.producer = ids, topics, partitions, producer
        self.serial = self.share_epoch = self.member_epoch = self.joined = 0


class Shape(NamedTuple):
    """One way to have many elements in one request of an API.

    :ivar chain: arrays from the request's own down to the innermost; ``many`` is the index of the one with many.
    """

    api_key: ApiKey
    version: int
    chain: tuple[str, ...]
    many: int
    empty: bool

    def __str__(self) -> str:
        counts = ["1"] * len(self.chain)
        counts[self.many] = "n"
        for below in range(self.many + 1, len(self.chain)):
            counts[below] = "0" if self.empty else "1"
        arrays = ", ".join(f"{count} {name}" for count, name in zip(counts, self.chain, strict=True) if count != "0")
        return f"{TITLES[self.api_key]} {self.version}: {arrays}"


@cache
def _messages() -> dict[int, MessageDef]:
    return {message.key: message for message in load_messages() if message.kind == "request"}


def shapes() -> list[Shape]:
    """All shapes of all APIs that the broker serves."""
    found = []
    for key in SERVED:
        for version in VERSIONS.get(ApiKey(key), (SERVED[key].high,)):
            known = set()
            for chain in _chains(_messages()[key].root, version):
                for many in range(len(chain)):
                    for empty in (False, True) if many + 1 < len(chain) else (False,):
                        arrays = chain[: many + 1] if empty else chain
                        if (arrays, many) not in known:
                            known.add((arrays, many))
                            found.append(Shape(ApiKey(key), version, chain, many, empty))
    return found


def _chains(struct: StructDef, version: int) -> Iterator[tuple[str, ...]]:
    for field in struct.fields:
        if field.is_array and version in field.versions:
            below = list(_chains(field.struct, version)) if field.struct is not None else []
            yield from ((field.attribute, *chain) for chain in below or [()])


def build(shape: Shape, world: World, entries: int) -> Message:
    """A request of this shape, with so many entries in its long array."""
    world.serial += 1
    made: Message = _Builder(shape, world, entries).message()
    return made


def precede(shape: Shape, client: RawConnection, world: World) -> None:
    """Make what a request of this shape needs, or it would only be refused."""
    if shape.api_key in (ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.TXN_OFFSET_COMMIT):
        end = EndTxnRequest("tx0", *world.producer, False)
        client.ask_until(end, 3, lambda answer: answer.error_code in (0, INVALID_TXN_STATE))
        asked = DescribeTransactionsRequest(transactional_ids=["tx0"])
        client.ask_until(asked, 0, lambda answer: not answer.transaction_states[0].transaction_state.startswith("Prep"))
    if shape.api_key in (ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE):
        world.share_epoch = -1
        close = build(Shape(ApiKey.SHARE_FETCH, shape.version, ("topics",), 0, False), world, 0)
        client.ask(close, shape.version)
        world.share_epoch = 0
        if "acknowledgement_batches" in shape.chain or shape.api_key == ApiKey.SHARE_ACKNOWLEDGE:
            of_session = Shape(ApiKey.SHARE_FETCH, shape.version, ("topics", "partitions"), min(shape.many, 1), False)
            client.ask(build(of_session, world, 2000), shape.version)
            world.share_epoch = 1
    if shape.api_key == ApiKey.CONSUMER_GROUP_HEARTBEAT:
        world.member_epoch = world.joined = 0
        if shape.chain[0] == "topic_partitions":  # only a member may own partitions
            join = build(Shape(shape.api_key, shape.version, ("subscribed_topic_names",), 0, False), world, 1)
            world.joined = world.serial
            world.member_epoch = client.ask(join, shape.version).member_epoch


def elements(request: Message, version: int) -> int:
    """How many elements the broker counts."""
    limit = ElementLimit(10**9)
    type(request).decode_prefix(request.encode(version), version, 0, limit)
    return limit.count


def max_entries(shape: Shape, world: World, limit: int) -> int:
    """The most entries with which a request of this shape has at most so many elements."""
    one, two = (elements(build(shape, world, count), shape.version) for count in (1, 2))
    return (limit - (2 * one - two)) // (two - one)


class _Builder:
    def __init__(self, shape: Shape, world: World, entries: int) -> None:
        self._shape, self._world, self._entries = shape, world, entries
        self._title = TITLES[shape.api_key]
        self._module: Any = import_module(f"oncelog.protocol.generated.{shape.api_key.name.lower()}_request")

    def message(self) -> Any:
        return request_type(self._shape.api_key)(**self._fields(_messages()[self._shape.api_key].root, 0, 0, True))

    def _fields(self, struct: StructDef, depth: int, index: int, on_chain: bool) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for field in struct.fields:
            if self._shape.version not in field.versions:
                continue
            if field.is_array:
                values[field.attribute] = self._array(field, depth, index, on_chain)
            else:
                value = self._scalar(field.attribute, depth, index)
                if value is not None:
                    values[field.attribute] = value
        return values

    def _array(self, field: Field, depth: int, index: int, on_chain: bool) -> Any:
        chain, many = self._shape.chain, self._shape.many
        if on_chain and depth < len(chain) and chain[depth] == field.attribute:
            count = 1 if depth < many else self._entries if depth == many else 0 if self._shape.empty else 1
            inner = True
        else:
            nothing = depth == 0 or field.attribute in LEFT_EMPTY or self._shape.empty
            count, inner = 0 if nothing else 1, False
            if nothing and self._shape.version in field.nullable and field.attribute not in NOT_NULL:
                return None
        # an array of one among many takes the number of the one that has it
        numbers = range(count) if count > 1 or depth == 0 else [index] * count
        if field.struct is None:
            return [self._scalar(field.attribute, depth + 1, number) for number in numbers]
        made = getattr(self._module, field.struct.name)
        return [made(**self._fields(field.struct, depth + 1, number, inner)) for number in numbers]

    def _scalar(self, name: str, depth: int, index: int) -> Any:
        of_api = VALUES.get((self._title, name, depth)) or VALUES.get((self._title, name))
        value = of_api or VALUES.get(("", name, depth)) or VALUES.get(("", name))
        return None if value is None else value(self, index)

    # --- values

    def topic(self, index: int) -> str:
        """The topic of the shape: the wide one if the partitions are many, else one of many."""
        partitions_are_many = self._shape.many > 0
        return WIDE if partitions_are_many else f"t{index % self._world.topics}"

    def topic_id(self, index: int) -> bytes:
        return self._world.ids[self.topic(index)]

    def partition(self, index: int) -> int:
        return index % self._world.partitions if self._shape.many > 0 else 0

    def new_name(self, index: int) -> str:
        return f"new-{self._world.serial}-{index}"

    @property
    def world(self) -> World:
        return self._world


Value = Callable[[_Builder, int], Any]
_BATCH: Final = batch(b"v")
_FOREVER: Final = 60_000


def _always(value: Any) -> Value:
    return lambda _builder, _index: value


def _numbered(text: str) -> Value:
    return lambda _builder, index: f"{text}{index}"


_topic: Value = _Builder.topic
_partition: Value = _Builder.partition
_producer_id: Value = lambda builder, _: builder.world.producer[0]  # noqa: E731
_epoch: Value = lambda builder, _: builder.world.producer[1]  # noqa: E731
_later: Value = lambda _builder, _index: int(time.time() * 1000)  # noqa: E731

VALUES: Final[dict[tuple[str, str] | tuple[str, str, int], Value]] = {
    **{("", name): _topic for name in ("topic", "name", "topic_name", "topics", "topic_names", "resource_name")},
    ("", "subscribed_topic_names"): lambda builder, index: f"t{index % builder.world.topics}",
    ("", "topic_id"): _Builder.topic_id,
    **{
        ("", name): _partition
        for name in ("partition", "partition_index", "partitions", "partition_indexes", "index", "partition_id")
    },
    **{("", name): _numbered("g") for name in ("groups", "group_ids", "groups_names", "coordinator_keys", "group_id")},
    ("", "group_id", 0): _always("g0"),
    ("", "member_id"): _always(""),
    ("", "transactional_id", 0): _always(None),
    ("", "timeout_ms"): _always(_FOREVER),
    ("", "records"): _always(_BATCH),
    ("", "acks"): _always(-1),
    **{("", name): _always(1) for name in ("broker_ids", "replicas", "acknowledge_types")},
    ("", "share_session_epoch"): lambda builder, _: builder.world.share_epoch,
    ("", "max_wait_ms"): _always(0),
    ("", "max_bytes"): _always(1 << 24),
    ("", "partition_max_bytes"): _always(1 << 20),
    ("", "session_epoch"): _always(-1),
    ("", "replica_id", 0): _always(-1),
    ("", "committed_offset"): _always(1),
    ("", "committed_metadata"): _always(""),
    ("", "timestamp"): _always(-1),
    ("", "resource_type"): _always(2),
    ("", "producer_id"): _producer_id,
    ("", "producer_epoch"): _epoch,
    ("", "transactional_ids"): _numbered("tx"),
    ("OffsetFetch", "member_epoch"): _always(-1),
    ("TxnOffsetCommit", "transactional_id"): _always("tx0"),
    ("AddPartitionsToTxn", "transactional_id"): _numbered("tx"),
    ("AddPartitionsToTxn", "v3_and_below_transactional_id"): _always("tx0"),
    ("AddPartitionsToTxn", "v3_and_below_producer_id"): _producer_id,
    ("AddPartitionsToTxn", "v3_and_below_producer_epoch"): _epoch,
    ("JoinGroup", "group_id"): lambda builder, _: f"joins-{builder.world.serial}",
    ("JoinGroup", "name"): _numbered("p"),
    ("JoinGroup", "metadata"): _always(b"m" * 50),
    ("JoinGroup", "protocol_type"): _always("consumer"),
    ("JoinGroup", "session_timeout_ms"): _always(10_000),
    ("JoinGroup", "rebalance_timeout_ms"): _always(10_000),
    ("SyncGroup", "member_id", 1): _numbered("m"),
    ("SyncGroup", "assignment"): _always(b"a" * 50),
    ("LeaveGroup", "member_id"): _numbered("m"),
    ("CreateTopics", "name", 1): _Builder.new_name,
    ("CreateTopics", "num_partitions"): _always(1),
    ("CreateTopics", "replication_factor"): _always(1),
    ("CreateTopics", "name", 2): _always("retention.ms"),
    ("CreateTopics", "value"): _always("1000000"),
    ("DeleteTopics", "topic_names"): _numbered("gone-"),
    ("DeleteTopics", "name"): _numbered("gone-"),
    ("DeleteTopics", "topic_id"): _always(bytes(16)),
    ("CreatePartitions", "count"): lambda builder, _: builder.world.serial + 1,
    ("DeleteRecords", "offset"): _always(-1),
    ("CreateAcls", "resource_name"): _numbered("acl-"),
    ("CreateAcls", "resource_pattern_type"): _always(3),
    ("CreateAcls", "principal"): _always("User:a"),
    ("CreateAcls", "host"): _always("*"),
    ("CreateAcls", "operation"): _always(3),
    ("CreateAcls", "permission_type"): _always(3),
    ("DeleteAcls", "resource_type_filter"): _always(2),
    ("DeleteAcls", "resource_name_filter"): _numbered("acl-"),
    ("DeleteAcls", "pattern_type_filter"): _always(3),
    ("DeleteAcls", "operation"): _always(1),
    ("DeleteAcls", "permission_type"): _always(1),
    ("DescribeConfigs", "configuration_keys"): _numbered("key."),
    ("DescribeConfigs", "resource_name"): lambda builder, index: f"t{index % builder.world.topics}",
    **{
        entry: value
        for title in ("AlterConfigs", "IncrementalAlterConfigs")
        for entry, value in {
            (title, "resource_name"): lambda builder, index: f"t{index % builder.world.topics}",
            (title, "name"): _always("retention.ms"),
            (title, "value"): lambda builder, _: str(1_000_000 + builder.world.serial),
            (title, "config_operation"): _always(0),
        }.items()
    },
    ("AlterReplicaLogDirs", "path"): _numbered("/elsewhere"),
    ("CreateDelegationToken", "principal_type"): _always("User"),
    ("CreateDelegationToken", "principal_name"): _numbered("u"),
    ("DeleteGroups", "groups_names"): _numbered("gone-"),
    ("OffsetDelete", "group_id"): _always("g0"),
    ("DescribeClientQuotas", "entity_type"): _always("user"),
    ("DescribeClientQuotas", "match_type"): _always(0),
    ("DescribeClientQuotas", "match"): _numbered("u"),
    ("AlterClientQuotas", "entity_type"): _always("user"),
    ("AlterClientQuotas", "entity_name"): _numbered("u"),
    ("AlterClientQuotas", "key"): _always("producer_byte_rate"),
    ("AlterClientQuotas", "value"): lambda builder, _: 1e6 + builder.world.serial,
    ("AlterUserScramCredentials", "name"): _numbered("u"),
    ("AlterUserScramCredentials", "mechanism"): _always(1),
    ("AlterUserScramCredentials", "iterations"): _always(4096),
    ("AlterUserScramCredentials", "salt"): _always(b"salt"),
    ("AlterUserScramCredentials", "salted_password"): _always(b"p" * 32),
    ("DescribeUserScramCredentials", "name"): _numbered("u"),
    ("UpdateFeatures", "feature"): _numbered("feature."),
    ("DescribeQuorum", "topic_name"): _numbered("t"),
    ("ListTransactions", "state_filters"): _numbered("S"),
    ("ListTransactions", "producer_id_filters"): lambda _, index: index,
    ("ListTransactions", "duration_filter"): _always(-1),
    ("ListGroups", "states_filter"): _numbered("S"),
    ("ListGroups", "types_filter"): _numbered("T"),
    ("ListConfigResources", "resource_types"): lambda _, index: index % 100,
    ("ConsumerGroupHeartbeat", "group_id"): lambda builder, _: (
        f"consumer-{builder.world.joined or builder.world.serial}"
    ),
    ("ConsumerGroupHeartbeat", "member_epoch"): lambda builder, _: builder.world.member_epoch,
    ("ConsumerGroupHeartbeat", "member_id"): _always("AAAAAAAAAAAAAAAAAAAAAA"),
    ("ConsumerGroupHeartbeat", "rebalance_timeout_ms"): _always(10_000),
    ("ShareGroupHeartbeat", "group_id"): lambda builder, _: f"share-{builder.world.serial}",
    ("ShareGroupHeartbeat", "member_id"): _always("AAAAAAAAAAAAAAAAAAAAAA"),
    ("ShareFetch", "group_id"): _always("shares"),
    ("ShareFetch", "member_id"): _always("AAAAAAAAAAAAAAAAAAAAAA"),
    ("ShareAcknowledge", "group_id"): _always("shares"),
    ("ShareAcknowledge", "member_id"): _always("AAAAAAAAAAAAAAAAAAAAAA"),
    ("AlterShareGroupOffsets", "group_id"): _always("shares"),
    ("DeleteShareGroupOffsets", "group_id"): _always("shares"),
    ("DescribeTopicPartitions", "response_partition_limit"): _always(2000),
}


def prepare(client: RawConnection, topics: int, partitions: int, groups: int) -> World:
    """Make what the requests name."""
    client.create_topic(WIDE, partitions=min(partitions, CREATED_AT_ONCE))
    for count in range(2 * CREATED_AT_ONCE, partitions + CREATED_AT_ONCE, CREATED_AT_ONCE):
        grown = CreatePartitionsTopic(WIDE, min(count, partitions), None)
        _first_error(client.ask(CreatePartitionsRequest([grown], _FOREVER, False), 3).results)
    names = [f"t{number}" for number in range(topics)]
    for part in _parts(names, CREATED_AT_ONCE):
        made = [CreatableTopic(name, 1, 1) for name in part]
        _first_error(client.ask(CreateTopicsRequest(made, _FOREVER), 7).topics)
    asked = [MetadataRequestTopic(name=name) for name in (WIDE, *names)]
    ids = {topic.name: topic.topic_id for topic in client.ask(MetadataRequest(asked, False), 12).topics}
    for kind in (0, 1):
        find = FindCoordinatorRequest(key_type=kind, coordinator_keys=["g0"])
        client.ask_until(find, 4, lambda answer: answer.coordinators[0].error_code == 0)
    offset = [OffsetCommitRequestTopic(WIDE, partitions=[OffsetCommitRequestPartition(0, 1, -1, "")])]
    for part in _parts([f"g{number}" for number in range(groups)], PIPELINED):
        for name in part:
            request = OffsetCommitRequest(name, topics=offset)
            client.send(request.API_KEY, 8, request.encode(8))
        for _ in part:
            client.receive_frame()
    given = client.ask(InitProducerIdRequest(transactional_id="tx0", transaction_timeout_ms=_FOREVER), 4)
    _first_error([given])
    return World(ids, topics, partitions, (given.producer_id, given.producer_epoch))


def _parts(names: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (names[start : start + size] for start in range(0, len(names), size))


def _first_error(results: Sequence[Any]) -> None:
    for result in results:
        if result.error_code:
            raise RuntimeError(f"what the requests name could not be made: {result}")
