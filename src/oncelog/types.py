"""Types used everywhere: partitions, producers and their epochs, and Kafka's special values."""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Iterable
from enum import IntEnum
from functools import lru_cache
from struct import iter_unpack
from typing import Final, NamedTuple

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_TIMESTAMP = -1
NO_PARTITION_LEADER_EPOCH = -1
MAX_SEQUENCE = 2**31 - 1
MAX_EPOCH = 32767
"""The last producer epoch, which only markers use (KIP-360); a client gets at most ``MAX_EPOCH - 1``."""

TRANSACTION_STATE_TOPIC = "__transaction_state"
CONSUMER_OFFSETS_TOPIC = "__consumer_offsets"
SHARE_GROUP_STATE_TOPIC = "__share_group_state"
INTERNAL_TOPICS = frozenset({TRANSACTION_STATE_TOPIC, CONSUMER_OFFSETS_TOPIC, SHARE_GROUP_STATE_TOPIC})


_URL_SAFE = bytes.maketrans(b"+/", b"-_")


def encode_uuid(uuid: bytes) -> str:
    """A 16-byte id as Kafka writes it: URL-safe base64 without padding, 22 characters."""
    return b2a_base64(uuid, newline=False).translate(_URL_SAFE, b"=").decode()


def partitions_there(count: int) -> str:
    """The valid partitions of a topic with this number of partitions, in words, for messages about an invalid one."""
    return "its only partition is 0" if count == 1 else f"its partitions are 0 to {count - 1}"


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class IsolationLevel(IntEnum):
    """Which records a reader sees: all, or only those of committed transactions (KIP-98)."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


READ_COMMITTED: Final = IsolationLevel.READ_COMMITTED
"""The member as a constant, because every fetch compares with it (see ``errors.NONE``)."""


class ProducerIdAndEpoch(NamedTuple):
    """The producer identity written into a batch (KIP-98)."""

    producer_id: int
    producer_epoch: int


new_tuple: Final = tuple.__new__
"""Makes a named tuple from a plain one: ``new_tuple(ProducerIdAndEpoch, (7, 0))`` is ``ProducerIdAndEpoch(7, 0)`` in a
third of the time. Every field must be given. Used for values that each step of a transaction creates."""

NO_PRODUCER = ProducerIdAndEpoch(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


def java_hash_partition(name: str, partitions: int) -> int:
    """The partition of an internal topic that is responsible for ``name``, a transactional id or a group.

    Computed like Java: ``String.hashCode`` over UTF-16 code units, then ``Utils.abs`` (the minimum becomes 0), then
    modulo.
    """
    value = _short_java_hash(name) if len(name) <= _SHORT_NAME else _long_java_hash(name)
    return (0 if value == -0x80000000 else abs(value)) % partitions


def java_hash_partition_of_parts(beginning: str, end: str, partitions: int) -> int:
    """:func:`java_hash_partition` of ``beginning + end``. Of many names with the same beginning, the hash of that
    beginning is computed once.

    :param end: at most 128 ASCII characters.
    """
    first = _short_java_hash(beginning) if len(beginning) <= _SHORT_NAME else _long_java_hash(beginning)
    value = (first * pow(31, len(end), 1 << 32) + _short_java_hash(end)) & 0xFFFFFFFF
    return (value if value < 0x80000000 else (0x100000000 - value) & 0x7FFFFFFF) % partitions


_SHORT_NAME = 128
"""The maximum length in characters of names whose hashes are cached, because the same groups and transactional ids
recur."""
_BLOCK_BYTES = 32


@lru_cache(maxsize=4096)
def _short_java_hash(name: str) -> int:
    value = 0
    units = name.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value - 0x100000000 if value >= 0x80000000 else value


@lru_cache(maxsize=8)
def _long_java_hash(name: str) -> int:
    """The hash of ``String.hashCode`` for a name of up to 32,767 characters; one request may contain hundreds of such
    names.

    All units are held in one integer, in which adjacent fields are combined until each field holds the value of 16
    units.
    """
    units = name.encode("utf-16-be", "surrogatepass")
    blocks = -(-len(units) // _BLOCK_BYTES)
    number, factor, width = int.from_bytes(units, "big"), 31, 2
    while width < _BLOCK_BYTES:
        kept = min(width, 4)
        mask = int.from_bytes(
            (bytes(2 * width - kept) + b"\xff" * kept) * (blocks * _BLOCK_BYTES // (2 * width)), "big"
        )
        number = (number >> 8 * width & mask) * factor + (number & mask)
        factor, width = factor * factor & 0xFFFFFFFF, 2 * width
    value = 0
    for (block,) in iter_unpack(">24xQ", number.to_bytes(blocks * _BLOCK_BYTES, "big")):
        value = (value * factor + block) & 0xFFFFFFFF
    return value - 0x100000000 if value >= 0x80000000 else value


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """The partition numbers of each topic; topics and numbers keep the given order."""
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return topics
