"""Decodes the records of internal topics into names and JSON values.

Called by the command line (``consume``, ``dump-log``, ``transactions history``) and the console. Pure.
"""

from __future__ import annotations

from typing import Any

from oncelog.broker.coordinator.transaction.records import decode_key, decode_value
from oncelog.broker.coordinator.transaction.states import TransactionState, Txn
from oncelog.errors import OncelogError
from oncelog.protocol.codec_errors import ProtocolError
from oncelog.protocol.internal_records import (
    InternalRecord,
    Unknown,
    decode_group_record,
    decode_share_state_record,
    decode_transaction_key,
    decode_transaction_value,
)
from oncelog.protocol.struct_fields import Struct
from oncelog.records.record import Record
from oncelog.runtime.shown import json_bytes
from oncelog.types import CONSUMER_OFFSETS_TOPIC, SHARE_GROUP_STATE_TOPIC, TRANSACTION_STATE_TOPIC, encode_uuid


def decode_internal_record(topic: str, record: Record) -> tuple[Any, Any] | None:
    """Key and value of a record of an internal topic; None for other topics and unreadable records."""
    try:
        if topic == TRANSACTION_STATE_TOPIC:
            return decode_transaction_record(record)
        if topic == CONSUMER_OFFSETS_TOPIC:
            return decode_offsets_record(record)
        if topic == SHARE_GROUP_STATE_TOPIC:
            return decode_share_state(record)
    except (ProtocolError, OncelogError):
        pass  # not decoded: the caller shows the record's text unchanged
    return None


def transition(record: Record) -> tuple[str, Txn | None] | None:
    """The transactional id and the state in a record of ``__transaction_state``; for a tombstone the state is None.

    None for an unknown kind of record.
    """
    transactional_id = decode_key(record.key or b"")
    if transactional_id is None:
        return None
    return transactional_id, None if record.value is None else decode_value(transactional_id, record.value)


def decode_transaction_record(record: Record) -> tuple[Any, Any]:
    """Key and value of a record of ``__transaction_state``, with the state's name; the value of a tombstone is None."""
    key = decode_transaction_key(record.key or b"")
    if isinstance(key, Unknown):
        return {"unknownType": key.record_type}, json_bytes(record.value)
    if record.value is None:
        return _plain(key), None
    value = _plain(decode_transaction_value(record.value))
    status = value.pop("transaction_status")
    known = status in TransactionState._value2member_map_
    return _plain(key), {"state": TransactionState(status).label if known else status, **value}


def decode_offsets_record(record: Record) -> tuple[Any, Any]:
    """Key and value of a record of ``__consumer_offsets``, with the kind of record; the value of a tombstone is
    None."""
    return _of_kind(decode_group_record(record.key or b"", record.value), record)


def decode_share_state(record: Record) -> tuple[Any, Any]:
    """Key and value of a record of ``__share_group_state``, with the kind of record; the value of a tombstone is
    None."""
    return _of_kind(decode_share_state_record(record.key or b"", record.value), record)


def _of_kind(found: InternalRecord | Unknown, record: Record) -> tuple[Any, Any]:
    if isinstance(found, Unknown):
        return {"unknownType": found.record_type}, json_bytes(record.value)
    kind = type(found.key).__name__.removesuffix("Key")
    return {"kind": kind, **_plain(found.key)}, None if found.value is None else _plain(found.value)


def _plain(value: Any) -> Any:
    """A decoded message as a dictionary of names and JSON values; topic ids have the form in which Kafka prints
    them."""
    if isinstance(value, Struct):
        return {
            name: encode_uuid(getattr(value, name)) if name == "topic_id" else _plain(getattr(value, name))
            for name in value.__slots__
        }
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return json_bytes(bytes(value)) if isinstance(value, bytes | bytearray | memoryview) else value
