"""Fetch's response as a list of buffers and file slices. Called by the server for every fetch it answers.

A partition's records may be ``RecordSlices``: objects that stand for ranges of files, which the server sends with
``sendfile``. Buffers and slices come out in wire order, and records are not copied. The
bytes around them come from the generated writer, so all of its versions are supported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol, TypeAlias, cast

from oncelog.protocol.generated.fetch_response import FetchResponse, PartitionData
from oncelog.protocol.wire import Buffer

_JOIN_BELOW: Final = 4096
"""Buffers shorter than this are joined with their neighbours: copying them costs less than another ``iovec``."""


class RecordSlice(Protocol):
    """A range of records in a file. Only its length matters here."""

    @property
    def size_bytes(self) -> int: ...


Part: TypeAlias = "bytes | memoryview | RecordSlice"


class RecordSlices:
    """The records of one partition as slices, in order. Its ``len`` is their length in bytes."""

    __slots__ = ("size_bytes", "slices")

    def __init__(self, slices: Sequence[RecordSlice]) -> None:
        self.slices = slices
        self.size_bytes = sum(item.size_bytes for item in slices)

    def __len__(self) -> int:
        return self.size_bytes


class ResponseParts(list[Part]):
    """The parts to send, in order; ``size_bytes`` is the length of the whole body."""

    __slots__ = ("size_bytes",)

    size_bytes: int


def set_slices(partition: PartitionData, slices: Sequence[RecordSlice]) -> None:
    """Set the partition's records. Only ``encode_fetch_response_parts`` can write such a partition."""
    partition.records = cast(Any, RecordSlices(slices))


def encode_fetch_response_parts(response: FetchResponse, version: int) -> ResponseParts:
    """The body of ``response`` as parts: the same bytes as ``encode``, with the slices in their places.

    Raises the same errors as ``encode``.
    """
    parts = ResponseParts()
    small: list[Buffer] = []
    size_bytes = 0
    for part in cast("list[Buffer | RecordSlices]", response.encode_parts(version)):
        size = len(part)
        size_bytes += size
        if isinstance(part, RecordSlices):
            parts.append(b"".join(small))
            small.clear()
            parts.extend(part.slices)
        elif size < _JOIN_BELOW:
            small.append(part)
        else:
            parts.append(b"".join(small))
            small.clear()
            parts.append(part)
    if small:
        parts.append(b"".join(small))
    parts.size_bytes = size_bytes
    return parts
