"""The data folder, when it is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from oncelog.broker.server.disk import os_disk
from oncelog.broker.server.opening import prepare_folder


def test_new_folders_are_synced_before_they_get_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power failure may take a folder with all that was synced in it, if nobody has synced its name."""
    synced: list[str] = []
    monkeypatch.setattr(os_disk, "sync_names", synced.append)
    prepare_folder(tmp_path / "a" / "b")
    assert synced == [str(tmp_path / "a"), str(tmp_path)]
    prepare_folder(tmp_path / "a" / "b")
    assert len(synced) == 2
