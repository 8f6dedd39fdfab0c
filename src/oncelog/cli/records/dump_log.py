"""``oncelog dump-log``: shows the content of the files in a data folder, with the field names of Apache Kafka's dump
tool."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from oncelog.broker.coordinator.shown_records import (
    decode_offsets_record,
    decode_share_state,
    decode_transaction_record,
)
from oncelog.broker.log.dump import (
    BatchEntry,
    CheckpointEntry,
    Damage,
    Entry,
    OffsetIndexEntry,
    PropertyEntry,
    TimeIndexEntry,
    dump_file,
)
from oncelog.broker.log.file_names import parse_partition_folder
from oncelog.broker.log.leader_epoch_cache import EpochEntry
from oncelog.broker.log.producers.producer_entry import ProducerStateEntry
from oncelog.broker.log.segments.transaction_index import AbortedTxn
from oncelog.broker.server.disk.os_disk import OsDisk
from oncelog.cli.shared.output import show_json
from oncelog.errors import ConfigError, CorruptLogError, OncelogError
from oncelog.protocol.codec_errors import ProtocolError
from oncelog.records.batch import BatchHeader, Record, TimestampType
from oncelog.runtime.shown import json_bytes, show_bytes
from oncelog.types import CONSUMER_OFFSETS_TOPIC, SHARE_GROUP_STATE_TOPIC, TRANSACTION_STATE_TOPIC

Fields = dict[str, Any]
Decoder = Callable[[Record], tuple[Any, Any]]


@click.command("dump-log")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--print-data", is_flag=True, help="The records of .log files too, with keys, values and headers.")
@click.option("--transaction-log-decoder", is_flag=True, help="Read values as records of __transaction_state.")
@click.option("--offsets-decoder", is_flag=True, help="Read values as records of __consumer_offsets.")
@click.option("--share-group-state-decoder", is_flag=True, help="Read values as records of __share_group_state.")
@click.option("--max-batches", type=click.IntRange(min=1), metavar="N", help="At most N batches of each .log file.")
@click.option("--json", "-J", "as_json", is_flag=True, help="Write one JSON object for each entry.")
def command(
    files: tuple[Path, ...],
    print_data: bool,
    transaction_log_decoder: bool,
    offsets_decoder: bool,
    share_group_state_decoder: bool,
    max_batches: int | None,
    as_json: bool,
) -> None:
    """Show the contents of FILES: .log, .index, .timeindex, .txnindex, .snapshot, checkpoints, meta.properties.

    For a folder, its files are shown. Files of __transaction_state, __consumer_offsets and __share_group_state are
    decoded by the name of their folder. A damaged file is shown up to the damage, and the exit status is 1. Nothing is
    changed.

    \b
    Examples:
      oncelog dump-log data/orders-0/00000000000000000000.log --print-data
      oncelog dump-log data/orders-0 --json
      oncelog dump-log data/__transaction_state-36/00000000000000000000.log --print-data
    """
    chosen = {
        decode_transaction_record: transaction_log_decoder,
        decode_offsets_record: offsets_decoder,
        decode_share_state: share_group_state_decoder,
    }
    decoders = [decoder for decoder, wanted in chosen.items() if wanted]
    if len(decoders) > 1:
        raise ConfigError("give one decoder: a file holds the records of one topic")
    damaged: list[str] = []
    for path in _expanded(files):
        decoder = decoders[0] if decoders else _decoder(path)
        if not as_json:
            click.echo(f"Dumping {path}")
        for entry in _entries(path, print_data, max_batches):
            if isinstance(entry, Damage):
                damaged.append(f"{path} is damaged at position {entry.position}: {entry.reason}")
            elif isinstance(entry, BatchEntry) and not entry.crc_matches:
                damaged.append(f"{path} is damaged at position {entry.position}: the batch's CRC does not match")
            _show(entry, path, decoder, as_json)
    sys.stdout.flush()
    if damaged:
        raise CorruptLogError("; ".join(damaged))


def _expanded(paths: tuple[Path, ...]) -> list[Path]:
    """The given files, and for each folder the files in it that can be shown.

    :raises OncelogError: a path does not exist, or a folder holds no such file.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = [child for child in sorted(path.iterdir()) if child.is_file() and _has_known_name(child)]
            if not inside:
                raise OncelogError(f"the folder {path} holds no log files: name a partition's folder, or a file")
            files += inside
        elif path.exists():
            files.append(path)
        else:
            raise OncelogError(f"no such file: {path}")
    return files


def _has_known_name(path: Path) -> bool:
    try:
        dump_file(OsDisk(str(path.parent), read_only=True), path.name)
    except CorruptLogError:
        return False
    return True


def _entries(path: Path, records: bool, max_batches: int | None) -> Iterator[Entry]:
    batches = 0
    disk = OsDisk(str(path.absolute().parent), read_only=True)
    for entry in dump_file(disk, path.name, records=records):
        yield entry
        batches += isinstance(entry, BatchEntry)
        if max_batches is not None and batches >= max_batches:
            return


# --- showing


