"""A folder of Parquet files."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oncelog.apps.export.parquet_folder import ParquetFolder
from oncelog.apps.export.target import ExportError, ExportProgress, ExportSource

SOURCE = ExportSource("orders", 7)
SCHEMA = pa.schema([pa.field("offset", pa.int64())])


def export(path: Path, offset: int) -> ExportProgress | None:
    """One run with one row; returns how far the run before had come."""
    with closing(ParquetFolder(path)) as folder:
        found = folder.begun("orders", [0])
        folder.open(SCHEMA, SOURCE)
        folder.write(pa.table({"offset": [offset]}))
        folder.commit(ExportProgress(SOURCE, {0: offset + 1}))
        return found


def test_parts_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """As text, part-1000000 comes before part-999999."""
    export(tmp_path / "out", 0)
    (tmp_path / "out" / "part-000000.parquet").rename(tmp_path / "out" / "part-999999.parquet")
    for offset in range(1, 4):
        assert export(tmp_path / "out", offset) == ExportProgress(SOURCE, {0: offset})
    parts = sorted(one.name for one in (tmp_path / "out").glob("*.parquet"))
    assert parts == ["part-1000000.parquet", "part-1000001.parquet", "part-1000002.parquet", "part-999999.parquet"]
    assert sorted(pq.read_table(tmp_path / "out")["offset"].to_pylist()) == [0, 1, 2, 3]


def test_a_second_export_leaves_the_file_of_the_first_export_unchanged(tmp_path: Path) -> None:
    with closing(ParquetFolder(tmp_path)) as first:
        assert first.begun("orders", [0]) is None
        first.open(SCHEMA, SOURCE)
        first.write(pa.table({"offset": [0]}))
        first._flush()
        with closing(ParquetFolder(tmp_path)) as second, pytest.raises(ExportError, match="Another export writes to"):
            second.begun("orders", [0])
        first.commit(ExportProgress(SOURCE, {0: 1}))
    assert export(tmp_path, 1) == ExportProgress(SOURCE, {0: 1})
