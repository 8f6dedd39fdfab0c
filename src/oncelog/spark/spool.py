"""Encoded batches on a shared folder, for micro-batches that are too large to travel through the driver.

Called by the sink: a task writes one file, ``commit()`` reads it and removes the folder of the batch. A file that is
there under its final name is whole.
"""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

from oncelog.errors import StorageError
from oncelog.records.batch import verify_crc
from oncelog.spark.sink_protocol import PartitionBatch

_ENTRY = struct.Struct(">HiiI")


def batch_folder(root: str, query_id: str, batch_id: int | None) -> Path:
    """Where the tasks of one batch write."""
    return Path(root) / quote(query_id, safe="") / str("once" if batch_id is None else batch_id)


def write_spool(path: Path, batches: Iterable[PartitionBatch]) -> None:
    """All of ``batches`` in a new file. Raises StorageError."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            for batch in batches:
                topic = batch.topic.encode()
                file.write(_ENTRY.pack(len(topic), batch.partition, batch.records, len(batch.data)))
                file.write(topic)
                file.write(batch.data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise StorageError(f"Cannot write {path} in spoolDirectory: {error.strerror}") from error


def read_spool(path: Path) -> Iterator[PartitionBatch]:
    """The batches in their order. Raises StorageError for a file that is missing or not what was written."""
    try:
        with path.open("rb") as file:
            while prefix := file.read(_ENTRY.size):
                if len(prefix) < _ENTRY.size:
                    raise _cut(path)
                name_bytes, partition, records, size_bytes = _ENTRY.unpack(prefix)
                topic, data = file.read(name_bytes), file.read(size_bytes)
                if len(topic) < name_bytes or len(data) < size_bytes or not verify_crc(data):
                    raise _cut(path)
                yield PartitionBatch(topic.decode(), partition, records, data)
    except OSError as error:
        raise StorageError(
            f"Cannot read {path}: {error.strerror}. spoolDirectory must be shared by the driver and all executors"
        ) from error


def remove_spool(folder: Path) -> None:
    """Remove the files of a batch that is written; what cannot be removed stays, as it does no harm."""
    shutil.rmtree(folder, ignore_errors=True)


def _cut(path: Path) -> StorageError:
    return StorageError(f"{path} is cut off or damaged: check the disk of spoolDirectory; the batch is repeated")
