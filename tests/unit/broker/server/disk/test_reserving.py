"""Space that is reserved behind the end of a growing log: nobody sees it, and it is given back."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest

from oncelog.broker.log.trimmer import RESTING_MS
from oncelog.broker.server.disk import reserving
from oncelog.broker.server.disk.os_disk import OsDisk, OsFile
from oncelog.broker.server.disk.reserving import RESERVED_FROM_BYTES
from oncelog.errors import Error
from oncelog.settings.config import TopicConfig
from tests.unit.broker.log.batches import FOLDER, NOW_MS, append, batch, open_log, roll

MB, GB = 1024 * 1024, 1024 * 1024 * 1024
CHUNK = bytes(MB)


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OsDisk:
    """A disk with enough left, however full it is."""
    monkeypatch.setattr(reserving, "_has_room", lambda _: True)
    return OsDisk(str(tmp_path))


def _fill(file: OsFile, megabytes: int) -> None:
    for _ in range(megabytes):
        file.append([CHUNK])


def _taken_bytes(path: Path) -> int:
    """Space on the disk behind the end of what can be read, apart from what blocks round up to."""
    found = path.stat()
    return max(0, found.st_blocks * 512 - found.st_size - 16 * 1024)


def _sets_aside(tmp_path: Path) -> bool:
    """Whether this system has the call, and the file system supports it."""
    with open(tmp_path / "probe", "wb") as probe:
        fallocate = reserving._fallocate()
        return fallocate is not None and not fallocate(probe.fileno(), reserving._KEEP_SIZE, 0, MB)


ENDS: dict[str, Callable[[OsFile], None]] = {
    "it takes no more": OsFile.complete,
    "it is closed": OsFile.close,
    "it is cut": lambda file: file.truncate(file.size()),
}


@pytest.mark.parametrize("end", ENDS)
def test_reserved_space_does_not_count_in_the_file_size_and_is_released(disk: OsDisk, tmp_path: Path, end: str) -> None:
    file = disk.open("f", create=True)
    _fill(file, 5)
    assert bool(_taken_bytes(tmp_path / "f")) is _sets_aside(tmp_path)
    assert (file.size(), disk.size("f"), disk.read("f")) == (5 * MB, 5 * MB, 5 * CHUNK)
    ENDS[end](file)
    assert (disk.size("f"), _taken_bytes(tmp_path / "f")) == (5 * MB, 0)
    again = disk.open("f")
    again.append([b"!"])
    assert disk.read("f") == 5 * CHUNK + b"!"


def test_reserved_space_is_a_fraction_of_the_log_with_an_upper_bound(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = []
    monkeypatch.setattr(reserving, "_has_room", lambda _: True)
    monkeypatch.setattr(reserving, "_fallocate", lambda: lambda *arguments: asked.append(arguments[1:]))
    with open(tmp_path / "f", "wb") as file:
        number = file.fileno()
        assert reserving.reserve(number, 0, RESERVED_FROM_BYTES) == RESERVED_FROM_BYTES
        assert asked == []
        assert reserving.reserve(number, 4 * MB, 5 * MB) == 9 * MB
        assert reserving.reserve(number, 39 * MB, 40 * MB) == 50 * MB
        assert reserving.reserve(number, 999 * MB, 1000 * MB) == 1016 * MB
    assert asked == [(1, 4 * MB, 5 * MB), (1, 39 * MB, 11 * MB), (1, 999 * MB, 17 * MB)]


def test_no_space_is_reserved_on_a_nearly_full_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = []
    monkeypatch.setattr(reserving, "_LEFT_FREE_BYTES", 1 << 62)
    monkeypatch.setattr(reserving, "_fallocate", lambda: lambda *arguments: asked.append(arguments))
    file = OsDisk(str(tmp_path)).open("f", create=True)
    _fill(file, 6)
    assert (asked, file.size()) == ([], 6 * MB)


@pytest.mark.parametrize(
    ("whole_gb", "free_gb", "has_room"), [(10, 2, True), (10, 1.9, False), (100, 10, True), (100, 9.9, False)]
)
def test_a_disk_keeps_two_gigabytes_and_a_tenth_of_itself_free(
    monkeypatch: pytest.MonkeyPatch, whole_gb: float, free_gb: float, has_room: bool
) -> None:
    fragment = 4096
    found = mock.Mock(f_frsize=fragment, f_blocks=whole_gb * GB // fragment, f_bavail=free_gb * GB // fragment)
    monkeypatch.setattr(os, "fstatvfs", lambda _: found)
    assert reserving._has_room(0) is has_room


@pytest.mark.skipif(sys.platform != "linux", reason="the call is Linux's own")
def test_the_system_call_fallocate_exists_on_linux() -> None:
    """Otherwise the tests above hold without anything being reserved."""
    assert reserving._fallocate() is not None


@pytest.fixture
def unknown_call() -> Iterator[None]:
    """The call has not been looked up yet; nor is the outcome here kept."""
    reserving._fallocate.cache_clear()
    yield
    reserving._fallocate.cache_clear()


@pytest.mark.usefixtures("unknown_call")
def test_a_python_without_fallocate_writes_without_reserving(disk: OsDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctypes", None)  # built without libffi
    file = disk.open("f", create=True)
    _fill(file, 6)
    assert reserving._fallocate() is None
    file.close()
    assert disk.size("f") == 6 * MB


@pytest.mark.usefixtures("unknown_call")
def test_the_function_fallocate_is_looked_up_again_after_a_lack_of_descriptors(
    disk: OsDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_descriptor(_: None) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    file = disk.open("f", create=True)
    with monkeypatch.context() as patched:
        patched.setattr(ctypes, "CDLL", no_descriptor)
        _fill(file, 6)
    assert disk.size("f") == 6 * MB
    assert (reserving._fallocate() is not None) is (sys.platform == "linux")


def test_reserved_space_is_released_when_idle_at_a_new_segment_and_after_a_crash(disk: OsDisk, tmp_path: Path) -> None:
    def fill() -> Path:
        for _ in range(6):
            assert append(log, batch(size=1_000_000)).error is Error.NONE
        return tmp_path / FOLDER / f"{log.active_base_offset:020}.log"

    log = open_log(disk, config=TopicConfig())
    first = fill()
    assert bool(_taken_bytes(first)) is _sets_aside(tmp_path)
    log.trimmer.apply_retention(NOW_MS + RESTING_MS - 1)
    assert bool(_taken_bytes(first)) is _sets_aside(tmp_path)
    log.trimmer.apply_retention(NOW_MS + RESTING_MS)
    assert not _taken_bytes(first)
    fill()
    assert bool(_taken_bytes(first)) is _sets_aside(tmp_path)
    roll(log)
    assert not _taken_bytes(first)
    second = fill()
    left = OsDisk(str(tmp_path))  # the process is killed: nothing is closed
    size = second.stat().st_size
    assert open_log(left, clean=False).log_end_offset == log.log_end_offset
    assert (second.stat().st_size, _taken_bytes(second)) == (size, 0)
