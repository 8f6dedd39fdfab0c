"""Record batches, compressed data and the scanners: any bytes are read or refused, by both codecs alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from oncelog.client.core.structs import ConsumerRecord
from oncelog.protocol.framing import decode_request_header
from oncelog.protocol.produce_scan import Limits, ProduceShape, scan, scan_in_python
from oncelog.records import _pure, _pure_scan, native
from oncelog.records.batch import (
    HEADER_SIZE_BYTES,
    BatchHeader,
    TimestampType,
    decode_records,
    encode_batch,
    iter_headers,
    read_header,
    set_base_offset_and_epoch,
    set_producer,
    verify_crc,
)
from oncelog.records.compression import Compression, compress, decompress
from oncelog.records.control import encode_end_txn_marker, parse_control
from oncelog.records.crc import crc32c
from oncelog.records.record import Record
from oncelog.records.record_errors import CorruptBatch
from oncelog.records.validation import InvalidBatch, ValidatedBatch, validate_append
from tests.hostile.fuzz.target import Target, one_at_a_time
from tests.property.broker.core.test_produce_runs import Frames, Sent

NOW_MS = 1_700_000_000_000
LIMIT_BYTES = 256 * 1024
CRC_AT, CRC_COVERS_FROM = 17, 21
UNBOUND = -(2**63), 2**63 - 1


def outcome(call: Callable[..., Any], *arguments: Any) -> Any:
    """The result, or the refusal and its message."""
    try:
        return call(*arguments)
    except CorruptBatch as refusal:
        return str(refusal)


def with_crc(batch: bytes) -> bytes:
    """The batch with its CRC recomputed, so that a reader does not stop at the CRC."""
    if len(batch) < HEADER_SIZE_BYTES:
        return batch
    end = max(HEADER_SIZE_BYTES, min(len(batch), int.from_bytes(batch[8:12], "big", signed=True) + 12))
    crc = crc32c(batch[CRC_COVERS_FROM:end]).to_bytes(4, "big")
    return batch[:CRC_AT] + crc + batch[CRC_COVERS_FROM:]


def sound_batches() -> Iterator[bytes]:
    records = [
        Record(0, NOW_MS, b"k", b"value", ()),
        Record(1, NOW_MS + 7, None, b"v" * 90, (("h", b"x"), ("größe", None))),
        Record(2, NOW_MS - 3, b"", None, ()),
    ]
    for codec, count in product(Compression, (1, 3)):
        yield encode_batch(records[:count], compression=codec)
    yield encode_batch(records, compression=Compression.ZSTD, timestamp_type=TimestampType.LOG_APPEND_TIME)
    several = bytearray(encode_batch(records))
    set_producer(several, 7, 1, 5, True)
    yield bytes(several)
    marker = encode_end_txn_marker(7, 1, 3, True, NOW_MS)
    yield bytes(marker)
    second = bytearray(encode_batch(records))
    set_base_offset_and_epoch(second, 0, 3, 4)
    yield bytes(several) + bytes(second) + bytes(marker)


def run_batch(data: bytes) -> None:
    for batch in (data, with_crc(data)):
        _read(batch)
        _validate(batch)
    _scan_log(with_crc(data))


def _read(batch: bytes) -> None:
    for reader in (decode_records, parse_control, verify_crc, read_header, lambda data: list(iter_headers(data))):
        outcome(reader, batch)
    if len(batch) < HEADER_SIZE_BYTES:
        return
    header = BatchHeader._make(read_header_fields(batch))
    area, count = batch[HEADER_SIZE_BYTES:], header.records_count
    base, producer = header.base_offset, header.base_timestamp
    for keys, bounds in product((False, True), (UNBOUND, (NOW_MS - 5, NOW_MS + 5))):
        walked = area, count, producer, keys, *bounds
        assert outcome(native.walk, *walked) == outcome(_pure.walk, *walked)
    decoded = area, count, base, header.last_offset_delta, producer, header.base_sequence, None
    assert outcome(native.decode, *decoded) == outcome(_pure.decode, *decoded)
    handed = area, count, base, header.last_offset_delta, producer, None, min(base + 1, UNBOUND[1])
    assert outcome(native.columns, *handed) == outcome(_pure.columns, *handed)
    named = (*handed, ConsumerRecord, "topic", 3, 1)
    assert outcome(native.consumer_records, *named) == outcome(_pure.consumer_records, *named)


def read_header_fields(batch: bytes) -> Any:
    return _pure_scan._HEADER.unpack_from(batch)


def _validate(batch: bytes) -> None:
    for compacted, kind, codec in (
        (False, TimestampType.CREATE_TIME, None),
        (True, TimestampType.LOG_APPEND_TIME, Compression.LZ4),
    ):
        verdict = validate_append(
            batch,
            now_ms=NOW_MS,
            compacted=compacted,
            timestamp_type=kind,
            compression_type=codec,
            max_unpacked_bytes=LIMIT_BYTES,
        )
        if isinstance(verdict, InvalidBatch):
            assert verdict.message and len(verdict.record_errors) <= _pure.MAX_RECORD_ERRORS
            continue
        assert isinstance(verdict, ValidatedBatch)
        stored = decode_records(bytes(verdict.records))
        assert [record.offset for record in stored] == list(
            range(verdict.header.base_offset, verdict.header.base_offset + verdict.header.records_count)
        )
        assert not compacted or all(record.key is not None for record in stored)


def _scan_log(piece: bytes) -> None:
    found = []
    for scanner_type in (native.BatchScanner, _pure_scan.BatchScanner):
        scanner = scanner_type(0, 2**31 - 1, 60, -1, _marker)
        try:
            scanned: object = scanner.scan(piece, 0)
        except CorruptBatch as refusal:
            scanned = str(refusal)
        found.append((scanned, scanner.index_columns(), scanner.next_offset, scanner.refusal, scanner.max_timestamp))
    assert found[0] == found[1]


def _marker(batch: bytes) -> Any:
    return parse_control(batch)


def run_compressed(data: bytes) -> None:
    """The first byte chooses the codec."""
    if not data:
        return
    codec = Compression(data[0] % len(Compression))
    unpacked = outcome(decompress, codec, data[1:], LIMIT_BYTES)
    if isinstance(unpacked, bytes):
        assert codec is Compression.NONE or len(unpacked) <= LIMIT_BYTES
        assert decompress(codec, compress(codec, unpacked)) == unpacked


def compressed() -> Iterator[bytes]:
    for codec in Compression:
        for plain in (b"", b"a", b"hello hello hello " * 9, bytes(range(256)), bytes(70_000)):
            packed = compress(codec, plain)
            if len(packed) < 2_000:
                yield bytes([codec]) + packed
    for codec, level in ((Compression.LZ4, 4), (Compression.GZIP, 1), (Compression.ZSTD, 9)):
        yield bytes([codec]) + compress(codec, b"once upon a time, a log " * 40, level)


SHAPES = {False: 7, True: 9}
"""The versions of Produce in which a run is scanned: a non-flexible and a flexible one."""


def _shape(version: int) -> ProduceShape:
    sound = Frames({}).frame(Sent(version=version))
    header, body = decode_request_header(memoryview(sound)[4:])
    shape = ProduceShape.of(memoryview(sound)[4:], body, header.api_version)
    assert shape is not None
    return shape


SHAPE_OF = {flexible: _shape(version) for flexible, version in SHAPES.items()}


def run_scan(data: bytes) -> None:
    """The first byte says whether the version is flexible, and whether CRCs are recomputed."""
    if not data:
        return
    flexible, mends = bool(data[0] & 1), bool(data[0] & 2)
    shape = SHAPE_OF[flexible]
    buffer = bytearray(data[1:])
    if mends:
        _mend(buffer, len(shape.prefix) + (18 if flexible else 20))
    for limits in (Limits(1000, False, *UNBOUND, True), Limits(120, True, NOW_MS - 5, NOW_MS + 5, False)):
        for end in {len(buffer), max(len(buffer) - 1, 0)}:
            found = scan(buffer, 0, end, shape, limits)
            assert found == scan_in_python(buffer, 0, end, shape, limits)
            if found is not None:
                assert found.ends[0] > 0 and found.ends[-1] <= end
                assert list(found.ends) == sorted(set(found.ends))


def _mend(buffer: bytearray, batch_at: int) -> None:
    """Recompute the CRC of each request's batch, as far as sizes lead from one to the next."""
    start = 0
    for _ in range(8):
        size = int.from_bytes(buffer[start : start + 4], "big", signed=True)
        if size <= 0 or start + 4 + size > len(buffer):
            return
        for at in range(start + batch_at - 1, start + batch_at + 2):
            if buffer[at + 16 : at + 17] == b"\x02" and at + HEADER_SIZE_BYTES <= start + 4 + size:
                end = at + 12 + int.from_bytes(buffer[at + 8 : at + 12], "big", signed=True)
                if at + HEADER_SIZE_BYTES <= end <= start + 4 + size:
                    buffer[at + CRC_AT : at + CRC_COVERS_FROM] = crc32c(buffer[at + CRC_COVERS_FROM : end]).to_bytes(
                        4, "big"
                    )
        start += 4 + size


def runs_of_produces() -> Iterator[bytes]:
    for flexible, version in SHAPES.items():
        for mends in (0, 2):
            frames = Frames({})
            sents = [
                Sent(version=version),
                Sent(version=version, count=3, key=None),
                Sent(version=version, pid=0, sequence=-1, size=130),
                Sent(version=version, pid=0, sequence=-1),
                Sent(version=version, pid=0, sequence=-1, transactional=True, timestamp=0),
            ]
            made = [frames.frame(sent) for sent in sents]
            for several in (made[:1], made[:2], made[2:], made):
                yield bytes([mends | flexible]) + b"".join(several)


TARGETS = [
    Target("record_batch", one_at_a_time(run_batch), sound_batches, short=1500),
    Target("compressed", one_at_a_time(run_compressed), compressed, short=3000),
    Target("produce_scan", one_at_a_time(run_scan), runs_of_produces, short=4000),
]
