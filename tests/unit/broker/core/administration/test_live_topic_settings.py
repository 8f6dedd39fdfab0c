"""Every setting of a topic that may change while the broker runs changes what the broker does with the topic.

Each case observes the broker before and after the change, at the lowest level that shows the effect. It runs once for
the topic's own setting and once for each changeable property of the broker that provides its default.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

import oncelog
from oncelog.broker.coordinator.share.state_rules import RecordState, StateBatch
from oncelog.broker.core.cluster.cluster import Replicas
from oncelog.broker.core.cluster.node import NO_LEADER
from oncelog.broker.core.sharing.dead_letters import GivenUp
from oncelog.broker.core.storage.partition import Partition
from oncelog.broker.log import compaction
from oncelog.broker.log.partition_log import PartitionLog
from oncelog.broker.log.results import AppendResult
from oncelog.errors import Error
from oncelog.protocol.generated.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.records.batch import BatchBuilder, decode_records
from oncelog.records.compression import Compression
from oncelog.settings.config import TOPIC_SYNONYMS, TopicConfig
from oncelog.settings.fields import properties
from oncelog.settings.kafka_properties import UpdateMode, broker_properties
from oncelog.types import TopicPartition
from tests.unit.broker.core.conftest import NOW_MS, Admin
from tests.unit.broker.log.batches import headers, roll

TOPIC, BROKER, GROUP = 2, 4, 32
T0 = TopicPartition("t", 0)
SOURCE = Path(oncelog.__file__).parent


class World:
    """A broker with the topic ``t`` and a way to change one of its settings."""

    def __init__(self, admin: Admin, given: Mapping[str, str], resource: tuple[int, str], setting: str) -> None:
        self.admin, self.broker = admin, admin.broker
        self._resource, self._setting = resource, setting
        self.broker.topics.create("t", 1, given, NOW_MS, 3)

    @property
    def partition(self) -> Partition:
        found = self.broker.partition(T0)
        assert found is not None
        return found

    @property
    def log(self) -> PartitionLog:
        return self.partition.log

    @property
    def replicas(self) -> Replicas:
        assert self.broker.cluster is not None
        return self.broker.cluster.replicas(T0)

    def change(self, value: object) -> None:
        self.alter(self._resource, self._setting, value)

    def alter(self, resource: tuple[int, str], setting: str, value: object) -> None:
        kind, name = resource
        config = AlterableConfig(name=setting, config_operation=0, value=str(value))
        request = IncrementalAlterConfigsRequest(
            resources=[AlterConfigsResource(resource_type=kind, resource_name=name, configs=[config])]
        )
        (answer,) = self.admin.ask(request).responses
        assert answer.error_code == 0, answer.error_message

    def append(
        self,
        value: bytes | None = b"v",
        *,
        key: bytes | None = b"k",
        timestamp: int = NOW_MS,
        now_ms: int = NOW_MS,
        compression: Compression = Compression.NONE,
    ) -> AppendResult:
        return self.partition.append_client(_batch(value, key, timestamp, compression), now_ms)

    def fill(self, count: int, value: bytes | None = b"v", *, key: bytes | None = b"k") -> None:
        for number in range(count):
            assert self.append(value, key=key, timestamp=NOW_MS + number).error is Error.NONE

    def segment(self, count: int = 5, value: bytes | None = b"v", *, key: bytes | None = b"k") -> None:
        """A closed segment of the given number of batches."""
        self.fill(count, value, key=key)
        roll(self.log, NOW_MS)

    def compact(self, now_ms: int) -> None:
        job = compaction.plan(self.log, 0, now_ms, force=True)
        assert job is not None
        job.run()
        job.finish(self.log, now_ms)

    def keys(self) -> set[bytes | None]:
        return {record.key for _, data in self.log.batches(0) for record in decode_records(data)}

    def bases(self) -> list[int]:
        return [segment.base_offset for segment in self.log.segments]

    def deleted_files(self, base_offset: int) -> list[str]:
        begin = f"{base_offset:020}"
        return [name for name in self.log.disk.list("t-0") if name.startswith(begin) and name.endswith(".deleted")]

    def node_leaves(self, node_id: int) -> None:
        assert self.broker.cluster is not None
        self.broker.cluster.member(node_id).running = False
        self.broker.cluster.leave(node_id)

    def sync(self) -> None:
        job = self.broker.flushing.take(NOW_MS)
        assert job is not None
        self.broker.flushing.done(job, job.sync(), NOW_MS)


def _batch(
    value: bytes | None, key: bytes | None, timestamp: int, compression: Compression = Compression.NONE
) -> bytearray:
    builder = BatchBuilder()
    builder.append(timestamp, key, value)
    return builder.build(compression=compression)


Case = Callable[[World], None]
CASES: dict[str, tuple[Mapping[str, str], Case]] = {}
NODES = {"min.insync.replicas", "unclean.leader.election.enable"}
"""Settings that concern several nodes."""
WORDS = b" ".join(str(number * number).encode() for number in range(5000))


def case(name: str, **given: str) -> Callable[[Case], Case]:
    """Registers the case of a setting; ``given``: other settings that the topic is created with."""

    def registered(function: Case) -> Case:
        CASES[name] = {setting.replace("_", "."): value for setting, value in given.items()}, function
        return function

    return registered


@case("cleanup.policy")
def _(world: World) -> None:
    assert world.append(key=None).error is Error.NONE
    world.change("compact")
    assert world.append(key=None).error is Error.INVALID_RECORD


@case("compression.type")
def _(world: World) -> None:
    world.append(bytes(1000))
    world.change("zstd")
    world.append(bytes(1000))
    assert [header.compression for header in headers(world.log)] == [Compression.NONE, Compression.ZSTD]


def level(least: int, most: int) -> Case:
    def smaller_at_the_higher_level(world: World) -> None:
        world.change(least)
        world.append(WORDS)
        world.change(most)
        world.append(WORDS)
        quick, small = (header.size_bytes for header in headers(world.log))
        assert small < quick

    return smaller_at_the_higher_level


case("compression.gzip.level", compression_type="gzip")(level(1, 9))
case("compression.lz4.level", compression_type="lz4")(level(1, 12))
case("compression.zstd.level", compression_type="zstd")(level(1, 19))


@case("delete.retention.ms", cleanup_policy="compact", file_delete_delay_ms="0")
def _(world: World) -> None:
    world.fill(1, None, key=b"kept")
    world.segment(1, key=b"other")
    world.compact(NOW_MS)
    world.change(1000)
    world.fill(1, None, key=b"gone")
    world.segment(1, key=b"other")
    world.compact(NOW_MS)
    world.compact(NOW_MS + 2000)
    assert world.keys() == {b"kept", b"other"}


@case("errors.deadletterqueue.group.enable")
def _(world: World) -> None:
    def write_a_dead_letter() -> None:
        given_up = GivenUp("g", world.partition, [(StateBatch(0, 0, RecordState.ARCHIVING, 1), True)])
        assert world.broker.sharing.dead_letters.write(given_up, NOW_MS).succeeded

    world.fill(1)
    world.alter((BROKER, ""), "errors.deadletterqueue.topic.name.prefix", "t")
    world.alter((GROUP, "g"), "errors.deadletterqueue.topic.name", "t")
    write_a_dead_letter()
    assert world.log.log_end_offset == 1
    world.change("true")
    write_a_dead_letter()
    assert world.log.log_end_offset == 2


@case("file.delete.delay.ms", retention_ms="1000")
def _(world: World) -> None:
    world.segment()
    world.log.trimmer.apply_retention(NOW_MS + 5000)
    world.log.files.remove_deleted_files(NOW_MS + 5500)
    assert world.deleted_files(0)
    world.change(500)
    world.segment()
    world.log.trimmer.apply_retention(NOW_MS + 5000)
    assert world.deleted_files(5)
    world.log.files.remove_deleted_files(NOW_MS + 5500)
    assert world.deleted_files(0)
    assert not world.deleted_files(5)


@case("flush.messages")
def _(world: World) -> None:
    world.fill(1)
    assert not world.broker.flushing.wanted
    assert world.partition.when_committed(1).done
    world.change(2)
    world.fill(1)
    committed = world.partition.when_committed(2)
    assert world.broker.flushing.wanted
    assert not committed.done
    world.sync()
    assert committed.value is Error.NONE
    assert world.log.flushed_offset == 2
    world.fill(1)
    assert world.partition.when_committed(3).done, "one record waits: fewer than two"


@case("flush.ms")
def _(world: World) -> None:
    world.fill(1)
    world.broker.advance(NOW_MS + 20_000)
    assert not world.broker.flushing.wanted
    world.change(60_000)
    world.broker.advance(NOW_MS + 59_999)
    assert not world.broker.flushing.wanted
    world.broker.advance(NOW_MS + 60_000)
    assert world.broker.flushing.wanted
    world.sync()
    assert world.log.flushed_offset == 1


@case("index.interval.bytes")
def _(world: World) -> None:
    def entries() -> int:
        world.log.files.write_indexes()
        return len(world.log.disk.read(f"t-0/{0:020}.index")) // 8

    world.fill(10)
    assert entries() == 0
    world.change(0)
    world.fill(10)
    assert entries() == 10


@case("internal.segment.bytes")
def _(world: World) -> None:
    world.fill(10)
    assert world.bases() == [0]
    world.change(100)
    world.fill(1)
    assert world.bases() == [0, 10]


@case("max.compaction.lag.ms", cleanup_policy="compact", min_cleanable_dirty_ratio="1")
def _(world: World) -> None:
    world.segment()
    assert compaction.plan(world.log, 0, NOW_MS + 5000) is None
    world.change(1000)
    assert compaction.plan(world.log, 0, NOW_MS + 5000) is not None


@case("max.decompressed.message.bytes")
def _(world: World) -> None:
    assert world.append(bytes(2000), compression=Compression.GZIP).error is Error.NONE
    world.change(1000)
    assert world.append(bytes(2000), compression=Compression.GZIP).error is Error.INVALID_RECORD


@case("max.message.bytes")
def _(world: World) -> None:
    assert world.append(bytes(2000)).error is Error.NONE
    world.change(1000)
    assert world.append(bytes(2000)).error is Error.MESSAGE_TOO_LARGE


@case("message.timestamp.after.max.ms")
def _(world: World) -> None:
    assert world.append(timestamp=NOW_MS + 60_000).error is Error.NONE
    world.change(1000)
    assert world.append(timestamp=NOW_MS + 60_000).error is Error.INVALID_TIMESTAMP


@case("message.timestamp.before.max.ms")
def _(world: World) -> None:
    assert world.append(timestamp=NOW_MS - 60_000).error is Error.NONE
    world.change(1000)
    assert world.append(timestamp=NOW_MS - 60_000).error is Error.INVALID_TIMESTAMP


@case("message.timestamp.type")
def _(world: World) -> None:
    assert world.append().log_append_time_ms == -1
    world.change("LogAppendTime")
    assert world.append(now_ms=NOW_MS + 7).log_append_time_ms == NOW_MS + 7


@case("min.cleanable.dirty.ratio", cleanup_policy="compact")
def _(world: World) -> None:
    world.segment(3)
    world.segment(1)
    assert compaction.plan(world.log, 3, NOW_MS) is None
    world.change(0.1)
    assert compaction.plan(world.log, 3, NOW_MS) is not None


@case("min.compaction.lag.ms", cleanup_policy="compact")
def _(world: World) -> None:
    world.segment()
    assert compaction.plan(world.log, 0, NOW_MS + 5000) is not None
    world.change(60_000)
    assert compaction.plan(world.log, 0, NOW_MS + 5000) is None


@case("min.insync.replicas")
def _(world: World) -> None:
    def answer() -> int:
        data = PartitionProduceData(index=0, records=bytes(_batch(b"v", b"k", NOW_MS)))
        topic = TopicProduceData(name="t", partition_data=[data])
        request = ProduceRequest(transactional_id=None, acks=-1, timeout_ms=1000, topic_data=[topic])
        response = world.admin.ask(request, 9, node_id=world.replicas.leader)
        return int(response.responses[0].partition_responses[0].error_code)

    for node_id in {1, 2, 3} - {world.replicas.leader}:
        world.node_leaves(node_id)
    assert answer() == Error.NONE
    world.change(2)
    assert answer() == Error.NOT_ENOUGH_REPLICAS


@case("retention.bytes")
def _(world: World) -> None:
    world.segment()
    world.segment()
    assert world.log.trimmer.apply_retention(NOW_MS) == 0
    world.change(1)
    assert world.log.trimmer.apply_retention(NOW_MS) == 1


@case("retention.ms")
def _(world: World) -> None:
    world.segment()
    assert world.log.trimmer.apply_retention(NOW_MS + 5000) == 0
    world.change(1000)
    assert world.log.trimmer.apply_retention(NOW_MS + 5000) == 1


@case("segment.bytes")
def _(world: World) -> None:
    world.fill(2, bytes(600_000))
    assert world.bases() == [0]
    world.change(1 << 20)
    world.fill(1, bytes(600_000))
    assert world.bases() == [0, 2]


@case("segment.index.bytes", index_interval_bytes="0")
def _(world: World) -> None:
    world.fill(10)
    assert world.bases() == [0]
    world.change(24)
    world.fill(1)
    assert world.bases() == [0, 10]


@case("segment.jitter.ms", segment_ms="100000")
def _(world: World) -> None:
    world.append(timestamp=NOW_MS)
    world.append(timestamp=NOW_MS + 100_000)
    assert world.bases() == [0]
    world.change(100_000)
    world.append(timestamp=NOW_MS + 100_000)
    assert world.bases() == [0, 2]


@case("segment.ms")
def _(world: World) -> None:
    world.append(timestamp=NOW_MS)
    world.append(timestamp=NOW_MS + 5000)
    assert world.bases() == [0]
    world.change(1000)
    world.append(timestamp=NOW_MS + 5000)
    assert world.bases() == [0, 2]


@case("unclean.leader.election.enable")
def _(world: World) -> None:
    first, *others = world.replicas.assigned
    for node_id in others:
        world.node_leaves(node_id)
    world.fill(1)
    world.node_leaves(first)
    assert world.broker.cluster is not None
    world.broker.cluster.member(others[0]).running = True
    world.broker.cluster.join(others[0])
    assert world.replicas.leader == NO_LEADER
    world.change("true")
    assert world.replicas.leader == others[0]
    assert world.log.log_end_offset == 0, "what it lacked is gone"


WITH_EFFECT = {name for name, f in properties(TopicConfig).items() if f.metadata["effect"]}


def ways() -> Iterator[tuple[str, tuple[int, str], str]]:
    """The topic's setting, the resource whose setting is changed, and the setting's name there."""
    for name in sorted(WITH_EFFECT):
        yield name, (TOPIC, "t"), name
        for synonym, factor in TOPIC_SYNONYMS.get(name, ()):
            if broker_properties()[synonym].update is not UpdateMode.READ_ONLY:
                assert factor == 1
                yield name, (BROKER, ""), synonym


@pytest.mark.parametrize(
    ("name", "resource", "setting"), [pytest.param(*way, id=f"{way[1][0]}-{way[2]}") for way in ways()]
)
def test_a_changed_topic_setting_has_its_effect_at_once(name: str, resource: tuple[int, str], setting: str) -> None:
    given, check = CASES[name]
    admin = Admin(nodes=(1, 2, 3) if name in NODES else ())
    check(World(admin, given, resource, setting))
    admin.broker.stop(NOW_MS + 100_000)


def test_every_topic_setting_with_an_effect_has_a_case_of_this_test() -> None:
    assert set(CASES) == WITH_EFFECT


def test_a_topic_setting_is_documented_as_having_an_effect_exactly_if_the_code_reads_it() -> None:
    read = set()
    for path in SOURCE.rglob("*.py"):
        if path.name != "config.py" and "generated" not in path.parts:
            read.update(re.findall(r"config\.(\w+)\b", path.read_text()))
    through_others = {"segment_ms", "internal_segment_bytes"}  # by longest_segment_ms and segment_bytes
    only_refused = {"remote_storage_enable"}
    fields = {name: f.name for name, f in properties(TopicConfig).items()}
    assert {name for name, field in fields.items() if field in (read | through_others) - only_refused} == WITH_EFFECT
