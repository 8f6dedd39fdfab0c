"""Keys and values of the coordinators' own topics: ``__transaction_state``, ``__consumer_offsets`` and
``__share_group_state``.

A key starts with an i16 that names the record's type, a value with an i16 that is the value's version; the rest is a
message of ``generated``. A null value is a tombstone. Called by the coordinators, ``dump-log`` and tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from struct import Struct
from struct import error as StructError
from typing import Final, NamedTuple

from oncelog.protocol.codec_errors import MalformedMessage, UnencodableValue
from oncelog.protocol.generated.transaction_log_key import TransactionLogKey
from oncelog.protocol.generated.transaction_log_value import TransactionLogValue
from oncelog.protocol.struct_fields import Buffer
from oncelog.protocol.wire import Message

Types = tuple[type[Message], type[Message]]
TypesOf = Callable[[int], Types | None]
_I16: Final = Struct(">h")
_TRANSACTION_KEY: Final = Struct(">hh")

GROUP_RECORDS: Final[Mapping[int, tuple[str, str]]] = {
    0: ("offset_commit", "OffsetCommit"),
    1: ("offset_commit", "OffsetCommit"),
    2: ("group_metadata", "GroupMetadata"),
    3: ("consumer_group_metadata", "ConsumerGroupMetadata"),
    4: ("consumer_group_partition_metadata", "ConsumerGroupPartitionMetadata"),
    5: ("consumer_group_member_metadata", "ConsumerGroupMemberMetadata"),
    6: ("consumer_group_target_assignment_metadata", "ConsumerGroupTargetAssignmentMetadata"),
    7: ("consumer_group_target_assignment_member", "ConsumerGroupTargetAssignmentMember"),
    8: ("consumer_group_current_member_assignment", "ConsumerGroupCurrentMemberAssignment"),
    10: ("share_group_member_metadata", "ShareGroupMemberMetadata"),
    11: ("share_group_metadata", "ShareGroupMetadata"),
    12: ("share_group_target_assignment_metadata", "ShareGroupTargetAssignmentMetadata"),
    13: ("share_group_target_assignment_member", "ShareGroupTargetAssignmentMember"),
    14: ("share_group_current_member_assignment", "ShareGroupCurrentMemberAssignment"),
    15: ("share_group_state_partition_metadata", "ShareGroupStatePartitionMetadata"),
    16: ("consumer_group_regular_expression", "ConsumerGroupRegularExpression"),
}
"""The stems of the module's and the class's names, by record type. Type 0, the oldest form of an offset commit, has the
fields of type 1.

The types of streams groups, which this broker lacks, are left out.
"""
SHARE_STATE_RECORDS: Final[Mapping[int, tuple[str, str]]] = {
    0: ("share_snapshot", "ShareSnapshot"),
    1: ("share_update", "ShareUpdate"),
}


class Unknown(NamedTuple):
    """A record of an unknown type. It is ignored at load, as in Kafka."""

    record_type: int


class InternalRecord(NamedTuple):
    """A record of ``__consumer_offsets`` or ``__share_group_state``; ``value`` is ``None`` for a tombstone."""

    key: Message
    value: Message | None


def encode_transaction_key(transactional_id: str) -> bytes:
    name = transactional_id.encode()
    try:
        return _TRANSACTION_KEY.pack(0, len(name)) + name
    except StructError as error:
        raise UnencodableValue("TransactionLogKey", str(error)) from error


def encode_transaction_value(value: TransactionLogValue, version: int) -> bytes:
    """A transaction's value, preceded by its version. Version 0 belongs to transaction version 0; version 1 is flexible
    and has the fields of KIP-890 as tags."""
    return _I16.pack(version) + value.encode(version)


def decode_transaction_key(data: Buffer) -> TransactionLogKey | Unknown:
    record_type = _prefix(data, "TransactionLogKey")
    if record_type != 0:
        return Unknown(record_type)
    return TransactionLogKey.decode(data, 0, 2)


def decode_transaction_value(data: Buffer) -> TransactionLogValue:
    """Decode a transaction's value.

    :raises UnknownVersion: the value has an unknown version; reading on would skip a part of the log.
    """
    return TransactionLogValue.decode(data, _prefix(data, "TransactionLogValue"), 2)


def encode_record_key(key: Message) -> bytes:
    """The encoded key of a record, preceded by the record's type, which the key's class defines."""
    return _I16.pack(key.API_KEY) + key.encode(0)


def encode_record_value(value: Message, version: int) -> bytes:
    return _I16.pack(version) + value.encode(version)


def decode_group_record(key: Buffer, value: Buffer | None) -> InternalRecord | Unknown:
    """Key and value by the key's type; ``UnknownVersion`` if the value's version is unknown."""
    return _decode(key, value, "GroupRecordKey", _group_types)


def decode_share_state_record(key: Buffer, value: Buffer | None) -> InternalRecord | Unknown:
    """Like :func:`decode_group_record`, for ``__share_group_state``."""
    return _decode(key, value, "ShareStateKey", _share_state_types)


def _decode(key: Buffer, value: Buffer | None, kind: str, types_of: TypesOf) -> InternalRecord | Unknown:
    record_type = _prefix(key, kind)
    types = types_of(record_type)
    if types is None:
        return Unknown(record_type)
    key_type, value_type = types
    decoded_key = key_type.decode(key, 0, 2)
    if value is None:
        return InternalRecord(decoded_key, None)
    return InternalRecord(decoded_key, value_type.decode(value, _prefix(value, value_type.__name__), 2))


def _prefix(data: Buffer, message: str) -> int:
    if len(data) < 2:
        raise MalformedMessage(message, "version", 0, "ends before the field does")
    (prefix,) = _I16.unpack_from(data)
    return int(prefix)


@cache
def _group_types(record_type: int) -> Types | None:
    return _types(GROUP_RECORDS.get(record_type))


@cache
def _share_state_types(record_type: int) -> Types | None:
    return _types(SHARE_STATE_RECORDS.get(record_type))


def _types(names: tuple[str, str] | None) -> Types | None:
    if names is None:
        return None
    stem, title = names
    key = import_module(f"oncelog.protocol.generated.{stem}_key")
    value = import_module(f"oncelog.protocol.generated.{stem}_value")
    return getattr(key, title + "Key"), getattr(value, title + "Value")
