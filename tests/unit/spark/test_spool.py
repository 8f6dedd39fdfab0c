"""Batches through a shared folder: whole and in order, or a clear error."""

from __future__ import annotations

from pathlib import Path

import pytest

from oncelog.errors import StorageError
from oncelog.records.batch import Record, encode_batch
from oncelog.spark.sink_protocol import PartitionBatch
from oncelog.spark.spool import batch_folder, read_spool, remove_spool, write_spool


def batches() -> list[PartitionBatch]:
    encoded = [encode_batch([Record(0, 1, b"k", b"%d" % n)]) for n in range(3)]
    return [PartitionBatch("topic-é", n, 1, bytes(data)) for n, data in enumerate(encoded)]


def test_batches_come_back_as_they_were(tmp_path: Path) -> None:
    folder = batch_folder(str(tmp_path), "query", 7)
    path = f"{folder}/0.batches"
    write_spool(path, batches())
    assert list(read_spool(path, 3)) == batches()
    remove_spool(folder)
    assert not Path(folder).exists()
    remove_spool(folder)


def test_folder_may_be_a_url_and_never_becomes_a_folder_of_that_name(tmp_path: Path) -> None:
    folder = batch_folder(tmp_path.as_uri(), "query", 7)
    write_spool(f"{folder}/0.batches", batches())
    assert list(read_spool(f"{tmp_path}/query/7/0.batches", 3)) == batches()
    with pytest.raises(StorageError, match="spoolDirectory nowhere://x/query/7/0 cannot be reached"):
        write_spool(f"{batch_folder('nowhere://x', 'query', 7)}/0", batches())


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_file_that_ends_behind_a_batch_before_its_last_is_refused(tmp_path: Path, kept: int) -> None:
    """As after a crash of the shared disk, which may also leave the file empty: the rest of the rows would be lost."""
    path = tmp_path / "x.batches"
    write_spool(str(path), batches())
    whole = path.read_bytes()
    write_spool(str(path), batches()[:kept])
    assert whole.startswith(path.read_bytes())
    with pytest.raises(StorageError, match="cut off or damaged"):
        list(read_spool(str(path), 3))


@pytest.mark.parametrize("cut", [1, 5, 70])
def test_cut_file_is_refused(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "x.batches"
    write_spool(str(path), batches())
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(StorageError, match="cut off or damaged"):
        list(read_spool(str(path), 3))


def test_damaged_batch_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.batches"
    write_spool(str(path), batches())
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(StorageError, match="damaged"):
        list(read_spool(str(path), 3))


def test_folder_that_is_not_shared_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="must be shared by the driver and all executors"):
        list(read_spool(f"{tmp_path}/absent", 3))


def test_query_id_cannot_leave_the_folder(tmp_path: Path) -> None:
    assert Path(batch_folder(str(tmp_path), "../../x", 1)).parent.parent == tmp_path
