"""Entries and records of dumped files as fields."""

from __future__ import annotations

from pathlib import Path

import pytest

from oncelog.broker.coordinator.shown_records import decode_offsets_record, decode_transaction_record
from oncelog.broker.log.dump import Damage, OffsetIndexEntry
from oncelog.broker.log.producers.producer_entry import BatchMetadata, ProducerStateEntry
from oncelog.broker.server.disk.os_disk import OsDisk
from oncelog.cli.records.dump_log import entry_fields, record_fields
from oncelog.errors import StorageError
from oncelog.protocol.generated.offset_commit_key import OffsetCommitKey
from oncelog.protocol.generated.offset_commit_value import OffsetCommitValue
from oncelog.protocol.generated.transaction_log_value import PartitionsSchema, TransactionLogValue
from oncelog.protocol.internal_records import (
    encode_record_key,
    encode_record_value,
    encode_transaction_key,
    encode_transaction_value,
)
from oncelog.records.batch import BatchHeader, Record


def test_states_of_transactions_are_shown_by_name() -> None:
    value = TransactionLogValue(
        producer_id=7, transaction_status=3, transaction_partitions=[PartitionsSchema("t", [0, 2])]
    )
    key, fields = decode_transaction_record(
        Record(0, 0, encode_transaction_key("tx"), encode_transaction_value(value, 0))
    )
    assert key == {"transactional_id": "tx"}
    assert fields["state"] == "PrepareAbort"
    assert fields["producer_id"] == 7
    assert fields["transaction_partitions"] == [{"topic": "t", "partition_ids": [0, 2]}]
    assert decode_transaction_record(Record(1, 0, encode_transaction_key("tx"), None)) == (key, None)
    unknown = TransactionLogValue(transaction_status=42)
    _, fields = decode_transaction_record(
        Record(0, 0, encode_transaction_key("tx"), encode_transaction_value(unknown, 0))
    )
    assert fields["state"] == 42


def test_offsets_are_shown_with_the_kind_of_their_record() -> None:
    key = encode_record_key(OffsetCommitKey("g", "t", 3))
    shown, value = decode_offsets_record(Record(0, 0, key, encode_record_value(OffsetCommitValue(offset=17), 4)))
    assert shown == {"kind": "OffsetCommit", "group": "g", "topic": "t", "partition": 3}
    assert value["offset"] == 17
    assert decode_offsets_record(Record(0, 0, b"\x7f\xff", b"v")) == ({"unknownType": 32767}, "v")


def test_a_record_that_cannot_be_decoded_says_why() -> None:
    fields = record_fields(BatchHeader(), Record(0, 0, b"\0", b""), decode_transaction_record)
    assert "TransactionLogKey" in fields["undecodable"]


def test_entries_of_a_dumped_file_are_printed_as_fields() -> None:
    assert entry_fields(OffsetIndexEntry(5, 99)) == {"offset": 5, "position": 99}
    assert entry_fields(Damage(3, "why")) == {"damagedAtPosition": 3, "reason": "why"}
    fields = entry_fields(ProducerStateEntry(9, 1, batches=[BatchMetadata(4, 14, 4, 1000)]))
    assert fields["currentTxnFirstOffset"] is None
    assert fields["batches"] == [
        {"firstSequence": 0, "lastSequence": 4, "lastOffset": 14, "offsetDelta": 4, "timestamp": 1000}
    ]


def test_files_are_opened_for_reading_only(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    file = OsDisk(str(tmp_path), read_only=True).open("x")
    assert file.read_at(0, 3) == b"abc"
    with pytest.raises(StorageError):
        file.append([b"d"])
    file.close()
    assert (tmp_path / "x").read_bytes() == b"abc"
