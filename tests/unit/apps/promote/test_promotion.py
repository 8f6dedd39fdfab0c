"""Where a promotion may build: never inside the data folder, and never over somebody else's files."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import oncelog
from oncelog.apps.promote import promotion
from oncelog.apps.promote.folders import check_partial, finish_move, partial_of, promoted_of, remove_source
from oncelog.apps.promote.plan import Addresses, PromotionPlan, planned
from oncelog.apps.promote.promote_errors import PromotionError
from oncelog.apps.promote.promotion import promote
from oncelog.broker.log.checkpoints import MetaProperties, write_meta_properties
from oncelog.broker.server.disk.os_disk import OsDisk


def refusal(source: Path, target: Path) -> str:
    with (
        pytest.raises(PromotionError) as refused,
        planned(source, target, addresses=Addresses(), settings={}, mode="move", now_ms=0),
    ):
        pass
    return str(refused.value)


def test_a_target_that_lies_in_the_data_folder_by_way_of_a_link_is_refused(tmp_path: Path) -> None:
    """``--move`` would remove it with the data folder."""
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "data")
    assert "lies inside the data folder" in refusal(tmp_path / "data", tmp_path / "link" / "kafka")
    assert "lies inside the data folder" in refusal(tmp_path / "link", tmp_path / "data" / "kafka")
    assert "lies inside the data folder" in refusal(tmp_path / "data", tmp_path / "x" / ".." / "data" / "kafka")


def test_the_lock_file_is_not_reported_as_left_out(tmp_path: Path) -> None:
    """The lock file was told as something that is not taken over."""
    source = tmp_path / "data"
    with oncelog.Broker(source):
        pass
    with planned(source, tmp_path / "node", addresses=Addresses(), settings={}, mode="copy", now_ms=0) as plan:
        assert plan.left_behind == ()


@pytest.mark.parametrize("reason", [errno.EROFS, errno.EACCES])
def test_a_read_only_data_folder_is_promoted(reason: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot of a volume that is mounted read-only was told to be no data folder."""
    source, open_any = tmp_path / "data", os.open
    with oncelog.Broker(source):
        pass

    def open_read_only(path: Any, flags: int, *others: Any, **named: Any) -> int:
        if flags & (os.O_RDWR | os.O_WRONLY) and Path(path).is_relative_to(source):
            raise OSError(reason, os.strerror(reason), str(path))
        return open_any(path, flags, *others, **named)

    monkeypatch.setattr(os, "open", open_read_only)
    with planned(source, tmp_path / "node", addresses=Addresses(), settings={}, mode="copy", now_ms=0) as plan:
        promote(plan, "copy")
    assert (tmp_path / "node" / "meta.properties").is_file()


def test_a_data_folder_that_cannot_be_read_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()

    def refuse(path: Any, flags: int) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(os, "open", refuse)
    assert refusal(tmp_path / "data", tmp_path / "kafka").endswith("metadata.sqlite cannot be read: Permission denied")


