"""The format of ``.snapshot`` files: the producer state of a partition as of the offset in the file's name.

Called by ``snapshots`` and ``broker.log.dump``. Source: Kafka's ``ProducerSnapshot.json``.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct

from oncelog.broker.log.producers.producer_entry import NONE_OPEN, BatchMetadata, ProducerStateEntry
from oncelog.errors import CorruptLogError
from oncelog.records.crc import crc32c

SNAPSHOT_VERSION = 1
_SNAPSHOT_HEADER = Struct(">hIi")
_CRC_COVERS_FROM = 6
_SNAPSHOT_ENTRY = Struct(">qhiqiqiq")


def encode_snapshot(entries: Iterable[ProducerStateEntry]) -> bytes:
    """Encode a ``.snapshot`` file: version, CRC-32C of the rest, and the producers, each with only its newest batch."""
    rows = [
        _SNAPSHOT_ENTRY.pack(
            entry.producer_id,
            entry.producer_epoch,
            entry.last_sequence,
            entry.last_offset,
            entry.batches[-1].offset_delta if entry.batches else 0,
            entry.last_timestamp,
            entry.coordinator_epoch,
            entry.current_txn_first_offset,
        )
        for entry in entries
    ]
    body = len(rows).to_bytes(4, "big") + b"".join(rows)
    return SNAPSHOT_VERSION.to_bytes(2, "big") + crc32c(body).to_bytes(4, "big") + body


def decode_snapshot(data: bytes, path: str = "") -> list[ProducerStateEntry]:
    """The producers in a ``.snapshot`` file.

    :raises CorruptLogError: the file is incomplete, has another version or a wrong CRC.
    """
    if len(data) < _SNAPSHOT_HEADER.size:
        raise CorruptLogError(f"the producer snapshot {path} has only {len(data)} bytes")
    version, crc, count = _SNAPSHOT_HEADER.unpack_from(data)
    if version != SNAPSHOT_VERSION:
        raise CorruptLogError(f"the producer snapshot {path} has version {version}")
    if crc != crc32c(memoryview(data)[_CRC_COVERS_FROM:]):
        raise CorruptLogError(f"the CRC of the producer snapshot {path} differs from that of its bytes")
    if len(data) != _SNAPSHOT_HEADER.size + count * _SNAPSHOT_ENTRY.size:
        raise CorruptLogError(f"the producer snapshot {path} does not hold the {count} producers it claims")
    entries = []
    for row in _SNAPSHOT_ENTRY.iter_unpack(memoryview(data)[_SNAPSHOT_HEADER.size :]):
        (
            producer_id,
            epoch,
            last_sequence,
            last_offset,
            delta,
            timestamp,
            coordinator_epoch,
            current_txn_first_offset,
        ) = row
        batches = [BatchMetadata(last_sequence, last_offset, delta, timestamp)] if last_offset >= 0 else []
        first = current_txn_first_offset if current_txn_first_offset >= 0 else NONE_OPEN
        entries.append(ProducerStateEntry(producer_id, epoch, coordinator_epoch, timestamp, first, batches))
    return entries
