"""Decodes the files of a data folder into entries, one by one, damage included.

Called by ``oncelog dump-log``, which formats the entries; reads only. Every entry is a NamedTuple; bytes that cannot be
read become a :class:`Damage` with the reason, which is the last entry of the file. The formats are described in the
module of each file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from oncelog.broker.log import checkpoints
from oncelog.broker.log.file_names import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    parse_file_name,
)
from oncelog.broker.log.leader_epoch_cache import EpochEntry
from oncelog.broker.log.producers.producer_entry import ProducerStateEntry
from oncelog.broker.log.producers.producer_snapshot import decode_snapshot
from oncelog.broker.log.segments.offset_index import OffsetIndex
from oncelog.broker.log.segments.time_index import TimeIndex
from oncelog.broker.log.segments.transaction_index import AbortedTxn, TransactionIndex
from oncelog.errors import CorruptLogError
from oncelog.records.batch import (
    HEADER_SIZE_BYTES,
    BatchHeader,
    CorruptBatch,
    Record,
    decode_records,
    read_header,
    verify_crc,
)
from oncelog.records.control import ControlType, EndTxnMarker, control_type, parse_marker
from oncelog.runtime.ports import Disk
from oncelog.types import TopicPartition

MAX_POSITION = 2**31 - 1


class ControlEntry(NamedTuple):
    """A control record; ``marker`` is None for a type that ends no transaction."""

    type: ControlType
    marker: EndTxnMarker | None


class BatchEntry(NamedTuple):
    """A batch of a ``.log`` file; ``records`` is None if the caller did not request them."""

    position: int
    header: BatchHeader
    crc_matches: bool
    records: tuple[Record, ...] | None
    control: ControlEntry | None


class OffsetIndexEntry(NamedTuple):
    """An entry of an ``.index`` file."""

    offset: int
    position: int


class TimeIndexEntry(NamedTuple):
    """An entry of a ``.timeindex`` file; ``timestamp`` is in ms."""

    timestamp: int
    offset: int


class CheckpointEntry(NamedTuple):
    """A line of an offset checkpoint."""

    partition: TopicPartition
    offset: int


class PropertyEntry(NamedTuple):
    """A property in ``meta.properties``, ``partition.metadata`` or the clean-shutdown marker."""

    name: str
    value: str


class Damage(NamedTuple):
    """Bytes from ``position`` on that do not have the file's format."""

    position: int
    reason: str


Entry = (
    BatchEntry
    | OffsetIndexEntry
    | TimeIndexEntry
    | AbortedTxn
    | ProducerStateEntry
    | EpochEntry
    | CheckpointEntry
    | PropertyEntry
    | Damage
)


def dump_file(disk: Disk, path: str, *, records: bool = False, start: int = 0) -> Iterator[Entry]:
    """The entries of the file at ``path``; the file's name determines the format.

    :param records: decode the records of a ``.log`` file.
    :param start: where to begin in a ``.log`` file: the position of a batch.
    :raises CorruptLogError: the name is not that of a file in a data folder.
    :raises StorageError: the file cannot be read.
    """
    name = path.rpartition("/")[2]
    parsed = parse_file_name(name)
    if parsed is None:
        reader = _NAMED.get(name)
        if reader is None:
            kinds, others = ", ".join([LOG_SUFFIX, *_BY_KIND]), ", ".join(_NAMED)
            raise CorruptLogError(
                f"{path} is not a file of a data folder: those are 20 digits and {kinds}, or {others}"
            )
        return _guarded(lambda: reader(disk.read(path), path))
    base_offset, kind, _ = parsed
    if kind == LOG_SUFFIX:
        return dump_log(disk, path, records=records, start=start)
    if kind not in _BY_KIND:
        raise CorruptLogError(f"{path}: files that end in {kind} are unknown")
    return _guarded(lambda: _BY_KIND[kind](base_offset, disk.read(path), path))


def _guarded(read: Callable[[], Iterator[Entry]]) -> Iterator[Entry]:
    """The entries that ``read`` returns or, if it fails, a single :class:`Damage`."""
    try:
        yield from list(read())
    except CorruptLogError as error:
        yield Damage(0, str(error))


