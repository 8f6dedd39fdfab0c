"""Encodes the most frequent records of the coordinators to the same bytes as ``internal_records``, without making an
object for each.

Called by ``broker.coordinator.transaction.records`` and ``broker.coordinator.group.records`` for each transaction's
steps and each committed offset. A test compares every function with the codec of messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from struct import error as StructError
from typing import Final

from oncelog.protocol.codec_errors import UnencodableValue
from oncelog.protocol.struct_fields import ZERO_UUID, uvarint
from oncelog.protocol.wire import string_length

_INT32: Final = Struct(">i")
_KEY: Final = Struct(">hh")
_LENGTH: Final = Struct(">h")
_STATE: Final = Struct(">hqhib")
_TIMES: Final = Struct(">qqB")
_USUAL_END: Final = Struct(">qqBBBqBBh")
"""The end of a usual transaction value: two times, and the two tags that every step has since transaction version 2."""
_TAG_INT64: Final = Struct(">BBq")
_TAG_INT16: Final = Struct(">BBh")
_OFFSET: Final = Struct(">hqi")
_USUAL_OFFSET: Final = Struct(">hqiBq")
"""The fixed fields of a committed offset that has no metadata."""
_INT64: Final = Struct(">q")
OFFSET_COMMIT_TYPE: Final = 1
OFFSET_COMMIT_VERSION: Final = 4


NO_TOPICS: Final = b"\0"
"""The encoded topics of a transaction in state Empty: null, which differs from an empty list."""


def transaction_topics(partitions: Sequence[tuple[str, Sequence[int]]]) -> bytes:
    """The encoded topics and partitions of a transaction, for version 1 of its value."""
    parts = [uvarint(len(partitions) + 1)]
    for topic, indexes in partitions:
        name = topic.encode()
        parts += string_length(len(name) + 1), name, uvarint(len(indexes) + 1)
        parts += [_INT32.pack(index) for index in indexes]
        parts.append(b"\0")
    return b"".join(parts)


def transaction_value(
    producer_id: int,
    producer_epoch: int,
    timeout_ms: int,
    status: int,
    topics: bytes,
    last_update_ms: int,
    start_ms: int,
    previous_producer_id: int,
    next_producer_id: int,
    client_transaction_version: int,
    next_producer_epoch: int = -1,
) -> bytes:
    """The value of a transaction, in version 1. ``topics`` comes from ``transaction_topics``, or is ``NO_TOPICS``;
    fields with their defaults get no tag."""
    try:
        head = _STATE.pack(1, producer_id, producer_epoch, timeout_ms, status)
    except StructError as error:
        raise UnencodableValue("TransactionLogValue", str(error)) from error
    has_next = next_producer_id != -1 or next_producer_epoch != -1
    if client_transaction_version and previous_producer_id != -1 and not has_next:
        end = _USUAL_END.pack(last_update_ms, start_ms, 2, 0, 8, previous_producer_id, 2, 2, client_transaction_version)
        return head + topics + end
    tags, count = b"", 0
    if previous_producer_id != -1:
        tags, count = _TAG_INT64.pack(0, 8, previous_producer_id), 1
    if next_producer_id != -1:
        tags, count = tags + _TAG_INT64.pack(1, 8, next_producer_id), count + 1
    if client_transaction_version:
        tags, count = tags + _TAG_INT16.pack(2, 2, client_transaction_version), count + 1
    if next_producer_epoch != -1:
        tags, count = tags + _TAG_INT16.pack(3, 2, next_producer_epoch), count + 1
    return head + topics + _TIMES.pack(last_update_ms, start_ms, count) + tags


def offset_commit_key(group_id: str, topic: str, partition: int) -> bytes:
    group, name = group_id.encode(), topic.encode()
    head = _packed(_KEY, "OffsetCommitKey", OFFSET_COMMIT_TYPE, len(group))
    return b"".join((head, group, _LENGTH.pack(len(name)), name, _INT32.pack(partition)))


def offset_commit_value(
    offset: int, leader_epoch: int, metadata: str, commit_timestamp_ms: int, topic_id: bytes
) -> bytes:
    """The value of a committed offset, in version 4; without a topic id there is no tag."""
    tags = b"\0" if topic_id == ZERO_UUID else b"\1\0\x10" + topic_id
    if not metadata:
        fields = OFFSET_COMMIT_VERSION, offset, leader_epoch, 1, commit_timestamp_ms
        return _packed(_USUAL_OFFSET, "OffsetCommitValue", *fields) + tags
    text = metadata.encode()
    head = _packed(_OFFSET, "OffsetCommitValue", OFFSET_COMMIT_VERSION, offset, leader_epoch)
    return b"".join((head, string_length(len(text) + 1), text, _INT64.pack(commit_timestamp_ms), tags))


def _packed(struct: Struct, name: str, *values: int) -> bytes:
    try:
        return struct.pack(*values)
    except StructError as error:
        raise UnencodableValue(name, str(error)) from error
