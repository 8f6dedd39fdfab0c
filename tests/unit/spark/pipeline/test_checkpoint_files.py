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


class _Plan:
    """A node of a plan, as py4j shows it."""

    def __init__(self, name: str, *children: _Plan, streaming: bool = True) -> None:
        self.name, self.below, self.streaming = name, children, streaming

    def children(self) -> _Plan:
        return self

    def size(self) -> int:
        return len(self.below)

    def apply(self, index: int) -> _Plan:
        return self.below[index]

    def isStreaming(self) -> bool:
        return self.streaming

    def getClass(self) -> _Plan:
        return self

    def getSimpleName(self) -> str:
        return self.name

    def queryExecution(self) -> _Plan:
        return self

    def analyzed(self) -> _Plan:
        return self


SOURCE, TABLE = _Plan("StreamingRelationV2"), _Plan("LogicalRelation", streaming=False)
STATELESS = _Plan("Project", _Plan("Filter", SOURCE))


class _Rows:
    """A DataFrame with a plan, whose session has only settings."""

    def __init__(self, plan: _Plan = STATELESS, **settings: str) -> None:
        self.settings = settings
        self.sparkSession = self.conf = self
        self._jdf = plan

    def get(self, name: str, default: str | None) -> str | None:
        return self.settings.get(name, default)

    def set(self, name: str, value: str) -> None:
        self.settings[name] = value

    def unset(self, name: str) -> None:
        del self.settings[name]


def _while_it_starts(rows: Any, checkpoint: Any) -> str | None:
    from oncelog.spark.pipeline.running import _checkpoint_files

    with _checkpoint_files(rows, checkpoint):
        return rows.settings.get(CHECKPOINT_FILES)


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
    assert _while_it_starts(_Rows(), Checkpoint.open(str(tmp_path))) is None


def test_only_a_query_with_a_local_checkpoint_uses_plain_files(tmp_path: Path) -> None:
    rows = _Rows()
    assert _while_it_starts(rows, Checkpoint.open(str(tmp_path))) == PLAIN_FILES
    assert rows.settings == {}


def test_a_session_with_its_own_checkpoint_class_keeps_it(tmp_path: Path) -> None:
    rows = _Rows(STATELESS, **{CHECKPOINT_FILES: "own"})
    assert _while_it_starts(rows, Checkpoint.open(f"file:{tmp_path}")) == "own"
    assert rows.settings == {CHECKPOINT_FILES: "own"}


def test_a_remote_checkpoint_keeps_sparks_default_class() -> None:
    from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

    elsewhere = Checkpoint("hdfs://a/b", SubTreeFileSystem("/", LocalFileSystem()), "/b")
    assert _while_it_starts(_Rows(), elsewhere) is None


@pytest.mark.parametrize(
    ("plan", "is_plain"),
    [
        (STATELESS, True),
        (_Plan("Join", STATELESS, TABLE), True),
        (_Plan("Project", _Plan("Join", STATELESS, _Plan("Aggregate", TABLE, streaming=False))), True),
        (_Plan("Join", STATELESS, SOURCE), False),
        (_Plan("Project", _Plan("Aggregate", STATELESS)), False),
        (_Plan("Deduplicate", SOURCE), False),
        (_Plan("NodeOfALaterSpark", SOURCE), False),
    ],
)
def test_a_query_that_may_keep_state_writes_its_checkpoint_as_spark_chooses(
    tmp_path: Path, plan: _Plan, is_plain: bool
) -> None:
    """The plain class would not replace a file of its state."""
    assert (_while_it_starts(_Rows(plan), Checkpoint.open(str(tmp_path))) is not None) is is_plain
