"""Record batches against Apache Kafka's own classes: each side reads what the other writes, and both judge alike."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from oncelog.records import _pure
from oncelog.records.batch import (
    BatchBuilder,
    BatchHeader,
    Compression,
    CorruptBatch,
    Record,
    TimestampType,
    decode_records,
    decrement_sequence,
    encode_batch,
    encode_empty_batch,
    header_bytes,
    increment_sequence,
    iter_headers,
    read_header,
)
from oncelog.records.compression import compress
from oncelog.records.control import encode_end_txn_marker
from oncelog.records.partitioner import murmur2
from oncelog.records.validation import InvalidBatch, ValidatedBatch, validate_append

pytestmark = pytest.mark.kafka

NOW = 1_700_000_000_000
UNKNOWN_SERVER_ERROR = -1


class Oracle:
    """Kafka's classes in a process of their own; one line is one question."""

    def __init__(self, jars: Path) -> None:
        command = ["java", "-cp", f"{jars}/*", str(Path(__file__).parent / "RecordsOracle.java")]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")

    def ask(self, *question: object) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(" ".join(map(str, question)) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"Kafka's classes ended with {self._process.wait()}"
        return answer.rstrip("\n")

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(120)


@pytest.fixture(scope="module")
def oracle(kafka_jars: Path) -> Iterator[Oracle]:
    oracle = Oracle(kafka_jars)
    yield oracle
    oracle.close()


def text(data: bytes | bytearray | memoryview | None) -> str:
    return "-" if data is None else "." + bytes(data).hex()


def unhex(word: str) -> bytes:
    return bytes.fromhex(word.removeprefix("."))


def record_text(record: Record) -> str:
    words = [str(record.offset), str(record.timestamp), text(record.key), text(record.value)]
    for name, content in record.headers:
        words += [text(name.encode()), text(content)]
    return ",".join(words)


def as_java_reads(data: bytes | bytearray | memoryview) -> str:
    """What the oracle's ``read`` should print, according to this package."""
    out = []
    for position, header in iter_headers(data):
        fields: list[object] = [
            "batch",
            header.base_offset,
            header.last_offset,
            header.compression.value,
            header.timestamp_type.value,
            header.max_timestamp,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            header.last_sequence,
            str(header.is_transactional).lower(),
            str(header.is_control).lower(),
            header.partition_leader_epoch,
            header.records_count,
            -1 if header.delete_horizon_ms is None else header.delete_horizon_ms,
            header.size_bytes,
        ]
        out.append(",".join(map(str, fields)))
        for record in decode_records(data, position):
            words = [
                "record",
                str(record.offset),
                str(record.timestamp),
                str(record.sequence),
                text(record.key),
                text(record.value),
            ]
            for name, content in record.headers:
                words += [text(name.encode()), text(content)]
            out.append(",".join(words))
    return " ".join(out)


def random_records(source: random.Random, count: int, first_offset: int = 0) -> list[Record]:
    records = []
    for index in range(count):
        key = None if source.random() < 0.2 else source.randbytes(source.choice([0, 3, 20, 200]))
        value = None if source.random() < 0.2 else b"value " * source.choice([0, 1, 10, 5000])
        headers = tuple(
            (source.choice(["", "a", "größe", "x" * 70]), source.choice([None, b"", b"123"]))
            for _ in range(source.choice([0, 0, 1, 3]))
        )
        timestamp = NOW + source.randint(-100_000, 100_000)
        records.append(Record(first_offset + index, timestamp, key, value, headers))
    return records


@pytest.mark.parametrize("codec", list(Compression))
def test_kafka_reads_the_batches_that_we_write(oracle: Oracle, codec: Compression) -> None:
    source = random.Random(codec)
    for count in (1, 2, 30, 300):
        batch = encode_batch(
            random_records(source, count, 70_000),
            base_offset=70_000,
            compression=codec,
            producer_id=9,
            producer_epoch=3,
            base_sequence=2**31 - 10,
            transactional=True,
            partition_leader_epoch=5,
        )
        assert oracle.ask("read", text(batch)) == as_java_reads(batch)


@pytest.mark.parametrize(
    ("codec", "level"),
    [
        (Compression.GZIP, 1),
        (Compression.GZIP, 9),
        (Compression.LZ4, 1),
        (Compression.LZ4, 9),
        (Compression.LZ4, 17),
        (Compression.ZSTD, 1),
        (Compression.ZSTD, 12),
        (Compression.ZSTD, -5),
    ],
)
def test_kafka_reads_batches_of_every_compression_level(oracle: Oracle, codec: Compression, level: int) -> None:
    batch = encode_batch(random_records(random.Random(1), 50), compression=codec, level=level)
    assert oracle.ask("read", text(batch)) == as_java_reads(batch)


@pytest.mark.parametrize("codec", list(Compression))
def test_we_read_the_batches_that_kafka_writes(oracle: Oracle, codec: Compression) -> None:
    source = random.Random(f"write {codec}")
    for count in (1, 30, 400):
        records = random_records(source, count, 1000)
        words = [record_text(record) for record in records]
        batch = unhex(oracle.ask("write", codec.value, "-", 1000, 77, 2, 40, "true", 8, *words))
        expected = [record._replace(sequence=40 + index) for index, record in enumerate(records)]
        assert decode_records(batch) == expected
        header = read_header(batch)
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (77, 2, 40)
        assert header.is_transactional
        assert header.partition_leader_epoch == 8
        assert header.max_timestamp == max(record.timestamp for record in records)


def test_uncompressed_batches_equal_kafkas_byte_for_byte(oracle: Oracle) -> None:
    source = random.Random(4)
    for count in (1, 5, 200):
        records = random_records(source, count)
        theirs = oracle.ask("write", 0, "-", 0, 5, 1, 0, "true", -1, *map(record_text, records))
        builder = BatchBuilder()
        for record in records:
            builder.append(record.timestamp, record.key, record.value, record.headers)
        ours = builder.build(producer_id=5, producer_epoch=1, base_sequence=0, transactional=True)
        assert text(ours) == theirs


def test_gaps_left_by_compaction_are_read_as_by_kafka(oracle: Oracle) -> None:
    records = [record for record in random_records(random.Random(2), 40) if record.offset % 3]
    batch = encode_batch(
        records, last_offset=45, producer_id=1, producer_epoch=0, base_sequence=0, delete_horizon_ms=NOW + 5
    )
    assert oracle.ask("read", text(batch)) == as_java_reads(batch)
    assert [record.timestamp for record in decode_records(batch)] == [record.timestamp for record in records]


@pytest.mark.parametrize("commit", [True, False])
def test_markers_equal_kafkas_byte_for_byte(oracle: Oracle, commit: bool) -> None:
    theirs = oracle.ask("marker", 4000, 7, 12, str(commit).lower(), NOW, 99, 3)
    assert text(encode_end_txn_marker(4000, 7, 12, commit, NOW, 99, 3)) == theirs
    assert f"marker,{'COMMIT' if commit else 'ABORT'},12" in oracle.ask("read", theirs)


def test_batches_emptied_by_compaction_equal_kafkas_byte_for_byte(oracle: Oracle) -> None:
    batch = encode_batch(
        random_records(random.Random(3), 9, 50),
        base_offset=50,
        compression=Compression.ZSTD,
        producer_id=6,
        producer_epoch=1,
        base_sequence=80,
        transactional=True,
        partition_leader_epoch=2,
    )
    header = read_header(batch)
    theirs = oracle.ask("empty", 6, 1, 80, 50, 58, 2, 0, header.max_timestamp, "true", "false")
    empty = encode_empty_batch(header)
    assert text(empty) == theirs
    assert decode_records(empty) == []
    assert read_header(empty).last_sequence == header.last_sequence


def test_murmur2_equals_javas(oracle: Oracle) -> None:
    source = random.Random(7)
    for length in [*range(20), 100, 1000]:
        key = source.randbytes(length)
        theirs = int(oracle.ask("murmur2", text(key))) & 0xFFFFFFFF
        assert murmur2(key) == theirs
        assert _pure.murmur2(key) == theirs


def test_sequence_arithmetic_equals_kafkas(oracle: Oracle) -> None:
    edge = 2**31 - 1
    for sequence, step in [(0, 1), (edge, 1), (edge - 3, 10), (5, 5), (4, 5), (0, edge), (edge, edge), (17, 0)]:
        ours = f"{increment_sequence(sequence, step)} {decrement_sequence(sequence, step)}"
        assert ours == oracle.ask("sequence", sequence, step)


# --- the leader's validation


def judge(
    oracle: Oracle,
    batch: bytes | bytearray,
    *,
    max_message_bytes: int = 1_048_588,
    compacted: bool = False,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    before_max_ms: int = 2**63 - 1,
    after_max_ms: int = 3_600_000,
    compression_type: Compression | None = None,
) -> tuple[ValidatedBatch | InvalidBatch, list[str]]:
    """Our verdict and Kafka's."""
    ours = validate_append(
        batch,
        now_ms=NOW,
        max_message_bytes=max_message_bytes,
        compacted=compacted,
        timestamp_type=timestamp_type,
        before_max_ms=before_max_ms,
        after_max_ms=after_max_ms,
        compression_type=compression_type,
    )
    theirs = oracle.ask(
        "validate",
        text(batch),
        max_message_bytes,
        str(compacted).lower(),
        timestamp_type.value,
        before_max_ms,
        after_max_ms,
        NOW,
        "-" if compression_type is None else compression_type.value,
        "-",
    )
    return ours, theirs.split(" ")


def assert_same_verdict(ours: ValidatedBatch | InvalidBatch, theirs: list[str], *, same_bytes: bool) -> None:
    if isinstance(ours, InvalidBatch):
        assert theirs[:2] == ["error", str(ours.error_code.value)]
        assert [int(index) for index in theirs[2:]] == [index for index, _ in ours.record_errors]
        return
    assert theirs[0] == "ok", (theirs, bytes(ours.records).hex())
    assert ours.header.max_timestamp == int(theirs[1])
    stored = unhex(theirs[2])
    if same_bytes:
        assert bytes(ours.records) == stored
    assert [record[:5] for record in decode_records(ours.records)] == [record[:5] for record in decode_records(stored)]
    kept = ("attributes", "max_timestamp", "last_offset_delta", "producer_id", "base_sequence", "records_count")
    for field in kept:
        assert getattr(read_header(ours.records), field) == getattr(read_header(stored), field), field


@pytest.mark.parametrize("timestamp_type", list(TimestampType))
@pytest.mark.parametrize("codec", list(Compression))
@pytest.mark.parametrize("target", [None, *Compression])
def test_accepted_batches_are_stored_as_kafka_stores_them(
    oracle: Oracle, codec: Compression, target: Compression | None, timestamp_type: TimestampType
) -> None:
    batch = encode_batch(
        random_records(random.Random(11), 25), compression=codec, producer_id=1, producer_epoch=0, base_sequence=7
    )
    ours, theirs = judge(oracle, batch, compression_type=target, timestamp_type=timestamp_type)
    assert isinstance(ours, ValidatedBatch)
    # Packing again gives other bytes where the codec's library differs.
    assert_same_verdict(ours, theirs, same_bytes=target is None or target is codec or target is Compression.NONE)


@pytest.mark.parametrize("codec", list(Compression))
def test_wrong_max_timestamp_is_corrected_as_kafka_corrects_it(oracle: Oracle, codec: Compression) -> None:
    batch = encode_batch(random_records(random.Random(12), 5), compression=codec)
    header = read_header(batch)
    lying = bytes(header_bytes(header._replace(max_timestamp=5), batch[61:])) + batch[61:]
    ours, theirs = judge(oracle, lying)
    assert isinstance(ours, ValidatedBatch)
    assert_same_verdict(ours, theirs, same_bytes=True)
    assert ours.header.max_timestamp == header.max_timestamp


def changed_headers(header: BatchHeader) -> Iterator[BatchHeader]:
    yield header._replace(base_offset=1)
    yield header._replace(records_count=0)
    yield header._replace(records_count=-1)
    yield header._replace(records_count=header.records_count + 1)
    yield header._replace(records_count=header.records_count - 1, last_offset_delta=header.last_offset_delta - 1)
    yield header._replace(records_count=header.records_count + 1, last_offset_delta=header.last_offset_delta + 1)
    yield header._replace(last_offset_delta=-1)
    yield header._replace(attributes=header.attributes | 0x20)
    yield header._replace(attributes=header.attributes | 0x40)
    yield header._replace(producer_id=5, base_sequence=-1)
    yield header._replace(producer_id=5, base_sequence=-7)
    yield header._replace(producer_id=5, producer_epoch=-1, base_sequence=3)
    yield header._replace(base_timestamp=NOW + 3_600_001 + 100_000)
    yield header._replace(base_timestamp=-1)
    yield header._replace(base_timestamp=-(2**63))
    yield header._replace(base_timestamp=2**63 - 1)
    yield header._replace(max_timestamp=-1)


@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize("codec", [Compression.NONE, Compression.LZ4])
def test_record_headers_are_accepted_or_refused_as_by_kafka(
    oracle: Oracle, codec: Compression, compacted: bool
) -> None:
    batch = encode_batch(random_records(random.Random(13), 12), compression=codec)
    area = batch[61:]
    for header in changed_headers(read_header(batch)):
        changed = bytes(header_bytes(header, area)) + area
        ours, theirs = judge(oracle, changed, compacted=compacted, before_max_ms=10**9)
        assert_same_verdict(ours, theirs, same_bytes=True)


def test_batch_headers_are_accepted_or_refused_as_by_kafka(oracle: Oracle) -> None:
    batch = encode_batch(random_records(random.Random(14), 3))
    flipped = bytearray(batch)
    flipped[-1] ^= 1
    other_format = bytearray(batch)
    other_format[16] = 1
    unknown_format = bytearray(batch)
    unknown_format[16] = 3
    short = bytearray(batch)
    short[8:12] = (13).to_bytes(4, "big")
    headless = bytearray(batch[:40])
    headless[8:12] = (28).to_bytes(4, "big")
    for data in (b"", batch[:16], batch[:-1], batch + batch, flipped, other_format, unknown_format, short, headless):
        ours, theirs = judge(oracle, data)
        assert isinstance(ours, InvalidBatch)
        assert_same_verdict(ours, theirs, same_bytes=True)
    for limit in (len(batch), len(batch) - 1):
        ours, theirs = judge(oracle, batch, max_message_bytes=limit)
        assert_same_verdict(ours, theirs, same_bytes=True)


def numbered(data: bytes | bytearray | memoryview) -> bool:
    """Whether the records' offsets are 0, 1, 2, ..."""
    try:
        return [record.offset for record in decode_records(data)] == list(range(read_header(data).records_count))
    except CorruptBatch:
        return False


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.ZSTD])
def test_batches_with_changed_records_are_accepted_or_refused_as_by_kafka(oracle: Oracle, codec: Compression) -> None:
    """Random changes inside records, with a correct CRC.

    If Kafka's verdict is a failure of its own (UNKNOWN_SERVER_ERROR), ours is INVALID_RECORD. Kafka does not compare
    the length of a compressed record with its contents. Kafka stores offsets other than 0, 1, 2, ... unchanged if the
    batch is not compressed, and fails on them if it is (LogValidator means to correct them but has skipped the keys);
    we correct both.
    """
    source = random.Random(15)
    records = [record._replace(value=b"v" * 9, headers=record.headers[:1]) for record in random_records(source, 6)]
    original = encode_batch(records)
    header = read_header(original)
    verdicts = set()
    for _ in range(1500):
        area = bytearray(original[61:])
        for _ in range(source.choice([1, 1, 2])):
            area[source.randrange(len(area))] = source.choice([0, 1, 2, 0x7F, 0x80, 0xFF, source.randrange(256)])
        packed = compress(codec, area)
        header = header._replace(attributes=codec.value)
        data = bytes(header_bytes(header, packed)) + packed
        ours, theirs = judge(oracle, data, compacted=source.random() < 0.3, before_max_ms=10**9)
        verdicts.add(theirs[0])
        if isinstance(ours, InvalidBatch):
            if theirs[:2] == ["error", str(UNKNOWN_SERVER_ERROR)]:
                assert ours.error_code.name == "INVALID_RECORD"
            elif codec is not Compression.NONE and not ours.record_errors:
                with pytest.raises(CorruptBatch):
                    decode_records(data)
            else:
                assert_same_verdict(ours, theirs, same_bytes=True)
        elif theirs[0] == "error":
            assert codec is not Compression.NONE
            assert theirs == ["error", str(UNKNOWN_SERVER_ERROR)]
            assert numbered(ours.records) and not numbered(data)
        elif numbered(unhex(theirs[2])):
            assert_same_verdict(ours, theirs, same_bytes=True)
        else:
            assert codec is Compression.NONE
            assert numbered(ours.records)
    assert verdicts == {"ok", "error"}