def test_a_target_beside_the_data_folder_may_be_given_as_a_path_with_dots(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    assert "is not a data folder of oncelog" in refusal(tmp_path / "data", tmp_path / "data" / ".." / "kafka")


def test_a_promotion_does_not_remove_folders_that_it_did_not_create(tmp_path: Path) -> None:
    partial = partial_of(tmp_path / "kafka")
    check_partial(partial, ["t-0"])
    for name in ("t-0", "__cluster_metadata-0", "server.properties", "meta.properties", "meta.properties.1.tmp"):
        (partial / name).mkdir(parents=True)
    check_partial(partial, ["t-0"])
    (partial / "thesis.doc").touch()
    with pytest.raises(PromotionError, match=r"contains thesis\.doc, which no promotion has left there"):
        check_partial(partial, ["t-0"])


@pytest.mark.parametrize("make", [Path.touch, lambda path: path.symlink_to(path.parent)])
def test_a_promotion_does_not_remove_a_file_or_link_at_the_target_path(make: Any, tmp_path: Path) -> None:
    partial = partial_of(tmp_path / "kafka")
    make(partial)
    with pytest.raises(PromotionError, match="which no promotion has left there"):
        check_partial(partial, [])


def test_a_target_that_cannot_be_created_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    plan = SimpleNamespace(source=tmp_path / "data", target=tmp_path / "file" / "kafka", items=())
    with pytest.raises(PromotionError, match=r"cannot build .*the data folder .* is as it was"):
        promote(cast("Any", plan), "link")


def built(folder: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The promotion of an empty data folder that only its owner may read."""
    monkeypatch.setattr(promotion, "_write_metadata", lambda plan, folder: plan)
    (folder / "data").mkdir(mode=0o700)
    plan = SimpleNamespace(source=folder / "data", target=folder / "kafka", items=())
    promote(cast("Any", plan), cast("Any", mode))
    return folder / "kafka"


def test_only_users_who_may_read_the_data_folder_may_read_the_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert built(tmp_path, "link", monkeypatch).stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("what", ["Path.rename", "shutil.rmtree"])
def test_a_data_folder_that_cannot_be_removed_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    def refuse(path: Path, *_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    plan = moved(tmp_path)
    with monkeypatch.context() as patch:
        if what == "Path.rename":
            patch.setattr(Path, "rename", refuse)
        else:
            patch.setattr(shutil, "rmtree", refuse)
        with pytest.raises(PromotionError, match=r"is complete, but the old data folder.* could not be removed"):
            remove_source(plan.source, plan.target)
    assert (tmp_path / "data").exists() == (what == "Path.rename")


def moved(folder: Path) -> PromotionPlan:
    """A complete target, and its source."""
    identity = MetaProperties("cluster", 1, "directory")
    for name in ("data", "kafka"):
        (folder / name / "t-0").mkdir(parents=True)
        (folder / name / "t-0" / "00000000000000000000.log").touch()
        write_meta_properties(OsDisk(str(folder / name)), identity)
    (folder / "data" / "oncelog.db").touch()
    (folder / "kafka" / "server.properties").touch()
    return cast("Any", SimpleNamespace(source=folder / "data", target=folder / "kafka", identity=identity))


class Killed(BaseException):
    """Here the process ends."""


@pytest.mark.parametrize("after", range(5))
def test_the_same_command_finishes_a_removal_that_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """After ``after`` folders and files; a broker that is started meanwhile finds nothing rather than a half."""
    removed: list[Path] = []

    def until_killed(remove: Callable[[Path], None]) -> Callable[[Path], None]:
        def one(path: Path) -> None:
            if len(removed) == after:
                raise Killed
            removed.append(path)
            remove(path)

        return one

    plan = moved(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", until_killed(shutil.rmtree))
        patch.setattr(Path, "unlink", until_killed(Path.unlink))
        patch.setattr(Path, "rmdir", until_killed(Path.rmdir))
        if after < 4:
            with pytest.raises(Killed):
                remove_source(plan.source, plan.target)
        else:
            remove_source(plan.source, plan.target)
    assert not plan.source.exists()
    assert finish_move(plan.source, plan.target) == (after < 4)
    assert [path.name for path in tmp_path.iterdir()] == ["kafka"]
    assert not finish_move(plan.source, plan.target)


def test_a_promotion_does_not_remove_the_source_folder_of_another_node(tmp_path: Path) -> None:
    plan = moved(tmp_path)
    promoted = plan.source.rename(promoted_of(plan.source))
    write_meta_properties(OsDisk(str(plan.target)), MetaProperties("cluster", 1, "another"))
    assert not finish_move(plan.source, plan.target)
    assert promoted.exists()
    (tmp_path / "mine.promoted").mkdir()
    assert not finish_move(tmp_path / "mine", tmp_path / "nowhere")
    assert (tmp_path / "mine.promoted").exists()


def test_a_repeated_promotion_to_the_same_target_is_reported(tmp_path: Path) -> None:
    moved(tmp_path)
    assert "is already the promoted node of the data folder" in refusal(tmp_path / "data", tmp_path / "kafka")
