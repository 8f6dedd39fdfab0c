"""``ports.Disk``: the same behaviour on the operating system's files and in memory."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from oncelog.broker.server.disk.memory_disk import MemoryDisk
from oncelog.broker.server.disk.os_disk import OsDisk
from oncelog.errors import NoSpace, OutOfDescriptors, StorageError
from oncelog.runtime.ports import Disk


@pytest.fixture(params=["os", "memory"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    return OsDisk(str(tmp_path)) if request.param == "os" else MemoryDisk()


@pytest.fixture
def os_disk(tmp_path: Path) -> OsDisk:
    return OsDisk(str(tmp_path))


def test_a_file_contains_the_appended_bytes(disk: Disk) -> None:
    file = disk.open("f", create=True)
    file.append([b"ab", bytearray(b"cd"), memoryview(b"ef")])
    file.append([b"gh"])
    assert (file.size(), disk.size("f"), disk.read("f")) == (8, 8, b"abcdefgh")
    assert disk.open("f").read_at(0, 99) == b"abcdefgh"


@pytest.mark.parametrize(("position", "size", "expected"), [(0, 3, b"abc"), (2, 9, b"cd"), (4, 1, b""), (9, 1, b"")])
def test_a_read_ends_at_the_end_of_the_file(disk: Disk, position: int, size: int, expected: bytes) -> None:
    file = disk.open("f", create=True)
    file.append([b"abcd"])
    assert file.read_at(position, size) == expected


def test_writing_to_a_file_and_truncating_it_change_its_size(disk: Disk) -> None:
    file = disk.open("f", create=True)
    file.append([b"abcd"])
    file.write_at(1, b"XY")
    file.write_at(6, b"Z")
    assert (file.size(), disk.read("f")) == (7, b"aXYd\0\0Z")
    file.truncate(2)
    file.append([b"!"])
    file.truncate(4)
    assert (file.size(), disk.read("f")) == (4, b"aX!\0")


def test_opening_a_missing_file_without_creating_it_fails(disk: Disk) -> None:
    with pytest.raises(StorageError, match="nowhere"):
        disk.open("nowhere").read_at(0, 1)


def test_creating_a_file_in_a_missing_folder_fails(disk: Disk) -> None:
    with pytest.raises(StorageError, match="a/f"):
        disk.open("a/f", create=True)
    with pytest.raises(StorageError, match="a/f"):
        disk.write_atomic("a/f", b"")


def test_creating_a_file_or_folder_that_exists_keeps_its_content(disk: Disk) -> None:
    disk.open("f", create=True).append([b"ab"])
    assert disk.open("f", create=True).size() == 2


def test_file_names_of_a_folder_are_listed_in_order(disk: Disk) -> None:
    disk.make_folder("a/b")
    disk.make_folder("a/b")
    for name in ("a/z", "a/c", "a/b/d"):
        disk.open(name, create=True)
    assert list(disk.list("a")) == ["b", "c", "z"]
    assert list(disk.list("")) == ["a"]
    assert list(disk.list("missing")) == []
    assert [disk.exists(name) for name in ("a", "a/c", "a/d")] == [True, True, False]


def test_an_atomic_write_replaces_the_file(disk: Disk) -> None:
    for data, sync in ((b"one", True), (b"two!", False)):
        disk.write_atomic("f", data, sync=sync)
        assert disk.read("f") == data
    assert list(disk.list("")) == ["f"]


def test_a_rename_replaces_the_target_and_open_files_stay_valid(disk: Disk) -> None:
    file = disk.open("old", create=True)
    file.append([b"ab"])
    disk.open("new", create=True)
    disk.rename("old", "new")
    file.append([b"cd"])
    assert (disk.exists("old"), disk.read("new")) == (False, b"abcd")


def test_a_folder_is_renamed_with_its_files(disk: Disk) -> None:
    disk.make_folder("a/b")
    disk.open("a/b/f", create=True).append([b"x"])
    disk.rename("a", "c")
    assert (disk.exists("a"), disk.read("c/b/f")) == (False, b"x")


def test_renaming_a_missing_file_or_folder_is_refused(disk: Disk) -> None:
    with pytest.raises(StorageError, match="nowhere"):
        disk.rename("nowhere", "x")


def test_a_file_can_be_removed_only_once(disk: Disk) -> None:
    disk.open("f", create=True).append([b"ab"])
    disk.remove("f")
    disk.remove("f")
    assert not disk.exists("f")


def test_a_file_removed_from_memory_can_be_read_by_a_reader_that_has_it_open() -> None:
    disk = MemoryDisk()
    file = disk.open("f", create=True)
    file.append([b"ab"])
    disk.remove("f")
    assert file.read_at(0, 2) == b"ab"


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


ENDS: dict[str, Callable[[OsDisk], None]] = {
    "it is removed": lambda disk: disk.remove("a/f"),
    "its folder is removed": lambda disk: disk.remove("a"),
    "another one is renamed over it": lambda disk: disk.rename("a/other", "a/f"),
    "its content is replaced": lambda disk: disk.write_atomic("a/f", b"new", sync=False),
}


@pytest.mark.parametrize("how", ENDS)
def test_a_removed_or_replaced_file_releases_its_disk_space_at_once(os_disk: OsDisk, how: str) -> None:
    os_disk.make_folder("a")
    os_disk.open("a/other", create=True)
    held = os_disk.open("a/f", create=True)
    held.append([b"ab"])
    (descriptor,) = (file._hold().number for file in [held])
    ENDS[how](os_disk)
    assert not is_open(descriptor)
    held.sync()
    held.close()


@pytest.mark.parametrize("how", list(ENDS)[:3])
def test_a_removed_file_is_not_mistaken_for_a_new_file_of_the_same_name(os_disk: OsDisk, how: str) -> None:
    os_disk.make_folder("a")
    os_disk.open("a/other", create=True)
    held = os_disk.open("a/f", create=True)
    held.append([b"ab"])
    ENDS[how](os_disk)
    os_disk.make_folder("a")
    os_disk.open("a/f", create=True).append([b"cd"])
    with pytest.raises(StorageError, match="a/f: it was removed"):
        held.read_at(0, 2)


@pytest.mark.parametrize("how", ENDS)
def test_a_file_removed_during_its_sync_is_closed_when_the_sync_ends(
    os_disk: OsDisk, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    os_disk.make_folder("a")
    os_disk.open("a/other", create=True)
    held = os_disk.open("a/f", create=True)
    held.append([b"ab"])
    synced: list[int] = []

    def force(descriptor: int) -> None:
        ENDS[how](os_disk)
        assert is_open(descriptor)
        synced.append(descriptor)

    monkeypatch.setattr("oncelog.broker.server.disk.os_disk.force", force)
    held.sync()
    assert [is_open(descriptor) for descriptor in synced] == [False]


def test_no_file_of_a_removed_folder_stays_open(os_disk: OsDisk) -> None:
    for number in range(3):
        os_disk.make_folder(f"a{number}")
        file = os_disk.open(f"a{number}/f", create=True)
        os_disk.rename(f"a{number}", f"a{number}-delete")
        os_disk.remove(f"a{number}-delete")
        del file
    assert not os_disk._files


def test_the_names_of_a_folder_that_was_renamed_for_its_removal_need_no_sync(os_disk: OsDisk) -> None:
    os_disk.make_folder("a")
    os_disk.rename("a", "a-delete")
    os_disk.sync_folder("a")


def test_a_folder_is_removed_with_all_its_files(disk: Disk) -> None:
    disk.make_folder("a/b")
    disk.open("a/b/f", create=True)
    disk.remove("a")
    assert not disk.exists("a/b/f")
    assert list(disk.list("")) == []


def test_missing_files_have_no_size_and_no_content(disk: Disk) -> None:
    for action in (disk.size, disk.read):
        with pytest.raises(StorageError, match="nowhere"):
            action("nowhere")


def test_a_closed_file_can_be_synced_and_read(disk: Disk) -> None:
    file = disk.open("f", create=True)
    file.append([b"ab"])
    file.sync()
    file.close()
    file.sync()
    disk.sync_folder("")
    assert file.read_at(0, 2) == b"ab"


# --- the operating system's files only


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_file_is_opened_when_it_is_used(os_disk: OsDisk) -> None:
    os_disk.write_atomic("f", b"ab")
    before = descriptors()
    file = os_disk.open("f")
    assert descriptors() == before
    assert file.size() == 2
    assert descriptors() == before + 1
    del file
    assert descriptors() == before


def test_the_oldest_descriptor_without_unsynced_data_is_closed_first(tmp_path: Path) -> None:
    disk = OsDisk(str(tmp_path), max_descriptors=3)
    written = disk.open("written", create=True)
    written.append([b"x"])
    files = []
    for number in range(5):
        disk.write_atomic(f"f{number}", b"%d" % number)
        files.append(disk.open(f"f{number}"))
        files[-1].size()
    assert [file._descriptor is not None for file in (written, *files)] == [True, False, False, False, True, True]
    assert [file.read_at(0, 1) for file in files] == [b"0", b"1", b"2", b"3", b"4"]
    assert written._descriptor is not None, "its bytes are not safe yet: an error at their sync must not be lost"


@pytest.mark.parametrize("turns", [600, pytest.param(60_000, marks=pytest.mark.soak)])
def test_threads_that_share_few_descriptors_never_read_another_file(tmp_path: Path, turns: int) -> None:
    """A descriptor that one thread returns during another's call would be closed, or be another file's by then."""
    disk = OsDisk(str(tmp_path), max_descriptors=6)
    files = [disk.open(f"f{index}", create=True) for index in range(12)]
    for index, file in enumerate(files):
        file.append([bytes([index]) * 50])
    appended = threading.Event()

    def append() -> None:
        try:
            for turn in range(turns):
                files[turn % 12].append([bytes([turn % 12]) * 50])
        finally:
            appended.set()

    def sync() -> None:
        for turn in count():
            files[turn * 5 % 12].sync()
            if appended.is_set():
                return

    def read() -> None:
        for turn in count():
            index = turn * 7 % 12
            assert disk.open(f"f{index}").read_at(0, 50) == bytes([index]) * 50
            if appended.is_set():
                return

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            for future in [threads.submit(work) for work in (append, sync, read, read)]:
                future.result()
    finally:
        sys.setswitchinterval(interval)
    for index in range(12):
        assert disk.read(f"f{index}") == bytes([index]) * (50 + turns // 12 * 50)


def test_an_open_file_is_found_again_under_its_new_name(tmp_path: Path) -> None:
    disk = OsDisk(str(tmp_path))
    disk.make_folder("a")
    file = disk.open("a/f", create=True)
    file.append([b"x"])
    file.close()
    disk.rename("a", "b")
    assert (file.path, file.read_at(0, 1)) == ("b/f", b"x")


def test_a_file_that_was_removed_needs_no_sync(os_disk: OsDisk) -> None:
    os_disk.write_atomic("f", b"x")
    file = os_disk.open("f")
    os_disk.remove("f")
    file.sync()


def test_a_failed_sync_names_the_file_and_the_cause(os_disk: OsDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    file = os_disk.open("f", create=True)

    def fail(_fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", fail)
    with pytest.raises(StorageError, match="cannot sync f: Input/output error"):
        file.sync()


def full_after(free: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the next writes take ``free`` bytes and then find the disk full."""
    left = [free]
    pwritev, pwrite = os.pwritev, os.pwrite

    def take(size: int) -> int:
        if not left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = min(size, left[0])
        left[0] -= taken
        return taken

    def short_pwritev(fd: int, buffers: Any, offset: int) -> int:
        data = b"".join(buffers)
        return pwritev(fd, [data[: take(len(data))]], offset)

    def short_pwrite(fd: int, data: Any, offset: int) -> int:
        return pwrite(fd, data[: take(len(data))], offset)

    monkeypatch.setattr(os, "pwritev", short_pwritev)
    monkeypatch.setattr(os, "pwrite", short_pwrite)