def _show(entry: Entry, path: Path, decoder: Decoder | None, as_json: bool) -> None:
    fields = entry_fields(entry)
    records = entry.records if isinstance(entry, BatchEntry) else None
    if as_json:
        shown: Fields = {"file": str(path), "kind": _KINDS[type(entry)], **fields}
        if records is not None and isinstance(entry, BatchEntry):
            shown["records"] = [record_fields(entry.header, record, decoder) for record in records]
        show_json(shown)
        return
    click.echo(_line(fields))
    for record in records or ():
        if isinstance(entry, BatchEntry):
            click.echo("| " + _line(record_fields(entry.header, record, decoder)))


def _line(fields: Fields) -> str:
    return " ".join(f"{name}: {_shown(value)}" for name, value in fields.items())


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{','.join(_shown(item) for item in value)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}={_shown(item)}" for name, item in value.items()) + "}"
    return show_bytes(value.encode()) if isinstance(value, str) else str(value)


def entry_fields(entry: Entry) -> Fields:
    """The fields of an entry, named as in the output of Kafka's dump tool."""
    match entry:
        case BatchEntry():
            return _batch_fields(entry)
        case OffsetIndexEntry(offset, position):
            return {"offset": offset, "position": position}
        case TimeIndexEntry(timestamp, offset):
            return {"timestamp": timestamp, "offset": offset}
        case AbortedTxn(producer_id, first_offset, last_offset, last_stable_offset):
            return {
                "version": 0,
                "producerId": producer_id,
                "firstOffset": first_offset,
                "lastOffset": last_offset,
                "lastStableOffset": last_stable_offset,
            }
        case ProducerStateEntry():
            return _producer_fields(entry)
        case EpochEntry(epoch, start_offset):
            return {"epoch": epoch, "startOffset": start_offset}
        case CheckpointEntry(partition, offset):
            return {"topic": partition.topic, "partition": partition.partition, "offset": offset}
        case PropertyEntry(name, value):
            return {"name": name, "value": value}
        case Damage(position, reason):
            return {"damagedAtPosition": position, "reason": reason}


def _batch_fields(entry: BatchEntry) -> Fields:
    header = entry.header
    time_name = "LogAppendTime" if header.timestamp_type is TimestampType.LOG_APPEND_TIME else "CreateTime"
    fields: Fields = {
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "count": header.records_count,
        "baseSequence": header.base_sequence,
        "lastSequence": header.last_sequence,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "partitionLeaderEpoch": header.partition_leader_epoch,
        "isTransactional": header.is_transactional,
        "isControl": header.is_control,
        "deleteHorizonMs": header.delete_horizon_ms,
        "position": entry.position,
        time_name: header.max_timestamp,
        "size": header.size_bytes,
        "magic": header.magic,
        "compresscodec": _codec(header),
        "crc": header.crc,
        "isvalid": entry.crc_matches,
    }
    if entry.control is not None:
        fields["endTxnMarker" if entry.control.marker else "controlType"] = entry.control.type.name
        if entry.control.marker is not None:
            fields["coordinatorEpoch"] = entry.control.marker.coordinator_epoch
    return fields


def _codec(header: BatchHeader) -> str:
    try:
        return header.compression.name.lower()
    except OncelogError as error:
        return str(error)


def _producer_fields(entry: ProducerStateEntry) -> Fields:
    return {
        "producerId": entry.producer_id,
        "producerEpoch": entry.producer_epoch,
        "coordinatorEpoch": entry.coordinator_epoch,
        "currentTxnFirstOffset": entry.current_txn_first_offset if entry.current_txn_first_offset >= 0 else None,
        "lastTimestamp": entry.last_timestamp,
        "batches": [
            {
                "firstSequence": batch.first_sequence,
                "lastSequence": batch.last_sequence,
                "lastOffset": batch.last_offset,
                "offsetDelta": batch.offset_delta,
                "timestamp": batch.timestamp,
            }
            for batch in entry.batches
        ],
    }


def record_fields(header: BatchHeader, record: Record, decoder: Decoder | None) -> Fields:
    """The fields of a record; key and value are decoded if the topic is internal and the record is not a marker."""
    fields: Fields = {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "keySize": -1 if record.key is None else len(record.key),
        "valueSize": -1 if record.value is None else len(record.value),
        "sequence": record.sequence,
        "headers": [[name, json_bytes(value)] for name, value in record.headers],
    }
    if header.is_control:
        return fields
    if decoder is None:
        fields["key"], fields["payload"] = json_bytes(record.key), json_bytes(record.value)
        return fields
    try:
        fields["key"], fields["payload"] = decoder(record)
    except (ProtocolError, OncelogError) as error:
        fields["undecodable"] = str(error)
    return fields


_KINDS: dict[type, str] = {
    BatchEntry: "batch",
    OffsetIndexEntry: "offset index",
    TimeIndexEntry: "time index",
    AbortedTxn: "aborted transaction",
    ProducerStateEntry: "producer",
    EpochEntry: "leader epoch",
    CheckpointEntry: "checkpoint",
    PropertyEntry: "property",
    Damage: "damage",
}


# --- internal topics


def _decoder(path: Path) -> Decoder | None:
    """The decoder for records of an internal topic, chosen by the name of the file's folder; None for other topics."""
    partition = parse_partition_folder(path.absolute().parent.name)
    return None if partition is None else _DECODERS.get(partition.topic)


_DECODERS: dict[str, Decoder] = {
    TRANSACTION_STATE_TOPIC: decode_transaction_record,
    CONSUMER_OFFSETS_TOPIC: decode_offsets_record,
    SHARE_GROUP_STATE_TOPIC: decode_share_state,
}
