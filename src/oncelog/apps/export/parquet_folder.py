"""A folder of Parquet files; the footer of each file contains the export's progress after its rows.

A file gets its name only when it is complete. The name has a number, one more than that of the previous file. An export
locks the folder, so that another export at the same time neither removes its unfinished file nor creates a file with
the same number.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from oncelog.apps.export.target import ExportError, ExportProgress, ExportSource
from oncelog.errors import InvariantError
from oncelog.runtime.chance import uuid4

if TYPE_CHECKING:
    from typing import BinaryIO

KEY = b"oncelog.apps.export"
"""The key of the progress in the footer."""
_PART = re.compile(r"part-(\d{6,})\.parquet")
_UNFINISHED = ".unfinished-"
_LOCK = ".lock"
_ROW_GROUP_BYTES = 32 << 20


class ParquetFolder:
    """The folder of Parquet files at a path, as the target of an export."""

    def __init__(self, path: Path) -> None:
        if not hasattr(pq.ParquetWriter, "add_key_value_metadata"):
            raise ExportError(
                f"an export to Parquet needs pyarrow 16 or later, and this is {pa.__version__}: upgrade it"
            )
        self._path = path
        self._next = 0
        self._columns: pa.Schema | None = None
        self._schema: pa.Schema = pa.schema([])
        self._part: Path = path
        self._file: BinaryIO | None = None
        self._writer: pq.ParquetWriter | None = None
        self._held: list[pa.Table] = []
        self._held_bytes = 0
        self._lock: BinaryIO | None = None

    def begun(self, topic: str, partitions: Sequence[int]) -> ExportProgress | None:
        if self._path.exists() and not self._path.is_dir():
            raise ExportError(f"{self._path} is a file, and an export to Parquet makes a folder: choose another name")
        self._path.mkdir(parents=True, exist_ok=True)
        self._lock = (self._path / _LOCK).open("ab")
        lock(self._lock, self._path)
        for left in self._path.glob(f"{_UNFINISHED}*"):
            left.unlink(missing_ok=True)
        parts = (_PART.fullmatch(one.name) for one in self._path.iterdir())
        self._next = 1 + max((int(part[1]) for part in parts if part), default=-1)
        if not self._next:
            if any(one.name != _LOCK for one in self._path.iterdir()):
                raise ExportError(f"The folder {self._path} has other files in it: choose another name")
            return None
        newest = self._part_of(self._next - 1)
        try:
            with pq.ParquetFile(newest) as file:
                metadata, self._columns = file.metadata.metadata or {}, file.schema_arrow.remove_metadata()
        except (pa.ArrowException, OSError) as error:
            raise ExportError(f"{newest} cannot be read: {error}") from error
        return ExportProgress.from_json(metadata.get(KEY, b"").decode(), str(newest))

    def _part_of(self, number: int) -> Path:
        return self._path / f"part-{number:06}.parquet"

    def open(self, schema: pa.Schema, source: ExportSource) -> None:
        if self._columns is not None and not self._columns.equals(schema):
            raise ExportError(
                f"{self._path} was begun with other columns: repeat --schema-registry as it was, or choose another name"
            )
        self._schema = schema

    def write(self, rows: pa.Table) -> None:
        self._held.append(rows)
        self._held_bytes += rows.nbytes
        if self._held_bytes >= _ROW_GROUP_BYTES:
            self._flush()

    @property
    def size_bytes(self) -> int:
        return self._held_bytes + (0 if self._file is None else self._file.tell())

    def _flush(self) -> None:
        if self._writer is None:
            self._part = self._path / f"{_UNFINISHED}{uuid4().hex}"
            self._file = self._part.open("xb")
            self._writer = pq.ParquetWriter(self._file, self._schema, compression="zstd")
        if self._held:
            self._writer.write_table(pa.concat_tables(self._held))
            self._held, self._held_bytes = [], 0

    def commit(self, progress: ExportProgress) -> None:
        self._flush()
        writer, file = self._writer, self._file
        if writer is None or file is None:
            raise InvariantError("a commit without an open file")
        writer.add_key_value_metadata({KEY: progress.to_json().encode()})
        writer.close()
        file.flush()
        os.fsync(file.fileno())
        file.close()
        self._writer = self._file = None
        self._part.rename(self._part_of(self._next))
        sync_folder(self._path)
        self._next += 1

    def close(self) -> None:
        if self._writer is not None and self._file is not None:
            self._file.close()
            with contextlib.suppress(OSError, ValueError, pa.ArrowException):
                self._writer.close()
            self._part.unlink(missing_ok=True)
            self._writer = self._file = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def lock(file: BinaryIO, path: Path) -> None:
    """Lock an open file until it is closed. Raises ExportError if another export to ``path`` has locked it."""
    import fcntl

    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise ExportError(f"Another export writes to {path}: run one at a time") from None


def sync_folder(path: Path) -> None:
    """Sync a folder, so that the names of its files are on stable storage."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
