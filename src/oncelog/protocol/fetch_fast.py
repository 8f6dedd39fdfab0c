"""Reads Fetch requests and writes Fetch responses without making an object for each of their parts. Called by the
broker for every Fetch.

A request becomes a :class:`FetchAsked`. This module reads requests in the common form; the codec of messages reads all
others (with tagged fields, forgotten topics, more than 126 topics or partitions, or malformed bytes). An answer is
written as a list of buffers and file slices in wire order: its records are ranges of files, which the server sends with
``sendfile``, without copying them. A property test compares both directions with the codec of messages.

From version 12 on the compiled module reads and writes them if it exists; otherwise the functions here do.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.framing import encode_response_header
from oncelog.protocol.generated.fetch_request import FetchRequest
from oncelog.protocol.struct_fields import Buffer, ElementLimit, uvarint
from oncelog.protocol.wire import Message, string_length
from oncelog.records.native import compiled
from oncelog.types import new_tuple

FIRST_WITH_SESSIONS: Final = 7
FIRST_WITH_TOPIC_IDS: Final = 13
_FIRST_WITH_LOG_START, _FIRST_WITH_PREFERRED_REPLICA, _FIRST_WITH_REPLICA_STATE = 5, 11, 15
_FLEXIBLE_FROM: Final = FetchRequest.FLEXIBLE_FROM
NO_REPLICA: Final = -1

# --- requests

_unpack_asked_12 = Struct(">iiiibiiB").unpack_from
_unpack_asked_15 = Struct(">iiibiiB").unpack_from
_unpack_topic_13 = Struct(">16sB").unpack_from
_unpack_position_12 = Struct(">iiqiqi").unpack_from
_POSITION_BYTES: Final = 32


class FetchPosition(NamedTuple):
    """The part of a request for one partition, in the order of the protocol; -1 for fields that the version does not
    have."""

    partition: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    max_bytes: int


AskedTopic = tuple[str, bytes, list[FetchPosition]]
"""Name, id and partitions of a topic. The name is empty in versions with topic ids; the id is empty in older
versions."""
ForgottenTopic = tuple[str, bytes, Sequence[int]]


class FetchAsked(Message):
    """A Fetch request, with only the fields that the broker reads.

    :ivar replica_id: the id of the follower that fetches, from the field that the version has for it; -1 for a
        consumer.
    """

    __slots__ = (
        "forgotten",
        "isolation_level",
        "max_bytes",
        "max_wait_ms",
        "min_bytes",
        "replica_id",
        "session_epoch",
        "session_id",
        "topics",
    )

    def __init__(
        self,
        replica_id: int,
        max_wait_ms: int,
        min_bytes: int,
        max_bytes: int,
        isolation_level: int,
        session_id: int,
        session_epoch: int,
        topics: Sequence[AskedTopic],
        forgotten: Sequence[ForgottenTopic] = (),
    ) -> None:
        self.replica_id = replica_id
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation_level = isolation_level
        self.session_id = session_id
        self.session_epoch = session_epoch
        self.topics = topics
        self.forgotten = forgotten

    @classmethod
    def decode_prefix(
        cls, data: Buffer, version: int, offset: int = 0, limit: ElementLimit | None = None
    ) -> tuple[FetchAsked, int]:
        """Like ``decode_prefix`` of the generated message, with the same errors. The returned position is always the
        end of ``data``."""
        if not isinstance(data, bytes):
            data = bytes(data)
        asked = _parse(data, offset, version) if limit is None and version >= _FLEXIBLE_FROM else None
        if asked is None:
            asked = of_request(FetchRequest.decode_prefix(data, version, offset, limit)[0], version)
        return asked, len(data)


def parse_in_python(data: bytes, pos: int, version: int) -> FetchAsked | None:
    """A request of version 12 or later, if it has the common form; otherwise None."""
    try:
        if version >= _FIRST_WITH_REPLICA_STATE:
            max_wait_ms, min_bytes, max_bytes, isolation, session_id, epoch, topic_count = _unpack_asked_15(data, pos)
            replica_id = NO_REPLICA
            pos += 22
        else:
            replica_id, max_wait_ms, min_bytes, max_bytes, isolation, session_id, epoch, topic_count = _unpack_asked_12(
                data, pos
            )
            pos += 26
        topics: list[AskedTopic] = []
        for _ in range(topic_count - 1):
            if version >= FIRST_WITH_TOPIC_IDS:
                name = ""
                topic_id, count = _unpack_topic_13(data, pos)
                pos += 17
            else:
                end = pos + data[pos]
                name, topic_id, count = data[pos + 1 : end].decode(), b"", data[end]
                if not pos < end <= pos + 127:
                    return None
                pos = end + 1
            positions = []
            for _ in range(count - 1):
                if data[pos + _POSITION_BYTES]:  # tagged fields
                    return None
                positions.append(new_tuple(FetchPosition, _unpack_position_12(data, pos)))
                pos += _POSITION_BYTES + 1
            if not 0 < count < 128 or data[pos]:
                return None
            topics.append((name, topic_id, positions))
            pos += 1
        if not 0 < topic_count < 128 or not _ends_plainly(data, pos):
            return None
    except (StructError, IndexError, ValueError):
        return None
    return FetchAsked(replica_id, max_wait_ms, min_bytes, max_bytes, isolation, session_id, epoch, topics)


def _ends_plainly(data: bytes, pos: int) -> bool:
    """Whether the rest is usual: no forgotten topics, a rack, and no tagged fields."""
    end = pos + 1 + data[pos + 1]
    data[pos + 2 : end].decode()
    return data[pos] == 1 and pos + 1 < end <= pos + 128 and not data[end]


def of_request(request: FetchRequest, version: int) -> FetchAsked:
    """The fields of a generated request that the broker reads, for this version."""
    by_id = version >= FIRST_WITH_TOPIC_IDS
    topics: list[AskedTopic] = []
    for topic in request.topics:
        positions = [
            new_tuple(
                FetchPosition,
                (
                    asked.partition,
                    asked.current_leader_epoch,
                    asked.fetch_offset,
                    asked.last_fetched_epoch,
                    asked.log_start_offset,
                    asked.partition_max_bytes,
                ),
            )
            for asked in topic.partitions
        ]
        topics.append(("", topic.topic_id, positions) if by_id else (topic.topic, b"", positions))
    return FetchAsked(
        request.replica_state.replica_id if version >= _FIRST_WITH_REPLICA_STATE else request.replica_id,
        request.max_wait_ms,
        request.min_bytes,
        request.max_bytes,
        request.isolation_level,
        request.session_id,
        request.session_epoch,
        topics,
        tuple(
            ("", gone.topic_id, gone.partitions) if by_id else (gone.topic, b"", gone.partitions)
            for gone in request.forgotten_topics_data
        ),
    )


# --- answers

_pack_answer_4 = Struct(">ii").pack
_pack_answer_7 = Struct(">ihii").pack
_pack_answer_12 = Struct(">ihi").pack
_pack_partition_4 = Struct(">ihqq").pack
_pack_partition_5 = Struct(">ihqqq").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ii = Struct(">ii").pack
_pack_aborted = Struct(">qq").pack
_pack_aborted_12 = Struct(">qqx").pack
_pack_divergence = Struct(">BBiqx").pack
_pack_leader = Struct(">BBiix").pack
_DIVERGENCE_TAG, _LEADER_TAG = 0, 1

PartitionKey = tuple[str, bytes, int]
"""Topic name, topic id and partition. The name or the id is empty if it could not be found."""


class RecordSlice(Protocol):
    """A range of records in a file, of which this module needs only the length."""

    @property
    def size_bytes(self) -> int: ...


class FetchedPartition(NamedTuple):
    """The part of the answer for one partition.

    :ivar aborted: producer id and first offset of each aborted transaction.
    :ivar slices: the records, ``size_bytes`` in all.
    :ivar divergence: leader epoch and end offset, from version 12 on.
    :ivar leader: id and epoch of the current leader, from version 12 on.
    """

    key: PartitionKey
    error_code: int
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: Sequence[tuple[int, int]] | None
    slices: Sequence[RecordSlice]
    size_bytes: int
    divergence: tuple[int, int] | None
    leader: tuple[int, int] | None


_AnsweredTopic = tuple[str, bytes, list[FetchedPartition]]


class FetchAnswered(Message):
    """The answer to a Fetch. Adjacent partitions of the same topic are encoded as one topic."""

    __slots__ = ("error_code", "partitions", "session_id", "throttle_time_ms")

    def __init__(self, error_code: int, session_id: int = 0, partitions: Sequence[FetchedPartition] = ()) -> None:
        self.throttle_time_ms = 0
        self.error_code = error_code
        self.session_id = session_id
        self.partitions = partitions

    def encode_with_slices(self, version: int, correlation_id: int) -> list[Any]:
        """The encoded header and body as a list of parts, with the slices at their places. The first part is bytes."""
        if version >= _FLEXIBLE_FROM:
            return _encode_flexible(self, correlation_id)
        parts, size_bytes = _encode_fixed(self, _by_topic(self), version)
        parts[0] = encode_response_header(ApiKey.FETCH, version, correlation_id, size_bytes) + parts[0]
        return parts


def _by_topic(answer: FetchAnswered) -> Sequence[_AnsweredTopic]:
    topics: list[_AnsweredTopic] = []
    for part in answer.partitions:
        name, topic_id, _ = part.key
        if topics and topics[-1][0] == name and topics[-1][1] == topic_id:
            topics[-1][2].append(part)
        else:
            topics.append((name, topic_id, [part]))
    return topics


def encode_flexible_in_python(answer: FetchAnswered, correlation_id: int) -> list[Any]:
    """The encoded header and body in any version from 12 on, as a list of parts."""
    topics = _by_topic(answer)
    parts: list[Any] = []
    size_bytes = 0
    written = [_pack_answer_12(answer.throttle_time_ms, answer.error_code, answer.session_id), uvarint(len(topics) + 1)]
    for name, topic_id, partitions in topics:
        if topic_id:
            written.append(topic_id)
        else:
            encoded = name.encode()
            written += string_length(len(encoded) + 1), encoded
        written.append(uvarint(len(partitions) + 1))
        for (_, _, index), error, high_watermark, stable, start, aborted, slices, length, epochs, leader in partitions:
            written.append(_pack_partition_5(index, error, high_watermark, stable, start))
            written.append(uvarint(0 if aborted is None else len(aborted) + 1))
            written += [_pack_aborted_12(*entry) for entry in aborted or ()]
            written += _pack_i(NO_REPLICA), uvarint(length + 1)
            if length:
                before = b"".join(written)
                parts.append(before)
                parts += slices
                size_bytes += len(before) + length
                written = []
            written.append(_tags(epochs, leader))
        written.append(b"\0")
    written.append(b"\0")
    rest = b"".join(written)
    parts.append(rest)
    size_bytes += len(rest)
    parts[0] = encode_response_header(ApiKey.FETCH, _FLEXIBLE_FROM, correlation_id, size_bytes) + parts[0]
    return parts


def _encode_fixed(answer: FetchAnswered, topics: Sequence[_AnsweredTopic], version: int) -> tuple[list[Any], int]:
    """The encoded body in a version before 12, as a list of parts, and its length in bytes."""
    parts: list[Any] = []
    size_bytes = 0
    if version >= FIRST_WITH_SESSIONS:
        head = _pack_answer_7(answer.throttle_time_ms, answer.error_code, answer.session_id, len(topics))
    else:
        head = _pack_answer_4(answer.throttle_time_ms, len(topics))
    written = [head]
    for name, _, partitions in topics:
        encoded = name.encode()
        written += _pack_h(len(encoded)), encoded, _pack_i(len(partitions))
        for (_, _, index), error, high_watermark, stable, start, aborted, slices, length, _, _ in partitions:
            if version >= _FIRST_WITH_LOG_START:
                written.append(_pack_partition_5(index, error, high_watermark, stable, start))
            else:
                written.append(_pack_partition_4(index, error, high_watermark, stable))
            written.append(_pack_i(-1 if aborted is None else len(aborted)))
            written += [_pack_aborted(*entry) for entry in aborted or ()]
            if version >= _FIRST_WITH_PREFERRED_REPLICA:
                written.append(_pack_ii(NO_REPLICA, length))
            else:
                written.append(_pack_i(length))
            if length:
                before = b"".join(written)
                parts.append(before)
                parts += slices
                size_bytes += len(before) + length
                written = []
    if written:
        rest = b"".join(written)
        parts.append(rest)
        size_bytes += len(rest)
    return parts, size_bytes


def _tags(divergence: tuple[int, int] | None, leader: tuple[int, int] | None) -> bytes:
    tagged = []
    if divergence is not None:
        tagged.append(_pack_divergence(_DIVERGENCE_TAG, 13, *divergence))
    if leader is not None:
        tagged.append(_pack_leader(_LEADER_TAG, 9, *leader))
    return bytes((len(tagged),)) + b"".join(tagged)


if TYPE_CHECKING or compiled is None:
    _parse = parse_in_python
    _encode_flexible = encode_flexible_in_python
else:
    compiled.set_fetch_types(FetchAsked, FetchPosition, string_length)
    _parse = compiled.parse_fetch
    _encode_flexible = compiled.encode_fetch
