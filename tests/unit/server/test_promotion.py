"""Where a promotion may build: never inside the data folder, and over nothing that is somebody else's."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from oncelog.server import promotion
from oncelog.server.promotion import (
    Addresses,
    PromotionError,
    check_partial,
    partial_of,
    planned,
    promote,
)


def refusal(source: Path, target: Path) -> str:
    with (
        pytest.raises(PromotionError) as refused,
        planned(source, target, addresses=Addresses(), settings={}, mode="move", now_ms=0),
    ):
        pass
    return str(refused.value)


def test_a_target_that_a_link_leads_into_the_data_folder_is_refused(tmp_path: Path) -> None:
    """``--move`` would remove it with the data folder."""
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "data")
    assert "lies inside the data folder" in refusal(tmp_path / "data", tmp_path / "link" / "kafka")
    assert "lies inside the data folder" in refusal(tmp_path / "link", tmp_path / "data" / "kafka")
    assert "lies inside the data folder" in refusal(tmp_path / "data", tmp_path / "x" / ".." / "data" / "kafka")


def test_a_target_beside_the_data_folder_may_be_written_with_dots(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    assert "is no data folder of oncelog" in refusal(tmp_path / "data", tmp_path / "data" / ".." / "kafka")


def test_what_a_promotion_did_not_leave_is_not_removed(tmp_path: Path) -> None:
    partial = partial_of(tmp_path / "kafka")
    check_partial(partial, ["t-0"])
    for name in ("t-0", "__cluster_metadata-0", "server.properties", "meta.properties", "meta.properties.1.tmp"):
        (partial / name).mkdir(parents=True)
    check_partial(partial, ["t-0"])
    (partial / "thesis.doc").touch()
    with pytest.raises(PromotionError, match=r"is not what a promotion has left \(thesis.doc\)"):
        check_partial(partial, ["t-0"])


@pytest.mark.parametrize("make", [Path.touch, lambda path: path.symlink_to(path.parent)])
def test_a_file_or_a_link_in_the_way_is_not_removed(make: Any, tmp_path: Path) -> None:
    partial = partial_of(tmp_path / "kafka")
    make(partial)
    with pytest.raises(PromotionError, match="is not what a promotion has left"):
        check_partial(partial, [])


def test_a_target_that_cannot_be_made_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    plan = SimpleNamespace(source=tmp_path / "data", target=tmp_path / "file" / "kafka", items=())
    with pytest.raises(PromotionError, match=r"cannot build .*the data folder .* is as it was"):
        promote(cast("Any", plan), "link")


def built(folder: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is promoted of an empty data folder that its owner alone may read."""
    monkeypatch.setattr(promotion, "_write_metadata", lambda plan, folder: None)
    (folder / "data").mkdir(mode=0o700)
    plan = SimpleNamespace(source=folder / "data", target=folder / "kafka", items=())
    promote(cast("Any", plan), cast("Any", mode))
    return folder / "kafka"


def test_nobody_may_read_the_target_who_may_not_read_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert built(tmp_path, "link", monkeypatch).stat().st_mode & 0o777 == 0o700


def test_a_data_folder_that_cannot_be_removed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("oncelog.server.promotion.shutil.rmtree", refuse)
    with pytest.raises(PromotionError, match=r"is whole, but the data folder .* could not be removed"):
        built(tmp_path, "move", monkeypatch)
    assert (tmp_path / "kafka").is_dir()
