"""Fetch's response as a list of buffers and file slices. Called by the server for every fetch it answers.

A partition's records may be ``RecordSlices``: objects that stand for ranges of files, which the server sends with
``sendfile``. Buffers and slices come out in wire order, and records are not copied. The
bytes around them come from the generated writer, so all of its versions are supported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast

from oncelog.protocol.generated.fetch_response import FetchResponse, PartitionData


class RecordSlice(Protocol):
    """A range of records in a file. Only its length matters here."""

    @property
    def size_bytes(self) -> int: ...


class RecordSlices:
    """The records of one partition as slices, in order. Its ``len`` is their length in bytes."""

    __slots__ = ("size_bytes", "slices")

    def __init__(self, slices: Sequence[RecordSlice]) -> None:
        self.slices = slices
        self.size_bytes = sum(item.size_bytes for item in slices)

    def __len__(self) -> int:
        return self.size_bytes


class ResponseParts(list[Any]):
    """The parts to send, in order: bytes, first of all, and slices. ``size_bytes`` is the length of the whole body."""

    __slots__ = ("size_bytes",)

    size_bytes: int


def set_slices(partition: PartitionData, slices: Sequence[RecordSlice]) -> None:
    """Set the partition's records. Only ``encode_fetch_response_parts`` can write such a partition."""
    partition.records = cast(Any, RecordSlices(slices))


def encode_fetch_response_parts(response: FetchResponse, version: int) -> ResponseParts:
    """The body of ``response`` as parts: the same bytes as ``encode``, with the slices in their places.

    Raises the same errors as ``encode``.
    """
    written: list[Any] = response.encode_parts(version)  # slices, too
    parts = ResponseParts()
    start = 0
    for topic in response.responses:
        for partition in topic.partitions:
            records: Any = partition.records
            if type(records) is RecordSlices:
                end = written.index(records, start)
                parts.append(b"".join(written[start:end]))
                parts.extend(records.slices)
                start = end + 1
    if start < len(written):
        parts.append(b"".join(written[start:]))
    parts.size_bytes = sum(map(len, written))
    return parts
