"""A start that is cut off while it makes a new data folder leaves nothing in the way of the next one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from oncelog.broker.metadata.first_users import FirstUser
from oncelog.broker.metadata.metadata_errors import MetadataError
from oncelog.broker.metadata.opening import open_metadata
from oncelog.broker.metadata.store import MetadataStore
from oncelog.broker.server.disk.os_disk import OsDisk
from oncelog.protocol.scram import credential
from oncelog.settings.config import BrokerConfig
from tests.support.ports import CountingRandom

PAGE_BYTES = 4096


def opened(folder: Path, *users: FirstUser) -> MetadataStore:
    path = str(folder / "metadata.sqlite")
    return open_metadata(path, OsDisk(str(folder)), BrokerConfig(), CountingRandom(), 0, first_users=users)[0]


@pytest.fixture
def first_page(tmp_path: Path) -> bytes:
    """What SQLite writes, and syncs, before it makes the log that the first change goes to."""
    folder = tmp_path / "whole"
    folder.mkdir()
    with closing(opened(folder)):
        return (folder / "metadata.sqlite").read_bytes()


CUTS: list[Callable[[bytes], bytes]] = [
    *(lambda page, size=size: page[:size] for size in (1, 15, 16, 17, 30, 99, 106, 512, PAGE_BYTES)),  # type: ignore[misc]
    *(lambda page, size=size: page[:size].ljust(PAGE_BYTES, b"\0") for size in (0, 10, 50, 512)),  # type: ignore[misc]
    lambda page: bytes(512),
]


@pytest.mark.parametrize("cut", CUTS)
def test_a_first_page_of_the_metadata_file_that_was_truncated_is_recreated(
    tmp_path: Path, first_page: bytes, cut: Callable[[bytes], bytes]
) -> None:
    (tmp_path / "metadata.sqlite").write_bytes(cut(first_page))
    with closing(opened(tmp_path)) as store:
        assert store.starts == 0
        store.create_topic("t", 1, {}, 0)
    with closing(opened(tmp_path)) as store:
        assert [info.name for info in store.topics()] == ["t"]


def test_a_torn_page_is_restored_from_the_log_of_changes(tmp_path: Path, first_page: bytes) -> None:
    """The log holds what was acknowledged, and the file's first page is written again from it."""
    with closing(opened(tmp_path)) as store:
        store.create_topic("t", 1, {}, 0)
        shutil.copytree(tmp_path, tmp_path.parent / "killed", ignore=shutil.ignore_patterns("whole"))
    killed = tmp_path.parent / "killed"
    (killed / "metadata.sqlite").write_bytes(first_page[:512].ljust(PAGE_BYTES, b"\0"))
    with closing(opened(killed)) as store:
        assert [info.name for info in store.topics()] == ["t"]


@pytest.mark.parametrize("content", [b"a note", bytes(PAGE_BYTES + 1), b"SQLite format 3\0" + b"\xff" * 400])
def test_damage_outside_the_torn_page_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "metadata.sqlite").write_bytes(content)
    with pytest.raises(MetadataError, match="is damaged"):
        opened(tmp_path)
    assert (tmp_path / "metadata.sqlite").read_bytes() == content


def test_the_metadata_file_never_exists_without_its_first_users(tmp_path: Path) -> None:
    """A kill between the two would leave a folder that nobody can log in to: users are only taken for a new one."""
    alice = FirstUser("alice", 1, credential(1, 4096, b"s", b"p"))
    with closing(opened(tmp_path, alice)) as store:
        assert (store.changes, dict(store.scram_credentials())) == (1, {("alice", 1): alice.credential})
    with closing(opened(tmp_path, alice._replace(user="bob"))) as store:
        assert [user for user, _ in store.scram_credentials()] == ["alice"]
