"""The contents of a data folder: a damaged file is repaired, or refused by name at the start; so are internal
records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

from oncelog.apps.promote.kraft import Quorum, snapshot_of
from oncelog.broker.coordinator.runtime import LoggedMarker, LoggedRecord
from oncelog.broker.log.dump import Damage, dump_file
from oncelog.broker.log.partition_log import PartitionLog
from oncelog.broker.server.disk.memory_disk import MemoryDisk
from oncelog.errors import OncelogError
from oncelog.protocol.codec_errors import ProtocolError
from oncelog.protocol.generated.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.list_groups_request import ListGroupsRequest
from oncelog.protocol.generated.list_transactions_request import ListTransactionsRequest
from oncelog.protocol.generated.metadata_request import MetadataRequest
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.internal_records import (
    decode_group_record,
    decode_transaction_value,
    encode_record_key,
    encode_record_value,
    encode_transaction_key,
    encode_transaction_value,
)
from oncelog.records.batch import encode_batch
from oncelog.records.record import Record
from oncelog.types import (
    CONSUMER_OFFSETS_TOPIC,
    NO_PRODUCER,
    TRANSACTION_STATE_TOPIC,
    ProducerIdAndEpoch,
    TopicPartition,
    encode_uuid,
)
from tests.hostile.fuzz.target import Target, one_at_a_time, printed
from tests.hostile.fuzz.targets.wire import FAILURES, SETTINGS, LikelySource, likely
from tests.unit.broker.core.conftest import NOW_MS, Admin
from tests.unit.protocol.message_values import MESSAGES, make_message

HOUR_MS = 3_600_000
ID = "id"
CLEAN = ".kafka_cleanshutdown"
KRAFT_SNAPSHOT = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"


# --- files


def _produce(admin: Admin, topic: str, batch: bytes | bytearray, transactional_id: str | None = None) -> None:
    data = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(0, batch)])]
    (answer,) = admin.ask(ProduceRequest(transactional_id, -1, 30_000, data), 9).responses
    assert answer.partition_responses[0].error_code == 0


def _transaction(admin: Admin, commit: bool) -> None:
    begun = admin.ask(InitProducerIdRequest(transactional_id=ID, transaction_timeout_ms=60_000), 4)
    identity = begun.producer_id, begun.producer_epoch
    topics = [AddPartitionsToTxnTopic("orders", [0])]
    admin.ask(
        AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=ID,
            v3_and_below_producer_id=identity[0],
            v3_and_below_producer_epoch=identity[1],
            v3_and_below_topics=topics,
        ),
        3,
    )
    batch = encode_batch(
        [Record(0, NOW_MS, b"k", b"v" * 50)],
        producer_id=identity[0],
        producer_epoch=identity[1],
        base_sequence=0,
        transactional=True,
    )
    _produce(admin, "orders", batch, ID)
    admin.ask(EndTxnRequest(ID, *identity, commit), 3)


@cache
def folder() -> dict[str, bytes]:
    """A data folder as a clean stop leaves it: segments with all their indexes, both internal topics, checkpoints."""
    disk = MemoryDisk()
    admin = Admin(disk=disk, **SETTINGS)
    broker = admin.broker
    broker.topics.create("orders", 1, {}, NOW_MS)
    partition = broker.partition(TopicPartition("orders", 0))
    assert partition is not None
    partition.log.update_config(replace(partition.log.config, segment_bytes=1024, index_interval_bytes=100))
    for name in (CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC):
        broker.topics.ensure_internal(name, NOW_MS)
    for number in range(8):
        _produce(admin, "orders", encode_batch([Record(0, NOW_MS + number, b"k", b"v" * 150)]))
    _transaction(admin, commit=False)
    _transaction(admin, commit=True)
    admin.ask(
        OffsetCommitRequest(group_id="group", topics=[OffsetCommitRequestTopic(name="orders", partitions=[_offset()])]),
        8,
    )
    kraft = snapshot_of(broker.metadata, Quorum(1, encode_uuid(bytes(range(16))), "localhost", 9093), NOW_MS)
    broker.stop(NOW_MS)
    return {name: bytes(data) for name, data in disk._files.items()} | {KRAFT_SNAPSHOT: kraft.data}


def _offset() -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(partition_index=0, committed_offset=3, committed_metadata="m")


def _started(files: dict[str, bytes]) -> Admin:
    disk = MemoryDisk()
    for name, data in files.items():
        disk.make_folder(name.rpartition("/")[0])
        disk.write_atomic(name, data)
    return Admin(disk=disk, **SETTINGS)


def run_file(data: bytes) -> None:
    """Two bytes choose the file, and whether the stop was clean; the rest is the file's content.

    The broker either says what is wrong, or starts, serves and stops.
    """
    if len(data) < 2:
        return
    files = dict(folder())
    names = sorted(files)
    name = names[data[0] % len(names)]
    if data[1] & 1:
        files.pop(CLEAN)
    if not data[1] & 2:
        files.pop(KRAFT_SNAPSHOT, None)
    files[name] = data[2:]
    _dump(name, data[2:])
    try:
        admin = _started(files)
    except OncelogError as error:
        printed(error)
        return
    finally:
        FAILURES.seen.clear()
    admin.ask(MetadataRequest(topics=[]), 12)
    if admin.broker.metadata.topic("orders") is not None:
        for partition in admin.broker.partitions().values():
            if not partition.failed:
                _read(partition.log)
    admin.broker.advance(NOW_MS + HOUR_MS)
    admin.broker.stop(NOW_MS + HOUR_MS)
    FAILURES.check()


def _read(log: PartitionLog) -> None:
    """Files that a clean stop vouched for are not read at the start: damage is reported when somebody reads them."""
    try:
        list(log.batches(log.log_start_offset))
    except OncelogError as error:
        printed(error)


def _dump(name: str, content: bytes) -> None:
    disk = MemoryDisk()
    disk.make_folder(name.rpartition("/")[0])
    disk.write_atomic(name, content)
    try:
        for entry in dump_file(disk, name, records=True):
            assert not isinstance(entry, Damage) or str(entry)
    except OncelogError as error:
        printed(error)


def file_contents() -> Iterator[bytes]:
    files = folder()
    for index, name in enumerate(sorted(files)):
        if len(files[name]) < 4096:
            for flags in (0, 1, 3):
                yield bytes([index, flags]) + files[name]


# --- internal records


def _pairs(data: bytes) -> Iterator[tuple[bytes, bytes | None]]:
    """Keys and values, each after a length of two bytes; the length 65535 means null."""
    while len(data) >= 4:
        key_size, value_size = int.from_bytes(data[:2], "big"), int.from_bytes(data[2:4], "big")
        key, data = data[4 : 4 + key_size], data[4 + key_size :]
        if value_size == 0xFFFF:
            yield key, None
        else:
            yield key, data[:value_size]
            data = data[value_size:]


def _paired(pairs: list[tuple[bytes, bytes | None]]) -> bytes:
    parts = []
    for key, value in pairs:
        parts.append(len(key).to_bytes(2, "big") + (0xFFFF if value is None else len(value)).to_bytes(2, "big"))
        parts.append(key + (value or b""))
    return b"".join(parts)


class Coordinating:
    """A coordinator reads records, or answers that it cannot; what it has read it can describe, expire and stop.

    Nine days pass with each input. The first byte chooses the topic, and whether the records belong to a transaction;
    then come keys and values.
    """

    def __init__(self) -> None:
        self._admin = Admin(**SETTINGS)
        self._now_ms = NOW_MS
        for name in (CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC):
            self._admin.broker.topics.ensure_internal(name, NOW_MS)

    def feed(self, data: bytes) -> None:
        if not data:
            return
        admin, broker = self._admin, self._admin.broker
        broker.topics.create("orders", 2, {}, self._now_ms)
        FAILURES.seen.clear()
        groups = not data[0] & 1
        producer = ProducerIdAndEpoch(7, 0) if data[0] & 2 else NO_PRODUCER
        runtime: Any = broker.groups.runtime if groups else broker.transactions.runtime
        log: list[LoggedRecord | LoggedMarker] = []
        for key, value in _pairs(data[1:]):
            log.append(LoggedRecord(len(log), self._now_ms, producer, key, value))
            _decoded(key, value)
        if data[0] & 4:
            log.append(LoggedMarker(len(log), producer, bool(data[0] & 8)))
        runtime.unload(0)
        read = runtime.replay(0, 0, log)
        FAILURES.seen.clear()  # a damaged record is logged; that is all right
        if read:
            runtime.begin(0, self._now_ms)
        listed = admin.ask(ListGroupsRequest(), 4)
        admin.ask(DescribeGroupsRequest(groups=[group.group_id for group in listed.groups][:20]), 5)
        admin.ask(ListTransactionsRequest(), 1)
        broker.topics.create("more", 1, {}, self._now_ms)
        for hours in (1, 24 * 8):
            broker.advance(self._now_ms + hours * HOUR_MS)
        self._now_ms += 24 * 9 * HOUR_MS
        for name in ("orders", "more"):
            broker.topics.delete(name, self._now_ms)
        FAILURES.check()

    def end(self) -> None:
        self._admin.broker.stop(self._now_ms)
        FAILURES.check()


def _decoded(key: bytes, value: bytes | None) -> None:
    for decode in (lambda: decode_group_record(key, value), lambda: decode_transaction_value(value or b"")):
        try:
            decode()
        except ProtocolError:
            continue


def _record(name: str, seed: str) -> tuple[bytes, bytes | None]:
    """A key and a value of one kind of record, drawn from its table."""
    key_name, value_name = f"{name}Key", f"{name}Value"
    source = LikelySource(seed)
    version_of_key = MESSAGES[key_name].versions.low
    versions = MESSAGES[value_name].versions
    version = source.random.randint(versions.low, versions.high)
    key: Any = make_message(key_name, version_of_key, source, likely)
    value: Any = make_message(value_name, version, source, likely)
    if name == TRANSACTION:
        return encode_transaction_key(key.transactional_id), encode_transaction_value(value, version)
    return encode_record_key(key), encode_record_value(value, version)


TRANSACTION = "TransactionLog"
RECORDS = sorted(
    name.removesuffix("Key")
    for name, message in MESSAGES.items()
    if name.endswith("Key") and f"{name.removesuffix('Key')}Value" in MESSAGES
)


def internal_records() -> Iterator[bytes]:
    for name in RECORDS:
        for number in range(3):
            flags = int(name == TRANSACTION) | (0, 2, 6)[number]
            yield bytes([flags]) + _paired([_record(name, f"{name} {number}")])


def new_internal_records(random: Random) -> bytes:
    flags = random.randrange(16)
    names = [TRANSACTION] if flags & 1 else [name for name in RECORDS if name != TRANSACTION]
    pairs = [_record(random.choice(names), str(random.getrandbits(64))) for _ in range(random.randint(1, 5))]
    if random.random() < 0.3:
        pairs.append((random.choice(pairs)[0], None))
    return bytes([flags]) + _paired(pairs)


TARGETS = [
    Target(
        "files",
        one_at_a_time(run_file),
        file_contents,
        tokens=(b"\n", b"0\n1\n", b" ", b"orders", b": ", b"=", b"-1"),
        short=800,
    ),
    Target("internal_records", Coordinating, internal_records, new_internal_records, short=1000),
]
