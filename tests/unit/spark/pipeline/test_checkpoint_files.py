"""A query whose checkpoint is on the local disk writes it without a process for each of its steps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oncelog.spark.private_apis import streams
from oncelog.spark.private_apis.streams import CHECKPOINT_FILES
from oncelog.spark.process import this_process
from oncelog.spark.sink.checkpoint import Checkpoint

pytest.importorskip("pyspark")


class _Session:
    """A session that has only settings."""

    def __init__(self, **settings: str) -> None:
        self.settings = settings
        self.conf = self

    def get(self, name: str, default: str | None) -> str | None:
        return self.settings.get(name, default)

    def set(self, name: str, value: str) -> None:
        self.settings[name] = value

    def unset(self, name: str) -> None:
        del self.settings[name]


def _while_it_starts(session: Any, checkpoint: Any) -> str | None:
    from oncelog.spark.pipeline.running import _checkpoint_files

    with _checkpoint_files(session, checkpoint):
        return session.settings.get(CHECKPOINT_FILES)


PLAIN_FILES = "org.apache.spark.sql.execution.streaming.FileSystemBasedCheckpointFileManager"


@pytest.fixture(autouse=True)
def classes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Those that Spark has."""
    there = [PLAIN_FILES]
    monkeypatch.setattr(streams, "has_class", lambda spark, name: name in there)
    this_process().close()
    yield there
    this_process().close()


def test_a_spark_without_the_checkpoint_class_keeps_its_default(tmp_path: Path, classes: list[str]) -> None:
    classes.clear()
    assert _while_it_starts(_Session(), Checkpoint.open(str(tmp_path))) is None


def test_only_a_query_with_a_local_checkpoint_uses_plain_files(tmp_path: Path) -> None:
    session = _Session()
    assert _while_it_starts(session, Checkpoint.open(str(tmp_path))) == PLAIN_FILES
    assert session.settings == {}


def test_a_session_with_its_own_checkpoint_class_keeps_it(tmp_path: Path) -> None:
    session = _Session(**{CHECKPOINT_FILES: "own"})
    assert _while_it_starts(session, Checkpoint.open(f"file:{tmp_path}")) == "own"
    assert session.settings == {CHECKPOINT_FILES: "own"}


def test_a_remote_checkpoint_keeps_sparks_default_class() -> None:
    from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

    elsewhere = Checkpoint("hdfs://a/b", SubTreeFileSystem("/", LocalFileSystem()), "/b")
    assert _while_it_starts(_Session(), elsewhere) is None
