"""The values that users of the client see, shaped as in aiokafka 0.14 so that its users only change an import.

Called by everything in the client and by the Spark source; nothing here has behaviour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from oncelog.types import TopicPartition

Bytes = bytes | bytearray | memoryview
"""Keys and values written without serialization."""

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # this TypeVar takes defaults on Python below 3.13, too

    K = TypeVar("K", covariant=True, default=bytes)
    V = TypeVar("V", covariant=True, default=bytes)
    SentK = TypeVar("SentK", contravariant=True, default=Any)
    SentV = TypeVar("SentV", contravariant=True, default=Any)
    ReadK = TypeVar("ReadK", covariant=True, default=Any)
    ReadV = TypeVar("ReadV", covariant=True, default=Any)
    AnyK = TypeVar("AnyK", default=Any)
    AnyV = TypeVar("AnyV", default=Any)
    T = TypeVar("T")
else:
    from typing import TypeVar

    K, V, SentK, SentV = TypeVar("K"), TypeVar("V"), TypeVar("SentK"), TypeVar("SentV")
    AnyK, AnyV, ReadK, ReadV = TypeVar("AnyK"), TypeVar("AnyV"), TypeVar("ReadK"), TypeVar("ReadV")
    T = TypeVar("T")

__all__ = [
    "Columns",
    "ConsumerGroupMetadata",
    "ConsumerRecord",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "RecordMetadata",
    "TopicPartition",
]


def takes_fewer_types(generic: type[T]) -> type[T]:
    """Make a generic class accept fewer type arguments than it has type variables: missing ones are bytes.

    Python itself supports defaults from 3.13 on; ``Consumer[str]`` works in older ones, too.
    """

    def filled_up(cls: Any, given: Any) -> Any:
        arguments = given if isinstance(given, tuple) else (given,)
        missing = len(getattr(cls, "__parameters__", ())) - len(arguments) if arguments else 0
        return Generic.__dict__["__class_getitem__"].__get__(None, cls)((*arguments, *(bytes,) * missing))

    setattr(generic, "__class_getitem__", classmethod(filled_up))  # noqa: B010 - mypy takes no assignment
    return generic


class RecordMetadata(NamedTuple):
    """Where a record was stored. ``offset`` is -1 if the broker did not say (``acks=0``, or the answer was lost).

    ``timestamp`` in ms; ``timestamp_type`` 0 is the producer's clock, 1 the broker's.
    """

    topic: str
    partition: int
    topic_partition: TopicPartition
    offset: int
    timestamp: int | None
    timestamp_type: int
    log_start_offset: int | None


@takes_fewer_types
class ConsumerRecord(NamedTuple, Generic[K, V]):
    """One record read. Sizes are those before deserialization, -1 for null; ``checksum`` is always None (format v2).

    The types are what the consumer's deserializers return, by default bytes. Both may be None: a record needs no key,
    and one without a value deletes its key from a compacted topic.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: K | None
    value: V | None
    checksum: int | None
    serialized_key_size: int
    serialized_value_size: int
    headers: Sequence[tuple[str, bytes | None]]


class Columns(NamedTuple):
    """Records of one partition as columns: the n-th items of all lists form one record. Timestamps are in ms."""

    offsets: list[int]
    timestamps: list[int]
    keys: list[bytes | None]
    values: list[bytes | None]
    headers: list[tuple[tuple[str, bytes | None], ...]]


class OffsetAndMetadata(NamedTuple):
    """A committed position: the next offset to read, and metadata stored with it."""

    offset: int
    metadata: str = ""
    leader_epoch: int = -1


class OffsetAndTimestamp(NamedTuple):
    """Answer of ``offsets_for_times``: the first record at or after the requested time."""

    offset: int
    timestamp: int | None


class ConsumerGroupMetadata(NamedTuple):
    """The member that commits offsets, so that a transaction of a zombie member is refused (KIP-447)."""

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    topic_ids: tuple[tuple[TopicPartition, bytes], ...] = ()
    """The id of the topic from which the consumer has read each partition. If that topic was deleted since, a
    transaction does not commit its offsets for a recreated topic of the same name (KIP-1319)."""
