"""A data folder has one broker at a time, of this process or of another one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import oncelog
from oncelog.broker.server.disk.folder_lock import LOCK_FILE, FolderLock
from oncelog.errors import ConfigError

IN_USE = "is in use by another broker"
HOLD = """
import fcntl, sys
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
print("locked", flush=True)
sys.stdin.read()
"""


def is_locked_for_others(folder: Path) -> bool:
    done = subprocess.run([sys.executable, "-c", HOLD, folder / LOCK_FILE], input="", capture_output=True, text=True)
    return "BlockingIOError" in done.stderr


def test_a_folder_locked_by_another_process_is_refused(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).touch()
    command = [sys.executable, "-c", HOLD, str(tmp_path / LOCK_FILE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(ConfigError, match=IN_USE):
            FolderLock(tmp_path)
        with pytest.raises(ConfigError, match=IN_USE):
            oncelog.Broker(tmp_path).start()
        assert [path.name for path in tmp_path.iterdir()] == [LOCK_FILE]
        other.communicate("")
    FolderLock(tmp_path).release()


def test_a_second_lock_in_the_same_process_does_not_release_the_first(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    lock = FolderLock(tmp_path)
    for folder in (tmp_path, tmp_path / "link"):
        with pytest.raises(ConfigError, match=IN_USE):
            FolderLock(folder)
    assert is_locked_for_others(tmp_path)
    lock.release()
    assert not is_locked_for_others(tmp_path)


def test_a_broker_locks_its_folder_until_it_has_stopped(tmp_path: Path) -> None:
    with oncelog.Broker(tmp_path):
        assert is_locked_for_others(tmp_path)
    assert not is_locked_for_others(tmp_path)


def test_a_broker_that_could_not_start_releases_the_folder_lock(tmp_path: Path) -> None:
    with oncelog.Broker() as one, pytest.raises(oncelog.errors.OncelogError, match="in use by another program"):
        oncelog.Broker(tmp_path, listen=one.bootstrap_servers).start()
    FolderLock(tmp_path).release()


def test_the_error_names_a_lock_file_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).mkdir()
    with pytest.raises(ConfigError, match=f"cannot lock the data folder: .*{LOCK_FILE}.*Is a directory"):
        FolderLock(tmp_path)
