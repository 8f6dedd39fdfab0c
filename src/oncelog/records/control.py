"""Control records: the markers that commit or abort a transaction in a partition.

Called by the partition (which writes markers), recovery and fetch (which read them), ``dump-log`` and the consumer
(which never delivers them). Source: KIP-98, Kafka's ``ControlRecordType`` and ``EndTransactionMarker``.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from oncelog.records.batch import (
    CONTROL_BIT,
    TRANSACTIONAL_BIT,
    BatchHeader,
    Buffer,
    Record,
    decode_records,
    encode_pairs,
    read_header,
)
from oncelog.records.record_errors import CorruptBatch

_KEY = Struct(">hh")
_MARKER = Struct(">hi")


class ControlType(IntEnum):
    """The type of a control record. Types other than ABORT and COMMIT belong to KRaft, and are skipped."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


_ABORT_KEY, _COMMIT_KEY = _KEY.pack(0, ControlType.ABORT), _KEY.pack(0, ControlType.COMMIT)


class EndTxnMarker(NamedTuple):
    """The marker at the end of a transaction; ``type`` is ``COMMIT`` or ``ABORT``."""

    type: ControlType
    coordinator_epoch: int

    @property
    def commit(self) -> bool:
        return self.type is ControlType.COMMIT


def encode_end_txn_marker(
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    commit: bool,
    timestamp_ms: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytearray:
    """The batch of one record that ends a producer's transaction in a partition."""
    key, value = _COMMIT_KEY if commit else _ABORT_KEY, _MARKER.pack(0, coordinator_epoch)
    pairs, attributes = ((key, value),), TRANSACTIONAL_BIT | CONTROL_BIT
    return encode_pairs(pairs, timestamp_ms, attributes, producer_id, producer_epoch, base_offset, leader_epoch)


def control_type(key: Buffer | None) -> ControlType:
    """The type in a control record's key; an unknown version is read as version 0.

    :raises CorruptBatch: no key, one of fewer than 4 bytes, or a negative version.
    """
    if key is None or len(key) < _KEY.size:
        raise CorruptBatch(f"a control record's key needs {_KEY.size} bytes, there are {len(key or b'')}")
    version, code = _KEY.unpack_from(key)
    if version < 0:
        raise CorruptBatch(f"a control record's key has the unknown version {version}")
    return ControlType(code) if ControlType.ABORT <= code <= ControlType.KRAFT_VOTERS else ControlType.UNKNOWN


def parse_marker(record: Record) -> EndTxnMarker | None:
    """The marker in a control record; None for another type, which is to be skipped.

    :raises CorruptBatch: key or value is too short, or its version negative.
    """
    kind = control_type(record.key)
    if kind not in (ControlType.ABORT, ControlType.COMMIT):
        return None
    value = record.value
    if value is None or len(value) < _MARKER.size:
        raise CorruptBatch(f"a transaction marker needs {_MARKER.size} bytes, there are {len(value or b'')}")
    version, coordinator_epoch = _MARKER.unpack_from(value)
    if version < 0:
        raise CorruptBatch(f"a transaction marker has the unknown version {version}")
    return EndTxnMarker(kind, coordinator_epoch)


def parse_control(buf: Buffer, position: int = 0, header: BatchHeader | None = None) -> EndTxnMarker | None:
    """The marker in the control batch at ``position``; None for another control type, or if compaction emptied it.

    The CRC is not checked: the log checks it when it accepts a batch, and again in recovery.

    :raises CorruptBatch: it is not a control batch, or not well formed.
    """
    if header is None:
        header = read_header(buf, position)
    if not header.is_control:
        raise CorruptBatch(f"the batch at offset {header.base_offset} is not a control batch")
    if header.records_count == 0:
        return None
    return parse_marker(decode_records(buf, position, check_crc=False)[0])