@pytest.mark.parametrize("buffers", [[b"abc", b"def"], [b"abcdef"]])
@pytest.mark.parametrize("free", [0, 1, 3, 5])
def test_an_append_to_a_full_disk_leaves_the_file_unchanged(
    os_disk: OsDisk, monkeypatch: pytest.MonkeyPatch, free: int, buffers: list[bytes]
) -> None:
    file = os_disk.open("f", create=True)
    file.append([b"before"])
    with monkeypatch.context() as patch:
        full_after(free, patch)
        with pytest.raises(NoSpace, match="cannot append to f: No space left"):
            file.append(buffers)
    assert (file.size(), os_disk.read("f")) == (6, b"before")
    file.append([b"!"])
    assert os_disk.read("f") == b"before!"


def test_a_sync_that_fails_for_lack_of_space_counts_as_a_disk_failure(
    os_disk: OsDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written may be lost, and the next sync would not say so: it is nothing to try again."""
    file = os_disk.open("f", create=True)
    file.append([b"before"])

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("oncelog.broker.server.disk.os_disk.force", full)
    with pytest.raises(StorageError, match="cannot sync f: No space left") as refused:
        file.sync()
    assert not isinstance(refused.value, NoSpace)


def test_a_short_write_is_completed(os_disk: OsDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    file = os_disk.open("f", create=True)
    pwritev, pwrite = os.pwritev, os.pwrite
    monkeypatch.setattr(os, "pwritev", lambda fd, buffers, offset: pwritev(fd, [buffers[0]], offset))
    monkeypatch.setattr(os, "pwrite", lambda fd, data, offset: pwrite(fd, data[:2], offset))
    file.append([b"abc", b"def"])
    file.append([b"ghijk"])
    assert os_disk.read("f") == b"abcdefghijk"


def test_an_append_that_cannot_be_undone_is_reported(os_disk: OsDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    file = os_disk.open("f", create=True)

    def fail(_fd: int, _size: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    full_after(2, monkeypatch)
    monkeypatch.setattr(os, "ftruncate", fail)
    with pytest.raises(StorageError, match="restart the broker"):
        file.append([b"abc"])


def test_unsynced_files_beyond_the_descriptors_are_synced_before_they_are_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = OsDisk(str(tmp_path), max_descriptors=4)
    synced: list[int] = []
    monkeypatch.setattr("oncelog.broker.server.disk.os_disk.force", synced.append)
    before = descriptors()
    files = [disk.open(f"f{number}", create=True) for number in range(50)]
    for file in files:
        file.append([b"x"])
    assert descriptors() - before <= 4
    assert len(synced) >= 46
    assert [file.read_at(0, 1) for file in files] == [b"x"] * 50


def test_a_failed_sync_of_a_file_whose_descriptor_was_closed_is_reported_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = OsDisk(str(tmp_path), max_descriptors=1)
    first = disk.open("first", create=True)
    first.append([b"x"])

    def fails(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("oncelog.broker.server.disk.os_disk.force", fails)
    second = disk.open("second", create=True)
    second.append([b"y"])
    monkeypatch.undo()
    with pytest.raises(StorageError, match="sync first"):
        first.sync()
    second.sync()


def test_without_free_descriptors_other_files_are_closed_and_no_disk_failure_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = OsDisk(str(tmp_path))
    kept = disk.open("kept", create=True)
    new = disk.open("new")
    disk.write_atomic("new", b"n")
    opening, free = os.open, 0

    def scarce(path: str, flags: int, mode: int = 0o777) -> int:
        if kept._descriptor is not None or free < 0:
            raise OSError(errno.EMFILE, "Too many open files")
        return opening(path, flags, mode)

    monkeypatch.setattr(os, "open", scarce)
    assert new.read_at(0, 1) == b"n"
    assert kept._descriptor is None
    free = -1
    with pytest.raises(OutOfDescriptors, match="kept"):
        kept.read_at(0, 1)


def test_a_folder_in_memory_can_be_removed_while_another_thread_creates_one() -> None:
    disk = MemoryDisk()
    numbers = count()

    class Meddling(str):
        """Stands for another thread that creates a folder just when this one checks for it."""

        __slots__ = ()

        def startswith(self, *_: object) -> bool:
            disk.make_folder(f"made-{next(numbers)}")
            return False

    for name in ("gone", Meddling("kept")):
        disk.make_folder(name)
    disk.remove("gone")
    assert not disk.exists("gone") and disk.exists("kept")


def test_the_size_of_the_volume_of_a_folder_is_reported(tmp_path: Path) -> None:
    space = OsDisk(str(tmp_path)).space()
    assert space is not None
    total, usable = space
    assert total == shutil.disk_usage(tmp_path).total
    assert 0 <= usable <= total
    assert OsDisk(str(tmp_path / "gone")).space() is None


def test_a_failed_atomic_write_leaves_no_temporary_file(
    os_disk: OsDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os_disk.write_atomic("f", b"old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("oncelog.broker.server.disk.os_disk.force", full)
    for _ in range(3):
        with pytest.raises(NoSpace, match="No space left"):
            os_disk.write_atomic("f", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    assert os_disk.read("f") == b"old"


def test_a_folder_lists_its_own_entries_after_renames_and_removals(disk: Disk) -> None:
    disk.make_folder("topics/a-0")
    disk.make_folder("topics/b-0")
    for path in ("topics/a-0/f", "topics/b-0/g", "meta"):
        disk.open(path, create=True)
    disk.write_atomic("topics/a-0/h", b"x")
    disk.rename("topics/a-0", "topics/c-0")
    disk.rename("topics/c-0/h", "topics/c-0/h")
    disk.rename("topics/c-0/f", "topics/c-0/i")
    assert (disk.list("topics"), disk.list("topics/c-0")) == (["b-0", "c-0"], ["h", "i"])
    disk.remove("topics/b-0")
    disk.remove("topics/c-0/h")
    assert (disk.list("topics"), disk.list("topics/c-0"), "meta" in disk.list("")) == (["c-0"], ["i"], True)
    assert not disk.exists("topics/b-0/g")
