"""A CSV file that grows, and next to it a file with one line for each commit: the export's progress, and the length of
the CSV file that is committed.

A run first cuts off what a killed run wrote after its last commit. An empty field without quotes is NULL, an empty text
is in quotes. A struct becomes one column for each of its fields; values nested deeper are JSON.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from oncelog.apps.export.parquet_folder import lock, sync_folder
from oncelog.apps.export.target import ExportError, ExportProgress, ExportSource
from oncelog.errors import InvariantError
from oncelog.records.arrow_moments import moment_texts
from oncelog.runtime import real_json as json
from oncelog.schemas.avro_json import to_json


class CsvFile:
    """The CSV file at a path, as the target of an export."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._beside = path.with_name(f".{path.name}.position")
        self._positions: BinaryIO | None = None
        self._file: BinaryIO | None = None
        self._columns: list[str] | None = None
        self._names: list[str] = []
        self._committed = 0

    def begun(self, topic: str, partitions: Sequence[int]) -> ExportProgress | None:
        if self._path.is_dir():
            raise ExportError(f"{self._path} is a folder, and an export to CSV makes a file: choose another name")
        if self._path.exists() and not self._beside.exists():
            raise ExportError(f"{self._path} was not made by an export: choose another name, or remove it")
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._positions = self._locked()
        last = _last_line(self._positions)
        if not last:
            return None
        try:
            given = json.loads(last)
            self._committed, self._columns = int(given["size_bytes"]), list(given["columns"])
            text = str(given["progress"])
        except (ValueError, KeyError, TypeError) as error:
            raise ExportError(f"{self._beside} has no position of the export: {error!r}") from error
        size = self._path.stat().st_size if self._path.exists() else 0
        if size < self._committed:
            raise ExportError(
                f"{self._path} has {size} bytes, and {self._beside.name} says {self._committed}: another program "
                "has changed it; remove both to export again from the beginning"
            )
        return ExportProgress.from_json(text, str(self._beside))

    def _locked(self) -> BinaryIO:
        file = self._beside.open("a+b")
        lock(file, self._path)
        return file

    def open(self, schema: pa.Schema, source: ExportSource) -> None:
        self._names = _names(schema)
        if self._columns is not None and self._columns != self._names:
            raise ExportError(
                f"{self._path} was begun with other columns: repeat --schema-registry as it was, or choose another name"
            )
        if self._columns is None:
            # The progress file is written before the CSV file: a CSV file without a progress file belongs to no export.
            self._put(ExportProgress(source, {}))
        self._file = self._path.open("r+b" if self._path.exists() else "x+b")
        self._file.truncate(self._committed)
        self._file.seek(self._committed)
        if not self._committed:
            self._file.write(_line(self._names))
            sync_folder(self._path.parent)

    def write(self, rows: pa.Table) -> None:
        if self._file is None:
            raise InvariantError(f"{self._path} is not open")
        table = _flat(rows, self._names)
        csv.write_csv(table, self._file, csv.WriteOptions(include_header=False, quoting_style="needed"))

    @property
    def size_bytes(self) -> int:
        return 0 if self._file is None else self._file.tell() - self._committed

    def commit(self, progress: ExportProgress) -> None:
        if self._file is None:
            raise InvariantError(f"{self._path} is not open")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._committed = self._file.tell()
        self._put(progress)

    def _put(self, progress: ExportProgress) -> None:
        if self._positions is None:
            raise InvariantError(f"{self._path} was not begun")
        given = {"size_bytes": self._committed, "columns": self._names, "progress": progress.to_json()}
        self._positions.write(json.dumps(given).encode() + b"\n")
        self._positions.flush()
        os.fsync(self._positions.fileno())

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            os.truncate(self._path, self._committed)
            self._file = None
        if self._positions is not None:
            self._positions.close()
            self._positions = None


def _last_line(file: BinaryIO) -> bytes:
    """The last complete line of a file; the incomplete line that a killed run may have left after it is removed."""
    file.seek(0)
    whole = file.read().rpartition(b"\n")[0]
    file.truncate(len(whole) + 1 if whole else 0)
    return whole.rpartition(b"\n")[2]


def _names(schema: pa.Schema) -> list[str]:
    found = []
    for one in schema:
        inner = [f".{field.name}" for field in one.type] if pa.types.is_struct(one.type) else [""]
        found += [one.name + name for name in inner]
    return found


def _flat(rows: pa.Table, names: list[str]) -> pa.Table:
    columns: list[pa.ChunkedArray | pa.Array] = []
    for name in rows.column_names:
        column = rows.column(name)
        parts = [column]
        if pa.types.is_struct(column.type):
            parts = [pc.struct_field(column, number) for number in range(column.type.num_fields)]
        for part in parts:
            try:
                columns.append(_text(part))
            except pa.ArrowInvalid:
                row = next(row for row, value in enumerate(part.to_pylist()) if not _is_text(value))
                raise ExportError(
                    f"The {name} of the record at offset {rows['offset'][row]} of partition {rows['partition'][row]} "
                    "is not UTF-8 text, which CSV requires: export to Parquet or Delta"
                ) from None
    return pa.table(columns, names)


def _is_text(value: bytes | None) -> bool:
    try:
        (value or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """A column converted to what a CSV file can hold.

    :raises pa.ArrowInvalid: bytes are not UTF-8 text.
    """
    kind = column.type
    if pa.types.is_binary(kind):
        return column.cast(pa.string())
    if pa.types.is_date32(kind) or pa.types.is_timestamp(kind):
        return moment_texts(column, between=" " if pa.types.is_date32(kind) or kind.tz is None else "T")
    if pa.types.is_decimal(kind):
        return column.cast(pa.string())
    if pa.types.is_nested(kind):
        return pa.array([_json_text(value, kind) for value in column.to_pylist()], pa.string())
    return column


def _json_text(value: Any, kind: pa.DataType) -> str | None:
    return None if value is None else json.dumps(to_json(_with_maps(value, kind)), ensure_ascii=False)


def _with_maps(value: Any, kind: pa.DataType) -> Any:
    """A value in which every Arrow map, a list of pairs, has become a dictionary."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        return {str(key): _with_maps(one, kind.item_type) for key, one in value}
    if pa.types.is_list(kind):
        return [_with_maps(one, kind.value_type) for one in value]
    if pa.types.is_struct(kind):
        return {field.name: _with_maps(value[field.name], field.type) for field in kind}
    return value


def _line(names: Sequence[str]) -> bytes:
    return (",".join('"' + name.replace('"', '""') + '"' for name in names) + "\n").encode()