def dump_log(disk: Disk, path: str, *, records: bool = False, start: int = 0) -> Iterator[Entry]:
    """The batches of a ``.log`` file; a batch with a wrong CRC is the last entry."""
    file = disk.open(path)
    try:
        size_bytes, position = file.size(), start
        while position < size_bytes:
            try:
                header = read_header(file.read_at(position, HEADER_SIZE_BYTES))
            except CorruptBatch as error:
                yield Damage(position, str(error))
                return
            batch = file.read_at(position, header.size_bytes)
            if len(batch) < header.size_bytes:
                yield Damage(position, f"the batch at offset {header.base_offset} is cut off: {len(batch)} bytes of it")
                return
            entry = _batch_entry(position, header, batch, records)
            yield entry
            if isinstance(entry, Damage) or not entry.crc_matches:
                return
            position += header.size_bytes
    finally:
        file.close()


def _batch_entry(position: int, header: BatchHeader, batch: bytes, records: bool) -> BatchEntry | Damage:
    crc_matches = verify_crc(batch)
    decoded: tuple[Record, ...] | None = None
    control = None
    if crc_matches and (records or header.is_control):
        try:
            decoded = tuple(decode_records(batch, check_crc=False))
            if header.is_control and decoded:
                control = ControlEntry(control_type(decoded[0].key), parse_marker(decoded[0]))
        except CorruptBatch as error:
            return Damage(position, str(error))
    return BatchEntry(position, header, crc_matches, decoded if records else None, control)


def _offset_index(base_offset: int, data: bytes, path: str) -> Iterator[Entry]:
    index = OffsetIndex.decode(base_offset, data, MAX_POSITION, path)
    return (OffsetIndexEntry(offset, position) for offset, position in index.entries())


def _time_index(base_offset: int, data: bytes, path: str) -> Iterator[Entry]:
    index = TimeIndex.decode(base_offset, data, path)
    return (TimeIndexEntry(timestamp, offset) for timestamp, offset in index.entries())


def _transaction_index(base_offset: int, data: bytes, path: str) -> Iterator[Entry]:
    return iter(TransactionIndex.decode(base_offset, data, path).entries)


def _snapshot(_base_offset: int, data: bytes, path: str) -> Iterator[Entry]:
    return iter(decode_snapshot(data, path))


def _offset_checkpoint(data: bytes, path: str) -> Iterator[Entry]:
    offsets = checkpoints.decode_offset_checkpoint(data, path)
    return (CheckpointEntry(partition, offset) for partition, offset in offsets.items())


def _leader_epochs(data: bytes, path: str) -> Iterator[Entry]:
    return iter(checkpoints.decode_leader_epochs(data, path))


def _properties(data: bytes, path: str) -> Iterator[Entry]:
    """The properties in lines of the form ``name=value`` or ``name: value``."""
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError:
        raise CorruptLogError(f"{path} is not text") from None
    for line in lines:
        if line.strip() and not line.startswith("#"):
            name, found, value = line.partition("=" if "=" in line else ":")
            if not found:
                raise CorruptLogError(f"{path} has the line {line!r}, not a name and a value")
            yield PropertyEntry(name.strip(), value.strip())


def _clean_shutdown(data: bytes, _path: str) -> Iterator[Entry]:
    yield PropertyEntry("brokerEpoch", str(checkpoints.clean_shutdown_epoch(data)))


_BY_KIND: dict[str, Callable[[int, bytes, str], Iterator[Entry]]] = {
    OFFSET_INDEX_SUFFIX: _offset_index,
    TIME_INDEX_SUFFIX: _time_index,
    TRANSACTION_INDEX_SUFFIX: _transaction_index,
    SNAPSHOT_SUFFIX: _snapshot,
}

_NAMED: dict[str, Callable[[bytes, str], Iterator[Entry]]] = {
    **dict.fromkeys(checkpoints.OFFSET_CHECKPOINTS, _offset_checkpoint),
    checkpoints.LEADER_EPOCH_CHECKPOINT: _leader_epochs,
    checkpoints.PARTITION_METADATA: _properties,
    checkpoints.META_PROPERTIES: _properties,
    checkpoints.CLEAN_SHUTDOWN: _clean_shutdown,
}
