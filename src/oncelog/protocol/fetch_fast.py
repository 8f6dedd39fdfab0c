"""Fetch's response as a list of buffers and file slices. Called by the server for every fetch it answers.

A partition's records may be ``RecordSlices``: objects that stand for ranges of files, which the server sends with
``sendfile``. Buffers and slices come out in wire order, and records are not copied. The
bytes around them come from the generated writer, so all of its versions are supported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from oncelog.protocol.generated.fetch_response import FetchResponse, PartitionData


class RecordSlice(Protocol):
    """A range of records in a file. Only its length matters here."""

    @property
    def size_bytes(self) -> int: ...


class RecordSlices:
    """The records of one partition as slices, in order. Its ``len`` is their length in bytes."""

    __slots__ = ("size_bytes", "slices")

    def __init__(self, slices: Sequence[RecordSlice], size_bytes: int) -> None:
        self.slices = slices
        self.size_bytes = size_bytes

    def __len__(self) -> int:
        return self.size_bytes


def set_slices(partition: PartitionData, slices: Sequence[RecordSlice], size_bytes: int) -> None:
    """Set the partition's records, of this size in all. Only ``encode_fetch_response_parts`` can write such a
    partition."""
    partition.records = RecordSlices(slices, size_bytes)  # type: ignore[assignment]


def encode_fetch_response_parts(response: FetchResponse, version: int) -> tuple[list[Any], int]:
    """The body of ``response`` as parts, and its length: the same bytes as ``encode``, with the slices in their places.
    The first part is bytes.

    Raises the same errors as ``encode``.
    """
    written: list[Any] = response.encode_parts(version)  # slices, too
    parts: list[Any] = []
    start = size_bytes = 0
    for topic in response.responses:
        for partition in topic.partitions:
            records: Any = partition.records
            if type(records) is RecordSlices:
                end = written.index(records, start)
                before = b"".join(written[start:end])
                parts.append(before)
                parts += records.slices
                size_bytes += len(before) + records.size_bytes
                start = end + 1
    if start < len(written):
        rest = b"".join(written[start:])
        parts.append(rest)
        size_bytes += len(rest)
    return parts, size_bytes
