"""Recovery, which reads a log in large chunks, against a naive one that goes batch by batch.

Logs of every kind of batch, with gaps as compaction leaves them, damaged or cut in places: all files of the folder and
everything in memory must be the same, with the compiled scanner and with its twin.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.broker.log import recovery
from oncelog.broker.log.producers.producer_state import ProducerStateManager
from oncelog.broker.log.segments import batch_reader
from oncelog.broker.log.segments.batch_reader import read_batches
from oncelog.broker.log.segments.segment import MAX_RELATIVE_OFFSET, Segment
from oncelog.broker.server.disk.memory_disk import MemoryDisk
from oncelog.records import _pure_scan, native
from oncelog.records.batch import Compression, CorruptBatch, Record, encode_batch, encode_empty_batch, read_header
from oncelog.records.control import encode_end_txn_marker, parse_control
from oncelog.settings.config import TopicConfig
from tests.unit.broker.log.batches import FOLDER, NOW_MS, PARTITION

KEYS = [b"\0\0\0\0", b"\0\0\0\1", b"\0\0\0\3", b"\0\1\0\1", b"\xff\xff\0\0", b"\0\0", None]
VALUES = [b"\0\0\0\0\0\7", b"\0\1\0\0\0\7", b"\xff\xff\0\0\0\7", b"\0\0", None, b"\0\0\0\0\0\7more"]


@dataclass
class Step:
    """One batch of a log; ``gap`` offsets before it are missing."""

    kind: str
    pid: int
    epoch: int
    count: int
    gap: int
    leader_epoch: int
    timestamp: int
    size: int
    codec: Compression
    key: bytes | None
    value: bytes | None

    def encode(self, offset: int, sequence: int) -> bytes:
        if self.kind == "marker":
            committed = self.size % 2 == 0
            return bytes(
                encode_end_txn_marker(
                    self.pid, self.epoch, self.count, committed, self.timestamp, offset, self.leader_epoch
                )
            )
        control = self.kind == "control"
        rows = [Record(offset + n, self.timestamp + n % 3, None, b"v" * self.size) for n in range(self.count)]
        if control:
            rows = [Record(offset, self.timestamp, self.key, self.value, (("h", b"x"),) if self.size % 5 == 4 else ())]
        data = encode_batch(
            rows,
            base_offset=offset,
            last_offset=offset if control else offset + self.count - 1,
            compression=self.codec,
            producer_id=-1 if self.kind == "plain" else self.pid,
            producer_epoch=-1 if self.kind == "plain" else self.epoch,
            base_sequence=-1 if self.kind == "plain" or control else sequence,
            transactional=self.kind == "transactional",
            control=control,
            partition_leader_epoch=self.leader_epoch,
        )
        return encode_empty_batch(read_header(data)) if self.kind != "plain" and self.size % 7 == 6 else data


STEPS = st.builds(
    Step,
    kind=st.sampled_from(["plain"] + 4 * ["idempotent"] + 4 * ["transactional"] + 2 * ["marker"]),
    pid=st.sampled_from([0, 1, 1, 1, 2, 2**63 - 1]),
    epoch=st.sampled_from([0, 0, 0, 0, 0, 0, 1, 2]),
    count=st.integers(1, 3),
    gap=st.sampled_from([0, 0, 0, 0, 0, 1, 7]),
    leader_epoch=st.sampled_from([0, 0, 0, 0, 1, 2, -1]),
    timestamp=st.integers(-2, 40),
    size=st.integers(0, 40),
    codec=st.sampled_from([Compression.NONE, Compression.NONE, Compression.GZIP]),
    key=st.sampled_from(KEYS),
    value=st.sampled_from(VALUES),
)
RARE_STEPS = st.builds(lambda step, n: replace(step, kind="control") if n == 30 else step, STEPS, st.integers(0, 30))


@st.composite
def logs(draw: st.DrawFn) -> dict[str, bytes]:
    """The ``.log`` files of a folder, by name."""
    files: dict[int, bytearray] = {}
    offset = base = draw(st.sampled_from([0, 0, 5]))
    sequences: dict[tuple[int, int], int] = {}
    blocks = draw(st.lists(st.tuples(RARE_STEPS, st.sampled_from([1, 1, 1, 2, 4, 9])), min_size=1, max_size=25))
    for step in [step for step, times in blocks for _ in range(times)]:
        offset += step.gap
        if draw(st.integers(0, 30)) == 30:
            base = offset
        sequence = sequences.get((step.pid, step.epoch), 2**31 - 4)
        data = step.encode(offset, sequence)
        sequences[step.pid, step.epoch] = (sequence + step.count) & 0x7FFFFFFF
        files.setdefault(base, bytearray()).extend(data)
        offset = read_header(data).next_offset
    for file in files.values():
        damage(draw, file)
    return {f"{base:020d}.log": bytes(data) for base, data in files.items()}


def damage(draw: st.DrawFn, file: bytearray) -> None:
    match draw(st.integers(0, 9)):
        case 9:
            file[draw(st.integers(0, len(file) - 1))] ^= 1 << draw(st.integers(0, 7))
        case 8:
            del file[draw(st.integers(0, len(file))) :]
        case 7:
            file += draw(st.sampled_from([bytes(200), b"\xff" * 90, b"short", bytes(file[:61])]))
        case 6:
            at = draw(st.integers(0, len(file)))
            file[at:] = bytes(len(file) - at)
        case _:
            pass


def recover_batch_by_batch(self: recovery._Loader, segment: Segment, synced_to: int, *, is_active: bool = False) -> int:
    """What ``_Loader.recover`` must arrive at."""
    self.load_state(segment.base_offset)
    segment.start_indexes()
    expected, end, last_allowed = segment.base_offset, 0, segment.base_offset + MAX_RELATIVE_OFFSET
    try:
        for position, header, data in read_batches(segment.file, 0, segment.size_bytes, check_crc=True):
            if not expected <= header.base_offset <= header.last_offset <= last_allowed:
                raise CorruptBatch(f"offset {header.base_offset} does not follow {expected - 1}")
            recovery.apply_batch(self.state, header, data, segment)
            segment.index_batch(position, header, self.config.index_interval_bytes)
            self.note_epoch(header)
            expected, end = header.next_offset, position + len(data)
    except CorruptBatch:
        pass
    return self.end_at(segment, end, expected, synced_to, is_active=is_active)


@contextmanager
def reading(how: str, piece_bytes: int) -> Iterator[None]:
    if how == "batch by batch":
        with mock.patch.object(recovery._Loader, "recover", recover_batch_by_batch):
            yield
    else:
        scanner = native.compiled.BatchScanner if how == "compiled" else _pure_scan.BatchScanner
        with (
            mock.patch.object(recovery, "BatchScanner", scanner),
            mock.patch.object(batch_reader, "_SCAN_BYTES", piece_bytes),
        ):
            yield


def opened(files: dict[str, bytes], config: TopicConfig, point: int) -> dict[str, Any]:
    """The complete state after the folder was opened as after a crash."""
    disk = MemoryDisk()
    disk.make_folder(FOLDER)
    for name, data in files.items():
        disk.open(f"{FOLDER}/{name}", create=True).append([data])
    state = ProducerStateManager(PARTITION)
    loaded = recovery.load(
        disk, FOLDER, config, state, now_ms=NOW_MS, clean_shutdown=False, recovery_point=point, log_start_offset=0
    )
    return {
        "files": {name: disk.read(f"{FOLDER}/{name}") for name in disk.list(FOLDER)},
        "unsynced": [file.path for file in loaded.unsynced],
        "bounds": (loaded.log_start_offset, loaded.recovery_point, loaded.log_end_offset),
        "epochs": (loaded.epochs.entries, loaded.epochs.dirty),
        "snapshots": loaded.snapshots.offsets,
        "producers": list(state.entries.items()),
        "transactions": (list(state._ongoing.items()), list(state.unstable), list(state.unreplicated)),
        "map_end_offset": state.map_end_offset,
        "segments": [
            (
                segment.base_offset,
                segment.size_bytes,
                segment.load_max_timestamp(),
                segment.offset_of_max_timestamp,
                segment._bytes_since_index_entry,
                segment._written,
                segment.offset_index.entries(),
                segment.time_index.entries(),
                segment.transaction_index.entries,
                segment._tail_low,
            )
            for segment in loaded.segments
        ],
    }


@settings(max_examples=250, deadline=None)
@given(
    logs(),
    st.sampled_from([0, 1, 100, 300, 4096]),
    st.sampled_from([1 << 20, 2000, 1000, 300, 61]),
    st.sampled_from([0, 0, 10]),
    st.booleans(),
)
def test_recovery_by_blocks_and_batch_by_batch_have_the_same_result(
    files: dict[str, bytes], interval_bytes: int, piece_bytes: int, point: int, compacted: bool
) -> None:
    policy = ("compact",) if compacted else ("delete",)
    config = TopicConfig(index_interval_bytes=interval_bytes, cleanup_policy=policy)
    found = {}
    for how in ("batch by batch", "compiled", "in Python"):
        with reading(how, piece_bytes):
            found[how] = opened(files, config, point)
    assert found["compiled"] == found["batch by batch"]
    assert found["in Python"] == found["batch by batch"]


@settings(max_examples=250, deadline=None)
@given(logs(), st.integers(0, 2**40), st.sampled_from([0, 100, 4096]), st.sampled_from([0, 3, 2**31 - 1]))
def test_both_batch_scanners_return_the_same_result_and_the_same_message(
    files: dict[str, bytes], position: int, interval_bytes: int, room: int
) -> None:
    chunk = b"".join(files.values())
    base = min(read_header(data).base_offset if len(data) > 61 and data[16] == 2 else 0 for data in files.values())
    reported: list[object] = []
    for make in (native.compiled.BatchScanner, _pure_scan.BatchScanner):
        scanner = make(base, base + room, interval_bytes, -1, parse_control)
        try:
            reported.append(
                (
                    scanner.scan(chunk, position),
                    scanner.refusal,
                    scanner.next_offset,
                    scanner.max_timestamp,
                    scanner.offset_of_max_timestamp,
                    scanner.bytes_since_index_entry,
                    scanner.index_columns(),
                )
            )
        except OverflowError:
            reported.append("past what an index can hold")
    assert reported[0] == reported[1]
