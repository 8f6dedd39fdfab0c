"""Encoded batches in a shared folder, for micro-batches too large to travel through the driver.

Called by the sink: a task writes one file, ``commit()`` reads it and removes the folder of the batch. The folder is on
a shared disk or in an object store. A file is whole or refused: each batch in it has its checksum, and the
message of its task says how many there are.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

from oncelog.errors import StorageError
from oncelog.records.batch import verify_crc
from oncelog.spark.locations import file_system
from oncelog.spark.sink_protocol import PartitionBatch

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

_ENTRY = struct.Struct(">HiiI")


def spool_root(location: str) -> tuple[FileSystem, str]:
    """The location of the option ``spoolDirectory``. Raises StorageError if no file system here knows it."""
    return file_system(location, "spoolDirectory")


def batch_folder(root: str, query_id: str, batch_id: int | None) -> str:
    """The folder that the tasks of one batch write to: ``root`` and what follows it."""
    return f"{root.rstrip('/')}/{quote(query_id, safe='')}/{'once' if batch_id is None else batch_id}"


def write_spool(location: str, batches: Iterable[PartitionBatch]) -> None:
    """Write all of ``batches`` to a new file. Raises StorageError."""
    files, path = spool_root(location)
    try:
        files.create_dir(path.rpartition("/")[0], recursive=True)
        with files.open_output_stream(path) as file:
            for batch in batches:
                topic = batch.topic.encode()
                file.write(_ENTRY.pack(len(topic), batch.partition, batch.records, len(batch.data)))
                file.write(topic)
                file.write(batch.data)
    except OSError as error:
        raise StorageError(f"Cannot write {location} in spoolDirectory: {error}") from error


def read_spool(location: str, count: int) -> Iterator[PartitionBatch]:
    """The batches in order. Raises StorageError if the file is missing or not as written.

    :param count: how many were written: after its disk has crashed a file may be empty, or end behind any batch.
    """
    files, path = spool_root(location)
    left = count
    try:
        with files.open_input_stream(path) as file:
            while prefix := file.read(_ENTRY.size):
                if len(prefix) < _ENTRY.size:
                    raise _cut(location)
                name_bytes, partition, records, size_bytes = _ENTRY.unpack(prefix)
                topic, data = file.read(name_bytes), file.read(size_bytes)
                if len(topic) < name_bytes or len(data) < size_bytes or not verify_crc(data):
                    raise _cut(location)
                left -= 1
                yield PartitionBatch(topic.decode(), partition, records, data)
        if left:
            raise _cut(location)
    except OSError as error:
        raise StorageError(
            f"Cannot read {location}: {error}. spoolDirectory must be shared by the driver and all executors"
        ) from error


def remove_spool(folder: str) -> None:
    """Remove the files of a written batch; a file that cannot be removed stays, which does no harm."""
    files, path = spool_root(folder)
    try:
        files.delete_dir(path)
    except OSError:
        return


def _cut(location: str) -> StorageError:
    return StorageError(f"{location} is cut off or damaged: check the disk of spoolDirectory; the batch is repeated")
