"""Transaction markers, byte for byte as the format says."""

from __future__ import annotations

import struct

import pytest

from oncelog.records.batch import Record, decode_records, encode_batch, encode_empty_batch, read_header, verify_crc
from oncelog.records.control import ControlType, EndTxnMarker, control_type, encode_end_txn_marker, parse_control
from oncelog.records.record_errors import CorruptBatch


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_has_kafkas_bytes(commit: bool) -> None:
    batch = encode_end_txn_marker(9000, 4, 17, commit, 1_700_000_000_000, base_offset=33, leader_epoch=6)
    header = read_header(batch)
    assert verify_crc(batch)
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9000, 4, -1)
    assert (header.base_offset, header.last_offset, header.partition_leader_epoch) == (33, 33, 6)
    (record,) = decode_records(batch)
    assert record.key == struct.pack(">hh", 0, 1 if commit else 0)
    assert record.value == struct.pack(">hi", 0, 17)
    kind = ControlType.COMMIT if commit else ControlType.ABORT
    assert parse_control(batch) == EndTxnMarker(kind, 17)
    assert EndTxnMarker(kind, 17).commit is commit


def control_batch(key: bytes | None, value: bytes | None, *, control: bool = True) -> bytes:
    return encode_batch(
        [Record(0, 1, key, value)], control=control, transactional=True, producer_id=1, producer_epoch=0
    )


def test_a_marker_of_a_later_version_is_read_as_version_0() -> None:
    batch = control_batch(struct.pack(">hhq", 3, 1, 0), struct.pack(">hiq", 5, 44, 1))
    assert parse_control(batch) == EndTxnMarker(ControlType.COMMIT, 44)


@pytest.mark.parametrize("code", [2, 3, 4, 5, 6, 7, 99, -1, -5])
def test_other_control_types_are_ignored(code: int) -> None:
    key = struct.pack(">hh", 0, code)
    assert parse_control(control_batch(key, b"anything")) is None
    assert control_type(key) is (ControlType(code) if 0 <= code <= 6 else ControlType.UNKNOWN)


def test_an_emptied_marker_is_ignored() -> None:
    header = read_header(encode_end_txn_marker(1, 0, 0, True, 5))
    assert parse_control(encode_empty_batch(header)) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, bytes(6)),
        (bytes(3), bytes(6)),
        (struct.pack(">hh", -1, 0), bytes(6)),
        (bytes(4), None),
        (bytes(4), bytes(5)),
        (bytes(4), struct.pack(">hi", -1, 0)),
    ],
)
def test_malformed_markers_are_refused(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(CorruptBatch):
        parse_control(control_batch(key, value))


def test_a_data_batch_is_not_mistaken_for_a_control_batch() -> None:
    with pytest.raises(CorruptBatch, match="not a control batch"):
        parse_control(control_batch(bytes(4), bytes(6), control=False))
